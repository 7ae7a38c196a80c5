"""Explanations: ranks by values against brute force, groups, features left out, documents."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.experiments.explanation.effects import dependence
from tests.messages import rejects

_SINGLE = make_cubic(12, 9, 4, label_noise=0.1, seed=3)
# Scores have the type of the features, and contributions are float64. With float32 features they agree to
# about 1e-7 only, and the last bits depend on the processor.
Q = dx.Queries.from_arrays(_SINGLE.features.astype(np.float64), _SINGLE.labels, group=[9] * 12)
RANKER = dx.LinearRanker("ListNet", max_iter=20).fit_queries(Q, measure="nDCG@5")
EXPLANATION = dx.explain(RANKER, Q, groups={i: "even" if i % 2 == 0 else "odd" for i in range(10)}, train=Q)


def test_the_importance_is_that_of_permutations():
    from directrix.experiments import permutation_importance

    again = permutation_importance(RANKER, Q)
    np.testing.assert_array_equal(EXPLANATION.importance.mean, again.mean)
    j = again.ranked[0]
    low, high = again.interval(j)
    half = 2.200985 * again.error[j]  # t(11), 97.5 %
    np.testing.assert_allclose([low, high], [again.mean[j] - half, again.mean[j] + half], rtol=1e-5)


def test_large_data_are_shuffled_less_often(monkeypatch):
    import directrix.experiments.explanation.explain as module

    seen = []
    real = module.permutation_importance
    monkeypatch.setattr(
        module,
        "permutation_importance",
        lambda *args, **settings: seen.append(settings["n_repeats"]) or real(*args, **settings),
    )
    monkeypatch.setattr(module, "_SHUFFLED", 300)
    dx.explain(RANKER, Q, top=0)
    dx.explain(RANKER, Q, top=0, n_repeats=4)
    monkeypatch.setattr(module, "_SHUFFLED", 10)
    dx.explain(RANKER, Q, top=0)
    assert seen == [300 // 108, 4, 1]


def test_of_many_features_some_are_examined(monkeypatch):
    from directrix.experiments.explanation import explain as module

    monkeypatch.setattr(module, "_MOST_FEATURES", 2)
    monkeypatch.setattr(module, "_MOST_CELLS", 4 * 40)
    few = module.explain(RANKER, Q, top=1)
    assert len(few.importance.ranked) == 2
    assert few.importance.n_docs == 45
    assert "Examined: the 2 of 4 that move the scores most." in few.tables(5)[0].notes


def test_groups_have_the_means_of_their_queries():
    even, odd = EXPLANATION.groups
    falls = EXPLANATION.importance.falls
    assert (even.name, even.n_queries, odd.name, odd.n_queries) == ("even", 5, "odd", 5)
    np.testing.assert_allclose(even.mean, falls[:, [0, 2, 4, 6, 8]].mean(axis=1), rtol=1e-12)
    values = EXPLANATION.importance.values
    assert odd.value == pytest.approx(values[[1, 3, 5, 7, 9]].mean())
    half = 2.776445 * falls[0, [1, 3, 5, 7, 9]].std(ddof=1) / np.sqrt(5)  # t(4), 97.5 %
    np.testing.assert_allclose(odd.intervals[0], [odd.mean[0] - half, odd.mean[0] + half], rtol=1e-5)
    with rejects(dx.InputError):
        dx.explain(RANKER, Q, groups={"x": "a"})


def test_ranks_by_values_are_those_of_documents_with_these_values():
    """Every query has one document and two that do not change, so that the draws are known."""
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    q = dx.Queries.from_arrays(X, np.tile([1.0, 0.0, 0.0], 10), group=[3] * 10)

    class First:
        def predict_queries(self, q):
            return np.asarray(q.features[:, 0] + 0.1 * q.features[:, 1])

    found = dependence(First(), q, 0, "x", seed=0)
    assert (
        found.values.tolist()
        == np.quantile(X[:, 0], np.linspace(0.05, 0.95, 9), method="inverted_cdf").tolist()
    )
    draws = np.random.default_rng([0, 0])
    rows = [q.qptr[:-1] + draws.integers(0, np.diff(q.qptr)) for _ in range(3)]
    for value, rank in zip(found.values, found.rank, strict=True):
        ranks = []
        for drawn in rows:
            for query, row in enumerate(drawn):
                features = X.copy()
                features[row, 0] = value
                scores = First().predict_queries(
                    dx.Queries.from_arrays(features, q.labels, group=[len(q.labels)])
                )
                own = slice(3 * query, 3 * query + 3)
                ranks.append(1 + (scores[own] > scores[row]).sum())
        assert rank == pytest.approx(np.mean(ranks))
    assert (np.diff(found.rank) <= 0).all()  # a larger value never hurts


def test_documents_with_equal_scores_share_their_rank():
    q = dx.Queries.from_arrays(np.zeros((8, 1)), [1.0, 0.0, 0.0, 0.0] * 2, group=[4, 4])

    class Level:
        def predict_queries(self, q):
            return np.zeros(q.n_docs)

    found = dependence(Level(), q, 0, "x", seed=0)
    assert found.own_rank == 2.5
    assert found.rank.tolist() == [2.5]


def test_few_values_and_categories_are_tried_themselves():
    X = np.array(Q.features)
    X[:, 1] = np.arange(108) % 3
    q = dx.Queries.from_arrays(X, Q.labels, group=[9] * 12)
    assert dependence(RANKER, q, 1, "x", seed=0).values.tolist() == [0.0, 1.0, 2.0]
    explanation = dx.explain(RANKER, q, top=2)
    names = [explanation.importance.names[j] for j in explanation.importance.ranked[:2]]
    assert [one.feature for one in explanation.dependence] == names


def test_left_out_is_a_training_without_the_feature():
    without = EXPLANATION.left_out
    j = EXPLANATION.importance.ranked[0]
    X = np.delete(np.array(Q.features), j, axis=1)
    q = dx.Queries.from_arrays(X, Q.labels, group=[9] * 12)
    again = dx.LinearRanker("ListNet", max_iter=20).fit_queries(q, measure="nDCG@5")
    fall = RANKER.measure_(RANKER.predict_queries(Q), Q.labels, Q.qptr) - RANKER.measure_(
        again.predict_queries(q), q.labels, q.qptr
    )
    np.testing.assert_allclose(without.falls[without.columns.index(j)], fall, atol=1e-9)
    assert without.mean(j) == pytest.approx(fall.mean())
    assert without.interval(j)[0] < fall.mean() < without.interval(j)[1]
    assert without.value == pytest.approx(EXPLANATION.importance.value)


def test_a_sparse_feature_is_left_out_too():
    import scipy.sparse as sp

    sparse = dx.Queries.from_arrays(sp.csr_array(Q.features), Q.labels, group=[9] * 12)
    found = dx.explain(RANKER, sparse, train=sparse, top=1)
    j = found.left_out.columns[0]
    np.testing.assert_allclose(found.left_out.mean(j), EXPLANATION.left_out.mean(j), atol=1e-9)


def test_a_query_and_a_pair_say_what_scores_are_made_of():
    scores = RANKER.predict_queries(Q.take([2]))
    ranked = EXPLANATION.query(2, top=3)
    assert ranked.documents == tuple(str(i + 1) for i in np.argsort(-scores, kind="stable")[:3])
    np.testing.assert_allclose(ranked.contributions.sum(axis=1), ranked.scores - scores.mean(), atol=1e-9)
    first, second = ranked.documents[:2]
    pair = EXPLANATION.pair("2", second, first)
    assert pair.documents == (first, second)
    assert pair.ranks == (1, 2)
    assert pair.contributions.sum() == pytest.approx(ranked.scores[0] - ranked.scores[1])
    assert str(pair).startswith(f"{first} is above {second} by ")
    assert pair.names[pair.ranked[0]] in str(pair)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: EXPLANATION.query("nowhere"),
            "there is no query 'nowhere'; the data have 12 queries, 0 to 11",
        ),
        (lambda: EXPLANATION.pair(2, "1", "77"), "query 2 has no document '77'; it has 9: 1, 2, 3"),
        (lambda: EXPLANATION.pair(2, 4, 4), "the same document"),
        (lambda: dx.explain(RANKER, "x"), "explain"),
        (lambda: dx.explain(RANKER, Q, top=-1), "top"),
    ],
)
def test_what_does_not_exist_is_named(call, words):
    with pytest.raises(dx.InputError, match=words):
        call()


def test_documents_with_equal_scores_say_so():
    X = np.zeros((4, 2))
    X[3] = 1.0
    q = dx.Queries.from_arrays(X, [0, 1, 0, 1], group=[4])
    explanation = dx.explain(dx.LinearRanker("ListNet").fit_queries(q, measure="AP"), q)
    assert str(explanation.pair(0, 1, 2)) == "1 and 2 have the same score."


def test_progress_counts_the_trainings():
    seen = []
    dx.explain(RANKER, Q, train=Q, top=2, progress=lambda *step: seen.append(step[:2]))
    assert seen == [(0, 3), (1, 3), (2, 3)]


def test_the_page_puts_every_table_under_its_title():
    from directrix.reports.explanation import explanation_report

    groups = dict.fromkeys(range(12), "all")
    without = dx.explain(RANKER, Q, groups=groups, top=0)
    report = explanation_report(without, 3, model="m", data="d", command="c", seed=0)
    assert [(section.title, section.tables[0].title.split(" for ")[0]) for section in report.sections] == [
        ("What the features are worth", "Importance of features"),
        ("Groups of queries", "Groups of queries"),
    ]
