"""Forms of arrays: what is one, of which type and shape, and what `Queries` are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array, is_sparse


def check_shape(values: Any, n: int, name: str) -> None:
    """Refuse an array, or tuple, of another shape than ``(n,)``; None passes."""
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
    """Return the shape of features; refuse another form than those of `Queries`. Values are not read."""
    shape: Any = getattr(features, "shape", ())
    dtype = getattr(features, "dtype", None)
    if isinstance(features, np.matrix | np.ma.MaskedArray):  # whose operators mean something else
        raise InputError(f"features are a {type(features).__name__}; an array is needed: numpy.asarray(X).")
    if len(shape) != 2 or dtype not in (np.float32, np.float64):
        raise InputError(
            f"features have shape {shape} and dtype {dtype}; two dimensions and float32 or float64 are "
            "needed. Build data with Queries.from_arrays(X, y, qid=qid)."
        )
    if is_sparse(features):
        if features.format != "csr":
            raise InputError(f"features are a {features.format} matrix; CSR is needed. Type X.tocsr().")
        check_indices(features)
    return int(shape[0]), int(shape[1])


def check_indices(features: Any) -> None:
    """Refuse CSR whose indices or pointers lead outside."""
    try:
        features.check_format(full_check=True)
    except ValueError as error:
        # the kernels do not check indices: one out of range would read or write foreign memory
        raise InputError(
            f"features are a damaged CSR matrix: {error}. Build it again from rows and columns, "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=X.shape).tocsr()."
        ) from None


def check_positions(queries: Any, n_queries: int) -> Int64Array:
    """Return positions of queries as int64; `InputError` unless each is one from 0 to ``n_queries - 1``."""
    given = as_array(queries, "take")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InputError(
            f"take: shape {given.shape}, dtype {given.dtype}; positions of queries are a list of "
            "integers, e.g. q.take([0, 5]); for a mask type q.take(numpy.flatnonzero(mask))."
        )
    chosen = given.astype(np.int64)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n_queries):
        worst = chosen[(chosen < 0) | (chosen >= n_queries)][0]
        raise InputError(
            f"take: there is no query {worst}; positions are 0 to {n_queries - 1}. "
            "For an identifier type q.query_ids.index(identifier)."
        )
    return chosen


def as_array(values: Any, what: str) -> Array:
    """Return whatever is like an array as one; `InputError` if it is sparse, ragged, or masked anywhere."""
    refuse_masked(values, what)
    if is_sparse(values):
        raise InputError(
            f"{what}: a sparse matrix of shape {values.shape}; an array is needed. Type X.toarray().ravel()."
        )
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: not an array ({error}); one number per row is needed.") from error


def is_plain(text: str) -> bool:
    """Whether text has no underscores and no digits of other scripts, which ``float`` reads."""
    return text.isascii() and "_" not in text


def floats_of(cells: Any) -> Float64Array:
    """Return cells as float64; text by the rule of files, see `is_plain`."""
    for cell in cells:
        if isinstance(cell, str | bytes) and not is_plain(str(cell)):
            raise ValueError(f"could not convert string to float: {cell!r}")
    return np.asarray(cells, dtype=np.float64)


def as_floats(values: Any, what: str, needed: str = "one number per row") -> Float64Array:
    """Return real numbers as float64, of any shape; objects if all are numbers that a float can hold."""
    array = as_array(values, what)
    try:
        if array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat):
            raise TypeError("there is text")
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"dtype {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{what}: not an array of numbers ({error}); {needed} is needed. Type e.g. {what}=[1.0, 2.0]."
        ) from error


def refuse_masked(values: Any, what: str) -> None:
    """Raise `InputError` if entries of a NumPy masked array are masked."""
    if is_masked(values):
        raise InputError(
            f"{what}: {np.count_nonzero(values.mask):,} entries are masked; every row needs one. Leave "
            "the masked rows out, or type numpy.ma.filled(...) with a value of your choice."
        )


def unmasked(given: Any) -> Any:
    """Return a masked array with NaN, which means missing, where it is masked."""
    if not is_masked(given):
        return given
    return given.astype(np.float64 if given.dtype.kind in "fiub" else object).filled(np.nan)


def is_masked(values: Any) -> bool:
    """Whether entries of a NumPy masked array are masked; arrays of pandas have masks of another kind."""
    if not isinstance(values, np.ma.MaskedArray):
        return False
    return values.dtype.names is not None or bool(np.ma.is_masked(values))  # of records each field has a mask
