"""Every surrogate offers boosting a curvature that it can divide by."""

import numpy as np
import pytest

import directrix as dx
from directrix.surrogates.names import SURROGATES

QPTR = np.array([0, 6, 7, 7, 12, 16])
LABELS = np.array([0, 1, 2, 0, 0, 1, 1, 2, 0, 1, 0, 0, 1, 1, 1, 1], dtype=float)


def step(surrogate, scores):
    """Gradient and curvature at the scores."""
    prepared = surrogate.prepare(LABELS, QPTR)
    grad = np.zeros_like(scores)
    surrogate.fill(scores, prepared, QPTR, (0, len(QPTR) - 1), (np.zeros(len(QPTR) - 1), grad))
    return grad, surrogate.curvature(scores, prepared, QPTR, grad)


@pytest.mark.parametrize("name", SURROGATES)
@pytest.mark.parametrize("spread", [0.0, 0.3, 1e30])
def test_curvature_is_finite_and_positive_where_there_is_a_gradient(name, spread):
    scores = spread * np.random.default_rng(0).standard_normal(len(LABELS))
    grad, curvature = step(SURROGATES[name](), scores)
    assert curvature.shape == grad.shape
    assert curvature.dtype == np.float64
    assert np.isfinite(curvature).all()
    assert (curvature >= 0.0).all()
    assert (curvature[grad != 0.0] > 0.0).all()


@pytest.mark.parametrize("name", [n for n, kind in SURROGATES.items() if hasattr(kind(), "alpha")])
def test_another_unit_of_score_is_another_unit_of_step(name):
    scores = np.random.default_rng(0).standard_normal(len(LABELS))
    near, far = (step(SURROGATES[name](alpha=a), scores / a) for a in (1.0, 4.0))
    for (grad, curvature), a in ((near, 1.0), (far, 4.0)):
        np.testing.assert_allclose(grad / a, near[0], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(curvature / a**2, near[1], rtol=1e-6, atol=1e-12)


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
