"""Tables 4 to 9: measures of training and test queries."""

from __future__ import annotations

from directrix.experiments.significance import paired_t
from directrix.reports.tables import Table, Value
from directrix.reproductions.he2010.methods import LISTNET, ONE_START
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.text import shown

__all__ = ["chosen", "test", "training"]

_LISTNET = "- ListNet: difference from ListNet; above 0 the paper prints bold."
_SHOWN = ("alpha", "sigma", "C", "target", "temperature", "l2")  # settings


def training(results: Results, measure: str) -> Table:
    """Make one of Tables 4 to 6."""
    name, number, _ = MEASURES[measure]
    rows: list[tuple[Value, ...]] = []
    for entry in _entries(results):
        cells: list[Value] = []
        for one in results.collections:
            value, base = (one.crossval.train(e, measure) for e in (entry, LISTNET))
            cells += [value, None if entry == LISTNET else value - base]
        rows.append((entry, *cells))
    return Table(
        f"Table {number}: training performance, {name}",
        ("method", *(head for _ in results.collections for head in (name, "- ListNet"))),
        tuple(rows),
        groups=(("", 1), *((one.name, 2) for one in results.collections)),
        notes=("Mean over the folds, convention letor3.", _LISTNET),
        digits=4,
    )


def test(results: Results, measure: str) -> Table:
    """Make one of Tables 7 to 9."""
    name, _, number = MEASURES[measure]
    rows: list[tuple[Value, ...]] = []
    for entry in _entries(results):
        cells: list[Value] = []
        for one in results.collections:
            cells.append(one.crossval.mean(entry, measure))
            if entry == LISTNET:
                cells += [None, None]
                continue
            test = paired_t(*(one.crossval.values(e, measure) for e in (entry, LISTNET)))
            cells += [float(test.difference), float(test.p)]
        rows.append((entry, *cells))
    return Table(
        f"Table {number}: test performance, {name}",
        ("method", *(head for _ in results.collections for head in (name, "- ListNet", "p"))),
        tuple(rows),
        groups=(("", 1), *((one.name, 3) for one in results.collections)),
        notes=(
            "Mean over the folds, convention letor3; - ListNet: mean difference over all test queries, p of "
            "the paired t-test, two-sided.",
        ),
        digits=4,
    )


def _entries(results: Results) -> list[str]:
    return [entry for entry in results.collections[0].crossval.entries if entry != ONE_START]


def chosen(results: Results) -> Table:
    """Make the table of the settings that validation chose in every fold."""
    rows: list[tuple[Value, ...]] = []
    for one in results.collections:
        for entry in one.crossval.entries:
            chosen = [
                " ".join(f"{k}={shown(v)}" for k, v in settings.items() if k in _SHOWN)
                for settings in one.crossval.selected(entry)
            ]
            rows.append((one.name, entry, *chosen, one.crossval.seconds(entry)))
    folds = results.collections[0].crossval.folds
    return Table(
        "Settings that validation chose", ("data", "method", *folds, "seconds"), tuple(rows), digits=0
    )
