"""Rows of features, dense or sparse, without copies where possible; scores of runs of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import check_form
from directrix.data.sparse import absent_values
from directrix.threads import one_blas_thread, run_chunks
from directrix.types import Array, Float64Array, FloatArray, Int64Array, Model, is_sparse

_ROWS_PER_CHUNK = 4096
"""Rows that are scored at a time: they and the hidden values fit into the cache."""


class SparseRows(NamedTuple):
    """A run of rows of sparse features, without copying them: shape (n_rows, n_features)."""

    data: FloatArray  # of the whole matrix
    indices: Array  # of the whole matrix
    indptr: Array  # (n_rows + 1,): positions in data; need not start at 0
    absent: Float64Array  # (n_features,): value of what is not stored
    shape: tuple[int, int]

    @property
    def dtype(self) -> Any:
        """float32 or float64."""
        return self.data.dtype


class Runs(NamedTuple):
    """Some runs of rows of a dense array, without copying them."""

    X: FloatArray  # read-only, (n_docs, n_features)
    starts: Int64Array  # (n_runs,)
    ends: Int64Array
    shape: tuple[int, int]  # (n_rows, n_features) of the runs together

    @property
    def dtype(self) -> Any:
        """float32 or float64."""
        return self.X.dtype


def row_slice(X: Any, first: int, last: int) -> Any:
    """Return a view of the rows first <= i < last of a C-contiguous array or of sparse features."""
    if is_sparse(X):
        stored = read_only(X.data), read_only(X.indices), read_only(X.indptr[first : last + 1])
        return SparseRows(*stored, read_only(absent_values(X)), (last - first, X.shape[1]))
    return read_only(X[first:last])


def as_rows(X: Any) -> Any:
    """Return rows for models; a CSR matrix becomes `SparseRows`, anything else raises `InputError`."""
    if isinstance(X, SparseRows | Runs):
        return X
    n_docs, _ = check_form(X)
    return row_slice(X, 0, n_docs) if is_sparse(X) else X


def read_only(array: Any) -> Any:
    """Return a read-only view, as in `Queries`; kernels are compiled only for those."""
    view = array.view()
    view.flags.writeable = False
    return view


def scores_of(model: Model, params: Float64Array, X: Any) -> Float64Array:
    """Return the scores of all rows for each of several parameter vectors.

    ``params`` are (n_vectors, n_params); the scores (n_vectors, n_docs) are float64, computed in the
    precision of the features X of `Queries`, as rankers do. The scores of a vector have the same bits
    whatever the other vectors are, and for any number of threads. Raises `InputError` if the number of
    parameters is not that of the model. The features are read once from memory, in runs of 4096 rows, on
    several threads.

    Examples
    --------
    >>> from directrix.models.linear import LinearModel
    >>> scores_of(LinearModel(), np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[ 3.,  5.],
           [ 8., 12.]])
    """
    n_docs = X.shape[0]
    scores = np.empty((len(params), n_docs))

    def work(c: int) -> None:
        lo, hi = c * _ROWS_PER_CHUNK, min((c + 1) * _ROWS_PER_CHUNK, n_docs)
        rows = row_slice(X, lo, hi)
        for vector, out in zip(params, scores, strict=True):
            out[lo:hi] = model.forward(vector, rows)[0]

    with one_blas_thread():
        run_chunks(work, -(-n_docs // _ROWS_PER_CHUNK))
    return scores
