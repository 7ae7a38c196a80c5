"""Queries in any order, cut into parts: the batches of stochastic trainers.

What the surrogate needs is put into that order once per epoch, so that a batch is a slice of it; the features
stay where they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.grouping import rows_of
from directrix.objectives.parts import LazyParts, Part
from directrix.types import Int64Array

Labels = tuple[str, ...]
"""What each array that depends on the labels has an entry for; see `KernelSurrogate.entries`."""


def concatenated(prepared: Sequence[Any], entries: Labels) -> Any:
    """Return what ``prepare`` would for all parts together, from its results for each part."""

    def one(what: str, arrays: tuple[Any, ...]) -> Any:
        if arrays[0] is None:
            return None
        return max(arrays, key=np.size) if what == "data" else np.concatenate(arrays)

    columns = zip(*prepared, strict=True)
    return _like(prepared[0], [one(what, arrays) for what, arrays in zip(entries, columns, strict=True)])


def runs(bounds: list[int], first: int, last: int, docs_at_once: int) -> list[tuple[int, int]]:
    """Cut the queries first <= q < last into the fewest runs of at most ``docs_at_once`` documents each.

    Runs are of about equal size. ``bounds`` has the first document of every query; like `query_chunks`, but
    faster for small batches.
    """
    begin, total = bounds[first], bounds[last] - bounds[first]
    count = -(-total // docs_at_once)
    cuts = (bisect_left(bounds, begin + i * total // count, first, last) for i in range(1, count))
    return list(pairwise(sorted({first, last, *cuts})))


class Batches:
    """The queries at the positions ``order`` of the ``whole``, as parts.

    ``entries`` says what the arrays of ``whole.prepared`` have entries for; ``rows`` turns first and last
    rows of some queries into their rows as the model takes them. A batch of more than ``docs_at_once``
    documents is shared among threads.
    """

    def __init__(
        self,
        order: Int64Array,
        whole: Part,
        entries: Labels,
        rows: Callable[[Int64Array, Int64Array], Any],
        docs_at_once: int,
    ) -> None:
        self._rows, self._docs_at_once = rows, docs_at_once
        self._starts, self._ends = whole.qptr[order], whole.qptr[order + 1]
        sizes = self._ends - self._starts
        self._qptr = np.append(0, np.cumsum(sizes))
        self._bounds = self._qptr.tolist()
        places = {"document": rows_of(self._starts, sizes), "query": order}
        self._weight = whole.weight[order]
        arrays = list(zip(entries, whole.prepared, strict=True))
        self._entries = [None if what == "data" or array is None else what for what, array in arrays]
        self._arrays: list[Any] = [
            array if what is None else array[places[what]]
            for what, (_, array) in zip(self._entries, arrays, strict=True)
        ]
        self._prepared, self._is_weighted = whole.prepared, whole.is_weighted

    def cut(self, first: int, last: int) -> LazyParts:
        """Parts of the batch ``order[first:last]``."""
        return LazyParts(self._part, runs(self._bounds, first, last, self._docs_at_once))

    def _part(self, first: int, last: int) -> Part:
        lo, hi = self._bounds[first], self._bounds[last]
        places = {"document": slice(lo, hi), "query": slice(first, last)}
        arrays = [
            array if what is None else array[places[what]]
            for what, array in zip(self._entries, self._arrays, strict=True)
        ]
        rows = self._rows(self._starts[first:last], self._ends[first:last])
        qptr, prepared = self._qptr[first : last + 1] - lo, _like(self._prepared, arrays)
        return Part(rows, qptr, self._weight[first:last], prepared, self._is_weighted, place=first)


def _like(prepared: Any, arrays: list[Any]) -> Any:
    """The arrays as a tuple of the same kind."""
    return type(prepared)(*arrays) if hasattr(prepared, "_fields") else tuple(arrays)
