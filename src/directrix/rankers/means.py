"""Means of measures over queries: of scores, and of the parameters of a model on shards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.data.shards.task import OpenShard, Question, check_code
from directrix.data.stored import blocks
from directrix.errors import InputError
from directrix.fingerprint import fingerprint
from directrix.measures.base import RankingMeasure, check_gains
from directrix.measures.bootstrap import equal_signs_p
from directrix.models.rows import scores_of
from directrix.models.trees import Trees
from directrix.types import Float64Array, Measure, Model

# Differences of a measure up to this size are rounding errors; a standard deviation is compared with it
# relative to the mean, because equal values deviate from their rounded mean.
_ROUNDING = 1e-12


def mean_over_queries(values: Float64Array, weights: Float64Array | None = None) -> float:
    """Mean over the queries for which the measure is defined; NaN if there are none."""
    defined = ~np.isnan(values)
    weights = None if weights is None else weights[defined]
    if not defined.any() or (weights is not None and not weights.any()):
        return math.nan
    return float(np.average(values[defined], weights=weights))


def mean_and_error(values: Float64Array) -> tuple[float, float]:
    """Mean of the defined values, and its standard error: NaN for one of them, or up to five equal ones."""
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return (float(values[0]) if len(values) else 0.0), math.nan
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    # Up to five equal values are no evidence of a small error: their sign test has p > 0.05.
    is_unknown = mean and deviation <= _ROUNDING * abs(mean) and equal_signs_p(len(values)) > 0.05
    return mean, math.nan if is_unknown else deviation / len(values) ** 0.5


def values_of(measure: Measure, scores: Float64Array, q: Queries) -> Float64Array:
    """Value of a measure for every query."""
    # a measure that the user defined need not take identifiers, which only break ties
    check_gains(q, measure)
    identifiers = {"doc_ids": q.doc_ids} if isinstance(measure, RankingMeasure) else {}
    return measure(scores, q.labels, q.qptr, **identifiers)


def mean_of(measure: Measure, scores: Float64Array, q: Queries, weights: Float64Array | None = None) -> float:
    """Mean over queries of a measure of scores."""
    return mean_over_queries(values_of(measure, scores, q), weights)


def evaluator_of(measure: Measure, q: Queries) -> Callable[[Float64Array], Float64Array]:
    """Value of a measure for every query as a function of scores; functions of labels are computed once."""
    check_gains(q, measure)
    if not isinstance(measure, RankingMeasure):
        return lambda scores: values_of(measure, scores, q)
    ready = measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
    return lambda scores: ready(scores)[0]


def mean_evaluator(measure: Measure, q: Queries) -> Callable[[Float64Array], float]:
    """Mean of a measure over queries as a function of scores; see `evaluator_of`."""
    values = evaluator_of(measure, q)
    return lambda scores: mean_over_queries(values(scores))


def can_choose(measure: Measure, valid: Any) -> bool:
    """Whether a measure has other values for other rankings of validation queries, or no value at all."""
    q = valid.judged()
    values = evaluator_of(measure, q)
    # The best order, the worst, and two by position: a measure that is equal for all of these cannot choose.
    rows = np.arange(float(q.n_docs))
    first, *others = (np.nan_to_num(values(scores)) for scores in (q.labels, -q.labels, rows, -rows))
    differs = any((np.abs(first - other) > _ROUNDING).any() for other in others)
    return differs or bool(np.isnan(values(rows)).all())


def check_can_choose(measure: Measure, valid: Any, name: str) -> None:
    """Raise `InputError` unless a measure can choose a step on the validation queries that ``name`` gives."""
    if not can_choose(measure, valid):
        raise InputError(
            f"{name}: {getattr(measure, 'name', measure)} has the same value for every ranking of the "
            "validation queries and cannot choose a step. Give queries with documents of different labels, "
            "and check their group."
        )


def spread_within_queries(scores: Float64Array, q: Queries) -> float:
    """Root mean square over queries of the standard deviation of the scores of a query."""
    centered = scores - np.repeat(query_means(scores, q), np.diff(q.qptr))
    return float(np.sqrt(query_means(centered * centered, q).mean()))


def query_means(per_doc: Float64Array, q: Queries) -> Float64Array:
    """Mean over the documents of every query."""
    means: Float64Array = np.add.reduceat(per_doc, q.qptr[:-1]) / np.diff(q.qptr)
    return means


def surrogate_gap(ranker: Any, q: Queries) -> float:
    r"""Return the mean over queries of \|surrogate - the measure that it tends to\| for a fitted ranker.

    After `Anneal`, the surrogate has the smoothing where training ended. Queries for which the measure is
    undefined do not count. NaN if the surrogate tends to no measure.
    """
    surrogate: Any = getattr(ranker, "surrogate_", None)
    if "tends_to_measure" not in getattr(surrogate, "properties", ()):
        return math.nan
    scores = ranker.predict_queries(q)
    value, _ = surrogate.value_and_grad(scores, q.labels, q.qptr)
    return mean_over_queries(np.abs(value - surrogate.measure(scores, q.labels, q.qptr)))


def mean_evaluator_on_shards(
    measure: RankingMeasure, model: Model, shards: ShardedQueries
) -> Callable[[Float64Array], float]:
    """Mean of a measure over scaled queries in shards as a function of a model's parameters."""
    return lambda params: float(means_on_shards(measure, model, shards, params[None])[0])


def means_on_shards(
    measure: RankingMeasure, model: Model, shards: ShardedQueries, params: Float64Array
) -> Float64Array:
    """Means of a measure at vectors of parameters (k, n_params), by one request; NaN if undefined."""
    scale = shards.features.scale
    totals, counts = shards.features.ask(
        SumsOfMeasure(measure, model, scale, params, fingerprint((measure, scale)))
    )
    return np.where(counts > 0, totals / np.maximum(counts, 1), math.nan)


@dataclass(frozen=True, eq=False)
class SumsOfMeasure(Question):
    """Sums over queries of a measure, and the number of queries for which it is defined: (2, k)."""

    measure: RankingMeasure
    model: Model
    scale: Any
    params: Float64Array
    key: str
    """Fingerprint of measure and scale."""

    def answer(self, shard: OpenShard) -> Float64Array:
        """Return the sums of one shard; features are read once for all parameters."""
        q, values = shard.kept(("measure", self.key), lambda: self._prepared(shard))
        scores = [self._scores(rows) for _, rows in blocks(q.features, q.qptr)]
        per_query = np.array([values(row) for row in np.concatenate(scores, axis=1)])
        return np.array([np.nansum(per_query, axis=1), np.isfinite(per_query).sum(axis=1)])

    def _scores(self, rows: Any) -> Float64Array:
        # Trees hold their own parameters, the values of the leaves.
        if isinstance(self.model, Trees):
            return self.model.predict(rows)[None]
        return scores_of(self.model, self.params, rows)

    def _prepared(self, shard: OpenShard) -> tuple[Queries, Callable[[Float64Array], Float64Array]]:
        check_code(self.key, (self.measure, self.scale))
        q = shard.queries(self.scale)
        return q, evaluator_of(self.measure, q)
