"""Measures along a line of scores: every change of order, in order, and what it changes."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.cascade import add_to_group
from directrix.measures._kernels.order import descending_key, sort_pairs

DISCOUNTED, PRECISION, FIRST_HIT, CASCADE, PAIRS = range(5)
"""Forms of measures, in the order of `directrix.measures.terms.FORMS`; `_earned` says what a group earns."""

_BITS = 32  # a pair of groups is one integer, with the second in these bits
_SECOND = (1 << _BITS) - 1


@kernel
def _earned(family, size, worth, before, above, k, table, passed, start):
    """Expected value that a group of tied documents adds when ``before`` documents precede it.

    ``above`` is the worth of those together: their sum of relevance, or for the cascade the
    logarithm of the chance to get past them (chances of long lists are too small for a float).
    ``table[p]`` is the sum of the discounts of the ranks 1..p. The chances of the group begin at
    ``passed[start]``: a slice of its own would cost more than the formula.
    """
    if family == PAIRS:
        return -worth * (before - above + 0.5 * (size - worth))
    if before >= k:
        return 0.0
    end = min(before + size, k)
    if family == DISCOUNTED:
        return worth / size * (table[end] - table[before])
    if family == PRECISION:
        step = (worth - 1.0) / max(size - 1.0, 1.0)
        reciprocals = table[end] - table[before]
        return worth / size * ((above + 1.0 - (before + 1.0) * step) * reciprocals + step * (end - before))
    total = 0.0
    if family == CASCADE:
        for t in range(end - before):
            total += (passed[start + t] - passed[start + t + 1]) * (table[before + t + 1] - table[before + t])
        return math.exp(above) * total
    if above > 0.0:
        return 0.0
    none_yet = 1.0
    for t in range(min(size - np.int64(worth) + 1, end - before)):
        total += none_yet * worth / (size - t) * (table[before + t + 1] - table[before + t])
        none_yet *= (size - worth - t) / (size - t)
    return total


@kernel
def chances(stop, gptr, dptr, passed):
    """Fill, for each group, the expected chance to get past its first t documents, t = 0, 1, ...

    Group g owns the documents ``gptr[g] <= i < gptr[g + 1]`` of ``stop`` and, from ``dptr[g]``,
    as many places of ``passed`` as are needed, at most size + 1.
    See `add_to_group` for the recursion.
    """
    for g in range(len(gptr) - 1):
        q = passed[dptr[g] : dptr[g + 1]]
        for t in range(len(q)):
            q[t] = 0.0
        q[0] = 1.0
        for j in range(gptr[g + 1] - gptr[g]):
            add_to_group(q, j, 1.0 - stop[gptr[g] + j])


@kernel
def _pass_by(s, u, size, worth, factor, before, above, lower):
    """Let the groups of one query that change places at t < lower do so, in any order.

    The loop is that of `_crossings`; a function called for each pair would take several times as long.
    """
    n = len(s)
    for e in range(n):
        if worth[e] == 0.0:
            continue
        for g in range(n):
            if u[g] == u[e] or (g < e and worth[g] != 0.0):
                continue
            a, b = (e, g) if e < g else (g, e)
            if (s[a] - s[b]) / (u[b] - u[a]) < lower:
                if worth[a] != 0.0:
                    before[a] += size[b]
                    above[a] += factor[b]
                if worth[b] != 0.0:
                    before[b] -= size[a]
                    above[b] -= factor[a]


@kernel
def begin(family, qptr, first, last, spec, groups, lower, state, value):
    """Fill the state and the value of every query just to the left of ``lower``.

    For ``lower`` = -inf that is where t u alone decides. Otherwise the groups that meet before ``lower``
    change places first, so that a sweep from there on agrees with one from the left end in every bit of t.

    Parameters
    ----------
    family : int
    qptr : int64 (n_queries + 1,)      groups of each query, by ascending u, then descending s
    spec : (k (n_queries,), table (longest + 1,), passed)
    groups : (s, u, size, worth, factor, dptr), each (n_groups,); factor: what the
        group adds to ``above``
    lower : float, or -inf
    state : (before int64, above float64, earned float64), each (n_groups,)    out; kept up to date for
        groups that are worth something
    value : float64 (n_queries,)       out; not yet divided by the norm
    """
    k, table, passed = spec
    before, above, earned = state
    s, u, size, worth, factor, dptr = groups
    for q in range(first, last):
        a, b = qptr[q], qptr[q + 1]
        count, sum_above, total = 0, 0.0, 0.0
        for g in range(a, b):
            before[g], above[g] = count, sum_above
            count += size[g]
            sum_above += factor[g]
        if lower > -np.inf:
            _pass_by(s[a:b], u[a:b], size[a:b], worth[a:b], factor[a:b], before[a:b], above[a:b], lower)
        for g in range(a, b):
            if worth[g] != 0.0:
                earned[g] = _earned(
                    family, size[g], worth[g], before[g], above[g], k[q], table, passed, dptr[g]
                )
                total += earned[g]
        value[q] = total


@kernel
def _crossings(s, u, worth, lower, upper, key, pair):
    """List the t in [lower, upper) at which a group that is worth something changes places.

    Returns their number; with empty ``key`` and ``pair`` they are only counted. Groups are ordered
    by ascending u: of a pair, the second overtakes the first.
    """
    n, count, room = len(s), 0, len(key)
    for e in range(n):
        if worth[e] == 0.0:
            continue
        for g in range(n):
            if u[g] == u[e] or (g < e and worth[g] != 0.0):
                continue
            a, b = (e, g) if e < g else (g, e)
            t = (s[a] - s[b]) / (u[b] - u[a])
            if lower <= t < upper:
                if room:
                    # the key descends as its number ascends, and + 0.0 joins -0.0 to 0.0
                    key[count], pair[count] = -t + 0.0, a << _BITS | b
                count += 1
    return count


@kernel
def count_crossings(qptr, first, last, groups, lower, upper, count):
    """Fill ``count[q]`` with the number of crossings at lower <= t < upper."""
    s, u, _, worth, _, _ = groups
    key, pair = np.empty(0), np.empty(0, np.int64)
    for q in range(first, last):
        a, b = qptr[q], qptr[q + 1]
        count[q] = _crossings(s[a:b], u[a:b], worth[a:b], lower, upper, key, pair)


@kernel
def _one_query(family, k, table, passed, scale, groups, state, key, pair, n_events, t_out, d_out):
    """Let the groups of one query change places in the order of ``key``; return the number of changes."""
    s, u, size, worth, factor, dptr = groups
    before, above, earned = state
    changes, i = 0, 0
    while i < n_events:
        now, change = key[i], 0.0
        a, b = 0, 0
        while i < n_events and key[i] == now:
            a, b = pair[i] >> _BITS, pair[i] & _SECOND
            i += 1
            if worth[a] != 0.0:
                before[a] += size[b]
                above[a] += factor[b]
                now_a = _earned(family, size[a], worth[a], before[a], above[a], k, table, passed, dptr[a])
                change += now_a - earned[a]
                earned[a] = now_a
            if worth[b] != 0.0:
                before[b] -= size[a]
                above[b] -= factor[a]
                now_b = _earned(family, size[b], worth[b], before[b], above[b], k, table, passed, dptr[b])
                change += now_b - earned[b]
                earned[b] = now_b
        if change != 0.0:
            t_out[changes], d_out[changes] = (s[a] - s[b]) / (u[b] - u[a]), change * scale
            changes += 1
    return changes


@kernel
def sweep(family, qptr, first, last, spec, scale, groups, state, window, place, t_out, d_out, count):
    """Move every query from the left to the right end of a window of t.

    Parameters
    ----------
    scale : float64 (n_queries,)         factor on the changes: weight over norm
    window : (lower, upper)              crossings with lower <= t < upper
    place : int64 (n_queries + 1,)       where in the output each query may write
    t_out, d_out : float64               out; where the value changes, and by how much
    count : int64 (n_queries,)           in: crossings in the window; out: changes of value

    Notes
    -----
    Crossings of one query at exactly the same t are one change. O(m log m) for m crossings (a sort by
    bytes), then O(1) per crossing, except for tied groups under the cascade and the first hit.
    """
    k, table, passed = spec
    s, u, size, worth, factor, dptr = groups
    longest = 0
    for q in range(first, last):
        longest = max(longest, count[q])
    key, other = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    pair, carried = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for q in range(first, last):
        a, b = qptr[q], qptr[q + 1]
        n = count[q]
        if n == 0:
            continue
        as_float = key[:n].view(np.float64)
        _crossings(s[a:b], u[a:b], worth[a:b], window[0], window[1], as_float, pair)
        for i in range(n):
            key[i] = descending_key(key[i])
        sort_pairs(key, pair, other, carried, n)
        out = slice(place[q], place[q + 1])
        count[q] = _one_query(
            family, k[q], table, passed, scale[q],
            (s[a:b], u[a:b], size[a:b], worth[a:b], factor[a:b], dptr[a:b]),
            (state[0][a:b], state[1][a:b], state[2][a:b]),
            key, pair, n, t_out[out], d_out[out],
        )  # fmt: skip
