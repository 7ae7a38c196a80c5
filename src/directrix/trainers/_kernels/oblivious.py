"""Oblivious trees: sums of gradients by leaf and bin, the best split of a level, and documents by leaf.

``bins`` uint8 (n_features, n_docs) holds the number of thresholds below each value; ``missing`` (n_features,)
is the bin of missing values, which follows those of all others. A split (feature, cut, left) sends bins up to
``cut`` to the left, and missing values too if ``left``. Documents lie leaf by leaf: leaf l has
``order[starts[l]]`` to ``order[starts[l + 1] - 1]``, ascending.
"""

import numpy as np

from directrix.kernels import kernel


@kernel
def _add_documents(column, order, pulls, first, last, sums):
    """Fill the sums of gradients, sums[0], and curvatures, sums[1], of some documents by bin."""
    for b in range(sums.shape[1]):
        sums[0, b] = 0.0
        sums[1, b] = 0.0
    for r in range(first, last):
        b = column[order[r]]
        sums[0, b] += pulls[r, 0]
        sums[1, b] += pulls[r, 1]


@kernel
def _divide_sums(column, order, starts, pulls, sums):
    """Turn the sums of the leaves of the last level into those of this one: count the smaller child only."""
    n_leaves = len(starts) - 1
    if n_leaves == 1:
        _add_documents(column, order, pulls, starts[0], starts[1], sums[0])
        return
    for parent in range(n_leaves // 2 - 1, -1, -1):  # children lie behind, in the places of later parents
        small = 2 * parent
        if starts[small + 2] - starts[small + 1] < starts[small + 1] - starts[small]:
            small += 1
        large = 4 * parent + 1 - small
        if large != parent:
            sums[large] = sums[parent]
        _add_documents(column, order, pulls, starts[small], starts[small + 1], sums[small])
        for b in range(sums.shape[2]):
            sums[large, 0, b] -= sums[small, 0, b]
            sums[large, 1, b] -= sums[small, 1, b]


@kernel
def _best_cut(sums, starts, n_bins, l2, below, gains):
    """Return the highest gain of a feature, its cut, and whether missing values go left.

    Parameters
    ----------
    sums : float64 (n_leaves, 2, most bins)
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
            g += sums[leaf, 0, b]
            h += sums[leaf, 1, b]
        total += g * g / (h + l2)
        any_missing |= sums[leaf, 1, n_bins] != 0.0 or sums[leaf, 0, n_bins] != 0.0
    for go_left in range(2 if any_missing else 1):
        for b in range(n_bins):
            gains[b] = 0.0
        for leaf in range(n_leaves):
            if starts[leaf] == starts[leaf + 1]:
                continue
            g, h = 0.0, 0.0
            if go_left:
                g, h = sums[leaf, 0, n_bins], sums[leaf, 1, n_bins]
            for b in range(n_bins):
                g += sums[leaf, 0, b]
                h += sums[leaf, 1, b]
                below[0, b] = g
                below[1, b] = h
            if not go_left:
                g += sums[leaf, 0, n_bins]
                h += sums[leaf, 1, n_bins]
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
    pulls : float32 (n_docs, 2)             gradient and curvature in the order of ``order``
    l2 : float > 0
    sums : float64 (n_chosen, at least n_leaves, 2, most bins)    those of the last level; out: of this one
    gains : float64 (n_chosen,)             out: decrease of the loss
    cuts, lefts : int64, bool (n_chosen,)   out
    """
    below, workspace = np.empty((2, sums.shape[3])), np.empty(sums.shape[3])
    for c in range(first, last):
        f = features[c]
        _divide_sums(bins[f], order, starts, pulls, sums[c])
        gains[c], cuts[c], lefts[c] = _best_cut(sums[c], starts, np.int64(missing[f]), l2, below, workspace)


@kernel
def _goes_right(b, cut, left, missing):
    return b > cut and not (left and b == missing)


@kernel
def divide(column, cut, left, missing, order, starts, new_order, new_starts):
    """Fill the order of the next level, in which each leaf becomes two."""
    for leaf in range(len(starts) - 1):
        first, last = starts[leaf], starts[leaf + 1]
        at = first
        new_starts[2 * leaf] = first
        for r in range(first, last):
            if not _goes_right(column[order[r]], cut, left, missing):
                new_order[at] = order[r]
                at += 1
        new_starts[2 * leaf + 1] = at
        for r in range(first, last):
            if _goes_right(column[order[r]], cut, left, missing):
                new_order[at] = order[r]
                at += 1
    new_starts[len(new_starts) - 1] = starts[len(starts) - 1]


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
