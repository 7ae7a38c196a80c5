"""YetiRank: lambdas of pairs of neighbors in rankings by scores with noise, and their curvature.

The documents are numbered by rank.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST, GAP
from directrix.surrogates._kernels.lambdas import arrange, exchange, scratch, write_ranking
from directrix.surrogates._kernels.noise import add_noise, next_key, query_key
from directrix.surrogates._kernels.pair_lambdas import LEAST_CURVATURE
from directrix.surrogates._kernels.sigmoids import exponential
from directrix.surrogates._kernels.sorting import descending_order

_REACH = 700.0
"""Gaps of scores beyond which the logistic is 0 or 1."""


@kernel(fastmath=FAST)
def _pair_lambdas(ranked, worths, slope, bend):
    """Fill the lambdas of the upper documents of neighbors, and their curvatures.

    ``ranked`` holds scores, worths and weights in the noisy order, ``worths`` U, L and f of `exchange`.
    """
    s, x, weights = ranked[0], ranked[1], ranked[2]
    upper, lower, factor = worths[1], worths[2], worths[3]
    for i in range(len(slope)):
        d = x[i] - x[i + 1]
        gap = s[i] - s[i + 1]
        weight = weights[i] * weights[i + 1] * d * (upper[i] - factor[i] * lower[i + 1])
        p = 1.0 / (1.0 + exponential(min(max(gap if d > 0.0 else -gap, -_REACH), _REACH)))
        slope[i] = weight * p
        bend[i] = abs(weight) * p * max(1.0 - p, LEAST_CURVATURE)


@kernel
def _neighbors(order, top, worths, rows):
    """Add lambdas between neighbors in ``order``: |x_a - x_b| times what a swap of their ranks is worth."""
    n = min(top, len(order) - 1)
    if n < 1:
        return
    s, x, weights, pull, bend, ranked = worths[0], worths[4], rows[4], rows[0], rows[1], rows[5:]
    for i in range(n + 1):
        a = order[i]
        ranked[0, i], ranked[1, i], ranked[2, i] = s[a], x[a], weights[a]
    slope, curvature, full = rows[8], rows[9], _whole_vectors(n)
    _pair_lambdas(ranked, worths, slope[:full], curvature[:full])
    pushed, bent = 0.0, 0.0  # by the document above
    for i in range(n):
        a = order[i]
        pull[a] += slope[i] - pushed
        bend[a] += curvature[i] + bent
        pushed, bent = slope[i], curvature[i]
    a = order[n]
    pull[a] -= pushed
    bend[a] += bent


@kernel
def _whole_vectors(n):
    """The length of loops over n documents without a rest, which would not run in vector registers."""
    return (n + 15) // 16 * 16


@kernel
def _lambdas(spec, discount, key, n, space, rows):
    """Fill ``rows[0]`` and ``rows[1]`` with the mean lambda of each document and its curvature, by rank.

    ``rows[4]`` holds the weights of the documents.
    """
    form, depth, n_permutations, decay, noise, by_measure = spec
    doubles, order, full = space[1], space[2][1, :n], _whole_vectors(n)
    x = doubles[4, :n]
    pull, bend, noisy, reordered = rows[0, :n], rows[1, :n], rows[2, :full], rows[3, :n]
    worth = 1.0
    for p in range(n):
        pull[p] = bend[p] = 0.0
        doubles[1, p], doubles[2, p], doubles[3, p] = worth, 0.0, 0.0
        worth *= decay
    top = n
    for _ in range(n_permutations):
        key = next_key(key)
        add_noise(doubles[0, :full], noise, key, noisy)
        descending_order(noisy[:n], order)
        if by_measure:
            for i in range(n):
                reordered[i] = x[order[i]]
            top = exchange(form, reordered, discount, depth, doubles[1], doubles[2], doubles[3])
        _neighbors(order, top, doubles, rows)
    for p in range(n):
        pull[p] /= n_permutations
        bend[p] /= n_permutations


@kernel
def yeti_chunk(
    spec, scores, worth, unit, discount, labels, weights, qptr, chunk, ranking, value, grad, curvature
):
    """Lambdas and curvatures of the queries chunk[0] <= q < chunk[1], and their labels by rank.

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
    rows = np.empty((10, space[2].shape[1] + GAP))
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
            _lambdas(setting, discount, key, n, space, rows)
        for p in range(n):
            curvature[lo + order[p]] = rows[1, p] if finite else np.nan
            grad[lo + order[p]] = rows[0, p] if finite else np.nan
