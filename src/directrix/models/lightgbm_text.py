"""LightGBM's text format of trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.memory import check_room
from directrix.errors import InputError
from directrix.types import Array

CATEGORICAL, LEFT, ZERO, NAN = 1, 2, 4, 8
"""Bits of a decision: categories; missing values go left; zeros or NaN are missing."""

_BLOCK = re.compile(r"Tree=(\d+)\n((?:[a-z_]+=[^\n]*\n)+)")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf)")
_LARGEST = float(np.finfo(np.float64).max)
"""Replacement for inf, which JSON lacks: a threshold above every number."""
# A word of 32 categories takes these bytes: as an integer of NumPy, as one of Python, and as text.
_BYTES_A_WORD = 64
_ENTRIES = {
    "feature": ("split_feature", np.int32),
    "threshold": ("threshold", np.float64),
    "decision": ("decision_type", np.uint8),
    "left": ("left_child", np.int32),
    "right": ("right_child", np.int32),
    "gain": ("split_gain", np.float64),
    "leaf": ("leaf_value", np.float64),
    "count": ("leaf_count", np.uint32),
}


def parse_trees(text: str) -> dict[str, Any]:
    """Return the arrays of `directrix.models.trees.Trees`; the trees are not checked.

    Raises `InputError` if a line is missing or an entry is not a number.
    """
    body, end, _ = text.partition("end of trees")
    blocks = list(_BLOCK.finditer(body))
    trees = [dict(line.split("=", 1) for line in block[2].split("\n") if line) for block in blocks]
    try:
        if not end or [block[1] for block in blocks] != [str(n) for n in range(body.count("Tree="))]:
            raise ValueError("some of it is missing")
        if any(tree["is_linear"] != "0" for tree in trees):
            raise ValueError("its leaves have linear models")
        columns: dict[str, Any] = {field: _column(trees, *entry) for field, entry in _ENTRIES.items()}
        n_leaves = np.array([_whole(tree["num_leaves"]) for tree in trees], dtype=np.int64)
        # A damaged text may claim thousands of millions of leaves, for which no memory must be reserved.
        if n_leaves.sum() != len(columns["leaf"]):
            raise ValueError(f"{n_leaves.sum():,} leaves have {len(columns['leaf']):,} values")
        n_sets = [_whole(tree["num_cat"]) for tree in trees]
        # This is the number of sets in earlier trees, for every split.
        before = np.repeat(np.cumsum([0, *n_sets])[:-1], np.maximum(n_leaves - 1, 0))
        chosen = columns["decision"] & CATEGORICAL != 0
        # LightGBM numbers sets of categories within a tree; here the numbers continue from tree to tree.
        columns["threshold"][chosen] += before[chosen]
        return {"n_leaves": n_leaves, **columns, "categories": _categories(trees)}
    except (KeyError, ValueError, IndexError, OverflowError) as error:
        raise InputError(
            f"the text of the trees is damaged: {error}. Save the model again with ranker.save(path)."
        ) from None


def _column(trees: list[dict[str, str]], name: str, kind: Any) -> Array:
    return np.array([number for tree in trees for number in _numbers(tree[name])], dtype=kind)


def _numbers(text: str) -> list[float]:
    words = text.split(" ") if text else []
    bad = next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if bad is not None:
        raise ValueError(f"{bad[:40]!r} is not a number")
    return [min(max(float(word), -_LARGEST), _LARGEST) for word in words]


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 11):
        raise ValueError(f"{text[:40]!r} is not a number")
    return int(text)


def _categories(trees: list[dict[str, str]]) -> tuple[tuple[int, ...], ...]:
    """Categories that go left, set by set; LightGBM has a bit for each."""
    sets = []
    for tree in trees:
        if _whole(tree["num_cat"]) == 0:
            continue
        ends = [_whole(n) for n in tree["cat_boundaries"].split(" ")]
        words = [_whole(n) for n in tree["cat_threshold"].split(" ")]
        for first, last in pairwise(ends):
            bits = enumerate(words[first:last])
            sets.append(tuple(32 * place + b for place, word in bits for b in range(32) if word >> b & 1))
    return tuple(sets)


def written(
    trees: Any,
    counts: tuple[Array, Array],
    means: Array | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """Return `Trees` as the text of a LightGBM model.

    ``counts``, the numbers of rows at every split and every leaf, are needed by LightGBM's contributions;
    ``means``, the mean values of the rows at every split, by its tables and figures.
    """
    ptr, count = trees.split_ptr.tolist(), trees.n_features
    blocks = [_block(trees, number, counts, means, *bounds) for number, bounds in enumerate(pairwise(ptr))]
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": count - 1,
        "feature_names": " ".join(names or [f"Column_{f}" for f in range(count)]),
        "feature_infos": " ".join(["none"] * count),  # ranges of the training data, which are not kept
        "tree_sizes": " ".join(str(len(block)) for block in blocks),
    }
    head = "".join(f"{name}={value}\n" for name, value in header.items())
    return f"tree\n{head}\n{''.join(blocks)}end of trees\n"


def _block(
    trees: Any, number: int, counts: tuple[Array, Array], means: Array | None, first: int, last: int
) -> str:
    """Return the text of the tree with the splits from ``first`` to ``last``."""
    splits, leaves = slice(first, last), slice(first + number, last + number + 1)
    threshold, sets = trees.threshold[splits].copy(), []
    for place in np.flatnonzero(trees.decision[splits] & 1):
        sets.append(trees.categories[int(threshold[place])])
        # The text numbers the sets within one tree, by the order of its splits.
        threshold[place] = len(sets) - 1
    lines: dict[str, Any] = {
        "num_leaves": trees.n_leaves[number],
        "num_cat": len(sets),
        "split_feature": trees.feature[splits],
        "split_gain": trees.gain[splits],
        "threshold": threshold,
        "decision_type": trees.decision[splits],
        "left_child": trees.left[splits],
        "right_child": trees.right[splits],
        "leaf_value": trees.leaf[leaves],
        "leaf_count": counts[1][leaves],
        "internal_count": counts[0][splits],
    }
    if means is not None:
        lines["internal_value"] = means[splits]
    if sets:
        sizes = [max(members, default=-1) // 32 + 1 for members in sets]
        check_room(
            _BYTES_A_WORD * sum(sizes),
            f"LightGBM's text of categories numbered up to {max(map(max, filter(None, sets)), default=0):,}",
            "Number the categories without gaps, and train the model again.",
        )
        # A set is a bit mask in words of 32 categories, with the lowest bit first.
        words = np.zeros(sum(sizes), dtype=np.int64)
        for begin, members in zip(np.cumsum([0, *sizes]), sets, strict=False):
            for category in members:
                words[begin + category // 32] |= 1 << category % 32
        lines |= {"cat_boundaries": np.cumsum([0, *sizes]), "cat_threshold": words}
    lines |= {"is_linear": 0, "shrinkage": 1}
    texts = (
        f"{name}={' '.join(map(str, np.atleast_1d(values).tolist()))}\n" for name, values in lines.items()
    )
    return f"Tree={number}\n{''.join(texts)}\n\n"
