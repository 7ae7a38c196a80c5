r"""Which k documents stand above the cut-off in the most violating order of DORM, and in which order.

The order maximises :math:`\sum_{p \le k} c(p) u_{d(p)} + \sum_{p > k} c(p) s_{d(p)}` with u = s - a: once
the first k are known, they are sorted by u and the rest by s. Of two documents of one label, u differs as
s does, so that the better one belongs above: of each label some number is above, from its best down.

Two exact ways, of which the cheaper is taken:

- *counts*: all ways to split k among the labels. With sums of c(p) s over the documents by score, one
  table row for every number of places that they can be shifted by, a split costs O(candidates);
- *assignment*: documents to ranks by shortest augmenting paths (Jonker, Volgenant 1987), with weights
  computed when they are needed. All ranks on one side of the cut-off start from the order that
  sorting gives; the others are added one at a time, O(n^2) each.

Memory O(n) for the second, O(k n) for the first, which is not taken for k > 64.
"""

import numba
import numpy as np

from directrix.surrogates._kernels.sorting import descending_order

_DEEPEST = 64
"""Largest cut-off of `counts`: its table has a row more."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _splits(starts, k, enough):
    """Number of ways to take at most k documents from all levels but the last; any number above enough."""
    ways = np.zeros(k + 1)
    ways[0] = 1.0
    for level in range(len(starts) - 2):
        if ways.sum() > enough:
            break
        most = starts[level + 1] - starts[level]
        for j in range(k, -1, -1):
            total = 0.0
            for x in range(min(j, most) + 1):
                total += ways[j - x]
            ways[j] = total
    return ways.sum()


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _next_split(taken, starts, k):
    """Turn to the next way to take at most k documents from all levels but the last, which fills up.

    False after the last way. ``taken`` starts from zeros.
    """
    last = len(taken) - 1
    for level in range(last):
        taken[level] += 1
        taken[last] -= 1
        if taken[last] >= 0 and taken[level] <= starts[level + 1] - starts[level]:
            return True
        taken[last] += taken[level]
        taken[level] = 0
    return False


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _shifted_sums(t, by_score, discount, k):
    """Row j: sums of c(p + j) s over the first documents by score, p their places in that order."""
    n = len(t)
    sums = np.zeros((k + 1, n + 1))
    for j in range(k + 1):
        row, total = sums[j], 0.0
        for p in range(n - j):
            total += discount[p + j] * t[by_score[p]]
            row[p + 1] = total
    return sums


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _candidates(order, level, inside, k, place):
    """Those of a sorted order that are among the first k of their level, and their places in it."""
    found, count = np.empty(len(order), dtype=np.int64), 0
    for p in range(len(order)):
        if inside[order[p]] < k:
            found[count], place[count] = order[p], p
            count += 1
    return found[:count]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _by_counts(t, u, starts, level, inside, by_score, by_u, discount, k, chosen):
    """Fill ``chosen``, whether a document is above the cut-off, from the best of all splits."""
    n, levels = len(t), len(starts) - 1
    place = np.empty(n, dtype=np.int64)
    above = _candidates(by_u, level, inside, k, place)
    below = _candidates(by_score, level, inside, k, place)
    sums = _shifted_sums(t, by_score, discount, k)
    taken, best_taken, best = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64), -np.inf
    taken[levels - 1] = k
    more = True
    while more:
        if taken[levels - 1] <= starts[levels] - starts[levels - 1]:
            total, p = 0.0, 0
            for i in above:
                if inside[i] < taken[level[i]]:
                    total += discount[p] * u[i]
                    p += 1
            begin, shift = 0, k
            for x in range(len(below)):
                i = below[x]
                if inside[i] < taken[level[i]]:
                    total += sums[shift, place[x]] - sums[shift, begin]
                    begin, shift = place[x] + 1, shift - 1
            total += sums[0, n] - sums[0, begin]
            if total > best:
                best = total
                for m in range(levels):
                    best_taken[m] = taken[m]
        more = _next_split(taken, starts, k)
    for i in range(n):
        chosen[i] = inside[i] < best_taken[level[i]]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add_rank(rank, t, u, discount, k, y, rank_of, work):
    """Give a rank a document, moving others along the cheapest path that ends at one without a rank.

    y are the documents' dual variables: y_i + y_rank >= weight, equal for those that are matched; 0
    for documents without a rank.
    """
    n = len(t)
    far, came, settled = work
    worth = u if rank < k else t
    for i in range(n):
        far[i], came[i], settled[i] = y[i] - discount[rank] * worth[i], -1, False
    while True:
        end = -1
        for i in range(n):
            if not settled[i] and (end < 0 or far[i] < far[end]):
                end = i
        if rank_of[end] < 0:
            break
        settled[end] = True
        worth, c = (u if rank_of[end] < k else t), discount[rank_of[end]]
        base = far[end] + c * worth[end] - y[end]
        for i in range(n):
            if not settled[i]:
                new = base + y[i] - c * worth[i]
                if new < far[i]:
                    far[i], came[i] = new, end
    for i in range(n):
        if settled[i]:
            y[i] += far[end] - far[i]
    while came[end] >= 0:
        rank_of[end] = rank_of[came[end]]
        end = came[end]
    rank_of[end] = rank


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _by_assignment(t, u, by_score, by_u, discount, k, chosen):
    """Fill ``chosen`` from the best assignment of documents to ranks."""
    n = len(t)
    y, rank_of = np.zeros(n), np.full(n, -1)
    work = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    top_first = 2 * k > n
    first, last = (0, k) if top_first else (k, n)
    order, worth = (by_u, u) if top_first else (by_score, t)
    for rank in range(last - 1, first - 1, -1):
        i = order[rank - first]
        rank_of[i] = rank
        if rank + 1 < last:
            after = order[rank - first + 1]
            y[i] = y[after] + discount[rank + 1] * (worth[i] - worth[after])
    for rank in range(n):
        if not first <= rank < last:
            _add_rank(rank, t, u, discount, k, y, rank_of, work)
    for i in range(n):
        chosen[i] = rank_of[i] < k


@numba.njit(nogil=True, cache=True, error_model="numpy")
def splits_are_cheaper(starts, k):
    """Whether to try all splits of k among the levels, by a rough count of operations."""
    n, candidates = starts[-1], 0
    for level in range(len(starts) - 1):
        candidates += min(k, starts[level + 1] - starts[level])
    enough = (0.5 * n * n * min(k, n - k) - n * k) / (2.0 * candidates)
    return k <= _DEEPEST and _splits(starts, k, enough) <= enough


@numba.njit(nogil=True, cache=True, error_model="numpy")
def choose_top(t, u, starts, discount, k, order):
    """Fill order (int64) with the documents of the most violating order.

    Parameters
    ----------
    t : float64 (n,)               scores, by label, highest first, and descending within a label
    u : float64 (n,)               t less the gain over the ideal
    starts : int64 (levels + 1,)   first document of every label; n
    discount : float64 (>= n,)     c of ranks 1, 2, ...
    k : int                        1 <= k < n
    order : int64 (n,)             out
    """
    n, levels = len(t), len(starts) - 1
    level, inside = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for m in range(levels):
        for i in range(starts[m], starts[m + 1]):
            level[i], inside[i] = m, i - starts[m]
    by_score, by_u = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    descending_order(t, by_score)
    descending_order(u, by_u)
    chosen = np.empty(n, dtype=np.bool_)
    if splits_are_cheaper(starts, k):
        _by_counts(t, u, starts, level, inside, by_score, by_u, discount, k, chosen)
    else:
        _by_assignment(t, u, by_score, by_u, discount, k, chosen)
    above, below = 0, k
    for p in range(n):
        if chosen[by_u[p]]:
            order[above] = by_u[p]
            above += 1
        if not chosen[by_score[p]]:
            order[below] = by_score[p]
            below += 1
