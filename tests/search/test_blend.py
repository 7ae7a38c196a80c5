"""Ensembles of a search: the mean of the best candidates that validation does not tell apart."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import directrix as dx
from directrix.search import choice as choice_module
from directrix.search import rules
from directrix.search import search as search_module
from directrix.search.choice import blend, choice, eligible, preferred
from directrix.search.clock import Clock
from directrix.search.folds import Fold
from directrix.search.plan import Candidate
from directrix.search.trial import Trial
from tests.search import search

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(60, 20))
LABELS = np.digitize(TRUTH, [0.5, 1.0, 1.5]).astype(float)
JUDGE = dx.Queries.from_arrays(np.zeros((1200, 1)), LABELS.ravel(), group=[20] * 60)
FOLDS = [Fold(JUDGE.take(range(60)), (None, None), JUDGE)]
NDCG = dx.NDCG(k=10)


def trained(method, scores, folds=FOLDS, outcome="", scale=None):
    scores = np.asarray(scores, dtype=float).ravel()
    values = np.concatenate(
        [
            NDCG(scores[i : i + fold.valid.n_docs], fold.valid.labels, fold.valid.qptr)
            for i, fold in zip(np.cumsum([0, *(f.valid.n_docs for f in folds)])[:-1], folds, strict=True)
        ]
    )
    ranker = SimpleNamespace(scale=scale)
    named = SimpleNamespace(name=method, settings=(), ranker=lambda **_: ranker)
    mean = float(values.mean())
    return Trial(Candidate(named, {}), mean, 0.5, 1, "converged", 1.0, values, outcome, scores=scores)


def anchored(trial):
    return replace(trial, candidate=replace(trial.candidate, is_anchor=True))


def noisy(seed, noise=1.0):
    return TRUTH + noise * np.random.default_rng(100 + seed).normal(size=TRUTH.shape)


def test_the_best_four_near_ties_count_equally():
    tried = [trained(name, (1.0 + i) * noisy(i + 1)) for i, name in enumerate("ABCDE")]
    found = blend(tried, FOLDS, NDCG)
    best = sorted(tried, key=lambda t: -t.valid)
    assert list(found.members) == best[:4]
    mixed = sum(t.scores / 4 for t in best[:4])
    np.testing.assert_allclose(found.scores, mixed, rtol=1e-12, atol=1e-12)
    values = NDCG(mixed, JUDGE.labels, JUDGE.qptr)
    assert found.valid == pytest.approx(values.mean(), rel=1e-12)
    ahead = values - best[0].values
    assert found.lead == pytest.approx((ahead.mean(), ahead.std(ddof=1) / 60**0.5, 60), rel=1e-9)


def test_what_is_clearly_behind_is_no_member_and_one_alone_is_no_ensemble():
    near, far = noisy(1, 0.3), noisy(2, 9.0)
    tried = [trained("A", near), trained("B", far), trained("C", noisy(3, 0.3))]
    assert [t.name for t in blend(tried, FOLDS, NDCG).members] in (["A", "C"], ["C", "A"])
    assert blend(tried[:2], FOLDS, NDCG) is None
    assert blend(tried[:1], FOLDS, NDCG) is None
    assert blend([tried[0], trained("B", 0.0 * TRUTH)], FOLDS, NDCG) is None
    few = dx.Queries.from_arrays(np.zeros((1200, 1)), [*LABELS[:9].ravel(), *[0.0] * 1020], group=[20] * 60)
    undefined = dx.NDCG(k=10, empty="skip")
    folds = [Fold(JUDGE, (None, None), few)]
    assert blend([trained(n, noisy(i + 1), folds) for i, n in enumerate("ABC")], folds, undefined) is None
    own = [Fold(JUDGE, (None, None), JUDGE)]  # the training queries choose
    assert blend([trained(name, noisy(i)) for i, name in enumerate("ABC")], own, NDCG) is None


def test_anchors_are_members_unless_they_are_clearly_behind():
    tried = [trained(name, noisy(i + 1)) for i, name in enumerate("ABCDE")]
    (worst,) = sorted(tried, key=lambda t: -t.valid)[4:]
    every = [anchored(t) if t is worst else t for t in tried]
    assert blend(every, FOLDS, NDCG).members == tuple(sorted(every, key=lambda t: -t.valid))
    far = anchored(trained("F", noisy(2, 9.0)))
    assert far not in blend([*tried, far], FOLDS, NDCG).members
    ahead, behind = sorted((trained("A", noisy(i)) for i in (7, 8)), key=lambda t: -t.valid)
    assert eligible([behind, ahead]) == [ahead]
    anchor = anchored(behind)
    assert eligible([anchor, ahead]) == [anchor, ahead]
    assert eligible([replace(anchor, outcome="dropped"), ahead]) == [ahead]


@pytest.mark.parametrize(("behind", "is_member"), [(0.02, True), (0.021, False)])
def test_two_standard_errors_are_the_limit(monkeypatch, behind, is_member):
    monkeypatch.setattr(choice_module, "mean_and_error", lambda values: (behind, 0.01))
    tried = [trained(name, noisy(i + 1)) for i, name in enumerate("ABC")]
    assert (blend(tried, FOLDS, NDCG) is not None) == is_member


@pytest.mark.parametrize(
    ("noise", "may_blend", "is_chosen"),
    [(1.1, False, False), (0.3, False, True), (0.3, True, True)],  # the first lead is .8 standard errors
)
def test_what_needs_whole_queries_is_chosen_only_if_it_is_ahead_by_more_than_chance(
    noise, may_blend, is_chosen
):
    few, many = (np.random.default_rng(seed).normal(size=TRUTH.shape) for seed in (7, 4))
    tried = [
        trained("rows", TRUTH + many),
        trained("queries", TRUTH + noise * few, scale="raw+query-percentile"),
    ]
    assert tried[1].valid > tried[0].valid
    chosen = choice(tried, FOLDS, NDCG, may_blend=may_blend)
    assert any(trial.candidate.needs_queries for trial in chosen.kept) == is_chosen
    alone = choice(tried[1:], FOLDS, NDCG, may_blend=may_blend)
    assert alone.best.candidate.needs_queries, "there is nothing else"


def test_folds_are_one_set_of_queries():
    folds = [Fold(JUDGE.take([59]), (None, None), JUDGE.take(part)) for part in (range(25), range(25, 60))]
    tried = [trained(name, noisy(i + 1), folds) for i, name in enumerate("ABC")]
    one = blend([trained(name, noisy(i + 1)) for i, name in enumerate("ABC")], FOLDS, NDCG)
    two = blend(tried, folds, NDCG)
    assert two.lead == one.lead
    assert two.valid == one.valid


def test_the_best_candidate_of_a_method_may_be_a_member_and_no_dropped_one():
    tried = [trained("A", noisy(i, 0.5 + i)) for i in (1, 0, 2)]
    tried.append(trained("B", noisy(9), outcome="dropped"))
    assert eligible(tried) == tried[1:2]
    assert eligible([]) == []


QUICK = {"max_iter": 20, "epochs": 3, "cg_iter": 1, "n_trees": 40, "sigma_first": 1.0, "sigma_last": 0.5}


def steps_and_lines(n_queries, n_docs=20):
    """Labels of a linear part, for linear models, and an interaction and a step, for trees."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n_queries * n_docs, 6))
    total = X[:, :3].sum(axis=1) + np.where(X[:, 3] * X[:, 4] > 0.0, 2.5, 0.0) + 2.0 * (X[:, 5] > 1.0)
    labels = np.digitize(total + rng.normal(size=len(X)), [1.0, 2.5, 4.0]).astype(float)
    return dx.Queries.from_arrays(X, labels, group=[n_docs] * n_queries)


