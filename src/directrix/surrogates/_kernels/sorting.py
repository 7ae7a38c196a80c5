"""The order of one query's documents, best first; scores that have none."""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.order import descending_key, sort_pairs

_COUNTED = 384
"""Up to this length comparing all pairs, which vectorizes, beats sorting."""


@kernel
def descending_order(s, order):
    """Fill order (int64) with the documents by descending score; input order where they tie.

    O(n) beyond ``_COUNTED`` documents, below that n^2 comparisons, which are faster.
    """
    n = len(s)
    for i in range(n):
        order[i] = i  # stays in range even if s holds a NaN, which no order includes
    if n > _COUNTED:
        key = np.empty(n, dtype=np.uint64)
        floats = np.empty(n)
        bits = floats.view(np.uint64)
        for i in range(n):
            floats[i] = np.float64(s[i]) + 0.0  # -0.0 becomes 0.0: they are tied
            key[i] = descending_key(bits[i])
        sort_pairs(key, order[:n], np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int64), n)
        return
    above, taken = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    fours = n - n % 4
    for j in range(0, fours, 4):  # four at a time share each load
        a, b, c, d = s[j], s[j + 1], s[j + 2], s[j + 3]
        for i in range(n):
            here = s[i]
            low, high = np.int32(a > here) + np.int32(b > here), np.int32(c > here) + np.int32(d > here)
            above[i] += np.int32(low + high)
    for j in range(fours, n):
        a = s[j]
        for i in range(n):
            above[i] += np.int32(a > s[i])
    for i in range(n):
        place = above[i]
        order[place + taken[place]] = i
        taken[place] += np.int32(1)


@kernel
def finite_or_nan(s, grad):
    """Whether all scores are finite; if not, the gradient is filled with NaN."""
    finite = True
    for j in range(len(s)):
        finite &= np.isfinite(s[j])
    if not finite:
        for j in range(len(s)):
            grad[j] = np.nan
    return finite
