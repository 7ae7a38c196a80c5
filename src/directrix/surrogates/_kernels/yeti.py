"""YetiRank: forces between neighbours in rankings by scores with noise, and their curvature.

The documents are numbered by rank.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.lambdas import arrange, exchange, scratch, write_ranking
from directrix.surrogates._kernels.noise import LOGISTIC, add_noise, next_key, query_key
from directrix.surrogates._kernels.pair_forces import LEAST_CURVATURE
from directrix.surrogates._kernels.sorting import descending_order


@kernel
def _neighbours(s, x, weights, order, top, doubles, pull, bend):
    """Add forces between neighbours in ``order``: |x_a - x_b| times what a swap of their ranks is worth."""
    upper, lower, factor = doubles[1], doubles[2], doubles[3]
    for i in range(min(top, len(order) - 1)):
        a, b = order[i], order[i + 1]
        weight = weights[a] * weights[b] * abs(x[a] - x[b]) * (upper[i] - factor[i] * lower[i + 1])
        if x[a] < x[b]:
            a, b = b, a
        p = 1.0 / (1.0 + math.exp(s[a] - s[b]))
        force = weight * p
        curvature = force * max(1.0 - p, LEAST_CURVATURE)
        pull[a] += force
        pull[b] -= force
        bend[a] += curvature
        bend[b] += curvature


@kernel
def _forces(spec, discount, key, n, space, rows):
    """Fill ``rows[0]`` and ``rows[1]`` with the mean force on each document and its curvature, by rank.

    ``rows[4]`` holds the weights of the documents.
    """
    form, depth, n_permutations, decay, noise, by_measure = spec
    doubles, order = space[1], space[2][1, :n]
    s, x = doubles[0, :n], doubles[4, :n]
    pull, bend, noisy, reordered, weights = rows[0, :n], rows[1, :n], rows[2, :n], rows[3, :n], rows[4, :n]
    worth = 1.0
    for p in range(n):
        pull[p] = bend[p] = 0.0
        doubles[1, p], doubles[2, p], doubles[3, p] = worth, 0.0, 0.0
        worth *= decay
    top = n
    for _ in range(n_permutations):
        key = next_key(key)
        add_noise(LOGISTIC, s, noise, key, noisy)
        descending_order(noisy, order)
        if by_measure:
            for i in range(n):
                reordered[i] = x[order[i]]
            top = exchange(form, reordered, discount, depth, doubles[1], doubles[2], doubles[3])
        _neighbours(s, x, weights, order, top, doubles, pull, bend)
    for p in range(n):
        pull[p] /= n_permutations
        bend[p] /= n_permutations


@kernel
def yeti_chunk(
    spec, scores, worth, unit, discount, labels, weights, qptr, chunk, ranking, value, grad, curvature
):
    """Forces and curvatures of the queries chunk[0] <= q < chunk[1], and their labels by rank.

    Parameters
    ----------
    spec : tuple (tuple (int, int, int, float, float, bool), int)
        Form and cut-off of the measure, permutations, decay, noise, whether the measure weighs; draw.
    scores, worth, unit, discount, labels, qptr, chunk, ranking, value
        As for `lambda_chunk`.
    weights : float64 (n_docs,)       of the documents
    grad, curvature : float (n_docs,) out; NaN where a score is not finite. If they are one array, it is grad
    """
    setting, draw = spec
    space, start = scratch(qptr, chunk, scores), qptr[chunk[0]]
    order, by_measure = space[2][0], setting[5]
    rows = np.empty((5, space[2].shape[1]))
    for q in range(chunk[0], chunk[1]):
        lo, n = qptr[q], qptr[q + 1] - qptr[q]
        weighing = worth[lo : lo + n] if by_measure else labels[lo : lo + n]
        finite = arrange(scores[lo : lo + n], weighing, space)
        write_ranking(labels[lo : lo + n], space, ranking, lo - start)
        value[q] = 0.0 if finite else np.nan
        if finite:
            for p in range(n):
                rows[4, p] = weights[lo + order[p]]
            key = query_key(ranking[1][lo - start : lo - start + n], draw)
            _forces(setting, discount, key, n, space, rows)
        for p in range(n):
            curvature[lo + order[p]] = rows[1, p] if finite else np.nan
            grad[lo + order[p]] = rows[0, p] if finite else np.nan
