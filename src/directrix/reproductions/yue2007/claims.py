"""What section 5 says of the order of methods, checked on TREC-7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from directrix.experiments.significance import Paired, Significance, paired
from directrix.reports.report import Claim, Verdict
from directrix.reproductions.claims import verdict
from directrix.reproductions.paper import paper
from directrix.reproductions.yue2007.constraints import Constraints
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.results import SVM_MAP, DataSetResult, SystemResult

_PAPER = paper("yue2007")


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


_RULES: dict[str, Callable[[SystemResult, SystemResult], Verdict]] = {
    "better": better,
    "slightly": _slightly,
    "not below": _not_below,
    "highest": _highest,
}


def claims(results: Results) -> tuple[Claim, ...]:
    """Check every statement on every data set that replaces one of the paper's."""
    ordered = (
        _checked(statement, one)
        for one in results.data_sets
        for statement in _PAPER.published["statements"]
        if one.name in statement.get("data_sets", [one.name])
    )
    return (*(_bounded(one) for one in results.constraints), *ordered)


def _bounded(one: Constraints) -> Claim:
    most = max(count.largest / count.bound for count in one.counts)
    return _PAPER.fact("theorem-1", holds=one.is_bounded, name=one.name, most=most, n=one.n_trainings)


def _checked(statement: Mapping[str, Any], data_set: DataSetResult) -> Claim:
    systems = {system.name: system for system in (*data_set.methods, *data_set.base)}
    strongest = max(data_set.methods[1:], key=lambda method: method.mean)
    a, b = systems[statement["first"]], systems.get(statement["second"], strongest)
    pair = _compared(a, b)
    of_runs, of_methods = (
        table["number"]
        for table in _PAPER.published["tables"]
        if data_set.name in (*table["data_sets"], *table.get("with_documents", ()))
    )
    return _PAPER.claim(
        "order",
        _RULES[statement["rule"]](a, b),
        tested=f"{len(a.values)} topics",
        name=data_set.name,
        text=statement["text"],
        number=of_runs if b.run else of_methods,
        names=[system.run or system.name for system in (a, b)],
        a=a,
        b=b,
        pair=pair,
        level=f", level on {pair.ties}" if pair.ties else "",
    )
