"""Training runs that begin at equal scores: rankers and boosters move, trainers alone warn."""

import numpy as np
import pytest

import directrix as dx
from directrix.interop import lightgbm as for_lightgbm
from directrix.objectives.scores import ScoreObjective
from directrix.trainers import Continuation

WARNING = "has no slope where all scores are equal"
CUT = [
    "ApproxNDCG(k=3)",
    "ApproxPrecision(k=3)",
    "ApproxMeasure('nDCG@3')",
    "ApproxMeasure('R@3')",
    "SoftNDCG(k=3)",
]
STATIONARY = ["SmoothNDCG(k=3)", "SmoothAP"]
TRAINERS = ["lbfgs", "cg", "sgd", "adam"]


def one_relevant(n_docs, n_queries=20):
    """Queries with one relevant document, which the first feature shows."""
    rng = np.random.default_rng(n_docs)
    X, labels = rng.standard_normal((n_queries * n_docs, 4)), np.zeros(n_queries * n_docs)
    relevant = n_docs * np.arange(n_queries) + rng.integers(n_docs, size=n_queries)
    labels[relevant] = 1.0
    X[relevant, 0] += 3.0
    return dx.Queries.from_arrays(X, labels, group=[n_docs] * n_queries)


Q = one_relevant(100)


@pytest.mark.parametrize("trainer", ["lbfgs", "cg", "sgd", "adam"])
@pytest.mark.parametrize("surrogate", [*CUT[:3], "SmoothNDCG(k=3)"])
def test_trainers_of_the_papers_form_warn_and_stages_move(surrogate, trainer):
    kind = {"lbfgs": dx.LBFGS, "cg": dx.CG, "sgd": dx.SGD, "adam": dx.Adam}[trainer]
    objective = dx.linear_objective(Q, surrogate)
    with pytest.warns(UserWarning, match=WARNING):
        result = kind().minimize(objective, np.zeros(4))
    np.testing.assert_allclose(result.params, np.zeros(4), rtol=0, atol=1e-12)
    assert Continuation(kind()).minimize(objective, np.zeros(4)).params[0] > 0.01


@pytest.mark.parametrize("n_docs", [10, 100, 1000])
@pytest.mark.parametrize(
    "surrogate", [*CUT, *STATIONARY, "Gumbel('ApproxNDCG(k=3)')", "ApproxNDCG(k=3, alpha=1e3)"]
)
def test_rankers_move_from_equal_scores_towards_documents_far_below_the_cut_off(surrogate, n_docs):
    q = one_relevant(n_docs)
    rankers = [dx.LinearRanker(surrogate, trainer=one, start="zero", max_iter=3) for one in TRAINERS]
    rankers += [dx.StumpRanker(surrogate, max_iter=2, thresholds=4)]
    for ranker in rankers:
        ranker.fit_queries(q)
        assert np.abs(ranker.coef_).max() > 1e-5, ranker
    for settings in ({}, {"min_data_in_leaf": 5, "oblivious": False}):
        boosted = dx.BoostedRanker(surrogate, n_trees=2, **settings)
        assert np.ptp(boosted.fit_queries(q).predict_queries(q)) > 0.0


@pytest.mark.parametrize("surrogate", CUT)
def test_training_from_equal_scores_finds_the_feature(surrogate):
    ranker = dx.LinearRanker(surrogate, start="zero", max_iter=20).fit_queries(Q)
    assert np.abs(ranker.coef_).argmax() == 0
    assert dx.evaluate("RR", ranker.predict_queries(Q), Q.labels, qptr=Q.qptr)["RR"] > 0.6


def test_boosters_train_on_the_first_stage():
    """The gradient at equal scores is that of the share .9 of a discount without the cut-off."""
    given = Q.labels, np.zeros(Q.n_docs), None, np.diff(Q.qptr)
    gradient, curvature = for_lightgbm.objective("ApproxNDCG(k=3)")(*given)
    explicit, same = for_lightgbm.objective("ApproxNDCG(k=3, below=0.9)")(*given)
    assert gradient.any()
    np.testing.assert_array_equal(gradient, explicit)
    np.testing.assert_array_equal(curvature, same)


def test_a_boosted_ranker_reports_the_loss_of_its_surrogate():
    for surrogate in ("ApproxNDCG(k=3)", "SoftNDCG(k=3)"):
        ranker = dx.BoostedRanker(surrogate, n_trees=20, learning_rate=0.2).fit_queries(Q, Q)
        value, _ = dx.surrogate(surrogate).value_and_grad(ranker.predict_queries(Q), Q.labels, Q.qptr)
        np.testing.assert_allclose(ranker.result_.value, -value.mean(), rtol=1e-6)
        assert {row["share"] for row in ranker.result_.trace} == {0.9}
        assert ranker.surrogate_ == dx.surrogate(surrogate)


def test_there_is_no_warning_where_nothing_can_be_learned():
    equal = dx.Queries.from_arrays(Q.features, np.ones(Q.n_docs), group=np.diff(Q.qptr))
    loss, grad, _ = ScoreObjective(equal, dx.ApproxNDCG(k=5)).value_grad_curvature(np.zeros(Q.n_docs))
    assert np.isfinite(loss)
    assert np.abs(grad).max() < 1e-12
