"""Folds: training queries and validation queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.split import fold_numbers
from directrix.errors import Advice, InputError, amount
from directrix.measures.base import RankingMeasure
from directrix.rankers.inputs import Weights
from directrix.rankers.means import can_choose, values_of
from directrix.types import Array, Float64Array

UNWEIGHTED: Weights = (None, None)

MANY_DOCS = 100_000
"""Number of training documents from which on methods are compared on a sample of the queries."""
SAMPLE_DOCS = 60_000

_FEWEST_TO_SPLIT = 10
_ENOUGH_TO_HOLD_BACK = 1000
_FOLDS = 5


class Fold(NamedTuple):
    """Training queries, their weights, and validation queries; in memory or in shards."""

    train: Any
    weights: Weights
    valid: Any

    @property
    def judged(self) -> Queries:
        """Labels of the validation queries; without features for shards."""
        judged: Queries = self.valid.judged()
        return judged

    def can_choose(self, measure: RankingMeasure) -> bool:
        """Whether a measure is defined for a validation query, and differs between rankings of them."""
        judged = self.judged
        is_defined = not np.isnan(values_of(measure, np.zeros(judged.n_docs), judged)).all()
        return is_defined and can_choose(measure, judged)

    def scores(self, ranker: Any) -> Float64Array:
        """Return the scores of the documents of the validation queries."""
        scores: Float64Array = self.valid.scores(ranker)
        return scores


def search_folds(
    q: Any, valid: Any, weights: Weights, folds: int | None, seed: int
) -> tuple[list[Fold], str]:
    """Return the folds, and a description of the queries that decide; see `AutoRanker`."""
    if valid is not None:
        return [Fold(q, weights, valid)], amount(valid.n_queries, "validation queries")
    if q.n_queries < _FEWEST_TO_SPLIT:
        return [Fold(q, weights, q)], f"the training queries ({q.n_queries}, too few to hold some out)"
    if folds is None:
        folds = _FOLDS if q.n_queries < _ENOUGH_TO_HOLD_BACK else 1
    if folds > q.n_queries:
        raise InputError(
            f"folds={folds} for {amount(q.n_queries, 'queries')}: every fold needs a validation query.",
            Advice("folds", most=q.n_queries, default=_FOLDS),
        )
    number = fold_numbers(q.n_queries, max(folds, _FOLDS if folds == 1 else 2), seed=seed)
    parts = [
        Fold(*_part(q, weights, number != fold), q.take(np.flatnonzero(number == fold)))
        for fold in range(folds)
    ]
    judged = f"{q.n_queries} queries in {folds} folds"
    if folds == 1:
        judged = f"{parts[0].valid.n_queries} of {q.n_queries} queries held back"
    return parts, f"{judged} (seed {seed})"


def sample(fold: Fold, n_docs: int, seed: int) -> Fold:
    """Return random queries of a fold: about ``n_docs`` documents each to train and validate on."""
    train, weights = _part(fold.train, fold.weights, _is_drawn(fold.train, n_docs, seed))
    return Fold(train, weights, fold.valid.take(np.flatnonzero(_is_drawn(fold.valid, n_docs, seed))))


def few(q: Any) -> Any:
    """Return queries, or a sample if there are many documents, for estimates that need no more."""
    if q.held == "shards" or q.n_docs <= MANY_DOCS:
        return q
    return q.take(np.flatnonzero(_is_drawn(q, SAMPLE_DOCS, 0)))


def _part(q: Queries, weights: Weights, is_in: Array) -> tuple[Queries, Weights]:
    by_document, by_query = weights
    part = (
        None if by_document is None else by_document[np.repeat(is_in, np.diff(q.qptr))],
        None if by_query is None else by_query[is_in],
    )
    return q.take(np.flatnonzero(is_in)), part


def _is_drawn(q: Queries, n_docs: int, seed: int) -> Array:
    order = np.random.default_rng(seed).permutation(q.n_queries)
    n = max(_FEWEST_TO_SPLIT, int(np.searchsorted(np.cumsum(np.diff(q.qptr)[order]), n_docs, "right")))
    drawn = np.zeros(q.n_queries, dtype=bool)
    drawn[order[:n]] = True
    return drawn


def validation_queries(folds: Sequence[Fold]) -> Queries:
    """Return the validation queries of all folds in the order of a candidate's values, without features."""
    parts = [fold.judged for fold in folds]
    labels = np.concatenate([part.labels for part in parts])
    starts = np.cumsum([0, *(part.n_docs for part in parts)])
    qptr = np.concatenate(
        [part.qptr[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)] + [starts[-1:]]
    )
    ids = [part.doc_ids for part in parts if part.doc_ids is not None]
    doc_ids: Array | None = np.concatenate(ids) if len(ids) == len(parts) else None
    features = np.zeros((len(labels), 1), dtype=np.float32)
    query_ids = tuple(query for part in parts for query in part.query_ids)
    return Queries(features, labels, qptr, query_ids, doc_ids, None, np.arange(len(labels)))
