"""Checks of user input: arrays, queries, weights, seeds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from directrix.data.files import is_plain
from directrix.errors import InputError
from directrix.types import Array, Float64Array, FloatArray, Int64Array, is_sparse


def as_shares(name: str, values: Any, fewest: int = 1) -> Float64Array:
    """Return shares as an array; there must be at least ``fewest``, all positive, with sum 1."""
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        shares = np.empty(0)
    is_row = shares.ndim == 1 and len(shares) >= fewest
    # Sums of decimal fractions such as 0.1 miss 1 by rounding; 1e-9 is far above that.
    if not is_row or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        least = "at least two positive" if fewest == 2 else "positive"
        raise InputError(f"{name}={values!r}; {least} shares with sum 1 are needed, e.g. (0.7, 0.3).")
    return shares


def generator(seed: Any) -> np.random.Generator:
    """Return the random generator for a seed >= 0; None means 0, so repeated calls give the same bits."""
    try:
        return np.random.default_rng(0 if seed is None else seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"seed={seed!r}; an integer >= 0 is needed. Type e.g. seed=0.") from error


def check_shape(values: Any, n: int, name: str) -> None:
    """Reject an array, or tuple, whose shape is not ``(n,)``; None passes."""
    shape: Any = (len(values),) if isinstance(values, tuple) else getattr(values, "shape", None)
    if shape not in (None, (n,)):
        raise InputError(
            f"{name} has shape {shape}, where {(n,)} is needed: one value per query, document or column. "
            "Build data with Queries.from_arrays(X, y, qid=qid)."
        )
    dtype = getattr(values, "dtype", None)
    if name == "labels" and (dtype is None or dtype.kind not in "fiub"):
        raise InputError(
            f"labels have dtype {dtype}; numbers >= 0 are needed. Build data with "
            "Queries.from_arrays(X, y, qid=qid)."
        )


def check_form(features: Any) -> tuple[int, int]:
    """Return the shape of features; reject forms that `Queries` does not have. Values are not read."""
    shape: Any = getattr(features, "shape", ())
    dtype = getattr(features, "dtype", None)
    if isinstance(features, np.matrix | np.ma.MaskedArray):
        # Operators of these classes mean something else than those of arrays.
        raise InputError(f"features are a {type(features).__name__}; an array is needed: numpy.asarray(X).")
    if len(shape) != 2 or dtype not in (np.float32, np.float64):
        raise InputError(
            f"features have shape {shape} and dtype {dtype}; two dimensions and float32 or float64 are "
            "needed. Build data with Queries.from_arrays(X, y, qid=qid)."
        )
    if (form := getattr(features, "format", None)) is not None:
        if form != "csr":
            raise InputError(f"features are a {form} matrix; CSR is needed. Type X.tocsr().")
        check_indices(features)
    return int(shape[0]), int(shape[1])


def check_indices(features: Any) -> None:
    """Reject CSR with indices or pointers out of range."""
    try:
        features.check_format(full_check=True)
    except ValueError as error:
        # The kernels do not check indices: one out of range would read or write foreign memory.
        raise InputError(
            f"features are a damaged CSR matrix: {error}. Build it again from rows and columns, "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=X.shape).tocsr()."
        ) from None


def check_positions(queries: Any, n_queries: int) -> Int64Array:
    """Return positions of queries as int64; `InputError` unless all are from 0 to ``n_queries - 1``."""
    positions = as_array(queries, "take")
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise InputError(
            f"take: shape {positions.shape}, dtype {positions.dtype}; positions of queries are a list of "
            "integers, e.g. q.take([0, 5]); for a mask type q.take(numpy.flatnonzero(mask))."
        )
    chosen = positions.astype(np.int64)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n_queries):
        worst = chosen[(chosen < 0) | (chosen >= n_queries)][0]
        raise InputError(
            f"take: there is no query {worst}; positions are 0 to {n_queries - 1}. "
            "For an identifier type q.query_ids.index(identifier)."
        )
    return chosen


def as_array(values: Any, what: str) -> Array:
    """Return array-like values as an array; `InputError` if they are sparse, ragged, or masked anywhere."""
    reject_masked(values, what)
    if is_sparse(values):
        raise InputError(
            f"{what}: a sparse matrix of shape {values.shape}; an array is needed. Type X.toarray().ravel()."
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: not an array ({error}); one number per row is needed.") from error


# NumPy converts these to floats, but loses the imaginary part, or counts days.
_OTHER_NUMBERS = complex, np.complexfloating, np.datetime64, np.timedelta64


def floats_of(cells: Any) -> Float64Array:
    """Return cells as float64; text by the rule of files, see `is_plain`."""
    for cell in cells:
        if isinstance(cell, str | bytes) and not is_plain(str(cell)):
            raise ValueError(f"could not convert string to float: {cell!r}")
        if isinstance(cell, _OTHER_NUMBERS):
            raise ValueError(f"could not convert {cell!r} to float")
    try:
        return np.asarray(cells, dtype=np.float64)
    except TypeError:
        # A nullable column of booleans may hold pandas.NA.
        return np.asarray([np.nan if is_missing(cell) else cell for cell in cells], dtype=np.float64)


def as_floats(values: Any, what: str, needed: str = "one number per row") -> Float64Array:
    """Return real numbers of any shape as float64, including objects that fit into a float."""
    array = as_array(values, what)
    remedy = f"Type e.g. {what}=[1.0, 2.0]."
    try:
        if array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat):
            if hasattr(values, "astype"):
                remedy = f"Type {what}.astype(float) if it holds numbers as text."
            raise TypeError("there is text")
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"dtype {array.dtype}")
        if array.dtype.kind == "O":
            return floats_of(array.ravel()).reshape(array.shape)
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{what}: not an array of numbers ({error}); {needed} is needed. {remedy}"
        ) from error


def reject_masked(values: Any, what: str) -> None:
    """Raise `InputError` if entries of a NumPy masked array are masked."""
    if _is_masked(values):
        raise InputError(
            f"{what}: {np.count_nonzero(values.mask):,} entries are masked; every row needs one. Leave "
            "the masked rows out, or type numpy.ma.filled(...) with a value of your choice."
        )


def unmasked(values: Any) -> Any:
    """Return a masked array with NaN, meaning missing, in masked places."""
    if not _is_masked(values):
        return values
    return values.astype(np.float64 if values.dtype.kind in "fiub" else object).filled(np.nan)


def _is_masked(values: Any) -> bool:
    """Arrays of pandas have other masks, and record arrays have one per field."""
    is_array = isinstance(values, np.ma.MaskedArray)
    return is_array and (values.dtype.names is not None or bool(np.ma.is_masked(values)))


def frozen(array: Any, name: str) -> Any:
    """Return a read-only view of an array, or None; ``name`` is for messages."""
    if array is None:
        return None
    view = as_array(array, name).view()
    view.flags.writeable = False
    return view


def check_ranking(
    scores: Any, labels: Any, qptr: Any, *, allow_infinite: bool = False, signed: bool = False
) -> tuple[FloatArray, Float64Array, Int64Array]:
    """Check the input of measures and surrogates in one pass; arrays of the right form are not copied.

    Return contiguous arrays: scores (n_docs,) as float32 if they have that type, else as float64; labels
    (n_docs,) as float64, see `check_labels`; query boundaries (n_queries + 1,) as int64, see `check_qptr`.
    With ``allow_infinite`` a score may be infinite: -inf marks a document that was not retrieved. The
    `InputError` names the row and the query of the first value that cannot be used.
    """
    scores = _numbers(scores, "scores")
    scores = np.ascontiguousarray(scores, dtype=None if scores.dtype == np.float32 else np.float64)
    qptr = check_qptr(qptr, len(scores), "scores")
    labels = check_labels(labels, qptr=qptr, signed=signed)
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
    values = _numbers(qptr, "qptr")
    pointers = _whole_numbers(values)
    remedy = "Type qptr = numpy.concatenate([[0], numpy.cumsum(sizes)]) for queries of these sizes."
    # A difference of two pointers could wrap around, but their comparison cannot.
    falls = pointers[1:] < pointers[:-1]
    if not np.array_equal(pointers, values):
        problem = f"has dtype {values.dtype} and values that are not integers;"
    elif not len(pointers) or pointers[0]:
        problem = f"{f'starts at {pointers[0]}' if len(pointers) else 'is empty'}; boundaries start at 0."
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


def check_labels(
    labels: Any,
    *,
    qptr: Int64Array | None = None,
    place: Callable[[int], str] = "row {}".format,
    signed: bool = False,
) -> Float64Array:
    """Return labels as contiguous float64 (n_docs,); they must be finite and, unless ``signed``, >= 0.

    The message names a row by its ``place``, and its query by the boundaries.
    """
    out = np.ascontiguousarray(_numbers(labels, "labels"), dtype=np.float64)
    bad = ~np.isfinite(out) if signed else ~((out >= 0.0) & (out < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        remedy = (
            "Shift the labels so that the lowest is 0, e.g. y - y.min(); gains below 0, as clicks give them, "
            "are for DCG(gain=linear), in training with `Queries.from_arrays(X, y, qid=qid, counts=n)`."
        )
        if np.isnan(out[row]):
            remedy = "Drop unlabeled rows or give them 0: keep = ~numpy.isnan(y)."
        elif out[row] > 0:
            remedy = "Give the highest grade of the scale instead, e.g. numpy.minimum(y, 4)."
        where = place(row) if qptr is None else _place(row, qptr)
        raise InputError(
            f"labels: {int(bad.sum()):,} of {len(out):,} cannot be used; the first is {out[row].item()!r} at "
            f"{where}; labels are finite{'' if signed else ' and >= 0'}. {remedy}"
        )
    return out


def check_length(n: int, n_docs: int, what: str, of: str = "rows of X") -> None:
    """Reject an array whose length is not the number of documents."""
    if n != n_docs:
        other = {"rows of X": "X.shape[0]", "documents": "q.n_docs"}.get(of, f"len({of})")
        raise InputError(
            f"{what} has {n:,} values for {n_docs:,} {of}; one value per row is needed. "
            f"Compare len({what.split()[0]}) with {other}."
        )


def check_group(group: Any, n_docs: int) -> Int64Array:
    """Return the boundaries of consecutive queries from their numbers of rows."""
    values = _numbers(group, "group")
    sizes = _whole_numbers(values)
    remedy = (
        "Give the number of rows of each query in order, e.g. group=[3, 5], or the qid of each row: qid=."
    )
    bad = np.flatnonzero((sizes < 1) | (sizes != values))
    if len(bad):
        what = f"the size of query {bad[0]} is {values[bad[0]].item()!r}; sizes are integers >= 1."
        raise InputError(f"group: {what} {remedy}")
    if (total := sum_of(sizes)) != n_docs:
        what = f"the {len(sizes):,} sizes add up to {total:,}, but X has {n_docs:,} rows; both must agree."
        raise InputError(f"group: {what} {remedy}")
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def _whole_numbers(values: Any) -> Int64Array:
    """Return numbers as int64; values that do not fit become other numbers."""
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(values, dtype=np.int64)


def sum_of(sizes: Int64Array) -> int:
    """Return the sum of sizes; an int64 sum could wrap around and fit by chance."""
    # A float sum cannot wrap around; above 2^62 its rounding does not matter, since no data have that
    # size.
    roughly = float(sizes.sum(dtype=np.float64))
    return int(roughly) if roughly > 2.0**62 else int(sizes.sum())


def has_finite_sum(values: Array) -> bool:
    """Return whether the sum, and hence every value, is finite. It needs no memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values, dtype=np.float64)))


