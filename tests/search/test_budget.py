"""Laws of a time budget, with trainings whose seconds and values are given."""

import math
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.search import clock as clock_module
from directrix.search import halving, rules
from directrix.search.choice import preferred
from directrix.search.clock import Clock
from directrix.search.folds import Fold
from directrix.search.halving import TrainingRuns, successive_halving, train_bags
from directrix.search.plan import candidates_of
from directrix.search.trial import Trial
from directrix.types import Step

pytest.importorskip("lightgbm")
Q, _ = make_linear(60, 10, 4, seed=2)
TRAIN, VALID = Q.take(range(40)), Q.take(range(40, 60))
FOLD = Fold(TRAIN, (None, None), VALID)
N_STEPS = 100


class World:
    """Trainings of 100 steps that end in a given value, in seconds in proportion to the documents."""

    def __init__(self, monkeypatch, *, best="Network", slow=1.0, many=True):
        self.now, self.begun, self.longest = 0.0, [], 0.0
        self.best, self.slow = best, slow
        monkeypatch.setattr(clock_module, "working_time", lambda: self.now)
        monkeypatch.setattr(halving, "train_candidate", self.train)
        if many:
            monkeypatch.setattr(rules, "MANY_DOCS", 300)
            monkeypatch.setattr(rules, "SAMPLE_DOCS", 150)

    def train(self, candidate, folds, measure, clock, *_):
        (fold,) = folds
        begun, n_docs = self.now, fold.train.n_docs
        self.begun.append((candidate, n_docs))
        clock.start_fold(1)
        step = 1e-3 * n_docs * (1.0 if candidate.name == "YetiRank" else self.slow)
        self.longest = max(self.longest, step)
        steps = 0
        for steps in range(1, N_STEPS + 1):
            self.now += step
            if clock.watch(Step(steps, 0.0, np.zeros(1))):
                break
        value = (0.8 if candidate.name == self.best else 0.7) * steps / N_STEPS
        values = value + np.linspace(-0.01, 0.01, fold.valid.n_queries)
        cut = clock.cut_at is not None and steps < N_STEPS
        return Trial(
            candidate,
            valid=float(values.mean()),
            values=values,
            steps=steps,
            seconds=self.now - begun,
            outcome="cut short" if cut else "",
            progress=f"{steps} of {N_STEPS} steps" if cut else "",
        )

    def runs(self, budget, **methods):
        candidates = placed(candidates_of(dx.method("auto"), dx.NDCG(k=10), **methods)[0])
        runs = TrainingRuns([FOLD], dx.NDCG(k=10), Clock(budget, len(candidates)))
        return runs, successive_halving(candidates, runs).trials


def placed(candidates):
    return [replace(one, place=place) for place, one in enumerate(candidates)]


BUDGETS = (3.0, 30.0, 47.0, 61.0, 90.0, 150.0, 400.0, 900.0, 4000.0)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slow", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("many", [True, False])
def test_a_budget_is_used_and_kept_to_one_step(monkeypatch, budget, slow, many):
    world = World(monkeypatch, slow=slow, many=many)
    runs, tried = world.runs(budget)
    assert world.now <= budget + world.longest
    whole = [c for c in tried if c.outcome != "sample"]
    if runs.untried or any(c.outcome == "cut short" for c in whole):
        assert world.now >= 0.9 * budget


@pytest.mark.parametrize("budget", [None, *BUDGETS])
def test_the_default_trees_come_first_where_documents_are_many_and_with_all_of_the_time(monkeypatch, budget):
    world = World(monkeypatch)
    _, tried = world.runs(budget)
    first, n_docs = world.begun[0]
    assert (first.name, first.settings, n_docs) == ("YetiRank", {"num_leaves": 31, "l2": 20.0}, 400)
    if budget is None or budget > 40.0 + world.longest:  # one training of them takes 40 s
        (trees,) = (c for c in tried if c.label == first.label and c.outcome != "sample")
        assert trees.outcome == ""
        assert preferred(tried).valid >= trees.valid


