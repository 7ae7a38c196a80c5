"""Queries in shards: each shard sums over its queries, and the sums are merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrix.data.shards.task import OpenShard, Question, check_code
from directrix.errors import InputError
from directrix.fingerprint import fingerprint
from directrix.models.linear import LinearModel
from directrix.objectives.source import Gradient, InParts, Source, Steps
from directrix.objectives.stream import LOCAL
from directrix.types import Float64Array, Int64Array, Model, Surrogate


@dataclass(frozen=True, eq=False)
class Sharded(Source):
    """A source of `ShardedQueries`, whose sums are merged along a fixed tree over the shards.

    The sums have the same bits for any number of workers, and in one process.
    """

    @classmethod
    def cut(cls, *fields: Any) -> Self:
        """Return the source; shards are cut into parts where they are."""
        source = cls(*fields)
        if source.doc_weight is not None or (source.query_weight != 1.0).any():
            raise InputError("weights of documents and queries are not in the shards; leave them out.")
        return source

    @cached_property
    def preparation(self) -> Preparation:
        """The preparation of every shard."""
        scale = self.queries.features.scale
        preparation = Preparation(self.surrogate, self.model, scale, self.convexified_at)
        # The key is cached with the preparation, so it is computed once here and not in every worker.
        _ = preparation.key
        return preparation

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first query of every shard."""
        return tuple(np.cumsum([0, *(shard.queries for shard in self.queries.manifest.shards)]).tolist())

    def sums(self, surrogate: Surrogate, params: Float64Array, queries: Int64Array | None = None) -> Gradient:
        """Return the sums over all queries, or over those at some positions, by one request per shard."""
        some = None if queries is None else self.checked(queries)
        question = SumsOfGradients(self.preparation, surrogate, params, some, self.starts)
        sums = self.queries.features.ask(question)
        return float(sums[0]), sums[1:]

    def epoch(self, order: Int64Array, steps: Callable[[Any, Int64Array], float]) -> float:
        """Return the mean loss of ``steps``."""
        return steps(self, order)

    def batches_of(self, surrogate: Surrogate, order: Int64Array) -> Steps:
        """Return a function for the sums over any batch of an epoch, each with one request to the shards."""
        return lambda first, last, params: self.sums(surrogate, params, order[first:last])

    def convexified(self, params: Float64Array) -> Self:
        """Return the same data, convexified at the scores of these parameters."""
        return replace(self, convexified_at=params)

    def scores(self, params: Float64Array) -> Any:
        """Reject: scores stay where the shards are."""
        raise self.queries.features.refusal("this trainer")


@dataclass(frozen=True, eq=False)
class Preparation:
    """Conversion of a shard to a source in parts, which the shard keeps from one request to the next."""

    surrogate: Any
    model: Model
    scale: Any
    convexified_at: Float64Array | None = None

    @property
    def fields(self) -> tuple[Any, ...]:
        """Everything that the result depends on."""
        return self.surrogate, self.model, self.scale, self.convexified_at

    @cached_property
    def key(self) -> str:
        """Text that identifies the preparation in any process."""
        return fingerprint(self.fields)

    def source(self, shard: OpenShard) -> InParts:
        """Return the source of one shard; features stay in the file if the model is linear."""
        check_code(self.key, self.fields)
        # Only linear models read a file block by block, and convexifying needs all scores at once.
        in_memory = not isinstance(self.model, LinearModel) or self.convexified_at is not None
        queries = shard.queries(self.scale, in_memory=in_memory)
        source = LOCAL[queries.held].cut(queries, self.surrogate, self.model, np.ones(queries.n_queries))
        return source if self.convexified_at is None else source.convexified(self.convexified_at)


@dataclass(frozen=True, eq=False)
class SumsOfGradients(Question):
    """The sums over queries of the surrogate and its gradient: (1 + n_params,)."""

    preparation: Preparation
    surrogate: Surrogate
    """At its present smoothing."""
    params: Float64Array
    queries: Int64Array | None = None
    """Positions over all shards; None = all queries."""
    starts: tuple[int, ...] = ()
    """Number of the first query of every shard."""

    def answer(self, shard: OpenShard) -> Float64Array:
        """Return the sums of one shard."""
        some = None
        if self.queries is not None:
            first, last = self.starts[shard.number : shard.number + 2]
            # Positions count over all shards; this shard takes its own and counts from 0.
            some = self.queries[(self.queries >= first) & (self.queries < last)] - first
            if not len(some):
                return np.zeros(1 + len(self.params))
        source = shard.kept(self.preparation.key, lambda: self.preparation.source(shard))
        value, grad = source.sums(self.surrogate, self.params, some)
        return np.append(value, grad)
