"""Oblivious trees: splits of brute force, scores of the model as in training, any form of data."""

import itertools

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.objectives.scores import ScoreObjective
from directrix.trainers.bins import Bins
from directrix.trainers.boosting import Boosting
from directrix.trainers.oblivious import ObliviousTrees
from tests.messages import rejects

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((400, 5)), 1)
X[:, 0] = np.round(X[:, 0])  # few values
X[:, 1] = np.where(RNG.random(400) < 0.7, 0.0, X[:, 1])  # one that is frequent
X[RNG.random(X.shape) < 0.1] = np.nan
X[:, 4] = np.nan_to_num(X[:, 4])  # never missing
Y = RNG.integers(0, 3, 400) + 2.0 * (np.nan_to_num(X[:, 2]) > 0) * np.isnan(X[:, 3])
SIZES = np.full(40, 10)


def queries(X, y=Y):
    return dx.Queries.from_arrays(X, y, group=SIZES, missing="nan")


def brute(X, grad, curvature, depth, rate, l2):
    """Splits, values and gain of a tree, by trying every threshold of every level."""
    leaf, splits = np.zeros(len(X), dtype=int), []

    def loss(leaf):
        g, h = np.bincount(leaf, grad), np.bincount(leaf, curvature)
        return -(g**2 / (h + l2)).sum()

    for _ in range(depth):
        tried = []
        for f in range(X.shape[1]):
            x = X[:, f]
            values = np.unique(x[~np.isnan(x)])
            for cut, left in itertools.product(range(len(values)), (False, True)):
                right = np.where(np.isnan(x), not left, x > values[cut])
                if 0 < right.sum() < len(x):
                    tried.append((loss(2 * leaf + right), f, cut, right))
        _, f, cut, right = min(tried, key=lambda one: one[0])
        splits.append((f, cut))
        leaf = 2 * leaf + right
    g, h = np.bincount(leaf, grad), np.bincount(leaf, curvature)
    return splits, (-rate * g / (h + l2))[leaf], loss(np.zeros_like(leaf)) - loss(leaf)


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_the_splits_and_values_are_those_of_brute_force(l2):
    grad, curvature = RNG.standard_normal(400).astype(np.float32), RNG.random(400).astype(np.float32) + 0.5
    bins = Bins.of(X, 254)
    settings, zeros = Boosting(num_leaves=8, learning_rate=0.3), np.zeros(400)
    grower = ObliviousTrees(settings, bins, None, (zeros, zeros), l2, 0)
    assert not grower.add(grad, curvature)
    splits, scores, gain = brute(X, grad.astype(float), curvature.astype(float), 3, 0.3, l2)
    assert [(f, cut) for f, cut, _ in grower._grown[0].splits] == splits
    np.testing.assert_allclose(grower.scores(), scores, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(grower.trees(1).predict(X), grower.scores())
    assert grower.trees(1).gain.sum() == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{}, {"num_leaves": 512, "l2": 0.0}, {"subsample": 0.5, "feature_fraction": 0.5, "n_bags": 3}],
    ids=str,
)
def test_the_model_has_the_scores_of_its_training(settings):
    train, valid = queries(X).take(range(25)), queries(X).take(range(25, 40))
    ranker = dx.BoostedRanker(n_trees=20, patience=None, **settings).fit_queries(train, valid)
    best = ranker.result_.counts["best"]
    assert ranker.score(valid.features, valid.labels, qid=np.repeat(np.arange(15), 10)) == pytest.approx(
        ranker.result_.trace[best]["score"], abs=1e-12
    )
    trees = ranker.trees_
    assert (trees.count > 0).all()
    ends = np.cumsum(trees.n_leaves)
    assert (np.add.reduceat(trees.count.astype(int), np.append(0, ends[:-1])) == train.n_docs).all()
    read = lightgbm.Booster(model_str=trees.to_lightgbm())
    np.testing.assert_array_equal(read.predict(X), trees.predict(X))


