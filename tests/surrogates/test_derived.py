"""A subclass with a function of its own is trained for that function, in full gradients and in epochs."""

import numpy as np
import pytest

import directrix as dx
from directrix.registry import SURROGATES, classes

Q = dx.data.make_cubic(n_queries=6, docs_per_query=8, n_features=4, seed=0)
W = 0.3 * np.random.default_rng(0).normal(size=4)
KINDS = {name: kind for name, kind in classes(SURROGATES).items() if name != "Gumbel"}  # a wrapper


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_and_the_epoch_are_those_of_the_subclass(name):
    class Twice(KINDS[name]):
        def value_and_grad(self, scores, labels, qptr):
            value, grad = super().value_and_grad(scores, labels, qptr)
            return 2.0 * value, 2.0 * grad

    once, twice = (dx.linear_objective(Q, kind()) for kind in (KINDS[name], Twice))
    (value, grad), (double, double_grad) = once.value_and_grad(W), twice.value_and_grad(W)
    np.testing.assert_allclose(double, 2.0 * value, rtol=1e-12)
    np.testing.assert_allclose(double_grad, 2.0 * grad, rtol=1e-9, atol=1e-15)
    if "convexifiable" not in KINDS[name]().properties:
        params, doubled = W.copy(), W.copy()
        once.sgd_epoch(params, np.arange(6), 0.1)
        twice.sgd_epoch(doubled, np.arange(6), 0.05)
        np.testing.assert_allclose(doubled, params, rtol=1e-6)
