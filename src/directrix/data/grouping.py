"""Group rows by their query identifiers.

Identifiers of any hashable type go in, in any order. Out come the order of the rows that puts each query
together, the boundaries of the queries in it, and their identifiers:

>>> rows, qptr, query_ids = group_by_query(["b", "a", "b"])
>>> rows.tolist(), qptr.tolist(), query_ids
([0, 2, 1], [0, 2, 3], ('b', 'a'))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from directrix.data.checks import check_group, check_length, check_qptr, is_missing, reject_masked
from directrix.errors import NO_ITEMS, InputError, short_text
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Int64Array

# Threads copy chunks of about this number of documents.
_DOCS_PER_CHUNK = 4096
# NUL, tabs, line ends and other breaks of lines, and halves of characters.
_UNWRITABLE = re.compile("[\0\t-\r\ud800-\udfff]")


def group_by_query(qid: Any) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    """Group rows by query, stably, with queries in order of first appearance.

    Return the input row at each grouped position, ``arange(n_docs)`` if already grouped; the boundaries in
    the grouped order (n_queries + 1,); and the identifier of each query. Raises `InputError` if an identifier
    is missing (None, NaN, NaT), not hashable, or ``qid`` is not one-dimensional.

    NumPy handles arrays of numbers, dates or text; a dictionary handles lists and object arrays.
    """
    reject_masked(qid, "qid")
    if isinstance(qid, str):
        raise InputError(
            f"qid is the text {qid!r}; one identifier per row is needed. For a column of a frame type "
            f"qid=frame[{qid!r}]."
        )
    values = qid
    if not isinstance(qid, list | tuple | np.ndarray):
        values = np.asarray(qid) if hasattr(qid, "__array__") else np.empty(())
        # Anything else with items becomes a list of them, such as a range or a generator.
        if values.ndim == 0:
            try:
                values = list(qid)
            except NO_ITEMS as error:
                raise InputError(
                    f"qid is {qid!r}; a sequence with one identifier per row is needed, e.g. qid=[1, 1, 2]."
                ) from error
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(
            f"qid has shape {values.shape}; one identifier per row is needed. Type numpy.ravel(qid)."
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufbSUMm":
        return _group_array(values)
    return _group_objects(values.tolist() if isinstance(values, np.ndarray) else values)


def rows_by_query(
    qid: Any, group: Any, n_docs: int, of: str = "rows of X", qptr: Any = None
) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    """Group rows by identifiers, by sizes of consecutive queries, or by boundaries of queries.

    Return as `group_by_query`. Raises `InputError` unless exactly one of the three is given.
    """
    names = [name for name, value in (("qid", qid), ("qptr", qptr), ("group", group)) if value is not None]
    if len(names) > 1:
        raise InputError(f"{' and '.join(names)} were given; they mean the same: pass only one of them.")
    if qid is not None:
        rows, boundaries, query_ids = group_by_query(qid)
        check_length(len(rows), n_docs, "qid", of)
        check_identifiers(query_ids, "query", lambda q: f"row {rows[boundaries[q]]}")
        return rows, boundaries, query_ids
    if qptr is None:
        require_queries(None, group, n_docs)
    boundaries = check_group(group, n_docs) if qptr is None else check_qptr(qptr, n_docs, of)
    return np.arange(n_docs), boundaries, tuple(range(len(boundaries) - 1))


def require_queries(qid: Any, group: Any, n_docs: int, prefix: str = "") -> None:
    """Raise `InputError` if rows have no queries, with the advice for a single query."""
    if qid is None and group is None:
        raise InputError(
            f"{prefix}qid is missing: documents are ranked within their query, so the query of each of "
            f"{n_docs} rows is needed. Type {prefix}qid=qid, or {prefix}group= with the sizes of consecutive "
            f"queries, or {prefix}qid=numpy.zeros({n_docs}) if all rows belong to one query; searches and "
            "pipelines of scikit-learn pass it on after set_fit_request(qid=True)."
        )


def object_array(values: Iterable[Any]) -> Array:
    """Return the values in an array of one dimension, although NumPy would make a matrix of tuples."""
    try:
        items = list(values)
    except NO_ITEMS as error:
        raise InputError(f"identifiers: {error}; one for each document is needed.") from None
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def document_ids(values: Iterable[Any], n_docs: int) -> Array:
    """Return checked identifiers of documents, object (n_docs,)."""
    names = object_array(values)
    check_length(len(names), n_docs, "doc_ids")
    check_identifiers(names, "document", "row {}".format)
    return names


def check_identifiers(names: Iterable[object], of: str, place: Callable[[int], str]) -> None:
    """Raise `InputError` for the first identifier that a file of lines could not hold.

    ``of`` is the kind of object that they name; ``place`` returns the source of identifier number i.
    """
    texts = [name if isinstance(name, str) else "-" for name in names]
    if "" not in texts and not _UNWRITABLE.search(" ".join(texts)):
        return
    bad = next(i for i, text in enumerate(texts) if not text or _UNWRITABLE.search(text))
    what = f"the identifier {short_text(texts[bad])}" if texts[bad] else "no identifier"
    raise InputError(
        f"{place(bad)}: a {of} has {what}; each needs one without NUL, tabs, line ends and lone surrogates, "
        f"which files cannot hold. Rename or remove the {of}."
    )


def plain_identifier(cell: Any) -> Any:
    """Return an identifier by its value: 7 for the 7.0 of a column with gaps, and text for bytes."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    return int(cell) if isinstance(cell, float | np.floating) and cell.is_integer() else cell


