"""Scores X w and gradients X^T g of a linear model, dense and CSR, over a run of rows."""

import numba
import numpy as np

_FAST = {"reassoc", "contract", "nsz"}
_ROWS_PER_FLUSH = 64
"""float32 rows summed before the sum moves to float64; sums over all rows would lose 1e-5."""


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _dot(x, w):
    total = x.dtype.type(0.0)
    for f in range(len(w)):
        total += x[f] * w[f]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _add_four(a, b, c, d, x0, x1, x2, x3, total):
    for f in range(len(total)):
        total[f] += (a * x0[f] + b * x1[f]) + (c * x2[f] + d * x3[f])


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _add_one(a, x, total):
    for f in range(len(total)):
        total[f] += a * x[f]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def dense_scores(X, w, scores):
    """Scores = X w, for X (n, d) and w (d,) of one dtype."""
    for i in range(X.shape[0]):
        scores[i] = _dot(X[i], w)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def dense_add(X, g, part, grad):
    """Grad (float64) += X^T g; ``part`` (d,) is work space of the dtype of X."""
    n = X.shape[0]
    zero = X.dtype.type(0.0)
    for begin in range(0, n, _ROWS_PER_FLUSH):
        end = min(begin + _ROWS_PER_FLUSH, n)
        part[:] = zero
        i = begin
        while i + 4 <= end:
            _add_four(g[i], g[i + 1], g[i + 2], g[i + 3], X[i], X[i + 1], X[i + 2], X[i + 3], part)
            i += 4
        while i < end:
            _add_one(g[i], X[i], part)
            i += 1
        for f in range(len(grad)):
            grad[f] += part[f]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def csr_scores(data, indices, indptr, w, scores):
    """Scores = X w for the rows that ``indptr`` (n + 1,) spans."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[p]) * w[indices[p]]
        scores[i] = total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def csr_add(data, indices, indptr, g, grad):
    """Grad (float64) += X^T g."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            grad[indices[p]] += np.float64(data[p]) * g[i]
