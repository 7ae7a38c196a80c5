"""The order of the trials in a search, which are dropped, and what a time budget cuts short."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.search import clock as clock_module
from directrix.search import halving, rules
from directrix.search.choice import Choice, contenders, eligible, is_hopeless, preferred
from directrix.search.clock import Pace, usual_growth
from directrix.search.folds import Fold
from directrix.search.halving import (
    TrainingRuns,
    fair_share,
    representatives,
    round_robin,
    successive_halving,
    survivors,
)
from directrix.search.notes import notes_on_budget, why
from directrix.search.plan import Candidate, candidates_of
from directrix.search.training import train_candidate
from directrix.search.trial import LearningCurve, Trial
from directrix.types import Step
from tests.search import search

Q, _ = make_linear(60, 10, 4, seed=2)
TRAIN, VALID = Q.take(range(40)), Q.take(range(40, 60))
TREES = {"rate": 0.05, "n_trees": 1000}
APPROX = {"alpha": 3.0, "max_iter": 15}


def candidate(method, values, outcome=""):
    values = np.array(values, dtype=float)
    named = SimpleNamespace(name=method, model="linear")
    mean = float(np.nanmean(values))
    return Trial(Candidate(named, {}), mean, 0.5, 1, "converged", 0.0, values, outcome)


def placed(candidates):
    return [replace(one, place=place) for place, one in enumerate(candidates)]


def test_what_is_cheap_comes_first_then_trees_and_the_middle_of_a_grid_represents_a_method():
    trials = candidates_of(dx.method("auto"), dx.NDCG(k=10))[0]
    first, others = representatives(trials)
    names = [trial.name for trial in first]
    assert names[0] == "Regression"
    models = [trial.method.model for trial in first]
    n_trees = models.count("trees")
    assert models[1 : 1 + n_trees] == ["trees"] * n_trees
    rest = [part.name for part in dx.method("auto").parts(dx.NDCG(k=10)) if part.model != "trees"]
    assert names[1 + n_trees :] == [name for name in rest if name != "Regression"]
    approx = next(trial for trial in first if trial.name == "ApproxNDCG")
    assert approx.settings == {"alpha": 10.0, "l2": 1e-4, "max_iter": 100}
    assert sorted(map(repr, [*first, *others])) == sorted(map(repr, trials))


def test_the_best_methods_survive_without_those_that_are_clearly_behind():
    rng = np.random.default_rng(0)
    base = rng.random(50)
    noise = rng.normal(0, 0.3, (4, 50))
    noise -= noise.mean(axis=1, keepdims=True)
    made = [
        candidate("A", base - 0.5),  # far behind
        candidate("B", base + noise[0] - 0.03),
        candidate("C", base + noise[1] - 0.02),
        candidate("D", base + noise[2] - 0.01),
        candidate("E", base + noise[3]),  # the best
        candidate("F", base + 9.0, "dropped"),
    ]
    assert survivors(made, "ABCDEFGHI") == ["E", "D", "C"]
    assert survivors(made, "ABCDEF") == ["E", "D"]
    assert survivors(made, "ABCDEF", 1) == ["E"]
    assert survivors(made, ["A", "E"]) == ["E"]
    assert survivors(made, ["F"]) == []


def test_settings_take_turns_the_best_method_first():
    trials = candidates_of(dx.method("auto"), dx.NDCG(k=10))[0]
    turns = [trial.name for trial in round_robin(trials, ["MLP", "ApproxNDCG"])]
    assert turns == ["MLP", "ApproxNDCG"] * 6


def test_without_a_budget_there_is_no_limit():
    assert fair_share(math.inf, 5) == math.inf
    assert fair_share(100.0, 1) == 100.0
    assert fair_share(100.0, 19) == 10.0
    assert fair_share(100.0, 19, 0.5) == 50.0
    assert fair_share(100.0, 19, 1.0) == 100.0


class Clock:
    """Seconds that pass at every look."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.mark.parametrize("folds", [None, 2])