def identifier_text(cell: Any) -> str:
    """Return an identifier as files of text write it, the same for 7, 7.0 and "7"."""
    return str(plain_identifier(cell))


def run_starts(values: Array) -> Int64Array:
    """Return the positions at which a run of equal values begins."""
    changes = values[1:] != values[:-1]
    return np.flatnonzero(np.append(True, changes))[: len(values)]


def rows_of(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """Concatenate the ranges ``starts[i] <= row < starts[i] + lengths[i]``."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    rows: Int64Array = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return rows


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
    # Queries are numbered in the order of their appearance, for which `unique` gives their first runs.
    _, first, place = np.unique(values[starts], return_index=True, return_inverse=True)
    queries = np.empty(len(first), dtype=np.int64)
    queries[np.argsort(first)] = np.arange(len(first))
    # A stable sort puts the runs of a query next to each other.
    order = np.argsort(queries[place], kind="stable")
    sizes = np.bincount(queries[place], weights=lengths)
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ids = values[starts[np.sort(first)]]
    items = tuple(ids.tolist())
    # Python has no dates with nanoseconds, which `tolist` makes integers, so they stay NumPy objects.
    if ids.dtype.kind in "Mm" and isinstance(items[0], int):
        items = tuple(ids)
    return rows_of(starts[order], lengths[order]), qptr, items


def _group_objects(values: Any) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    try:
        place = {value: code for code, value in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
    except TypeError as error:
        raise InputError(
            f"qid holds values that cannot name a query ({error}); integers, text or tuples are needed. "
            "Type qid = [str(q) for q in qid]."
        ) from error
    absent = [code for value, code in place.items() if is_missing(value)]
    if absent:
        is_absent = np.isin(codes, absent)
        _raise_missing(int(np.argmax(is_absent)), int(is_absent.sum()))
    rows, qptr, _ = _group_array(codes)
    return rows, qptr, tuple(place)


def _raise_missing(row: int, n: int) -> None:
    raise InputError(
        f"qid is missing in {n:,} row{'s' * (n > 1)}, first in row {row}; every row belongs to a query. "
        "Drop these rows from X, y and qid, or give them an identifier."
    )


def copied_rows(X: Any, starts: Int64Array, qptr: Int64Array) -> Any:
    """Copy the rows ``X[starts[q] : starts[q] + size]`` of one query after another, arrays on threads.

    Threads help because the first use of new memory takes most of the time.
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
