"""The linear model: score = w . x, for dense and sparse features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import InputError
from directrix.models.rows import Runs, SparseRows, as_rows, read_only
from directrix.types import Float64Array, FloatArray, Int64Array


def one_per_feature(values: Any, n_features: int, name: str) -> Float64Array:
    """Return the values as float64 (n_features,), or raise `InputError` if they have another shape."""
    array = as_floats(values, name)
    if array.shape != (n_features,):
        raise InputError(
            f"{name} has shape {array.shape}; the data have {n_features} features: "
            f"pass one number for each, shape ({n_features},)."
        )
    return array


class LinearModel:
    """score_i = sum_f x_if w_f; implements `directrix.types.Model`.

    There is no intercept: it would move all documents of a query equally.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix.models import LinearModel
    >>> LinearModel().forward(np.array([0.5, 0.25]), np.array([[1.0, 2.0]]))[0]
    array([1.])
    """

    def runs(self, X: FloatArray) -> Callable[[Int64Array, Int64Array], Runs]:
        """Return a function from first and last rows (n_runs,) to those rows of X, for `forward`."""
        rows, n_features = read_only(X), X.shape[1]
        return lambda starts, ends: Runs(rows, starts, ends, (int(ends.sum() - starts.sum()), n_features))

    def forward(self, params: Float64Array, X: Any) -> tuple[FloatArray, Any]:
        """Return the scores of the rows.

        Parameters
        ----------
        params : float64 (n_features,)
            Weights; rounded to the dtype of the features.
        X : read-only array (n_rows, n_features), SparseRows or Runs
            Result of `row_slice` or `runs`; CSR is accepted too.

        Returns
        -------
        scores : float (n_rows,)
            Scores in the dtype of the features.
        cache
            Arrays that `backward` needs.

        Raises
        ------
        InputError
            If there is not one weight per feature, or X is something else.
        """
        X = as_rows(X)
        params = one_per_feature(params, X.shape[1], "params")
        return weighted_sums(X, params), X

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Return the gradient X^T dscores, float64 (n_features,), summed in float64 across blocks of rows."""
        grad = np.zeros(cache.shape[1])
        add_gradient(cache, dscores, grad)
        return grad


def weighted_sums(rows: Any, w: FloatArray) -> FloatArray:
    """Return rows times w, whose length is the number of columns: (n_rows,) in the dtype of the rows."""
    from directrix.models._kernels.linear import csr_scores, dense_scores, runs_scores

    scores: FloatArray = np.empty(rows.shape[0], rows.dtype)
    if isinstance(rows, SparseRows):
        csr_scores(*rows[:4], np.ascontiguousarray(w, dtype=np.float64), scores)
    elif isinstance(rows, Runs):
        runs_scores(rows.X, rows.starts, rows.ends, w.astype(rows.dtype), scores)
    else:
        dense_scores(rows, 0, len(rows), np.require(w, rows.dtype, ["C", "W"]), scores, 0)
    return scores


def add_gradient(rows: Any, g: FloatArray, out: FloatArray) -> None:
    """Add rows^T g to ``out``, which has one entry per column."""
    from directrix.models._kernels.linear import csr_add, dense_add, runs_add

    if isinstance(rows, SparseRows):
        csr_add(*rows[:4], g, out)
    elif isinstance(rows, Runs):
        runs_add(rows.X, rows.starts, rows.ends, g, np.empty(len(out), rows.dtype), out)
    else:
        dense_add(rows, 0, len(rows), g, 0, np.empty(len(out), rows.dtype), out)
