"""Walks that are remembered: the same bits as walking again, and counts of what comes by."""

from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.models.trees import Trees
from directrix.models.walks import RememberedWalks, means_from, row_counts, ways

pytest.importorskip("lightgbm")
RNG = np.random.default_rng(0)
Q = make_cubic(20, 15, 5, seed=0)


def trees_with_holes_and_categories():
    X = np.array(Q.features)
    X[:, 1] = RNG.integers(0, 12, len(X))
    X[RNG.random(len(X)) < 0.2, 2] = np.nan
    q = dx.Queries.from_arrays(X, Q.labels, group=[15] * 20, missing="nan")
    ranker = dx.BoostedRanker(n_trees=30, num_leaves=6, min_data_in_leaf=5, categorical_features=[1])
    return X, ranker.fit_queries(q).trees_


X, TREES = trees_with_holes_and_categories()


@pytest.mark.parametrize("column", range(5))
def test_after_a_change_the_scores_have_the_bits_of_predict(column):
    walks, changed = RememberedWalks(TREES, X), X.copy()
    changed[:, column] = RNG.permutation(changed[:, column])
    scores = walks.after(changed, np.array([column]))
    np.testing.assert_array_equal(scores, TREES.predict(changed))
    assert (scores != TREES.predict(X)).any() == (column in TREES.feature)
    np.testing.assert_array_equal(walks.after(X, np.array([column])), TREES.predict(X))


@pytest.mark.filterwarnings("ignore:the trained ranker gives all documents")
def test_trees_of_one_leaf_and_no_trees_have_nothing_to_walk():
    stump = dx.BoostedRanker(n_trees=2, min_data_in_leaf=10**6).fit_queries(Q).trees_
    for trees in (stump, Trees.none(5)):
        walks = RememberedWalks(trees, X)
        np.testing.assert_array_equal(walks.after(X, np.array([0])), trees.predict(X))
        assert len(ways(trees)[0]) == 0


def naive_counts(trees, rows):
    """Visits of every split and leaf by a walk in Python, for trees without categories."""
    splits, leaves = np.zeros(len(trees.feature), int), np.zeros(len(trees.leaf), int)
    for row in rows:
        for t, first in enumerate(trees.split_ptr[:-1]):
            node = 0 if trees.n_leaves[t] > 1 else -1
            while node >= 0:
                s = first + node
                splits[s] += 1
                node = trees.left[s] if row[trees.feature[s]] <= trees.threshold[s] else trees.right[s]
            leaves[first + t - 1 - node] += 1
    return splits, leaves


def test_counts_are_those_of_walks_and_at_least_1_in_a_leaf():
    trees = dx.BoostedRanker(n_trees=10, num_leaves=6, min_data_in_leaf=5).fit_queries(Q).trees_
    every = row_counts(trees, Q.features)
    for counted, naive in zip(every, naive_counts(trees, Q.features), strict=True):
        np.testing.assert_array_equal(counted, naive)
    splits, leaves = row_counts(trees, Q.features[:3])
    assert leaves.min() == 1
    assert (splits >= 2).all()


def test_more_leaves_than_16_bits_count_are_told_apart():
    n_splits = 2**17 - 1  # a whole tree: the children of split s are 2 s + 1 and 2 s + 2
    child = 2 * np.arange(n_splits)[:, None] + [1, 2]
    child = np.where(child < n_splits, child, n_splits - 1 - child).astype(np.int32)
    depth = np.log2(np.arange(1, n_splits + 1)).astype(np.int32)
    trees = Trees(
        18,
        n_leaves=np.array([n_splits + 1]),
        feature=depth,
        threshold=np.zeros(n_splits),
        decision=np.full(n_splits, 2, np.uint8),
        left=np.ascontiguousarray(child[:, 0]),
        right=np.ascontiguousarray(child[:, 1]),
        gain=np.zeros(n_splits),
        leaf=np.arange(n_splits + 1.0),
        count=np.zeros(n_splits + 1, np.uint32),
    )
    rows = RNG.choice([-1.0, 1.0], (50, 18))
    leaf = ((rows[:, :17] > 0) @ (1 << np.arange(16, -1, -1))).astype(int)
    np.testing.assert_array_equal(trees.predict(rows), leaf)
    np.testing.assert_array_equal(
        np.flatnonzero(row_counts(trees, np.tile(rows, (2, 1)))[1] > 1), np.unique(leaf)
    )
    changed = rows.copy()
    changed[:, 3] *= -1
    walks = RememberedWalks(trees, rows)
    np.testing.assert_array_equal(walks.after(changed, np.array([3])), trees.predict(changed))


def test_means_below_a_split_are_weighted_by_the_rows_of_the_leaves_and_do_not_overflow():
    splits, leaves = counts = row_counts(TREES, X)
    split, leaf = ways(TREES)
    expected = [
        sum(leaves[i] * TREES.leaf[i] for i in leaf[split == node]) / splits[node]
        for node in range(len(TREES.feature))
    ]
    np.testing.assert_allclose(means_from(TREES, counts), expected, rtol=1e-12)
    huge = replace(TREES, leaf=np.full(len(TREES.leaf), 1e308))
    np.testing.assert_allclose(means_from(huge, counts), 1e308, rtol=1e-12)
