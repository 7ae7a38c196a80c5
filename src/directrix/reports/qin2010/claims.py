"""The paper's sentences and orderings, one by one, and whether they hold here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.experiments.qin2010.curves import ErrorCurve
from directrix.experiments.qin2010.methods import MAP, NDCG_10, NDCG_ALL, ndcg_at
from directrix.experiments.qin2010.protocol import Found
from directrix.experiments.significance import Significance, paired, paired_t, t_interval
from directrix.laws.bounds import ap_bound, ndcg_bound, rank_bound
from directrix.reports.qin2010.published import AP_BOUND, EPS, EPS_BOUND, NDCG_BOUND, POSITIONS, SCORES
from directrix.reports.report import Claim, Verdict
from directrix.surrogates.positions import soft_ranks

__all__ = ["ORDERINGS", "claims", "comparable", "falls", "ordering", "verdict"]

_LEVEL = 0.05
_NEAR = 0.01
"""Methods whose difference lies within this, at 95 %, count as comparable."""

ORDERINGS = (
    ("ApproxAP", "AdaRank.MAP", MAP, "Sect. 6.3, Table 2", ("TD2003", "TD2004", "OHSUMED", "MQ2008")),
    ("ApproxAP", "SVMmap", MAP, "Sect. 6.3, Table 2", ("TD2003", "TD2004", "OHSUMED", "MQ2008")),
    ("AdaRank.MAP", "SVMmap", MAP, "Sect. 6.3", ("TD2004",)),
    ("SVMmap", "AdaRank.MAP", MAP, "Sect. 6.3", ("TD2003",)),
    ("ApproxNDCG", "SoftRank", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    ("ApproxNDCG", "SoftRank", ndcg_at(1).name, "Sect. 6.4, Fig. 4: top positions", ("OHSUMED",)),
    ("ApproxNDCG", "SoftRank", NDCG_10, "Sect. 6.4, Fig. 4", ("OHSUMED",)),
    ("ApproxNDCG", "AdaRank.NDCG", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    ("ApproxNDCG", "AdaRank.NDCG", NDCG_10, "Sect. 6.4, Fig. 4", ("OHSUMED",)),
    ("SoftRank", "AdaRank.NDCG", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    ("ApproxAP", "ApproxNDCG", MAP, "Sect. 6.5, Table 3", ("TD2004", "OHSUMED", "MQ2008")),
)
"""First above second, by which measure, where it is said, and on which collections it is looked at."""

_MEASURED = {True: ("TD2003", "TD2004"), False: ("OHSUMED",)}
"""Collections of the paper's MAP, and of its NDCG."""

_COMPARABLE = (
    ("ApproxAP", "ApproxNDCG", MAP, "Sect. 6.5, Table 3", "TD2003"),
    ("ApproxAP", "ApproxNDCG", NDCG_ALL, "Sect. 6.5, Fig. 5", "OHSUMED"),
)


def claims(found: Mapping[str, Found], short: Mapping[str, str]) -> tuple[Claim, ...]:
    """All of them, those about approximation first, as in the paper.

    Parameters
    ----------
    found : mapping of collection to Found
    short : mapping of measure to str
        How it is written.
    """
    made = [_table_1(), _bounds_of_table_1()]
    for name, each in found.items():
        made += _of_curves(name, each.curves)
    for first, second, measure, source, names in ORDERINGS:
        for name in names:
            if name in found:
                where = _there(source, name, [each for each in names if each in _MEASURED[measure == MAP]])
                made.append(ordering(found[name], first, second, measure, where, short[measure]))
    for first, second, measure, source, name in _COMPARABLE:
        if name in found:
            made.append(comparable(found[name], first, second, measure, source, short[measure]))
    return tuple(made)


def verdict(test: Significance) -> Verdict:
    """Of the claim that the first is above the second."""
    if test.p >= _LEVEL:
        return "not significant"
    return "holds" if test.difference > 0 else "does not hold"


def ordering(found: Found, first: str, second: str, measure: str, source: str, shown: str) -> Claim:
    """Check that one method is above another, by a paired t-test over the test queries of all folds."""
    a, b = _values(found, first, second, measure)
    test, pair = paired_t(a, b), paired(a, b)
    return Claim(
        f"{found.collection.name}: {first} has higher {shown} than {second}",
        source,
        verdict(test),
        f"{_means(found, first, second, measure)}, difference over queries {_signed(test.difference)}, "
        f"paired t-test {_p(test.p)}, signed ranks {_p(pair.p)}, "
        f"higher on {pair.wins}, lower on {pair.losses}, level on {pair.ties} of {test.n} queries",
    )


def comparable(found: Found, first: str, second: str, measure: str, source: str, shown: str) -> Claim:
    """Check that two methods differ little: by the 95 % interval of the mean difference.

    A difference whose sign is certain can still be small, so it does not hold only if the whole interval is
    beyond what counts as comparable.
    """
    a, b = _values(found, first, second, measure)
    low, high = t_interval(a, b)
    if low > -_NEAR and high < _NEAR:
        said: Verdict = "holds"
    else:
        said = "does not hold" if low >= _NEAR or high <= -_NEAR else "not significant"
    return Claim(
        f"{found.collection.name}: {first} and {second} are comparable in {shown}",
        source,
        said,
        f"{_means(found, first, second, measure)}, 95 % interval of the difference {low:+.4f} to "
        f"{high:+.4f}; it holds if that lies within +-{_NEAR}, does not if it lies outside",
    )


