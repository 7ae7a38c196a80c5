"""L-BFGS whose line searches try several steps at once."""

import math
from itertools import pairwise

import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.trainers import descent
from tests.trainers.test_trainers import Quadratic

LINES = dx.LBFGS(tol=1e-10, ftol=0.0, steps=4)


class Together(Quadratic):
    """Answers for several vectors at once, and counts the questions."""

    questions = 0

    def values_and_grads(self, params, queries=None):
        self.questions += 1
        losses, grads = zip(*(self.value_and_grad(vector) for vector in params), strict=True)
        return np.array(losses), np.array(grads)


@pytest.mark.parametrize("steps", [2, 3, 8])
def test_a_quadratic(steps):
    objective = Together()
    result = dx.LBFGS(tol=1e-10, ftol=0.0, steps=steps).minimize(objective, np.zeros(5))
    np.testing.assert_allclose(result.params, objective.center, rtol=1e-8)
    assert result.status == "converged"
    assert result.counts["evaluations"] == objective.calls
    assert result.counts["iterations"] <= 20
    assert objective.questions <= 1.2 * result.counts["iterations"]


def test_it_asks_less_often():
    """The lowest of several points on a line, where SciPy takes the first that will do."""
    objectives = [Together(60, seed) for seed in range(10)]
    for objective in objectives:
        dx.LBFGS(tol=1e-8, ftol=0.0, steps=4).minimize(objective, np.zeros(60))
    questions = [objective.questions for objective in objectives]
    one = dx.LBFGS(tol=1e-8, ftol=0.0)
    evaluations = [one.minimize(objective, np.zeros(60)).counts["evaluations"] for objective in objectives]
    assert np.mean(questions) < 0.9 * np.mean(evaluations)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_every_step_meets_the_wolfe_conditions(scale):
    """Also where the first lengths are far too short."""
    objective, taken = Together(12), []
    objective.scale = objective.scale * scale
    dx.LBFGS(max_iter=8, tol=0.0, ftol=0.0, steps=3).minimize(
        objective, np.zeros(12), callback=lambda step: taken.append(step.params.copy())
    )
    assert len(taken) == 9
    for before, after in pairwise(taken):
        (loss, grad), (loss_after, grad_after) = map(objective.value_and_grad, (before, after))
        step = after - before
        assert loss_after <= loss + 1e-4 * grad @ step
        assert grad_after @ step >= 0.9 * grad @ step


@pytest.mark.parametrize("n_pairs", [0, 1, 3])
def test_directions_are_those_of_bfgs_with_the_whole_matrix(n_pairs):
    """The two loops against updates of the inverse Hessian (Nocedal & Wright, Eq. 6.17)."""
    rng, n = np.random.default_rng(0), 5
    pairs = [(step, step * rng.uniform(1, 5, n)) for step in rng.normal(size=(n_pairs, n))]
    inverse = np.eye(n)
    if pairs:
        step, change = pairs[-1]
        inverse *= (step @ change) / (change @ change)
    for step, change in pairs:
        left = np.eye(n) - np.outer(step, change) / (step @ change)
        inverse = left @ inverse @ left.T + np.outer(step, step) / (step @ change)
    grad = rng.normal(size=n)
    np.testing.assert_allclose(descent._times_inverse_hessian(pairs, grad), inverse @ grad, rtol=1e-12)


class Profile:
    """A loss of one parameter: straight between points."""

    n_queries = 1

    def __init__(self, *points):
        self.x, self.y = np.transpose(points)

    def value_and_grad(self, params, queries=None):
        (losses, grads) = self.values_and_grads([params])
        return float(losses[0]), grads[0]

    def values_and_grads(self, params, queries=None):
        x = np.array(params)[:, 0]
        slopes = np.diff(self.y) / np.diff(self.x)
        place = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(slopes) - 1)
        return np.interp(x, self.x, self.y), slopes[place][:, None]


@pytest.mark.parametrize(
    ("profile", "reached", "rounds"),
    [
        pytest.param(
            Profile((0, 0), (1.3, -1.3), (1.5, -1.4), (1.51, 9), (9, 9)), 1.4, 2, id="between two lengths"
        ),
        pytest.param(
            Profile((0, 0), (0.55, -0.55), (0.65, -0.6), (0.66, 9), (1.5, 9), (1.6, -9), (9, -20)),
            0.6,
            2,
            id="below the first that is too long, and not beyond it",
        ),
        pytest.param(Profile((0, 0), (70, -70), (9999, -71)), 1024.0, 3, id="longer and longer"),
        pytest.param(
            Profile((0, 0), (1 / 3, -1 / 3), (1 / 3 + 1e-12, 9), (9, 9)), 1 / 3, 10, id="nowhere: the lowest"
        ),
    ],
)
def test_the_first_line(profile, reached, rounds):
    result = dx.LBFGS(max_iter=1, tol=0.0, steps=4).minimize(profile, np.zeros(1))
    np.testing.assert_allclose(result.params, [reached], rtol=1e-6)
    assert result.counts["evaluations"] == 1 + 4 * rounds


