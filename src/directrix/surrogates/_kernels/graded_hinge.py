"""Linear hinges of pairs of documents, with a cost for each pair of grades: IR-SVM's loss."""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query
from directrix.surrogates._kernels.pairwise import by_level
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan


@kernel
def _hinges(high, low, cost, pull_high, pull_low):
    """Cost times the sum of max(0, 1 - (high_i - low_j)); subtracts its gradient from both pulls.

    Both are in descending order, so that going down ``high`` active pairs only come, and sums only grow.
    """
    total, once, active = 0.0, 0.0, 0
    for i in range(len(high)):
        if i > 0:
            once += active * (high[i - 1] - high[i])
        while active < len(low) and 1.0 - (high[i] - low[active]) > 0.0:
            once += 1.0 - (high[i] - low[active])
            pull_low[active] -= cost * (len(high) - i)  # it stays active for all that follow
            active += 1
        total += once
        pull_high[i] += cost * active
    return cost * total


@kernel
def _query(s, grade, share, costs, grad, floats, integers):
    """Minus the mean cost of one query."""
    n, total = len(s), 0.0
    if not finite_or_nan(s, grad):
        return np.nan
    x, pull = floats[0], floats[1]
    order, index, starts = integers[0], integers[1], integers[2]
    descending_order(s, order[:n])
    levels = by_level(order[:n], grade, starts, index)
    for i in range(n):
        x[i], pull[i] = np.float64(s[index[i]]), 0.0
    for a in range(levels):
        lo, hi = starts[a], starts[a + 1]
        for b in range(a if hi > lo else 0):
            first, last = starts[b], starts[b + 1]
            if last > first and costs[a, b] > 0.0:
                total += _hinges(x[lo:hi], x[first:last], costs[a, b], pull[lo:hi], pull[first:last])
    for i in range(n):
        grad[index[i]] = grad.dtype.type(share * pull[i])
    return -share * total


@kernel
def graded_hinge_chunk(grades, shares, costs, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    grades : int64 (n_docs,)               number of the label among all that have costs, lowest first
    shares : float64 (n_queries,)          1 / number of pairs, 0 if there is none
    costs : float64 (n_grades, n_grades)   of a pair of a higher (row) and a lower grade

    Notes
    -----
    Sorting, then O(L n) for L grades in the query.
    """
    n = max(longest_query(qptr, first, last), len(costs))
    floats, integers = np.empty((2, n)), np.empty((3, n + 1), dtype=np.int64)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        value[q] = _query(scores[lo:hi], grades[lo:hi], shares[q], costs, grad[lo:hi], floats, integers)
