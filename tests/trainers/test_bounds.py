"""Trainers within bounds of the parameters: where they end, and that no step leaves the bounds."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize

import directrix as dx
from directrix import registry
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2, Bounds
from directrix.rankers.named_trainers import takes_bounds

Q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=3)
QID = np.repeat(np.arange(20), 10)
EXACT = dx.Queries.from_arrays(Q.features.astype(np.float64), Q.labels, qid=QID)
TWO = dx.Queries.from_arrays(EXACT.features[:, [0, 1]], Q.labels, qid=QID)
LOW, HIGH = np.array([-0.3, 0.0, -np.inf, 1 / 3]), np.array([0.2, np.inf, -0.1, 1 / 3])
SURROGATES = ["RankNet", "ListNet", "ApproxNDCG(alpha=3.0)", "ApproxAP(alpha=3.0)", "SmoothNDCG", "SoftNDCG"]
TRAINERS = {
    "lbfgs": dx.LBFGS(),
    "sgd": dx.SGD(learning_rate=1.0, epochs=5),
    "sgd in batches": dx.SGD(learning_rate=1.0, epochs=5, batch=7, shrink=0.5),
    "sgd with restarts": dx.SGD(learning_rate=1e-12, epochs=8, restart_after=2),
    "adam": dx.Adam(learning_rate=0.3, epochs=5),
    "coordinate ascent": dx.CoordinateAscent(max_iter=3),
    "annealed": dx.Anneal(dx.LBFGS(), start=1.0, stop=0.25),
    "restarted": dx.Restarts(dx.LBFGS(max_iter=5), n=4, spread=5.0),
}


def problem(surrogate="ApproxNDCG", q=EXACT, low=LOW, high=HIGH, l2=1e-3):
    bounds = Bounds(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    strength = l2 if surrogate else 0.0
    return make_objective(
        q, surrogate, dx.linear_objective(q, surrogate).source.model, penalty=L2(strength), bounds=bounds
    )


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_lbfgs_ends_where_an_interior_point_method_does(surrogate):
    objective = problem(surrogate, l2=1e-2)
    start = np.array([0.0, 0.5, -0.5, 1 / 3])
    ours = dx.LBFGS(tol=1e-8, ftol=0.0).minimize(objective, start)
    theirs = optimize.minimize(
        objective.value_and_grad,
        start,
        jac=True,
        method="trust-constr",
        bounds=optimize.Bounds(LOW, np.where(LOW == HIGH, HIGH + 1e-12, HIGH)),
        options={"gtol": 1e-9, "xtol": 1e-12, "barrier_tol": 1e-9, "maxiter": 2000},
    )
    np.testing.assert_allclose(ours.params, theirs.x, rtol=0, atol=1e-3)
    assert ours.value <= theirs.fun + 1e-8
    _, grad = objective.value_and_grad(ours.params)
    at_low, at_high = ours.params == LOW, ours.params == HIGH
    assert (at_low | at_high).sum() >= 2
    assert (np.abs(grad[~(at_low | at_high)]) <= 1e-5).all()
    assert (grad[at_low & ~at_high] >= 0.0).all()
    assert (grad[at_high & ~at_low] <= 0.0).all()


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_with_two_weights_no_point_of_a_grid_is_lower(surrogate):
    low, high = np.array([-0.5, 0.25]), np.array([1.0, 0.75])
    objective = problem(surrogate, TWO, low, high, l2=1e-2)
    result = dx.Restarts(dx.LBFGS(tol=1e-8, ftol=0.0), n=5).minimize(objective, np.array([0.3, 0.5]))
    grid = product(np.linspace(low[0], high[0], 61), np.linspace(low[1], high[1], 41))
    losses = [objective.value_and_grad(np.array(point))[0] for point in grid]
    assert result.value <= min(losses) + 1e-9
    assert result.value >= min(losses) - 1e-3


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("start", [[5.0, -5.0, 5.0, 5.0], [0.0, 0.0, 0.0, 0.0]])
def test_no_step_leaves_the_box_and_a_fixed_weight_keeps_its_bits(name, start):
    trainer, seen = TRAINERS[name], []
    l2 = 0.0 if name == "coordinate ascent" else 1e-3
    objective = problem("SmoothNDCG" if name == "annealed" else "ApproxNDCG(alpha=3.0)", l2=l2)
    before = np.array(start)
    result = trainer.minimize(objective, before, callback=lambda step: seen.append(step.params.copy()))
    assert before.tolist() == start
    points = np.array([*seen, result.params])
    assert len(points) > 2
    assert ((points >= LOW) & (points <= HIGH)).all()
    assert {value.tobytes() for value in points[:, 3]} == {np.float64(1 / 3).tobytes()}
    assert (points != points[0]).any()


@pytest.mark.parametrize(
    "trainer",
    [
        dx.SGD(learning_rate=0.5, epochs=3),
        dx.SGD(learning_rate=1e-14, epochs=5, restart_after=1),
        dx.Adam(learning_rate=0.5, epochs=3),
    ],
    ids=repr,
)
def test_stochastic_trainers_evaluate_only_points_of_the_box(trainer):
    whole, seen = problem("ApproxNDCG(alpha=3.0)"), []

    class Plain:
        """An objective that has nothing but the contract, and bounds."""

        n_queries, bounds = whole.n_queries, whole.bounds

        def value_and_grad(self, params, queries=None):
            seen.append(params.copy())
            return whole.value_and_grad(params, queries)

    plain = trainer.minimize(Plain(), np.zeros(4))
    assert len(seen) > 9
    assert all(whole.bounds.holds(params) for params in seen)
    np.testing.assert_allclose(plain.params, trainer.minimize(whole, np.zeros(4)).params, rtol=1e-9)


def test_sgd_is_the_gradient_step_and_the_nearest_point():
    objective, rate = problem("ApproxNDCG(alpha=3.0)"), 0.5
    result = dx.SGD(learning_rate=rate, epochs=2).minimize(objective, np.zeros(4))
    params, rng = np.clip(np.zeros(4), LOW, HIGH), np.random.default_rng(0)
    for _ in range(2):
        for q in rng.permutation(20):
            params = np.clip(params - rate * objective.value_and_grad(params, np.array([q]))[1], LOW, HIGH)
    np.testing.assert_allclose(result.params, params, rtol=1e-12)


def test_adam_averages_points_of_the_box():
    objective, rate, a = problem("ApproxNDCG(alpha=3.0)"), 0.5, 0.9
    adam = dx.Adam(learning_rate=rate, epochs=3, batch=4, average=a)
    result = adam.minimize(objective, np.zeros(4))
    params, rng = np.clip(np.zeros(4), LOW, HIGH), np.random.default_rng(0)
    m, v, t, points = np.zeros(4), np.zeros(4), 0, []
    for _ in range(3):
        order = rng.permutation(20)
        for first in range(0, 20, 4):
            grad, t = objective.value_and_grad(params, order[first : first + 4])[1], t + 1
            m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
            warm = min(1, t / 1.5) * (1 + np.cos(np.pi * t / 15)) / 2
            step = rate * warm * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            params = np.clip(params - step, LOW, HIGH)
            points.append(params)
    weights = a ** np.arange(len(points))[::-1]
    assert len({point.tobytes() for point in points}) > 9
    np.testing.assert_allclose(result.params, weights @ points / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("measure", ["nDCG@5", "AP(rel=2)"])
def test_coordinate_ascent_ends_where_no_weight_within_its_limits_helps(measure):
    low, high = np.array([-0.1, 0.0, -np.inf, -2.0]), np.array([0.3, np.inf, 0.0, 0.1])
    objective, exact = problem("ApproxNDCG", low=low, high=high, l2=0.0), dx.measure(measure)
    result = dx.CoordinateAscent(measure, max_iter=50, tol=0.0).minimize(objective, np.ones(4))
    assert result.status == "converged"
    assert objective.bounds.holds(result.params)
    value = lambda w: exact(EXACT.features @ w, Q.labels, Q.qptr).mean()  # noqa: E731
    np.testing.assert_allclose(-result.value, value(result.params), rtol=1e-12)
    outside = 0
    for f in range(4):
        for t in np.concatenate([np.linspace(-3, 3, 601), 10.0 ** np.arange(-4, 5)]):
            moved = result.params.copy()
            moved[f] = t
            outside += value(moved) > -result.value + 1e-9 and not objective.bounds.holds(moved)
            assert value(moved) <= -result.value + 1e-9 or not objective.bounds.holds(moved)
    assert outside  # beyond the limits there is more


def test_coordinate_ascent_keeps_the_length_of_weights_that_are_fixed_and_starts_on_their_side():
    objective = problem("ApproxNDCG", low=[1 / 3, -9, -9, -9], high=[1 / 3, 0, 0, 0], l2=0.0)
    result = dx.CoordinateAscent("nDCG").minimize(objective, np.zeros(4))
    assert result.params[0] == 1 / 3
    assert result.counts["searches"] == 3 * result.counts["iterations"]
    cone = problem("ApproxNDCG", low=[-np.inf] * 4, high=[0.0] * 4, l2=0.0)
    seen = []
    short = dx.CoordinateAscent("nDCG").minimize(
        cone, np.zeros(4), callback=lambda s: seen.append(s.params.copy())
    )
    assert seen[0].tolist() == [-0.25] * 4
    np.testing.assert_allclose(np.abs(short.params).sum(), 1.0, rtol=1e-12)
    nothing = problem("ApproxNDCG", low=[0.0] * 4, high=[0.0] * 4, l2=0.0)
    assert not dx.CoordinateAscent("nDCG").minimize(nothing, np.ones(4)).params.any()


def test_all_parameters_may_be_fixed():
    objective = problem(low=[1.0, 2.0, 3.0, 4.0], high=[1.0, 2.0, 3.0, 4.0])
    result = dx.LBFGS().minimize(objective, np.zeros(4))
    assert (result.params.tolist(), result.status) == ([1.0, 2.0, 3.0, 4.0], "converged")
    assert result.value == objective.value_and_grad(result.params)[0]
    assert "fixed" in result.message


def test_infinite_limits_change_no_bit_and_far_ones_only_the_path():
    free = dx.LBFGS().minimize(dx.linear_objective(EXACT, "RankNet", l2=1e-3), np.ones(4)).params
    near, far = (problem("RankNet", low=[-b] * 4, high=[b] * 4) for b in (1e9, np.inf))
    assert dx.LBFGS().minimize(far, np.ones(4)).params.tobytes() == free.tobytes()
    np.testing.assert_allclose(dx.LBFGS().minimize(near, np.ones(4)).params, free, rtol=1e-3)


def test_trainers_that_declare_it_are_those_tested_here():
    kinds = registry.classes(registry.TRAINERS)
    able = {name for name, kind in kinds.items() if getattr(kind, "takes_bounds", False)}
    assert able == {"LBFGS", "SGD", "Adam", "CoordinateAscent"}
    assert takes_bounds(dx.Restarts(dx.Anneal(dx.LBFGS())))
    assert not takes_bounds(dx.Restarts(dx.Anneal(dx.CG())))
    assert not takes_bounds(object())
