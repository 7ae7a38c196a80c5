r"""Which k documents are above the cut-off in the most violating order of DORM, and in which order.

The order maximizes :math:`\sum_{p \le k} c(p) u_{d(p)} + \sum_{p > k} c(p) s_{d(p)}` with u = s - a: once
the first k are known, they are sorted by u and the rest by s. Of two documents of one label, u differs as
s does, so that the better one belongs above: of each label some number is above, from its best down.

The ranks 1..k are added one at a time to the others, k + 1..n, which start sorted by s with the k worst
documents left out. A rank that is added changes the optimum along the path of most gain from it to a
document left out (shortest augmenting paths). Two ways to find such a path, of which the cheaper is taken:

- over *levels*, O(n + L^2) for L labels and each rank, as long as paths have few levels. On either side,
  documents between one that comes and one that goes move by one rank, whose gain prefix sums tell in O(1);
  and of a label only the best document below can rise, only the worst above can fall. Bellman and Ford on
  that graph;
- over *documents* (Jonker, Volgenant 1987), O(n^2) each, with weights computed when they are needed. Here the
  longer one of the two sides of the cut-off starts sorted.

Memory O(n) for both.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.sorting import descending_order

_PAIRS_OF_LEVELS = 64**2  # whose gains are kept, if they are not fewer than documents
_ROUNDING = 1e-14
"""Of sums over documents, relative to the sum of their magnitudes: smaller gains count as none."""


@kernel
def _side(order, chosen, wanted, worth, c, length, place, sums):
    """Lay out one side of the cut-off: places of all documents in it, and prefix sums for shifts.

    Parameters
    ----------
    order : int64 (n,)          documents sorted for this side
    chosen : bool (n,)          whether a document is above
    wanted : bool               the side: True is above
    worth : float64 (n,)        what the side's ranks multiply with c
    c : float64 (>= length,)    of the side's ranks
    length : int                ranks on this side; documents beyond are left out
    place : int64 (n,)          out: number of the side's documents before this one
    sums : float64 (3, n + 2)   out: of c worth over the first documents at their rank, one up, one down
    """
    count = 0
    for i in order:
        place[i] = count
        if chosen[i] == wanted:
            w = worth[i]
            sums[0, count + 1] = sums[0, count] + (c[count] * w if count < length else 0.0)
            sums[1, count + 1] = sums[1, count] + (c[count - 1] * w if 0 < count <= length else 0.0)
            sums[2, count + 1] = sums[2, count] + (c[count + 1] * w if count + 1 < length else 0.0)
            count += 1


@kernel
def _exchange(sums, c, gone, lost, come, won):
    """Gain of a side when the document at place ``gone`` goes and one comes before place ``come``."""
    if come <= gone:
        moved = sums[2, gone] - sums[2, come] - sums[0, gone] + sums[0, come]
        return c[come] * won - c[gone] * lost + moved
    moved = sums[1, come] - sums[1, gone + 1] - sums[0, come] + sums[0, gone + 1]
    return c[come - 1] * won - c[gone] * lost + moved


@kernel
def _relax(source, target, swaps, before, least):
    """Improve ``target`` by ``source`` and one swap, by ``least`` or more; return whether it improved."""
    improved = False
    for v in range(len(target)):
        for w in range(len(source)):
            if source[w] + swaps[w, v] > target[v] + least:
                target[v], before[v], improved = source[w] + swaps[w, v], w, True
    return improved


@kernel
def _gains(t, u, c, k, j, rising, falling, sides):
    """Gains of all single moves; -inf for moves that do not exist.

    Returns
    -------
    enter : float64 (L,)        the document ``rising`` of a level takes part in the ranks 1..j + 1
    leave : float64 (L,)        it is gone from below, and the best document left out fills up
    below : float64 (L, L)      it is gone from below, ``falling`` of the second level comes
    above : float64 (L, L)      ``falling`` of the first level goes from above, ``rising`` of the second comes
    """
    levels, length = len(rising), len(t) - k
    place_above, sums_above, place_below, sums_below = sides
    rest = c[k:]
    enter, leave = np.full(levels, -np.inf), np.full(levels, -np.inf)
    below, above = np.full((levels, levels), -np.inf), np.full((levels, levels), -np.inf)
    for m in range(levels):
        i = rising[m]
        if i < 0:
            continue
        h, q = place_above[i], place_below[i]
        pushed = sums_above[2, j] - sums_above[2, h] - sums_above[0, j] + sums_above[0, h]
        enter[m], leave[m] = c[h] * u[i] + pushed, 0.0
        if q < length:
            pulled = sums_below[1, length + 1] - sums_below[1, q + 1]
            leave[m] = pulled - sums_below[0, length] + sums_below[0, q + 1] - rest[q] * t[i]
        for other in range(levels):
            f = falling[other]
            if f >= 0 and other != m:
                above[other, m] = _exchange(sums_above, c, place_above[f], u[f], h, u[i])
                if q < length:
                    come = min(place_below[f], length)
                    below[m, other] = _exchange(sums_below, rest, q, t[i], come, t[f])
    return enter, leave, below, above


@kernel
def _add_rank_by_levels(gains, least, taken):
    """Follow the path of most gain: changes ``taken``, the number above of each level; returns its gain.

    Of paths of equal gain it is one with the fewest levels: only those are sure to use no document twice.
    """
    enter, leave, below, above = gains
    levels = len(taken)
    risen, fallen = enter.copy(), np.full(levels, -np.inf)
    after_fall, after_rise = np.full(levels, -1), np.full(levels, -1)
    end = -1
    for _ in range(levels):
        for m in range(levels):
            if risen[m] > -np.inf and (end < 0 or risen[m] + leave[m] > risen[end] + leave[end] + least):
                end = m
        _relax(risen, fallen, below, after_rise, least)
        if not _relax(fallen, risen, above, after_fall, least):
            break
    gain, m = risen[end] + leave[end], end
    for _ in range(levels):
        taken[m] += 1
        if after_fall[m] < 0:
            return gain
        taken[after_fall[m]] -= 1
        m = after_rise[after_fall[m]]
    return np.inf  # a cycle, made of rounding: the caller sees that the gain did not come


@kernel
def _by_levels(t, u, starts, by_score, by_u, c, k, chosen):
    """Fill ``chosen``, whether a document is above the cut-off; False if rounding spoiled the path.

    That the value after every rank is the one that the longest path promised proves the optimum.
    """
    n, levels = len(t), len(starts) - 1
    taken = np.zeros(levels, dtype=np.int64)
    rising, falling = np.empty(levels, dtype=np.int64), np.empty(levels, dtype=np.int64)
    sides = (
        np.empty(n, dtype=np.int64),
        np.zeros((3, n + 2)),
        np.empty(n, dtype=np.int64),
        np.zeros((3, n + 2)),
    )
    least, promised = 1.0, -np.inf
    for p in range(n):
        least += c[p] * abs(t[by_score[p]])
    least *= _ROUNDING
    for j in range(k + 1):
        for m in range(levels):
            first, last = starts[m], starts[m + 1]
            rising[m] = first + taken[m] if first + taken[m] < last else -1
            falling[m] = first + taken[m] - 1 if taken[m] > 0 else -1
            for i in range(first, last):
                chosen[i] = i < first + taken[m]
        _side(by_u, chosen, True, u, c, j + 1, sides[0], sides[1])
        _side(by_score, chosen, False, t, c[k:], n - k, sides[2], sides[3])
        value = sides[1][0, j] + sides[3][0, n - k]
        if value < promised - 8.0 * least:
            return False
        if j < k:
            gains = _gains(t, u, c, k, j, rising, falling, sides)
            promised = value + _add_rank_by_levels(gains, least, taken)
    return True


@kernel
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


@kernel
def _by_documents(t, u, by_score, by_u, discount, k, chosen):
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


@kernel
def levels_are_cheaper(n, levels, k):
    """Whether to look for paths over levels, by a rough count of operations, and in memory O(n)."""
    return levels * levels <= max(_PAIRS_OF_LEVELS, n) and k * (
        4.0 * n + 20.0 * levels * levels
    ) <= 0.5 * n * n * min(k, n - k)


@kernel
def choose_top(t, u, starts, by_score, discount, k, order):
    """Fill order (int64) with the documents of the most violating order.

    Parameters
    ----------
    t : float64 (n,)               scores, by label, highest first, and descending within a label
    u : float64 (n,)               t less the gain over the ideal
    starts : int64 (levels + 1,)   first document of every label; n
    by_score : int64 (n,)          documents by descending t
    discount : float64 (>= n,)     c of ranks 1, 2, ...
    k : int                        1 <= k < n
    order : int64 (n,)             out
    """
    n, done = len(t), False
    by_u = np.empty(n, dtype=np.int64)
    descending_order(u, by_u)
    chosen = np.empty(n, dtype=np.bool_)
    if levels_are_cheaper(n, len(starts) - 1, k):
        done = _by_levels(t, u, starts, by_score, by_u, discount, k, chosen)
    if not done:
        _by_documents(t, u, by_score, by_u, discount, k, chosen)
    above, below = 0, k
    for p in range(n):
        if chosen[by_u[p]]:
            order[above] = by_u[p]
            above += 1
        if not chosen[by_score[p]]:
            order[below] = by_score[p]
            below += 1