def is_missing(value: Any) -> bool:
    """Return whether a cell of a table is empty: None, NaN, or the missing value of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas.NA equals nothing and is neither true nor false.
        return True
    except Exception:  # noqa: BLE001
        # Arrays, tensors or a signaling NaN in a cell may raise an error of any class.
        return False


def is_empty(value: Any) -> bool:
    """Return whether a cell holds no identifier or category: it is missing, or an empty text, as in CSV."""
    return is_missing(value) or (isinstance(value, str) and value == "")


def check_flat(array: Array, what: str) -> None:
    """Raise `InputError` unless an array has one dimension."""
    if array.ndim != 1:
        raise InputError(
            f"{what} has shape {array.shape}; one dimension is needed. Type numpy.ravel({what})."
        )


def _numbers(values: Any, what: str) -> Array:
    """Return an array of real numbers with one dimension."""
    array = as_array(values, what)
    if array.dtype.kind == "O" or array.size == 0:
        array = as_floats(array, what)
    check_flat(array, what)
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"{what} has dtype {array.dtype} (first value {array[0].item()!r}); numbers are needed. "
            f"Type {what}.astype(float) if it holds numbers as text."
        )
    return array


def _place(row: int, qptr: Int64Array) -> str:
    return f"row {row} (query {int(np.searchsorted(qptr, row, side='right')) - 1})"


def weights_of(weights: Any, n: int, name: str, what: str, advice: str = "") -> Float64Array:
    """Return weights of n queries or documents, finite, >= 0 and not all 0, float64 (n,); None = all 1."""
    if weights is None:
        return np.ones(n)
    array = as_floats(weights, name, f"one number >= 0 per {what}")
    if array.shape != (n,):
        needed = f"one number per {what}, shape ({n},)"
        raise InputError(f"{name} has shape {array.shape}; the data need {needed}.", advice)
    bad = np.flatnonzero(~((array >= 0.0) & (array < np.inf)))
    if len(bad):
        fix = f"nan_to_num({name})" if np.isnan(array[bad[0]]) else f"clip({name}, 0, None)"
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]:g}; weights are finite numbers >= 0. Type e.g. numpy.{fix}."
        )
    if len(array) and not array.any():
        raise InputError(
            f"{name} is zero everywhere; at least one weight must be positive. Leave {name} out."
        )
    return array


def check_unrepeated(q: Any, which: str) -> None:
    """Raise `InputError` if a query of `Queries` has a document twice."""
    for query, twice in repeated_documents(q):
        raise InputError(
            f"{which}: query {query} has the document {twice!r} twice; each one may occur once. Remove "
            "one of the rows, or name another column of documents."
        )


def repeated_documents(q: Any) -> Iterator[tuple[Hashable, Hashable]]:
    """Yield query and document of each row of `Queries` whose document an earlier row of the query has."""
    if q.doc_ids is None:
        return
    for query, first, last in zip(q.query_ids, q.qptr[:-1].tolist(), q.qptr[1:].tolist(), strict=True):
        named = [doc for doc in q.doc_ids[first:last].tolist() if doc is not None]
        if len(set(named)) < len(named):
            yield from ((query, doc) for place, doc in enumerate(named) if doc in named[:place])
