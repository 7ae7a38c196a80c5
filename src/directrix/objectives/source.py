"""Where the parts of an objective come from: `Source`, and `Memory`, whose features are in memory.

`Stream`, whose features remain in a file, is in `directrix.objectives.stream`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from directrix.data.grouping import rows_of
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.rows import row_slice
from directrix.objectives.batches import Batches, concatenated
from directrix.objectives.parts import Part, docs_per_part
from directrix.surrogates.base import KernelSurrogate, writable
from directrix.threads import one_blas_thread, query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array, Model, is_sparse

Gradient = tuple[float, Float64Array]


def checked_positions(queries: Any, n: int) -> Int64Array:
    """Return positions of some of n queries, or raise `InputError` if they are not, or there is none."""
    wanted = np.asarray(queries)
    positions = wanted.ndim == 1 and len(wanted) and np.issubdtype(wanted.dtype, np.integer)
    if not positions or wanted.min() < 0 or wanted.max() >= n:
        raise InputError(
            f"queries={queries!r}: positions of at least one of the {n} queries are needed, integers "
            f"0 to {n - 1}; pass queries=None for all, numpy.flatnonzero(mask) for those of a mask."
        )
    return wanted.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Queries in parts that fit in a cache, each with what the surrogate prepared of its labels.

    Made by `cut`.
    """

    queries: Queries
    surrogate: KernelSurrogate
    """Prepares the labels, at whatever smoothing."""
    model: Model
    query_weight: Float64Array
    """Of mean 1."""
    doc_weight: Float64Array | None = None
    convexified_at: Float64Array | None = None
    """Parameters at whose scores the surrogate is convexified; see `Objective.convexified`."""
    parts: Sequence[Part] = ()
    """All queries, in order."""

    @classmethod
    def cut(cls, *fields: Any) -> Self:
        """Cut the queries into parts; takes the fields of the class up to ``convexified_at``."""
        source = cls(*fields)
        bounds = query_chunks(source.queries.qptr, source.docs_at_once)
        return replace(source, parts=[source.part(int(a), int(b)) for a, b in pairwise(bounds)])

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writable, which is another type to the kernels: cut again, not unpickled.
        weights = self.query_weight, self.doc_weight
        return type(self).cut, (self.queries, self.surrogate, self.model, *weights, self.convexified_at)

    @cached_property
    def docs_at_once(self) -> int:
        """Number of documents of a part."""
        return docs_per_part(self.queries.features, self.model)

    @cached_property
    def _is_weighted(self) -> bool:
        return bool((self.query_weight != 1.0).any())

    @property
    def docs_per_thread(self) -> int:
        """A batch of more documents is shared among threads."""
        # dropout is drawn by share: sparse features and dense ones then need the same shares
        as_dense = bool(getattr(self.model, "dropout", 0.0))
        return docs_per_part(self.queries.features, self.model, as_dense=as_dense) // 2

    def part(self, first: int, last: int) -> Part:
        """Return the queries first <= q < last as a part."""
        lo, hi = int(self.queries.qptr[first]), int(self.queries.qptr[last])
        qptr = self.queries.qptr[first : last + 1] - lo
        weight = None if self.doc_weight is None else self.doc_weight[lo:hi]
        prepared = self.surrogate.prepare(self.queries.labels[lo:hi], qptr, weight)
        part = Part(self._rows(lo, hi), qptr, self.query_weight[first:last], prepared, self._is_weighted)
        return part if self.convexified_at is None else self._convexify(part)

    def _convexify(self, part: Part) -> Part:
        scores, _ = self.model.forward(self.convexified_at, part.rows)  # type: ignore[arg-type]
        surrogate: Any = self.surrogate  # one that `Objective.convexified` has accepted
        return part._replace(prepared=surrogate.convexify(scores, part.prepared, part.qptr))

    def checked(self, queries: Any) -> Int64Array:
        """Return positions of queries, or raise `InputError` if they are not, or there is none."""
        return checked_positions(queries, self.queries.n_queries)

    @abstractmethod
    def _rows(self, first: int, last: int) -> Any:
        """The rows first <= i < last of a part."""

    @abstractmethod
    def gradients(self, work: Callable[[Part], Gradient], parts: Sequence[Part]) -> list[Gradient]:
        """Return ``work(part)`` for every part, computed on several threads."""

    @abstractmethod
    def in_memory(self, queries: Int64Array) -> tuple[Memory, Int64Array]:
        """Return a source in memory that has these queries, and their positions in it."""

    @abstractmethod
    def epoch(self, order: Int64Array, steps: Callable[[Memory, Int64Array], float]) -> float:
        """Return the mean loss of ``steps``, which takes queries in memory and the order of their use."""

    @abstractmethod
    def convexified(self, params: Float64Array) -> Self:
        """Return the same data, convexified at the scores of these parameters, without preparing it again."""

    @abstractmethod
    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,)."""


@dataclass(frozen=True, eq=False)
class Memory(Source):
    """Queries whose features are in memory."""

    _single: dict[int, Part] = field(default_factory=dict, init=False, repr=False)

    def _rows(self, first: int, last: int) -> Any:
        rows = row_slice(self.queries.features, first, last)
        return self.model.prepare(rows) if hasattr(self.model, "prepare") else rows

    def gradients(self, work: Callable[[Part], Gradient], parts: Sequence[Part]) -> list[Gradient]:
        """Return ``work(part)`` for every part, computed on several threads."""
        results: list[Any] = [None] * len(parts)

        def run(p: int) -> None:
            results[p] = work(parts[p])

        run_chunks(run, len(parts))
        return results

    def in_memory(self, queries: Int64Array) -> tuple[Memory, Int64Array]:
        """Return itself and the positions."""
        return self, queries

    def epoch(self, order: Int64Array, steps: Callable[[Memory, Int64Array], float]) -> float:
        """Return the mean loss of ``steps``."""
        return steps(self, order)

    def convexified(self, params: Float64Array) -> Self:
        """Return the same data, convexified at the scores of these parameters, without preparing it again."""
        source, parts = replace(self, convexified_at=params), list(self.parts)

        def work(p: int) -> None:
            parts[p] = source._convexify(parts[p])

        with one_blas_thread():
            run_chunks(work, len(parts))
        return replace(source, parts=parts)

    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,)."""
        with one_blas_thread():
            return self.model.forward(params, row_slice(self.queries.features, 0, self.queries.n_docs))[0]

    @cached_property
    def whole(self) -> Part:
        """All queries as one part, for kernels that take an order of queries."""
        q, entries = self.queries, self.surrogate.entries or ()
        prepared = concatenated([part.prepared for part in self.parts], entries)
        rows, qptr = row_slice(q.features, 0, q.n_docs), writable(q.qptr)
        return Part(rows, qptr, self.query_weight, prepared, self._is_weighted)

    def batches(self, order: Int64Array) -> Callable[[int, int], Sequence[Part]]:
        """Return a function from first and last to parts of the queries ``order[first:last]``."""
        entries = self.surrogate.entries
        if entries is None or hasattr(self.model, "prepare"):
            return lambda first, last: [
                self._single_part(int(q))._replace(place=first + i) for i, q in enumerate(order[first:last])
            ]
        return Batches(order, self.whole, entries, self._row_runs(), self.docs_per_thread).cut

    def _row_runs(self) -> Callable[[Int64Array, Int64Array], Any]:
        """Rows of some queries: where they are, if the model can use that, otherwise copied together."""
        X = self.queries.features
        if hasattr(self.model, "runs") and not is_sparse(X):
            rows: Callable[[Int64Array, Int64Array], Any] = self.model.runs(X)
            return rows

        def copied(starts: Int64Array, ends: Int64Array) -> Any:
            rows = rows_of(starts, ends - starts)
            return row_slice(X[rows], 0, len(rows))

        return copied

    def _single_part(self, q: int) -> Part:
        if q not in self._single:
            self._single[q] = self.part(q, q + 1)
        return self._single[q]
