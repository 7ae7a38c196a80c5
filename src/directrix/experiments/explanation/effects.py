"""Effects of one feature: the rank of a document by its values, and training without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from directrix.data.queries import Queries
from directrix.experiments.significance.pairs import t_interval
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error, mean_over_queries, values_of
from directrix.tables import Table, Value
from directrix.types import Array, Float64Array, Progress, is_sparse

# A dependence has at most this number of points: all values, or quantiles from 5 % to 95 %.
_MOST_VALUES = 9
# This number of documents is drawn from each query. Their ranks are averaged to reduce chance.
_DRAWS = 3


@dataclass(frozen=True, eq=False)
class Dependence:
    """Mean rank of a document as a function of one feature, with all others unchanged.

    Parameters
    ----------
    feature : str
    values : float64 (n,)
        Ascending: the 5 % to 95 % quantiles of the feature, or all of its values if they are few; for
        categories, the most frequent codes.
    rank : float64 (n,)
        Mean over queries, and over documents sampled from each; 1 is the top. Ties share their ranks.
    error : float64 (n,)
        Standard error over queries of the difference from the rank with the feature's own value.
    own_rank : float
        Mean rank of the same documents with their own values.
    categories : tuple of str (n,)
        Names of the values of a categorical feature, else empty.
    """

    feature: str
    values: Float64Array
    rank: Float64Array
    error: Float64Array
    own_rank: float
    categories: tuple[str, ...] = ()


def dependence(ranker: Any, q: Queries, column: int, feature: str, seed: int) -> Dependence:
    """Return how the rank of a document depends on a feature, with the others fixed.

    Some documents are sampled from every query; each in turn gets each value, and the ranker scores the query
    again. This is the partial dependence of Friedman (2001, Eq. 53), for the rank instead of the score. Cost:
    at most 30 predictions of all queries, with dense features.
    """
    categories = None if q.categories is None else q.categories[column]
    values = _values(q.features[:, column], is_category=categories is not None)
    rng = np.random.default_rng([seed, column])
    # One copy of the features is changed in place for every value, which avoids a copy for each.
    features = np.array(q.features)
    changed = replace(q, features=features)
    sizes = np.diff(q.qptr)
    starts = q.qptr[:-1][sizes > 0]
    ranks = np.zeros((len(values) + 1, len(starts)))
    for _ in range(_DRAWS):
        rows = starts + rng.integers(0, sizes[sizes > 0])
        original = features[rows, column].copy()
        for value, row_ranks in zip([original, *values], ranks, strict=True):
            features[rows, column] = value
            row_ranks += _ranks(ranker.predict_queries(changed), rows, starts) / _DRAWS
        features[rows, column] = original
    # Errors are those of changes against the same documents with their own values, not of ranks.
    changes = [mean_and_error(of_value - ranks[0]) for of_value in ranks[1:]]
    own_rank = float(ranks[0].mean())
    mean, error = np.array(changes).reshape(-1, 2).T
    names = () if categories is None else tuple(categories[int(place)] for place in values)
    return Dependence(feature, values, own_rank + mean, error, own_rank, names)


def _values(column: Array, *, is_category: bool) -> Float64Array:
    """Values to try, ascending."""
    present = column[~np.isnan(column)].astype(np.float64)
    values, counts = np.unique(present, return_counts=True)
    if len(values) <= _MOST_VALUES:
        return values
    if is_category:
        return np.sort(values[np.argsort(-counts, kind="stable")[:_MOST_VALUES]])
    # The tails are left out, because models are rarely trained on documents with such values.
    return np.unique(np.quantile(present, np.linspace(0.05, 0.95, _MOST_VALUES), method="inverted_cdf"))


def _ranks(scores: Float64Array, rows: Array, starts: Array) -> Float64Array:
    """Rank of one row of every query that has documents; ties share theirs."""
    mine = np.repeat(scores[rows], np.diff(np.append(starts, len(scores))))
    above = np.add.reduceat((scores > mine).astype(np.float64), starts)
    equal = np.add.reduceat((scores == mine).astype(np.float64), starts)
    ranks: Float64Array = above + 0.5 * (equal + 1.0)
    return ranks


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Falls of a measure when features are left out and the ranker is retrained.

    Parameters
    ----------
    value : float
        Mean of the measure after training with all features.
    columns : tuple of int
        Features that were left out, one at a time.
    falls : float64 (n_columns, n_queries)
        Value with all features minus value without this one, for every query.
    """

    value: float
    columns: tuple[int, ...]
    falls: Float64Array

    def mean(self, column: int) -> float:
        """Return the mean fall over queries."""
        return mean_over_queries(self.falls[self.columns.index(column)])

    def interval(self, column: int) -> tuple[float, float]:
        """Return the 95 % interval of Student's t of the mean fall."""
        falls = self.falls[self.columns.index(column)]
        return t_interval(falls, np.zeros_like(falls))


def left_out(
    ranker: Any,
    q: Queries,
    measure: RankingMeasure,
    columns: Sequence[int],
    names: Sequence[str],
    trained_on: tuple[Queries, Queries | None],
    progress: Progress | None,
) -> LeftOut:
    """Train copies of a ranker, with all features and without some, one by one; evaluate them on ``q``.

    A feature that is left out is 0 everywhere, so nothing can be learned from it. Cost: one training run per
    column, and one with all features.
    """
    values = []
    for done, column in enumerate([None, *columns]):
        if progress is not None:
            progress(done, len(columns) + 1, "all features" if column is None else names[column])
        train, valid, test = (
            None if queries is None else _without(queries, column) for queries in (*trained_on, q)
        )
        copy = clone(ranker.trained() if hasattr(ranker, "trained") else ranker)
        copy.fit_queries(train, valid, measure=measure)
        values.append(values_of(measure, copy.predict_queries(test), q))
    falls = np.array([values[0] - without for without in values[1:]]).reshape(-1, q.n_queries)
    return LeftOut(mean_over_queries(values[0]), tuple(columns), falls)


def _without(q: Queries, column: int | None) -> Queries:
    if column is None:
        return q
    if is_sparse(q.features):
        features: Any = q.features.copy()
        features.data[features.indices == column] = 0.0
    else:
        features = np.array(q.features[:])
        features[:, column] = 0.0
    return replace(q, features=features)


def dependence_table(moves: tuple[Dependence, ...]) -> Table:
    """Return the mean ranks at the ends of each feature's values."""
    rows: list[tuple[Value, ...]] = []
    for move in moves:
        low, high = (np.argmax(move.rank), np.argmin(move.rank)) if move.categories else (0, -1)
        texts = move.categories or [f"{value:.4g}" for value in move.values]
        ends = [(texts[i], float(move.rank[i])) for i in (int(low), int(high))]
        rows.append((move.feature, move.own_rank, *ends[0], *ends[1], float(move.error.max())))
    return Table(
        "Mean rank of a document, by the value of one of its features",
        ("feature", "own value", "value", "rank", "value", "rank", "error"),
        tuple(rows),
        groups=(("", 1), ("rank", 1), ("low", 2), ("high", 2), ("", 1)),
        notes=(
            "Documents drawn from every query get the value, and nothing else changes; rank 1 is the top. "
            "low, high: the 5 % and 95 % quantiles of the feature; of categories the one that ranks lowest, "
            "and highest. error: the largest standard error of a change.",
        ),
        digits=1,
    )
