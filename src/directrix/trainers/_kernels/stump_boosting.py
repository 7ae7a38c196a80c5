"""Pairs of documents of different labels, for boosting with stumps.

Documents of a query are ordered by descending label, as in
`directrix.trainers.stump_boosting.LabelPairs`: the worse partners of document i are
``lower[i] <= j < end of its query``, the better ones come before ``first[i]``. Scores are centered within
each query.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST


@kernel
def exponential_potentials(scores, qptr, first_query, last_query, first, lower, weight, pull, loss):
    r"""Exponential loss of all pairs, and their pull on each document.

    With :math:`e_i = e^{s_i}` and the weight c_i of the pairs in which i is the better one,

    .. math:: L = \sum_{l_i > l_j} c_i e_j / e_i, \qquad
              \pi_i = \frac{c_i}{e_i} \sum_{l_j < l_i} e_j - e_i \sum_{l_j > l_i} \frac{c_j}{e_j}

    Two passes over running sums: O(n), no pairs.

    Parameters
    ----------
    pull : float64 (n_docs,)           out
    loss : float64 (n_queries,)        out
    """
    for q in range(first_query, last_query):
        lo, hi = qptr[q], qptr[q + 1]
        total, better, waiting = 0.0, 0.0, 0.0
        for i in range(lo, hi):
            if i == lo or first[i] != first[i - 1]:
                better += waiting
                waiting = 0.0
            pull[i] = -math.exp(scores[i]) * better
            waiting += weight[i] * math.exp(-scores[i])
        worse, waiting = 0.0, 0.0
        for i in range(hi - 1, lo - 1, -1):
            if i == hi - 1 or lower[i] != lower[i + 1]:
                worse += waiting
                waiting = 0.0
            part = weight[i] * math.exp(-scores[i]) * worse
            pull[i] += part
            total += part
            waiting += math.exp(scores[i])
        loss[q] = total


@kernel
def add_to_stairs(bins, first_feature, last_feature, ptr, pull, mass):
    """Fill, for every stair of features first to last, the pull of the documents on it."""
    for f in range(first_feature, last_feature):
        stairs = mass[ptr[f] + f : ptr[f + 1] + f + 1]
        for t in range(len(stairs)):
            stairs[t] = 0.0
        row = bins[f]
        for i in range(len(row)):
            stairs[row[i]] += pull[i]


@kernel(fastmath=FAST)
def _fidelity_of_one(falls, rises):
    """Sum of 1 - sqrt(1 / (1 + e)), e = falls * rises_j."""
    total = 0.0
    for j in range(len(rises)):
        total += 1.0 - math.sqrt(1.0 / (1.0 + falls * rises[j]))
    return total


@kernel
def fidelity(scores, qptr, first_query, last_query, lower, weight, loss):
    """Fill the fidelity loss of every query: sum over pairs of c_i (1 - sqrt(P_ij))."""
    for q in range(first_query, last_query):
        lo, hi = qptr[q], qptr[q + 1]
        rises = np.empty(hi - lo)
        for i in range(lo, hi):
            rises[i - lo] = math.exp(scores[i])
        total = 0.0
        for i in range(lo, hi):
            if lower[i] < hi:
                total += weight[i] * _fidelity_of_one(math.exp(-scores[i]), rises[lower[i] - lo :])
        loss[q] = total


@kernel
def fidelity_potentials(scores, qptr, first_query, last_query, lower, weight, bins, start, pull, cut):
    r"""Pairs' weights under the fidelity loss, summed by document and by the thresholds between a pair.

    .. math:: W_{ij} = c_i \frac{e^{-o}}{(1 + e^{-o})^{3/2}} = c_i (1 - P) \sqrt P, \qquad o = s_i - s_j

    Parameters
    ----------
    bins : uint (n_docs, n_features)       thresholds below each value
    start : int64 (n_features,)            where a feature's stairs begin in ``cut``
    pull : float64 (n_docs,)               out; sum of W over pairs won minus those lost
    cut : float64 (n_stairs,)              in, out; running sums: W of the pairs that a threshold separates
    """
    n_features = bins.shape[1]
    for q in range(first_query, last_query):
        lo, hi = qptr[q], qptr[q + 1]
        for i in range(lo, hi):
            pull[i] = 0.0
        for i in range(lo, hi):
            for j in range(lower[i], hi):
                p = 1.0 / (1.0 + math.exp(scores[j] - scores[i]))
                w = weight[i] * (1.0 - p) * math.sqrt(p)
                pull[i] += w
                pull[j] -= w
                left, right = bins[i], bins[j]
                for f in range(n_features):
                    a, b = np.int64(left[f]), np.int64(right[f])
                    cut[start[f] + min(a, b)] += w
                    cut[start[f] + max(a, b)] -= w
