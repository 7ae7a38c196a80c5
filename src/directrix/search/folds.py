"""Folds: training queries and validation queries.

In: queries, or training and validation queries. Out: a list of `Fold`.
"""

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
from directrix.search import rules
from directrix.types import Array, Float64Array

UNWEIGHTED: Weights = (None, None)


class Fold(NamedTuple):
    """Training queries, their weights, and validation queries; in memory or in shards."""

    train: Any
    weights: Weights
    valid: Any

    @property
    def labeled(self) -> Queries:
        """Labels of the validation queries; without features for shards."""
        queries: Queries = self.valid.judged()
        return queries

    def can_choose(self, measure: RankingMeasure) -> bool:
        """Whether a measure is defined for a validation query, and differs between rankings of them."""
        queries = self.labeled
        is_defined = not np.isnan(values_of(measure, np.zeros(queries.n_docs), queries)).all()
        return is_defined and can_choose(measure, queries)

    def scores(self, ranker: Any) -> Float64Array:
        """Return the scores of the documents of the validation queries."""
        scores: Float64Array = self.valid.scores(ranker)
        return scores


def search_folds(
    queries: Any, valid: Any, weights: Weights, folds: int | None, seed: int
) -> tuple[list[Fold], str]:
    """Return the folds, and a description of the queries that decide; see `AutoRanker`."""
    if valid is not None:
        return [Fold(queries, weights, valid)], amount(valid.n_queries, "validation queries")
    if queries.n_queries < rules.FEWEST_TO_SPLIT:
        return [
            Fold(queries, weights, queries)
        ], f"the training queries ({queries.n_queries}, too few to hold some out)"
    if folds is None:
        folds = rules.FOLDS if queries.n_queries < rules.ENOUGH_TO_HOLD_OUT else 1
    if folds > queries.n_queries:
        raise InputError(
            f"folds={folds} for {amount(queries.n_queries, 'queries')}: every fold needs a validation query.",
            Advice("folds", most=queries.n_queries, default=rules.FOLDS),
        )
    # One fold means a holdout: the queries are split as for five folds, and only the first is used.
    number = fold_numbers(queries.n_queries, max(folds, rules.FOLDS if folds == 1 else 2), seed=seed)
    split = [
        Fold(*_selected(queries, weights, number != fold), queries.take(np.flatnonzero(number == fold)))
        for fold in range(folds)
    ]
    selection = f"{queries.n_queries} queries in {folds} folds"
    if folds == 1:
        selection = f"{split[0].valid.n_queries} of {queries.n_queries} queries held back"
    return split, f"{selection} (seed {seed})"


def sample(fold: Fold, n_docs: int, seed: int) -> Fold:
    """Return random queries of a fold: about ``n_docs`` documents each to train and validate on."""
    train, weights = _selected(fold.train, fold.weights, _drawn(fold.train, n_docs, seed))
    return Fold(train, weights, fold.valid.take(np.flatnonzero(_drawn(fold.valid, n_docs, seed))))


def few(queries: Any) -> Any:
    """Return queries, or a sample if there are many documents, for estimates that need no more."""
    if queries.held == "shards" or queries.n_docs <= rules.MANY_DOCS:
        return queries
    return queries.take(np.flatnonzero(_drawn(queries, rules.SAMPLE_DOCS, 0)))


def _selected(queries: Queries, weights: Weights, is_in: Array) -> tuple[Queries, Weights]:
    by_document, by_query = weights
    selected = (
        None if by_document is None else by_document[np.repeat(is_in, np.diff(queries.qptr))],
        None if by_query is None else by_query[is_in],
    )
    return queries.take(np.flatnonzero(is_in)), selected


def _drawn(queries: Queries, n_docs: int, seed: int) -> Array:
    # Whole queries are drawn in random order until their documents exceed the limit.
    order = np.random.default_rng(seed).permutation(queries.n_queries)
    n = max(
        rules.FEWEST_TO_SPLIT, int(np.searchsorted(np.cumsum(np.diff(queries.qptr)[order]), n_docs, "right"))
    )
    drawn = np.zeros(queries.n_queries, dtype=bool)
    drawn[order[:n]] = True
    return drawn


def validation_queries(folds: Sequence[Fold]) -> Queries:
    """Return the validation queries of all folds in the order of a candidate's values, without features."""
    labeled = [fold.labeled for fold in folds]
    labels = np.concatenate([queries.labels for queries in labeled])
    # The folds are joined as one collection, so each fold's row numbers move by the documents before it.
    starts = np.cumsum([0, *(queries.n_docs for queries in labeled)])
    qptr = np.concatenate(
        [queries.qptr[:-1] + start for queries, start in zip(labeled, starts, strict=False)] + [starts[-1:]]
    )
    ids = [queries.doc_ids for queries in labeled if queries.doc_ids is not None]
    doc_ids: Array | None = np.concatenate(ids) if len(ids) == len(labeled) else None
    features = np.empty((len(labels), 0), dtype=np.float32)
    query_ids = tuple(query for queries in labeled for query in queries.query_ids)
    return Queries(features, labels, qptr, query_ids, doc_ids, None, np.arange(len(labels)))
