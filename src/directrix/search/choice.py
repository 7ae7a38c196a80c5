"""The choice among candidates, and whether an ensemble of several is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error, mean_over_queries, values_of
from directrix.search.candidates import CUT_SHORT, INCOMPLETE, UNTRAINED, Candidate
from directrix.search.folds import Fold, validation_queries
from directrix.types import Float64Array

_METHODS = 4
_ERRORS = 2.0  # behind the best by more than this number of standard errors is not a near-tie
_FEWEST_QUERIES = 10


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates with the best first; equally good ones are always in the order of preference."""
    return sorted(candidates, key=lambda c: (-c.or_worst, c.place))


def leading(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    """Return the best candidate of each method, the best method first."""
    leaders: dict[str, Candidate] = {}
    for candidate in ranked(candidates):
        leaders.setdefault(candidate.name, candidate)
    return leaders


def contenders(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that can be chosen.

    These are the ones that finished, and those that the time budget stopped but are ahead of all finished
    ones. The value of a stopped run does not show what it would have reached. If none finished, they are
    those that were stopped after a step, or else before all folds were tried, or before a step.
    """
    of = {end: [c for c in candidates if c.outcome == end] for end in ("", CUT_SHORT, INCOMPLETE, UNTRAINED)}
    if not of[""]:
        return of[CUT_SHORT] or of[INCOMPLETE] or of[UNTRAINED]
    best = max(c.or_worst for c in of[""])
    return [c for c in candidates if c in of[""] or (c in of[CUT_SHORT] and c.or_worst > best)]


def preferred(candidates: Sequence[Candidate], *, simple: bool = False) -> Candidate:
    """Return the best of the `contenders`.

    With ``simple``, return the most preferred method whose best candidate is within one standard error of it.
    The error is that of the mean difference over the validation queries, query by query.
    """
    able = contenders(candidates)
    best, leaders = ranked(able)[0], leading(able)
    for name in dict.fromkeys(c.name for c in sorted(able, key=lambda c: c.place)) if simple else ():
        of_method = leaders[name]
        behind, error = difference(best, of_method)
        if not behind > error and math.isnan(of_method.valid) == math.isnan(best.valid):
            return of_method
    return best


def difference(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Return the mean difference over the validation queries, and its standard error."""
    return (0.0, 0.0) if one is other else mean_and_error(one.values - other.values)


def eligible(tried: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidate of each method that can be chosen, and the anchors, as ``tried``."""
    able = contenders(tried)
    leaders = leading(able).values()
    return [c for c in able if c in leaders or c.is_anchor]


class Blend(NamedTuple):
    """The mean of several candidates, and its lead over the best of them."""

    members: tuple[Candidate, ...]  # the best first
    valid: float  # the measure on the validation queries
    lead: tuple[float, float, int]  # with its standard error, and the number of queries
    scores: Float64Array  # of the validation queries
    values: Float64Array  # the measure on each of them


def blend(tried: Sequence[Candidate], folds: Sequence[Fold], measure: RankingMeasure) -> Blend | None:
    """Return the mean of the candidates that validation cannot distinguish, or None if there is only one.

    These are the best candidates of the four best methods and the anchors, except those that are behind the
    best by more than two standard errors, query by query. Their scores count equally, in units of their
    spread. Averages are not compared with single candidates: the highest of many values is too high by
    chance, but that of an average is not (docs/decisions/selection.md). The result is None for fewer than ten
    validation queries.
    """
    pool = [c for c in eligible(tried) if c.scores.any() and not math.isnan(c.valid)]
    if len(pool) < 2 or folds[0].valid is folds[0].train:
        return None
    order = ranked(pool)
    names = list(leading(pool))[:_METHODS]
    members = [c for c in order if (c.name in names or c.is_anchor) and is_tied(c, order[0])]
    q = validation_queries(folds)
    scores = np.mean([c.scores for c in members], axis=0)
    values = values_of(measure, scores, q)
    ahead = values - members[0].values
    n_queries = int(np.count_nonzero(~np.isnan(ahead)))
    if len(members) < 2 or n_queries < _FEWEST_QUERIES:
        return None
    return Blend(
        tuple(members), mean_over_queries(values), (*mean_and_error(ahead), n_queries), scores, values
    )


def is_tied(candidate: Candidate, best: Candidate) -> bool:
    """Whether a candidate is behind the best by at most two standard errors, query by query."""
    behind, error = difference(best, candidate)
    return not behind > _ERRORS * error  # true of an unknown error


def choice(
    tried: Sequence[Candidate],
    folds: Sequence[Fold],
    measure: RankingMeasure,
    *,
    may_blend: bool,
    simple: bool = False,
) -> tuple[Candidate, Blend | None]:
    """Return the preferred candidate, and the ensemble that replaces it, if there is one.

    A candidate that needs all documents of a query is chosen only if its lead over the best choice without
    such candidates, query by query, exceeds its standard error; see docs/decisions/selection.md.
    """

    def best_of(candidates: Sequence[Candidate]) -> tuple[Candidate, Blend | None]:
        mixed = blend(candidates, folds, measure) if may_blend else None
        return preferred(candidates, simple=simple), mixed

    able = contenders(tried)
    best, mixed = best_of(able)
    alone = [c for c in able if not c.needs_queries]
    members: Sequence[Candidate] = [best] if mixed is None else mixed.members
    if not alone or not any(c.needs_queries for c in members):
        return best, mixed
    other, other_mixed = best_of(alone)
    values, others = best.values if mixed is None else mixed.values, other.values
    if other_mixed is not None:
        others = other_mixed.values
    lead, error = mean_and_error(values - others)
    return (best, mixed) if lead > error else (other, other_mixed)
