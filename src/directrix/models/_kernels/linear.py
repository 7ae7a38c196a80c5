"""Products of rows, dense and CSR, with a vector or a matrix, over runs of rows without copying them."""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST

_ROWS_PER_FLUSH = 64
"""float32 rows summed before the sum moves to float64; sums over all rows would lose 1e-5."""


@kernel(fastmath=FAST)
def dense_scores(X, lo, hi, w, scores, at):
    """Scores from ``at`` on = X w of the rows lo <= i < hi, for X and w (d,) of one dtype.

    X may have more columns, which do not count.

    Bounds in place of a slice of X, as wherever a query may have few documents: slicing an array counts
    references with atomic instructions.
    """
    first, place = np.uint64(lo), np.uint64(at)  # a signed index could be one from the end: a branch
    for i in range(np.uint64(hi - lo)):
        total = X.dtype.type(0.0)
        for f in range(len(w)):
            total += X[first + i, f] * w[f]
        scores[place + i] = total


@kernel(fastmath=FAST)
def _add_rows(X, lo, hi, g, at, total):
    """Total += X^T g over the rows lo <= i < hi, four rows per pass over the total; g begins at ``at``."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    i, j, fours = np.uint64(lo), np.uint64(at), np.uint64(hi - (hi - lo) % 4)
    while i < fours:
        a, b, c, d = g[j], g[j + one], g[j + two], g[j + three]
        for f in range(len(total)):
            total[f] += (a * X[i, f] + b * X[i + one, f]) + (c * X[i + two, f] + d * X[i + three, f])
        i, j = i + np.uint64(4), j + np.uint64(4)
    while i < np.uint64(hi):
        a = g[j]
        for f in range(len(total)):
            total[f] += a * X[i, f]
        i, j = i + one, j + one


@kernel
def dense_add(X, lo, hi, g, at, part, grad):
    """Grad (float64) += X^T g of the rows lo <= i < hi, g from ``at`` on.

    ``part`` (d,) is work space of the dtype of X.
    """
    zero = X.dtype.type(0.0)
    for begin in range(lo, hi, _ROWS_PER_FLUSH):
        for f in range(len(part)):
            part[f] = zero
        _add_rows(X, begin, min(begin + _ROWS_PER_FLUSH, hi), g, at + begin - lo, part)
        for f in range(len(grad)):
            grad[f] += part[f]


@kernel
def runs_scores(X, starts, ends, w, scores):
    """Scores of the rows starts[r] <= i < ends[r] of X for one run after another."""
    at = 0
    for r in range(len(starts)):
        lo, hi = starts[r], ends[r]
        dense_scores(X, lo, hi, w, scores, at)
        at += hi - lo


@kernel
def runs_add(X, starts, ends, g, part, grad):
    """Grad (float64) += X^T g over those rows; ``part`` as in `dense_add`."""
    at = 0
    for r in range(len(starts)):
        lo, hi = starts[r], ends[r]
        dense_add(X, lo, hi, g, at, part, grad)
        at += hi - lo


@kernel
def csr_scores(data, indices, indptr, absent, w, scores):
    """Scores = X w for the rows that ``indptr`` (n + 1,) spans.

    ``absent`` (d,) is the value of what is not stored: one sum for all rows, and what entries add to it.
    """
    base = 0.0
    for f in range(len(w)):
        base += absent[f] * w[f]
    for i in range(len(indptr) - 1):
        total = base
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            total += (np.float64(data[p]) - absent[f]) * w[f]
        scores[i] = total


@kernel
def csr_add(data, indices, indptr, absent, g, grad):
    """Grad (float64) += X^T g."""
    total = 0.0
    for i in range(len(indptr) - 1):
        total += g[i]
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            grad[f] += (np.float64(data[p]) - absent[f]) * g[i]
    for f in range(len(grad)):
        grad[f] += absent[f] * total


@kernel
def _add_scaled(total, row, factor):
    for k in range(len(total)):
        total[k] += factor * row[k]


@kernel
def csr_product(data, indices, indptr, absent, weights, out):
    """Out (n, n_out) = X W for the rows that ``indptr`` (n + 1,) spans, summed in float64."""
    base, total = np.zeros(weights.shape[1]), np.empty(weights.shape[1])
    for f in range(len(absent)):
        if absent[f] != 0.0:
            _add_scaled(base, weights[f], absent[f])
    for i in range(len(indptr) - 1):
        total[:] = base
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            _add_scaled(total, weights[f], np.float64(data[p]) - absent[f])
        for k in range(len(total)):
            out[i, k] = total[k]


@kernel
def csr_add_product(data, indices, indptr, absent, delta, grad):
    """Grad (float64) (n_features, n_out) += X^T delta."""
    total = np.zeros(grad.shape[1])
    for i in range(len(indptr) - 1):
        _add_scaled(total, delta[i], 1.0)
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            _add_scaled(grad[f], delta[i], np.float64(data[p]) - absent[f])
    for f in range(len(absent)):
        if absent[f] != 0.0:
            _add_scaled(grad[f], total, absent[f])
