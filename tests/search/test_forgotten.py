"""A search chooses as one that forgets nothing, however it was limited and whatever ties."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.shards.queries import open_shards
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.means import values_of
from directrix.search import clock as clock_module
from directrix.search import halving, rules
from directrix.search import search as search_module
from directrix.search import training as training_module
from directrix.search.folds import search_folds, validation_queries
from tests.reference.choice import choose, value
from tests.search import search

MEASURE = dx.NDCG(k=3)  # of few documents: many rankings have the same value
METHODS = "Regression,ListNet,ApproxNDCG,SmoothNDCG,MLP,YetiRank"


def tied_data(rng, n_queries):
    """Easy queries of few documents, which most rankers order alike."""
    sizes = rng.integers(2, 8, n_queries)
    X = rng.normal(size=(sizes.sum(), 4)).round(2)
    y = np.clip(np.round(2 * X[:, 0] + 0.4 * rng.normal(size=len(X))), 0, 3)
    return dx.Queries.from_arrays(X, y, group=sizes)


class Memory:
    """Keeps every candidate that a search trains, with its rankers and scores."""

    def __init__(self, monkeypatch):
        self.trained = []
        monkeypatch.setattr(halving, "train_candidate", self)

    def __call__(self, candidate, folds, *rest):
        trained = training_module.train_candidate(candidate, folds, *rest)
        self.trained.append((trained, sum(fold.train.n_queries for fold in folds)))
        return trained

    def candidates(self):
        """Trained on all queries; of two runs of a candidate, the better one or, if they tie, the longer."""
        most = max(n_queries for _, n_queries in self.trained)
        whole = [c for c, n_queries in self.trained if n_queries == most]
        runs = itertools.groupby(sorted(whole, key=lambda c: c.place), key=lambda c: c.place)
        return [max(run, key=lambda c: (value(c), c.steps)) for _, run in runs]


class Ticks:
    """A clock on which a random time passes at every look."""

    def __init__(self, rng):
        self.now, self.rng = 0.0, rng

    def __call__(self):
        self.now += self.rng.exponential()
        return self.now


def limits(rng, monkeypatch):
    """A legal combination of options, drawn at random."""
    one = rng.integers(0, 2, 8).astype(bool)
    options = {"method": METHODS, "by_query": bool(one[0]), "seed": int(rng.integers(5))}
    options["settings"] = {"max_iter": 3, "n_trees": 4}
    options |= [{}, {"single": True}, {"simple": True}][rng.integers(3)]
    if one[1]:
        options["time_budget"] = float(rng.choice([20.0, 200.0, 1000.0, 5000.0]))
        monkeypatch.setattr(clock_module, "working_time", Ticks(rng))
        monkeypatch.setattr(training_module, "working_time", clock_module.working_time)
        monkeypatch.setattr(search_module, "_seconds_to_refit", lambda *_: -np.inf)
    if one[2]:
        monkeypatch.setattr(rules, "MANY_DOCS", 30)
        monkeypatch.setattr(rules, "SAMPLE_DOCS", 60)
    if not one[3]:
        options["folds"] = int(rng.integers(1, 4))
    return options, not one[3], one[4], one[5]


@pytest.mark.parametrize("seed", range(24))
def test_the_choice_is_that_of_a_search_that_forgets_nothing(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    train, held_out = tied_data(rng, 30), tied_data(rng, int(rng.integers(5, 40)))
    options, has_valid, *weighted = limits(rng, monkeypatch)
    valid = held_out if has_valid else None
    counts = train.n_docs, train.n_queries
    weights = tuple(
        rng.uniform(0.5, 2.0, n) if is_on else None for n, is_on in zip(counts, weighted, strict=True)
    )
    memory = Memory(monkeypatch)
    found = search(train, valid, measure=MEASURE, weights=weights, **options)
    check_choice(memory, found, train, valid, weights, options)


def check_choice(memory, found, train, valid, weights, options):
    folds, _ = search_folds(train, valid, weights, options.get("folds"), options["seed"])
    q = validation_queries(folds)
    simple = options.get("simple", False)
    may_blend = not simple and "single" not in options
    chosen, scores, values = choose(
        memory.candidates(), lambda mean: values_of(MEASURE, mean, q), may_blend=may_blend, simple=simple
    )
    of_search = found.members or (found.chosen,)
    assert [c.place for c in of_search] == [c.place for c in chosen]
    assert [c.valid for c in of_search] == [c.valid for c in chosen]
    np.testing.assert_allclose(found.scores, scores, rtol=1e-12, atol=1e-12)
    recorded = found.ranker.training_["selection"]["value"]
    np.testing.assert_allclose(recorded, np.nanmean(values), rtol=1e-12, atol=0)
    if valid is not None:
        rankers = [c.rankers[0] for c in chosen]
        kept = rankers[0] if len(rankers) == 1 else EnsembleRanker.of_fitted(rankers, train, MEASURE)
        assert (
            found.ranker.predict_queries(q_of(valid)).tobytes() == kept.predict_queries(q_of(valid)).tobytes()
        )


def q_of(q):
    return q.take(range(q.n_queries))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_processes_choose_as_one_does(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    train, valid = tied_data(rng, 30), tied_data(rng, 12)
    options = {"method": METHODS, "settings": {"max_iter": 3, "n_trees": 4}, "measure": MEASURE}
    one, two = (search(train, valid, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert [c.label for c in two.members or (two.chosen,)] == [c.label for c in one.members or (one.chosen,)]
    assert two.ranker.predict_queries(valid).tobytes() == one.ranker.predict_queries(valid).tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_on_shards_the_choice_is_the_best_in_the_order_of_trial(monkeypatch, tmp_path, seed):
    rng = np.random.default_rng(seed)
    train, valid = tied_data(rng, 30), tied_data(rng, 6)
    shards = open_shards(dx.write_shards(train, tmp_path / "shards", n_shards=3))
    memory = Memory(monkeypatch)
    found = search(shards, valid, measure=MEASURE, method="ListNet,ApproxNDCG,MLP", settings={"max_iter": 3})
    trials = [trial for trial, _ in memory.trained]
    tried = [replace(t, candidate=replace(t.candidate, place=turn)) for turn, t in enumerate(trials)]
    chosen, *_ = choose(tried, None, may_blend=False, simple=False)
    assert found.chosen.label == chosen[0].label
    assert (
        found.ranker.predict_queries(valid).tobytes() == chosen[0].rankers[0].predict_queries(valid).tobytes()
    )