def test_a_candidate_that_takes_more_than_its_share_is_judged_as_it_stands(monkeypatch, folds):
    monkeypatch.setattr(clock_module, "working_time", Clock(1.0))
    valid = VALID if folds is None else None
    settings = {"alpha": 3.0, "l2": 1e-4, "max_iter": 15, "start": "zero"}
    budget = 9.0 if folds is None else 15.0
    found = search(
        TRAIN,
        valid,
        method="ApproxNDCG",
        settings=settings,
        folds=folds,
        time_budget=budget,
    )
    (cut,) = found.trials
    assert 1 <= cut.steps < 15
    done = cut.steps if folds is None else 1  # of the folds the fewest
    assert (cut.outcome, cut.progress) == ("cut short", f"{done} of 15 steps")
    assert found.part_of(replace(cut)) == f"stopped after {done} of 15 steps"
    assert found.part_of(cut) == f"chosen, stopped after {done} of 15 steps"
    assert f", stopped after {done} of 15 steps, the only candidate" in found.why
    again = dx.method("ApproxNDCG").ranker(**{**settings, "max_iter": cut.steps})
    assert found.ranker.coef_.tobytes() == again.fit_queries(TRAIN).coef_.tobytes()
    if folds is None:
        value = dx.NDCG(k=10)(found.ranker.predict_queries(VALID), VALID.labels, VALID.qptr).mean()
        np.testing.assert_allclose(cut.valid, value, rtol=1e-12, atol=0)
    else:
        assert cut.values.shape == (40,)


CLOCK = "under a time budget results depend on the clock: another run may choose otherwise"


def test_what_no_time_is_left_for_is_not_tried(monkeypatch):
    monkeypatch.setattr(clock_module, "working_time", Clock(60.0))
    found = search(TRAIN, VALID, method="ApproxNDCG", settings=APPROX, time_budget=30.0)
    assert [c.outcome for c in found.trials] == ["not trained"]  # nothing else is there to choose
    assert found.part_of(found.chosen) == "chosen, stopped after 0 of 15 steps"
    assert found.notes == (
        "not trained for lack of time: ApproxNDCG (2 settings)",
        "the time budget of 30 s was used up: the candidates took 480.0 s",
        CLOCK,
    )


@pytest.mark.parametrize(
    ("left", "begun", "share"), [(math.inf, 6, math.inf), (40.0, 6, 15.0), (4.0, 0, None)]
)
def test_under_a_budget_a_setting_is_begun_only_if_it_can_nearly_end(monkeypatch, left, begun, share):
    """The first setting took 10 s: another has at least 15, and none is begun in less than 5."""
    trials = candidates_of(dx.method("MLP"), dx.NDCG(k=10))[0]
    shares = []

    def run(one, folds, measure, clock, *_):
        shares.append(clock.share)
        return candidate("MLP", np.ones(60))

    monkeypatch.setattr(halving, "train_candidate", run)
    clock = SimpleNamespace(
        left=left,
        budget=left,
        is_stopped=False,
        start=lambda text, part: setattr(clock, "share", part),
    )
    clock.finish = lambda text: None
    first = replace(candidate("MLP", np.ones(60)), seconds=10.0)
    runs = TrainingRuns([SimpleNamespace(train=Q)], dx.NDCG(), clock, trials=(first,))
    runs.train(trials)
    assert (len(shares), runs.untried) == (begun, ["MLP"] * (len(trials) - begun))
    assert not shares or shares[0] == share


def test_a_setting_that_is_far_behind_after_a_fold_is_dropped():
    bad = replace(
        dx.method("ApproxNDCG"), grid={"max_iter": (15, 0)}, fixed={"start": "zero"}, name="ApproxNDCG"
    )
    found = search(Q, method=bad, folds=3)
    good, dropped = found.trials
    assert (good.outcome, dropped.outcome) == ("", "dropped")
    assert (len(good.values), len(dropped.values)) == (60, 20)
    assert found.chosen is good
    assert [found.part_of(c) for c in found.trials] == ["chosen", "dropped"]
    few = search(Q, method=bad, folds=10)  # six queries in a fold are too few: dropped after the second
    assert len(few.trials[1].values) == 12


def test_queries_without_a_value_do_not_count_for_dropping():
    trials = [candidate("A", np.ones(60))]
    assert is_hopeless(np.zeros(20), trials)
    assert not is_hopeless(np.where(np.arange(20) < 9, 0.0, np.nan), trials)


