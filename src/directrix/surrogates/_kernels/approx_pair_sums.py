r"""All pairs of a group of documents and their band: the two loops in which ApproxRank spends its time.

With :math:`p_{ij} = \sigma(\alpha (s_j - s_i))` and :math:`d_{ij} = p_{ij} (1 - p_{ij})`, soft ranks need
sums over j for every i of the group, and the gradient sums over i for every j of the band:

.. math:: S_i = \sum_j p_{ij}, \quad T_i = \sum_j d_{ij}; \qquad g_j = \sum_i c_i d_{ij}.

Both run in vector registers along the band, for four members of the group at a time, whose sums stay in
registers. The first writes :math:`d_{ij}` to a table in the fastest caches, and the second reads it back:
with AVX2 that takes a third of the time of a second division.

Kernels here take whole work spaces and bounds in place of slices, for slicing an array makes Numba count
references with atomic instructions, which took as long as the pairs. ``forceinline``: otherwise every group
passes twenty numbers on the stack.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.sigmoids import LOGISTIC, sigmoid, sigmoid_slope

# A division may become an estimate of the reciprocal and a Newton step: as accurate, and faster where
# division is slow. An infinity would become NaN there, so callers keep e f finite.
_RECIPROCALS = {"contract", "arcp", "ninf", "nsz", "reassoc"}
_DOCS_PER_SUM = 512
"""Terms added up, in four lanes or more, before the sum moves to float64."""

# Rows of the work space of a query, of that of a group, and of its float64 numbers.
E, F, X, PULL = 0, 1, 2, 3
HERE, E_HERE, C = 0, 1, 2
SUM, SLOPE_SUM, RANK, VALUE, SLOPE = 0, 1, 2, 3, 4


@kernel(forceinline=True, fastmath=_RECIPROCALS)
def _logistic_sums(docs, lo, hi, group, i, table, at, width, sums):
    """Add sum_j p and sum_j p (1 - p) to the sums of four members, for p = 1/(1 + e_i f_j)."""
    one, zero = docs.dtype.type(1.0), docs.dtype.type(0.0)
    e0, e1, e2, e3 = group[E_HERE, i], group[E_HERE, i + 1], group[E_HERE, i + 2], group[E_HERE, i + 3]
    s0, s1, s2, s3, t0, t1, t2, t3 = zero, zero, zero, zero, zero, zero, zero, zero
    # a signed index could be one from the end: a branch that costs
    first, at0, step = np.uint64(lo), np.uint64(at), np.uint64(width)
    at1, at2, at3 = at0 + step, at0 + step + step, at0 + step + step + step
    for k in range(np.uint64(hi - lo)):
        f = docs[F, first + k]
        p0, p1 = one / (one + e0 * f), one / (one + e1 * f)
        p2, p3 = one / (one + e2 * f), one / (one + e3 * f)
        d0, d1, d2, d3 = p0 - p0 * p0, p1 - p1 * p1, p2 - p2 * p2, p3 - p3 * p3
        s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
        t0, t1, t2, t3 = t0 + d0, t1 + d1, t2 + d2, t3 + d3
        table[at0 + k], table[at1 + k], table[at2 + k], table[at3 + k] = d0, d1, d2, d3
    sums[SUM, i], sums[SUM, i + 1] = sums[SUM, i] + s0, sums[SUM, i + 1] + s1
    sums[SUM, i + 2], sums[SUM, i + 3] = sums[SUM, i + 2] + s2, sums[SUM, i + 3] + s3
    sums[SLOPE_SUM, i], sums[SLOPE_SUM, i + 1] = sums[SLOPE_SUM, i] + t0, sums[SLOPE_SUM, i + 1] + t1
    sums[SLOPE_SUM, i + 2], sums[SLOPE_SUM, i + 3] = sums[SLOPE_SUM, i + 2] + t2, sums[SLOPE_SUM, i + 3] + t3


@kernel(forceinline=True, fastmath=_RECIPROCALS)
def _logistic_pulls(docs, lo, group, i, table, at, width):
    """Add sum_i c_i p (1 - p) over four members to the pull of the band, from the table."""
    c0, c1, c2, c3 = group[C, i], group[C, i + 1], group[C, i + 2], group[C, i + 3]
    first, at0, step = np.uint64(lo), np.uint64(at), np.uint64(width)
    at1, at2, at3 = at0 + step, at0 + step + step, at0 + step + step + step
    for k in range(step):
        low = c0 * table[at0 + k] + c1 * table[at1 + k]
        docs[PULL, first + k] += low + (c2 * table[at2 + k] + c3 * table[at3 + k])


@kernel(forceinline=True)
def pair_sums(kind, alpha, docs, lo, hi, width, group, m, table, sums):
    """Fill ``sums[SUM, i]`` and ``sums[SLOPE_SUM, i]`` with S_i and T_i of every document i < m of the group.

    Parameters
    ----------
    kind : int                      LOGISTIC, ARCTAN, ERF
    alpha : float > 0
    docs : float (4, > n)           E = exp(alpha (x - middle)), F = 1/E, X = scores, PULL
    lo, hi : int                    the band lo <= j < hi
    width : int                     documents of the band, and the same rounded up to whole registers
    group : float (3, >= m)         HERE = scores of the group, E_HERE = their E
    m : int                         documents of the group, rounded up to fours
    table : float (>= m width,)     out: p (1 - p) for `pair_pulls`, if the kind is LOGISTIC
    sums : float64 (5, >= m)        out
    """
    for i in range(m):
        sums[SUM, i], sums[SLOPE_SUM, i] = 0.0, 0.0
    if kind != LOGISTIC:
        for i in range(m):
            for j in range(lo, hi):
                p, d = sigmoid(kind, alpha * (np.float64(docs[X, j]) - np.float64(group[HERE, i])))
                sums[SUM, i] += p
                sums[SLOPE_SUM, i] += d
        return
    end = lo + width
    for begin in range(lo, end, _DOCS_PER_SUM):
        for i in range(0, m, 4):
            at = i * width + begin - lo
            _logistic_sums(docs, begin, min(begin + _DOCS_PER_SUM, end), group, i, table, at, width, sums)


@kernel(forceinline=True)
def pair_pulls(kind, alpha, docs, lo, hi, width, group, m, table):
    """Add g_j to ``docs[PULL, j]`` of every document of the band, with c_i in ``group[C, i]``."""
    if kind == LOGISTIC:
        for i in range(0, m, 4):
            _logistic_pulls(docs, lo, group, i, table, i * width, width)
        return
    for j in range(lo, hi):
        total = 0.0  # of a whole group: float32 would lose digits with every document
        for i in range(m):
            if group[C, i] != 0.0:
                z = alpha * (np.float64(docs[X, j]) - np.float64(group[HERE, i]))
                total += group[C, i] * sigmoid_slope(kind, z)
        docs[PULL, j] += docs.dtype.type(total)
