"""Conjugate gradients: what theory gives on quadratics, every status, and the same bits."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

import directrix as dx
from tests.trainers.test_trainers import Quadratic


class Valley:
    """Rosenbrock's function, which takes more iterations than it has parameters."""

    def value_and_grad(self, params, queries=None):
        return float(rosen(params)), rosen_der(params)


def test_a_quadratic_takes_about_an_iteration_a_dimension():
    """n with an exact line search; the search here is accurate to a tenth of the slope."""
    for n in (2, 5, 20):
        objective = Quadratic(n)
        result = dx.CG(tol=1e-8, ftol=0.0).minimize(objective, np.zeros(n))
        np.testing.assert_allclose(result.params, objective.center, rtol=1e-6)
        assert result.status == "converged"
        assert result.counts["iterations"] <= 2 * n
        assert result.counts["evaluations"] == objective.calls


def test_two_curvatures_need_few_iterations_in_any_dimension():
    """Exact conjugate gradients end after as many steps as there are distinct curvatures."""
    objective = Quadratic(60)
    objective.scale = np.where(np.arange(60) < 30, 1.0, 20.0)
    result = dx.CG(tol=1e-6, ftol=0.0).minimize(objective, np.zeros(60))
    assert result.status == "converged"
    assert result.counts["iterations"] <= 8


def test_directions_are_those_of_polak_and_ribiere():
    """d' = -g' + max(0, g'(g' - g)/g.g) d, and strong Wolfe holds for every step."""
    taken = []
    objective = Quadratic(12)
    dx.CG(max_iter=8, ftol=0.0).minimize(
        objective, np.zeros(12), callback=lambda step: taken.append(step.params.copy())
    )
    loss, grad = zip(*(objective.value_and_grad(params) for params in taken), strict=True)
    direction = -grad[0]
    for t in range(len(taken) - 1):
        length = np.linalg.norm(taken[t + 1] - taken[t]) / np.linalg.norm(direction)
        np.testing.assert_allclose(taken[t + 1] - taken[t], length * direction, rtol=1e-6, atol=1e-9)
        assert loss[t + 1] <= loss[t] + 1e-4 * length * grad[t] @ direction
        assert abs(grad[t + 1] @ direction) <= 0.1 * abs(grad[t] @ direction)
        beta = max(0.0, grad[t + 1] @ (grad[t + 1] - grad[t]) / (grad[t] @ grad[t]))
        direction = -grad[t + 1] + beta * direction


def test_trace_falls_and_matches_the_result():
    result = dx.CG().minimize(Quadratic(), np.zeros(5))
    losses = [row["loss"] for row in result.trace]
    assert [row["iteration"] for row in result.trace] == list(range(len(losses)))
    assert all(b < a for a, b in pairwise(losses))
    assert result.value == losses[-1] == Quadratic().value_and_grad(result.params)[0]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("budget", [3, 7])
def test_the_budget_is_kept_across_restarts(n, budget):
    result = dx.CG(max_iter=budget, ftol=0.0).minimize(Valley(), np.full(n, -1.0))
    assert (result.status, result.counts["iterations"]) == ("max_iter", budget)
    assert f"max_iter={budget}" in result.message


def test_it_restarts_along_the_gradient_after_as_many_iterations_as_parameters():
    taken, cosines = [], []
    dx.CG(max_iter=9, ftol=0.0).minimize(
        Valley(), np.full(3, -1.0), callback=lambda step: taken.append(step.params.copy())
    )
    for before, after in pairwise(taken):
        step, grad = after - before, rosen_der(before)
        cosines.append(step @ -grad / (np.linalg.norm(step) * np.linalg.norm(grad)))
    np.testing.assert_allclose(cosines[::3], 1.0, rtol=1e-9)
    assert max(cosines[1], cosines[4], cosines[7]) < 0.99


def test_a_small_gain_is_convergence():
    loose = dx.CG(ftol=1e-2, tol=0.0).minimize(Quadratic(20), np.zeros(20))
    assert loose.status == "converged"
    gains = [a["loss"] - b["loss"] for a, b in pairwise(loose.trace)]
    assert gains[-1] <= 1e-2 * max(1.0, loose.trace[-2]["loss"])
    assert min(gains[:-1]) > 1e-2


def test_a_callback_stops_it_where_it_says():
    result = dx.CG().minimize(Quadratic(), np.zeros(5), callback=lambda step: step.iteration == 2)
    assert (result.status, result.counts["iterations"]) == ("stopped", 2)
    at_start = dx.CG().minimize(Quadratic(), np.ones(5), callback=lambda step: True)
    assert (at_start.status, at_start.counts["iterations"]) == ("stopped", 0)
    np.testing.assert_array_equal(at_start.params, np.ones(5))


def test_a_loss_that_is_not_finite_is_reported_not_returned():
    class Broken(Quadratic):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return (np.nan, grad) if self.calls > 2 else (loss, grad)

    result = dx.CG().minimize(Broken(), np.zeros(5))
    assert result.status == "not_finite"
    assert np.isfinite(result.params).all()
    assert "scale" in result.message


def test_a_slope_that_is_not_one_ends_in_the_line_search():
    """The gradient points the wrong way: no step lowers the loss, and few are tried."""

    class Wrong(Quadratic):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return loss, -grad

    objective = Wrong()
    result = dx.CG().minimize(objective, np.zeros(5))
    assert result.status == "line_search"
    assert objective.calls <= 25
    assert result.counts["iterations"] == 0
