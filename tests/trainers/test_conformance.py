"""What all trainers of the registry have in common; a new one is tested here without an edit."""

from dataclasses import fields, replace

import numpy as np
import pytest

import directrix as dx
from directrix import registry
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel, quantile_thresholds
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from directrix.rankers.named_trainers import trainer_from, trainer_of

Q = dx.data.make_cubic(n_queries=12, docs_per_query=15, n_features=4, seed=3)
STATUSES = {"converged", "stopped", "max_iter", "line_search", "not_finite"}
CLASSES = registry.classes(registry.TRAINERS)
KINDS = {name: kind for name, kind in CLASSES.items() if hasattr(kind, "minimize")}
NAMED = {name: kind for name, kind in KINDS.items() if hasattr(kind, "short_name")}


def trainer_for(kind, steps=4):
    """A short training; a wrapper is put around L-BFGS, with a score if it wants one."""
    names = {field.name for field in fields(kind)}
    settings = {kind.budget: steps} if hasattr(kind, "budget") else {}
    if "trainer" in names:
        settings |= {"trainer": dx.LBFGS(max_iter=steps)}
    if "score" in names:
        settings |= {"score": lambda params: -float(np.abs(params).sum())}
    return kind(**settings)


def problem(kind):
    """The first objective that the trainer takes."""
    linear = issubclass(LinearModel, getattr(kind, "models", (object,)))
    model = LinearModel() if linear else StumpModel(quantile_thresholds(Q.features, 4))
    start = np.array([1.0, -1.0, 0.5, 0.0]) if linear else np.zeros(model.n_params)
    for surrogate, strength in (("ApproxNDCG", 0.0), ("RankSVM", 1e-3)):
        objective = make_objective(Q, surrogate, model, penalty=L2(strength))
        try:
            trainer_for(kind, 1).minimize(objective, start)
        except dx.InputError:
            continue
        return objective, start
    raise AssertionError(f"{kind.__name__} takes neither ApproxNDCG nor RankSVM with a penalty")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_result_is_complete_and_repeats_itself_bit_for_bit(kind):
    objective, start = problem(kind)
    before = start.copy()
    results = [trainer_for(kind).minimize(objective, start) for _ in range(2)]
    result = results[0]
    assert np.array_equal(start, before)
    assert result.params.dtype == np.float64
    assert result.params.shape == start.shape
    assert np.isfinite(result.params).all()
    assert result.status in STATUSES
    assert result.message
    assert all(isinstance(count, int) and count >= 0 for count in result.counts.values())
    assert {"iteration", "loss"} <= result.trace[0].keys()
    if not result.own_loss:
        assert result.value == objective.value_and_grad(result.params)[0]
    assert result.dual is None or result.dual <= result.value
    assert results[1].params.tobytes() == result.params.tobytes()
    assert (results[1].trace, results[1].message) == (result.trace, result.message)


@pytest.mark.parametrize("last", [0, 1, 99])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_callback_sees_the_start_and_every_step_and_stops_it_where_it_says(kind, last):
    objective, start = problem(kind)
    seen = []
    result = trainer_for(kind).minimize(
        objective,
        start,
        callback=lambda step: seen.append(step._replace(params=step.params.copy())) or step.iteration == last,
    )
    assert [step.iteration for step in seen] == list(range(len(seen)))
    assert len(seen) == last + 1 if last < 99 else len(seen) >= 2
    assert (result.status == "stopped") == (last < 99)
    assert any(np.array_equal(result.params, step.params) for step in seen)
    if "restart" in result.trace[0]:  # a step is a run
        assert [row["restart"] for row in result.trace if row["iteration"] == 0] == list(range(len(seen)))
        return
    assert [(row["iteration"], row["loss"]) for row in result.trace] == [step[:2] for step in seen]
    assert result.own_loss or np.array_equal(seen[0].params, start)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_value_of_the_best_step_is_the_loss_that_the_trainer_lowers(kind):
    """Of the objective as it was given; a trainer with a loss of its own has no use for the surrogate's."""
    objective, start = problem(kind)
    steps = []
    score = lambda params: steps.append(params.copy()) or -abs(len(steps) - 2)  # noqa: E731 - the second is best
    result = dx.trainers.BestSoFar(trainer_for(kind), score).minimize(objective, start)
    assert result.counts["best"] == 1
    assert np.array_equal(result.params, steps[1])
    value = objective.value_and_grad(steps[1])[0]
    assert result.value == (result.trace[1]["loss"] if result.own_loss else value)
    assert (result.value == value) != result.own_loss


@pytest.mark.parametrize("kind", NAMED.values(), ids=NAMED)
def test_a_name_makes_it_with_the_budget_seed_and_measure_of_a_ranker(kind):
    class Ranker:
        trainer, max_iter, random_state = kind.short_name, 7, 5

    trainer = trainer_of(Ranker(), dx.measure("AP"))
    assert type(trainer) is kind
    assert getattr(trainer, kind.budget) == 7
    assert getattr(trainer, "random_state", 5) == 5
    assert getattr(trainer, "measure", dx.measure("AP")) == dx.measure("AP")
    assert trainer_from(repr(trainer)) == trainer


