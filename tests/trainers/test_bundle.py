"""Planes and their quadratic program: against closed forms and SciPy, and feasible whatever comes back."""

import numpy as np
import pytest
from scipy.optimize import minimize

from directrix.trainers import bundle as module
from directrix.trainers.bundle import Bundle


def planes(seed, n=25, d=6, groups=3):
    rng = np.random.default_rng(seed)
    group = np.append(np.arange(groups), rng.integers(0, groups, n - groups))
    mass = rng.uniform(0.2, 2.0, groups)
    return rng.normal(size=n), rng.normal(size=(n, d)), group, mass


def filled(value, grad, group, mass):
    bundle = Bundle(grad.shape[1], mass)
    for plane in zip(value, grad, group, strict=True):
        bundle.add(*plane)
    return bundle


def model(u, strength, value, grad, group, mass):
    height = value + grad @ u
    return strength * u @ u + sum(m * height[group == g].max() for g, m in enumerate(mass))


@pytest.mark.parametrize("strength", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_of_the_model_is_its_dual(seed, strength):
    given = planes(seed)
    low = filled(*given).minimum(strength)
    at = model(low.params, strength, *given)
    np.testing.assert_allclose(low.dual, at, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(at, strength * low.params @ low.params + given[3] @ low.highest, rtol=1e-12)
    rng = np.random.default_rng(seed)
    nearby = low.params + rng.normal(size=(200, 6)) * np.logspace(-4, 1, 200)[:, None]
    assert min(model(u, strength, *given) for u in nearby) >= low.dual


def test_one_plane_and_two_have_closed_forms():
    bundle = Bundle(2, np.ones(1))
    bundle.add(3.0, np.array([4.0, 0.0]))
    low = bundle.minimum(0.5)  # u = -g/(2 * 0.5), a - |g|^2/(4 * 0.5)
    np.testing.assert_allclose([*low.params, low.dual], [-4.0, 0.0, 3.0 - 16 / 2], rtol=1e-9, atol=1e-9)
    bundle.add(3.0, np.array([-4.0, 0.0]))  # the roof 3 + 4 |u_1|
    low = bundle.minimum(0.5)
    np.testing.assert_allclose([*low.params, low.dual], [0.0, 0.0, 3.0], rtol=1e-9, atol=1e-6)


def test_the_program_agrees_with_scipy():
    value, grad, group, mass = planes(7, n=9)
    gram = grad @ grad.T
    alpha = module.solve(gram, value, group, mass)
    sums = np.array([alpha[group == g].sum() for g in range(3)])
    np.testing.assert_allclose(sums, mass, rtol=1e-12)
    assert (alpha >= 0.0).all()
    found = minimize(
        lambda a: 0.5 * a @ gram @ a - value @ a,
        mass[group] / np.bincount(group)[group],
        bounds=[(0, None)] * 9,
        constraints=[{"type": "eq", "fun": lambda a, g=g: a[group == g].sum() - mass[g]} for g in range(3)],
        options={"ftol": 1e-13},
    )
    np.testing.assert_allclose(value @ alpha - 0.5 * alpha @ gram @ alpha, -found.fun, rtol=1e-6)


class Broken:
    """A solver that fails in a given way."""

    answer = np.nan

    class DenseSolver:
        def setup(self, P, *_, **__):
            self.n = len(P)

        def solve(self):
            self.result = type("Result", (), {"x": np.full(self.n, Broken.answer)})


@pytest.mark.parametrize("answer", [np.nan, -1.0, np.inf, 0.0, 7.0, np.resize([-1.0, 3.0, 0.5], 25)])
def test_an_answer_of_any_kind_gives_a_lower_bound(monkeypatch, answer):
    given = planes(3)
    exact = filled(*given).minimum(0.1)
    monkeypatch.setattr(Broken, "answer", answer)
    monkeypatch.setattr(module, "check_solver", lambda: Broken)
    value, grad, group, mass = given
    alpha = module.solve(grad @ grad.T, value, group, mass)
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(np.bincount(group, weights=alpha), mass, rtol=1e-12)
    low = filled(*given).minimum(0.1)
    assert np.isfinite(low.params).all()
    assert low.dual <= exact.dual + 1e-7
    assert low.dual <= model(low.params, 0.1, *given)


def test_dropping_what_was_not_used_changes_nothing():
    value, grad, group, mass = planes(5, n=40)
    value[20:] -= 100.0  # far below
    bundle = filled(value, grad, group, mass)
    first = bundle.minimum(0.1)
    bundle.drop(2)
    assert len(bundle) == 40  # out of use for one solution only
    bundle.minimum(0.1)
    bundle.drop(2)
    assert 3 <= len(bundle) <= 20
    left = len(bundle)
    second = bundle.minimum(0.1)
    np.testing.assert_allclose(second.dual, first.dual, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(second.params, first.params, rtol=0.0, atol=1e-3)
    bundle.add(50.0, np.ones(6), 0)  # goes in where others were
    both = bundle.minimum(0.1)
    assert len(bundle) == left + 1
    assert both.highest[0] >= 50.0 + both.params.sum() - 1e-12
    assert both.dual > second.dual
