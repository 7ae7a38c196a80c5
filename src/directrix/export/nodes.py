"""Trees as nested nodes, which most targets write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from directrix.errors import InputError
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO
from directrix.models.trees import Trees
from directrix.types import Float64Array

Node = TypeVar("Node")

DEEPEST = 200
"""Levels that a tree may have: readers of nested text go down one call a level."""

WITHOUT_CATEGORIES = "--to lightgbm, python or sql"
WITHOUT_MISSING = "--to lightgbm, xgboost, onnx, elastic, vespa, sql or python"


class TreeSplit(NamedTuple):
    """A question of a tree. Values up to the threshold, or in the set of categories, go left."""

    feature: int
    threshold: float
    categories: tuple[int, ...] | None
    missing_left: bool

    @property
    def zero_left(self) -> bool:
        """Whether 0 goes left."""
        return self.threshold >= 0.0 if self.categories is None else 0 in self.categories


def splits_of(trees: Trees) -> list[TreeSplit]:
    """Return all splits, in their order.

    Raises `InputError` for splits that take zeros for missing and send them another way than numbers near 0,
    which LightGBM's ``zero_as_missing`` makes.
    """
    found = []
    columns = (trees.feature.tolist(), trees.threshold.tolist(), trees.decision.tolist())
    for feature, threshold, decision in zip(*columns, strict=True):
        if decision & CATEGORICAL:
            found.append(TreeSplit(feature, 0.0, trees.categories[int(threshold)], missing_left=False))
            continue
        zero_left = threshold >= 0.0
        is_left = bool(decision & LEFT) if decision & (NAN | ZERO) else zero_left
        if decision & ZERO and is_left != zero_left:
            raise InputError(
                "these trees take zeros for missing (zero_as_missing); only LightGBM's own text says that; "
                "choose --to lightgbm."
            )
        found.append(TreeSplit(feature, threshold, None, is_left))
    return found


def nested(
    trees: Trees, leaf: Callable[[float], Node], split: Callable[[TreeSplit, Node, Node], Node]
) -> list[Node]:
    """Build every tree from its leaves up: ``split`` gets a split with what its left and right became.

    Raises `InputError` if a tree has more than `DEEPEST` levels.
    """
    splits, leaves, roots = splits_of(trees), trees.leaf.tolist(), []
    left, right = trees.left.tolist(), trees.right.tolist()
    for number, (first, last) in enumerate(pairwise(trees.split_ptr.tolist())):
        built: dict[int, Node] = {}
        depth: dict[int, int] = {}
        for n in range(last - first):
            for child in (left[first + n], right[first + n]):
                depth[child] = depth.get(n, 0) + 1
        if max(depth.values(), default=0) > DEEPEST:
            raise InputError(
                f"tree {number + 1} has more than {DEEPEST} levels, which nested text cannot hold; choose "
                "--to onnx, xgboost or lightgbm, or train fewer leaves, e.g. num_leaves=63."
            )
        for n in range(len(depth) // 2 + 1):
            built[-1 - n] = leaf(leaves[first + number + n])
        for n in reversed(range(last - first)):  # children come after their parents
            s = first + n
            built[n] = split(splits[s], built[left[s]], built[right[s]])
        roots.append(built[0] if last > first else built[-1])
    return roots


def without_categories(trees: Trees, target: str) -> None:
    """Raise `InputError` if a split is by categories."""
    if trees.categories:
        raise InputError(f"{target} has no categories here; choose {WITHOUT_CATEGORIES}.")


def missing_as_zero(trees: Trees, target: str) -> None:
    """Raise `InputError` if a missing value goes another way than 0."""
    if any(split.missing_left != split.zero_left for split in splits_of(trees)):
        raise InputError(
            f"{target} reads missing features as 0, and these trees send them another way; choose "
            f"{WITHOUT_MISSING}."
        )


def in_float32(trees: Trees) -> Trees:
    """Return trees that send every float32 the same way, with thresholds and leaves that are float32."""
    below = float32_below(trees.threshold)
    is_set = trees.decision & 1 == 1
    threshold = np.where(is_set, trees.threshold, below)
    with np.errstate(over="ignore"):
        leaf = trees.leaf.astype(np.float32).astype(np.float64)
    if not np.isfinite(leaf).all():
        raise InputError("the values of leaves are too large for float32; choose --to lightgbm or sql.")
    return replace(trees, threshold=threshold, leaf=leaf)


def float32_below(values: Float64Array) -> Float64Array:
    """The largest float32 that is at most each value."""
    with np.errstate(over="ignore"):
        near = np.clip(values, *_RANGE).astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float64)


def float32_above(value: float) -> float:
    """The smallest float32 above one."""
    return float(np.nextafter(np.float32(value), np.float32(np.inf)))


_RANGE = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)
