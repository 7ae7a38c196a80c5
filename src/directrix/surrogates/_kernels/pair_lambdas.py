r"""Forces of all pairs of one query's documents: the inner loops of LambdaRank.

The documents are numbered by rank; x, U, L and f are those of `lambdas`.

In rank order every loop runs over contiguous slices. The sigmoid of a pair is factored,
1/(1 + e^{s_a - s_b}) = t/(1 + t) with t = E_b / E_a <= 1: one exponential per document. Blocks of rows
within 40 units of score share the exponentials; pairs more than 40 apart have t = 0, which is
off by e^-40 at most.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST
from directrix.surrogates._kernels.sigmoids import exponentials
from directrix.surrogates._kernels.sorting import descending_order

LEAST_CURVATURE = 0.05
"""Least curvature of a lambda, as a share of it: steps stay finite where a pair is certain to be wrong."""
_REACH = 40.0


@kernel(fastmath=FAST)
def _four_rows(rows, right, e, x, lower, pull):
    """Forces between four documents and all those below them; returns the sums on the four.

    ``rows`` holds 1/E, x, U and f of each; one that is all zeros has no lambda. ``right`` is the factor on
    pairs in the right order, of the dtype of e.
    """
    one, zero = e.dtype.type(1.0), e.dtype.type(0.0)
    i0, i1, i2, i3 = rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3]
    x0, x1, x2, x3 = rows[1, 0], rows[1, 1], rows[1, 2], rows[1, 3]
    u0, u1, u2, u3 = rows[2, 0], rows[2, 1], rows[2, 2], rows[2, 3]
    f0, f1, f2, f3 = rows[3, 0], rows[3, 1], rows[3, 2], rows[3, 3]
    s0, s1, s2, s3 = zero, zero, zero, zero
    for b in range(len(pull)):
        eb, xb, lb = e[b], x[b], lower[b]
        t0, t1, t2, t3 = i0 * eb, i1 * eb, i2 * eb, i3 * eb
        d0, d1, d2, d3 = x0 - xb, x1 - xb, x2 - xb, x3 - xb
        p0 = (t0 * right if d0 > zero else one) / (one + t0)
        p1 = (t1 * right if d1 > zero else one) / (one + t1)
        p2 = (t2 * right if d2 > zero else one) / (one + t2)
        p3 = (t3 * right if d3 > zero else one) / (one + t3)
        w0, w1 = d0 * (u0 - f0 * lb) * p0, d1 * (u1 - f1 * lb) * p1
        w2, w3 = d2 * (u2 - f2 * lb) * p2, d3 * (u3 - f3 * lb) * p3
        s0, s1, s2, s3 = s0 + w0, s1 + w1, s2 + w2, s3 + w3
        pull[b] -= (w0 + w1) + (w2 + w3)
    return s0, s1, s2, s3


@kernel(fastmath=FAST)
def _row(row, floor, right, e, x, lower, pull):
    """Forces between a document and those below it, at least ``floor`` before the sigmoid."""
    one, zero = e.dtype.type(1.0), e.dtype.type(0.0)
    inverse, here, u, f, least = row[0], row[1], row[2], row[3], e.dtype.type(floor)
    total = zero
    for b in range(len(pull)):
        d, t = here - x[b], inverse * e[b]
        change = max(abs(d) * (u - f * lower[b]), least)
        w = (t * right if d > zero else -one) / (one + t) * (change if d != zero else zero)
        total += w
        pull[b] -= w
    return total


@kernel
def _among(rows, count, a, right, e, x, lower, pull):
    """Forces among the four documents themselves."""
    one = e.dtype.type(1.0)
    for m in range(count):
        for b in range(a + m + 1, a + count):
            d, t = rows[1, m] - x[b], rows[0, m] * e[b]
            w = d * (rows[2, m] - rows[3, m] * lower[b]) * (t * right if d > 0.0 else one) / (one + t)
            pull[a + m] += w
            pull[b] -= w


@kernel
def all_pairs(s, doubles, top, floor, misranked, floats):
    """Add the lambdas of all pairs whose upper rank is below ``top`` to the row ``pull``.

    With ``misranked`` those in the right order exert none.
    """
    n, right = len(s), floats.dtype.type(0.0 if misranked else 1.0)
    upper, factor = doubles[1], doubles[3]
    e, inverse, x, lower, pull = floats[0], floats[1], floats[2], floats[3], floats[4]
    rows = np.zeros((4, 4), dtype=floats.dtype)  # 1/E, x, U, f of four documents
    begin = 0
    while begin < top:
        high = s[begin]
        end = begin + 1
        while end < top and high - s[end] <= _REACH:
            end += 1
        last = end
        while last < n and high - s[last] <= 2.0 * _REACH:
            last += 1
        exponentials(s[begin:last], high - _REACH, 1.0, e[begin:last], inverse[begin:last])
        for b in range(last, n):
            e[b] = floats.dtype.type(0.0)
        for a in range(begin, end, 4):
            after = min(a + 4, end)
            for m in range(4):
                is_document = a + m < after  # a row of zeros has no lambda
                rows[0, m] = inverse[a + m] if is_document else 0.0
                rows[1, m] = x[a + m] if is_document else 0.0
                rows[2, m] = upper[a + m] if is_document else 0.0
                rows[3, m] = factor[a + m] if is_document else 0.0
            if floor == 0.0:
                sums = _four_rows(rows, right, e[after:n], x[after:n], lower[after:n], pull[after:n])
                for m in range(4):
                    pull[a + m] += sums[m]
                _among(rows, after - a, a, right, e, x, lower, pull)
            else:
                for c in range(a, after):
                    b = c + 1
                    pull[c] += _row(rows[:, c - a], floor, right, e[b:n], x[b:n], lower[b:n], pull[b:n])
        begin = end


@kernel
def missed_ranks(x, depth, whole_level, ideal, missed):
    """Fill the ranks of documents below the cut-off that an ideal ranking has above it, and return how many.

    Of the documents of the last worth above the cut-off as many as lack there, or with ``whole_level`` all,
    if any lacks.
    """
    n, count, lacking = len(x), 0, 0
    if depth >= n:
        return 0
    descending_order(x, ideal)
    least = x[ideal[depth - 1]]
    for p in range(depth):
        lacking += x[ideal[p]] == least
        lacking -= x[p] == least
    for p in range(depth, n):
        if x[p] > least or (x[p] == least and lacking > 0):
            missed[count] = p
            count += 1
            lacking -= x[p] == least and not whole_level
    return count


@kernel
def pull_missed(missed, depth, s, x, discount, pull):
    """Forces between documents below the cut-off, of which at least one is missed."""
    for m in range(len(missed)):
        a, before = missed[m], 0
        for b in range(depth, len(x)):
            while before < m and missed[before] < b:
                before += 1
            if x[a] == x[b] or (before < m and missed[before] == b):
                continue  # of two missed documents the first takes the pair
            high, low = (a, b) if x[a] > x[b] else (b, a)
            t = math.exp(-abs(s[high] - s[low]))
            slope = (x[high] - x[low]) * abs(discount[high] - discount[low])
            slope *= (t if s[high] > s[low] else 1.0) / (1.0 + t)
            pull[high] += slope
            pull[low] -= slope
