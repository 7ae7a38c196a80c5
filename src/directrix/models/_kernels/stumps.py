"""Scores and gradients of staircases of single features, dense and CSR.

``levels`` and ``mass`` hold one place more than there are thresholds for every feature: feature f owns the
places ``ptr[f] + f`` to ``ptr[f + 1] + f``, one for each number of thresholds below a value.
"""

import numpy as np

from directrix.kernels import kernel


@kernel
def _below(x, values):
    """Number of thresholds below x."""
    first, last = 0, len(values)
    while first < last:
        middle = (first + last) // 2
        if values[middle] < x:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def heights(params, ptr, levels):
    """Fill the height of every stair: sums of the steps up to it."""
    for f in range(len(ptr) - 1):
        height = 0.0
        levels[ptr[f] + f] = height
        for p in range(ptr[f], ptr[f + 1]):
            height += params[p]
            levels[p + f + 1] = height


@kernel
def sums_above(mass, ptr, grad):
    """Fill for every threshold the mass of the stairs above it."""
    for f in range(len(ptr) - 1):
        total = 0.0
        for p in range(ptr[f + 1] - 1, ptr[f] - 1, -1):
            total += mass[p + f + 1]
            grad[p] = total


@kernel
def dense_stairs(X, values, ptr, stairs):
    """Fill the number of thresholds below every value."""
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            stairs[i, f] = _below(np.float64(X[i, f]), values[ptr[f] : ptr[f + 1]])


@kernel
def csr_stairs(data, indices, values, ptr, stairs):
    """Do the same for the values that are stored."""
    for e in range(len(data)):
        f = indices[e]
        stairs[e] = _below(np.float64(data[e]), values[ptr[f] : ptr[f + 1]])


@kernel
def dense_scores(stairs, ptr, levels, scores):
    """Sum the heights of the stairs that hold the features of every row."""
    for i in range(stairs.shape[0]):
        total = 0.0
        for f in range(stairs.shape[1]):
            total += levels[ptr[f] + f + np.int64(stairs[i, f])]
        scores[i] = total


@kernel
def dense_add(stairs, ptr, g, mass):
    """Add g of every row to the stairs that hold its features."""
    for i in range(stairs.shape[0]):
        for f in range(stairs.shape[1]):
            mass[ptr[f] + f + np.int64(stairs[i, f])] += g[i]


@kernel
def csr_scores(stairs, indices, indptr, ground, ptr, levels, scores):
    """Do the same as `dense_scores` for rows that begin at ``indptr``: what is not stored, then what differs.

    ``ground`` (n_features,) is the number of thresholds below what is not stored.
    """
    sea = 0.0
    for f in range(len(ground)):
        sea += levels[ptr[f] + f + np.int64(ground[f])]
    for i in range(len(indptr) - 1):
        total = sea
        for e in range(indptr[i], indptr[i + 1]):
            f = indices[e]
            first = ptr[f] + f
            total += levels[first + np.int64(stairs[e])] - levels[first + np.int64(ground[f])]
        scores[i] = total


@kernel
def csr_add(stairs, indices, indptr, ground, ptr, g, mass):
    """Do the same as `dense_add`."""
    total = 0.0
    for i in range(len(indptr) - 1):
        total += g[i]
        for e in range(indptr[i], indptr[i + 1]):
            f = indices[e]
            first = ptr[f] + f
            mass[first + np.int64(stairs[e])] += g[i]
            mass[first + np.int64(ground[f])] -= g[i]
    for f in range(len(ground)):
        mass[ptr[f] + f + np.int64(ground[f])] += total
