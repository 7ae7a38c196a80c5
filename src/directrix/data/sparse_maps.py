"""Scales of sparse features: of what is stored, or of the columns that a query has."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from directrix.data.memory import check_room
from directrix.data.sparse import absent_values
from directrix.data.statistics import Rows, knot_scores, map_query, map_rows
from directrix.types import Array, Int64Array

_ENTRIES = 1 << 18
"""Entries that are scaled at a time, so that their float64 copies stay small."""


def mapped_entries(X: Any, center: Array, width: Array, fill: Array | None, *, log: bool) -> Array:
    """Return what `mapped` makes of the stored entries of sparse features: each is one column."""
    out: Array = np.empty_like(X.data)
    for first in range(0, len(out), _ENTRIES):
        some = slice(first, first + _ENTRIES)
        f = X.indices[some]
        place = partial(_column, f)
        filled = None if fill is None else fill[f]
        map_rows(X.data[None, some], out[None, some], center[f], width[f], place, log=log, fill=filled)
    return out


def _column(columns: Array, at: tuple[int, ...]) -> str:
    return f"column {columns[at[1]]}"


def knot_entries(X: Any, knots: Rows, scores: Rows) -> Array:
    """Return what `knot_scores` makes of the stored entries of sparse features."""
    out: Array = np.empty_like(X.data)
    order = np.argsort(X.indices, kind="stable")
    starts = np.searchsorted(X.indices[order], np.arange(X.shape[1] + 1))
    for f in np.flatnonzero(np.diff(starts)).tolist():
        own = order[starts[f] : starts[f + 1]]
        cell = partial(_row_of_entry, X.indptr, own, f)
        out[own] = knot_scores(X.data[own, None], knots[f : f + 1], scores[f : f + 1], cell)[:, 0]
    return out


def _row_of_entry(indptr: Array, entries: Array, column: int, place: int, _: int) -> tuple[int, int]:
    return int(np.searchsorted(indptr, entries[place], side="right")) - 1, column


def mapped_queries(kind: str, X: Any, qptr: Int64Array) -> Any:
    """Scale sparse features by query: a query's columns without entries are constant, and become 0.

    The others are made dense, query by query.
    """
    from scipy.sparse import csr_array

    absent, indptr = absent_values(X).astype(X.dtype), X.indptr
    data, indices, sizes, n_bytes = [], [], [np.zeros(1, dtype=np.int64)], 0
    for query, (first, last) in enumerate(zip(qptr[:-1].tolist(), qptr[1:].tolist(), strict=True)):
        stored = slice(indptr[first], indptr[last])
        columns, place = np.unique(X.indices[stored], return_inverse=True)
        rows = np.tile(absent[columns], (last - first, 1))
        rows[np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1])), place] = X.data[stored]
        scaled = np.empty_like(rows)
        if rows.size:
            map_query(kind, rows, scaled, query, first, columns)
        row, column = np.nonzero(scaled)
        data.append(scaled[row, column])
        indices.append(columns[column])
        sizes.append(np.bincount(row, minlength=last - first))
        n_bytes += len(row) * (X.dtype.itemsize + 8)
        check_room(
            n_bytes,
            f"scale={kind!r} makes sparse features dense within queries: the first {query + 1:,}",
            python="Take scale='standard' or scale='log', which keep them sparse.",
            shell="Type --scale standard or --scale log, which keep them sparse.",
        )
    ends = np.cumsum(np.concatenate(sizes))
    parts = (
        np.concatenate([np.empty(0, X.dtype), *data]),
        np.concatenate([np.empty(0, X.indices.dtype), *indices]),
    )
    return csr_array((*parts, ends), shape=X.shape)
