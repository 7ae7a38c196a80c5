"""What Yue et al. (2007), section 5, say of the order of methods, checked on TREC-7."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.experiments.significance import Paired, paired
from directrix.experiments.yue2007.collection import ALL, WITHOUT_BEST
from directrix.experiments.yue2007.results import ColumnResult, Figure
from directrix.reports.report import Claim, Verdict

__all__ = ["claims"]

_TABLES = {ALL: ("Table 7", "Table 10"), WITHOUT_BEST: ("Table 8", "Table 11")}
_OWN = ("Table 6", "Table 9")  # of retrieval functions that the authors ran themselves
_CLASSIFIERS = ("SVMacc", "SVMacc2", "SVMacc3", "SVMacc4")


def claims(found: Sequence[ColumnResult]) -> tuple[Claim, ...]:
    """Every sentence on an order, for every data set that stands where the paper's did.

    Parameters
    ----------
    found : sequence of ColumnResult
        Of `directrix.experiments.yue2007.results.results`.

    Returns
    -------
    tuple of Claim
        "Better" is p < .05 of the two-tailed Wilcoxon signed-rank test and more topics won than lost.
    """
    return tuple(claim for column in found for claim in _of(column))


def _of(column: ColumnResult) -> list[Claim]:
    base, methods = _TABLES.get(column.name, _OWN)
    first, others = column.methods[0], {figure.name: figure for figure in column.methods[1:]}

    def claim(text: str, source: str, verdict: Verdict, a: Figure, b: Figure) -> Claim:
        return Claim(f"{column.name}: {text}", source, verdict, _evidence(a, b))

    best, roc, acc = column.base[0], others["SVMroc"], others["SVMacc"]
    if column.name == ALL:
        text, verdict = "SVMmap is above the best run, but not significantly", _slightly(first, best)
    elif column.name == WITHOUT_BEST:
        text, verdict = (
            "SVMmap is not significantly below the best run, which it lacks",
            _not_below(first, best),
        )
    else:
        text, verdict = "SVMmap is better than the best run", _better(first, best)
    made = [claim(text, base, verdict, first, best)]
    if base == _OWN[0]:
        text, verdict = "SVMroc is below SVMmap, but not significantly", _slightly(first, roc)
    else:
        text, verdict = "SVMmap is better than SVMroc", _better(first, roc)
    made.append(claim(text, methods, verdict, first, roc))
    made += [
        claim(f"SVMmap is better than {name}", methods, _better(first, others[name]), first, others[name])
        for name in _CLASSIFIERS
    ]
    made.append(claim("SVMroc is better than SVMacc", methods, _better(roc, acc), roc, acc))
    if column.name == WITHOUT_BEST:
        second = max(others.values(), key=lambda figure: figure.mean)
        text = "SVMmap still has the highest MAP of all models"
        made.append(claim(text, methods, _highest(first, second), first, second))
    return made


def _pair(a: Figure, b: Figure) -> Paired:
    return b.against if b.against is not None and a.against is None else paired(a.values, b.values)


def _better(a: Figure, b: Figure) -> Verdict:
    pair = _pair(a, b)
    if not pair.is_clear or pair.wins == pair.losses:
        return "not significant"
    return "holds" if pair.wins > pair.losses else "does not hold"


def _slightly(a: Figure, b: Figure) -> Verdict:
    """A higher mean that the test does not tell from chance."""
    if _pair(a, b).is_clear:
        return "does not hold"
    return "holds" if a.mean > b.mean else "not significant"


def _not_below(a: Figure, b: Figure) -> Verdict:
    return "does not hold" if _better(a, b) == "does not hold" else "holds"


def _highest(a: Figure, b: Figure) -> Verdict:
    if not _pair(a, b).is_clear:
        return "not significant"
    return "holds" if a.mean > b.mean else "does not hold"


def _evidence(a: Figure, b: Figure) -> str:
    pair = _pair(a, b)
    names = [figure.run or figure.name for figure in (a, b)]
    level = f", level on {pair.ties}" if pair.ties else ""
    return (
        f"MAP {names[0]} {a.mean:.4f}, {names[1]} {b.mean:.4f}; higher on {pair.wins} topics, lower on "
        f"{pair.losses}{level}; p = {pair.p:.2g}"
    )