def test_sparse_features_and_any_number_of_threads_give_the_same_trees():
    dense = np.where(RNG.random((400, 300)) < 0.8, 0.0, RNG.standard_normal((400, 300)))
    grown = []
    before = dx.set_threads(1)
    try:
        for features, threads in [(dense, 1), (np.asfortranarray(dense), 3), (sp.csr_array(dense), 2)]:
            dx.set_threads(threads)
            grown.append(dx.BoostedRanker(n_trees=5).fit_queries(queries(features)).trees_)
    finally:
        dx.set_threads(before)
    assert grown[0] == grown[1] == grown[2]


def test_so_many_features_that_their_histograms_do_not_fit_are_for_lightgbm():
    wide = sp.csr_array(([1.0] * 400, (range(400), [0, 1] * 200)), shape=(400, 200_000))
    ranker = dx.BoostedRanker(n_trees=1).fit_queries(queries(wide))
    assert (ranker.trees_.decision & 2).any()  # LightGBM marks every split so
    with rejects(dx.InputError):
        dx.BoostedRanker(n_trees=1, oblivious=True).fit_queries(queries(wide))


def test_missing_values_that_training_did_not_have_count_as_zero():
    ranker = dx.BoostedRanker(n_trees=10).fit_queries(queries(X[:, [4]]))
    unseen, zero = np.full((1, 1), np.nan), np.zeros((1, 1))
    assert ranker.predict(unseen, missing="nan") == ranker.predict(zero)
    judged = Bins.of(X[:, [4]], 127).filled(np.array([[np.nan], [0.0]])).columns
    assert judged[0, 0] == judged[0, 1]


def test_a_bin_lies_between_two_values_and_frequent_values_take_one():
    close = np.array([1.0, np.nextafter(1.0, 2.0)])
    (cuts,) = Bins.of(close[:, None], 127).cuts
    assert (close > cuts[0]).tolist() == [False, True]
    many = np.append(np.zeros(9000), RNG.standard_normal(1000))[:, None]
    bins = Bins.of(many, 50)
    assert len(bins.cuts[0]) >= 40  # quantiles would give 6
    assert np.bincount(bins.columns[0])[:-1].max() >= 9000
    huge = np.array([[-1.7e308], [1.7e308]])
    assert np.isfinite(Bins.of(huge, 127).cuts[0]).all()


@pytest.mark.parametrize(
    "only_of_lightgbm",
    [
        {"surrogate": "lambdarank"},
        {"min_data_in_leaf": 5},
        {"lightgbm_params": {"max_depth": 3}},
        {"monotone": {4: 1}},
        {"categorical_features": [4]},
        {"num_leaves": 2000},
        {"max_bin": 255},
    ],
    ids=str,
)
def test_what_only_lightgbm_does_is_done_by_it_and_not_by_oblivious_trees(only_of_lightgbm, monkeypatch):
    data = queries(np.abs(np.round(X)))
    with rejects(dx.InputError):
        dx.BoostedRanker(n_trees=1, oblivious=True, **only_of_lightgbm).fit_queries(data)
    monkeypatch.setattr("directrix.trainers.boosting.oblivious_bags", None)
    dx.BoostedRanker(n_trees=1, **only_of_lightgbm).fit_queries(data)


def test_a_tree_of_two_leaves_is_that_of_lightgbm():
    data = queries(np.nan_to_num(X))
    objective = ScoreObjective(data, dx.ApproxNDCG())
    _, ours = Boosting(n_trees=1, num_leaves=2).grow(data, objective)
    _, theirs = Boosting(n_trees=1, num_leaves=2, oblivious=False, min_data_in_leaf=1).grow(data, objective)
    assert ours.feature[0] == theirs.feature[0]
    np.testing.assert_allclose(
        ours.predict(data.features), theirs.predict(data.features), rtol=1e-4, atol=1e-9
    )  # LightGBM keeps gradients in float32