MIXED = steps_and_lines(160)
TRAIN, VALID = MIXED.take(range(80)), MIXED.take(range(80, 160))


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "CLEARLY", 1e9)
        return search(TRAIN, VALID, settings=QUICK)


def test_a_search_returns_the_ensemble(found, tmp_path):
    assert isinstance(found.ranker, dx.EnsembleRanker)
    assert found.ranker.measure_ == NDCG
    assert all(any(c is one for one in found.trials) for c in found.members)
    n = len(found.members)  # the best of four methods, and the bags
    assert n >= 4
    np.testing.assert_allclose(found.ranker.weights_, [1 / n] * n, rtol=1e-12)
    for member, chosen in zip(found.ranker.members_, found.members, strict=True):
        value = NDCG(member.predict_queries(VALID), VALID.labels, VALID.qptr).mean()
        assert value == pytest.approx(chosen.valid, rel=1e-12)
    value = NDCG(found.ranker.predict_queries(VALID), VALID.labels, VALID.qptr).mean()
    assert f"nDCG@10 {value:.4f}, the mean of {n} candidates, none of them behind the first" in found.why
    assert "compared with the first over 80 queries" in found.why
    assert all(found.part_of(c) == "member" and c.label in found.why for c in found.members)
    assert np.isnan(found.gap)
    found.ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict_queries(VALID).tobytes() == found.ranker.predict_queries(VALID).tobytes()


