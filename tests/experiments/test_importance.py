"""The importance of features: the formula written out, features that are not used, samples."""

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.experiments import permutation_importance
from tests.messages import rejects

Q = make_cubic(12, 9, 4, label_noise=0.1, seed=3)
RANKER = dx.LinearRanker().fit_queries(Q, measure="nDCG@5")


class Fixed:
    """A ranker whose scores are a function of the features."""

    def __init__(self, score, measure="nDCG@5"):
        self.score, self.measure_ = score, dx.measure(measure)

    def predict_queries(self, q):
        return self.score(np.asarray(q.features, dtype=np.float64))


def shuffled(q, column, repeat, seed):
    """The features with a column in a random order within every query, query by query."""
    keys = np.random.default_rng([seed, column, repeat]).random(q.n_docs)
    features = np.array(q.features)
    for low, high in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        features[low:high, column] = features[low:high, column][np.argsort(keys[low:high])]
    return features


def naive(ranker, q, measure, n_repeats, seed):
    """Falls of the measure for each query and feature."""

    def values(features):
        changed = dx.Queries.from_arrays(features, q.labels, group=np.diff(q.qptr))
        return measure(ranker.predict_queries(changed), q.labels, q.qptr)

    before = values(q.features)
    return np.array(
        [
            np.mean([before - values(shuffled(q, j, r, seed)) for r in range(n_repeats)], axis=0)
            for j in range(q.n_features)
        ]
    )


@pytest.mark.parametrize("name", ["nDCG@5", "AP"])
def test_it_is_the_mean_fall_over_queries_and_repeats(name):
    result = permutation_importance(RANKER, Q, name, n_repeats=3, seed=7)
    falls = naive(RANKER, Q, dx.measure(name), 3, 7)
    np.testing.assert_allclose(result.mean, falls.mean(axis=1), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.error, falls.std(axis=1, ddof=1) / np.sqrt(12), rtol=1e-9, atol=1e-15)
    assert result.ranked == list(np.argsort(-result.mean))
    assert (result.measure, result.n_queries, result.n_docs) == (name, 12, 108)
    assert result.names == ("feature 1", "feature 2", "feature 3", "feature 4")
    intact = dx.evaluate(name, RANKER.predict_queries(Q), Q.labels, qptr=Q.qptr)[name]
    np.testing.assert_allclose(result.value, intact, rtol=1e-12, atol=0)


def test_a_feature_that_is_not_used_has_importance_exactly_0():
    X = np.array(Q.features)
    X[:, 2] = 1.0  # constant in training: nothing can use it
    group = np.diff(Q.qptr)
    trees = dx.BoostedRanker(n_trees=5, min_data_in_leaf=3)
    trees.fit_queries(dx.Queries.from_arrays(X, Q.labels, group=group), measure="nDCG@5")
    for examined in (Fixed(lambda x: x[:, 0] - x[:, 1]), trees):
        result = permutation_importance(examined, Q)
        assert result.mean[2] == 0.0
        assert result.error[2] == 0.0
        assert result.mean[0] != 0.0


def test_a_value_per_query_ranks_nothing_and_has_importance_0():
    X = np.array(Q.features)
    X[:, 1] = np.repeat(np.arange(12.0), 9)
    q = dx.Queries.from_arrays(X, Q.labels, group=np.diff(Q.qptr))
    calls = []
    ranker = Fixed(lambda x: calls.append(1) or x[:, 0] * (1.0 + x[:, 1]))
    assert permutation_importance(ranker, q).mean[1] == 0.0
    assert len(calls) == 1 + 3 * 5  # nothing is scored for a column that did not change


def test_top_repeats_only_the_features_with_the_largest_first_fall():
    every = permutation_importance(RANKER, Q, seed=1)
    once = permutation_importance(RANKER, Q, n_repeats=1, seed=1)
    some = permutation_importance(RANKER, Q, top=2, seed=1)
    best = once.ranked[:2]
    others = once.ranked[2:]
    np.testing.assert_array_equal(some.mean[best], every.mean[best])
    np.testing.assert_array_equal(some.mean[others], once.mean[others])
    assert (every.mean != once.mean).any()


