"""Scores of boosted trees: every document walks down every tree, and the values of its leaves are added.

Trees lie one after another. The splits of tree t are ``split_ptr[t] <= s < split_ptr[t + 1]``, and its first
leaf is ``split_ptr[t] + t``, since a tree has one leaf more than splits. Children are numbered within it;
a leaf is -1 - its number.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO

NEARLY_ZERO = np.float64(np.float32(1e-35))
"""What LightGBM takes for zero."""

_ROWS = 64  # that walk down a tree together, so that it stays in the cache


@kernel
def _goes_left(value, threshold, decision, sets, categories):
    """Whether a split sends a value to the left."""
    if decision & CATEGORICAL:
        if not -1.0 < value < 2147483648.0:  # cut to whole numbers, those below 0 are none
            return False
        category, which = np.int64(value), np.int64(threshold)
        low, high = sets[which], sets[which + 1]
        while low < high:
            middle = (low + high) // 2
            if categories[middle] < category:
                low = middle + 1
            else:
                high = middle
        return low < sets[which + 1] and categories[low] == category
    if value != value and not decision & NAN:
        value = 0.0
    if (decision & NAN and value != value) or (decision & ZERO and abs(value) <= NEARLY_ZERO):
        return decision & LEFT != 0
    return value <= threshold


@kernel
def add_trees(
    X, split_ptr, feature, threshold, decision, left, right, leaf, sets, categories, known, moved, out
):
    """Fill the score of every row of X (n_rows, n_features); sums are float64, tree by tree.

    Parameters
    ----------
    X : float (n_rows, n_features)
    split_ptr : int64 (n_trees + 1,)
    feature : int32 (n_splits,)          columns of X
    threshold : float64 (n_splits,)      of a split by categories the number of its set
    decision : uint8 (n_splits,)
    left, right : int32 (n_splits,)
    leaf : float64 (n_splits + n_trees,)
    sets : int64 (n_sets + 1,)           set c owns the categories sets[c] <= i < sets[c + 1]
    categories : int64                   that go left, ascending in each set
    known : int (n_rows, n_trees)        number of the leaf of every row, or (0, 0)
    moved : bool (n_splits + n_trees,)   leaves whose rows walk again; of length 0: all walk, known is filled
    out : float64 (n_rows,)
    """
    for begin in range(0, len(X), _ROWS):
        end = min(begin + _ROWS, len(X))
        for i in range(begin, end):
            out[i] = 0.0
        for t in range(len(split_ptr) - 1):
            first, leaves = split_ptr[t], split_ptr[t] + t
            is_leaf = split_ptr[t + 1] == first
            walks = len(moved) == 0
            for each in range(leaves, min(split_ptr[t + 1] + t + 1, len(moved))):
                walks |= moved[each]
            if not walks:  # most trees, where one feature changed
                for i in range(begin, end):
                    out[i] += leaf[leaves + known[i, t]]
                continue
            for i in range(begin, end):
                node = -1 if is_leaf else 0
                if len(moved) > 0 and not moved[leaves + known[i, t]]:
                    node = -1 - np.int64(known[i, t])
                while node >= 0:
                    s = first + node
                    value, d = np.float64(X[i, feature[s]]), decision[s]
                    if value == value and not d & (CATEGORICAL | ZERO):
                        goes_left = value <= threshold[s]
                    else:
                        goes_left = _goes_left(value, threshold[s], d, sets, categories)
                    node = left[s] if goes_left else right[s]
                out[i] += leaf[leaves - 1 - node]
                if len(known) > 0 and len(moved) == 0:
                    known[i, t] = -1 - node


@kernel
def dense_rows(data, indices, indptr, place, rows):
    """Write the stored entries of CSR rows, of the columns that have a place, into rows (n_rows, n_used)."""
    for i in range(len(rows)):
        for e in range(indptr[i], indptr[i + 1]):
            column = place[indices[e]]
            if column >= 0:
                rows[i, column] = data[e]
