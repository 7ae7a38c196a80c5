"""Group rows by the query identifier of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from directrix.data.form import refuse_masked
from directrix.data.validate import check_group, check_length
from directrix.errors import NO_ITEMS, InputError
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Int64Array

_DOCS_PER_CHUNK = 4096


def group_by_query(qid: Any) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    """Group rows by the query of each, stably; queries in order of first appearance.

    Return the row of the input at each grouped place, ``arange(n_docs)`` if already grouped; the boundaries
    in the grouped order (n_queries + 1,); and the identifier of each query. Raises `InputError` if an
    identifier is missing (None, NaN, NaT), not hashable, or ``qid`` is not one-dimensional.

    NumPy handles arrays of numbers, dates or text, O(n) if grouped, O(n log n) if not; a dictionary handles
    lists and object arrays.
    """
    refuse_masked(qid, "qid")
    values = qid if isinstance(qid, list | tuple | np.ndarray) else _as_sequence(qid)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(
            f"qid has shape {values.shape}; one identifier per row is needed. Type numpy.ravel(qid)."
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufbSUMm":
        return _group_array(values)
    return _group_objects(values.tolist() if isinstance(values, np.ndarray) else values)


def rows_by_query(
    qid: Any, group: Any, n_docs: int, of: str = "rows of X"
) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    """Group rows by identifiers, or by sizes of consecutive queries; by neither all are one query.

    Return as `group_by_query`.
    """
    if qid is not None and group is not None:
        raise InputError(
            "qid and group were both given; one of them says which rows are a query. Leave out group=."
        )
    if group is not None:
        qptr = check_group(group, n_docs)
        return np.arange(n_docs), qptr, tuple(range(len(qptr) - 1))
    if qid is None:
        return np.arange(n_docs), np.array([0, n_docs] if n_docs else [0]), (0,) * (n_docs > 0)
    rows, qptr, query_ids = group_by_query(qid)
    check_length(len(rows), n_docs, "qid", of)
    return rows, qptr, query_ids


def object_array(values: Iterable[Any]) -> Array:
    """Return the values in an array of one dimension, where NumPy would make a matrix of tuples."""
    try:
        items = list(values)
    except NO_ITEMS as error:
        raise InputError(f"identifiers: {error}; one for each document is needed.") from None
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def in_utf8(identifier: object) -> str:
    """Text of an identifier; bytes that are no UTF-8 are escaped as the reader of TREC files escapes them."""
    return str(identifier).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def run_starts(values: Array) -> Int64Array:
    """Positions at which a run of equal values begins."""
    changes = values[1:] != values[:-1]
    return np.flatnonzero(np.append(True, changes))[: len(values)]


def rows_of(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """Concatenate the ranges ``starts[i] <= row < starts[i] + lengths[i]``."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Int64Array = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return rows


def _as_sequence(qid: Any) -> Any:
    array = np.asarray(qid) if hasattr(qid, "__array__") else None
    if array is not None and array.ndim > 0:
        return array
    try:
        return list(qid)
    except NO_ITEMS as error:
        raise InputError(
            f"qid is {qid!r}; a sequence with one identifier per row is needed, e.g. qid=[1, 1, 2]."
        ) from error


def _group_array(values: Array) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    n = len(values)
    if n == 0:
        return np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64), ()
    if values.dtype.kind in "fMm":
        missing = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
        if missing.any():
            _raise_missing(int(np.argmax(missing)), int(missing.sum()))
    starts = run_starts(values)
    lengths = np.diff(starts, append=n)
    ids = values[starts]
    order = _stable_order(ids)  # puts the runs of a query next to each other, in input order
    sorted_ids = ids[order]
    bounds = np.append(run_starts(sorted_ids), len(ids))
    if len(bounds) - 1 == len(ids):
        return np.arange(n), np.append(starts, n).astype(np.int64), _items(ids)
    first = order[bounds[:-1]]
    appearance = np.argsort(first)
    order = order[rows_of(bounds[:-1][appearance], np.diff(bounds)[appearance])]
    ends = np.cumsum(lengths[order])[np.cumsum(np.diff(bounds)[appearance]) - 1]
    qptr = np.concatenate([[0], ends]).astype(np.int64)
    return rows_of(starts[order], lengths[order]), qptr, _items(ids[first[appearance]])


def _stable_order(ids: Array) -> Int64Array:
    """Return a stable argsort; NumPy counts instead of comparing where integers have 16 bits."""
    if ids.dtype.kind in "iu" and int(ids.max()) - int(ids.min()) < 2**32:
        above = ids.astype(np.uint64) - ids.min().astype(np.uint64)  # modulo 2**64, also for negative ids
        order = np.argsort(above.astype(np.uint16), kind="stable")
        upper = (above >> np.uint64(16)).astype(np.uint16)
        return order[np.argsort(upper[order], kind="stable")] if upper.any() else order
    return np.argsort(ids, kind="stable")


def _items(ids: Array) -> tuple[Hashable, ...]:
    """Identifiers as Python objects; dates with nanoseconds, which Python cannot hold, stay NumPy objects."""
    items = tuple(ids.tolist())
    return tuple(ids) if ids.dtype.kind in "Mm" and isinstance(items[0], int) else items


def _group_objects(values: Any) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    try:
        place = {value: code for code, value in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
    except TypeError as error:
        raise InputError(
            f"qid holds values that cannot name a query ({error}); integers, text or tuples are needed. "
            "Type qid = [str(q) for q in qid]."
        ) from error
    absent = [code for value, code in place.items() if _is_missing(value)]
    if absent:
        is_absent = np.isin(codes, absent)
        _raise_missing(int(np.argmax(is_absent)), int(is_absent.sum()))
    rows, qptr, _ = _group_array(codes)
    return rows, qptr, tuple(place)


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _raise_missing(row: int, n: int) -> None:
    raise InputError(
        f"qid is missing in {n:,} row{'s' * (n > 1)}, first in row {row}; every row belongs to a query. "
        "Drop these rows from X, y and qid, or give them an identifier."
    )


def copied_rows(X: Any, starts: Int64Array, qptr: Int64Array) -> Any:
    """Copy the rows ``X[starts[q] : starts[q] + size]`` of one query after another, arrays on threads.

    Threads help because most of the time goes to the first use of new memory.
    """
    if not isinstance(X, np.ndarray):
        return X[rows_of(starts, np.diff(qptr))]
    out = np.empty((int(qptr[-1]), X.shape[1]), dtype=X.dtype)
    bounds = query_chunks(qptr, _DOCS_PER_CHUNK)

    def work(c: int) -> None:
        for q in range(bounds[c], bounds[c + 1]):
            first, last = int(qptr[q]), int(qptr[q + 1])
            out[first:last] = X[starts[q] : starts[q] + last - first]

    run_chunks(work, len(bounds) - 1)
    return out
