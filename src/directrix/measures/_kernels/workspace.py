"""Shared by kernels of several folders: the size of their work space, and how sums may be computed."""

import numpy as np

from directrix.kernels import kernel

GAP = 128
"""Places left free between rows of work space.

Compiled loops use vector registers only where their arrays start far enough apart. The gap ensures it,
so that sums have the same bits whatever the size of the work space.
"""
FAST = {"reassoc", "contract", "nsz"}
"""Flags of kernels whose sums may be reordered, so that they run in vector registers.

Infinities and NaN keep their meaning.
"""


@kernel
def longest_query(qptr, first, last):
    """Largest number of documents of the queries first <= q < last."""
    n = 0
    for q in range(first, last):
        n = max(n, qptr[q + 1] - qptr[q])
    return n


@kernel
def sort_space(n):
    """Work space of `sort_pairs` for up to n pairs: keys, values, and a copy of each."""
    return np.empty(n, np.uint64), np.empty(n), np.empty(n, np.uint64), np.empty(n)
