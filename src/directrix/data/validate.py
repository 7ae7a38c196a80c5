"""Every check of arrays that users bring, and its message."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from directrix.data.categories import Categories
from directrix.data.form import as_array, as_floats, check_indices, floats_of, unmasked
from directrix.data.frames import is_frame, matrix_of, names_of
from directrix.data.options import IF_MISSING, check_missing
from directrix.data.sparse import cell_of, entries
from directrix.data.stored import blocks
from directrix.errors import InputError
from directrix.types import Array, Float64Array, FloatArray, Int64Array, is_sparse

_Q = TypeVar("_Q")  # `Queries`, whose module imports this one


def check_ranking(
    scores: Any, labels: Any, qptr: Any, *, allow_infinite: bool = False
) -> tuple[FloatArray, Float64Array, Int64Array]:
    """Check what measures and surrogates take, in one pass; arrays of the right form are not copied.

    Return contiguous arrays: scores (n_docs,) as float32 if they are, else as float64; labels (n_docs,) as
    float64, finite and >= 0; query boundaries (n_queries + 1,) as int64, see `check_qptr`. With
    ``allow_infinite`` a score may be infinite: -inf marks a document that was not retrieved. The
    `InputError` names the row and the query of the first value that cannot be used.
    """
    scores = _numbers(scores, "scores")
    scores = np.ascontiguousarray(scores, dtype=None if scores.dtype == np.float32 else np.float64)
    qptr = check_qptr(qptr, len(scores), "scores")
    labels = check_labels(labels, qptr=qptr)
    check_length(len(labels), len(scores), "labels", "scores")
    bad = np.isnan(scores) if allow_infinite else ~np.isfinite(scores)
    if bad.any():
        row = int(np.argmax(bad))
        needed = "a number, or -inf for 'not retrieved'," if allow_infinite else "a finite number"
        raise InputError(
            f"scores: {int(bad.sum()):,} of {len(scores):,} cannot be used; the first is "
            f"{float(scores[row])} at {_place(row, qptr)}; {needed} is needed. "
            "Find them with `numpy.flatnonzero(~numpy.isfinite(scores))`."
        )
    return scores, labels, qptr


def check_qptr(qptr: Any, n_docs: int, of: str = "rows") -> Int64Array:
    """Return query boundaries as int64; they must start at 0, not decrease, and end at ``n_docs``."""
    given = _numbers(qptr, "qptr")
    pointers = _whole_numbers(given)
    remedy = "Type qptr = numpy.concatenate([[0], numpy.cumsum(sizes)]) for queries of these sizes."
    falls = pointers[1:] < pointers[:-1]  # a difference could wrap around
    if not np.array_equal(pointers, given):
        problem = f"has dtype {given.dtype} and values that are no integers;"
    elif len(pointers) == 0 or pointers[0] != 0:
        first = "is empty" if len(pointers) == 0 else f"starts at {pointers[0]}"
        problem = f"{first}; query boundaries start at 0."
    elif falls.any():
        q = int(np.argmax(falls))
        problem = (
            f"decreases from {pointers[q]} to {pointers[q + 1]} at query {q}; boundaries never decrease."
        )
    elif pointers[-1] != n_docs:
        problem = f"ends at {pointers[-1]}, but there are {n_docs} {of}; the last boundary is their number."
    else:
        return pointers
    raise InputError(f"qptr {problem} {remedy}")


def check_labels(labels: Any, *, qptr: Int64Array | None = None) -> Float64Array:
    """Return labels as contiguous float64 (n_docs,); they must be finite and >= 0."""
    out = np.ascontiguousarray(_numbers(labels, "labels"), dtype=np.float64)
    bad = ~((out >= 0.0) & (out < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        remedy = "Shift the labels so that the lowest is 0, e.g. y - y.min()."
        if np.isnan(out[row]):
            remedy = "Drop unlabeled rows or give them 0: keep = ~numpy.isnan(y)."
        elif out[row] > 0:
            remedy = "Give the highest grade of the scale instead, e.g. numpy.minimum(y, 4)."
        raise InputError(
            f"labels: {int(bad.sum()):,} of {len(out):,} cannot be used; the first is {out[row].item()!r} at "
            f"{_place(row, qptr)}; labels are finite and >= 0. {remedy}"
        )
    return out


def check_length(n: int, n_docs: int, what: str, of: str = "rows of X") -> None:
    """Refuse an array whose length is not the number of documents."""
    if n != n_docs:
        other = {"rows of X": "X.shape[0]", "documents": "q.n_docs"}.get(of, f"len({of})")
        raise InputError(
            f"{what} has {n:,} values for {n_docs:,} {of}; one value per row is needed. "
            f"Compare len({what.split()[0]}) with {other}."
        )


def check_group(group: Any, n_docs: int) -> Int64Array:
    """Return the boundaries of queries whose numbers of rows are given, in order."""
    given = _numbers(group, "group")
    sizes = _whole_numbers(given)
    remedy = (
        "Give the number of rows of each query in order, e.g. group=[3, 5], or the qid of each row: qid=."
    )
    bad = (sizes < 1) | (sizes != given)
    if bad.any():
        q = int(np.argmax(bad))
        raise InputError(
            f"group: the size of query {q} is {given[q].item()!r}; sizes are integers >= 1. {remedy}"
        )
    if (total := sum_of(sizes)) != n_docs:
        raise InputError(
            f"group: the {len(sizes):,} sizes add up to {total:,}, but X has {n_docs:,} rows; "
            f"both must agree. {remedy}"
        )
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _whole_numbers(given: Any) -> Int64Array:
    """Return numbers as int64; what does not fit becomes some other number."""
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(given, dtype=np.int64)


def sum_of(sizes: Int64Array) -> int:
    """Return the sum of sizes; that of int64 could wrap around, and fit by chance."""
    roughly = float(sizes.sum(dtype=np.float64))
    return int(roughly) if roughly > 2.0**62 else int(sizes.sum())


def check_features(X: Any, missing: str = "error") -> Any:
    """Return features as C-contiguous float32 or float64 (n_docs, n_features), or as canonical CSR.

    float32 and float64 are kept, other numbers become float64. The input is never changed. NaN is an error,
    or stays ("zero", "nan"); infinite values are an error.
    """
    check_missing(missing)
    features: Any = _csr(X) if is_sparse(X) else _dense(X)
    values: Any = entries(features)
    if not has_finite_sum(values):
        bad = ~np.isfinite(values) if missing == "error" else np.isinf(values)
        if bad.any():
            _raise_not_finite(X, features, bad)
    return features


def zeros_for_missing(features: Any, categories: Categories | None) -> Any:
    """Return features with 0 for NaN, the same object where there is none; a missing category stays NaN."""
    values: Any = entries(features)
    if has_finite_sum(values):
        return features
    gaps = np.isnan(values)
    if categories is not None:
        gaps[:, [names is not None for names in categories]] = False
    values = np.where(gaps, values.dtype.type(0.0), values)
    if not is_sparse(features):
        return values
    return type(features)((values, features.indices, features.indptr), shape=features.shape)


def filled(q: _Q) -> _Q:
    """Return queries that were read with "zero" with 0 for each missing value, and others as they are."""
    data: Any = q
    zeros = zeros_for_missing(data.features, data.categories) if data.missing == "zero" else data.features
    return q if zeros is data.features else replace(data, features=zeros)


def has_finite_sum(values: Array) -> bool:
    """Return whether the sum is finite: then every value is. It needs no memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values, dtype=np.float64)))


