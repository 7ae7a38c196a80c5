r"""LambdaRank: lambdas of pairs of the documents of a query, in the order of their ranking.

Let the documents be numbered by rank, a < b. Trading the ranks of a and b changes each measure
here by a product, whose parts take O(1) per pair after O(n) per query:

.. math:: |\Delta(a, b)| = |x_a - x_b|\, (U_a - f_a L_b), \qquad a < b

============ ================== ================================== ========================
measure      x                  U_a                                L_b
============ ================== ================================== ========================
nDCG, P      gain/Z, r/k        D(a)                               D(b)
AP           r/R                (c_a + 1 - r_a)/a - S_a            c_b/b - S_{b-1}
RR           r                  1/a                                1/m if r_b, else 1/min(b, m')
ERR          R                  P_a (1/a - H_{a+1})                P_b (1/b - H_b)
============ ================== ================================== ========================

with c_a relevant documents and S_a the sum of r/rank down to rank a; m and m' the first two
relevant ranks; P_a = prod_{t<a} (1 - R_t) and H_a = R_a/a + (1 - R_a) H_{a+1}, so that P_a H_a is
the part of ERR from rank a on. f_a = 1/(1 - R_a) for ERR, else 1. Beyond the cut-off D and 1/rank
are 0. Only the first ``top`` ranks can be the upper one of a pair that matters.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import GAP, longest_query
from directrix.surrogates._kernels.pair_lambdas import all_pairs, missed_ranks, pull_missed
from directrix.surrogates._kernels.sorting import descending_order

DISCOUNTED, AVERAGE, FIRST, CASCADE = 0, 1, 2, 3
WEIGHT_PAIRS, SPRING, LOCAL_GRADIENT, LOCAL_COST, BOUNDED = 0, 1, 2, 3, 4
ALL, MISRANKED, MISSED, MISSED_LEVEL = 0, 1, 2, 3

_STAYS = 1e-30  # least 1 - R, which rounds to 0 where l_max > 53


@kernel
def exchange(kind, x, discount, depth, upper, lower, factor):
    """Fill U, L and f of the module's table; returns how many ranks can be the upper of a pair.

    Parameters
    ----------
    kind : int                DISCOUNTED, AVERAGE (AP), FIRST (RR), CASCADE (ERR)
    x : float64 (n,)          by rank
    discount : float64 (>=n,) what a rank is worth: D(p) or 1/p, 0 past the cut-off
    depth : int               cut-off
    """
    n = len(x)
    for p in range(n):
        upper[p] = lower[p] = discount[p]
        factor[p] = 1.0
    if kind == AVERAGE:
        hits, passed = 0.0, 0.0
        for p in range(n):
            relevant = 1.0 if x[p] > 0.0 else 0.0
            hits += relevant
            lower[p] = hits * discount[p] - passed
            passed += relevant * discount[p]
            upper[p] = (hits + 1.0 - relevant) * discount[p] - passed
    elif kind == FIRST:
        first, second = n, n
        for p in range(n):
            if x[p] > 0.0:
                if first < n:
                    second = p
                    break
                first = p
        for p in range(n):
            lower[p] = discount[first if x[p] > 0.0 else min(p, second)]
        return min(first + 1, depth) if first < n else 0
    elif kind == CASCADE:
        reach = 1.0
        for p in range(n):
            upper[p] = reach
            reach *= max(1.0 - x[p], _STAYS)
        tail = 0.0
        for p in range(n - 1, -1, -1):
            stays, reach = max(1.0 - x[p], _STAYS), upper[p]
            upper[p] = reach * (discount[p] - tail)
            tail = x[p] * discount[p] + stays * tail
            lower[p] = reach * (discount[p] - tail)
            factor[p] = 1.0 / stays
    return min(n, depth)


@kernel
def _neighbors(construction, margin, misranked, s, x, top, doubles, pull):
    """Forces between neighbors in the ranking: LOCAL_GRADIENT and LOCAL_COST."""
    lower, upper, factor = doubles[2], doubles[1], doubles[3]
    for a in range(min(top, len(x) - 1)):
        d = x[a] - x[a + 1]
        if misranked and d > 0.0:
            continue
        slope = d * (upper[a] - factor[a] * lower[a + 1])
        gap = np.float64(s[a]) - np.float64(s[a + 1])
        if construction == LOCAL_GRADIENT:
            slope /= gap + margin
        else:
            t = math.exp(-gap)
            slope *= (t if d > 0.0 else 1.0) / (1.0 + t)
        pull[a] += slope
        pull[a + 1] -= slope


@kernel
def _to_ideal(x, top, bound, misranked, doubles, ideal, pull):
    """Forces of at most ``bound`` between each document and the one at its ideal rank."""
    lower, upper, factor = doubles[2], doubles[1], doubles[3]
    descending_order(x, ideal)
    for rank in range(len(x)):
        a, b = min(ideal[rank], rank), max(ideal[rank], rank)
        if a < min(top, b) and not (misranked and x[a] > x[b]):
            slope = (x[a] - x[b]) * (upper[a] - factor[a] * lower[b])
            slope = min(max(slope, -bound), bound)
            pull[a] += slope
            pull[b] -= slope


@kernel
def _teaches(misranked, above, below):
    """Whether a pair can have a lambda: different labels, and with ``misranked`` in the wrong order."""
    return above < below if misranked else above != below


@kernel
def _count(construction, which, x, top, doubles, ideal, missed):
    """Pairs with a lambda that is not 0."""
    lower, upper, factor, misranked = doubles[2], doubles[1], doubles[3], which == MISRANKED
    n, pairs = len(x), 0
    if construction == BOUNDED:
        descending_order(x, ideal)
        for rank in range(n):
            a, b = min(ideal[rank], rank), max(ideal[rank], rank)
            # Two documents at each other's ideal ranks are one pair.
            twice = ideal[ideal[rank]] == rank and ideal[rank] < rank
            if a < min(top, b) and not twice:
                pairs += _teaches(misranked, x[a], x[b]) and upper[a] != factor[a] * lower[b]
        return pairs
    for a in range(n if construction == SPRING else top):
        far = n if construction < LOCAL_GRADIENT else min(a + 2, n)
        for b in range(a + 1, far):
            changes = construction == SPRING or upper[a] != factor[a] * lower[b]
            pairs += _teaches(misranked, x[a], x[b]) and changes
    if which >= MISSED:
        found = missed[: missed_ranks(x, top, which == MISSED_LEVEL, ideal, missed)]
        for m in range(len(found)):
            for b in range(top, n):
                pairs += x[found[m]] != x[b]
            for p in range(m):
                pairs -= x[found[m]] != x[found[p]]
    return pairs


@kernel
def scratch(qptr, chunk, like):
    """Work space for the queries of a chunk: floats, float64, integers."""
    n = longest_query(qptr, *chunk)
    return (
        np.empty((5, n + GAP), dtype=like.dtype),
        np.empty((5, n + GAP)),
        np.empty((3, n), dtype=np.int64),
    )


@kernel
def arrange(scores, worth, space):
    """Sort a query; returns whether all scores are finite."""
    _, doubles, integers = space
    order, finite = integers[0], True
    descending_order(scores, order)
    for p in range(len(scores)):
        doubles[0, p], doubles[4, p] = scores[order[p]], worth[order[p]]
        finite &= np.isfinite(scores[p])
    return finite


@kernel
def write_ranking(labels, space, ranking, offset):
    """Write the labels of a query that was arranged, by rank, and where its groups of ties end."""
    grouped, ranked, ends = ranking
    s, order, n = space[1][0], space[2][0], len(labels)
    end = n
    for p in range(n - 1, -1, -1):
        ranked[offset + p] = labels[order[p]]
        if not grouped or p == n - 1 or s[p] != s[p + 1]:
            end = p + 1
        ends[offset + p] = offset + end


@kernel
def _lambdas(spec, unit, discount, n, space):
    """Fill ``floats[4]`` with the sum of the lambdas of each document, by rank."""
    kind, construction, depth, margin, pairs = spec
    floats, doubles, integers = space
    misranked = pairs == MISRANKED
    s, x, lower, pull = doubles[0, :n], doubles[4, :n], doubles[2], floats[4, :n]
    top = exchange(kind, x, discount, depth, doubles[1], lower, doubles[3])
    for p in range(n):
        pull[p] = floats.dtype.type(0.0)
    if LOCAL_GRADIENT <= construction <= LOCAL_COST:
        _neighbors(construction, margin, misranked, s, x, top, doubles, pull)
    elif construction == BOUNDED:
        _to_ideal(x, top, unit, misranked, doubles, integers[1], pull)
    else:
        for p in range(n):
            floats[2, p], floats[3, p] = x[p], lower[p]
        if construction == SPRING:
            all_pairs(s, doubles, n, unit, misranked, floats)
        else:
            all_pairs(s, doubles, top, 0.0, misranked, floats)
        if pairs >= MISSED:
            count = missed_ranks(x, top, pairs == MISSED_LEVEL, integers[1], integers[2])
            pull_missed(integers[2, :count], top, s, x, discount, pull)


@kernel
def lambda_chunk(spec, scores, worth, unit, discount, labels, qptr, chunk, ranking, value, grad):
    """Lambdas of the queries chunk[0] <= q < chunk[1], and their labels by rank.

    Parameters
    ----------
    spec : tuple (int, int, int, float, int)
        kind, construction, cut-off, margin, and which pairs have lambdas.
    scores : float (n_docs,)
    worth : float64 (n_docs,)         x of the module's table
    unit : float64 (n_queries,)       what the measure divides by, inverted: 1/Z, 1/R, 1/k, 1
    discount : float64 (longest,)     D(p) or 1/p, 0 past the cut-off unless pairs are MISSED or MISSED_LEVEL
    labels : float64 (n_docs,)
    qptr : int64 (n_queries + 1,)
    chunk : tuple (int, int)
    ranking : tuple                   whether ties form groups; out, for the chunk: labels by rank, float64,
                                      and ends of groups, int64
    value : float64 (n_queries,)      out; 0, or NaN where a score is not finite
    grad : float (n_docs,)            out; sum of the lambdas of each document
    """
    space, start = scratch(qptr, chunk, scores), qptr[chunk[0]]
    floats, integers = space[0], space[2]
    order, pull = integers[0], floats[4]
    for q in range(chunk[0], chunk[1]):
        lo, n = qptr[q], qptr[q + 1] - qptr[q]
        finite = arrange(scores[lo : lo + n], worth[lo : lo + n], space)
        write_ranking(labels[lo : lo + n], space, ranking, lo - start)
        value[q] = 0.0 if finite else np.nan
        if finite:
            _lambdas(spec, unit[q], discount, n, space)
        for p in range(n):
            grad[lo + order[p]] = pull[p] if finite else floats.dtype.type(np.nan)


@kernel
def count_chunk(spec, scores, worth, discount, qptr, chunk, pairs):
    """Fill ``pairs[q]`` (int64) with the number of pairs with a lambda that is not 0."""
    space = scratch(qptr, chunk, scores)
    doubles, integers = space[1], space[2]
    for q in range(chunk[0], chunk[1]):
        lo, n = qptr[q], qptr[q + 1] - qptr[q]
        arrange(scores[lo : lo + n], worth[lo : lo + n], space)
        x = doubles[4, :n]
        top = exchange(spec[0], x, discount, spec[2], doubles[1], doubles[2], doubles[3])
        pairs[q] = _count(spec[1], spec[4], x, top, doubles, integers[1], integers[2])
