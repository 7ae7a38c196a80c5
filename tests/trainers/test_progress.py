"""Every trainer tells of the start and of each step as it goes, and stops when told."""

import numpy as np
import pytest

import directrix as dx
from directrix.objectives.objective import make_objective
from directrix.objectives.scores import ScoreObjective
from directrix.trainers.boosting import Boosting

Q = dx.data.make_cubic(n_queries=12, docs_per_query=15, n_features=4, seed=3)
STUMPS = dx.models.StumpModel(dx.models.quantile_thresholds(Q.features, 4))
TRAINERS = [
    dx.LBFGS(max_iter=4),
    dx.CG(max_iter=4),
    dx.SGD(epochs=4),
    dx.Adam(epochs=4),
    dx.CuttingPlane(max_iter=4, epsilon=1e-9),
    dx.CoordinateAscent("nDCG", max_iter=4, tol=0.0),
    dx.trainers.AdaRank(rounds=4),
    dx.trainers.RankBoost(4),
    dx.trainers.FRank(4),
    dx.trainers.SVMAcc(),
    dx.Anneal(dx.CG(max_iter=2), start=1.0, stop=0.1),
    dx.Restarts(dx.LBFGS(max_iter=2), n=3),
]
OWN_LOSS = ("CoordinateAscent", "AdaRank", "RankBoost", "FRank", "SVMAcc")


def name_of(trainer):
    return type(trainer).__name__


def problem(trainer):
    """An objective with a smoothing, and a start away from any optimum."""
    if name_of(trainer) in ("RankBoost", "FRank"):
        return make_objective(Q, "ApproxNDCG", STUMPS), np.zeros(STUMPS.n_params)
    surrogate, l2 = ("RankSVM", 1e-3) if name_of(trainer) == "CuttingPlane" else ("ApproxNDCG", 0.0)
    return dx.linear_objective(Q, surrogate, l2=l2), np.array([1.0, -1.0, 0.5, 0.0])


@pytest.mark.parametrize("trainer", TRAINERS, ids=name_of)
def test_a_callback_sees_every_step_and_the_start(trainer):
    objective, start = problem(trainer)
    seen = []
    result = trainer.minimize(
        objective, start, callback=lambda step: seen.append((step.iteration, step.loss, step.params.copy()))
    )
    assert [iteration for iteration, _, _ in seen] == list(range(len(seen)))
    assert len(seen) >= (2 if name_of(trainer) == "SVMAcc" else 3)
    if "restart" in result.trace[0]:  # a step is a run
        assert [row["restart"] for row in result.trace if row["iteration"] == 0] == [0, 1, 2]
        return
    assert [(row["iteration"], row["loss"]) for row in result.trace] == [step[:2] for step in seen]
    expected = np.full(4, 0.25) if not start.any() and name_of(trainer) == "CoordinateAscent" else start
    assert np.array_equal(seen[0][2], np.zeros(4) if name_of(trainer) in ("AdaRank", "SVMAcc") else expected)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("trainer", TRAINERS, ids=name_of)
def test_it_stops_when_told_even_at_the_start(trainer, last):
    objective, start = problem(trainer)
    seen = []
    result = trainer.minimize(
        objective, start, callback=lambda step: seen.append(step.params.copy()) or step.iteration == last
    )
    assert (result.status, len(seen)) == ("stopped", last + 1)
    assert any(np.array_equal(result.params, params) for params in seen)


@pytest.mark.parametrize("trainer", TRAINERS, ids=name_of)
def test_the_value_of_the_best_step_is_the_loss_that_the_trainer_lowers(trainer):
    """Of the objective as it was given; a trainer with a loss of its own has no use for the surrogate's."""
    objective, start = problem(trainer)
    steps = {}

    def score(params):
        steps[len(steps)] = params.copy()
        return -abs(len(steps) - 2)  # the second is best

    result = dx.trainers.BestSoFar(trainer, score).minimize(objective, start)
    assert result.counts["best"] == 1
    assert np.array_equal(result.params, steps[1])
    assert result.own_loss == (name_of(trainer) in OWN_LOSS)
    if result.own_loss:
        assert result.value == result.trace[1]["loss"]
        assert result.value != objective.value_and_grad(steps[1])[0]
    else:
        assert result.value == objective.value_and_grad(steps[1])[0]


def test_a_loss_of_ones_own_is_known_through_wrappers():
    objective, start = problem(dx.trainers.AdaRank())
    inner = dx.Restarts(dx.CoordinateAscent("nDCG", max_iter=1, random_state=1), n=2)
    result = dx.trainers.BestSoFar(inner, lambda params: float(params[0])).minimize(objective, start)
    assert result.own_loss
    exact = dx.NDCG()(objective.scores(result.params), Q.labels, Q.qptr).mean()
    np.testing.assert_allclose(result.value, -exact, rtol=1e-12)


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", None])
def test_trees_tell_of_the_start_and_every_tree_and_stop(surrogate):
    pytest.importorskip("lightgbm")
    objective = None if surrogate is None else ScoreObjective(Q, dx.surrogate(surrogate))
    for last in (0, 2):
        seen = []
        result, trees = Boosting(n_trees=9, min_data_in_leaf=2).grow(
            Q, objective, callback=lambda step, seen=seen, last=last: seen.append(step) or len(seen) > last
        )
        assert [step.iteration for step in seen] == list(range(last + 1))
        assert (result.status, len(result.trace), trees.n_trees) == (
            "stopped",
            last + 1,
            last,
        )


def test_trees_tell_of_the_start_where_there_is_nothing_to_split():
    pytest.importorskip("lightgbm")
    flat = dx.Queries.from_arrays(np.ones((4, 2)), [0, 1, 2, 0], group=[4])
    objective, seen = ScoreObjective(flat, dx.ApproxNDCG()), []
    result, trees = Boosting().grow(flat, objective, callback=seen.append)
    loss = objective.value_grad_curvature(np.zeros(4))[0]
    assert [(step.iteration, step.loss, step.params.tolist()) for step in seen] == [(0, loss, [0.0] * 4)]
    assert (result.trace, result.value) == ([{"iteration": 0, "loss": loss}], loss)
    assert (result.status, trees.n_trees) == ("converged", 0)
