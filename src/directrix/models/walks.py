"""Evaluation of trees on all cores, and rows that need not be evaluated again."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.models.plans import Planned
from directrix.models.rows import SparseRows, read_only, row_slice
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array

# A chunk of work for a thread has about this number of walks, each of one row down one tree, and of cells.
_WALKS_PER_CHUNK, _CELLS_PER_CHUNK = 1 << 18, 1 << 20
# A chunk has a multiple of this number of rows, also for models of very many trees.
_FEWEST_ROWS = 128
# This number of documents is scored one by one; they walk down trees of more tests than that.
_FEW, _SHORT = 4, 8
_UNKNOWN = np.empty((0, 0), np.uint16)
_ALL = np.empty(0, np.bool_)


def walked(trees: Any, X: Any, known: Array = _UNKNOWN, moved: Array = _ALL) -> Float64Array:
    """Return the score of every row of an array or a CSR matrix: float64 (n_rows,).

    ``known``, from `_room`, receives the place of every row among the values of every tree. With ``moved``,
    bool (n_trees,), it has them already, and only these trees are evaluated.
    """
    from directrix.models._kernels.trees import add_trees, dense_rows

    planned: Planned = trees.planned
    is_few = X.shape[0] <= _FEW and not known.size
    if is_few and len(planned.plan.mask) > _SHORT * trees.n_trees:
        planned = trees.planned_walks
    if X.dtype not in planned.thresholds:
        X = X.astype(np.float64)
    threshold, n_used = planned.thresholds[X.dtype], len(planned.features)
    n_rows, scores = X.shape[0], np.zeros(X.shape[0])
    most = min(_WALKS_PER_CHUNK // max(trees.n_trees, 1), _CELLS_PER_CHUNK // max(n_used, 1))
    most = max(most // _FEWEST_ROWS, 1) * _FEWEST_ROWS

    def work(c: int) -> None:
        lo, hi = c * most, min((c + 1) * most, n_rows)
        rows, features = row_slice(X, lo, hi), planned.features
        if isinstance(rows, SparseRows):
            stored, features = rows, planned.positions
            ground = stored.absent[planned.features].astype(X.dtype)
            rows = np.tile(ground, (hi - lo, 1))
            dense_rows(*stored[:3], planned.place, rows)
            rows = read_only(rows)
        add_trees(rows, features, planned.plan, threshold, known, moved, lo, is_few, scores)

    if trees.n_trees:
        run_chunks(work, -(-n_rows // most))
    return scores


class RememberedWalks:
    """Rows with known leaves: after a change of few columns, only some trees are evaluated again.

    These are the trees that test a changed column. Every row and tree takes 2 bytes, or 4 for trees of very
    many leaves. Scores have the bits of `Trees.predict`.
    """

    def __init__(self, trees: Any, X: Array) -> None:
        self._trees, self._known = trees, _room(trees, len(X))
        walked(trees, X, self._known)

    def after(self, X: Array, columns: Array) -> Float64Array:
        """Return the scores of the rows, if no other columns have changed: float64 (n_rows,)."""
        trees, moved = self._trees, np.zeros(self._trees.n_trees, dtype=np.bool_)
        splits = np.flatnonzero(np.isin(trees.feature, columns))
        moved[np.searchsorted(trees.split_ptr, splits, side="right") - 1] = True
        return walked(trees, X, self._known, moved)


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
    places = _room(trees, X.shape[0])
    walked(trees, X, places)
    planned: Planned = trees.planned
    reached = np.bincount((places + planned.plan.value_ptr[:-1, None]).ravel(), minlength=len(planned.leaf))
    leaves = np.bincount(planned.leaf, reached, len(trees.leaf)).astype(np.int64)
    return counts_from(trees, np.maximum(leaves, 1))


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
    """An array for the place of every row among the values of every tree (n_trees, n_rows)."""
    most = np.diff(trees.planned.plan.value_ptr).max(initial=1)
    return np.empty((trees.n_trees, n_rows), np.uint16 if most <= np.iinfo(np.uint16).max + 1 else np.int32)
