"""Greedy selection of an ensemble from the candidates of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.measures.base import RankingMeasure
from directrix.rankers.selection.choose import contenders
from directrix.rankers.selection.trial import Candidate, Fold, Trained
from directrix.rankers.training import judge_of, mean_and_error, mean_over_queries, values_of
from directrix.types import Array, Float64Array, Int64Array

_OF_A_METHOD = 2  # candidates of a method that may be members: every member is trained again on all queries
_AT_THE_START = 5  # candidates at most
_PICKS = 25
_WITHOUT_GAIN = 5  # picks after which the selection ends
_FEWEST_QUERIES = 10


class Blend(NamedTuple):
    """An ensemble of candidates, and how far it is ahead of the best single candidate."""

    members: tuple[tuple[Trained, float], ...]  # with their weights, the heaviest first
    valid: float  # the measure on the queries that selected the members
    single: Candidate  # the best single candidate
    lead: tuple[float, float, int]  # with its standard error, and the number of queries
    scores: Float64Array  # of the validation queries
    values: Float64Array  # the measure on each of them


def eligible(tried: Sequence[Trained]) -> list[Trained]:
    """Return the best candidates of each method that can be chosen, in the order of ``tried``."""
    kept, able = [], contenders([t.candidate for t in tried])
    for name in dict.fromkeys(t.candidate.method for t in tried):
        named = [t for t in tried if t.candidate.method == name and any(t.candidate is c for c in able)]
        kept += sorted(named, key=lambda t: -t.candidate.or_worst)[:_OF_A_METHOD]  # stable
    return [t for t in tried if any(t is one for one in kept)]


def blend(tried: Sequence[Trained], folds: Sequence[Fold], measure: RankingMeasure) -> Blend | None:
    """Return the ensemble that greedy selection finds, if its lead exceeds the standard error of the lead.

    Greedy selection with replacement (Caruana, Niculescu-Mizil, Crew & Ksikes 2004,
    doi:10.1145/1015330.1015432): from the best few on, the candidate is added that makes the mean of the
    scores, in units of their spread, best on the validation queries; at most 25 are added, and the best
    number of them is kept. None unless the lead over the best single candidate, query by query over at least
    ten queries, exceeds its standard error.

    Cost: at most 25 evaluations of the measure per candidate.
    """
    pool = [t for t in eligible(tried) if t.scores.any() and not math.isnan(t.candidate.valid)]
    q = judged(folds)
    if len(pool) < 2 or q.n_queries < _FEWEST_QUERIES or folds[0].judge is folds[0].train:
        return None
    scores = np.stack([t.scores for t in pool])
    counts, best = _select(scores, q, measure)
    mixed = counts @ scores / counts.sum()
    values = values_of(measure, mixed, q)
    ahead = values - pool[best].candidate.values
    lead, error = mean_and_error(ahead)
    n_queries = int(np.count_nonzero(~np.isnan(ahead)))
    if not lead > error or n_queries < _FEWEST_QUERIES or np.count_nonzero(counts) < 2:
        return None
    order = sorted(np.flatnonzero(counts), key=lambda i: -counts[i])
    members = tuple((pool[i], float(counts[i] / counts.sum())) for i in order)
    return Blend(
        members, mean_over_queries(values), pool[best].candidate, (lead, error, n_queries), mixed, values
    )


def _select(scores: Float64Array, q: Queries, measure: RankingMeasure) -> tuple[Int64Array, int]:
    """Return how often each candidate was picked, and the best one alone."""
    judge = judge_of(measure, q)
    alone = [_or_worst(judge(s)) for s in scores]
    ranked = sorted(range(len(scores)), key=lambda i: -alone[i])  # stable
    starts = [np.bincount(ranked[:n], minlength=len(scores)) for n in range(1, _AT_THE_START + 1)]
    value, counts = max(((_or_worst(judge(c @ scores)), c) for c in starts), key=lambda pair: pair[0])
    best_value, best = value, counts
    total, waited = counts @ scores, 0
    while counts.sum() < _PICKS and waited < _WITHOUT_GAIN:
        values = [_or_worst(judge(total + s)) for s in scores]
        pick = int(np.argmax(values))
        counts = counts + np.bincount([pick], minlength=len(scores))
        total, waited = total + scores[pick], waited + 1
        if values[pick] > best_value:
            best_value, best, waited = values[pick], counts, 0
    return best, ranked[0]


def _or_worst(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def judged(folds: Sequence[Fold]) -> Queries:
    """Return the validation queries of all folds in the order of a candidate's values, without features."""
    judges = [fold.judge for fold in folds]
    labels = np.concatenate([judge.labels for judge in judges])
    starts = np.cumsum([0, *(judge.n_docs for judge in judges)])
    qptr = np.concatenate(
        [judge.qptr[:-1] + start for judge, start in zip(judges, starts[:-1], strict=True)] + [starts[-1:]]
    )
    ids = [judge.doc_ids for judge in judges if judge.doc_ids is not None]
    doc_ids: Array | None = np.concatenate(ids) if len(ids) == len(judges) else None
    features = np.zeros((len(labels), 1), dtype=np.float32)
    query_ids = tuple(query for judge in judges for query in judge.query_ids)
    return Queries(features, labels, qptr, query_ids, doc_ids, None, np.arange(len(labels)))
