"""The loss on shards is that of the same queries in memory."""

import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.data.shards import task
from directrix.data.shards.context import using_driver
from directrix.data.shards.task import ThisProcess
from directrix.models import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from tests.messages import rejects


@pytest.fixture(scope="module")
def q():
    return dx.data.make_cubic(n_queries=90, docs_per_query=12, n_features=6, seed=0)


@pytest.fixture(scope="module")
def shards(q, tmp_path_factory):
    cut = [q.take(range(50)), q.take([]), q.take([50]), q.take(range(51, 90)), q.take([])]
    return dx.data.open_shards(dx.write_shards(cut, tmp_path_factory.mktemp("data") / "shards"))


@pytest.fixture(params=[0, 1 << 40], ids=["streamed", "held"])
def room(request):
    """Shards that are open already are closed; then there is room for none, or for all."""
    task._OPEN_SHARDS.clear()
    with using_driver(ThisProcess(request.param)):
        yield


SURROGATES = [
    "ApproxNDCG",
    "ApproxAP(alpha=50)",
    "SmoothNDCG",
    "RankNet",
    "SVMMap",
    "Lambda('nDCG')",
    "Dorm(k=3)",
]


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("model", [LinearModel(), MLPModel((4,))], ids=["linear", "mlp"])
def test_loss_and_gradient(q, shards, surrogate, model, room):
    n_params = 6 if isinstance(model, LinearModel) else model.n_params(6)
    params = np.random.default_rng(0).normal(size=n_params)
    s, penalty = dx.surrogate(surrogate), L2(0.1)
    ours, theirs = (
        make_objective(shards, s, model, penalty=penalty),
        make_objective(q, s, model, penalty=penalty),
    )
    for queries in (None, np.array([3, 50, 51, 89, 20])):
        value, grad = ours.value_and_grad(params, queries)
        wanted, wanted_grad = theirs.value_and_grad(params, queries)
        np.testing.assert_allclose(value, wanted, rtol=1e-6)
        np.testing.assert_allclose(grad, wanted_grad, rtol=1e-4, atol=1e-6)


def test_streamed_and_held_shards_have_the_same_bits(shards):
    params, results = np.random.default_rng(2).normal(size=6), []
    for room in (0, 1 << 40):
        task._OPEN_SHARDS.clear()
        with using_driver(ThisProcess(room)):
            results.append(make_objective(shards, dx.ApproxNDCG(), LinearModel()).value_and_grad(params))
        assert all(shard.is_held == bool(room) for shard in task._OPEN_SHARDS.values())
    assert results[0][0] == results[1][0]
    assert np.array_equal(results[0][1], results[1][1])


def test_smoothing_and_convexified_loss(q, shards):
    params = np.random.default_rng(3).normal(size=6)
    s = dx.SmoothNDCG()
    ours, theirs = make_objective(shards, s, LinearModel()), make_objective(q, s, LinearModel())
    np.testing.assert_allclose(
        ours.at(0.3).value_and_grad(params)[0], theirs.at(0.3).value_and_grad(params)[0], rtol=1e-6
    )
    d = dx.surrogate("Dorm(k=3)")
    ours, theirs = (
        make_objective(shards, d, LinearModel()).convexified(params),
        make_objective(q, d, LinearModel()).convexified(params),
    )
    moved = params + 0.1
    np.testing.assert_allclose(ours.value_and_grad(moved)[0], theirs.value_and_grad(moved)[0], rtol=1e-6)


def test_steps_over_batches(q, shards):
    start, order = np.zeros(6), np.random.default_rng(4).permutation(90)
    ours, theirs = start.copy(), start.copy()
    loss = make_objective(shards, dx.ApproxNDCG(), LinearModel()).sgd_epoch(ours, order, 0.1, batch=7)
    wanted = make_objective(q, dx.ApproxNDCG(), LinearModel()).sgd_epoch(theirs, order, 0.1, batch=7)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(loss, wanted, rtol=1e-6)


def test_refused(shards):
    objective = make_objective(shards, dx.ApproxNDCG(), LinearModel())
    with rejects(InputError):
        objective.value_and_grad(np.zeros(5))
    with rejects(InputError):
        objective.value_and_grad(np.zeros(6), np.array([90]))
    with rejects(InputError):
        objective.scores(np.zeros(6))
