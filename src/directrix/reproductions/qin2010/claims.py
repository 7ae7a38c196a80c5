"""Statements and orderings of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from directrix.experiments.significance import paired_t
from directrix.laws.bounds import ap_bound, ndcg_bound, rank_bound
from directrix.reports.report import Claim
from directrix.reproductions.claims import (
    Ordering,
    check_ordering,
    comparable,
    fact,
    p_value,
    scored,
    verdict,
    wins,
)
from directrix.reproductions.qin2010.curves import ErrorCurve
from directrix.reproductions.qin2010.methods import MAP, NDCG_10, NDCG_ALL, SHORT, ndcg_at
from directrix.reproductions.qin2010.protocol import CollectionResults, Results
from directrix.reproductions.qin2010.published import (
    AP_BOUND,
    EPS,
    EPS_BOUND,
    NDCG_BOUND,
    POSITIONS,
    SCORES,
)
from directrix.reproductions.text import elsewhere
from directrix.surrogates.approx_rank import soft_ranks

_MAP_DATA = ("TD2003", "TD2004", "OHSUMED", "MQ2008")
ORDERINGS = (
    Ordering("ApproxAP", "AdaRank.MAP", MAP, "Sect. 6.3, Table 2", _MAP_DATA),
    Ordering("ApproxAP", "SVMmap", MAP, "Sect. 6.3, Table 2", _MAP_DATA),
    Ordering("AdaRank.MAP", "SVMmap", MAP, "Sect. 6.3", ("TD2004",)),
    Ordering("SVMmap", "AdaRank.MAP", MAP, "Sect. 6.3", ("TD2003",)),
    Ordering("ApproxNDCG", "SoftRank", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    Ordering("ApproxNDCG", "SoftRank", ndcg_at(1).name, "Sect. 6.4, Fig. 4: top positions", ("OHSUMED",)),
    Ordering("ApproxNDCG", "SoftRank", NDCG_10, "Sect. 6.4, Fig. 4", ("OHSUMED",)),
    Ordering("ApproxNDCG", "AdaRank.NDCG", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    Ordering("ApproxNDCG", "AdaRank.NDCG", NDCG_10, "Sect. 6.4, Fig. 4", ("OHSUMED",)),
    Ordering("SoftRank", "AdaRank.NDCG", NDCG_ALL, "Sect. 6.4", ("OHSUMED",)),
    Ordering("ApproxAP", "ApproxNDCG", MAP, "Sect. 6.5, Table 3", ("TD2004", "OHSUMED", "MQ2008")),
)
"""Orderings of methods that the paper states."""
COMPARABLE = (
    Ordering("ApproxAP", "ApproxNDCG", MAP, "Sect. 6.5, Table 3", ("TD2003",)),
    Ordering("ApproxAP", "ApproxNDCG", NDCG_ALL, "Sect. 6.5, Fig. 5", ("OHSUMED",)),
)
"""Pairs of methods that the paper calls comparable."""
_ORIGINAL = {True: ("TD2003", "TD2004"), False: ("OHSUMED",)}
"""Collections of the paper's MAP, and of its NDCG."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements, those about approximation first, as in the paper."""
    collections = results.collections
    return (
        _table_1(),
        _bounds_of_table_1(),
        *(claim for name, one in collections.items() for claim in _of_curves(name, one.curves)),
        *(
            _ordering(name, collections[name], ordering)
            for ordering in ORDERINGS
            for name in ordering.collections
            if name in collections
        ),
        *(
            comparable(
                f"{name}: {pair.first} and {pair.second} are comparable in {SHORT[pair.measure]}",
                pair.source,
                scored(collections[name].compared, pair.first, pair.measure),
                scored(collections[name].compared, pair.second, pair.measure),
            )
            for pair in COMPARABLE
            for name in pair.collections
            if name in collections
        ),
    )


def _ordering(name: str, results: CollectionResults, ordering: Ordering) -> Claim:
    first, second, measure, source, collections, _ = ordering
    original = [one for one in collections if one in _ORIGINAL[measure == MAP]]
    placed = ordering._replace(source=elsewhere(source, name, original))
    claim = check_ordering(placed, name, results.compared, SHORT[measure])
    values = [results.compared.values(method, measure) for method in (first, second)]
    return Claim(claim.text, claim.source, claim.verdict, f"{claim.evidence}; {wins(*values)}")


