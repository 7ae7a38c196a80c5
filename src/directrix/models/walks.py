"""Evaluation of trees on all cores, and rows that need not be evaluated again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.data.sparse import absent_values
from directrix.models.rows import SparseRows, read_only, row_slice
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array

# A chunk of work for a thread has about this number of walks, each of one row down one tree.
_WALKS_PER_CHUNK = 1 << 14
# A chunk has at least this number of rows, also for models of very many trees.
_FEWEST_ROWS = 64
_UNKNOWN = np.empty((0, 0), np.uint16)
_ALL = np.empty(0, np.bool_)


class Used(NamedTuple):
    """Columns that splits test: the position of each feature among them, or -1, and those of the splits."""

    place: Array
    feature: Array
    n_columns: int


def walked(trees: Any, X: Any, known: Array = _UNKNOWN, moved: Array = _ALL) -> Float64Array:
    """Return the score of every row of an array or a CSR matrix: float64 (n_rows,).

    ``known``, from `_room`, receives the number of the leaf of every row. With ``moved``, bool (n_leaves of
    all trees,), it has them already, and only rows in these leaves are evaluated.
    """
    from directrix.models._kernels.trees import add_trees, dense_rows

    scores, used = np.zeros(X.shape[0]), trees.used
    most = max(_FEWEST_ROWS, _WALKS_PER_CHUNK // max(trees.n_trees, 1))
    n_rows, n_chunks = len(scores), -(-len(scores) // most)
    # Values that sparse features do not store are those of this row, into which the stored ones are copied.
    ground = absent_values(X)[used.place >= 0].astype(X.dtype)

    def work(c: int) -> None:
        lo, hi = c * n_rows // n_chunks, (c + 1) * n_rows // n_chunks
        rows, feature = row_slice(X, lo, hi), trees.feature
        if isinstance(rows, SparseRows):
            stored, feature = rows[:3], used.feature
            rows = np.tile(ground, (hi - lo, 1))
            dense_rows(*stored, used.place, rows)
            rows = read_only(rows)
        splits = trees.threshold, trees.decision, trees.left, trees.right
        to = known[lo:hi], moved, scores[lo:hi]
        add_trees(rows, trees.split_ptr, feature, *splits, trees.leaf, *trees.sets, *to)

    if trees.n_trees:
        run_chunks(work, n_chunks)
    return scores


class RememberedWalks:
    """Rows with known leaves: after a change of few columns, only some rows are evaluated again.

    A row is evaluated again in a tree if a split on its path tests a changed column. Every row and tree takes
    2 bytes, or 4 for trees of more than 65,536 leaves. Scores have the bits of `Trees.predict`.
    """

    def __init__(self, trees: Any, X: Array) -> None:
        self._trees, self._known = trees, _room(trees, len(X))
        walked(trees, X, self._known)
        split, self._leaf = ways(trees)
        self._column = trees.feature[split]

    def after(self, X: Array, columns: Array) -> Float64Array:
        """Return the scores of the rows, if no other columns have changed: float64 (n_rows,)."""
        moved = np.zeros(len(self._trees.leaf), dtype=np.bool_)
        # A leaf stays right for a row unless a split above it tests a changed column.
        moved[self._leaf[np.isin(self._column, columns)]] = True
        return walked(self._trees, X, self._known, moved)


def ways(trees: Any) -> tuple[Array, Array]:
    """Return the splits on the path to a leaf, and this leaf, both numbered across all trees.

    There is one pair for every split on every path; a leaf of a tree without splits has none.
    """
    n_splits = trees.n_leaves - 1
    first = np.repeat(trees.split_ptr[:-1], n_splits)
    first_leaf = first + np.repeat(np.arange(trees.n_trees), n_splits)
    above_split, above_leaf = np.full(len(first), -1), np.full(len(trees.leaf), -1)
    for child in (trees.left.astype(np.int64), trees.right.astype(np.int64)):
        is_leaf = child < 0
        above_leaf[(first_leaf - 1 - child)[is_leaf]] = np.flatnonzero(is_leaf)
        above_split[(first + child)[~is_leaf]] = np.flatnonzero(~is_leaf)
    splits, leaves, leaf = [], [], np.arange(len(above_leaf))
    split = above_leaf
    # Every round climbs one level from all leaves at once; paths that have reached a root drop out.
    while len(split):
        leaf, split = leaf[split >= 0], split[split >= 0]
        splits.append(split)
        leaves.append(leaf)
        split = above_split[split]
    empty = [np.empty(0, np.int64)]
    return np.concatenate(splits or empty), np.concatenate(leaves or empty)


def row_counts(trees: Any, X: Any) -> tuple[Array, Array]:
    """Return the number of rows that reach every split and every leaf, at least 1 for each leaf."""
    reached = _room(trees, X.shape[0])
    walked(trees, X, reached)
    # The leaves of a tree are numbered from 0; this is the position of its first leaf among those of all
    # trees.
    first = trees.split_ptr[:-1] + np.arange(trees.n_trees)
    return counts_from(
        trees, np.maximum(np.bincount((reached + first).ravel(), minlength=len(trees.leaf)), 1)
    )


def counts_from(trees: Any, leaves: Array) -> tuple[Array, Array]:
    """Return the number of rows at every split and every leaf, from those at the leaves."""
    split, leaf = ways(trees)
    return np.bincount(split, leaves[leaf], len(trees.feature)).astype(np.int64), leaves


def means_from(trees: Any, counts: tuple[Array, Array]) -> Float64Array:
    """Return the mean value of the leaves below every split, weighted by the counts of `counts_from`."""
    split, leaf = ways(trees)
    # Counts times values could exceed the largest float, so each value is multiplied by its share.
    shares = counts[1][leaf] / np.maximum(counts[0], 1)[split]
    return np.bincount(split, shares * trees.leaf[leaf], len(trees.feature)).astype(np.float64)


def _room(trees: Any, n_rows: int) -> Array:
    """An array for the number of the leaf of every row in every tree (n_rows, n_trees)."""
    is_small = trees.n_leaves.max(initial=1) <= np.iinfo(np.uint16).max + 1
    return np.empty((n_rows, trees.n_trees), np.uint16 if is_small else np.int32)
