"""Plans of trees: the form in which a kernel evaluates them for many documents at once.

A split is a test "column > threshold" that sends a document to the right. Columns are features in which
missing values are infinite, on the side where they go; a set of categories has a column of zeros and ones.
So all splits are alike, and a kernel compares a block of documents with a threshold by few instructions.

A tree is a list of words. Each has tests with masks, and a document the union of the masks of those that send
it to the right. There are three kinds of words:

- bits, for up to 32 neighboring leaves: a mask has the leaves to the left of the splits with this test, which
  are excluded. The first leaf that remains in a tree is that of the document (QuickScorer, Lucchese et al.
  2015, doi:10.1145/2766462.2767733);
- table, for trees of more leaves but few tests, like deep oblivious ones: the union is the place in a table;
- walk, for trees of very many leaves: tests are nodes, level by level, and the mask is the place of the left
  child; the right one follows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO
from directrix.models.rows import read_only
from directrix.types import Array


class TreePlan(NamedTuple):
    """Columns, tests, words and values; a kernel knows them by their names."""

    source: Array
    """Of a column of numbers: position of its feature among those used, int32."""
    side: Array
    """The side of its missing values, uint8."""
    coded: Array
    """Features of categories, int32; their sets have the columns after those of numbers."""
    code_ptr: Array
    """Feature g has the categories code_ptr[g] <= c < code_ptr[g + 1]."""
    category: Array
    member_ptr: Array
    """Category c is in the sets of the columns member[member_ptr[c]], ... member[member_ptr[c + 1] - 1]."""
    member: Array
    n_columns: int
    column: Array
    """Column of every test, int32."""
    mask: Array
    kind: Array
    """Kind of every word, uint8."""
    base: Array
    """Position of its first value."""
    test_ptr: Array
    word_ptr: Array
    value_ptr: Array
    value: Array
    """Values of leaves, float64."""


class Planned(NamedTuple):
    """A plan, and arrays that depend on the rows."""

    plan: TreePlan
    thresholds: dict[Any, Array]
    """By the type of the features."""
    features: Array
    """Columns of the rows that are used."""
    place: Array
    """Position of each feature among those used, or -1."""
    positions: Array
    """0, 1, ..., which take the place of ``features`` where rows have the used columns alone."""
    leaf: Array
    """Leaf of each value, numbered across all trees."""


class _Columns(NamedTuple):
    """Columns of numbers and of sets, and the test of every split."""

    source: Array
    side: Array
    set_source: Array
    set_number: Array
    column: Array
    threshold: Array


def plan_of(trees: Any, *, walks: bool = False) -> Planned:
    """Return the plan of `directrix.models.trees.Trees`; with ``walks`` no tree has words of bits."""
    from directrix.models._kernels.plans import LEAVES, MOST_TESTS, MOST_WORDS, STEP, plan_trees

    features, source = np.unique(trees.feature, return_inverse=True)
    place = np.full(trees.n_features, -1, dtype=np.int32)
    place[features] = np.arange(len(features))
    columns = _columns_of(trees, source)
    splits = trees.n_leaves - 1
    most_words = np.minimum(splits // LEAVES + 1, MOST_WORDS)
    n_words, n_room = int(most_words.sum()), 2 * int(splits.max(initial=0)) + 1
    # A walk has a test for every node, and a word of bits at most one for every split.
    of_bits = np.where(splits // LEAVES < MOST_WORDS, (splits + STEP) * most_words, 0)
    n_tests = int((np.maximum(2 * splits + 1, of_bits) + MOST_TESTS + STEP).sum())
    n_values = int((2 * splits + 1 + (most_words > 1) * (1 << MOST_TESTS)).sum())
    word_ptr, value_ptr = np.zeros((2, trees.n_trees + 1), np.int64)
    kind, base, test_ptr = (np.zeros(n_words + 1, of) for of in (np.uint8, np.int64, np.int64))
    test, mask, leaf = (np.zeros(n, of) for n, of in ((n_tests, int), (n_tests, np.uint32), (n_values, int)))
    plan_trees(
        trees.split_ptr, columns.column, columns.threshold, trees.left, trees.right,
        0 if walks else MOST_WORDS, np.empty((8, n_room), np.int64),
        word_ptr, value_ptr, kind, base, test_ptr, test, mask, leaf,
    )  # fmt: skip
    # Only some of the room was needed.
    n_tests, leaf = int(test_ptr[word_ptr[-1]]), leaf[: value_ptr[-1]].copy()
    split, exact = test[:n_tests] - 1, np.full(n_tests, np.inf)
    exact[split >= 0] = columns.threshold[split[split >= 0]]
    arrays = {
        "source": columns.source.astype(np.int32),
        "side": columns.side.astype(np.uint8),
        **_members(trees, columns),
        "column": np.where(split < 0, 0, columns.column[split]).astype(np.int32),
        "mask": mask[:n_tests].copy(),
        "kind": kind,
        "base": base,
        "test_ptr": test_ptr,
        "word_ptr": word_ptr,
        "value_ptr": value_ptr,
        "value": trees.leaf[leaf],
    }
    n_columns = len(columns.source) + len(columns.set_source)
    thresholds = {np.dtype(np.float64): read_only(exact), np.dtype(np.float32): read_only(_below(exact))}
    return Planned(
        TreePlan(**{name: read_only(values) for name, values in arrays.items()}, n_columns=n_columns),
        thresholds,
        read_only(features.astype(np.int32)),
        read_only(place),
        read_only(np.arange(len(features), dtype=np.int32)),
        leaf,
    )


def _columns_of(trees: Any, feature: Array) -> _Columns:
    """Return the columns of trees, of which each split tests the position ``feature`` among those used."""
    from directrix.models._kernels.plans import RIGHT, ZEROS

    is_set, by_zeros = trees.decision & CATEGORICAL != 0, trees.decision & ZERO != 0
    # Missing values of a split without a side for them count as 0.
    has_side = trees.decision & (ZERO | NAN) != 0
    goes_right = np.where(has_side, trees.decision & LEFT == 0, trees.threshold < 0.0)
    numbers, of_number = np.unique(
        (4 * feature + RIGHT * goes_right + ZEROS * by_zeros)[~is_set], return_inverse=True
    )
    n_sets, chosen = max(len(trees.categories), 1), trees.threshold[is_set].astype(np.int64)
    sets, of_set = np.unique(n_sets * feature[is_set] + chosen, return_inverse=True)
    column = np.empty(len(feature), dtype=np.int32)
    column[~is_set], column[is_set] = of_number, len(numbers) + of_set
    threshold = np.where(is_set, 0.5, trees.threshold)
    return _Columns(numbers // 4, numbers % 4, sets // n_sets, sets % n_sets, column, threshold)


def _members(trees: Any, columns: _Columns) -> dict[str, Array]:
    """Return the categories of every feature, and the columns of the sets that each is in."""
    (starts, together), chosen = trees.sets, columns.set_number
    sizes = np.diff(starts)[chosen]
    column = np.repeat(np.arange(len(chosen)), sizes)
    category = together[np.arange(len(column)) + (starts[chosen] - np.cumsum(sizes) + sizes)[column]]
    feature = columns.set_source[column]
    order = np.lexsort((category, feature))
    feature, category, column = feature[order], category[order], column[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(feature) != 0) | (np.diff(category) != 0)
    coded, code_ptr = np.unique(feature[is_new], return_index=True)
    return {
        "coded": coded.astype(np.int32),
        "code_ptr": np.append(code_ptr, is_new.sum()),
        "category": category[is_new],
        "member_ptr": np.append(np.flatnonzero(is_new), len(order)),
        "member": (len(columns.source) + column).astype(np.int32),
    }


def _below(exact: Array) -> Array:
    """Return the largest float32 up to each threshold: it separates float32 numbers in the same way."""
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
    return np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near)
