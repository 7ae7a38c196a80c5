"""Measures on shards: every shard evaluates its queries, and sums come back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.data.shards.task import OpenShard, Question, check_code
from directrix.data.stored import StoredFeatures
from directrix.fingerprint import fingerprint
from directrix.measures.base import RankingMeasure
from directrix.models.scoring import scores_of
from directrix.rankers.training import evaluator_of
from directrix.types import Float64Array, Model


def judge_of_shards(
    measure: RankingMeasure, model: Model, shards: ShardedQueries
) -> Callable[[Float64Array], float]:
    """Mean of a measure over scaled queries in shards as a function of a model's parameters."""

    def judge(params: Float64Array) -> float:
        return float(means_on_shards(measure, model, shards, params[None])[0])

    return judge


def means_on_shards(
    measure: RankingMeasure, model: Model, shards: ShardedQueries, params: Float64Array
) -> Float64Array:
    """Means of a measure at vectors of parameters (k, n_params), by one question; NaN if undefined."""
    scale = shards.features.scale
    totals, counts = shards.ask(SumsOfMeasure(measure, model, scale, params, fingerprint((measure, scale))))
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
        is_stored = isinstance(q.features, StoredFeatures)
        blocks = (rows for _, rows in q.features.blocks(q.qptr)) if is_stored else (q.features,)
        scores = [scores_of(self.model, self.params, rows) for rows in blocks]
        per_query = np.array([values(row) for row in np.concatenate(scores, axis=1)])
        return np.array([np.nansum(per_query, axis=1), np.isfinite(per_query).sum(axis=1)])

    def _prepared(self, shard: OpenShard) -> tuple[Queries, Callable[[Float64Array], Float64Array]]:
        check_code(self.key, (self.measure, self.scale))
        q = shard.queries(self.scale)
        return q, evaluator_of(self.measure, q)
