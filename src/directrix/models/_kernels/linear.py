"""Scores X w and gradients X^T g of a linear model, dense and CSR, over a run of rows."""

import numpy as np

from directrix.kernels import kernel

_FAST = {"reassoc", "contract", "nsz"}
_ROWS_PER_FLUSH = 64
"""float32 rows summed before the sum moves to float64; sums over all rows would lose 1e-5."""


@kernel(fastmath=_FAST)
def _dot(x, w):
    total = x.dtype.type(0.0)
    for f in range(len(w)):
        total += x[f] * w[f]
    return total


@kernel(fastmath=_FAST)
def _add_block(X, g, total):
    """Total += X^T g, four rows a pass over the total."""
    fours = X.shape[0] // 4
    for i in range(fours):
        x0, x1, x2, x3 = X[4 * i], X[4 * i + 1], X[4 * i + 2], X[4 * i + 3]
        a, b, c, d = g[4 * i], g[4 * i + 1], g[4 * i + 2], g[4 * i + 3]
        for f in range(len(total)):
            total[f] += (a * x0[f] + b * x1[f]) + (c * x2[f] + d * x3[f])
    for i in range(4 * fours, X.shape[0]):
        x0, a = X[i], g[i]
        for f in range(len(total)):
            total[f] += a * x0[f]


@kernel
def dense_scores(X, w, scores):
    """Scores = X w, for X (n, d) and w (d,) of one dtype."""
    for i in range(X.shape[0]):
        scores[i] = _dot(X[i], w)


@kernel
def dense_add(X, g, part, grad):
    """Grad (float64) += X^T g; ``part`` (d,) is work space of the dtype of X."""
    n = X.shape[0]
    zero = X.dtype.type(0.0)
    for begin in range(0, n, _ROWS_PER_FLUSH):
        end = min(begin + _ROWS_PER_FLUSH, n)
        for f in range(len(part)):
            part[f] = zero
        _add_block(X[begin:end], g[begin:end], part)
        for f in range(len(grad)):
            grad[f] += part[f]


@kernel
def csr_scores(data, indices, indptr, w, scores):
    """Scores = X w for the rows that ``indptr`` (n + 1,) spans."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[p]) * w[indices[p]]
        scores[i] = total


@kernel
def csr_add(data, indices, indptr, g, grad):
    """Grad (float64) += X^T g."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            grad[indices[p]] += np.float64(data[p]) * g[i]
