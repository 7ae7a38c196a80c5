"""Oblivious trees: sums of gradients by leaf and bin, the best split of a level, and documents by leaf.

``bins`` uint8 (n_features, n_docs) holds the number of thresholds below each value; ``missing`` (n_features,)
is the bin of missing values, which follows those of all others. A split (feature, cut, left) sends bins up to
``cut`` to the left, and missing values too if ``left``. Documents lie leaf by leaf: leaf l has
``order[starts[l]]`` to ``order[starts[l + 1] - 1]``, ascending.
"""

import numpy as np

from directrix.kernels import kernel

_ROWS = 2048
"""Documents that are counted for all features in turn, so that their gradients stay in the cache."""


@kernel
def _count(bins, features, first, last, order, pulls, begin, end, leaf, sums):
    """Fill the sums of a leaf, whose documents are ``order[begin:end]``."""
    sums[first:last, leaf] = 0.0
    for start in range(begin, end, _ROWS):
        stop = min(start + _ROWS, end)
        rows, some = order[start:stop], pulls[start:stop]
        for c in range(first, last):
            column, by_bin = bins[features[c]], sums[c, leaf]
            for r in range(len(rows)):
                b = column[rows[r]]
                by_bin[b, 0] += some[r, 0]
                by_bin[b, 1] += some[r, 1]


@kernel
def _divide_sums(bins, features, first, last, order, starts, pulls, sums):
    """Turn the sums of the leaves of the last level into those of this one: count the smaller child only."""
    n_leaves = len(starts) - 1
    if n_leaves == 1:
        _count(bins, features, first, last, order, pulls, starts[0], starts[1], 0, sums)
        return
    for parent in range(n_leaves // 2 - 1, -1, -1):  # children lie behind, in the places of later parents
        small = 2 * parent
        if starts[small + 2] - starts[small + 1] < starts[small + 1] - starts[small]:
            small += 1
        large = 4 * parent + 1 - small
        if large != parent:
            sums[first:last, large] = sums[first:last, parent]
        _count(bins, features, first, last, order, pulls, starts[small], starts[small + 1], small, sums)
        for c in range(first, last):
            for b in range(sums.shape[2]):
                sums[c, large, b, 0] -= sums[c, small, b, 0]
                sums[c, large, b, 1] -= sums[c, small, b, 1]


@kernel
def _best_cut(sums, starts, n_bins, l2, below, gains):
    """Return the highest gain of a feature, its cut, and whether missing values go left.

    Parameters
    ----------
    sums : float64 (n_leaves, most bins, 2)
    n_bins : int                       bins of values; the next is that of missing ones
    below : float64 (2, most bins)     workspace: sums of the bins up to each
    gains : float64 (most bins,)       workspace
    """
    n_leaves = len(starts) - 1
    best, cut, left = -np.inf, -1, False
    total, any_missing = 0.0, False
    for leaf in range(n_leaves):
        g, h = 0.0, 0.0
        for b in range(n_bins + 1):
            g += sums[leaf, b, 0]
            h += sums[leaf, b, 1]
        total += g * g / (h + l2)
        any_missing |= sums[leaf, n_bins, 1] != 0.0 or sums[leaf, n_bins, 0] != 0.0
    for go_left in range(2 if any_missing else 1):
        for b in range(n_bins):
            gains[b] = 0.0
        for leaf in range(n_leaves):
            if starts[leaf] == starts[leaf + 1]:
                continue
            g, h = 0.0, 0.0
            if go_left:
                g, h = sums[leaf, n_bins, 0], sums[leaf, n_bins, 1]
            for b in range(n_bins):
                g += sums[leaf, b, 0]
                h += sums[leaf, b, 1]
                below[0, b] = g
                below[1, b] = h
            if not go_left:
                g += sums[leaf, n_bins, 0]
                h += sums[leaf, n_bins, 1]
            for b in range(n_bins):
                rest = g - below[0, b]
                gains[b] += below[0, b] * below[0, b] / (below[1, b] + l2) + rest * rest / (
                    h - below[1, b] + l2
                )
        for b in range(n_bins if any_missing and not go_left else n_bins - 1):
            if gains[b] - total > best:
                best, cut, left = gains[b] - total, b, go_left == 1
    return best, cut, left


@kernel
def split_level(bins, features, first, last, missing, order, starts, pulls, l2, sums, gains, cuts, lefts):
    """Fill the best split of a level for some of the chosen features.

    Parameters
    ----------
    features : int64 (n_chosen,)            the rows of ``bins`` that may be split
    first, last : int                       positions in ``features``
    order : uint32 (n_docs,)
    pulls : float32 (n_docs, 2)             gradient and curvature in the order of ``order``
    l2 : float > 0
    sums : float64 (n_chosen, at least n_leaves, most bins, 2)    those of the last level; out: of this one
    gains : float64 (n_chosen,)             out: decrease of the loss
    cuts, lefts : int64, bool (n_chosen,)   out
    """
    below, workspace = np.empty((2, sums.shape[2])), np.empty(sums.shape[2])
    _divide_sums(bins, features, first, last, order, starts, pulls, sums)
    for c in range(first, last):
        f = features[c]
        gains[c], cuts[c], lefts[c] = _best_cut(sums[c], starts, np.int64(missing[f]), l2, below, workspace)


@kernel
def _goes_right(b, cut, left, missing):
    return b > cut and not (left and b == missing)


@kernel
def divide(column, cut, left, missing, order, pulls, starts, new_order, new_pulls, new_starts):
    """Fill order and pulls of the next level, in which each leaf becomes two."""
    for leaf in range(len(starts) - 1):
        begin, end = starts[leaf], starts[leaf + 1]
        middle = end
        for r in range(begin, end):
            middle -= np.int64(_goes_right(column[order[r]], cut, left, missing))
        at, behind = begin, middle
        for r in range(begin, end):
            is_right = _goes_right(column[order[r]], cut, left, missing)
            place = behind if is_right else at
            new_order[place] = order[r]
            new_pulls[place, 0] = pulls[r, 0]
            new_pulls[place, 1] = pulls[r, 1]
            behind += np.int64(is_right)
            at += 1 - np.int64(is_right)
        new_starts[2 * leaf] = begin
        new_starts[2 * leaf + 1] = middle
    new_starts[len(new_starts) - 1] = starts[len(starts) - 1]


@kernel
def sum_leaves(pulls, starts, totals):
    """Fill the sums of gradients and curvatures of every leaf, float64 (n_leaves, 2)."""
    for leaf in range(len(starts) - 1):
        g, h = 0.0, 0.0
        for r in range(starts[leaf], starts[leaf + 1]):
            g += pulls[r, 0]
            h += pulls[r, 1]
        totals[leaf, 0], totals[leaf, 1] = g, h


@kernel
def add_tree(bins, features, cuts, lefts, missing, values, scores, counts):
    """Add a tree to the scores of all documents, and count those of each leaf.

    Parameters
    ----------
    features, cuts, lefts : int64, int64, bool (depth,)    the splits, from the root
    values : float64 (2^depth,)
    scores : float64 (n_docs,)                             out
    counts : int64 (2^depth,)                              out
    """
    for i in range(bins.shape[1]):
        leaf = 0
        for level in range(len(features)):
            f = features[level]
            leaf = 2 * leaf + np.int64(_goes_right(bins[f, i], cuts[level], lefts[level], missing[f]))
        scores[i] += values[leaf]
        counts[leaf] += 1
