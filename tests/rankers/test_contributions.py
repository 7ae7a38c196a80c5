"""Contributions to scores: sums, and each kind of model against its definition."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.models.walks import row_counts
from directrix.rankers.contributions import Contributions, reordered_scores

pytest.importorskip("lightgbm")
Q = make_cubic(12, 9, 4, label_noise=0.1, seed=3)
SMALL = {"n_trees": 8, "num_leaves": 5, "min_data_in_leaf": 4}
NET = {"hidden": (6, 6), "max_iter": 20, "random_state": 0}
UNFITTED = {
    "linear": dx.LinearRanker("ListNet", max_iter=20),
    "scales side by side": dx.LinearRanker("ListNet", scale="raw+query-percentile", max_iter=20),
    "stumps": dx.StumpRanker("ListNet", thresholds=6, max_iter=20),
    "trees": dx.BoostedRanker(**SMALL),
    "trees of scaled features": dx.BoostedRanker(scale="raw+query-standard", **SMALL),
    "tanh": dx.MLPRanker("ListNet", activation="tanh", residual=True, scale="standard", **NET),
    "relu": dx.MLPRanker("ListNet", scale="standard", **NET),
}
UNFITTED["ensemble"] = dx.EnsembleRanker([UNFITTED[name] for name in ("linear", "trees", "tanh")])
RANKERS = {name: ranker.fit_queries(Q, measure="nDCG@5") for name, ranker in UNFITTED.items()}
EXACT = {"rtol": 0, "atol": 1e-6}


@pytest.mark.parametrize("name", RANKERS)
def test_they_add_up_to_the_difference_of_scores(name):
    ranker, query = RANKERS[name], Q.take([4])
    scores, contributions = ranker.predict_queries(query), Contributions(ranker, Q)
    close = {"rtol": 0, "atol": (1e-2 if name == "relu" else 1e-5) * np.ptp(scores)}  # kinks on the paths
    parts = contributions.of(query, slice(None), slice(None))
    assert parts.shape == (9, 4)
    np.testing.assert_allclose(parts.sum(axis=1), scores - scores.mean(), **close)
    pair = contributions.of(query, [2], [5])
    np.testing.assert_allclose(pair.sum(), scores[2] - scores[5], **close)


@pytest.mark.parametrize("name", RANKERS)
def test_values_that_changed_places_score_as_if_all_were_predicted_again(name):
    ranker, scores = RANKERS[name], reordered_scores(RANKERS[name], Q)
    for column in range(4):
        order = np.concatenate([9 * i + np.random.default_rng(i).permutation(9) for i in range(12)])
        X = np.array(Q.features)
        X[:, column] = X[order, column]
        wanted = ranker.predict_queries(dx.Queries.from_arrays(X, Q.labels, group=[9] * 12))
        np.testing.assert_allclose(scores(column, order), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scores(0, np.arange(108)), ranker.predict_queries(Q), rtol=1e-12)


def test_those_of_a_linear_model_are_weights_times_differences():
    ranker, query = RANKERS["linear"], Q.take([1])
    X = query.features
    parts = Contributions(ranker, Q).of(query, slice(None), slice(None))
    np.testing.assert_allclose(parts, ranker.coef_ * (X - X.mean(axis=0)), **EXACT)


def test_those_of_two_scales_of_a_feature_are_added():
    ranker, query = RANKERS["scales side by side"], Q.take([1])
    X = query.features
    percentiles = (X[:, None] > X[None]).mean(axis=1) * 9 / 8
    columns = ranker.coef_ * np.hstack([X[0] - X[3], percentiles[0] - percentiles[3]])
    parts = Contributions(ranker, Q).of(query, [0], [3])
    np.testing.assert_allclose(parts[0], columns[:4] + columns[4:], **EXACT)


def shapley(trees, counts, x):
    """Shapley values of the scores of one row; absent features follow both branches, by their rows."""
    splits, leaves = counts

    def expected(tree, node, known):
        first = trees.split_ptr[tree]
        if node < 0:
            return trees.leaf[first + tree - 1 - node]
        s = first + node
        children = trees.left[s], trees.right[s]
        if trees.feature[s] in known:
            return expected(tree, children[int(x[trees.feature[s]] > trees.threshold[s])], known)
        sizes = [splits[first + c] if c >= 0 else leaves[first + tree - 1 - c] for c in children]
        parts = [size * expected(tree, c, known) for size, c in zip(sizes, children, strict=True)]
        return sum(parts) / sum(sizes)

    def value(known):
        roots = np.where(trees.n_leaves > 1, 0, -1)
        return sum(expected(tree, root, known) for tree, root in enumerate(roots))

    n, found = len(x), np.zeros(len(x))
    for f in range(n):
        others = [g for g in range(n) if g != f]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for known in combinations(others, size):
                found[f] += weight * (value({*known, f}) - value(set(known)))
    return found


def test_those_of_trees_are_shapley_values():
    ranker, query = RANKERS["trees"], Q.take([7])
    counts = row_counts(ranker.trees_, Q.features)
    naive = [shapley(ranker.trees_, counts, query.features[i]) for i in (0, 3)]
    parts = Contributions(ranker, Q).of(query, [0], [3])
    np.testing.assert_allclose(parts[0], naive[0] - naive[1], rtol=1e-9, atol=1e-12)


def test_those_of_a_network_are_integrals_of_its_slopes():
    ranker, query = RANKERS["tanh"], Q.take([7])
    X = np.asarray(ranker.scale_.apply(query.features, query.qptr))
    model, params = ranker.model_.model, ranker.model_.params
    parts, step, middles = (
        Contributions(ranker, Q).of(query, [0], [3])[0],
        1e-5,
        (np.arange(2000) + 0.5) / 2000,
    )
    for f in range(4):
        rows = X[3] + middles[:, None] * (X[0] - X[3])
        moved = step * np.eye(4)[f]
        slopes = (model.forward(params, rows + moved)[0] - model.forward(params, rows - moved)[0]) / (
            2 * step
        )
        assert parts[f] == pytest.approx((X[0, f] - X[3, f]) * slopes.mean(), abs=1e-6)


def test_a_ranker_of_another_library_has_none():
    with rejects(dx.InputError):
        Contributions(object(), Q)
