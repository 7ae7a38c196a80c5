"""Sort the documents of every query by score, and find the groups of tied scores."""

from __future__ import annotations

import numpy as np
from numba import njit

_RUN = 12  # insertion sort wins below about this length
_RADIX_FROM = 3000  # from here on counting passes beat merging


@njit(nogil=True, cache=True)
def _sort_small(key, val, first, last):
    """Sort ``key[first:last]`` ascending and stably, ``val`` along with it, by insertion."""
    for i in range(first + 1, last):
        k, v = key[i], val[i]
        j = i - 1
        while j >= first and key[j] > k:
            key[j + 1] = key[j]
            val[j + 1] = val[j]
            j -= 1
        key[j + 1] = k
        val[j + 1] = v


@njit(nogil=True, cache=True)
def _merge(key, val, other, carried, first, mid, last):
    """Merge two sorted neighbours ``[first, mid)`` and ``[mid, last)`` into ``other``."""
    i, j = first, mid
    for o in range(first, last):
        if j >= last or (i < mid and key[i] <= key[j]):
            other[o] = key[i]
            carried[o] = val[i]
            i += 1
        else:
            other[o] = key[j]
            carried[o] = val[j]
            j += 1


@njit(nogil=True, cache=True)
def _sort_radix(key, val, other, carried, n):
    """Sort ascending and stably by counting, 11 bits a pass; passes in which all agree are skipped."""
    count = np.empty(2048, np.int64)
    swapped = False
    for step in range(6):
        shift = np.uint64(11 * step)
        count[:] = 0
        for i in range(n):
            count[np.int64((key[i] >> shift) & np.uint64(2047))] += 1
        if count[np.int64((key[0] >> shift) & np.uint64(2047))] == n:
            continue
        place = 0
        for digit in range(2048):
            here = count[digit]
            count[digit] = place
            place += here
        for i in range(n):
            digit = np.int64((key[i] >> shift) & np.uint64(2047))
            other[count[digit]] = key[i]
            carried[count[digit]] = val[i]
            count[digit] += 1
        key, other, val, carried = other, key, carried, val
        swapped = not swapped
    if swapped:
        other[:n] = key[:n]
        carried[:n] = val[:n]


@njit(nogil=True, cache=True)
def sort_pairs(key, val, other, carried, n):
    """Sort ``key[:n]`` ascending and stably, in place, with ``val`` along.

    ``other`` and ``carried`` are scratch of at least the same length. O(n log n) time, no
    allocation that grows with n.
    """
    if n >= _RADIX_FROM:
        _sort_radix(key, val, other, carried, n)
        return
    for first in range(0, n, _RUN):
        _sort_small(key, val, first, min(first + _RUN, n))
    width = _RUN
    swapped = False
    while width < n:
        for first in range(0, n, 2 * width):
            _merge(key, val, other, carried, first, min(first + width, n), min(first + 2 * width, n))
        key, other, val, carried = other, key, carried, val
        swapped = not swapped
        width *= 2
    if swapped:
        other[:n] = key[:n]
        carried[:n] = val[:n]


@njit(nogil=True, cache=True)
def descending_key(bits):
    """Map the bits of a float64 to an integer whose ascending order is the floats' descending order."""
    sign = np.uint64(1) << np.uint64(63)
    if bits & sign:
        return bits
    return ~(bits | sign)


@njit(nogil=True, cache=True)
def rank_documents(scores, labels, qptr, share, worst, ranked, ends, retrieved):
    """Put the labels of every query into the order of the ranking.

    Parameters
    ----------
    scores : float64 (n_docs,)        finite or -inf; -inf = not retrieved
    labels : float64 (n_docs,)        grades, >= 0
    qptr : int64 (n_queries + 1,)     query boundaries, ``qptr[0] == 0``
    share : bool                      keep tied documents as one group
    worst : bool                      order tied documents by label, lowest first
    ranked : float64 (n_docs,)        out; labels by descending score, stable
    ends : int64 (n_docs,)            out; ``ends[i]`` = end of the tied group that starts at i
    retrieved : int64 (n_queries,)    out; documents with a score above -inf

    Notes
    -----
    O(n_q log n_q) a query; raises nothing, the caller has checked the arrays.
    """
    longest = 0
    for q in range(len(qptr) - 1):
        longest = max(longest, qptr[q + 1] - qptr[q])
    key = np.empty(longest, np.uint64)
    other = np.empty(longest, np.uint64)
    carried = np.empty(longest, np.float64)
    bits = (scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0: they are tied
    nowhere = descending_key(np.array([-np.inf]).view(np.uint64)[0])
    for q in range(len(qptr) - 1):
        lo = qptr[q]
        n = qptr[q + 1] - lo
        val = ranked[lo : lo + n]
        for i in range(n):
            key[i] = descending_key(bits[lo + i])
            val[i] = labels[lo + i]
        sort_pairs(key, val, other, carried, n)
        found = n
        while found > 0 and key[found - 1] == nowhere:
            found -= 1
        retrieved[q] = found
        if not (share or worst):
            for i in range(n):
                ends[lo + i] = lo + i + 1
            continue
        start = 0
        while start < n:
            end = start + 1
            while end < n and key[end] == key[start]:
                end += 1
            ends[lo + start] = lo + end
            if worst and end - start > 1:
                _lowest_first(val, start, end, key, other, carried)
            if worst:
                for i in range(start, end):
                    ends[lo + i] = lo + i + 1
            start = end


@njit(nogil=True, cache=True)
def _lowest_first(val, start, end, key, other, carried):
    """Sort ``val[start:end]`` ascending; ``key[start:end]`` is spent."""
    part = val[start:end]
    bits = (part + 0.0).view(np.uint64)  # labels are >= 0: their bits, read as integers, are in order
    for i in range(end - start):
        key[start + i] = bits[i]
    sort_pairs(key[start:end], part, other, carried, end - start)
