"""Queries in an order of their own, cut into parts: what stochastic trainers step on.

What the surrogate needs is put into that order once an epoch, so that a batch is a slice of it; the features
stay where they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.grouping import rows_of
from directrix.objectives.parts import Part
from directrix.types import Float64Array, Int64Array

__all__ = ["Batches", "Labels", "joined", "runs"]

Labels = tuple[str, ...]
"""What each array that depends on the labels has an entry for; see `KernelSurrogate.entries`."""


def joined(prepared: Sequence[Any], entries: Labels) -> Any:
    """What ``prepare`` would give for all parts together, from what it gave for each."""

    def one(what: str, arrays: tuple[Any, ...]) -> Any:
        if arrays[0] is None:
            return None
        return max(arrays, key=np.size) if what == "data" else np.concatenate(arrays)

    columns = zip(*(_arrays(each) for each in prepared), strict=True)
    return _like(prepared[0], [one(what, arrays) for what, arrays in zip(entries, columns, strict=True)])


def runs(bounds: list[int], first: int, last: int, docs_at_once: int) -> list[tuple[int, int]]:
    """Cut the queries first <= q < last into as few runs as keep to so many documents each, about alike.

    ``bounds`` has the first document of every query; like `query_chunks`, for batches that wait for it.
    """
    begin, total = bounds[first], bounds[last] - bounds[first]
    count = -(-total // docs_at_once)
    cuts = (bisect_left(bounds, begin + i * total // count, first, last) for i in range(1, count))
    return list(pairwise(sorted({first, last, *cuts})))


class Batches:
    """The queries ``order`` as parts.

    Parameters
    ----------
    order : int64 (n,)
        Positions of queries.
    qptr : int64 (n_queries + 1,)
    weight : float64 (n_queries,)
        Of the queries.
    prepared, entries
        What depends on the labels of all queries, and what its arrays have entries for.
    rows : callable
        First and last rows of some queries -> their rows as the model takes them.
    docs_at_once : int
        A batch with more documents is shared among threads.
    """

    def __init__(
        self,
        order: Int64Array,
        qptr: Int64Array,
        weight: Float64Array,
        prepared: Any,
        entries: Labels,
        rows: Callable[[Int64Array, Int64Array], Any],
        docs_at_once: int,
    ) -> None:
        self._rows, self._docs_at_once = rows, docs_at_once
        self._starts, self._ends = qptr[order], qptr[order + 1]
        sizes = self._ends - self._starts
        self._qptr = np.append(0, np.cumsum(sizes))
        self._bounds = self._qptr.tolist()
        where = {"document": rows_of(self._starts, sizes), "query": order}
        self._weight = weight[order]
        arrays = list(zip(entries, _arrays(prepared), strict=True))
        self._entries = [None if what == "data" or array is None else what for what, array in arrays]
        self._arrays: list[Any] = [
            array if what is None else array[where[what]]
            for what, (_, array) in zip(self._entries, arrays, strict=True)
        ]
        self._prepared = prepared

    def cut(self, first: int, last: int) -> list[Callable[[], Part]]:
        """Parts of the batch ``order[first:last]``, to be made where they are used."""
        return [partial(self._part, a, b) for a, b in runs(self._bounds, first, last, self._docs_at_once)]

    def _part(self, first: int, last: int) -> Part:
        lo, hi = self._bounds[first], self._bounds[last]
        here = {"document": slice(lo, hi), "query": slice(first, last)}
        arrays = [
            array if what is None else array[here[what]]
            for what, array in zip(self._entries, self._arrays, strict=True)
        ]
        rows = self._rows(self._starts[first:last], self._ends[first:last])
        return Part(
            rows, self._qptr[first : last + 1] - lo, self._weight[first:last], _like(self._prepared, arrays)
        )


def _arrays(prepared: Any) -> Iterator[Any]:
    return iter(prepared) if isinstance(prepared, tuple) else iter((prepared,))


def _like(prepared: Any, arrays: list[Any]) -> Any:
    """The arrays as a tuple of the same kind, or the only one."""
    if not isinstance(prepared, tuple):
        return arrays[0]
    return type(prepared)(*arrays) if hasattr(prepared, "_fields") else tuple(arrays)