def test_a_step_along_which_the_slope_does_not_rise_says_nothing_of_the_curvature():
    """After a search that found no point of the conditions, the next begins along the gradient."""
    profile = Profile((0, 0), (1 / 3, -1 / 3), (1 / 3 + 1e-12, 9), (9, 9))
    result = dx.LBFGS(tol=0.0, ftol=0.0, steps=4).minimize(profile, np.zeros(1))
    assert result.status == "line_search"
    np.testing.assert_allclose(result.params, [1 / 3], rtol=1e-6)


def test_where_a_direction_fails_that_of_the_gradient_is_tried(monkeypatch):
    """Here every direction of known pairs goes uphill."""
    monkeypatch.setattr(descent, "_times_inverse_hessian", lambda pairs, grad: -grad if pairs else grad)
    objective = Together(2)
    result = dx.LBFGS(tol=1e-6, ftol=0.0, steps=4).minimize(objective, np.zeros(2))
    assert result.status == "converged"
    assert objective.questions <= 3 * result.counts["iterations"]  # none uphill
    np.testing.assert_allclose(result.params, objective.center, rtol=1e-6)


def test_a_loss_that_is_not_finite_is_a_step_too_long():
    class Walled(Together):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return (np.inf, grad) if (np.abs(params) > 2.5).any() else (loss, grad)

    objective = Walled()
    assert np.abs(objective.center).max() < 2.5
    result = LINES.minimize(objective, np.zeros(5))
    np.testing.assert_allclose(result.params, objective.center, rtol=1e-8)
    result = LINES.minimize(objective, np.full(5, 3.0))
    assert result.status == "not_finite"


@pytest.mark.parametrize("broken", [np.nan, -np.inf])
@pytest.mark.parametrize("part", ["loss", "gradient"])
def test_a_loss_that_is_finite_nowhere_else_is_reported_not_returned(broken, part):
    class Broken(Together):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            if self.questions > 2:
                return (broken, grad) if part == "loss" else (loss, np.full(5, broken))
            return loss, grad

    result = LINES.minimize(Broken(), np.zeros(5))
    assert result.status == "not_finite"
    assert np.isfinite(result.params).all()
    assert "scale" in result.message


@pytest.mark.parametrize("seed", [0, 1])
def test_kinks(seed):
    """A loss that is not smooth has no point of the strong Wolfe conditions on most lines."""

    class Kinked(Together):
        def value_and_grad(self, params, queries=None):
            distance = params - self.center
            return float(self.scale @ np.abs(distance)), self.scale * np.sign(distance)

    result = dx.LBFGS(max_iter=400, ftol=0.0, steps=4).minimize(Kinked(seed=seed), np.zeros(5))
    assert result.value < 1e-9


def test_where_nothing_lowers_the_loss_the_line_search_says_so():
    class Rising(Together):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return loss, -grad

    result = LINES.minimize(Rising(), np.zeros(5))
    assert (result.status, result.counts["iterations"]) == ("line_search", 0)


def test_budget_tolerance_and_callback():
    cut = dx.LBFGS(max_iter=2, steps=4).minimize(Together(20), np.zeros(20))
    assert (cut.status, cut.counts["iterations"]) == ("max_iter", 2)
    loose = dx.LBFGS(tol=0.0, ftol=1e-2, steps=4).minimize(Together(20), np.zeros(20))
    assert loose.status == "converged"
    gains = [a["loss"] - b["loss"] for a, b in pairwise(loose.trace)]
    assert gains[-1] <= 1e-2 * max(1.0, loose.trace[-2]["loss"])
    assert min(gains[:-1]) > 1e-2
    stopped = LINES.minimize(Together(), np.zeros(5), callback=lambda step: step.iteration == 2)
    assert (stopped.status, stopped.counts["iterations"]) == ("stopped", 2)


def test_refused():
    q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    with pytest.raises(InputError, match=r"steps=4.*no limits of the parameters; leave steps out"):
        dx.LinearRanker("ApproxNDCG", trainer=LINES, monotone={0: 1}).fit_queries(q)
    with pytest.raises(InputError, match=r"steps=4.*values_and_grads; leave steps out"):
        LINES.minimize(Quadratic(), np.zeros(5))
    with pytest.raises(InputError, match="steps=0"):
        dx.LBFGS(steps=0)


def test_on_queries_it_reaches_the_minimum_of_a_convex_loss():
    q = dx.data.make_cubic(n_queries=60, docs_per_query=10, n_features=5, seed=0)
    trainers = (dx.LBFGS(ftol=1e-12, steps=steps) for steps in (1, 4))
    one, several = (dx.LinearRanker("RankNet", l2=1e-3, trainer=t).fit_queries(q) for t in trainers)
    losses = [ranker.result_.trace[-1]["loss"] for ranker in (several, one)]
    # losses are known to the rounding of float32 scores; where they are equal, the penalty makes weights so
    np.testing.assert_allclose(*losses, rtol=1e-7)
    np.testing.assert_allclose(several.coef_, one.coef_, rtol=0, atol=math.sqrt(2 * 1e-7 * losses[1] / 1e-3))