def test_few_features_are_those_that_move_the_scores():
    ranker = Fixed(lambda x: x[:, 3] + 0.5 * x[:, 1] + 1e-6 * x[:, 0])
    result = permutation_importance(ranker, Q, n_features=2)
    assert sorted(result.ranked) == [1, 3]
    assert np.isnan(result.mean[[0, 2]]).all()
    whole = permutation_importance(ranker, Q)
    np.testing.assert_array_equal(result.mean[[1, 3]], whole.mean[[1, 3]])
    del ranker.measure_  # a ranker of another library has none
    again = permutation_importance(ranker, Q, "nDCG@5", n_features=2)
    np.testing.assert_array_equal(again.mean, result.mean)


def test_a_sample_has_whole_queries_and_the_seed_decides_which():
    result = permutation_importance(RANKER, Q, n_docs=20, seed=4)
    assert (result.n_queries, result.n_docs) == (3, 27)
    again = permutation_importance(RANKER, Q, n_docs=20, seed=4)
    np.testing.assert_array_equal(result.mean, again.mean)
    assert (permutation_importance(RANKER, Q, n_docs=20, seed=5).mean != result.mean).any()
    assert permutation_importance(RANKER, Q, n_docs=10**6).n_queries == 12


def test_a_sample_says_so():
    """The values of a sample are not those of all queries that were given."""
    (table,) = permutation_importance(RANKER, Q, n_docs=20, seed=4).tables()
    assert any("Measured on 3 of 12 queries, drawn at random" in note for note in table.notes)
    (table,) = permutation_importance(RANKER, Q).tables()
    assert not any("drawn at random" in note for note in table.notes)


def test_the_headline_names_only_features_that_matter_more_than_by_chance():
    """One feature orders the documents; of 40 others some seem important, each alone, by chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30 * 12, 41))
    q = dx.Queries.from_arrays(X, np.digitize(X[:, 0], [0.5, 1.5]), group=[12] * 30)
    weights = np.append(1.0, np.full(40, 0.25))
    result = permutation_importance(Fixed(lambda X: X @ weights), q, n_repeats=1)
    assert sum(result.interval(j)[0] > 0.0 for j in range(1, 41)) > 0
    assert result.headline.startswith("most important: feature 1")
    few = permutation_importance(Fixed(lambda X: X[:, 0]), q.take([0]))
    assert few.headline == "no feature has an importance that is more than chance on 1 query"
    noise = permutation_importance(Fixed(lambda X: X[:, 1:] @ weights[1:]), q, n_repeats=1)
    assert "feature 1" not in noise.headline.split(", ")


def test_one_query_and_equal_falls_tell_no_error():
    one = permutation_importance(RANKER, Q.take([0]))
    assert np.isnan(one.error[:1]).all()
    assert one.interval(0) == (-np.inf, np.inf)
    assert "-inf" not in one.tables()[0].text()


def test_sparse_features_give_the_same():
    sparse = dx.Queries.from_arrays(sp.csr_array(Q.features), Q.labels, group=np.diff(Q.qptr))
    np.testing.assert_array_equal(
        permutation_importance(RANKER, sparse).mean, permutation_importance(RANKER, Q).mean
    )


def test_queries_without_a_value_do_not_count():
    labels = np.array(Q.labels)
    labels[:18] = 0.0
    q = dx.Queries.from_arrays(Q.features, labels, group=np.diff(Q.qptr))
    measure = dx.NDCG(k=5, empty="skip")
    result = permutation_importance(RANKER, q, measure, n_repeats=2, seed=1)
    falls = naive(RANKER, q, measure, 2, 1)
    assert np.isnan(falls[:, :2]).all()
    np.testing.assert_allclose(result.mean, falls[:, 2:].mean(axis=1), rtol=1e-12, atol=1e-15)


def test_names_come_from_the_data_or_the_ranker():
    named = dx.Queries.from_arrays(
        Q.features, Q.labels, group=np.diff(Q.qptr), feature_names=["a", "b", "c", "d"]
    )
    assert permutation_importance(RANKER, named, n_repeats=1).names == ("a", "b", "c", "d")
    ranker = dx.LinearRanker().fit_queries(named, measure="nDCG@5")
    assert permutation_importance(ranker, Q, n_repeats=1).names == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "wrong", [{"n_repeats": 0}, {"top": 0}, {"n_features": 1.5}, {"n_docs": -1}, {"seed": -1}]
)
def test_wrong_numbers_are_named(wrong):
    with pytest.raises(dx.InputError, match=next(iter(wrong))):
        permutation_importance(RANKER, Q, **wrong)


def test_no_queries_are_rejected():
    with rejects(dx.InputError):
        permutation_importance(RANKER, Q.take([]))
