"""The data of an objective in parts: all of it, single queries, and batches of queries in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import rows_of
from directrix.objectives.batches import Batches, joined
from directrix.objectives.parts import Part, docs_per_part, prepared_rows
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight, writable
from directrix.threads import one_blas_thread, query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array, Model, Surrogate

__all__ = ["Cut", "Parts"]

Parts = Sequence[Part | Callable[[], Part]]
"""Parts, or what makes them where they are used."""


class Cut:
    """Queries in parts that fit in a cache, each with what the surrogate made of its labels.

    Parameters
    ----------
    queries : Queries
    surrogate : Surrogate
    model : Model
    query_weight : float64 (n_queries,)
    doc_weight : float64 (n_docs,), or None
    held_at : float64 (n_params,), or None
        Parameters at whose scores the surrogate is held; see `Objective.held`.
    """

    def __init__(
        self,
        queries: Queries,
        surrogate: Surrogate,
        model: Model,
        query_weight: Float64Array,
        doc_weight: Float64Array | None,
        held_at: Float64Array | None = None,
    ) -> None:
        self.queries, self.surrogate, self.model = queries, surrogate, model
        self.query_weight, self.doc_weight, self.held_at = query_weight, doc_weight, held_at
        self.docs_at_once = docs_per_part(queries.features, model)
        bounds = query_chunks(queries.qptr, self.docs_at_once)
        self.parts = [self._part(int(a), int(b)) for a, b in pairwise(bounds)]
        self._forget()

    def _forget(self) -> None:
        self._single: dict[int, Part] = {}
        self._joined: Any = None
        self._whole: Any = None

    def _part(self, first: int, last: int) -> Part:
        lo, hi = int(self.queries.qptr[first]), int(self.queries.qptr[last])
        labels, qptr = self.queries.labels[lo:hi], self.queries.qptr[first : last + 1] - lo
        weight = None if self.doc_weight is None else self.doc_weight[lo:hi]
        if isinstance(self.surrogate, KernelSurrogate):
            prepared = self.surrogate.prepare(labels, qptr, weight)
        else:
            refuse_doc_weight(self.surrogate, weight)
            prepared = labels
        rows = prepared_rows(self.queries.features, self.model, lo, hi)
        return self._hold(Part(rows, qptr, self.query_weight[first:last], prepared))

    def _hold(self, part: Part) -> Part:
        if self.held_at is None:
            return part
        scores, _ = self.model.forward(self.held_at, part.rows)
        surrogate: Any = self.surrogate  # one that `held` has seen
        return part._replace(prepared=surrogate.hold(scores, part.prepared, part.qptr))

    def held(self, params: Float64Array) -> Self:
        """The same data, held at the scores of these parameters; nothing is prepared again."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__ | {"held_at": params, "parts": list(self.parts)})
        other._forget()

        def work(p: int) -> None:
            other.parts[p] = other._hold(other.parts[p])

        with one_blas_thread():
            run_chunks(work, len(other.parts))
        return other

    @property
    def joined(self) -> Any:
        """What the surrogate made of the labels of all queries, in the form of a part's."""
        if self._joined is None:
            self._joined = joined([part.prepared for part in self.parts], self._entries or ())
        return self._joined

    @property
    def _entries(self) -> tuple[str, ...] | None:
        return self.surrogate.entries if isinstance(self.surrogate, KernelSurrogate) else ("document",)

    @property
    def whole(self) -> tuple[Any, Any, Int64Array, Float64Array]:
        """Rows, what the surrogate made of the labels, boundaries and weights of all queries, for kernels."""
        if self._whole is None:
            q = self.queries
            self._whole = rows_of(q.features, 0, q.n_docs), self.joined, writable(q.qptr), self.query_weight
        whole: tuple[Any, Any, Int64Array, Float64Array] = self._whole
        return whole

    def checked(self, queries: Any) -> Int64Array:
        """Positions of queries, or `InputError` if there is none, or what is none."""
        wanted, n = np.asarray(queries), self.queries.n_queries
        positions = wanted.ndim == 1 and len(wanted) and np.issubdtype(wanted.dtype, np.integer)
        if not positions or wanted.min() < 0 or wanted.max() >= n:
            raise InputError(
                f"queries={queries!r}: positions of at least one of the {n} queries are needed, integers "
                f"0 to {n - 1}; pass queries=None for all, numpy.flatnonzero(mask) for those of a mask."
            )
        return wanted.astype(np.int64)

    def batches(self, order: Int64Array) -> Callable[[int, int], Parts]:
        """Return what makes parts of the queries ``order[first:last]``, given first and last."""
        if self._entries is None or hasattr(self.model, "prepare"):
            return lambda first, last: [self._single_part(int(q)) for q in order[first:last]]
        data = self.queries.qptr, self.query_weight, self.joined
        return Batches(order, *data, self._entries, self._rows(), self.docs_per_thread).cut

    @property
    def docs_per_thread(self) -> int:
        """A batch of more documents is shared among threads."""
        return self.docs_at_once // 2

    def _rows(self) -> Callable[[Int64Array, Int64Array], Any]:
        """Rows of some queries: where they are, if the model can use that, else copied together."""
        X = self.queries.features
        if hasattr(self.model, "runs") and not sp.issparse(X):
            rows: Callable[[Int64Array, Int64Array], Any] = self.model.runs(X)
            return rows
        stack = sp.vstack if sp.issparse(X) else np.concatenate

        def copied(starts: Int64Array, ends: Int64Array) -> Any:
            some = stack([X[first:last] for first, last in zip(starts.tolist(), ends.tolist(), strict=True)])
            return rows_of(some, 0, some.shape[0])

        return copied

    def _single_part(self, q: int) -> Part:
        if q not in self._single:
            self._single[q] = self._part(q, q + 1)
        return self._single[q]