def fitted(kind, trainer, **settings):
    """A ranker with the trainer, which is one of the kind or its name."""
    ranker = dx.LinearRanker if issubclass(LinearModel, kind.models) else dx.StumpRanker
    convex = {"surrogate": "RankSVM", "l2": 1e-3} if kind.short_name == "cutting-plane" else {}
    return ranker(trainer=trainer, max_iter=4, **convex, **settings).fit_queries(Q, measure="AP")


@pytest.mark.parametrize("kind", NAMED.values(), ids=NAMED)
def test_a_name_and_an_object_train_alike_for_the_measure_and_the_seed_of_the_ranker(kind):
    stochastic = "random_state" in {field.name for field in fields(kind)}
    own = {name: 5 for name in ("random_state",) if stochastic}
    for seeds in (({}, {"random_state": 0}), ({"random_state": 5},)):
        made = [
            fitted(kind, trainer, **seed)
            for seed in seeds
            for trainer in (kind.short_name, trainer_for(kind))
        ]
        assert len({(ranker.coef_.tobytes(), ranker.training_["trainer"]) for ranker in made}) == 1
        assert "measure=" not in made[0].training_["trainer"] or "measure=AP(" in made[0].training_["trainer"]
    object_with_a_seed = replace(trainer_for(kind), **own)
    assert fitted(kind, object_with_a_seed, random_state=9).coef_.tobytes() == made[0].coef_.tobytes()


def test_a_wrapped_trainer_gets_measure_and_seed_too_and_keeps_its_own():
    left_open = dx.Restarts(dx.CoordinateAscent(max_iter=1), n=2)
    ranker = dx.LinearRanker(trainer=left_open, random_state=3).fit_queries(Q, measure="AP")
    assert ranker.training_["trainer"] == repr(
        dx.Restarts(dx.CoordinateAscent("AP", max_iter=1, random_state=3), n=2, random_state=3)
    )
    assert ranker.get_params()["trainer"] is left_open
    own = dx.LinearRanker(trainer=dx.Restarts(dx.CoordinateAscent("RR"), n=1, random_state=1), random_state=3)
    assert own.fit_queries(Q).measure_ == dx.measure("RR")  # what it was trained for, not nDCG
    assert "CoordinateAscent(measure=RR(" in own.training_["trainer"]
    assert own.training_["trainer"].endswith("random_state=1, n_jobs=1)")


def test_restarts_of_sgd_watch_what_the_user_said():
    seen = []
    watching = dx.SGD(epochs=2, restart_after=1).watching(lambda params: seen.append(1) or 0.0)
    dx.LinearRanker(trainer=watching).fit_queries(Q)
    assert len(seen) == 2


def test_short_names_are_unique():
    assert len({kind.short_name for kind in NAMED.values()}) == len(NAMED)


@pytest.mark.parametrize("kind", NAMED.values(), ids=NAMED)
def test_the_budget_is_a_whole_number(kind):
    for wrong in (0, 2.5, True):
        with pytest.raises(dx.InputError, match=rf"{kind.__name__}\({kind.budget}={wrong}\).* integer >= 1"):
            kind(**{kind.budget: wrong})


class NoData:
    """An objective that is nothing but a function."""

    n_queries = 1

    def value_and_grad(self, params, queries=None):
        return 0.0, np.zeros_like(params)


ON_DATA = {name: kind for name, kind in NAMED.items() if kind.models != (object,)}


@pytest.mark.parametrize("kind", ON_DATA.values(), ids=ON_DATA)
def test_an_objective_that_it_cannot_minimize_is_rejected_with_the_reason(kind):
    trainer, (objective, start) = trainer_for(kind), problem(kind)
    wanted = " or ".join(model.__name__ for model in kind.models)
    with pytest.raises(dx.InputError, match=f"{kind.__name__} trains a {wanted} .*given a NoData"):
        trainer.minimize(NoData(), start)
    if kind is not dx.CuttingPlane:
        remedy = rf"give C, e.g. {kind.__name__}\(C=0.01\)" if hasattr(trainer, "C") else "Fewer iterations"
        with pytest.raises(dx.InputError, match=rf"l2=0.1: {kind.__name__} has .* set l2=0.*{remedy}"):
            trainer.minimize(objective.penalized(L2(0.1)), start)
    if hasattr(trainer, "measure"):
        weighted = [
            dx.linear_objective(Q, "ApproxNDCG", doc_weight=weight)
            for weight in (np.full(Q.n_docs, 2.0), np.arange(Q.n_docs))
        ]
        trainer.minimize(weighted[0], start)
        with pytest.raises(dx.InputError, match=rf"document weights.*{kind.__name__}.*query_weight="):
            trainer.minimize(weighted[1], start)
