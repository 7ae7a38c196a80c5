"""What a ranker loses that is trained without a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from directrix.data.queries import Queries
from directrix.experiments.significance.effects import t_interval
from directrix.measures.base import RankingMeasure
from directrix.rankers.training import mean_over_queries, values_of
from directrix.search.clock import Progress
from directrix.types import Float64Array, is_sparse


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Falls of a measure when features are left out and the ranker is trained again.

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
    """Train copies of a ranker, with all features and without each of some, and evaluate them on ``q``.

    A feature that is left out is 0 everywhere, so that nothing can be learnt from it. Cost: one training
    more than there are columns.
    """
    values = []
    for done, column in enumerate([None, *columns]):
        if progress is not None:
            progress(done, len(columns) + 1, "all features" if column is None else names[column])
        train, valid, test = (None if part is None else _without(part, column) for part in (*trained_on, q))
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
