"""The order of one query's documents, best first."""

import numba
import numpy as np

from directrix.measures._kernels.order import sort_pairs

_COUNTED = 384
"""Up to this length comparing all pairs, which vectorises, beats sorting."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def descending_order(s, order):
    """Fill order (int64) with the documents by descending score; input order where they tie.

    O(n) beyond ``_COUNTED`` documents, below that n^2 comparisons, which are faster.
    """
    n = len(s)
    for i in range(n):
        order[i] = i  # stays in range even if s holds a NaN, which no order includes
    if n > _COUNTED:
        # Ascending integers in the descending order of the floats; + 0.0 makes -0.0 equal 0.0.
        key = np.empty(n, dtype=np.uint64)
        bits = np.empty(n)
        for i in range(n):
            bits[i] = np.float64(s[i]) + 0.0
        sign = np.uint64(1) << np.uint64(63)
        unsigned = bits.view(np.uint64)
        for i in range(n):
            key[i] = unsigned[i] if unsigned[i] & sign else ~(unsigned[i] | sign)
        sort_pairs(key, order[:n], np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int64), n)
        return
    taken = np.zeros(n, dtype=np.int64)
    for i in range(n):
        here = s[i]
        above = 0
        for j in range(n):
            above += s[j] > here
        order[above + taken[above]] = i
        taken[above] += 1