def test_methods_that_are_behind_have_one_setting_tried():
    quick = {"max_iter": 5, "epochs": 1, "cg_iter": 1, "n_trees": 2, "sigma_last": 1.0, "sigma_first": 2.0}
    found = search(TRAIN, VALID, settings=quick, single=True)
    methods = [c.name for c in found.trials]
    order = [part.name for part in dx.method("auto").parts(dx.NDCG(k=10))]
    assert list(dict.fromkeys(methods)) == order
    (remark,) = [text for text in found.notes if text.endswith("because other methods are ahead")]
    left_out = remark.split(":")[0].split(", ")
    assert all(methods.count(name) == 1 for name in left_out)
    several = [name for name in order if len(candidates_of(dx.method(name), dx.NDCG(k=10))[0]) > 1]
    assert len(left_out) >= len(several) - max(2, len(several) // 3)
    assert any(methods.count(name) > 1 for name in several)


def test_a_method_whose_first_setting_cannot_be_trained_has_its_others_tried(monkeypatch):
    def without_quantiles(trial, *rest):
        if trial.settings.get("scale") == "quantile":
            raise dx.InputError("scale='quantile' is refused")
        return train_candidate(trial, *rest)

    monkeypatch.setattr(halving, "train_candidate", without_quantiles)
    quick = {"max_iter": 2, "cg_iter": 1, "n_trees": 2, "sigma_last": 1.0, "sigma_first": 2.0, "epochs": 1}
    found = search(TRAIN, VALID, settings=quick, single=True)
    scales = {c.candidate.settings["scale"] for c in found.trials if c.name == "Network"}
    assert scales == {"standard"}
    assert "Network could not be trained with every setting: scale='quantile' is refused" in found.notes


def test_of_many_documents_a_sample_is_raced_on_and_the_best_are_trained_on_all(monkeypatch):
    monkeypatch.setattr(rules, "MANY_DOCS", 300)
    monkeypatch.setattr(rules, "SAMPLE_DOCS", 150)
    result = search(TRAIN, VALID, method="auto", measure="nDCG@5", models=["linear"], single=True)
    sampled = [c for c in result.trials if c.outcome == "sample"]
    whole = [c for c in result.trials if not c.outcome]
    assert {len(c.values) for c in sampled} == {15}  # of 10 documents each
    assert {len(c.values) for c in whole} == {20}
    assert 2 <= len(whole) <= 3
    assert len({c.name for c in whole}) == len(whole)
    best = sorted(sampled, key=lambda c: -c.valid)[0]
    assert best.label in {c.label for c in whole}
    assert result.chosen in whole
    assert "methods were compared on 15 of 40 training queries" in " ".join(result.notes)
    again = search(TRAIN, VALID, method="auto", measure="nDCG@5", models=["linear"], single=True)
    assert [c.valid for c in again.trials] == [c.valid for c in result.trials]


def test_a_budget_that_the_sample_uses_up_still_leaves_a_ranker(monkeypatch):
    monkeypatch.setattr(rules, "MANY_DOCS", 300)
    monkeypatch.setattr(rules, "SAMPLE_DOCS", 150)
    monkeypatch.setattr(clock_module, "working_time", Clock(1.0))
    result = search(TRAIN, VALID, method="auto", measure="nDCG@5", models=["linear"], time_budget=5.0)
    assert result.chosen.outcome != "sample"
    assert np.isfinite(result.ranker.predict_queries(VALID)).all()


@pytest.mark.parametrize(
    ("left", "settings", "growth", "rate"),
    [
        (math.inf, TREES, 40.0, None),
        (797.0, TREES, 40.0, None),  # 800 trees at rate .05 are enough
        (397.0, TREES, 40.0, 0.1),
        (160.0, TREES, 40.0, 0.15),
        (10.0, TREES, 40.0, 0.15),
        (80.0, TREES | {"highest": 0.3}, 40.0, 0.19),
        (10.0, TREES | {"highest": 0.3}, 40.0, 0.3),
        (10.0, {}, 40.0, None),  # a rate that was set
        (10.0, TREES | {"n_trees": 12}, 40.0, None),  # they fit
        (397.0, TREES, 20.0, None),  # others of rate .05 stopped after fewer than 400 trees
        (160.0, TREES, 20.0, 0.12),
    ],
)
def test_trees_that_have_little_time_get_a_higher_rate(monkeypatch, left, settings, growth, rate):
    monkeypatch.setattr(clock_module, "working_time", Clock(1.0))
    clock = SimpleNamespace(fold_left=left, watch=lambda _: False, growth=growth)
    pace = Pace(clock, **settings)
    stops = [pace(Step(number, 0.0, np.zeros(1))) for number in range(9)]
    assert stops == [number == 3 and rate is not None for number in range(9)]
    assert pace.better_rate == rate


def test_more_documents_need_more_trees():
    assert [usual_growth(10**n) for n in (3, 6, 7)] == pytest.approx([6.0, 40.0, 40.0], rel=1e-12)


def test_a_race_knows_its_documents_and_its_anchors(monkeypatch):
    measure, fold, growth = dx.NDCG(k=10), Fold(TRAIN, (None, None), VALID), []
    candidates = placed(candidates_of(dx.method("Regression,YetiRank"), measure)[0])
    runs = TrainingRuns([fold], measure, clock_module.Clock(1e6))

    def trained(one, *_):
        growth.append(runs.clock.growth)
        value = 0.5 if one.settings == default.settings else 0.6  # bags are those of other trees
        return Trial(one, valid=value, values=np.full(20, value), seconds=1.0)

    monkeypatch.setattr(halving, "train_candidate", trained)
    (default,) = (one for one in representatives(candidates)[0] if one.name == "YetiRank")
    trials = successive_halving(candidates, runs).trials
    trees, bags = (one.candidate for one in trials if one.candidate.is_anchor)
    assert set(growth) == {usual_growth(TRAIN.n_docs)}
    assert trees.settings == default.settings
    assert bags.settings["n_bags"] > 1


@pytest.mark.parametrize(("n_trees", "growth"), [(100, 7.5), (400, 30.0)])
def test_trees_that_finished_say_how_many_the_next_ones_need(monkeypatch, n_trees, growth):
    measure, fold = dx.NDCG(k=10), Fold(TRAIN, (None, None), VALID)
    runs = TrainingRuns([fold], measure, clock_module.Clock(1e6))
    curve = LearningCurve(*np.full((5, 1), n_trees))
    ends = iter([("cut short", 0.05), ("", 0.05), ("", 0.01), ("", 0.01)])
    expected = []

    def trained(one, *_):
        outcome, rate = next(ends)
        expected.append(runs.clock.growth)
        faster = replace(one, settings=one.settings | {"learning_rate": rate})
        return Trial(faster, valid=0.5, values=np.full(20, 0.5), curve=curve, outcome=outcome)

    monkeypatch.setattr(halving, "train_candidate", trained)
    trees = candidates_of(dx.method("YetiRank"), measure)[0][2]
    for _ in range(4):
        runs.train([trees])
    usual = usual_growth(TRAIN.n_docs)  # also of a stopped one: how many it needs is not known
    # 1.5 times the trees at rate .05; fewer are no reason to expect fewer
    assert expected == pytest.approx([usual, usual, growth, growth])


def test_a_rate_for_little_time_is_that_of_the_chosen_ranker_and_of_its_training_on_all_queries(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(clock_module, "working_time", Clock(1.0))
    fixed = {"num_leaves": 3, "l2": 1.0}
    found = search(TRAIN, method="YetiRank", settings=fixed, folds=2, time_budget=100.0)
    (cut,) = found.trials
    assert cut.candidate.settings == fixed | {"learning_rate": 0.15}
    assert cut.outcome == "cut short"
    assert cut.steps > 3  # the three trees that were timed are not the training
    assert found.ranker.learning_rate == 0.15
    again = dx.method("YetiRank").ranker(**cut.candidate.settings, n_trees=cut.steps, random_state=0)
    assert found.ranker.trees_.to_lightgbm() == again.fit_queries(TRAIN).trees_.to_lightgbm()


def test_what_was_stopped_is_chosen_only_if_it_is_ahead_of_all_that_finished():
    """Its value says what it is worth now, not what a whole training would be worth."""
    low, high = candidate("A", [0.5, 0.6]), candidate("B", [0.6, 0.7])
    behind, ahead = (candidate(name, [v, v], "cut short") for name, v in (("C", 0.64), ("D", 0.66)))
    begun = candidate("E", [0.9, 0.9], "not trained")
    dropped, sampled = (candidate("F", [1.0, 1.0], outcome) for outcome in ("dropped", "sample"))
    every = [low, high, behind, ahead, begun, dropped, sampled]
    assert contenders(every) == [low, high, ahead]
    assert contenders(every[2:]) == [behind, ahead]  # none finished
    assert contenders(every[4:]) == [begun]
    assert preferred([replace(low, valid=0.1, values=np.array([0.1, 0.1])), behind, begun]) is behind
    assert preferred([high, behind]) is high
    assert "the only candidate of B" in why(Choice.of(high), [high, behind], dx.NDCG())
    assert eligible(every) == [low, high, ahead]


def stopped(slow):
    """Trainings of which those of one method are cut and behind, and the others finish."""

    def run(trial, folds, measure, clock, *_):
        cut = trial.name == slow
        values = np.linspace(0.0, 0.1, 60) + (0.2 if cut else 0.5)
        mean = float(values.mean())
        progress, outcome = ("8 of 300 trees", "cut short") if cut else ("", "")
        return Trial(trial, valid=mean, values=values, outcome=outcome, progress=progress)

    return run


def test_a_method_whose_training_was_stopped_is_not_called_behind(monkeypatch):
    trials = candidates_of(dx.method("auto"), dx.NDCG(k=10))[0]
    monkeypatch.setattr(halving, "train_candidate", stopped("YetiRank"))
    runs = TrainingRuns([SimpleNamespace(train=Q)], dx.NDCG(), clock_module.Clock(900.0))
    candidates = successive_halving(placed(trials), runs).trials
    assert sum(c.name == "YetiRank" for c in candidates) == 1
    (left_out,) = runs.notes
    assert "only one setting was tried" in left_out
    assert "YetiRank" not in left_out.split(":")[0].split(", ")
    remarks = [*notes_on_budget(900.0, 371.0, candidates, runs.untried)]
    assert remarks == [
        "stopped before the end (chosen only if ahead of all that finished): "
        "YetiRank num_leaves=31 l2=20 after 8 of 300 trees",
        "not trained for lack of time: YetiRank (5 settings)",
        "the candidates took 371.0 s of the time budget of 900 s",  # it was not used up
        CLOCK,
    ]
    finished = [c for c in candidates if not c.progress]
    assert [*notes_on_budget(900.0, 371.0, finished, [])] == [CLOCK]
    extra = "; it does not count the 46 s of compiling kernels"
    by_used = {371.0: "the candidates took 371.0 s of the time budget of 900 s"}
    by_used[901.0] = "the time budget of 900 s was used up: the candidates took 901.0 s"
    for used, text in by_used.items():
        assert [*notes_on_budget(900.0, used, finished, [], 46.0)] == [text + extra, CLOCK]
    assert [*notes_on_budget(math.inf, 371.0, finished, [], 46.0)] == []


def test_a_training_whose_last_step_exceeds_the_time_is_whole(monkeypatch):
    monkeypatch.setattr(clock_module, "working_time", Clock(1.0))
    settings = {"alpha": 3.0, "l2": 1e-4, "max_iter": 1}
    found = search(TRAIN, VALID, method="ApproxNDCG", settings=settings, time_budget=6.5)
    assert [(c.outcome, c.progress, c.steps) for c in found.trials] == [("", "", 1)]
    assert found.notes == ("the time budget of 6.5 s was used up: the candidates took 9.0 s", CLOCK)


def test_compilation_is_not_charged_to_the_budget(monkeypatch):
    """The first step compiles for 100 s by the clock; the training needs nearly none of its 20 s."""
    now = Clock(0.001)
    for name in ("perf_counter", "monotonic"):
        monkeypatch.setattr(time, name, now)
    compiled = []

    def compiling(self, step):
        if not compiled:
            with numba.core.event.trigger_event("numba:compile", data={"dispatcher": None}):
                now.now += 100.0
            compiled.append(1)
        return watch(self, step)

    watch = clock_module.Clock.watch
    monkeypatch.setattr(clock_module.Clock, "watch", compiling)
    found = search(TRAIN, VALID, method="ApproxNDCG", settings=APPROX, time_budget=20.0)
    assert compiled
    assert {c.outcome for c in found.trials} == {""}
    assert found.notes[0].endswith(
        " of the time budget of 20 s; it does not count the 100 s of compiling kernels"
    )
    assert found.notes[1:] == (CLOCK,)
