r"""Losses over pairs of documents of different labels: RankSVM's and RankNet's.

Both take the documents of a query by level, that is by rank of the label, lowest first.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST, GAP, longest_query
from directrix.surrogates._kernels.sigmoids import exponentials
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan

_WIDEST = 160.0
"""Range of scores over which four factors 1 + e^z still have a product that is a float64."""


@kernel
def by_level(order, level, starts, index):
    """Fill index with the documents in this order, but lower levels first; return how many levels."""
    n, n_levels = len(order), 0
    for i in range(n):
        n_levels = max(n_levels, level[i] + 1)
    for i in range(n_levels + 1):
        starts[i] = 0
    for i in range(n):
        starts[level[i] + 1] += 1
    for i in range(n_levels):
        starts[i + 1] += starts[i]
    for i in range(n):
        here = level[order[i]]
        index[starts[here]] = order[i]
        starts[here] += 1
    for i in range(n_levels, 0, -1):
        starts[i] = starts[i - 1]
    starts[0] = 0
    return n_levels


# --------------------------------------------------------------------------------- RankSVM


@kernel
def _hinges(x, weight, middle, pull):
    """Sum of w_i max(0, 1 - (x_i - x_j))^2 over j < middle <= i; subtracts its gradient from pull.

    Both parts are in descending order. Going down the x_i, the sums over the pairs that are
    active only grow, by what is >= 0: nothing cancels. Likewise going up the x_j.
    """
    n = len(x)
    total, count, once, twice, j = 0.0, 0, 0.0, 0.0, 0
    for i in range(middle, n):
        if count > 0:
            down = x[i - 1] - x[i]
            twice += down * (2.0 * once + count * down)
            once += count * down
        while j < middle and 1.0 - (x[i] - x[j]) > 0.0:
            hinge = 1.0 - (x[i] - x[j])
            once += hinge
            twice += hinge * hinge
            count += 1
            j += 1
        total += weight[i] * twice
        pull[i] += 2.0 * weight[i] * once
    weights, once, i = 0.0, 0.0, n - 1
    for j in range(middle - 1, -1, -1):
        if weights > 0.0:
            once += weights * (x[j] - x[j + 1])
        while i >= middle and 1.0 - (x[i] - x[j]) > 0.0:
            once += weight[i] * (1.0 - (x[i] - x[j]))
            weights += weight[i]
            i -= 1
        pull[j] -= 2.0 * once
    return total


@kernel
def _merge(x, pull, weight, index, middle, x2, pull2, weight2, index2):
    """Merge two parts in descending order into one."""
    n, i, j = len(x), 0, middle
    for place in range(n):
        if j == n or (i < middle and x[i] >= x[j]):
            x2[place], pull2[place], weight2[place], index2[place] = x[i], pull[i], weight[i], index[i]
            i += 1
        else:
            x2[place], pull2[place], weight2[place], index2[place] = x[j], pull[j], weight[j], index[j]
            j += 1
    for place in range(n):
        x[place], pull[place], weight[place], index[place] = (
            x2[place],
            pull2[place],
            weight2[place],
            index2[place],
        )


@kernel
def _svm_query(s, level, weights, share, grad, floats, integers):
    """Minus the mean squared hinge of one query."""
    n = len(s)
    if not finite_or_nan(s, grad):
        return np.nan
    x, pull, x2, pull2, weight, weight2 = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    order, index, index2, starts = integers[0], integers[1], integers[2], integers[3]
    descending_order(s, order[:n])
    blocks = by_level(order[:n], level, starts, index)
    for i in range(n):
        x[i], pull[i], weight[i] = np.float64(s[index[i]]), 0.0, weights[index[i]]
    total = 0.0
    # Neighbors first, then runs of two levels, of four ...: each pair of levels meets once.
    while blocks > 1:
        n_merged = 0
        for block in range(0, blocks, 2):
            lo = starts[block]
            if block + 1 < blocks:
                middle, hi = starts[block + 1] - lo, starts[block + 2]
                of = x[lo:hi], pull[lo:hi], weight[lo:hi], index[lo:hi]
                total += _hinges(of[0], of[2], middle, of[1])
                _merge(of[0], of[1], of[2], of[3], middle, x2, pull2, weight2, index2)
            starts[n_merged] = lo
            n_merged += 1
        starts[n_merged] = n
        blocks = n_merged
    for i in range(n):
        grad[index[i]] = grad.dtype.type(share * pull[i])
    return -share * total


@kernel
def rank_svm_chunk(levels, weights, shares, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    levels : int64 (n_docs,)        rank of the label in its query, from 0
    weights : float64 (n_docs,)     of the documents: factors on pairs in which one is the better
    shares : float64 (n_queries,)   1 / number of pairs, 0 if there is none

    Notes
    -----
    Sorting, then O(n log(number of levels)) per query.
    """
    n = longest_query(qptr, first, last)
    floats, integers = np.empty((6, n)), np.empty((4, n + 1), dtype=np.int64)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        of = scores[lo:hi], levels[lo:hi], weights[lo:hi]
        value[q] = _svm_query(of[0], of[1], of[2], shares[q], grad[lo:hi], floats, integers)


