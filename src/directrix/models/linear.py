"""The linear model: score = w . x, for dense and sparse features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from directrix.errors import InputError
from directrix.types import Array, Float64Array, FloatArray, Int64Array

__all__ = ["LinearModel", "Runs", "SparseRows", "rows_of"]


class SparseRows(NamedTuple):
    """A run of rows of a CSR matrix, without copying it.

    Parameters
    ----------
    data, indices : arrays (n_nonzero of the whole matrix,)
    indptr : int array (n_rows + 1,)
        Positions in ``data``; need not start at 0.
    shape : (n_rows, n_features)
    """

    data: FloatArray
    indices: Array
    indptr: Array
    shape: tuple[int, int]


class Runs(NamedTuple):
    """Some runs of rows of a dense array, without copying them.

    Parameters
    ----------
    X : read-only array (n_docs, n_features)
    starts, ends : int64 (n_runs,)
    shape : (n_rows, n_features)
        Of the runs together.
    """

    X: FloatArray
    starts: Int64Array
    ends: Int64Array
    shape: tuple[int, int]


def rows_of(X: Any, first: int, last: int) -> Any:
    """View of the rows first <= i < last of a C-contiguous array or a CSR matrix."""
    if sp.issparse(X):
        indptr = _frozen(X.indptr[first : last + 1])
        return SparseRows(_frozen(X.data), _frozen(X.indices), indptr, (last - first, X.shape[1]))
    return _frozen(X[first:last])


def _frozen(array: Any) -> Any:
    # Features are read-only where they live in `Queries`; kernels are compiled for that alone.
    view = array.view()
    view.flags.writeable = False
    return view


class LinearModel:
    """score_i = sum_f x_if w_f; fulfils `directrix.types.Model`.

    There is no intercept: it would move all documents of a query alike.
    """

    def runs(self, X: FloatArray) -> Callable[[Int64Array, Int64Array], Runs]:
        """Return what makes of first and last rows (n_runs,) those rows of X, as `forward` takes them."""
        rows, n_features = _frozen(X), X.shape[1]
        return lambda starts, ends: Runs(rows, starts, ends, (int(ends.sum() - starts.sum()), n_features))

    def forward(self, params: Float64Array, X: Any) -> tuple[FloatArray, Any]:
        """Scores of the rows.

        Parameters
        ----------
        params : float64 (n_features,)
            Weights; rounded to the dtype of the features.
        X : read-only array (n_rows, n_features), SparseRows or Runs
            As made by `rows_of` or `runs`.

        Returns
        -------
        scores : float (n_rows,)
            Of the dtype of the features.
        cache
            What `backward` needs.

        Raises
        ------
        InputError
            If there is not one weight for each feature.
        """
        if np.shape(params) != (X.shape[1],):
            raise InputError(
                f"params has shape {np.shape(params)}; a linear model on {X.shape[1]} features has one "
                f"weight for each: pass shape ({X.shape[1]},)."
            )
        from directrix.models._kernels.linear import csr_scores, dense_scores

        if isinstance(X, SparseRows):
            scores = np.empty(X.shape[0], dtype=X.data.dtype)
            csr_scores(X.data, X.indices, X.indptr, np.ascontiguousarray(params, dtype=np.float64), scores)
        elif isinstance(X, Runs):
            from directrix.models._kernels.runs import runs_scores

            scores = np.empty(X.shape[0], dtype=X.X.dtype)
            runs_scores(X.X, X.starts, X.ends, params.astype(X.X.dtype), scores)
        else:
            scores = np.empty(X.shape[0], dtype=X.dtype)
            dense_scores(X, np.require(params, dtype=X.dtype, requirements=["C", "W"]), scores)
        return scores, X

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Gradient X^T dscores, float64 (n_features,), summed in float64 across blocks of rows."""
        from directrix.models._kernels.linear import csr_add, dense_add

        X = cache
        grad = np.zeros(X.shape[1])
        if isinstance(X, SparseRows):
            csr_add(X.data, X.indices, X.indptr, dscores, grad)
        elif isinstance(X, Runs):
            from directrix.models._kernels.runs import runs_add

            runs_add(X.X, X.starts, X.ends, dscores, np.empty(X.shape[1], dtype=X.X.dtype), grad)
        else:
            dense_add(X, dscores, np.empty(X.shape[1], dtype=X.dtype), grad)
        return grad