class Flaw(NamedTuple):
    """Features that are NaN, or infinite ones."""

    value: float
    """Of the first."""
    n: int
    where: str
    """The row of the first, in the arrays that were passed in."""
    column: int


def flaws_of(features: Any, qptr: Int64Array, rows: Int64Array) -> tuple[Flaw, ...]:
    """Return what is not finite; one pass, without memory where everything is."""
    found: dict[Any, Flaw] = {}
    for first, block in blocks(features, qptr):
        values = entries(block)
        if has_finite_sum(values):
            continue
        for is_bad in (np.isnan, np.isinf):
            bad = np.flatnonzero(is_bad(values))
            if is_bad in found:
                found[is_bad] = found[is_bad]._replace(n=found[is_bad].n + len(bad))
            elif len(bad):
                row, column = cell_of(block, bad[0])
                value = float(values.ravel()[bad[0]])
                found[is_bad] = Flaw(value, len(bad), f"row {rows[first + row]}", column)
    return tuple(found.values())


def _raise_not_finite(X: Any, features: Any, bad: Array) -> None:
    entry = int(np.argmax(bad))
    (row, column), value = cell_of(features, entry), entries(features).ravel()[entry].item()
    clip = f"Clip the column, e.g. numpy.clip(X[:, {column}], -1e30, 1e30), or drop these rows."
    remedy = (
        IF_MISSING if np.isnan(value) else {"python": clip, "shell": "Clip the column, or drop these rows."}
    )
    raise InputError(
        f"features: {value} at row {row}, column {column}{_name(X, column)}; finite numbers are needed "
        f"(values that are NaN or infinite: {int(bad.sum()):,}).",
        **remedy,
    )


