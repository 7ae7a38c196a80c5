"""The loss on data in shards: each shard adds up its queries, wherever it is, and the sums are merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.shards.queries import ShardedQueries
from directrix.data.shards.task import OpenShard, Question, check_code
from directrix.fingerprint import fingerprint
from directrix.models.linear import LinearModel
from directrix.objectives.box import Box, nearest_in
from directrix.objectives.build import make_objective
from directrix.objectives.kernels import Composed
from directrix.objectives.objective import Objective
from directrix.objectives.penalty import L2
from directrix.objectives.source import checked_positions
from directrix.surrogates.base import KernelSurrogate, kernel_surrogate
from directrix.types import Float64Array, Int64Array, Model, Surrogate


@dataclass(frozen=True, eq=False)
class Sharded:
    """Queries in shards, and what each shard prepares of them; a `Source` to an objective."""

    queries: ShardedQueries
    surrogate: KernelSurrogate
    """Prepares the labels, at whatever smoothing."""
    model: Model
    convexified_at: Float64Array | None = None

    query_weight = np.ones(1)
    doc_weight = None

    def convexified(self, params: Float64Array) -> Sharded:
        """Return the same data, convexified at the scores of these parameters."""
        return replace(self, convexified_at=params)

    def checked(self, queries: Any) -> Int64Array:
        """Return positions of queries over all shards; see `Source.checked`."""
        return checked_positions(queries, self.queries.n_queries)

    @cached_property
    def preparation(self) -> Preparation:
        """What every shard has to prepare."""
        scale = self.queries.features.scale
        preparation = Preparation(self.surrogate, self.model, scale, self.convexified_at)
        _ = preparation.key  # computed here, and sent with it
        return preparation

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first query of every shard."""
        return tuple(np.cumsum([0, *(shard.queries for shard in self.queries.manifest.shards)]).tolist())


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a shard becomes an objective, which it keeps from one question to the next."""

    surrogate: Any
    model: Model
    scale: Any
    convexified_at: Float64Array | None = None

    @property
    def fields(self) -> tuple[Any, ...]:
        """All that it depends on."""
        return self.surrogate, self.model, self.scale, self.convexified_at

    @cached_property
    def key(self) -> str:
        """The same for the same preparation, in any process."""
        return fingerprint(self.fields)

    def objective(self, shard: OpenShard) -> Objective:
        """Return the objective of one shard; features stay in the file where the model is linear."""
        check_code(self.key, self.fields)
        in_memory = not isinstance(self.model, LinearModel) or self.convexified_at is not None
        queries = shard.queries(self.scale, in_memory=in_memory)
        objective = make_objective(queries, self.surrogate, self.model)
        return objective if self.convexified_at is None else objective.convexified(self.convexified_at)


@dataclass(frozen=True, eq=False)
class SumsOfGradients(Question):
    """The sums over queries of the surrogate and its gradient, at vectors of parameters."""

    preparation: Preparation
    surrogate: Surrogate
    """At its present smoothing."""
    params: Float64Array
    """(k, n_params)."""
    queries: Int64Array | None = None
    """Positions over all shards; None = all queries."""
    starts: tuple[int, ...] = ()
    """Number of the first query of every shard."""

    def answer(self, shard: OpenShard) -> Float64Array:
        """Return the sums of one shard, (k, 1 + n_params)."""
        some = None
        if self.queries is not None:
            first, last = self.starts[shard.number : shard.number + 2]
            some = self.queries[(self.queries >= first) & (self.queries < last)] - first
            if not len(some):
                return np.zeros((len(self.params), 1 + self.params.shape[1]))
        objective = shard.kept(self.preparation.key, lambda: self.preparation.objective(shard))
        objective = replace(objective, kernel=replace(objective.kernel, surrogate=self.surrogate))
        return np.column_stack(objective.sums(self.params, some))


def sharded_objective(
    queries: ShardedQueries,
    surrogate: Surrogate,
    model: Model,
    *,
    penalty: L2 | None = None,
    box: Box | None = None,
) -> ShardedObjective:
    """Loss of a model's parameters on data in shards; parameters as in `make_objective`."""
    source: Any = Sharded(queries, kernel_surrogate(surrogate), model)
    return ShardedObjective(source, Composed(surrogate, model), penalty or L2(), box)


@dataclass(frozen=True, eq=False)
class ShardedObjective(Objective):
    """Loss of a model's parameters on data in shards; a trainer sees what it sees of an `Objective`.

    Sums are merged along a fixed tree over the numbers of the shards: the same bits for any number of
    workers, and in one process.
    """

    source: Sharded  # type: ignore[assignment]

    def sums(self, params: Float64Array, queries: Int64Array | None = None) -> tuple[Any, Float64Array]:
        """Sums over queries; see `Objective.sums`. One question to every shard."""
        source = self.source
        some = None if queries is None else source.checked(queries)
        question = SumsOfGradients(source.preparation, self.surrogate, params, some, source.starts)
        sums = source.queries.ask(question)
        return sums[:, 0], sums[:, 1:]

    def epoch(
        self, params: Float64Array, order: Int64Array, batch: int, step: Callable[[Float64Array], None]
    ) -> float:
        """Hand the gradient of one batch after another to ``step``; each is a question to the shards."""
        self._check_epoch(params, batch)
        losses = []
        for first in range(0, len(order), batch):
            loss, grad = self.value_and_grad(params, order[first : first + batch])
            losses.append(loss)
            step(grad)
        return float(np.mean(losses))

    def sgd_epoch(
        self, params: Float64Array, order: Int64Array, learning_rate: float, batch: int = 1
    ) -> float:
        """One epoch of Algorithm 1, in place."""
        nearest = nearest_in(self)

        def step(grad: Float64Array) -> None:
            params[:] = nearest(params - learning_rate * grad)

        return self.epoch(params, order, batch, step)

    def scores(self, params: Float64Array) -> Any:
        """Refused: scores stay where the shards are."""
        raise self.source.queries.features.refusal("this trainer")
