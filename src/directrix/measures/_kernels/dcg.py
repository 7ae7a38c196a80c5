"""Discounted cumulative gain and its ideal."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.order import sort_pairs

_LEVELS = 64  # labels that are integers below this are counted, not sorted


@kernel
def _gain(label, exponential):
    return math.pow(2.0, label) - 1.0 if exponential else label


@kernel
def ideal_dcg(labels, qptr, discount, exponential, k, value):
    """Fill ``value[q]`` with the largest DCG@k that any ranking of query q has.

    Labels that are small integers are counted, O(n + levels); others are sorted.
    """
    longest = 0
    for q in range(len(qptr) - 1):
        longest = max(longest, qptr[q + 1] - qptr[q])
    key = np.empty(longest, np.uint64)
    other = np.empty(longest, np.uint64)
    best = np.empty(longest, np.float64)
    carried = np.empty(longest, np.float64)
    count = np.zeros(_LEVELS, np.int64)
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        n_top = min(n, k)
        total = 0.0
        counted = True
        for level in range(_LEVELS):
            count[level] = 0
        for i in range(lo, hi):
            if not (0.0 <= labels[i] < _LEVELS) or labels[i] != np.int64(labels[i]):
                counted = False
                break
            count[np.int64(labels[i])] += 1
        if counted:
            position = 0
            level = _LEVELS - 1
            while position < n_top and level > 0:
                until = min(n_top, position + count[level])
                if position < until:
                    gain = _gain(np.float64(level), exponential)
                    for p in range(position, until):
                        total += gain * discount[p]
                position = until
                level -= 1
        else:
            bits = (labels[lo:hi] + 0.0).view(np.uint64)
            for i in range(n):
                key[i] = ~bits[i]
                best[i] = labels[lo + i]
            sort_pairs(key, best, other, carried, n)
            for p in range(n_top):
                total += _gain(best[p], exponential) * discount[p]
        value[q] = total


@kernel
def dcg(ranked, ends, retrieved, qptr, discount, exponential, k, ideal, empty, value):
    """Fill ``value[q]`` with the expected DCG@k over ``ideal[q]``; ``empty`` where the ideal is 0.

    A tied group shares the sum of the discounts of its places, so its part is the mean gain
    times that sum (McSherry & Najork 2008, section 2.6).
    """
    for q in range(len(qptr) - 1):
        lo = qptr[q]
        if ideal[q] <= 0.0:
            value[q] = empty
            continue
        n_top = min(retrieved[q], k)
        total = 0.0
        i = lo
        while i < lo + n_top:
            end = ends[i]
            if end == i + 1:
                if ranked[i] > 0.0:
                    total += _gain(ranked[i], exponential) * discount[i - lo]
            else:
                gain = 0.0
                for j in range(i, end):
                    gain += _gain(ranked[j], exponential)
                places = 0.0
                for p in range(i, min(end, lo + n_top)):
                    places += discount[p - lo]
                total += gain / (end - i) * places
            i = end
        value[q] = total / ideal[q]
