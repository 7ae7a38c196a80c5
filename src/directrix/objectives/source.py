"""Sources of the parts of an objective, and `Memory`, whose features are in memory.

In: queries, a surrogate and a model. Out: sums of the surrogate over queries, and their gradient with respect
to the parameters. `Stream`, whose features remain in a file, is in `directrix.objectives.stream`, and
`Sharded` in `directrix.objectives.sharded`.

>>> import directrix as dx
>>> source = dx.linear_objective(dx.data.make_cubic(5, 10, 4, seed=0), "ApproxNDCG").source
>>> value, grad = source.sums(dx.ApproxNDCG(), np.zeros(4))
>>> type(source).__name__, len(source.parts), grad.shape
('Memory', 1, (4,))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np

from directrix.data.grouping import rows_of
from directrix.data.sparse import row_bytes
from directrix.errors import InputError
from directrix.models.rows import row_slice
from directrix.surrogates.base import KernelSurrogate, kernel_surrogate, writable
from directrix.threads import get_threads, one_blas_thread, query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array, Model, Surrogate, is_sparse

_BYTES_PER_PART = 4 << 20
"""Bytes of features, with the model's arrays for them, in a part: they stay in the second cache of a core."""
_FLOATS_AT_ONCE = 1 << 24
"""Numbers in the gradients of parts that wait to be added up: 128 MiB."""

Gradient = tuple[float, Float64Array]
"""Sum of the surrogate over queries, and its gradient with respect to the parameters."""
Steps = Callable[[int, int, Float64Array], Gradient]
"""From first and last to the sums over the queries ``order[first:last]`` at some parameters."""


class Part(NamedTuple):
    """A run of whole queries as a separate data set."""

    rows: Any
    """Rows for the model, or a function that returns them, called by the thread that takes the part."""
    qptr: Int64Array
    weight: Float64Array
    prepared: Any
    """Arrays that the surrogate computed from the labels."""
    is_weighted: bool
    """Whether any weight differs from 1."""
    place: int = 0
    """Position of its first query in the order of an epoch."""

    def gradient(
        self, surrogate: Surrogate, model: Model, params: Float64Array, seed: int | None = None
    ) -> Gradient:
        """Return the weighted sum of the surrogate over the queries, and its gradient.

        With a seed the model draws random numbers (dropout), which depend on the seed and on ``place``.
        """
        rows = self.rows() if callable(self.rows) else self.rows
        # Only models with dropout take a seed.
        drawn = {} if seed is None else {"seed": (seed, self.place)}
        scores, cache = model.forward(params, rows, **drawn)
        n_queries = len(self.weight)
        value, slopes = np.zeros(n_queries), np.zeros(len(scores), dtype=scores.dtype)
        kernel_surrogate(surrogate).fill(scores, self.prepared, self.qptr, (0, n_queries), (value, slopes))
        if self.is_weighted:
            slopes = slopes * np.repeat(self.weight, np.diff(self.qptr)).astype(slopes.dtype)
        return float(self.weight @ value), model.backward(cache, slopes)


def docs_per_part(features: Any, model: Model, *, as_dense: bool = False) -> int:
    """Return the number of documents whose features, with the model's arrays for them, fill a part."""
    per_doc = row_bytes(features, as_dense=as_dense)
    per_doc += float(getattr(model, "floats_per_row", 0) * features.dtype.itemsize)
    # The lower limit keeps calls few where a document has very many features.
    return max(256, int(_BYTES_PER_PART / max(per_doc, 1.0)))


def concatenated(prepared: Sequence[Any], entries: tuple[str, ...]) -> Any:
    """Combine what the surrogate prepared of each part, as if of all parts together.

    ``entries`` are the units of the arrays, see `KernelSurrogate.entries`.
    """

    def joined(unit: str, arrays: tuple[Any, ...]) -> Any:
        if arrays[0] is None:
            return None
        # Arrays of the whole data, such as discounts, differ in length only: the longest serves all parts.
        return max(arrays, key=np.size) if unit == "data" else np.concatenate(arrays)

    columns = zip(*prepared, strict=True)
    return _like(prepared[0], [joined(*column) for column in zip(entries, columns, strict=True)])


