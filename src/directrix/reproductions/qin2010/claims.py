"""Statements and orderings of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from directrix.experiments.significance import paired_t
from directrix.laws.bounds import ap_bound, ndcg_bound, rank_bound
from directrix.reports.report import Claim
from directrix.reproductions.claims import (
    Ordering,
    check_ordering,
    comparable,
    p_value,
    scored,
    verdict,
    wins,
)
from directrix.reproductions.paper import paper
from directrix.reproductions.qin2010.curves import FUTURE_FIGURES, ErrorCurve
from directrix.reproductions.qin2010.methods import MAP, SHORT
from directrix.reproductions.qin2010.protocol import CollectionResults, Results
from directrix.surrogates.approx import soft_ranks

_PAPER = paper("qin2010")
_FULL = {short: name for name, short in SHORT.items()}
ORDERINGS, COMPARABLE = (
    tuple(Ordering(**{**one, "measure": _FULL[one["measure"]]}) for one in _PAPER.published[kind])
    for kind in ("orderings", "comparable")
)
"""Orderings of methods that the paper states, and pairs that it calls comparable."""
SCORES, POSITIONS = (np.array(_PAPER.published[name]) for name in ("scores", "positions"))
"""Table 1: scores of five documents, and their soft ranks at alpha = 100."""
_ORIGINAL = {True: ("TD2003", "TD2004"), False: ("OHSUMED",)}
"""Collections of the paper's MAP, and of its NDCG."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Check all statements, those about approximation first, as in the paper."""
    collections = results.collections
    return (
        _table_1(),
        _bounds_of_table_1(),
        *(claim for name, one in collections.items() for claim in _of_curves(name, one.curves)),
        *(_ordering(name, collections[name], one) for one, name in stated_on(collections, ORDERINGS)),
        *(
            comparable(
                *_PAPER.statement("comparable", name=name, pair=pair, measure=SHORT[pair.measure]),
                scored(collections[name].compared, pair.first, pair.measure),
                scored(collections[name].compared, pair.second, pair.measure),
            )
            for pair, name in stated_on(collections, COMPARABLE)
        ),
    )


def stated_on(present: Container[str], orderings: Iterable[Ordering]) -> list[tuple[Ordering, str]]:
    """Return every ordering with every collection on which it can be checked."""
    return [(one, name) for one in orderings for name in one.collections if name in present]


def _elsewhere(source: str, collection: str, original: Sequence[str]) -> str:
    """Add to the source of a statement the collections it is about, if the checked one is not among them."""
    return source if collection in original else f"{source}, of {' and '.join(original)}"


def _ordering(name: str, results: CollectionResults, ordering: Ordering) -> Claim:
    first, second, measure, source, collections, _ = ordering
    original = [one for one in collections if one in _ORIGINAL[measure == MAP]]
    placed = ordering._replace(source=_elsewhere(source, name, original))
    claim = check_ordering(placed, name, results.compared, SHORT[measure])
    values = [results.compared.values(method, measure) for method in (first, second)]
    return replace(claim, evidence=f"{claim.evidence}; {wins(*values)}")


def _table_1() -> Claim:
    published, ours = _PAPER.published, soft_ranks(SCORES, alpha=100.0)
    eps = float(np.abs(ours - np.array([2, 4, 1, 5, 3])).max())
    bound = rank_bound(SCORES, 100.0)
    same = np.allclose(ours, POSITIONS, rtol=0, atol=5.1e-6) and round(eps, 5) == published["eps"]
    holds = bool(same and round(bound, 5) == published["eps_bound"] and eps < bound)
    return _PAPER.fact("table-1", holds=holds, eps=eps, bound=bound)


def _bounds_of_table_1() -> Claim:
    published = _PAPER.published
    ap, ndcg = ap_bound(published["eps"], n_relevant=1, beta=100.0), ndcg_bound(published["eps"])
    holds = round(ap, 4) == published["ap_bound"] and round(ndcg, 5) == published["ndcg_bound"]
    return _PAPER.fact("table-1-bounds", holds=holds, ap=ap, ndcg=ndcg)


def _of_curves(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Iterator[Claim]:
    for figure, source in (
        ("ApproxAP by alpha", _elsewhere("Fig. 1", name, ["TD2004"])),
        ("ApproxNDCG by alpha", _elsewhere("Fig. 3", name, ["OHSUMED"])),
    ):
        by_alpha = curves[figure]
        values = {"name": name, "surrogate": figure.split()[0], "source": source}
        yield _accurate("accurate", by_alpha, 0.95, values)
        if 100.0 in by_alpha:
            yield _accurate("sharp", {100.0: by_alpha[100.0]}, 0.98, values)
        yield falls(*_PAPER.statement("falls", parameter="alpha", **values), by_alpha)
    values = {"name": name, "surrogate": "ApproxAP", "source": _elsewhere("Fig. 2", name, ["TD2004"])}
    yield falls(*_PAPER.statement("falls", parameter="beta", **values), curves["ApproxAP by beta"])
    for figure in filter(curves.__contains__, FUTURE_FIGURES):
        values = {"name": name, "surrogate": figure.split()[0], "source": "Sect. 7, future work"}
        yield falls(*_PAPER.statement("falls", parameter="alpha", **values), curves[figure])
    yield _bounds_hold(name, curves)


def _accurate(
    key: str, curves: Mapping[float, ErrorCurve], accuracy: float, values: Mapping[str, str]
) -> Claim:
    """Check the accuracy in every epoch; the evidence says from which epoch it holds."""
    since = {value: curve.above(accuracy) for value, curve in curves.items()}
    shown = [
        f"alpha = {value:g}: {1 - curve.rho[0]:.1%} after epoch 1, {1 - curve.rho[-1]:.1%} at the end"
        + ("" if since[value] == 1 else f", above from epoch {since[value] or 'none'} on")
        for value, curve in curves.items()
    ]
    holds = all(first == 1 for first in since.values())
    return _PAPER.fact(key, holds=holds, by_alpha="; ".join(shown), **values)


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
    return _PAPER.fact(
        "bounds", holds=broken == 0, name=name, broken=broken, least=min(shares), most=max(shares)
    )
