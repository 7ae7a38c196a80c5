"""Batches of queries: the same as their queries one by one, the same bits for any number of threads."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.registry import SURROGATES, classes
from directrix.surrogates.base import KernelSurrogate
from tests.messages import rejects
from tests.objectives.test_objective import problem

NEEDED = {"measure": "NDCG@5", "k": 3, "rel": 1}
EXAMPLES = [
    "ApproxNDCG", "ApproxAP", "ApproxERR", "ApproxKendall", "SmoothNDCG", "SmoothAP", "SoftNDCG(k=3)",
    "SmoothMeasure('P@3')",
    "Lambda('NDCG@5')", "Lambda('AP')", "RankNet", "RankSVM", "ListMLE(k=3)", "ListNet", "RankCosine",
    "LambdaLoss(k=3)", "XENDCG", "Gumbel('RankNet', samples=2)", "Gumbel('Dorm(k=3)', samples=2)",
    "Regression", "SVMMap(rel=1)", "SVMMrr(rel=1)", "SVMNdcg(rel=1)", "PermuRank(rel=1)", "Dorm(k=3)",
    "YetiRank", "PLRank('NDCG@5')", "StochasticRank('AP')",
]  # fmt: skip


def test_every_surrogate_says_what_its_arrays_have_entries_for():
    kernels = [kind for kind in classes(SURROGATES).values() if issubclass(kind, KernelSurrogate)]
    assert len(kernels) > 15
    assert {type(dx.surrogate(text)) for text in EXAMPLES} <= set(kernels)
    assert all(kind.entries is not None for kind in kernels)


@pytest.mark.parametrize("surrogate", EXAMPLES)
def test_a_batch_is_the_mean_of_its_queries(surrogate):
    """Parts of four sizes, so that entries of documents, queries and the whole data cannot be mistaken."""
    q, rng = problem(n_queries=40)
    w = rng.standard_normal(q.n_features)
    objective = dx.linear_objective(q, surrogate, 0.01, query_weight=rng.random(q.n_queries))
    order = rng.permutation(q.n_queries)[:23]
    loss, grad = objective.value_and_grad(w, order)
    alone = [dx.linear_objective(q.take([i]), surrogate).value_and_grad(w) for i in order]
    weight, penalty = objective.source.query_weight[order], 0.01 * w @ w
    np.testing.assert_allclose(loss, weight @ [v for v, _ in alone] / 23 + penalty, rtol=1e-12)
    expected = weight @ np.array([g for _, g in alone]) / 23 + 0.02 * w
    np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", [LinearModel(), MLPModel((3,)), dx.models.StumpModel([[0.0, 0.5]] * 6)])
def test_batches_of_any_model_and_features(model, kind):
    q, rng = problem(n_queries=20)
    q = dx.Queries.from_arrays(kind(q.features), q.labels, qid=np.repeat(np.arange(20), np.diff(q.qptr)))
    params = rng.standard_normal(12 if isinstance(model, dx.models.StumpModel) else 6)
    params = model.start(6, rng) if isinstance(model, MLPModel) else params
    objective, order = make_objective(q, "RankNet", model), np.array([7, 3, 12, 3])
    loss, grad = objective.value_and_grad(params, order)
    expected, slope = make_objective(q.take(order[:3]), "RankNet", model).value_and_grad(params)
    third, last = make_objective(q.take([3]), "RankNet", model).value_and_grad(params)
    np.testing.assert_allclose(loss, (3 * expected + third) / 4, rtol=1e-12)
    np.testing.assert_allclose(grad, (3 * slope + last) / 4, rtol=0, atol=1e-12 * np.abs(slope).max())


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "RankNet"])
@pytest.mark.parametrize("batch", [1, 7, 300])
def test_an_epoch_of_batches_steps_as_their_gradients_say(surrogate, batch):
    """300 queries are shared among threads, and ApproxRank then leaves its fused epoch."""
    q, rng = problem(n_queries=900, n_features=300, dtype=np.float32)
    objective, order = dx.linear_objective(q, surrogate, 0.01), rng.permutation(q.n_queries)
    start = rng.standard_normal(q.n_features)
    expected, losses = start.copy(), []
    for first in range(0, q.n_queries, batch):
        loss, grad = objective.value_and_grad(expected, order[first : first + batch])
        losses.append(loss)
        expected -= 0.05 * grad
    results = []
    for n in (1, 2, 5):
        before, params = dx.set_threads(n), start.copy()
        results.append((objective.sgd_epoch(params, order, 0.05, batch), params))
        dx.set_threads(before)
    for loss, params in results:
        assert loss == results[0][0]
        assert np.array_equal(params, results[0][1])
    np.testing.assert_allclose(results[0][0], np.mean(losses), rtol=1e-5)
    np.testing.assert_allclose(results[0][1], expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_the_gradient_of_a_batch_leaves_the_parameters_alone():
    """Infinite scores: the gradient is NaN, the parameters that it belongs to are not."""
    q, _ = problem()
    w = np.full(q.n_features, 1e308)
    with np.errstate(all="ignore"):
        _, grad = dx.linear_objective(q, "ApproxNDCG").value_and_grad(w, np.arange(9))
    assert np.isnan(grad).all()
    assert (w == 1e308).all()


@pytest.mark.parametrize("bad", [[], [[1, 2]], 3, [0.5], [np.nan], np.ones(12, dtype=bool), [-1], ["a"]])
@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "RankNet"])
def test_what_is_no_position_of_a_query_is_refused(surrogate, bad):
    q, _ = problem()
    with rejects(dx.InputError):
        dx.linear_objective(q, surrogate).value_and_grad(np.zeros(q.n_features), bad)


@pytest.mark.parametrize("batch", [0, -1, 2.5, "2"])
@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "RankNet"])
def test_what_is_no_size_of_a_batch_is_refused(surrogate, batch):
    q, _ = problem()
    objective, order = dx.linear_objective(q, surrogate), np.arange(q.n_queries)
    for epoch in (objective.sgd_epoch, lambda *a: objective.epoch(*a[:2], a[3], lambda grad: None)):
        with rejects(dx.InputError):
            epoch(np.zeros(q.n_features), order, 0.1, batch)


def test_a_trainer_steps_by_batches_through_the_epoch_of_the_objective():
    q, _ = problem()
    objective = dx.linear_objective(q, "ApproxNDCG")

    class Slow:
        """The same loss without epochs of its own."""

        n_queries = q.n_queries

        def value_and_grad(self, params, queries=None):
            return objective.value_and_grad(params, queries)

    for trainer in (
        dx.SGD(learning_rate=0.1, epochs=3, batch=4),
        dx.Adam(learning_rate=0.1, epochs=3, batch=4),
    ):
        ours, theirs = (trainer.minimize(o, np.zeros(q.n_features)) for o in (objective, Slow()))
        np.testing.assert_allclose(ours.params, theirs.params, rtol=1e-9)
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)


def test_an_objective_is_pickled_without_what_was_made_for_batches():
    q, rng = problem()
    objective = dx.linear_objective(q, "ApproxNDCG")
    before = len(pickle.dumps(objective))
    objective.value_and_grad(np.ones(q.n_features), np.arange(9))
    assert len(pickle.dumps(objective)) == before
    again = pickle.loads(pickle.dumps(objective))
    w, order = rng.standard_normal(q.n_features), np.arange(9)
    assert again.value_and_grad(w, order)[0] == objective.value_and_grad(w, order)[0]