def _csr(X: Any) -> Any:
    if X.dtype.kind not in "fiub":
        raise InputError(
            f"features have dtype {X.dtype}; real numbers are needed. Type X.astype(numpy.float32)."
        )
    import scipy.sparse as sp

    features = sp.csr_array(X)
    check_indices(features)
    if features.dtype not in (np.float32, np.float64):
        features = features.astype(np.float64)
    if not features.has_canonical_format:
        features = features.copy()
        features.sum_duplicates()
    return features


def _dense(X: Any) -> Array:
    shape = "X needs two dimensions, (n_docs, n_features)"
    given = X
    if is_frame(X):
        given = X.to_numpy() if hasattr(X, "to_numpy") else matrix_of(X)
    try:
        array = np.asarray(unmasked(given))
    except ValueError as error:
        raise InputError(
            f"features: the rows have different lengths ({error}); {shape}. Pad or fix them."
        ) from error
    if array.ndim != 2:
        one = "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one document"
        remedy = one if array.ndim == 1 else "X.reshape(...)"
        raise InputError(f"features have shape {array.shape}; {shape}. Type {remedy}.")
    if array.dtype == object or array.dtype.kind not in "fiub":
        array = _from_objects(X, array)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)


def _from_objects(X: Any, array: Array) -> Array:
    if not array.size:
        return np.empty(array.shape)
    if array.dtype.kind == "O":
        with suppress(TypeError, ValueError, OverflowError):
            return floats_of(array.ravel()).reshape(array.shape)
        with suppress(TypeError, ValueError, AttributeError):  # pandas has a missing value of its own
            return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    row, column = next((i for i in np.ndindex(array.shape) if not _is_number(array[i])), (0, 0))
    raise InputError(
        f"features have dtype {array.dtype}; {_plain(array[row, column])!r} at row {row}, column "
        f"{column}{_name(X, column)} is not a number; real numbers are needed. Drop or encode columns of "
        "text, dates or objects; numbers as text: numpy.asarray(X, dtype=float)."
    )


def _name(X: Any, column: int) -> str:
    """Name of a column in brackets, if there are names."""
    names = names_of(X)
    return f" ({names[column]!r})" if names else ""


def _is_number(cell: object) -> bool:
    """Whether a cell is a real number, also as text: NumPy turns mixed lists into text."""
    if isinstance(cell, str | bytes):
        with suppress(ValueError):
            return bool(floats_of([cell]).size)
        return False
    return isinstance(cell, int | float | np.integer | np.floating | np.bool_)


def _plain(value: Any) -> Any:
    """The value as Python shows it: 'a' for numpy.str_('a')."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _numbers(values: Any, what: str) -> Array:
    """Return an array of real numbers with one dimension."""
    array = as_array(values, what)
    if array.dtype.kind == "O":
        array = as_floats(array, what)
    if array.ndim != 1:
        raise InputError(
            f"{what} has shape {array.shape}; one dimension is needed. Type numpy.ravel({what.split()[0]})."
        )
    if array.size == 0 and array.dtype.names is None:
        return array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        first = f" (first value {_plain(array[0])!r})" if array.size else ""
        raise InputError(
            f"{what} has dtype {array.dtype}{first}; numbers are needed. "
            f"Type {what.split()[0]}.astype(float) if it holds numbers as text."
        )
    return array


def _place(row: int, qptr: Int64Array | None) -> str:
    if qptr is None:
        return f"row {row}"
    return f"row {row} (query {int(np.searchsorted(qptr, row, side='right')) - 1})"