@pytest.mark.usefixtures("_no_chance")
def test_the_same_seed_gives_the_same_bits(found):
    again = search(TRAIN, VALID, settings=QUICK)
    assert [c.label for c in again.members] == [c.label for c in found.members]
    assert again.ranker.predict_queries(VALID).tobytes() == found.ranker.predict_queries(VALID).tobytes()


@pytest.mark.parametrize("option", ["single", "simple"])
def test_single_keeps_one(option):
    one = search(TRAIN, VALID, settings=QUICK, **{option: True})
    assert one.chosen is preferred(one.trials, simple=option == "simple")
    assert not isinstance(one.ranker, dx.EnsembleRanker)
    assert one.members == ()
    assert one.part_of(one.chosen) == "chosen"


@pytest.fixture
def _no_chance(monkeypatch):
    """Every lag counts as chance: whether these data tell candidates apart is not what is tested."""
    monkeypatch.setattr(rules, "CLEARLY", 1e9)


@pytest.mark.usefixtures("_no_chance")
def test_members_have_models_that_are_allowed():
    linear = search(TRAIN, VALID, settings=QUICK, models=["linear"])
    assert linear.members
    assert {c.candidate.method.model for c in linear.members} <= {"linear"}


@pytest.mark.usefixtures("_no_chance")
def test_members_are_trained_again_on_all_queries(monkeypatch):
    way = {"settings": QUICK, "folds": 2, "models": ["linear"]}
    folded = search(MIXED, **way)
    assert folded.members
    assert {m.training_["data"]["queries"] for m in folded.ranker.members_} == {160}
    monkeypatch.setattr(search_module, "_seconds_to_refit", lambda *_: 7.0)
    monkeypatch.setattr(Clock, "left", property(lambda self: 1.5))
    late = search(MIXED, **way)
    assert not late.members
    assert "an ensemble was left out: to train its members on all queries takes 7 s" in late.notes


def test_the_time_of_trainings_on_all_queries_counts():
    """A second for two folds of half of the queries: 2 x 1 s."""
    folds = [Fold(TRAIN.take(range(40)), (None, None), VALID)] * 2
    members = trained("A", noisy(1)), trained("B", noisy(2))
    assert search_module._seconds_to_refit(members, TRAIN.n_queries, folds) == pytest.approx(2.0)


def test_a_measure_of_the_user_and_weights_of_documents_and_queries():
    mine = dx.define_measure("BlendGain", gain=np.log1p, discount=lambda ranks: 1.0 / ranks, norm="ideal")
    quick = {**QUICK, "n_trees": 5, "max_iter": 3}
    weights = (np.linspace(0.5, 1.5, TRAIN.n_docs), np.linspace(1.0, 2.0, TRAIN.n_queries))
    found = search(TRAIN, VALID, measure="BlendGain@3", settings=quick, weights=weights)
    assert repr(found.ranker.measure_) == repr(mine @ 3)
    assert len({c.name for c in found.trials}) > 2
