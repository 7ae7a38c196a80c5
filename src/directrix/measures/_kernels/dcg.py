"""Discounted cumulative gain and its ideal."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.order import sort_pairs
from directrix.measures._kernels.workspace import longest_query, sort_space

_LEVELS = 64  # labels that are integers below this are counted, not sorted
_EXACT = 53  # up to this exponent 2**label - 1 is a float, and an integer of the machine


@kernel
def exponential_gain(label):
    """2**label - 1; for the usual labels by a shift, which has the same bits."""
    level = np.int64(label)
    if level == label and level < _EXACT:
        return np.float64((np.int64(1) << level) - 1)
    return math.pow(2.0, label) - 1.0


@kernel
def _gain(label, exponential):
    return exponential_gain(label) if exponential else label


@kernel
def highest_level(labels, limit):
    """Highest label if all are integers below ``limit``, else -1."""
    others = 0
    for i in range(len(labels)):
        others += np.floor(labels[i]) != labels[i]
    top = 0.0
    for i in range(len(labels)):
        top = max(top, labels[i])
    return np.int64(top) if others == 0 and top < limit else np.int64(-1)


@kernel
def _counted_ideal(labels, top, discount, exponential, n_top):
    """DCG of the best ranking of labels that are integers up to ``top``, level by level."""
    total = 0.0
    position = 0
    level = top
    while position < n_top and level > 0:
        count = 0
        for i in range(len(labels)):
            count += labels[i] == level
        gain = _gain(np.float64(level), exponential)
        until = min(n_top, position + count)
        for p in range(position, until):
            total += gain * discount[p]
        position = until
        level -= 1
    return total


@kernel
def ideal_dcg(labels, qptr, discount, exponential, k, value):
    """Fill ``value[q]`` with the largest DCG@k that any ranking of query q has.

    Labels that are small integers are counted, in one pass per level until k documents are counted; others
    are sorted.
    """
    key, best, other, carried = sort_space(longest_query(qptr, 0, len(qptr) - 1))
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        n_top = min(n, k)
        top = highest_level(labels[lo:hi], _LEVELS)
        if top >= 0:
            value[q] = _counted_ideal(labels[lo:hi], top, discount, exponential, n_top)
            continue
        bits = (labels[lo:hi] + 0.0).view(np.uint64)
        for i in range(n):
            key[i] = ~bits[i]
            best[i] = labels[lo + i]
        sort_pairs(key, best, other, carried, n)
        total = 0.0
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
