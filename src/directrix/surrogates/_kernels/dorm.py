r"""DORM: the order of the documents that violates the margin most, for a chunk of queries.

With :math:`a_i = g_i / Z_k` the order maximizes

.. math:: \sum_{p \le k} c(p)\,(s_{d(p)} - a_{d(p)}) + \sum_{p > k} c(p)\, s_{d(p)},

which sorting by s - a does if every rank is above the cut-off, since c descends; else `dorm_top` says which
documents are. Gaps between scores that are longer than any order of the documents on either side could make
up for are shortened first: next to scores of 1e30, or with 1e9 added to all, a would be lost.

Documents are taken by label, highest first, and by score within a label: the order that the perfect
ranking has. Only documents that are alike in both depend on the order of the input, and they
share their coefficients.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import GAP, longest_query
from directrix.surrogates._kernels.dorm_top import choose_top
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan

_FAR = 2.0**20  # scores this many times the highest a leave it 32 of its 52 bits


@kernel
def _perfect_order(s, labels, by_label, picked, inside, order):
    """Fill order with the documents by label, ties by score; ``picked`` and ``inside`` are work space."""
    n, begin = len(s), 0
    while begin < n:
        end = begin
        while end < n and labels[by_label[end]] == labels[by_label[begin]]:
            picked[end] = s[by_label[end]]
            end += 1
        descending_order(picked[begin:end], inside[: end - begin])
        for i in range(end - begin):
            order[begin + i] = by_label[begin + inside[i]]
        begin = end


@kernel
def _share_between_alike(s, labels, order, coefficient):
    """Give documents of the same label and score, which are neighbors in order, their mean coefficient."""
    begin, n = 0, len(order)
    while begin < n:
        first, end, total = order[begin], begin + 1, coefficient[begin]
        while end < n and s[order[end]] == s[first] and labels[order[end]] == labels[first]:
            total += coefficient[end]
            end += 1
        for i in range(begin, end):
            coefficient[i] = total / (end - begin)
        begin = end


@kernel
def perfect_query(s, labels, by_label, discount, star, space):
    """Fill star with the coefficient of every document in the perfect order; leaves that order in space."""
    floats, picked, ints = space
    n = len(s)
    order, coefficient = ints[0, :n], floats[0, :n]
    _perfect_order(s, labels, by_label, picked, ints[1], order)
    for p in range(n):
        coefficient[p] = discount[p]
    _share_between_alike(s, labels, order, coefficient)
    for p in range(n):
        star[order[p]] = coefficient[p]


@kernel
def _close_gaps(t, by_score, longest):
    """Shift runs of scores so that no gap between neighbors is longer than that, and the lowest is 0.

    Documents above a gap longer than max(a) c(k)/(c(k) - c(k + 1)), or than max(a) if all ranks are
    above the cut-off, precede those below it in every most violating order: exchanging two that do not would
    gain more than it costs. So these orders are the same for any gap that is longer.
    """
    base = previous = t[by_score[len(t) - 1]]
    height = 0.0  # where base comes to
    for i in by_score[::-1]:
        here = t[i]
        if here - previous > longest:
            height += (previous - base) + longest
            base = here
        previous = here
        t[i] = height + (here - base)


@kernel
def dorm_query(s, labels, worth, by_label, discount, k, star, fixed, grad, space):
    """Value and gradient of one query; 0 if no document has a gain, NaN if a score is not finite.

    Parameters
    ----------
    s : float (n,)              scores
    labels : float64 (n,)       or gains: equal where documents may trade places in the perfect order
    worth : float64 (n,)        gain over the ideal DCG@k
    by_label : int64 (n,)       documents by label, highest first
    discount : float64 (>= n,)  c of ranks 1, 2, ...
    k : int                     cut-off
    star : float64 (n,)         coefficients in the perfect order
    fixed : bool                False: they are written, for the perfect order at these scores
    grad : float (n,)           out, overwritten
    space : tuple               rows of float64, scores, rows of integers
    """
    floats, picked, ints = space
    n, gained = len(s), False
    if not finite_or_nan(s, grad):
        return np.nan
    for i in range(n):
        gained |= worth[i] > 0.0
        grad[i] = s.dtype.type(0.0)
    if not gained:
        return 0.0
    order, worst, by_score = ints[0, :n], ints[1, :n], ints[3, :n]
    t, a, u, coefficient = floats[0, :n], floats[1, :n], floats[2, :n], floats[3, :n]
    if fixed:
        _perfect_order(s, labels, by_label, picked, worst, order)
    else:
        perfect_query(s, labels, by_label, discount, star, space)
    for i in range(n):
        t[i], a[i] = s[order[i]], worth[order[i]]
    highest = a.max()
    if k < n or max(t.max(), -t.min()) > _FAR * highest:
        descending_order(t, by_score)
        falls = k < n and discount[k] < discount[k - 1]  # not where both are 0
        steepest = discount[k - 1] / (discount[k - 1] - discount[k]) if falls else 1.0
        _close_gaps(t, by_score, 2.0 * steepest * highest)
    for i in range(n):
        u[i] = t[i] - a[i]
    if k >= n:
        descending_order(u, worst)
    else:
        starts, levels = ints[2], 0
        for i in range(n):
            if i == 0 or labels[order[i]] != labels[order[i - 1]]:
                starts[levels] = i
                levels += 1
        starts[levels] = n
        choose_top(t, u, starts[: levels + 1], by_score, discount, k, worst)
    value, middle = 0.0, np.float64(s[order[worst[n // 2]]])  # slopes add up to 0: any score can be taken off
    for p in range(n):
        coefficient[worst[p]] = discount[p]
        if p < k:
            value += discount[p] * a[worst[p]]
    _share_between_alike(s, labels, order, coefficient)
    for i in range(n):
        slope = star[order[i]] - coefficient[i]
        value += slope * (s[order[i]] - middle)
        grad[order[i]] = s.dtype.type(slope)
    return value


@kernel
def _space(scores, qptr, first, last):
    n = longest_query(qptr, first, last)
    floats, picked = np.empty((4, n + GAP)), np.empty(n + GAP, dtype=scores.dtype)
    return floats, picked, np.empty((4, n + GAP), dtype=np.int64)


@kernel
def perfect_chunk(scores, labels, by_label, discount, qptr, first, last, star):
    """Fill the coefficients of the perfect order for the documents of queries first <= q < last.

    Arguments as in `dorm_chunk`; ``star`` is written.
    """
    space = _space(scores, qptr, first, last)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        perfect_query(scores[lo:hi], labels[lo:hi], by_label[lo:hi], discount, star[lo:hi], space)


@kernel
def dorm_chunk(k, labels, worth, by_label, discount, star, fixed, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    k : int                        cut-off
    labels : float64 (n_docs,)     or gains: equal where documents may trade places in the perfect order
    worth : float64 (n_docs,)      gain over the query's ideal DCG@k
    by_label : int64 (n_docs,)     of each query its documents, from 0, by label, highest first
    discount : float64 (longest,)  c of ranks 1, 2, ...
    star : float64 (n_docs,)       coefficients of the perfect order; read if ``fixed``
    fixed : bool                   False: the perfect order is the one at these scores
    """
    space = _space(scores, qptr, first, last)
    computed = np.empty(space[0].shape[1])
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        s, y, docs = scores[lo:hi], labels[lo:hi], by_label[lo:hi]
        perfect = star[lo:hi] if fixed else computed[: hi - lo]
        value[q] = dorm_query(s, y, worth[lo:hi], docs, discount, k, perfect, fixed, grad[lo:hi], space)