# --------------------------------------------------------------------------------- RankNet


@kernel(fastmath=FAST)
def _logistic_rows(f0, f1, f2, f3, e, product, power, pull):
    """Take four documents against all those of lower levels; return the four sums of p.

    With t = 1 + f e of a pair, p = 1 - 1/t is the slope of log t. The four t of a column share
    one division, and their logarithms wait in ``product``, of which only the mantissa is kept:
    the sum of the logarithms of a column is log(product) + power log(2).
    """
    bits = product.view(np.int64)
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(len(e)):
        x0, x1, x2, x3 = f0 * e[j], f1 * e[j], f2 * e[j], f3 * e[j]
        t0, t1, t2, t3 = 1.0 + x0, 1.0 + x1, 1.0 + x2, 1.0 + x3
        low, high = t0 * t1, t2 * t3
        four = low * high
        inverse = 1.0 / four
        a, b = inverse * high, inverse * low
        p0, p1, p2, p3 = x0 * (a * t1), x1 * (a * t0), x2 * (b * t3), x3 * (b * t2)
        s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
        pull[j] -= (p0 + p1) + (p2 + p3)
        product[j] *= four
        power[j] += (bits[j] >> np.int64(52)) - np.int64(1023)
        bits[j] = (bits[j] & np.int64(0x000FFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000)
    return s0, s1, s2, s3


@kernel
def _near_pairs(x, starts, n_levels, middle, floats, pull):
    """Sum of log(1 + exp(x_j - x_i)) for scores that span at most `_WIDEST`."""
    n = len(x)
    e, inverse, product = floats[2, :n], floats[3, :n], floats[4, :n]
    power = floats[5, :n].view(np.int64)
    exponentials(x, middle, 1.0, e, inverse)
    for j in range(n):
        product[j], power[j] = 1.0, 0
    for here in range(1, n_levels):
        below, end = starts[here], starts[here + 1]
        for i in range(below, end, 4):
            f0, f1 = inverse[i], inverse[i + 1] if i + 1 < end else 0.0
            f2, f3 = inverse[i + 2] if i + 2 < end else 0.0, inverse[i + 3] if i + 3 < end else 0.0
            s0, s1, s2, s3 = _logistic_rows(
                f0, f1, f2, f3, e[:below], product[:below], power[:below], pull[:below]
            )
            pull[i] += s0
            if i + 1 < end:
                pull[i + 1] += s1
            if i + 2 < end:
                pull[i + 2] += s2
            if i + 3 < end:
                pull[i + 3] += s3
    total = 0.0
    for j in range(starts[n_levels - 1]):
        total += math.log(product[j]) + 0.6931471805599453 * power[j]
    return total


@kernel
def _far_pairs(x, weight, starts, n_levels, pull):
    """The same for any scores and weights of the better documents, with a logarithm per pair."""
    total = 0.0
    for here in range(1, n_levels):
        below = starts[here]
        for i in range(below, starts[here + 1]):
            for j in range(below):
                z = x[j] - x[i]
                e = math.exp(-abs(z))
                total += weight[i] * (math.log1p(e) + max(z, 0.0))
                p = weight[i] * ((1.0 if z > 0.0 else e) / (1.0 + e))
                pull[i] += p
                pull[j] -= p
    return total


@kernel
def _net_query(s, level, weights, share, grad, floats, integers):
    """Minus the mean cross entropy of one query."""
    n = len(s)
    if not finite_or_nan(s, grad):
        return np.nan
    x, pull, weight = floats[0, :n], floats[1, :n], floats[6, :n]
    order, index, starts = integers[0, :n], integers[1], integers[2]
    for i in range(n):
        order[i] = i
    n_levels = by_level(order, level, starts, index)
    low, high, alike = np.inf, -np.inf, True
    for i in range(n):
        x[i], pull[i], weight[i] = np.float64(s[index[i]]), 0.0, weights[index[i]]
        low, high = min(low, x[i]), max(high, x[i])
        alike &= weight[i] == 1.0
    if alike and high - low <= _WIDEST:
        total = _near_pairs(x, starts, n_levels, 0.5 * (low + high), floats, pull)
    else:
        total = _far_pairs(x, weight, starts, n_levels, pull)
    for i in range(n):
        grad[index[i]] = grad.dtype.type(share * pull[i])
    return -share * total


@kernel
def rank_net_chunk(levels, weights, shares, scores, qptr, first, last, value, grad):
    """Same as `rank_svm_chunk` for RankNet: O(number of pairs), a quarter of a division for each."""
    n = longest_query(qptr, first, last)
    floats, integers = np.empty((7, n + GAP)), np.empty((3, n + 1), dtype=np.int64)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        if hi > lo:
            of = scores[lo:hi], levels[lo:hi], weights[lo:hi]
            value[q] = _net_query(of[0], of[1], of[2], shares[q], grad[lo:hi], floats, integers)
        else:
            value[q] = 0.0
