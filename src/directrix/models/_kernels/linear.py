"""Scores X w and gradients X^T g of a linear model, dense and CSR, over a run of rows."""

import numba
import numpy as np

_FAST = {"reassoc", "contract", "nsz"}
_ROWS_PER_FLUSH = 64
"""float32 rows summed before the sum moves to float64; sums over all rows would lose 1e-5."""


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def dense_scores(X, w, scores):
    """Scores = X w, for X (n, d) and w (d,) of one dtype."""
    for i in range(X.shape[0]):
        total = X.dtype.type(0.0)
        for f in range(X.shape[1]):
            total += X[i, f] * w[f]
        scores[i] = total


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _add_rows(X, g, begin, end, total):
    """Total += X^T g over the rows begin <= i < end, four rows a pass over the total."""
    fours = end - (end - begin) % 4
    for i in range(np.uint64(begin), np.uint64(fours), np.uint64(4)):
        a, b, c, d = g[i], g[i + 1], g[i + 2], g[i + 3]
        for f in range(X.shape[1]):
            total[f] += (a * X[i, f] + b * X[i + 1, f]) + (c * X[i + 2, f] + d * X[i + 3, f])
    for i in range(fours, end):
        a = g[i]
        for f in range(X.shape[1]):
            total[f] += a * X[i, f]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def dense_add(X, g, part, grad):
    """Grad (float64) += X^T g; ``part`` (d,) is work space of the dtype of X."""
    n = X.shape[0]
    zero = X.dtype.type(0.0)
    for begin in range(0, n, _ROWS_PER_FLUSH):
        for f in range(len(part)):
            part[f] = zero
        _add_rows(X, g, begin, min(begin + _ROWS_PER_FLUSH, n), part)
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
