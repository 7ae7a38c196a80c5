r"""All pairs of a group of documents and their band: the two loops in which ApproxRank spends its time.

With :math:`p_{ij} = \sigma(\alpha (s_j - s_i))` and :math:`d_{ij} = p_{ij} (1 - p_{ij})`, soft ranks need
sums over j for every i of the group, and the gradient sums over i for every j of the band:

.. math:: S_i = \sum_j p_{ij}, \quad T_i = \sum_j d_{ij}; \qquad g_j = \sum_i c_i d_{ij}.

Each runs in vector registers along what it sums *for*, four of what it sums *over* at a time: no sum across a
register, no table of pairs. The pairs are computed once in each loop: dividing again is cheaper than storing
:math:`d_{ij}` and reading it back, and the work space stays O(n).

Kernels here take whole work spaces and bounds in place of slices, for slicing an array makes Numba count
references with atomic instructions, which took as long as the pairs. ``forceinline``: otherwise every group
passes twenty numbers on the stack.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.sigmoids import LOGISTIC, sigmoid, sigmoid_slope

# A division may become an estimate of the reciprocal and a Newton step: as accurate, and faster where
# division is slow. An infinity would become NaN there, so callers keep e f finite.
_RECIPROCALS = {"contract", "arcp", "ninf", "nsz"}
_DOCS_PER_SUM = 512
"""float32 terms added up before the sum moves to float64."""

# Rows of the work space of a query, of that of a group, and of its float64 numbers.
E, F, X, PULL = 0, 1, 2, 3
HERE, E_HERE, PART, SLOPE_PART, C = 0, 1, 2, 3, 4
SUM, SLOPE_SUM, RANK, VALUE, SLOPE = 0, 1, 2, 3, 4


@kernel(forceinline=True, fastmath=_RECIPROCALS)
def _logistic_sums(docs, lo, hi, group, m):
    """Add sum_j p and sum_j p (1 - p) to the parts of i < m, for p = 1/(1 + e_i f_j)."""
    one = docs.dtype.type(1.0)
    fours = hi - (hi - lo) % 4
    for j in range(lo, fours, 4):
        f0, f1, f2, f3 = docs[F, j], docs[F, j + 1], docs[F, j + 2], docs[F, j + 3]
        for i in range(m):
            e = group[E_HERE, i]
            p0, p1 = one / (one + e * f0), one / (one + e * f1)
            p2, p3 = one / (one + e * f2), one / (one + e * f3)
            group[PART, i] += (p0 + p1) + (p2 + p3)
            low, high = p0 * (one - p0) + p1 * (one - p1), p2 * (one - p2) + p3 * (one - p3)
            group[SLOPE_PART, i] += low + high
    for j in range(fours, hi):
        f0 = docs[F, j]
        for i in range(m):
            p = one / (one + group[E_HERE, i] * f0)
            group[PART, i] += p
            group[SLOPE_PART, i] += p * (one - p)


@kernel(forceinline=True, fastmath=_RECIPROCALS)
def _logistic_pulls(docs, lo, hi, group, m):
    """Add sum_i c_i p (1 - p) over i < m to the pull of lo <= j < hi, for p = 1/(1 + e_i f_j)."""
    one = docs.dtype.type(1.0)
    lo, hi = np.uint64(lo), np.uint64(hi)  # a signed index could be one from the end: a branch that costs
    fours = m - m % 4
    for i in range(0, fours, 4):
        e0, e1, e2, e3 = group[E_HERE, i], group[E_HERE, i + 1], group[E_HERE, i + 2], group[E_HERE, i + 3]
        c0, c1, c2, c3 = group[C, i], group[C, i + 1], group[C, i + 2], group[C, i + 3]
        for j in range(lo, hi):
            f = docs[F, j]
            p0, p1 = one / (one + e0 * f), one / (one + e1 * f)
            p2, p3 = one / (one + e2 * f), one / (one + e3 * f)
            low = c0 * (p0 * (one - p0)) + c1 * (p1 * (one - p1))
            docs[PULL, j] += low + (c2 * (p2 * (one - p2)) + c3 * (p3 * (one - p3)))
    for i in range(fours, m):
        e0, c0 = group[E_HERE, i], group[C, i]
        for j in range(lo, hi):
            p = one / (one + e0 * docs[F, j])
            docs[PULL, j] += c0 * (p * (one - p))


@kernel(forceinline=True)
def pair_sums(kind, alpha, docs, lo, hi, group, m, padded, sums):
    """Fill ``sums[SUM, i]`` and ``sums[SLOPE_SUM, i]`` with S_i and T_i of every document i < m of the group.

    Parameters
    ----------
    kind : int                      LOGISTIC, ARCTAN, ERF
    alpha : float > 0
    docs : float (4, > n)           E = exp(alpha (x - middle)), F = 1/E, X = scores, PULL
    lo, hi : int                    the band lo <= j < hi
    group : float (5, >= padded)    HERE = scores of the group, E_HERE = their E; overwrites PART, SLOPE_PART
    m, padded : int                 documents of the group, and the same rounded up to whole registers
    sums : float64 (5, >= padded)   out
    """
    for i in range(padded):
        sums[SUM, i], sums[SLOPE_SUM, i] = 0.0, 0.0
    if kind != LOGISTIC:
        for i in range(m):
            for j in range(lo, hi):
                p, d = sigmoid(kind, alpha * (np.float64(docs[X, j]) - np.float64(group[HERE, i])))
                sums[SUM, i] += p
                sums[SLOPE_SUM, i] += d
        return
    zero = docs.dtype.type(0.0)
    for begin in range(lo, hi, _DOCS_PER_SUM):
        for i in range(padded):
            group[PART, i], group[SLOPE_PART, i] = zero, zero
        _logistic_sums(docs, begin, min(begin + _DOCS_PER_SUM, hi), group, padded)
        for i in range(padded):
            sums[SUM, i] += group[PART, i]
            sums[SLOPE_SUM, i] += group[SLOPE_PART, i]


@kernel(forceinline=True)
def pair_pulls(kind, alpha, docs, lo, hi, group, m):
    """Add g_j to ``docs[PULL, j]`` of every document of the band, with c_i in ``group[C, i]``."""
    if kind == LOGISTIC:
        _logistic_pulls(docs, lo, hi, group, m)
        return
    for j in range(lo, hi):
        total = 0.0  # of a whole group: float32 would lose digits with every document
        for i in range(m):
            if group[C, i] != 0.0:
                z = alpha * (np.float64(docs[X, j]) - np.float64(group[HERE, i]))
                total += group[C, i] * sigmoid_slope(kind, z)
        docs[PULL, j] += docs.dtype.type(total)
