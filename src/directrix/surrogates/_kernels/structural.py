r"""The ranking that violates its margin most, where rankings are told apart by pairs of documents.

A query has R relevant documents in descending order of their scores x, and N irrelevant ones in
descending order of theirs, z. A ranking of them is how many relevant documents, :math:`b_j`, are above the
j-th irrelevant one. Its loss is of the form

.. math:: \Delta = \sum_{k < R} g_k\, [D(k) - D(k + m_k)], \qquad m_k = \#\{j: b_j \le k\},

with D decreasing and convex (all indices here start at 0: D(p) is for the document with p others above it).
That is

======== =============== ============
measure  :math:`g_k`     D(p)
======== =============== ============
AP       (k + 1)/R       1/(p + 1)
nDCG     gain/Z          1/log2(p + 2)
RR       1, 0, 0, ...    1/(p + 1)
ROC area 1/(R N)         -p
======== =============== ============

Together with the margin, each pair in the wrong order adds one term:

.. math:: \text{hinge} = \max_b \sum_j \sum_{k \ge b_j} \delta_j(k), \qquad
          \delta_j(k) = g_k\, [D(k + j) - D(k + j + 1)] - 2c\, (x_k - z_j).

:math:`\delta_j(k)` decreases in j, since D is convex and z descends (Yue et al. 2007, Lemma 1). So the best
:math:`b_j`, each taken alone, ascend in j (their Theorem 2), and are a ranking.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan


@kernel
def best_above(j, lowest, highest, x, z, gains, discount, twice):
    """Best number of relevant documents above the j-th irrelevant one, in lowest..highest.

    The highest of several: then fewest pairs are in the wrong order.
    """
    since, above = 0.0, highest  # what came since the best: the best itself, if it is huge, does not drown it
    for k in range(highest - 1, lowest - 1, -1):
        since += gains[k] * (discount[k + j] - discount[k + j + 1]) - twice * (x[k] - z[j])
        if since > 0.0:
            since, above = 0.0, k
    return above


@kernel
def most_violated(x, z, gains, discount, twice, above):
    """Fill ``above[j]``, the number of relevant documents above the j-th irrelevant one.

    Parameters
    ----------
    x : float64 (R,)             scores of the relevant documents, descending
    z : float64 (N,)             scores of the irrelevant ones, descending
    gains : float64 (>= R,)      g of the module's table
    discount : float64 (>= R + N,)  D of the module's table
    twice : float                2c, cost of one unit of score for a pair in the wrong order
    above : int64 (N,)           out, ascending

    Notes
    -----
    Every 2^t-th document is placed between its neighbors among every 2^(t+1)-th, for t falling to 0.
    What the documents of one t can choose from adds up to R: O(N + R log N).
    """
    n, step = len(z), 1
    while step <= n:
        step *= 2
    while step >= 1:
        for j in range(step - 1, n, 2 * step):
            lowest = above[j - step] if j >= step else 0
            highest = above[j + step] if j + step < n else len(x)
            above[j] = best_above(j, lowest, highest, x, z, gains, discount, twice)
        step //= 2


@kernel
def _hinge(x, z, gains, discount, twice, above, passed):
    """Value of the maximum; fills ``passed[k]``, the irrelevant documents above the k-th relevant one.

    Differences of scores are added up going up the irrelevant documents, so that scores that are large
    but close together do not cancel.
    """
    n_relevant, n, j, loss = len(x), len(z), 0, 0.0
    for k in range(n_relevant):
        while j < n and above[j] <= k:
            j += 1
        passed[k] = j
        loss += gains[k] * (discount[k] - discount[k + j])
    margin, row, k = 0.0, 0.0, n_relevant
    for j in range(n - 1, -1, -1):
        if k < n_relevant:
            row -= (n_relevant - k) * (z[j] - z[j + 1])
        while k > above[j]:
            k -= 1
            row += x[k] - z[j]
        margin += row
    return max(loss - twice * margin, 0.0)


@kernel
def _spread(scores, count, index, factor, grad):
    """Give every document factor x count, and tied ones their mean, so that their order does not matter."""
    n, start = len(scores), 0
    while start < n:
        end, total = start, 0
        while end < n and scores[end] == scores[start]:
            total += count[end]
            end += 1
        share = grad.dtype.type(factor * (total / (end - start)) + 0.0)  # 0, not -0
        for i in range(start, end):
            grad[index[i]] = share
        start = end


@kernel
def _query(s, relevant, gains, discount, twice, grad, floats, integers):
    """Hinge of one query, without what all rankings lose; fills its gradient, with the sign turned."""
    n = len(s)
    if not finite_or_nan(s, grad):
        return np.nan
    order, index, passed = integers[0, :n], integers[1], integers[3]
    descending_order(s, order)
    n_relevant = 0
    for i in range(n):
        n_relevant += relevant[i]
    k, j = 0, n_relevant
    for p in range(n):
        i = order[p]
        place = k if relevant[i] else j
        floats[place], index[place] = s[i], i
        k += relevant[i]
        j += 1 - relevant[i]
    x, z, above = floats[:n_relevant], floats[n_relevant:n], integers[2, : n - n_relevant]
    most_violated(x, z, gains, discount, twice, above)
    hinge = _hinge(x, z, gains, discount, twice, above, passed)
    for j in range(n - n_relevant):
        above[j] = n_relevant - above[j]
    _spread(x, passed, index[:n_relevant], twice, grad)
    _spread(z, above, index[n_relevant:n], -twice, grad)
    return hinge


@kernel
def interleave_chunk(relevant, gains, discount, twice, perfect, scores, qptr, first, last, value, grad):
    """Fill ``value[q]``, perfect - hinge, and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    relevant : int64 (n_docs,)        0 or 1
    gains : float64 (n_docs,)         g of the module's table, from each query's start
    discount : float64 (longest,)     D of the module's table
    twice : float64 (n_queries,)      2c
    perfect : float64 (n_queries,)    value where no pair is in the wrong order

    Notes
    -----
    Sorting, then O(n + R log n) per query; O(n) memory.
    """
    n = longest_query(qptr, first, last)
    floats, integers = np.empty(n), np.empty((4, n), dtype=np.int64)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        hinge = _query(
            scores[lo:hi], relevant[lo:hi], gains[lo:hi], discount, twice[q], grad[lo:hi], floats, integers
        )
        value[q] = perfect[q] - hinge