def _values(found: Found, first: str, second: str, measure: str) -> tuple[Any, Any]:
    return found.compared.values(first, measure), found.compared.values(second, measure)


def _means(found: Found, first: str, second: str, measure: str) -> str:
    return f"{found.compared.mean(first, measure):.4f} and {found.compared.mean(second, measure):.4f}"


def _table_1() -> Claim:
    ours = soft_ranks(SCORES, alpha=100.0)
    eps = float(np.abs(ours - np.array([2, 4, 1, 5, 3])).max())
    bound = rank_bound(SCORES, 100.0)
    same = np.allclose(ours, POSITIONS, rtol=0, atol=5.1e-6) and round(eps, 5) == EPS
    return Claim(
        "The position approximation of Table 1, its largest error .00118 and its bound .00471",
        "Table 1, Sect. 5.1",
        "holds" if same and round(bound, 5) == EPS_BOUND and eps < bound else "does not hold",
        f"largest error {eps:.5f}, bound {bound:.5f}",
    )


def _bounds_of_table_1() -> Claim:
    ap, ndcg = ap_bound(EPS, n_relevant=1, beta=100.0), ndcg_bound(EPS)
    return Claim(
        "Of that example at beta = 100, one document relevant: the error of ApproxAP below .0024, of "
        "ApproxNDCG below .00085",
        "Sect. 5.2",
        "holds" if round(ap, 4) == AP_BOUND and round(ndcg, 5) == NDCG_BOUND else "does not hold",
        f"bounds {ap:.5f} and {ndcg:.5f}",
    )


def _of_curves(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> list[Claim]:
    made = []
    for figure, source in (
        ("ApproxAP by alpha", _there("Fig. 1", name, ["TD2004"])),
        ("ApproxNDCG by alpha", _there("Fig. 3", name, ["OHSUMED"])),
    ):
        surrogate, by_alpha = figure.split()[0], curves[figure]
        text, three = f"{name}: {surrogate} is accurate above 95 % for all alpha", "three alpha, not named"
        made.append(_accurate(text, f"{source}: {three}", by_alpha, 0.95))
        if 100.0 in by_alpha:
            sharp = {100.0: by_alpha[100.0]}
            made.append(_accurate(f"{name}: {surrogate} above 98 % at alpha = 100", source, sharp, 0.98))
        made.append(falls(f"{name}: the error of {surrogate} falls as alpha grows", source, by_alpha))
    by_beta = curves["ApproxAP by beta"]
    made.append(
        falls(
            f"{name}: the error of ApproxAP falls as beta grows", _there("Fig. 2", name, ["TD2004"]), by_beta
        )
    )
    made.append(_bounds_hold(name, curves))
    return made


def _accurate(text: str, source: str, curves: Mapping[float, ErrorCurve], accuracy: float) -> Claim:
    """Check the accuracy in every epoch; from which on it holds is evidence."""
    since = {value: curve.above(accuracy) for value, curve in curves.items()}
    shown = [
        f"alpha = {value:g}: {1 - curve.rho[0]:.1%} after epoch 1, {1 - curve.rho[-1]:.1%} at the end"
        + ("" if since[value] == 1 else f", above from epoch {since[value] or 'none'} on")
        for value, curve in curves.items()
    ]
    holds = all(first == 1 for first in since.values())
    return Claim(f"{text}, in every epoch", source, "holds" if holds else "does not hold", "; ".join(shown))


def falls(text: str, source: str, curves: Mapping[float, ErrorCurve]) -> Claim:
    """Check that every step of the parameter lowers the error, by paired t-tests over training queries.

    It holds if all steps do, and does not if one raises it; else it is not significant. Errors are means
    over the epochs.
    """
    steps, said = [], []
    for (low, before), (high, after) in pairwise(curves.items()):
        test = paired_t(before.by_query, after.by_query)
        said.append(verdict(test))
        steps.append(f"{low:g} to {high:g}: {-test.difference:+.5f} ({_p(test.p)})")
    whole = "holds" if set(said) == {"holds"} else "not significant"
    means = ", ".join(f"{value:g}: {curve.rho.mean():.4f}" for value, curve in curves.items())
    return Claim(
        text,
        source,
        "does not hold" if "does not hold" in said else whole,  # type: ignore[arg-type]
        f"mean error over epochs {means}; steps {'; '.join(steps)}",
    )


def _bounds_hold(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Claim:
    every = [each for by in curves.values() for curve in by.values() for each in curve.bounds.values()]
    broken = sum(each.broken for each in every)
    covered = _range([float(each.covered.mean()) for each in every])
    return Claim(
        f"{name}: no error is above the bound of its theorem, of all queries and epochs that it covers",
        "Thms 3, 5, 6, Cor. 4",
        "holds" if broken == 0 else "does not hold",
        f"{broken} above; a theorem covers {covered} of the queries",
    )


def _there(source: str, name: str, papers: Sequence[str]) -> str:
    """Say of which collections the paper says it, if not of this one."""
    return source if name in papers else f"{source}, of {' and '.join(papers)}"


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"


def _p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}"


def _range(shares: Sequence[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}"
