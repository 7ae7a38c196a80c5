"""Trees as nodes, for the targets that write them, and the scores of rows by the trees of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from directrix.errors import InputError
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO
from directrix.models.trees import Trees
from directrix.models.walks import counts_from, means_from
from directrix.types import Array, Float64Array

T = TypeVar("T")

DEEPEST = 200
"""Levels that a tree may have: readers of nested text go down one call a level."""

_RANGE = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)


class TreeSplit(NamedTuple):
    """A split of a tree. Values up to the threshold, or in the set of categories, go left."""

    feature: int
    threshold: float
    categories: tuple[int, ...] | None
    missing_left: bool

    @property
    def zero_left(self) -> bool:
        """Whether 0 goes left."""
        return self.threshold >= 0.0 if self.categories is None else 0 in self.categories


class Node(NamedTuple):
    """A split with the places of its children, or a leaf.

    ``value`` is that of a leaf, or the mean over the ``n_docs`` training documents that reach a split.
    """

    split: TreeSplit | None
    left: int = -1
    right: int = -1
    value: float = 0.0
    n_docs: int = 1
    gain: float = 0.0


class Below(NamedTuple):
    """A split for programs that test ``x < limit``: the limit, and which sides of the split are the sides.

    The float above the largest one is infinity, which JSON lacks. The sides of such a split are swapped
    then, and no number is below the limit.
    """

    limit: float
    is_swapped: bool

    @classmethod
    def of(cls, split: TreeSplit, kind: Any = np.float64) -> Below:
        """Return the condition for a split whose threshold is a number of this kind."""
        largest = np.finfo(kind).max
        if split.threshold >= largest:
            return cls(-float(largest), is_swapped=True)
        return cls(float(np.nextafter(kind(split.threshold), kind(np.inf))), is_swapped=False)

    def sides(self, left: T, right: T) -> tuple[T, T]:
        """Return what belongs to the values below the limit, and to the others."""
        return (right, left) if self.is_swapped else (left, right)


def splits_of(trees: Trees) -> list[TreeSplit]:
    """Return all splits, in their order.

    Raises `InputError` for splits that treat zeros as missing and send them to a different side than numbers
    near 0, as LightGBM's ``zero_as_missing`` does.
    """
    splits = []
    columns = (trees.feature.tolist(), trees.threshold.tolist(), trees.decision.tolist())
    for feature, threshold, decision in zip(*columns, strict=True):
        if decision & CATEGORICAL:
            splits.append(TreeSplit(feature, 0.0, trees.categories[int(threshold)], missing_left=False))
            continue
        zero_left = threshold >= 0.0
        is_left = bool(decision & LEFT) if decision & (NAN | ZERO) else zero_left
        # Other formats cannot send zeros and numbers near 0 to different sides.
        if decision & ZERO and is_left != zero_left:
            raise InputError(
                "these trees take zeros for missing (zero_as_missing); only LightGBM's own text says that; "
                "choose lightgbm."
            )
        splits.append(TreeSplit(feature, threshold, None, is_left))
    return splits


def nodes_of(trees: Trees) -> list[list[Node]]:
    """Return the nodes of every tree: its splits in their order, children after parents, then its leaves.

    Leaves without a count, as those of stumps, count one document each.
    """
    splits, leaves, gains = splits_of(trees), trees.leaf.tolist(), trees.gain.tolist()
    # The counts at the splits follow from those at the leaves.
    of_rows = counts_from(trees, np.maximum(trees.count, 1))
    means, counts, of_leaves = (values.tolist() for values in (means_from(trees, of_rows), *of_rows))
    forest = []
    for number, (first, last) in enumerate(pairwise(trees.split_ptr.tolist())):
        count = last - first
        # A negative child is -1 minus the number of a leaf.
        left, right = (
            np.where(side[first:last] >= 0, side[first:last], count - 1 - side[first:last]).tolist()
            for side in (trees.left.astype(np.int64), trees.right.astype(np.int64))
        )
        # A tree has one leaf more than splits, so its leaves are shifted by the number of trees before it.
        of_tree = slice(first + number, last + number + 1)
        nodes = [
            Node(splits[n], left[n - first], right[n - first], means[n], counts[n], gains[n])
            for n in range(first, last)
        ]
        nodes += [
            Node(None, value=v, n_docs=n) for v, n in zip(leaves[of_tree], of_leaves[of_tree], strict=True)
        ]
        forest.append(nodes)
    return forest


def nested(
    trees: Iterable[list[Node]], leaf: Callable[[float], T], split: Callable[[TreeSplit, T, T], T]
) -> list[T]:
    """Build every tree of `nodes_of` from its leaves up: ``split`` gets a split and those of its children.

    Raises `InputError` if a tree has more than `DEEPEST` levels.
    """
    roots = []
    for number, nodes in enumerate(trees, start=1):
        built: dict[int, T] = {}
        depth = dict.fromkeys(range(len(nodes)), 0)
        for place, node in enumerate(nodes):
            if node.split is not None:
                depth[node.left] = depth[node.right] = depth[place] + 1
        if max(depth.values()) > DEEPEST:
            raise InputError(
                f"tree {number} has more than {DEEPEST} levels, which nested text cannot hold; choose "
                "onnx, xgboost or lightgbm, or train fewer leaves, e.g. num_leaves=63."
            )
        # Children come after their parents, so from the end they are built first.
        for place, node in reversed([*enumerate(nodes)]):
            is_leaf = node.split is None
            built[place] = (
                leaf(node.value) if is_leaf else split(node.split, built[node.left], built[node.right])  # type: ignore[arg-type]
            )
        roots.append(built[0])
    return roots


def tree_scores(
    trees: Iterable[tuple[Any, Any]], n_rows: int, step: Callable[[Any, Array], Any], kind: Any = np.float64
) -> Float64Array:
    """Return the sum over trees, given as weight and root, of the value of the leaf that each row reaches.

    ``step`` takes a node and the numbers of its rows. It returns the value of a leaf, or else which of the
    rows go left, and both children.
    """
    scores = np.zeros(n_rows, kind)
    for weight, root in trees:
        values, waiting = np.zeros(n_rows, kind), [(root, np.arange(n_rows))]
        while waiting:
            node, rows = waiting.pop()
            outcome = step(node, rows)
            if isinstance(outcome, tuple):
                # All rows that reach a node are tested at once.
                is_left, left, right = outcome
                waiting += [(left, rows[is_left]), (right, rows[~is_left])]
            else:
                values[rows] = outcome
        scores += kind(weight) * values
    return scores.astype(np.float64)


def sum_in_float32(terms: Array) -> Float64Array:
    """Return the sums of rows of float32 (n_rows, n_terms), one term after another, as in Java."""
    return np.cumsum(np.pad(terms, ((0, 0), (1, 0))), axis=1, dtype=np.float32)[:, -1].astype(np.float64)


def in_float32(trees: Trees) -> Trees:
    """Return trees that send every float32 the same way, with thresholds and leaves that are float32."""
    with np.errstate(over="ignore"):
        leaf = trees.leaf.astype(np.float32).astype(np.float64)
    if not np.isfinite(leaf).all():
        raise InputError("the values of leaves are too large for float32; choose lightgbm or sql.")
    return replace(for_float32(trees), leaf=leaf)


def for_float32(trees: Trees) -> Trees:
    """Return trees that send every float32 the same way, with thresholds that are float32."""
    is_set = trees.decision & CATEGORICAL == CATEGORICAL
    return replace(trees, threshold=np.where(is_set, trees.threshold, float32_below(trees.threshold)))


def float32_below(values: Float64Array) -> Float64Array:
    """The largest float32 that is at most each value; the lowest of all for values below them."""
    # The nearest float32 may lie above the value; then the next lower one is taken.
    near = np.clip(values, *_RANGE).astype(np.float32)
    with np.errstate(over="ignore"):
        lower = np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)
    return np.maximum(lower, _RANGE[0]).astype(np.float64)