def test_what_lost_on_the_sample_is_not_trained_on_all(monkeypatch):
    world = World(monkeypatch)
    world.runs(900.0)
    whole = {c.name for c, n_docs in world.begun if n_docs == 400}
    assert whole == {"YetiRank", "Network"}
    assert {c.name for c, n_docs in world.begun if n_docs < 400} > whole


def test_trees_take_all_of_the_time_if_the_others_would_cut_them(monkeypatch):
    monkeypatch.setattr(rules, "ENOUGH_DOCS", 300)
    world = World(monkeypatch, many=False, slow=0.1)
    _, tried = world.runs(61.0)  # of which they need 40
    (trees,) = (c for c in tried if c.label == "YetiRank num_leaves=31 l2=20")
    assert trees.outcome == ""
    assert [c.label for c, _ in world.begun].count(trees.label) == 1


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_value_of_an_unfinished_training_never_beats_a_finished_one(monkeypatch, budget):
    """The network, cut at a half, would be ahead of the trees if it had finished."""
    world = World(monkeypatch, slow=30.0)
    _, tried = world.runs(budget)
    chosen = preferred(tried)
    finished = [c.valid for c in tried if not c.outcome]
    assert not finished or chosen.valid >= max(finished)


def test_what_was_cut_short_is_trained_again_if_time_is_left(monkeypatch):
    world = World(monkeypatch, many=False)
    runs, tried = world.runs(61.0, models=["linear"], settings={"l2": 1e-4, "alpha": 3.0})
    assert runs.clock.left < 6.1 or all(c.outcome == "" for c in tried)
    labels = [c.label for c in tried]
    assert len(labels) == len(set(labels))


def test_without_a_budget_three_candidates_are_trained_on_many_documents(monkeypatch):
    world = World(monkeypatch)
    world.runs(None)
    whole = [c.label for c, n_docs in world.begun if n_docs == 400]
    assert whole[0] == "YetiRank num_leaves=31 l2=20"
    assert whole[1].startswith("Network")
    assert len(whole) == len(set(whole)) == 3
    assert math.isinf(Clock(None).left)


@pytest.mark.parametrize(
    ("best", "budget", "n_bags"),
    [("YetiRank", None, [5]), ("Network", None, []), ("YetiRank", 190.0, [2]), ("YetiRank", 150.0, [])],
)
def test_the_best_trees_are_bagged_as_often_as_the_time_allows_unless_they_are_behind(
    monkeypatch, best, budget, n_bags
):
    World(monkeypatch, best=best, many=False)
    trials = placed(candidates_of(dx.method("YetiRank,Network"), dx.NDCG(k=10))[0])
    runs = TrainingRuns([FOLD], dx.NDCG(k=10), Clock(budget))
    runs.train([trials[2], trials[-1]])  # 40 s each
    train_bags(trials, runs)
    bags = [trial.candidate for trial in runs.trials[2:]]
    assert [c.settings["n_bags"] for c in bags] == n_bags
    shares = {"subsample": 0.7, "feature_fraction": 0.6}
    assert all(
        c.settings == {**trials[2].settings, **shares, "n_bags": n} for c, n in zip(bags, n_bags, strict=True)
    )


def test_one_method_alone_is_not_bagged(monkeypatch):
    candidates = placed(candidates_of(dx.method("YetiRank"), dx.NDCG(k=10))[0])
    World(monkeypatch, many=False)
    trials = successive_halving(candidates, TrainingRuns([FOLD], dx.NDCG(k=10), Clock())).trials
    assert not any("n_bags" in trial.candidate.settings for trial in trials)


def test_other_settings_of_many_documents_follow_the_bags(monkeypatch):
    world = World(monkeypatch, best="YetiRank")
    world.runs(2000.0)
    whole = [c.settings for c, n_docs in world.begun if n_docs == 400]
    assert ["n_bags" in settings for settings in whole[:4]] == [False, True, False, False]
    assert whole[2] == {"num_leaves": 63, "l2": 20.0}
