"""Errors of surrogates along a training, and the theorems about them, against plain loops."""

import numpy as np
import pytest

from directrix.data.synthetic import make_cubic
from directrix.errors import InputError
from directrix.experiments.surrogate_error import Approximation, approximation
from directrix.laws.bounds import BOUNDS, ap_bound, bounds_of, ndcg_bound, rank_bounds
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import linear_objective, make_objective
from directrix.surrogates.approx import ApproxAP, ApproxNDCG, ApproxPrecision
from directrix.surrogates.losses import RankNet
from directrix.trainers.full_gradients import LBFGS
from directrix.trainers.stochastic import SGD
from tests.messages import rejects

TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])
ONE = np.array([0, 5])


@pytest.fixture(scope="module")
def q():
    return make_cubic(8, 12, 4, seed=3)


def logistic_ranks(scores, alpha):
    return np.array([1 + sum(1 / (1 + np.exp(alpha * (s - t))) for t in scores) - 0.5 for s in scores])


def true_ranks(scores):
    return np.array([1 + sum(t > s for t in scores) for s in scores])


@pytest.mark.parametrize("surrogate", [ApproxAP(alpha=5.0), ApproxNDCG(alpha=5.0), ApproxPrecision(k=3)])
def test_errors_are_those_of_the_parameters_after_each_epoch(q, surrogate):
    found = approximation(q, surrogate, trainer=SGD(learning_rate=0.1, epochs=4, random_state=1))
    assert found.epochs.tolist() == [1, 2, 3, 4]
    for epoch in (1, 4):
        objective = linear_objective(q, surrogate)
        params = SGD(learning_rate=0.1, epochs=epoch, random_state=1).minimize(objective, np.zeros(4)).params
        scores = objective.scores(params).astype(np.float64)
        value, _ = surrogate.value_and_grad(scores, q.labels, q.qptr)
        error = np.abs(value - surrogate.measure(scores, q.labels, q.qptr))
        assert error.max() > 1e-3
        np.testing.assert_allclose(found.errors[epoch - 1], error, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.rho[epoch - 1], error.mean(), rtol=1e-12, atol=0)


def test_any_trainer_and_any_model_will_do(q):
    found = approximation(q, "ApproxAP(alpha=5.0)", trainer=LBFGS(max_iter=3))
    assert len(found.rho) == 3
    model = MLPModel((2,))
    start = np.random.default_rng(0).standard_normal(model.n_params(4))
    objective = make_objective(q, ApproxNDCG(alpha=5.0), model)
    assert len(approximation(objective, trainer=SGD(epochs=2), start=start).rho) == 2


def test_bounds_of_the_papers_example():
    labels = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    eps = np.abs(logistic_ranks(TABLE_1, 100.0) - true_ranks(TABLE_1)).max()
    assert round(eps, 5) == 0.00118
    ap = bounds_of(ApproxAP(alpha=100.0, beta=100.0), TABLE_1, labels, ONE)
    assert ap["ranks"][0] < 0.0024
    np.testing.assert_allclose(ap["ranks"][0], ap_bound(eps, 1, 100.0), rtol=1e-6, atol=0)
    ndcg = bounds_of(ApproxNDCG(alpha=100.0), TABLE_1, labels, ONE)
    np.testing.assert_allclose(ndcg["ranks"][0], 0.00085, rtol=0, atol=5e-6)
    np.testing.assert_allclose(
        ndcg["gap"][0], ndcg_bound(rank_bounds(TABLE_1, 100.0).max()), rtol=1e-12, atol=0
    )


def test_the_bound_of_the_relevant_documents_uses_only_their_ranks():
    scores = np.array([3.0, 1.0, 0.99, 0.0, -1.0])
    labels = np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    found = bounds_of(ApproxNDCG(alpha=10.0), scores, labels, ONE)
    off = np.abs(logistic_ranks(scores, 10.0) - true_ranks(scores))
    assert off[[0, 4]].max() < 1e-3 < off.max()
    np.testing.assert_allclose(found["relevant"], ndcg_bound(off[[0, 4]].max()), rtol=1e-6, atol=0)
    np.testing.assert_allclose(found["ranks"], ndcg_bound(off.max()), rtol=1e-6, atol=0)
    # the nearest scores of these two are 2 and 1 away, the least gap of all is .01
    np.testing.assert_allclose(found["gaps"], ndcg_bound(4 / (np.exp(10.0) + 1)), rtol=1e-9, atol=0)
    assert np.isnan(found["gap"][0])