def _table_1() -> Claim:
    ours = soft_ranks(SCORES, alpha=100.0)
    eps = float(np.abs(ours - np.array([2, 4, 1, 5, 3])).max())
    bound = rank_bound(SCORES, 100.0)
    same = np.allclose(ours, POSITIONS, rtol=0, atol=5.1e-6) and round(eps, 5) == EPS
    return fact(
        "The position approximation of Table 1, its largest error .00118 and its bound .00471",
        "Table 1, Sect. 5.1",
        f"largest error {eps:.5f}, bound {bound:.5f}",
        holds=bool(same and round(bound, 5) == EPS_BOUND and eps < bound),
    )


def _bounds_of_table_1() -> Claim:
    ap, ndcg = ap_bound(EPS, n_relevant=1, beta=100.0), ndcg_bound(EPS)
    return fact(
        "In this example at beta = 100 with one relevant document, the error of ApproxAP is below .0024, "
        "that of ApproxNDCG below .00085",
        "Sect. 5.2",
        f"bounds {ap:.5f} and {ndcg:.5f}",
        holds=round(ap, 4) == AP_BOUND and round(ndcg, 5) == NDCG_BOUND,
    )


def _of_curves(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Iterator[Claim]:
    for figure, source in (
        ("ApproxAP by alpha", elsewhere("Fig. 1", name, ["TD2004"])),
        ("ApproxNDCG by alpha", elsewhere("Fig. 3", name, ["OHSUMED"])),
    ):
        surrogate, by_alpha = figure.split()[0], curves[figure]
        text, three = f"{name}: {surrogate} is accurate above 95 % for all alpha", "three alpha, not named"
        yield _accurate(text, f"{source}: {three}", by_alpha, 0.95)
        if 100.0 in by_alpha:
            sharp = {100.0: by_alpha[100.0]}
            yield _accurate(f"{name}: {surrogate} above 98 % at alpha = 100", source, sharp, 0.98)
        yield falls(f"{name}: the error of {surrogate} falls as alpha grows", source, by_alpha)
    source = elsewhere("Fig. 2", name, ["TD2004"])
    yield falls(f"{name}: the error of ApproxAP falls as beta grows", source, curves["ApproxAP by beta"])
    yield _bounds_hold(name, curves)


def _accurate(text: str, source: str, curves: Mapping[float, ErrorCurve], accuracy: float) -> Claim:
    """Check the accuracy in every epoch; the evidence says from which epoch it holds."""
    since = {value: curve.above(accuracy) for value, curve in curves.items()}
    shown = [
        f"alpha = {value:g}: {1 - curve.rho[0]:.1%} after epoch 1, {1 - curve.rho[-1]:.1%} at the end"
        + ("" if since[value] == 1 else f", above from epoch {since[value] or 'none'} on")
        for value, curve in curves.items()
    ]
    holds = all(first == 1 for first in since.values())
    return fact(f"{text}, in every epoch", source, "; ".join(shown), holds=holds)


def falls(text: str, source: str, curves: Mapping[float, ErrorCurve]) -> Claim:
    """Check that every step of the parameter lowers the error, by paired t-tests over training queries.

    The claim holds if all steps lower it, and does not hold if one raises it; else it is not significant.
    Errors are means over the epochs.
    """
    tests = {
        f"{low:g} to {high:g}": paired_t(before.by_query, after.by_query)
        for (low, before), (high, after) in pairwise(curves.items())
    }
    steps = "; ".join(f"{step}: {-test.difference:+.5f} ({p_value(test.p)})" for step, test in tests.items())
    means = ", ".join(f"{value:g}: {curve.rho.mean():.4f}" for value, curve in curves.items())
    return Claim(text, source, verdict(*tests.values()), f"mean error over epochs {means}; steps {steps}")


def _bounds_hold(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Claim:
    bounds = [one for by in curves.values() for curve in by.values() for one in curve.bounds.values()]
    broken = sum(one.broken for one in bounds)
    shares = [float(one.covered.mean()) for one in bounds]
    return fact(
        f"{name}: no error is above the bound of its theorem, for all queries and epochs that it covers",
        "Thms 3, 5, 6, Cor. 4",
        f"{broken} above; a theorem covers {min(shares):.0%} to {max(shares):.0%} of the queries",
        holds=broken == 0,
    )
