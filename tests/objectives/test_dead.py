"""Trainings that begin at equal scores: with a slope there they move, without one they warn."""

import numpy as np
import pytest

import directrix as dx
from directrix.interop import lightgbm as for_lightgbm
from directrix.objectives.scores import ScoreObjective

Q, _ = dx.data.make_linear(20, 40, 5, seed=0)
WARNING = "has no slope where all scores are equal"
DEAD = ["ApproxNDCG(k=5, below=0)", "ApproxPrecision(k=5, below=0)", "ApproxMeasure('nDCG@5', below=0)"]


@pytest.mark.parametrize("trainer", ["lbfgs", "cg", "sgd", "adam"])
@pytest.mark.parametrize("surrogate", [*DEAD, "SmoothNDCG(k=5)"])
def test_trainers_that_cannot_begin_warn(surrogate, trainer):
    with pytest.warns(UserWarning, match=WARNING):
        ranker = dx.LinearRanker(surrogate, trainer=trainer, start="zero", max_iter=2).fit_queries(Q)
    np.testing.assert_allclose(ranker.coef_, np.zeros(5), rtol=0, atol=1e-12)


@pytest.mark.parametrize("surrogate", DEAD)
def test_boosters_that_cannot_begin_warn(surrogate):
    with pytest.warns(UserWarning, match=WARNING):
        dx.BoostedRanker(surrogate, n_trees=1).fit_queries(Q)
    with pytest.warns(UserWarning, match=WARNING):
        for_lightgbm.objective(surrogate)(Q.labels, np.zeros(Q.n_docs), None, np.diff(Q.qptr))


@pytest.mark.parametrize("surrogate", ["ApproxNDCG(k=5)", "ApproxPrecision(k=5)", "ApproxMeasure('nDCG@5')"])
def test_cut_offs_train_from_equal_scores(surrogate):
    ranker = dx.LinearRanker(surrogate, start="zero", max_iter=20).fit_queries(Q)
    assert ranker.score(Q.features, Q.labels, qid=np.repeat(Q.query_ids, np.diff(Q.qptr))) > 0.9


def test_there_is_no_warning_where_nothing_can_be_learned():
    equal = dx.Queries.from_arrays(Q.features, np.ones(Q.n_docs), group=np.diff(Q.qptr))
    loss, grad, _ = ScoreObjective(equal, dx.ApproxNDCG(k=5, below=0)).value_grad_curvature(
        np.zeros(Q.n_docs)
    )
    assert np.isfinite(loss)
    assert np.abs(grad).max() < 1e-12
