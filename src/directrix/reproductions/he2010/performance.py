"""Tables 4 to 9 of He and Liu (2010): measures of training and test queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from directrix.experiments.he2010.methods import LISTNET, ONE_START
from directrix.experiments.he2010.results import Found
from directrix.experiments.significance import paired_t
from directrix.reports.tables import Table, Value

__all__ = ["PERFORMANCE", "chosen", "test", "training"]

PERFORMANCE = {"AP": ("MAP", 4, 7), "nDCG@5": ("NDCG@5", 5, 8), "nDCG@10": ("NDCG@10", 6, 9)}
"""Measure: its name in the paper, the tables of training and of test queries."""

_LISTNET = "- ListNet: difference from ListNet; above 0 the paper prints bold."


def training(found: Sequence[Found], measure: str) -> Table:
    """Tables 4 to 6."""
    name, number, _ = PERFORMANCE[measure]
    rows: list[tuple[Value, ...]] = []
    for entry in _entries(found):
        cells: list[Value] = []
        for one in found:
            value, base = (one.crossval.train(e, measure) for e in (entry, LISTNET))
            cells += [value, None if entry == LISTNET else value - base]
        rows.append((entry, *cells))
    return Table(
        f"Table {number}: training performance, {name}",
        ("method", *(head for _ in found for head in (name, "- ListNet"))),
        tuple(rows),
        groups=(("", 1), *((one.name, 2) for one in found)),
        notes=("Mean over the folds, convention letor3.", _LISTNET),
        digits=4,
    )


def test(found: Sequence[Found], measure: str) -> Table:
    """Tables 7 to 9."""
    name, _, number = PERFORMANCE[measure]
    rows: list[tuple[Value, ...]] = []
    for entry in _entries(found):
        cells: list[Value] = []
        for one in found:
            cells.append(one.crossval.mean(entry, measure))
            if entry == LISTNET:
                cells += [None, None]
                continue
            test = paired_t(*(one.crossval.values(e, measure) for e in (entry, LISTNET)))
            cells += [float(test.difference), float(test.p)]
        rows.append((entry, *cells))
    return Table(
        f"Table {number}: test performance, {name}",
        ("method", *(head for _ in found for head in (name, "- ListNet", "p"))),
        tuple(rows),
        groups=(("", 1), *((one.name, 3) for one in found)),
        notes=(
            "Mean over the folds, convention letor3; - ListNet: mean difference over all test queries, p "
            "of the "
            "paired t-test, two-sided.",
        ),
        digits=4,
    )


def _entries(found: Sequence[Found]) -> list[str]:
    return [entry for entry in found[0].crossval.entries if entry != ONE_START]


def chosen(found: Sequence[Found]) -> Table:
    """Settings by fold."""
    rows: list[tuple[Value, ...]] = []
    shown = ("alpha", "sigma", "C", "target", "temperature", "l2")
    for one in found:
        for entry in one.crossval.entries:
            chosen = [
                " ".join(f"{k}={_plain(v)}" for k, v in settings.items() if k in shown)
                for settings in one.crossval.selected(entry)
            ]
            rows.append((one.name, entry, *chosen, one.crossval.seconds(entry)))
    folds = found[0].crossval.folds
    return Table(
        "Settings that validation chose", ("data", "method", *folds, "seconds"), tuple(rows), digits=0
    )


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
