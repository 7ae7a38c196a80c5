"""Sparse features after a scale: CSR whose absent entries have one value per column, not always 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.data.memory import check_room
from directrix.types import Array, Float64Array, is_sparse


def prefers_csr(n_docs: int, n_features: int, n_entries: int) -> bool:
    """Return whether readers choose CSR: less than one feature in eight is written."""
    return n_docs * n_features > 8 * n_entries > 0


@dataclass(frozen=True, eq=False)
class ScaledCsr:
    """CSR features whose absent entries have one value per column.

    A scale that changes 0 would fill a sparse matrix; here it changes one number per column. SciPy's
    operations read absent entries as 0, so this is not a SciPy matrix. NumPy converts it to a dense array.
    """

    csr: Any
    """The stored entries, scaled."""
    absent: Float64Array
    """Value of all others, (n_features,)."""

    ndim, format = 2, "csr"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and of features."""
        n_docs, n_features = self.csr.shape
        return int(n_docs), int(n_features)

    dtype = property(lambda self: self.csr.dtype)
    data = property(lambda self: self.csr.data)
    indices = property(lambda self: self.csr.indices)
    indptr = property(lambda self: self.csr.indptr)
    nnz = property(lambda self: self.csr.nnz)

    def check_format(self, *, full_check: bool) -> None:
        """Check indices, as SciPy's method does."""
        self.csr.check_format(full_check=full_check)

    def __getitem__(self, rows: Any) -> ScaledCsr:
        return replace(self, csr=self.csr[rows])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        check_room(
            math.prod(self.shape) * self.dtype.itemsize,
            f"sparse features of {self.shape[0]:,} documents and {self.shape[1]:,} columns, whose zeros a "
            "scale moves,",
            "Leave out the scale, or train a linear model or a network, which need no dense features.",
        )
        out = np.tile(self.absent.astype(self.dtype), (self.shape[0], 1))
        entries = self.csr.tocoo()
        out[entries.coords] = entries.data
        return out if dtype is None else out.astype(dtype, copy=False)

    def toarray(self) -> Array:
        """Return a dense array."""
        return self.__array__()


def arrays_of(X: Any) -> tuple[Array, ...]:
    """Return the arrays that hold features; for sparse ones, the entries, columns and pointers."""
    return (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)


def entries(X: Any) -> Array:
    """Return the values of features; for sparse ones, the stored entries in one dimension."""
    return arrays_of(X)[0]


def columns_of_entries(X: Any, chosen: Array) -> Array:
    """Return the columns of some of the `entries`, by their positions."""
    columns: Array = X.indices[chosen] if entries(X).ndim == 1 else chosen % X.shape[1]
    return columns


def cell_of(X: Any, entry: int) -> tuple[int, int]:
    """Return row and column of one of the `entries`."""
    if entries(X).ndim == 1:
        return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
    row, column = divmod(int(entry), X.shape[1])
    return row, column


def row_bytes(X: Any, *, as_dense: bool = False) -> float:
    """Return the mean number of bytes of a row."""
    is_packed = is_sparse(X) and not as_dense
    # An entry of CSR takes 12 bytes: a float64, and the number of its column.
    n_bytes = 12.0 * X.nnz / max(X.shape[0], 1) if is_packed else X.shape[1] * X.dtype.itemsize
    return float(n_bytes)


def dense(X: Any) -> Array:
    """Return features as a NumPy array, wherever they are stored."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def absent_values(X: Any) -> Float64Array:
    """Return the value of absent entries of sparse features by column, (n_features,)."""
    absent = getattr(X, "absent", None)
    return np.zeros(X.shape[1]) if absent is None else absent


def csr_of(X: Any) -> Any:
    """Return the stored entries of sparse features as CSR."""
    return getattr(X, "csr", X)


def deviations(X: Any) -> Any:
    """Return sparse features minus the values of absent entries, which become 0: a float64 CSR array."""
    from scipy.sparse import csr_array

    data = X.data.astype(np.float64) - absent_values(X)[X.indices]
    return csr_array((data, X.indices, X.indptr), shape=X.shape)


def column_reader(X: Any) -> Callable[[int], Float64Array]:
    """Return a function from a column's number to its values, float64 (n_docs,)."""
    _, read = columns_reader(X, 1)
    return lambda f: np.asarray(read(f)[:, 0], dtype=np.float64)


def columns_reader(X: Any, width: int) -> tuple[int, Callable[[int], Array]]:
    """Return how many columns are read at once, and a function from the first one's number to them.

    That is ``width`` or the rest, and one at a time of sparse features; the columns are (n_docs, n).
    """
    if not is_sparse(X):
        return width, lambda first: X[:, first : first + width]
    absent = absent_values(X)
    # CSC has the entries of each column together.
    columns = csr_of(X).tocsc()

    def column(f: int) -> Float64Array:
        stored = slice(columns.indptr[f], columns.indptr[f + 1])
        out = np.full(X.shape[0], absent[f])
        out[columns.indices[stored]] = columns.data[stored]
        return out[:, None]

    return 1, column


def with_entries(X: Any, data: Array, absent: Float64Array) -> Any:
    """Return sparse features with other entries in the same positions: CSR if the absent ones are 0."""
    from scipy.sparse import csr_array

    # The positions stay, so they are shared with the features.
    csr = csr_array((data, X.indices, X.indptr), shape=X.shape)
    return ScaledCsr(csr, absent) if absent.any() else csr


def side_by_side(column_blocks: Sequence[Any]) -> Any:
    """Return features with the columns of the first, then those of the second, and so on."""
    if not any(map(is_sparse, column_blocks)):
        return np.hstack(column_blocks)
    from scipy.sparse import csr_array, hstack

    csr = csr_array(hstack([csr_of(block) for block in column_blocks], format="csr"))
    return with_entries(csr, csr.data, np.concatenate([absent_values(block) for block in column_blocks]))