def _taken(prepared: Any, entries: tuple[str, ...], places: Mapping[str, Any]) -> Any:
    """Return the prepared arrays of the documents and queries at some places, by their unit."""
    arrays = [
        array if unit == "data" or array is None else array[places[unit]]
        for unit, array in zip(entries, prepared, strict=True)
    ]
    return _like(prepared, arrays)


def _like(prepared: Any, arrays: list[Any]) -> Any:
    """Return the arrays as a tuple of the same class, which may be a NamedTuple."""
    return type(prepared)(*arrays) if hasattr(prepared, "_fields") else tuple(arrays)


def runs(bounds: list[int], first: int, last: int, docs_at_once: int) -> list[tuple[int, int]]:
    """Cut the queries first <= q < last into the fewest runs of at most ``docs_at_once`` documents each.

    Runs are of about equal size. ``bounds`` has the first document of every query; like `query_chunks`, but
    faster for small batches.
    """
    begin, total = bounds[first], bounds[last] - bounds[first]
    # The number of runs is rounded up, and they share the documents evenly.
    count = -(-total // docs_at_once)
    cuts = (bisect_left(bounds, begin + i * total // count, first, last) for i in range(1, count))
    return list(pairwise(sorted({first, last, *cuts})))


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Queries, wherever their features are stored, and the arrays that the surrogate computed from labels."""

    queries: Any
    surrogate: KernelSurrogate
    """Prepares the labels, at whatever smoothing."""
    model: Model
    query_weight: Float64Array
    """Weights of queries, with mean 1."""
    doc_weight: Float64Array | None = None
    convexified_at: Float64Array | None = None
    """Parameters at whose scores the surrogate is convexified; see `DataObjective.convexified`."""

    def checked(self, queries: Any) -> Int64Array:
        """Return positions of queries, or raise `InputError` if they are invalid or there are none."""
        wanted, n = np.asarray(queries), self.queries.n_queries
        positions = wanted.ndim == 1 and len(wanted) and np.issubdtype(wanted.dtype, np.integer)
        if not positions or wanted.min() < 0 or wanted.max() >= n:
            raise InputError(
                f"queries={queries!r}: positions of at least one of the {n} queries are needed, integers "
                f"0 to {n - 1}; pass queries=None for all, numpy.flatnonzero(mask) for those of a mask."
            )
        return wanted.astype(np.int64)

    @abstractmethod
    def sums(self, surrogate: Surrogate, params: Float64Array, queries: Int64Array | None = None) -> Gradient:
        """Return the sums over all queries, or over those at some positions."""

    @abstractmethod
    def epoch(self, order: Int64Array, steps: Callable[[Any, Int64Array], float]) -> float:
        """Return the mean loss of ``steps``, which takes a source of queries and the order of their use."""

    @abstractmethod
    def convexified(self, params: Float64Array) -> Self:
        """Return the same data, convexified at the scores of these parameters, without preparing it again."""

    @abstractmethod
    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,)."""


@dataclass(frozen=True, eq=False)
class InParts(Source):
    """Queries in parts that fit in a cache, each with what the surrogate prepared of its labels.

    Made by `cut`.
    """

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
        # Dropout is drawn for each part of a batch, so sparse features need the same parts as dense ones.
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
        # `DataObjective.convexified` has checked that the surrogate has ``convexify``.
        surrogate: Any = self.surrogate
        return part._replace(prepared=surrogate.convexify(scores, part.prepared, part.qptr))

    def sums(self, surrogate: Surrogate, params: Float64Array, queries: Int64Array | None = None) -> Gradient:
        """Return the sums over all queries, or over those at some positions."""
        source, parts = self, self.parts
        if queries is not None:
            source, order = self.in_memory(self.checked(queries))
            # The queries are one batch, which is cut into parts as in an epoch.
            parts = source.batches(order)(0, len(order))
        # BLAS is limited here, once per gradient; in the models it would be once per part.
        with one_blas_thread():
            return source.added(surrogate, parts, params)

    def added(
        self, surrogate: Surrogate, parts: Sequence[Part], params: Float64Array, seed: int | None = None
    ) -> Gradient:
        """Return the sums over parts, added in their order: the same bits for any number of threads."""
        # Gradients wait until they can be added in order. Wide models limit their number, but each thread
        # needs a few.
        at_once = max(4 * get_threads(), _FLOATS_AT_ONCE // max(params.size, 1))
        value, grad = 0.0, np.zeros(len(params))

        def work(part: Part) -> Gradient:
            return part.gradient(surrogate, self.model, params, seed)

        for first in range(0, len(parts), at_once):
            for part_value, part_grad in self.gradients(work, parts[first : first + at_once]):
                value += part_value
                grad += part_grad
        return value, grad

    @abstractmethod
    def _rows(self, first: int, last: int) -> Any:
        """The rows first <= i < last of a part."""

    @abstractmethod
    def gradients(self, work: Callable[[Part], Gradient], parts: Sequence[Part]) -> list[Gradient]:
        """Return ``work(part)`` for every part, computed on several threads."""

    @abstractmethod
    def in_memory(self, queries: Int64Array) -> tuple[Memory, Int64Array]:
        """Return a source in memory that has these queries, and their positions in it."""


@dataclass(frozen=True, eq=False)
class Memory(InParts):
    """Queries whose features are in memory."""

    # Parts of one query each, kept from one epoch to the next.
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

    def batches_of(self, surrogate: Surrogate, order: Int64Array) -> Steps:
        """Return a function for the sums over any batch of an epoch; the order seeds random numbers."""
        drawn, parts = with_noise_of(order, surrogate), self.batches(order)
        seed = epoch_seed(order) if getattr(self.model, "dropout", 0.0) else None
        return lambda first, last, params: self.added(drawn, parts(first, last), params, seed)

    def batches(self, order: Int64Array) -> Callable[[int, int], Sequence[Part]]:
        """Return a function that maps first and last to parts of the queries ``order[first:last]``.

        A batch of more than `docs_per_thread` documents becomes several parts, which threads share. Arrays
        are sorted once for the whole order, so a part takes slices of them.
        """
        entries = self.surrogate.entries
        # Without known entries, or with rows that the model prepares, nothing can be sliced: every query is a
        # part.
        if entries is None or hasattr(self.model, "prepare"):
            self._single.update({q: self.part(q, q + 1) for q in order.tolist() if q not in self._single})
            return lambda first, last: [
                self._single[q]._replace(place=first + i) for i, q in enumerate(order[first:last].tolist())
            ]
        whole, rows_between = self.whole, self._row_runs()
        starts, ends = whole.qptr[order], whole.qptr[order + 1]
        sizes = ends - starts
        qptr, weight = np.append(0, np.cumsum(sizes)), whole.weight[order]
        bounds = qptr.tolist()
        # The arrays are put in the order of the epoch here, so that every batch is a slice of them.
        prepared = _taken(whole.prepared, entries, {"document": rows_of(starts, sizes), "query": order})

        def part(first: int, last: int) -> Part:
            lo, hi = bounds[first], bounds[last]
            places = {"document": slice(lo, hi), "query": slice(first, last)}
            return Part(
                partial(rows_between, starts[first:last], ends[first:last]),
                qptr[first : last + 1] - lo,
                weight[first:last],
                _taken(prepared, entries, places),
                whole.is_weighted,
                place=first,
            )

        docs = self.docs_per_thread
        return lambda first, last: [part(*run) for run in runs(bounds, first, last, docs)]

    def _row_runs(self) -> Callable[[Int64Array, Int64Array], Any]:
        """Return a function from first and last rows of queries to rows for the model.

        They stay where they are if the model can use that (`LinearModel.runs`); otherwise they are copied.
        """
        X = self.queries.features
        if hasattr(self.model, "runs") and not is_sparse(X):
            rows: Callable[[Int64Array, Int64Array], Any] = self.model.runs(X)
            return rows

        def copied(starts: Int64Array, ends: Int64Array) -> Any:
            rows = rows_of(starts, ends - starts)
            return row_slice(X[rows], 0, len(rows))

        return copied


def epoch_seed(order: Int64Array) -> int:
    """Return the seed of the random numbers of an epoch over the queries in this order."""
    return crc32(order.tobytes())


def with_noise_of(order: Int64Array, surrogate: Surrogate) -> Surrogate:
    """Return the surrogate with the noise of an epoch in this order, if it is a random one."""
    is_random = "random" in surrogate.properties
    return kernel_surrogate(surrogate).redraw(epoch_seed(order)) if is_random else surrogate