@pytest.mark.parametrize("surrogate", [ApproxAP(alpha=30.0, beta=5.0), ApproxNDCG(alpha=30.0)])
def test_no_error_is_above_a_bound_and_tighter_ones_are_lower(surrogate):
    rng = np.random.default_rng(5)
    sizes = rng.integers(2, 9, 300)
    qptr = np.concatenate([[0], np.cumsum(sizes)])
    scores = rng.normal(0.0, 2.0, qptr[-1])
    labels = rng.integers(0, 3, qptr[-1]).astype(np.float64)
    value, _ = surrogate.value_and_grad(scores, labels, qptr)
    error = np.abs(value - surrogate.measure(scores, labels, qptr))
    found = bounds_of(surrogate, scores, labels, qptr)
    gap, gaps, ranks, relevant = (found[kind] for kind in BOUNDS)
    for bound in (gap, gaps, ranks, relevant):
        known = ~np.isnan(bound)
        assert 50 < known.sum() < 300
        assert (error[known] <= bound[known] + 1e-12).all()
        assert (bound[known] < 1.0).all()
    both = ~np.isnan(gap)
    assert (relevant[both] <= ranks[both] + 1e-12).all()
    assert (ranks[both] <= gap[both] + 1e-12).all()
    assert (gaps[both] <= gap[both] + 1e-12).all()
    theirs = ~np.isnan(gaps)
    assert (relevant[theirs] <= gaps[theirs] + 1e-12).all()


def test_theorems_say_nothing_of_ties_and_of_queries_without_relevant_documents():
    scores = np.array([2.0, 3.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    labels = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    qptr = np.array([0, 2, 5, 8])  # nothing relevant, ties of others, a tie of a relevant document
    found = bounds_of(ApproxNDCG(alpha=20.0), scores, labels, qptr)
    assert np.isnan(found["gap"]).all()
    assert np.isnan(found["ranks"]).all()
    assert np.isnan(found["relevant"]).tolist() == [True, False, True]
    assert np.isnan(found["gaps"]).tolist() == [True, False, True]


def test_of_ap_they_say_nothing_where_ranks_are_off_by_half():
    labels = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert np.isnan(bounds_of(ApproxAP(alpha=0.5), TABLE_1, labels, ONE)["relevant"]).all()


@pytest.mark.parametrize(
    "surrogate", [ApproxNDCG(k=3), ApproxAP(sigmoid="erf"), ApproxPrecision(k=3)], ids=["cut", "erf", "P"]
)
def test_no_theorem_no_bound(surrogate, q):
    assert bounds_of(surrogate, TABLE_1, np.ones(5), ONE) == {}
    assert approximation(q, surrogate, trainer=SGD(epochs=1)).bounds == {}


def test_the_tanh_is_a_logistic_of_twice_the_steepness():
    labels = np.array([0.0, 1.0, 0.0, 0.0, 1.0])
    one = bounds_of(ApproxAP(alpha=50.0, beta=5.0, sigmoid="tanh"), TABLE_1, labels, ONE)
    two = bounds_of(ApproxAP(alpha=100.0, beta=10.0), TABLE_1, labels, ONE)
    for kind in BOUNDS:
        np.testing.assert_allclose(one[kind], two[kind], rtol=1e-9, atol=0)


def test_means_are_over_the_queries_that_are_covered():
    bound = np.array([[0.5, np.nan, 0.1], [np.nan, np.nan, np.nan]])
    found = Approximation(np.array([1, 2]), np.array([[0.6, 0.3, 0.2], [0.1, 0.1, 0.1]]), {"ranks": bound})
    np.testing.assert_allclose(found.covered("ranks"), [2 / 3, 0.0], rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.mean_bound("ranks"), [0.3, np.nan], rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.mean_error("ranks"), [0.4, np.nan], rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.by_query, [0.35, 0.2, 0.15], rtol=1e-12, atol=0)
    assert found.broken("ranks") == 2


def test_what_is_missing_is_named(q):
    with rejects(InputError):
        approximation(q, RankNet())
    with rejects(InputError):
        approximation(q)
    with rejects(InputError):
        approximation(linear_objective(q, ApproxNDCG()), ApproxNDCG())
    with rejects(InputError):
        approximation(make_objective(q, ApproxNDCG(), MLPModel((2,))))
