"""Tables 4 to 9: measures of training and test queries."""

from __future__ import annotations

from typing import Literal

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.reports.tables import Table, Value
from directrix.reproductions.he2010.methods import LISTNET, ONE_START
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.text import shown

_TRAINING = "- ListNet: difference from ListNet; above 0 the paper prints bold."
_TEST = (
    "Mean over the folds, convention letor3; - ListNet: mean difference over all test queries, p of the "
    "paired t-test, two-sided."
)
_SHOWN = ("alpha", "sigma", "C", "target", "temperature", "l2")  # settings


def performance(results: Results, measure: str, part: Literal["training", "test"]) -> Table:
    """Make one of Tables 4 to 6, of training queries, or 7 to 9, of test queries."""
    shown, collections = MEASURES[measure], results.collections
    entries = next(iter(collections.values())).compared.entries
    is_test = part == "test"
    heads = (shown.name, "- ListNet", *(["p"] if is_test else []))
    return Table(
        f"Table {shown.test if is_test else shown.training}: {part} performance, {shown.name}",
        ("method", *(head for _ in collections for head in heads)),
        tuple(
            (
                entry,
                *(
                    value
                    for one in collections.values()
                    for value in _values(one.compared, entry, measure, part)
                ),
            )
            for entry in entries
            if entry != ONE_START
        ),
        groups=(("", 1), *((name, len(heads)) for name in collections)),
        notes=(_TEST,) if is_test else ("Mean over the folds, convention letor3.", _TRAINING),
        digits=4,
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
    rows: list[tuple[Value, ...]] = []
    for name, one in results.collections.items():
        for entry in one.compared.entries:
            chosen = [
                " ".join(f"{k}={shown(v)}" for k, v in settings.items() if k in _SHOWN)
                for settings in one.compared.selected(entry)
            ]
            rows.append((name, entry, *chosen, one.compared.seconds(entry)))
    folds = next(iter(results.collections.values())).compared.folds
    return Table(
        "Settings that validation chose", ("data", "method", *folds, "seconds"), tuple(rows), digits=0
    )
