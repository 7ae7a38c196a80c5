"""Annealing: rounds, warm starts, the smoothing chosen by a score, and the paper's limits."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import directrix as dx
from directrix.types import Result
from tests.messages import rejects
from tests.objectives.test_objective import SURROGATES
from tests.trainers.test_trainers import Quadratic


class Smoothed(Quadratic):
    """A quadratic whose minimum moves with the smoothing: the center over 1 + smoothing."""

    smoothing = 0.0

    def value_and_grad(self, params, queries=None):
        self.calls += 1
        d = params - self.center / (1 + self.smoothing)
        return 0.5 * float(self.scale @ d**2), self.scale * d

    def at(self, smoothing):
        other = Smoothed()
        other.smoothing = smoothing
        return other


def test_the_rounds_of_the_paper():
    smoothings = dx.Anneal(dx.CG()).smoothings
    np.testing.assert_allclose(smoothings, 2.0 ** np.arange(6, -7, -1), rtol=1e-15)
    assert dx.Anneal(dx.CG(), start=1.0, stop=1.0).smoothings == [1.0]
    np.testing.assert_allclose(
        dx.Anneal(dx.CG(), start=1.0, stop=0.05, factor=0.3).smoothings, [1, 0.3, 0.09]
    )


def test_every_round_starts_where_the_last_one_ended():
    starts, rounds = [], []

    def minimize(objective, start, callback=None):
        starts.append(np.array(start))
        rounds.append(objective.smoothing)
        assert callback is None
        params = start + objective.smoothing
        return Result(params, -objective.smoothing, "converged", "done", {"iterations": 2, "evaluations": 3})

    steps = []
    result = dx.Anneal(SimpleNamespace(minimize=minimize), start=4.0, stop=1.0).minimize(
        Smoothed(),
        np.zeros(5),
        callback=lambda step: steps.append((step.iteration, step.loss, step.params[0])),
    )
    assert rounds == [4.0, 2.0, 1.0]
    assert [start[0] for start in starts] == [0.0, 4.0, 6.0]
    assert steps == [(0, steps[0][1], 0.0), (1, -4.0, 4.0), (2, -2.0, 6.0), (3, -1.0, 7.0)]
    assert result.counts == {"iterations": 6, "evaluations": 9, "rounds": 3}
    assert [row["smoothing"] for row in result.trace] == [4.0, 4.0, 2.0, 1.0]
    assert [row["loss"] for row in result.trace[1:]] == [-4.0, -2.0, -1.0]
    assert result.message == "at smoothing 1: done"
    np.testing.assert_array_equal(result.params, np.full(5, 7.0))
    assert result.value == Smoothed().value_and_grad(result.params)[0]


def test_it_ends_in_the_last_minimum():
    start = np.zeros(5)
    result = dx.Anneal(dx.CG(tol=1e-10, ftol=0.0)).minimize(Smoothed(), start)
    np.testing.assert_allclose(result.params, Smoothed().center / (1 + 1 / 64), rtol=1e-6)
    assert result.status == "converged"
    assert not start.any()


def test_best_so_far_chooses_the_smoothing():
    target = Smoothed().center / (1 + 2.0)
    best = dx.trainers.BestSoFar(
        dx.Anneal(dx.CG(tol=1e-10, ftol=0.0)), lambda params: -float(np.abs(params - target).max())
    )
    result = best.minimize(Smoothed(), np.zeros(5))
    np.testing.assert_allclose(result.params, target, rtol=1e-6)
    assert result.counts["best"] == 6
    assert result.trace[6]["smoothing"] == 2.0
    assert "best at step 6 (smoothing 2)" in result.message
    assert result.value == Smoothed().value_and_grad(result.params)[0]
    patient = dx.trainers.BestSoFar(best.trainer, best.score, patience=2).minimize(Smoothed(), np.zeros(5))
    assert patient.status == "stopped"
    assert len(patient.trace) == 1 + 6 + 2


def test_a_callback_stops_between_rounds():
    result = dx.Anneal(dx.CG()).minimize(Smoothed(), np.zeros(5), callback=lambda step: step.iteration == 2)
    assert (result.status, result.counts["rounds"]) == ("stopped", 2)
    assert result.message == "at smoothing 32: stopped by the callback"
    at_once = dx.Anneal(dx.CG()).minimize(Smoothed(), np.ones(5), callback=lambda step: True)
    assert (at_once.status, at_once.counts, len(at_once.trace)) == ("stopped", {}, 1)
    np.testing.assert_array_equal(at_once.params, np.ones(5))


def test_the_last_rounds_status_is_the_result():
    result = dx.Anneal(dx.CG(max_iter=1), stop=16.0).minimize(Smoothed(), np.zeros(5))
    assert result.status == "max_iter"
    assert result.message.startswith("at smoothing 16: 1 iteration done; raise max_iter=1")


def test_a_loss_that_is_not_finite_ends_it():
    class Broken(Smoothed):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return (np.nan if self.smoothing == 8.0 else loss), grad

        def at(self, smoothing):
            other = Broken()
            other.smoothing = smoothing
            return other

    result = dx.Anneal(dx.CG()).minimize(Broken(), np.zeros(5))
    assert result.status == "not_finite"
    assert result.message.startswith("at smoothing 8: the loss is not finite at the start")
    np.testing.assert_allclose(result.params, Broken().center / 17, rtol=1e-3)
    assert [row["smoothing"] for row in result.trace] == [64.0, 64.0, 32.0, 16.0]


def test_counts_add_up_but_the_number_of_a_step_is_no_amount():
    inner = dx.trainers.BestSoFar(dx.CG(), lambda params: float(params[0]))
    counts = dx.Anneal(inner, start=1.0, stop=0.25).minimize(Smoothed(), np.zeros(5)).counts
    assert counts.keys() == {"iterations", "evaluations", "rounds"}
    counts = dx.Restarts(inner, n=3).minimize(Smoothed(), np.zeros(5)).counts
    assert counts.keys() == {"iterations", "evaluations", "restarts"}


def test_restarts_compare_what_anneals_at_the_smoothing_of_the_objective():
    trainer = dx.Restarts(dx.Anneal(dx.CG(), start=4.0, stop=1.0), n=3)
    ends = []
    result = trainer.minimize(Smoothed(), np.ones(5), callback=lambda step: ends.append(step))
    assert [step.loss for step in ends] == [Smoothed().value_and_grad(step.params)[0] for step in ends]
    assert result.value == min(step.loss for step in ends)
    assert [(row["restart"], row["smoothing"]) for row in result.trace] == [
        (run, smoothing) for run in range(3) for smoothing in (4.0, 4.0, 2.0, 1.0)
    ]


def test_the_best_of_annealed_runs_is_named_as_a_run():
    """The step number of a run is not a row of the trace, so no smoothing belongs to it."""
    scores = iter([0.0, 2.0, 1.0])
    runs = dx.Restarts(dx.Anneal(dx.CG(), start=4.0, stop=1.0), n=3)
    result = dx.trainers.BestSoFar(runs, lambda params: next(scores)).minimize(Smoothed(), np.ones(5))
    assert result.message.endswith("; best at restart 1 with 2.0000")
    assert [row["score"] for row in result.trace] == [0.0] * 4 + [2.0] * 4 + [1.0] * 4


@pytest.fixture(scope="module")
def data():
    return dx.data.make_cubic(n_queries=30, docs_per_query=12, n_features=6, seed=3)


@pytest.mark.parametrize("surrogate", [*SURROGATES, "ApproxPrecision(k=2)", "SmoothNDCG(k=4)", "SmoothAP"])
def test_an_objective_at_a_smoothing_is_that_of_the_surrogate_at_it(data, surrogate, monkeypatch):
    params, w0 = np.random.default_rng(0).standard_normal((2, 6))
    weight = np.random.default_rng(1).random(30)
    objective = dx.linear_objective(data, surrogate, 0.1, w0=w0, query_weight=weight)
    before = objective.value_and_grad(params), objective.sgd_epoch(params.copy(), np.arange(30), 0.1)
    fresh = dx.linear_objective(data, objective.surrogate.at(0.3), 0.1, w0=w0, query_weight=weight)
    after = fresh.sgd_epoch(params.copy(), np.arange(30), 0.1)
    monkeypatch.setattr(type(objective.surrogate), "prepare", None)  # nothing is prepared again
    moved = objective.at(0.3)
    assert moved.surrogate == fresh.surrogate
    loss, grad = moved.value_and_grad(params)
    expected, slope = fresh.value_and_grad(params)
    assert loss == expected
    np.testing.assert_array_equal(grad, slope)
    assert loss != before[0][0]
    assert moved.sgd_epoch(params.copy(), np.arange(30), 0.1) == after
    assert objective.sgd_epoch(params.copy(), np.arange(30), 0.1) == before[1]
    assert objective.value_and_grad(params)[0] == before[0][0]


def exact(data):
    """The same data in float64."""
    return replace(data, features=data.features.astype(np.float64))


def test_section_5_3_a_large_sigma_keeps_the_start(data):
    """As sigma grows the surrogate is constant, and the penalty alone decides: w0, from any start."""
    data = exact(data)
    w0 = dx.trainers.regression_start(data)
    away = w0 + np.random.default_rng(0).standard_normal(6)
    for trainer in (dx.CG(ftol=1e-14), dx.LBFGS(ftol=1e-14)):  # the distances are below the usual tolerance
        distance = []
        for sigma in (1e2, 1e4, 1e6):
            objective = dx.linear_objective(data, dx.SmoothNDCG(sigma), 0.1, w0=w0)
            distance.append(np.linalg.norm(trainer.minimize(objective, away).params - w0))
        # The slope of the surrogate falls like 1/sigma, and with it the way from w0.
        assert distance[0] < 0.2
        assert distance[1] < 0.02 * distance[0]
        assert distance[2] < 1e-4


def test_section_5_4_scale_of_the_weights(data):
    """With w0 = 0, (sigma, lambda) and (sigma c^2, lambda/c^2) differ by the scale of w alone."""
    start, sigma, l2 = dx.trainers.regression_start(data), 0.5, 1e-2
    data = exact(data)
    ways = []
    for c in (1.0, 0.25, 3.0):
        objective = dx.linear_objective(data, dx.SmoothNDCG(sigma * c**2), l2 / c**2)
        result = dx.CG(tol=1e-9, ftol=0.0, max_iter=500).minimize(objective, c * start)
        ways.append((objective.value_and_grad(c * start)[0], result.value, result.params / c))
    for at_start, value, params in ways[1:]:
        np.testing.assert_allclose(at_start, ways[0][0], rtol=1e-12)
        np.testing.assert_allclose(value, ways[0][1], rtol=1e-9)
        np.testing.assert_allclose(params, ways[0][2], rtol=1e-3, atol=1e-4)


def test_annealing_smoothrank_ends_near_the_measure(data):
    start = dx.trainers.regression_start(data)
    objective = dx.linear_objective(data, dx.SmoothNDCG(), 1e-3, w0=start)
    result = dx.Anneal(dx.CG(max_iter=30)).minimize(objective, start)
    measure = lambda w: dx.NDCG()(data.features @ w, data.labels, data.qptr).mean()  # noqa: E731
    assert measure(result.params) > measure(start) + 0.005
    penalty = 1e-3 * np.sum((result.params - start) ** 2)
    gaps = [abs(penalty - row["loss"] - measure(result.params)) for row in result.trace]
    assert gaps[-1] < 0.01 < gaps[1]
    again = dx.Anneal(dx.CG(max_iter=30)).minimize(objective, start)
    np.testing.assert_array_equal(again.params, result.params)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.Anneal("cg"), r"Anneal\('cg'\).*e\.g\. Anneal\(LBFGS\(\)\)"),
        (lambda: dx.Anneal(dx.CG(), start=0.0), r"Anneal\(start=0\.0, stop=.*0 < stop <= start"),
        (lambda: dx.Anneal(dx.CG(), start=1.0, stop=2.0), r"start=1\.0, stop=2\.0"),
        (
            lambda: dx.Anneal(dx.CG()).minimize(Quadratic(), np.zeros(5)),
            r"at\(smoothing\), and Quadratic has",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_a_trainer_with_a_loss_of_its_own_is_not_annealed(data):
    with rejects(dx.InputError):
        dx.Anneal(dx.trainers.AdaRank(rounds=1)).minimize(
            dx.linear_objective(data, "SmoothNDCG"), np.zeros(6)
        )


def test_a_surrogate_without_smoothing_is_named(data):
    class Plain:
        properties = frozenset({"smooth"})

        def __repr__(self):
            return "Plain()"

        def value_and_grad(self, scores, labels, qptr):
            return np.zeros(len(qptr) - 1), np.zeros_like(scores)

    with rejects(dx.InputError):
        dx.Anneal(dx.CG()).minimize(dx.linear_objective(data, Plain()), np.zeros(6))
