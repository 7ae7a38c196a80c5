"""Which candidates can be chosen, which one is, and whether an ensemble of several is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error, mean_evaluator, mean_over_queries, values_of
from directrix.search.candidates import CUT_SHORT, UNTRAINED, Candidate
from directrix.search.folds import Fold, validation_queries
from directrix.types import Float64Array, Int64Array

_OF_A_METHOD = 2  # candidates of a method that may be members: every member is trained again on all queries
_AT_THE_START = 5  # candidates at most
_PICKS = 25
_WITHOUT_GAIN = 5  # picks after which the selection ends
_FEWEST_QUERIES = 10


def contenders(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that can be chosen.

    These are the ones that finished, and of those that the time budget stopped the ones that are ahead of
    them all: what a training that was stopped would have reached, its value does not tell. If none finished,
    those that were stopped after a step, or else before.
    """
    of = {end: [c for c in candidates if c.outcome == end] for end in ("", CUT_SHORT, UNTRAINED)}
    if not of[""]:
        return of[CUT_SHORT] or of[UNTRAINED]
    best = max(c.or_worst for c in of[""])
    return [c for c in candidates if c in of[""] or (c in of[CUT_SHORT] and c.or_worst > best)]


def preferred(candidates: Sequence[Candidate]) -> Candidate:
    """Return the earliest method whose best candidate is within one standard error of the best of all.

    The error is that of the mean difference over the validation queries, query by query. Of the candidates
    of a method the best counts; of equals the earliest. Only `contenders` count.
    """
    candidates = contenders(candidates)
    best = max(candidates, key=lambda c: c.or_worst)
    for name in dict.fromkeys(c.name for c in candidates):
        of_method = max((c for c in candidates if c.name == name), key=lambda c: c.or_worst)
        behind, error = difference(best, of_method)
        if behind <= error and math.isnan(of_method.valid) == math.isnan(best.valid):
            return of_method
    return best


def difference(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean difference over the validation queries, and its standard error."""
    return (0.0, 0.0) if one is other else mean_and_error(one.values - other.values)


def eligible(tried: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidates of each method that can be chosen, in the order of ``tried``."""
    able = contenders(tried)
    kept = []
    for name in dict.fromkeys(c.name for c in tried):
        named = [c for c in able if c.name == name]
        kept += sorted(named, key=lambda c: -c.or_worst)[:_OF_A_METHOD]  # stable
    return [c for c in tried if c in kept]


class Blend(NamedTuple):
    """An ensemble of candidates, and how far it is ahead of the best single one."""

    members: tuple[tuple[Candidate, float], ...]  # with their weights, the heaviest first
    valid: float  # the measure on the queries that selected the members
    single: Candidate  # the best single candidate
    lead: tuple[float, float, int]  # with its standard error, and the number of queries
    scores: Float64Array  # of the validation queries
    values: Float64Array  # the measure on each of them


def blend(tried: Sequence[Candidate], folds: Sequence[Fold], measure: RankingMeasure) -> Blend | None:
    """Return the ensemble that greedy selection finds, if its lead exceeds the standard error of the lead.

    Greedy selection with replacement (Caruana, Niculescu-Mizil, Crew & Ksikes 2004,
    doi:10.1145/1015330.1015432): from the best few on, the candidate is added that makes the mean of the
    scores, in units of their spread, best on the validation queries; at most 25 are added, and the best
    number of them is kept. None unless the lead over the best single candidate, query by query over at least
    ten queries, exceeds its standard error.

    Cost: at most 25 evaluations of the measure per candidate.
    """
    pool = [c for c in eligible(tried) if c.scores.any() and not math.isnan(c.valid)]
    q = validation_queries(folds)
    if len(pool) < 2 or q.n_queries < _FEWEST_QUERIES or folds[0].valid is folds[0].train:
        return None
    scores = np.stack([c.scores for c in pool])
    counts, best = _select(scores, q, measure)
    mixed = counts @ scores / counts.sum()
    values = values_of(measure, mixed, q)
    ahead = values - pool[best].values
    lead, error = mean_and_error(ahead)
    n_queries = int(np.count_nonzero(~np.isnan(ahead)))
    if not lead > error or n_queries < _FEWEST_QUERIES or np.count_nonzero(counts) < 2:
        return None
    order = sorted(np.flatnonzero(counts), key=lambda i: -counts[i])
    members = tuple((pool[i], float(counts[i] / counts.sum())) for i in order)
    return Blend(members, mean_over_queries(values), pool[best], (lead, error, n_queries), mixed, values)


def _select(scores: Float64Array, q: Queries, measure: RankingMeasure) -> tuple[Int64Array, int]:
    """Return how often each candidate was picked, and the best one alone."""
    mean = mean_evaluator(measure, q)

    def value(scores: Float64Array) -> float:
        judged = mean(scores)
        return -math.inf if math.isnan(judged) else judged

    alone = [value(s) for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: -alone[i])  # stable
    starts = [np.bincount(ranked[:n], minlength=len(scores)) for n in range(1, _AT_THE_START + 1)]
    best_value, counts = max(((value(c @ scores), c) for c in starts), key=lambda pair: pair[0])
    best, total, waited = counts, counts @ scores, 0
    while counts.sum() < _PICKS and waited < _WITHOUT_GAIN:
        values = [value(total + s) for s in scores]
        pick = int(np.argmax(values))
        counts = counts + np.bincount([pick], minlength=len(scores))
        total, waited = total + scores[pick], waited + 1
        if values[pick] > best_value:
            best_value, best, waited = values[pick], counts, 0
    return best, ranked[0]


def choice(
    tried: Sequence[Candidate], folds: Sequence[Fold], measure: RankingMeasure, *, may_blend: bool
) -> tuple[Candidate, Blend | None]:
    """Return the preferred candidate, and the ensemble that replaces it, if there is one.

    What needs all documents of a query to score one is chosen only if its lead over the best choice without
    such candidates, query by query, exceeds twice its standard error; see docs/decisions/selection.md.
    """

    def best_of(candidates: Sequence[Candidate]) -> tuple[Candidate, Blend | None]:
        return preferred(candidates), blend(candidates, folds, measure) if may_blend else None

    able = contenders(tried)
    best, mixed = best_of(able)
    alone = [c for c in able if not c.needs_queries]
    members = [best] if mixed is None else [c for c, _ in mixed.members]
    if not alone or not any(c.needs_queries for c in members):
        return best, mixed
    other, other_mixed = best_of(alone)
    values, others = best.values if mixed is None else mixed.values, other.values
    if other_mixed is not None:
        others = other_mixed.values
    lead, error = mean_and_error(values - others)
    return (best, mixed) if lead > 2.0 * error else (other, other_mixed)
