"""The rank of a document as a function of one of its features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.rankers.training import mean_and_error
from directrix.types import Array, Float64Array

_MOST_VALUES = 9
_DRAWS = 3  # documents of a query


@dataclass(frozen=True, eq=False)
class Dependence:
    """Mean rank of a document of which one feature has some value, and all others stay as they are.

    Parameters
    ----------
    feature : str
    values : float64 (n,)
        Ascending: the 5 % to 95 % quantiles of the feature, or all of its values if they are few; of
        categories the most frequent codes.
    rank : float64 (n,)
        Mean over queries, and over documents drawn from each; 1 is the top. Ties share their ranks.
    error : float64 (n,)
        Standard error over queries of the difference from the rank with the feature's own value.
    own_rank : float
        Mean rank of the same documents with their own values.
    """

    feature: str
    values: Float64Array
    rank: Float64Array
    error: Float64Array
    own_rank: float


def dependence(ranker: Any, q: Queries, column: int, feature: str, seed: int) -> Dependence:
    """Return how the rank of a document depends on a feature, others being equal.

    In every query some documents are drawn; each in turn gets each value, and the ranker scores the query
    again: the partial dependence of Friedman (2001, Eq. 53), of the rank instead of the score. Cost: at most
    30 predictions of all queries, whose features are dense.
    """
    is_category = q.categories is not None and q.categories[column] is not None
    values = _values(q.features[:, column], is_category=is_category)
    rng = np.random.default_rng([seed, column])
    features = np.array(q.features)
    changed = replace(q, features=features)
    sizes = np.diff(q.qptr)
    starts = q.qptr[:-1][sizes > 0]
    ranks = np.zeros((len(values) + 1, len(starts)))
    for _ in range(_DRAWS):
        rows = starts + rng.integers(0, sizes[sizes > 0])
        own = features[rows, column].copy()
        for given, into in zip([own, *values], ranks, strict=True):
            features[rows, column] = given
            into += _ranks(ranker.predict_queries(changed), rows, starts) / _DRAWS
        features[rows, column] = own
    changes = [mean_and_error(of_value - ranks[0]) for of_value in ranks[1:]]
    own_rank = float(ranks[0].mean())
    mean, error = np.array(changes).reshape(-1, 2).T
    return Dependence(feature, values, own_rank + mean, error, own_rank)


def _values(column: Array, *, is_category: bool) -> Float64Array:
    """Values to try, ascending."""
    known = column[~np.isnan(column)].astype(np.float64)
    values, counts = np.unique(known, return_counts=True)
    if len(values) <= _MOST_VALUES:
        return values
    if is_category:
        return np.sort(values[np.argsort(-counts, kind="stable")[:_MOST_VALUES]])
    return np.unique(np.quantile(known, np.linspace(0.05, 0.95, _MOST_VALUES), method="inverted_cdf"))


def _ranks(scores: Float64Array, rows: Array, starts: Array) -> Float64Array:
    """Rank of one row of every query that has documents; ties share theirs."""
    mine = np.repeat(scores[rows], np.diff(np.append(starts, len(scores))))
    above = np.add.reduceat((scores > mine).astype(np.float64), starts)
    equal = np.add.reduceat((scores == mine).astype(np.float64), starts)
    ranks: Float64Array = above + 0.5 * (equal + 1.0)
    return ranks
