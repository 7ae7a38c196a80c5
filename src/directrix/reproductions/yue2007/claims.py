"""What section 5 says of the order of methods, checked on TREC-7."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from directrix.experiments.significance import Paired, Significance, paired
from directrix.reports.report import Claim, Verdict
from directrix.reproductions.claims import verdict
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.published import TABLES
from directrix.reproductions.yue2007.results import BEST_RUN, SVM_MAP, DataSetResult, SystemResult
from directrix.reproductions.yue2007.runs import ALL, OWN, WITHOUT_BEST


def better(first: SystemResult, second: SystemResult) -> Verdict:
    """Judge whether the first wins on more topics, with p < .05 in the two-tailed signed-rank test."""
    pair = _compared(first, second)
    return verdict(Significance(pair.p, pair.wins - pair.losses, len(first.values)))


def _slightly(first: SystemResult, second: SystemResult) -> Verdict:
    """Judge whether the mean is higher, and the difference not significant."""
    if _compared(first, second).is_clear:
        return "does not hold"
    return "holds" if first.mean > second.mean else "not significant"


def _not_below(first: SystemResult, second: SystemResult) -> Verdict:
    return "does not hold" if better(first, second) == "does not hold" else "holds"


def _highest(first: SystemResult, second: SystemResult) -> Verdict:
    return verdict(Significance(_compared(first, second).p, first.mean - second.mean, len(first.values)))


def _compared(first: SystemResult, second: SystemResult) -> Paired:
    kept = second.against if first.name == SVM_MAP else None
    return kept or paired(first.values, second.values)


class Statement(NamedTuple):
    """A statement on the order of two systems.

    Parameters
    ----------
    text : str
    first, second : str
        Names of systems; "" = the method with the highest MAP besides SVMmap.
    rule : callable
        Takes the two systems and returns the verdict.
    data_sets : tuple of str
        Data sets in place of those that the paper says it of.
    """

    text: str
    first: str
    second: str
    rule: Callable[[SystemResult, SystemResult], Verdict]
    data_sets: tuple[str, ...] = (*OWN, ALL, WITHOUT_BEST)


STATEMENTS = (
    Statement("SVMmap is better than the best run", SVM_MAP, BEST_RUN, better, OWN),
    Statement("SVMmap is above the best run, but not significantly", SVM_MAP, BEST_RUN, _slightly, (ALL,)),
    Statement(
        "SVMmap is not significantly below the best run, which it lacks",
        SVM_MAP,
        BEST_RUN,
        _not_below,
        (WITHOUT_BEST,),
    ),
    Statement("SVMroc is below SVMmap, but not significantly", SVM_MAP, "SVMroc", _slightly, OWN),
    Statement("SVMmap is better than SVMroc", SVM_MAP, "SVMroc", better, (ALL, WITHOUT_BEST)),
    *(
        Statement(f"SVMmap is better than {name}", SVM_MAP, name, better)
        for name in ("SVMacc", "SVMacc2", "SVMacc3", "SVMacc4")
    ),
    Statement("SVMroc is better than SVMacc", "SVMroc", "SVMacc", better),
    Statement("SVMmap still has the highest MAP of all models", SVM_MAP, "", _highest, (WITHOUT_BEST,)),
)
"""Statements of the paper."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Check every statement on every data set that replaces one of the paper's."""
    return tuple(
        _checked(statement, one)
        for one in results.data_sets
        for statement in STATEMENTS
        if one.name in statement.data_sets
    )


def _checked(statement: Statement, data_set: DataSetResult) -> Claim:
    systems = {system.name: system for system in (*data_set.methods, *data_set.base)}
    strongest = max(data_set.methods[1:], key=lambda method: method.mean)
    a, b = systems[statement.first], systems.get(statement.second, strongest)
    pair = _compared(a, b)
    of_runs, of_methods = (number for number, table in TABLES.items() if data_set.name in table.data_sets)
    level = f", level on {pair.ties}" if pair.ties else ""
    return Claim(
        f"{data_set.name}: {statement.text}",
        f"Table {of_runs if b.run else of_methods}",
        statement.rule(a, b),
        f"MAP {a.run or a.name} {a.mean:.4f}, {b.run or b.name} {b.mean:.4f}; higher on {pair.wins} topics, "
        f"lower on {pair.losses}{level}; p = {pair.p:.2g}",
    )
