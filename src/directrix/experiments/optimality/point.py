"""The point that is tested: a model, its parameters, and the measure as a function of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.scoring import scores_of
from directrix.objectives.objective import DataObjective
from directrix.rankers.base import Ranker
from directrix.rankers.gradient import decompose
from directrix.rankers.inputs import check_finite, check_scores
from directrix.rankers.means import mean_over_queries, means_on_shards
from directrix.threads import run_chunks
from directrix.trainers.progress import varying_features
from directrix.types import Float64Array, Model

_SCORES_AT_ONCE = 1 << 22
"""Floats of scores that are held at a time."""
_ENOUGH = 8
"""From this number of score vectors on, each is ranked by one thread; fewer are ranked one by one, on all."""


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters of a model on data."""

    model: Model  # linear or a network
    params: Float64Array
    queries: Any  # Queries or ShardedQueries, scaled as the model needs them
    query_weight: Float64Array | None = None  # in the mean over queries
    ranker: Any = None  # of these parameters

    @property
    def is_linear(self) -> bool:
        """Whether scores move along straight lines."""
        return isinstance(self.model, LinearModel)

    @property
    def movable(self) -> Sequence[int]:
        """Weights that can change a ranking: of a linear model, those of features that order documents."""
        return varying_features(self.queries) if self.is_linear else range(len(self.params))

    def line_search(self, measure: RankingMeasure) -> LineSearch:
        """Return the line search on the data.

        Raises `InputError` if the model is not linear, or the measure is not a sum over documents.
        """
        if not self.is_linear:
            raise InputError(
                f"exact=True: the scores of {self.model!r} do not move along straight lines; leave exact "
                "out, or test a linear model."
            )
        q = self.queries
        if not isinstance(q, Queries):
            raise q.features.refusal("exact=True")
        return LineSearch(measure, q.labels, q.qptr, query_weight=self.query_weight, doc_ids=q.doc_ids)


def point_of(ranker_or_params: Any, data: Any, measure: Any) -> tuple[Point, RankingMeasure]:
    """Return the point, and the measure that it is tested for; see `certify`."""
    if isinstance(ranker_or_params, Ranker):
        if not hasattr(data, "held"):
            raise InputError(
                f"data is a {type(data).__name__}; a ranker scales its data itself and is tested on Queries, "
                "e.g. read_letor(path)."
            )
        model, params, queries, ranker = decompose(ranker_or_params, data)
        point = Point(model, params, queries, None, ranker)
        goal = ranker.measure_ if measure is None else measure
    else:
        point, goal = _point_of_params(ranker_or_params, data), measure
        if goal is None:
            raise InputError("weights have no measure of their own; pass one, e.g. measure='nDCG@10'.")
    check_finite(point.queries, "the data")
    return point, parse_measure(goal)


def _point_of_params(params: Any, data: Any) -> Point:
    try:
        vector = np.array(params, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"ranker_or_params is a {type(params).__name__}; a fitted LinearRanker or MLPRanker is needed, "
            "or weights: one for every feature, shape (n_features,)."
        ) from None
    if hasattr(data, "held"):
        point = Point(LinearModel(), vector, data)
        n_params = data.n_features
    elif isinstance(data, DataObjective) and isinstance(data.model, LinearModel | MLPModel):
        point = Point(data.model, vector, data.queries, data.query_weight)
        n_params = data.queries.n_features
        if isinstance(data.model, MLPModel):
            n_params = data.model.n_params(n_params)
    else:
        raise InputError(
            f"data is a {type(data).__name__}; Queries are needed, or the objective of a linear model or a "
            "network, e.g. linear_objective(queries, 'ApproxNDCG')."
        )
    if vector.shape != (n_params,) or not np.isfinite(vector).all():
        raise InputError(
            f"params has shape {vector.shape}; {n_params} finite numbers are needed on {data!r}, e.g. "
            "ranker.coef_ of a fitted LinearRanker."
        )
    return point


class Judge:
    """Mean over queries of a measure as a function of parameters; what depends on labels is computed once."""

    def __init__(self, point: Point, measure: RankingMeasure) -> None:
        self.point, self.measure, q = point, measure, point.queries
        if isinstance(q, Queries):
            self._ready = measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        self.value = float(self.means(point.params[None])[0])
        """The mean at the point itself."""
        if np.isnan(self.value):
            raise InputError(
                f"{measure} is defined for none of the {q.n_queries} queries, so nothing can rise; at least "
                "one query needs documents of different labels."
            )

    def scores(self, params: Float64Array) -> Float64Array:
        """Return scores of documents, float64 (n_vectors, n_docs), of parameters (n_vectors, n_params)."""
        return scores_of(self.point.model, params, self.point.queries.features)

    def means(self, params: Float64Array) -> Float64Array:
        """Mean over queries for every vector of parameters (n_vectors, n_params): float64 (n_vectors,).

        The same bits as ``ranker.score`` with those parameters, for any number of vectors and of threads.
        At most 4 million scores, 32 MiB, are held at a time, or those of one vector.
        """
        if self.point.queries.held == "shards":
            return means_on_shards(self.measure, self.point.model, self.point.queries, params)
        means = np.empty(len(params))
        at_once = max(1, _SCORES_AT_ONCE // max(self.point.queries.n_docs, 1))
        for first in range(0, len(params), at_once):
            scores = self.scores(params[first : first + at_once])
            if len(scores) < _ENOUGH:
                for i in range(len(scores)):
                    self._fill(means[first:], scores, i)
            else:
                run_chunks(partial(self._fill, means[first:], scores), len(scores))
        return means

    def _fill(self, means: Float64Array, scores: Float64Array, i: int) -> None:
        if not np.isfinite(scores[i]).all():
            check_scores(scores[i], self.point.queries)
        means[i] = mean_over_queries(self._ready(scores[i])[0], self.point.query_weight)
