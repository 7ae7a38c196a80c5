"""The curvature that surrogates offer to boosting; that it can be divided by is a law (tests/laws)."""

import numpy as np
import pytest

import directrix as dx
from directrix.registry import SURROGATES, classes

QPTR = np.array([0, 6, 7, 7, 12, 16])
LABELS = np.array([0, 1, 2, 0, 0, 1, 1, 2, 0, 1, 0, 0, 1, 1, 1, 1], dtype=float)


def step(surrogate, scores):
    """Gradient and curvature at the scores."""
    return surrogate.value_grad_curvature(scores, surrogate.prepare(LABELS, QPTR), QPTR)[1:]


SMOOTHED = [kind for kind in classes(SURROGATES).values() if "tends_to_measure" in kind().properties]


@pytest.mark.parametrize("kind", SMOOTHED)
def test_another_unit_of_score_is_another_unit_of_step(kind):
    """Scores twice as wide, smoothed twice as wide, make steps twice as long."""
    scores = np.random.default_rng(0).standard_normal(len(LABELS))
    name = next(name for name in ("alpha", "sigma", "temperature") if hasattr(kind(), name))
    power = -1 if name == "alpha" else 2 if kind.__name__.startswith("Smooth") else 1  # its sigma: a square
    grad, curvature = step(kind(**{name: 0.7}), scores)
    for unit in (0.25, 4.0):
        slope, other = step(kind(**{name: 0.7 * unit**power}), unit * scores)
        np.testing.assert_allclose(slope * unit, grad, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(other * unit**2, curvature, rtol=1e-6, atol=1e-12)


def test_a_measure_of_your_own_makes_steps_in_its_unit_too():
    assert dx.ApproxMeasure("RBP", alpha=4.0).steepness == 4.0


@pytest.mark.parametrize("surrogate", [dx.Regression(intercept=False), dx.ListNet()], ids=repr)
def test_curvature_is_the_second_derivative(surrogate):
    scores = 0.3 * np.random.default_rng(1).standard_normal(len(LABELS))
    grad, curvature = step(surrogate, scores)
    for i in range(len(scores)):
        moved = scores.copy()
        moved[i] += 1e-6
        second = (grad[i] - step(surrogate, moved)[0][i]) / 1e-6
        # for ListNet the gradient's magnitude is a floor
        wanted = max(second, abs(grad[i])) if isinstance(surrogate, dx.ListNet) else second
        np.testing.assert_allclose(curvature[i], wanted, rtol=1e-5, atol=1e-8)
