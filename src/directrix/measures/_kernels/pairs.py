"""Measures over pairs of documents."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.dcg import highest_level
from directrix.measures._kernels.order import sort_pairs
from directrix.measures._kernels.workspace import longest_query, sort_space

_SCANNED = 16  # labels that are integers below this are compared level by level, others by merging


@kernel
def roc_area(ranked, ends, qptr, rel, value):
    """Share of (relevant, irrelevant) pairs in the right order, tied pairs one half; NaN without pairs."""
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        above = 0
        right = 0.0
        i = lo
        while i < hi:
            end = ends[i]
            if end == i + 1:
                hit = ranked[i] >= rel
                right += (1 - hit) * above
                above += hit
            else:
                r = 0
                for j in range(i, end):
                    r += ranked[j] >= rel
                right += (end - i - r) * (above + 0.5 * r)
                above += r
            i = end
        n_pairs = np.float64(above) * (hi - lo - above)
        value[q] = right / n_pairs if n_pairs > 0.0 else np.nan


@kernel
def kendall_tau_b(ranked, ends, qptr, value):
    """Kendall's tau-b between scores and labels; NaN where either is constant.

    Pairs are counted without listing them: for labels of a few levels in one pass per level, O(n levels),
    else as Knight (1966) does, O(n log n). Counts are exact, hence the same either way.
    """
    longest = longest_query(qptr, 0, len(qptr) - 1)
    starts = np.empty(longest, np.bool_)
    key, label, other, carried = sort_space(longest)
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        top = highest_level(ranked[lo:hi], _SCANNED)
        if top >= 0:
            counts = _pairs_by_level(ranked[lo:hi], ends, lo, top, starts)
        else:
            counts = _pairs_by_merging(ranked, ends, lo, hi, key, other, label, carried)
        wrong, tied_scores, tied_labels, tied_both = counts
        pairs = 0.5 * n * (n - 1.0)
        ordered = pairs - tied_scores - tied_labels + tied_both
        scale = math.sqrt(pairs - tied_scores) * math.sqrt(pairs - tied_labels)
        value[q] = np.nan
        if scale > 0.0:
            value[q] = min(max((ordered - 2.0 * wrong) / scale, -1.0), 1.0)  # rounding may exceed 1


@kernel
def _pairs_by_level(ranked, ends, first, top, starts):
    """Pairs in the wrong order, tied in scores, tied in labels, and in both, for labels 0..``top``."""
    n = len(ranked)
    tied_scores, tied_both, tied_labels, wrong = 0, 0, 0, 0
    i = 0
    while i < n:
        end = ends[first + i] - first
        starts[i] = True
        for j in range(i + 1, end):
            starts[j] = False
        m = end - i
        tied_scores += m * (m - 1) // 2
        i = end
    for level in range(top + 1):
        lower = 0  # documents of lower labels so far, and before the present tied group
        before = 0
        same = 0  # documents of this label so far, and in the present tied group
        together = 0
        for j in range(n):  # no branches: labels are hard to predict
            hit = ranked[j] == level
            if tied_scores > 0:
                before = lower if starts[j] else before
                together = 0 if starts[j] else together
                tied_both += hit * together
                together += hit
                wrong += hit * before
            else:
                wrong += hit * lower
            lower += ranked[j] < level
            same += hit
        tied_labels += same * (same - 1) // 2
    return np.float64(wrong), np.float64(tied_scores), np.float64(tied_labels), np.float64(tied_both)


@kernel
def _pairs_by_merging(ranked, ends, lo, hi, key, other, label, carried):
    """Return the same for any labels.

    Sorted by score, and within ties by label from high to low, the exchanges that a merge sort by label
    then makes are the pairs in the wrong order.
    """
    n = hi - lo
    bits = (ranked[lo:hi] + 0.0).view(np.uint64)
    tied_scores = 0.0
    tied_both = 0.0
    i = 0
    while i < n:
        end = ends[lo + i] - lo
        m = end - i
        for j in range(i, end):
            key[j] = ~bits[j]
            label[j] = ranked[lo + j]
        if m > 1:
            sort_pairs(key[i:end], label[i:end], other, carried, m)
            tied_scores += 0.5 * m * (m - 1.0)
            tied_both += _tied_pairs(label, i, end)
        i = end
    wrong = _exchanges(label, carried, n)
    return wrong, tied_scores, _tied_pairs(label, 0, n), tied_both


@kernel
def _tied_pairs(sorted_values, first, last):
    pairs = 0.0
    start = first
    for i in range(first + 1, last + 1):
        if i == last or sorted_values[i] != sorted_values[start]:
            m = i - start
            pairs += 0.5 * m * (m - 1.0)
            start = i
    return pairs


@kernel
def _exchanges(values, scratch, n):
    """Sort descending by merging, in place; return the number of pairs that stood in ascending order."""
    exchanged = 0.0
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            mid = min(first + width, n)
            last = min(first + 2 * width, n)
            i, j = first, mid
            for o in range(first, last):
                if j >= last or (i < mid and values[i] >= values[j]):
                    scratch[o] = values[i]
                    i += 1
                else:
                    scratch[o] = values[j]
                    exchanged += mid - i
                    j += 1
        for o in range(n):
            values[o] = scratch[o]
        width *= 2
    return exchanged
