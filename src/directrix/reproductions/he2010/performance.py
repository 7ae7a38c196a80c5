"""Tables 4 to 9: measures of training and test queries."""

from __future__ import annotations

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.reports.crossval import settings_text
from directrix.reports.tables import Table, Value
from directrix.reproductions.he2010.methods import LISTNET, ONE_START
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.paper import paper

_PAPER = paper("he2010")
_SHOWN = ("alpha", "sigma", "C", "target", "temperature", "l2")  # settings


def performance(results: Results, measure: str, part: str) -> Table:
    """Make one of Tables 4 to 6, of training queries, or 7 to 9, of test queries."""
    collections = results.collections
    entries = next(iter(collections.values())).compared.entries
    heads = (MEASURES[measure].name, "- ListNet", *(["p"] if part == "test" else []))
    rows = [
        (entry, *(v for one in collections.values() for v in _values(one.compared, entry, measure, part)))
        for entry in entries
        if entry != ONE_START
    ]
    return _PAPER.table(
        part,
        rows,
        columns=("method", *(head for _ in collections for head in heads)),
        groups=(("", 1), *((name, len(heads)) for name in collections)),
        measure=MEASURES[measure],
    )


def _values(compared: CrossValidation, entry: str, measure: str, part: str) -> tuple[Value, ...]:
    """Return a mean, its difference from ListNet, and for test queries p."""
    if part == "training":
        value, base = (compared.train(name, measure) for name in (entry, LISTNET))
        return value, None if entry == LISTNET else value - base
    if entry == LISTNET:
        return compared.mean(entry, measure), None, None
    test = paired_t(compared.values(entry, measure), compared.values(LISTNET, measure))
    return compared.mean(entry, measure), float(test.difference), float(test.p)


def chosen(results: Results) -> Table:
    """Make the table of the settings that validation chose in every fold."""
    rows = []
    for name, one in results.collections.items():
        for entry in one.compared.entries:
            selected = one.compared.selected(entry)
            chosen = [settings_text({k: v for k, v in of.items() if k in _SHOWN}) for of in selected]
            rows.append((name, entry, *chosen, one.compared.seconds(entry)))
    folds = next(iter(results.collections.values())).compared.folds
    return _PAPER.table("chosen", rows, columns=("data", "method", *folds, "seconds"))
