"""PL-Rank and StochasticRank against plain loops, and against the expectations that they estimate."""

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

import directrix as dx
from directrix.registry import SURROGATES, load_class
from directrix.surrogates.sampling import PLRank, StochasticRank
from tests.messages import rejects
from tests.reference import references
from tests.reference.sampling import conditional, luce, luce_exactly, normal_exactly

LOOPS = {"PLRank": luce, "StochasticRank": conditional}
CASES = [load_class(SURROGATES, name)(**setting) for name in LOOPS for setting in references()[name].settings]


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_gradients_and_curvatures_are_those_of_the_naive_loops(surrogate):
    rng = np.random.default_rng(3)
    qptr = np.array([0, 1, 6, 13])
    scores, labels = 2 * rng.standard_normal(13), rng.integers(0, 4, 13).astype(float)
    prepared = surrogate.prepare(labels, qptr)
    _, grad, curvature = surrogate.value_grad_curvature(scores, prepared, qptr)
    given = {field.name: getattr(surrogate, field.name) for field in fields(surrogate)}
    for lo, hi in pairwise(qptr):
        pull, bend = LOOPS[type(surrogate).__name__](scores[lo:hi].tolist(), labels[lo:hi].tolist(), **given)
        np.testing.assert_allclose(grad[lo:hi], pull, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(curvature[lo:hi], bend, rtol=1e-9, atol=1e-14)


def estimates(surrogate, scores, labels, n_draws=40):
    """Means of value and gradient over draws, and the standard errors of these means."""
    qptr = np.array([0, len(scores)])
    drawn = [surrogate.redraw(draw).value_and_grad(scores, labels, qptr) for draw in range(n_draws)]
    for each in (np.array([value[0] for value, _ in drawn]), np.array([grad for _, grad in drawn])):
        yield each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(n_draws)


@pytest.mark.parametrize("name", ["nDCG", "nDCG@2", "AP", "RR", "ERR@3", "P@2"])
def test_plackett_luce_is_estimated_without_bias(name):
    scores, labels = np.array([0.3, -0.5, 1.0, 0.0]), np.array([2.0, 1.0, 0.0, 1.0])
    surrogate = PLRank(name, permutations=1000, temperature=0.7)
    exact = luce_exactly(scores, labels, measure=surrogate.measure, temperature=0.7)
    for (mean, error), wanted in zip(estimates(surrogate, scores, labels), exact, strict=True):
        assert (np.abs(mean - wanted) < 4.0 * error + 1e-12).all()
        assert (error < 2e-3).all()


@pytest.mark.parametrize("name", ["nDCG", "nDCG@1", "AP", "RR", "ERR@2"])
def test_normal_noise_is_estimated_without_bias(name):
    scores, labels = np.array([0.3, -0.5, 0.1]), np.array([0.0, 2.0, 1.0])
    surrogate = StochasticRank(name, permutations=1000, sigma=0.7)

    def exact(scores):
        return normal_exactly(scores, labels, measure=surrogate.measure, sigma=0.7)

    slope = [(exact(scores + h) - exact(scores - h)) / 2e-2 for h in 1e-2 * np.eye(3)]
    wanted = exact(scores), np.array(slope)
    for (mean, error), truth in zip(estimates(surrogate, scores, labels), wanted, strict=True):
        assert (np.abs(mean - truth) < 4.0 * error + 2e-5).all()  # of central differences
        assert (error < 2e-3).all()


@pytest.mark.parametrize("kind", [PLRank, StochasticRank])
def test_trainers_that_compare_losses_refuse_them(kind):
    q = dx.data.make_cubic(10, 8, 4, seed=1)
    with rejects(dx.InputError):
        dx.LinearRanker(kind(), trainer="lbfgs").fit_queries(q)


@pytest.mark.parametrize("trainer", [dx.SGD(epochs=3), dx.Adam(epochs=3)], ids=repr)
def test_stochastic_steps_take_other_noise_in_every_epoch(trainer, monkeypatch):
    q, drawn, redraw = dx.data.make_cubic(10, 8, 4, seed=1), [], PLRank.redraw

    def recorded(surrogate, *numbers):
        drawn.append(numbers)
        return redraw(surrogate, *numbers)

    monkeypatch.setattr(PLRank, "redraw", recorded)
    objective = dx.linear_objective(q, PLRank())
    once, again = (trainer.minimize(objective, np.zeros(4)).params for _ in range(2))
    assert len(set(drawn)) == len(drawn) / 2 == 3
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PLRank("tau"), r"PLRank\('KendallTau'\): PLRank does not know how a swap"),
        (lambda: StochasticRank().at(-1.0), r"StochasticRank.at\(smoothing=-1.0\)"),
    ],
)
def test_bad_settings_are_refused(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()
