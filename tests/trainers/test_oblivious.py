"""Oblivious trees: splits of brute force, scores of the model as in training, any form of data."""

import itertools

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.objectives.scores import ScoreObjective
from directrix.trainers._kernels.oblivious import BITS, count_leaves, pack_pulls
from directrix.trainers.bins import Bins
from directrix.trainers.boosting import Boosting
from directrix.trainers.oblivious import BinnedDocuments, ObliviousTrees
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


class Given:
    """An objective with a gradient and a curvature that do not depend on the scores, or the first does."""

    def __init__(self, grad, curvature):
        self.pulls = grad, curvature

    def value_grad_curvature(self, scores, *draw, is_dead=None):
        grad, curvature = self.pulls
        return 0.0, grad(scores) if callable(grad) else grad, curvature


def grow(grower, grad, curvature):
    """Grow a tree; return whether no split helps."""
    grower.begin(Given(grad, curvature))
    return grower.add()


def brute(X, grad, curvature, depth, l2):
    """Splits, leaves and gain of a tree, by trying every threshold of every level."""
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
    return splits, leaf, loss(np.zeros_like(leaf)) - loss(leaf)


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_the_splits_and_values_are_those_of_brute_force(l2):
    # Powers of two change no bit of what follows, so the numbers may have any size.
    grad, curvature = 2.0**40 * RNG.standard_normal(400), 2.0**-90 * (RNG.random(400) + 0.5)
    unit = curvature.mean()
    settings = Boosting(num_leaves=8, learning_rate=0.3)
    grower = ObliviousTrees(settings, BinnedDocuments(Bins.of(X, 254), np.zeros(400)), None, l2, 0)
    assert not grow(grower, grad, curvature)
    rounded = (np.rint(a / (u := 2.0 ** (np.frexp(a.max())[1] - BITS))) * u / unit for a in (grad, curvature))
    splits, leaf, gain = brute(X, *rounded, 3, l2)
    assert [(f, cut) for f, cut, _ in grower._grown[0][1].splits] == splits
    g, h = np.bincount(leaf, grad / unit), np.bincount(leaf, curvature / unit)
    np.testing.assert_allclose(grower.scores(), (-0.3 * g / (h + l2))[leaf], rtol=1e-12)
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
    monkeypatch.setattr("directrix.trainers.boosting.ObliviousTrees", None)
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


@pytest.mark.parametrize("n_docs", [1, 4095, 32768, 32769, 200_000])
@pytest.mark.parametrize("kind", ["random", "constant"])
def test_sums_are_those_of_whole_numbers_of_any_size(n_docs, kind):
    """A constant feature has every document in one bin; its sum is the largest that a bin can have."""
    rng = np.random.default_rng(n_docs)
    grad, curvature = rng.standard_normal(n_docs), rng.random(n_docs)
    if kind == "constant":
        grad[:], curvature[:] = -1.999, 1.999
    scales = tuple(2.0 ** (BITS - np.frexp(np.abs(a).max())[1]) for a in (grad, curvature))
    n_features = 7  # four at a time, and three more
    bins = rng.integers(0, 1 if kind == "constant" else 255, (n_features, n_docs)).astype(np.uint8)
    order, packed = rng.permutation(n_docs).astype(np.uint32), np.empty(n_docs, np.int64)
    for leaf in np.split(order, [n_docs // 3]):
        leaf.sort()
    pack_pulls(grad, curvature, order, scales, 0, n_docs, packed)
    sums = np.empty((n_features, 2, 255, 2), np.int64)
    starts = np.array([0, n_docs // 3, n_docs])
    count_leaves(bins, np.arange(n_features), 0, n_features, order, packed, starts, np.arange(2), sums)
    whole = [[int(v) for v in np.rint(a * s)] for a, s in zip((grad, curvature), scales, strict=True)]
    for f, leaf in itertools.product(range(n_features), range(2)):
        wanted = [[0, 0] for _ in range(255)]
        for i in order[starts[leaf] : starts[leaf + 1]]:
            for side in range(2):
                wanted[bins[f, i]][side] += whole[side][i]
        assert sums[f, leaf].tolist() == wanted


def test_large_weights_of_few_documents_leave_the_leaves_of_others_exact():
    """A document with a gradient of a million rounds those of the others to nothing, in splits alone."""
    is_heavy, grad = np.arange(400) == 0, np.where(np.arange(400) == 0, 1e6, 1e-3 * (1 + np.arange(400) % 2))
    settings = Boosting(num_leaves=2, learning_rate=1.0)
    documents = BinnedDocuments(Bins.of(is_heavy[:, None].astype(float), 254), np.zeros(400))
    grower = ObliviousTrees(settings, documents, None, 0.0, 0)
    assert not grow(grower, grad, np.ones(400))
    assert grower.scores()[0] == pytest.approx(-1e6, rel=1e-9)
    np.testing.assert_allclose(grower.scores()[1:], -grad[1:].mean(), rtol=1e-6)


def test_any_block_of_documents_and_any_number_of_threads_give_the_same_tree(monkeypatch):
    rng = np.random.default_rng(3)
    features = rng.standard_normal((3000, 9))
    grad, curvature = rng.standard_normal(3000), rng.random(3000)
    grown = []
    before = dx.set_threads(1)
    try:
        for docs, cells, threads in [(1 << 14, 1 << 21, 1), (64, 1, 3), (1000, 20_000, 2)]:
            monkeypatch.setattr("directrix.trainers.oblivious._DOCS_A_CHUNK", docs)
            monkeypatch.setattr("directrix.trainers.oblivious._CELLS_A_CHUNK", cells)
            dx.set_threads(threads)
            documents = BinnedDocuments(Bins.of(features, 127), np.zeros(3000))
            grower = ObliviousTrees(Boosting(subsample=0.7), documents, None, 20.0, 0)
            for _ in range(3):
                grow(grower, lambda scores: grad - scores, curvature)
            grown.append((grower.trees(3), grower.scores().tobytes()))
    finally:
        dx.set_threads(before)
    assert grown[0] == grown[1] == grown[2]


@pytest.mark.parametrize("n_bags", [1, 2])
def test_features_without_a_split_end_no_training_when_they_are_drawn(n_bags):
    """Nine of ten columns are constant, so most trees have no feature to split."""
    rng = np.random.default_rng(0)
    features = np.zeros((400, 10))
    features[:, 3] = rng.standard_normal(400)
    data = queries(features, np.digitize(features[:, 3] + rng.standard_normal(400), [0.0, 1.0]))
    train, valid = data.take(range(25)), data.take(range(25, 40))
    ranker = dx.BoostedRanker(
        n_trees=40, feature_fraction=0.1, n_bags=n_bags, random_state=3, patience=None
    ).fit_queries(train, valid)
    best = ranker.result_.counts["best"]
    assert 0 < ranker.trees_.n_trees <= n_bags * best
    assert ranker.result_.counts["iterations"] == 40
    measured = ranker.score(valid.features, valid.labels, qid=np.repeat(np.arange(15), 10))
    assert measured == pytest.approx(ranker.result_.trace[best]["score"], abs=1e-12)
