"""RankBoost and FRank do what loops over explicit pairs do."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.objectives.objective import make_objective
from directrix.trainers.stump_boosting import _SMOOTH, LabelPairs
from tests.reference import boosting as reference

BOOSTERS = [dx.trainers.RankBoost, dx.trainers.FRank]


def problem(seed=0, sizes=(5, 1, 0, 6, 4), n_features=3, levels=3):
    rng = np.random.default_rng(seed)
    qptr = np.append(0, np.cumsum(sizes))
    X = rng.integers(0, 6, (qptr[-1], n_features)).astype(float)
    labels = rng.integers(0, levels, qptr[-1]).astype(float)
    q = dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(len(sizes)), sizes))
    return q, dx.models.quantile_thresholds(q.features, 8)


def objective_of(q, thresholds, **weights):
    return make_objective(q, "ApproxNDCG", dx.models.StumpModel(thresholds), **weights)


def weights_of(q, seed=1):
    rng = np.random.default_rng(seed)
    return {"query_weight": rng.random(q.n_queries) + 0.1, "doc_weight": rng.random(q.n_docs) + 0.1}


@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_rankboost_is_the_loop_over_pairs(levels, alike, weighted, seed):
    q, thresholds = problem(seed, levels=levels)
    weights = weights_of(q) if weighted else {}
    full = {"query_weight": np.ones(q.n_queries), "doc_weight": np.ones(q.n_docs)} | weights
    D = reference.pair_weights(q.labels, q.qptr, **full, alike=alike)
    stumps = reference.stumps_of(q.features, thresholds)
    expected, losses = reference.rankboost(D, stumps, 12, len(stumps), q.n_docs)
    result = dx.trainers.RankBoost(12, alike).minimize(
        objective_of(q, thresholds, **weights), np.zeros(len(stumps))
    )
    np.testing.assert_allclose([row["loss"] for row in result.trace], losses, rtol=1e-9)
    np.testing.assert_allclose(result.params, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("weighted", [True, False])
def test_frank_is_the_loop_over_pairs(levels, weighted):
    """With all features as candidates, and one threshold each, every threshold function is tried."""
    q, _ = problem(2, levels=levels)
    thresholds = [np.array([2.5])] * q.n_features
    weights = weights_of(q) if weighted else {}
    full = {"query_weight": np.ones(q.n_queries), "doc_weight": np.ones(q.n_docs)} | weights
    D = reference.pair_weights(q.labels, q.qptr, **full, alike=True)
    stumps = reference.stumps_of(q.features, thresholds)
    trainer = dx.trainers.FRank(3, candidates=q.n_features)
    result = trainer.minimize(objective_of(q, thresholds, **weights), np.zeros(len(stumps)))
    rounds = len(result.trace) - 1
    assert rounds >= 1
    expected, losses = reference.frank(D, stumps, rounds, _SMOOTH, q.n_docs)
    np.testing.assert_allclose([row["loss"] for row in result.trace], losses, rtol=1e-9)
    np.testing.assert_allclose(result.params, expected, rtol=1e-7, atol=1e-12)


def test_frank_counts_what_each_threshold_wins_and_loses():
    q, thresholds = problem(4, sizes=(7, 8), levels=4)
    objective = objective_of(q, thresholds)
    pairs = LabelPairs(objective, alike=False)
    s = np.random.default_rng(0).standard_normal(q.n_docs)
    won, lost = dx.trainers.FRank()._won_and_lost(pairs, pairs.centered(s[pairs.order]))
    D = reference.pair_weights(q.labels, q.qptr, np.ones(2), np.ones(15), alike=False)
    for p, h in enumerate(reference.stumps_of(q.features, thresholds)):
        w = {(i, j): d * np.exp(s[j] - s[i]) / (1 + np.exp(s[j] - s[i])) ** 1.5 for (i, j), d in D.items()}
        np.testing.assert_allclose(won[p], sum(v for (i, j), v in w.items() if h[i] > h[j]), atol=1e-12)
        np.testing.assert_allclose(lost[p], sum(v for (i, j), v in w.items() if h[i] < h[j]), atol=1e-12)


@pytest.fixture(scope="module")
def larger():
    q = dx.data.make_cubic(n_queries=60, docs_per_query=20, n_features=6, seed=3)
    return q, dx.models.quantile_thresholds(q.features, 16)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_loss_falls_and_the_measure_rises(booster, larger):
    q, thresholds = larger
    objective = objective_of(q, thresholds)
    result = booster(40).minimize(objective, np.zeros(objective.source.model.n_params))
    losses = [row["loss"] for row in result.trace]
    assert all(b <= a + 1e-12 for a, b in pairwise(losses))
    assert (result.status, result.counts) == ("max_iter", {"iterations": 40})
    assert result.value == losses[-1]
    before = dx.NDCG()(np.zeros(q.n_docs), q.labels, q.qptr).mean()
    assert dx.NDCG()(objective.scores(result.params), q.labels, q.qptr).mean() > before + 0.05


@pytest.mark.parametrize("booster", BOOSTERS)
def test_boosting_goes_on_where_it_was(booster, larger):
    """From the steps of 5 rounds, 5 more give what 10 give."""
    q, thresholds = larger
    objective = objective_of(q, thresholds)
    start = np.zeros(objective.source.model.n_params)
    first = booster(5).minimize(objective, start)
    assert not start.any()
    again = booster(5).minimize(objective, first.params)
    ten = booster(10).minimize(objective, start)
    np.testing.assert_allclose(again.value, ten.value, rtol=1e-5)  # scores in float32 in between


@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_same_bits_on_any_number_of_threads(booster, larger):
    objective = objective_of(*larger)
    start = np.zeros(objective.source.model.n_params)
    before = dx.set_threads(1)
    try:
        one = booster(5).minimize(objective, start).params
        dx.set_threads(3)
        three = booster(5).minimize(objective, start).params
    finally:
        dx.set_threads(before)
    assert np.array_equal(one, three)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_sparse_features_and_callbacks(booster, larger):
    q, thresholds = larger
    qid = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    sparse = dx.Queries.from_arrays(sp.csr_array(q.features), q.labels, qid=qid)
    steps = []
    stop = lambda step: steps.append(step.loss) or step.iteration == 4  # noqa: E731
    found = [
        booster(9).minimize(objective_of(data, thresholds), np.zeros(96), callback=stop)
        for data in (q, sparse)
    ]
    assert np.array_equal(found[0].params, found[1].params)
    assert [r.status for r in found] == ["stopped", "stopped"]
    assert len(steps) == 10


@pytest.mark.parametrize("booster", BOOSTERS)
def test_best_so_far_chooses_the_round(booster, larger):
    objective = objective_of(*larger)
    result = dx.trainers.BestSoFar(booster(8), lambda w: -abs(np.count_nonzero(w) - 3)).minimize(
        objective, np.zeros(objective.source.model.n_params)
    )
    assert 0 < result.counts["best"] < 8


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_perfect_stump_has_a_finite_step(booster):
    q = dx.Queries.from_arrays([[0.0], [1.0]], [0.0, 1.0], group=[2])
    result = booster(50).minimize(objective_of(q, [[0.5]]), np.zeros(1))
    assert np.isfinite(result.params).all()
    assert result.params[0] > 0.0


@pytest.mark.parametrize("booster", BOOSTERS)
def test_hundreds_of_rounds_on_a_perfect_stump_end_where_the_loss_is_0(booster):
    """r = 1 every round: scores grow until exponentials underflow, and 0 / 0 must not be a step."""
    x = np.random.default_rng(0).random((200, 2))
    for sign in (1, -1):
        q = dx.Queries.from_arrays(sign * x, x[:, 0] > 0.5, qid=np.repeat([0, 1], 100))
        result = booster(1000).minimize(objective_of(q, [[sign * 0.5], [0.0]]), np.zeros(2))
        assert (result.status, result.value) == ("converged", 0.0)
        assert np.isfinite(result.params).all()
        assert sign * result.params[0] > 0.0 == result.params[1]
        assert [row["iteration"] for row in result.trace] == list(range(result.counts["iterations"] + 1))


def test_a_denormal_loss_is_no_reason_for_r_beyond_1():
    """Sums of a few units of the smallest float: a third more or less, and 1 - |r| would be negative."""
    q = dx.Queries.from_arrays([[0.0], [0.0], [1.0]], [1.0, 1.0, 0.0], group=[3])
    for start in np.linspace(-743.6, -743.4, 41):
        result = dx.trainers.RankBoost(3).minimize(objective_of(q, [[0.5]]), np.array([start]))
        assert result.status in ("converged", "max_iter")
        assert result.params[0] <= start


def test_what_is_not_finite_ends_it_with_the_round_before(larger, monkeypatch):
    q, thresholds = larger
    rounds = iter([(3.0, 1, 0.5), (2.0, 0, 0.25), (np.inf, 2, 1.0)])
    monkeypatch.setattr(dx.trainers.RankBoost, "_round", lambda *_: next(rounds))
    result = dx.trainers.RankBoost(9).minimize(objective_of(q, thresholds), np.zeros(96))
    assert (result.status, result.value, result.counts["iterations"]) == ("not_finite", 2.0, 1)
    assert result.params[:3].tolist() == [0.0, 0.5, 0.0]
    rounds = iter([(3.0, 1, 0.5), (2.0, 0, np.nan)])
    result = dx.trainers.RankBoost(9).minimize(objective_of(q, thresholds), np.zeros(96))
    assert (result.status, result.value, len(result.trace)) == ("not_finite", 3.0, 1)
    assert not result.params.any()


@pytest.mark.parametrize("booster", BOOSTERS)
def test_features_that_tell_nothing_end_it(booster):
    q = dx.Queries.from_arrays([[1.0], [1.0]], [0.0, 1.0], group=[2])
    result = booster(9).minimize(objective_of(q, [[]]), np.zeros(0))
    assert (result.status, result.counts) == ("converged", {"iterations": 0})
    useless = dx.Queries.from_arrays([[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 1.0, 0.0], group=[4])
    result = booster(9).minimize(objective_of(useless, [[0.5]]), np.zeros(1))
    assert (result.status, result.params.tolist()) == ("converged", [0.0])


@pytest.mark.parametrize("booster", BOOSTERS)
def test_data_without_pairs_end_it(booster, larger):
    q, thresholds = larger
    flat = dx.Queries.from_arrays(q.features, np.zeros(q.n_docs), group=[q.n_docs])
    result = booster().minimize(objective_of(flat, thresholds), np.zeros(96))
    assert result.status == "converged"
    assert "no query has two documents with different labels" in result.message
    assert not result.params.any()


def test_frank_tries_the_most_promising_first():
    """With one candidate: the largest (sqrt(W+) - sqrt(W-))^2, also if it is lost more than won."""
    q, _ = problem(2, sizes=(9, 9), n_features=4)
    thresholds = [np.array([2.5])] * 4
    D = reference.pair_weights(q.labels, q.qptr, np.ones(2), np.ones(18), alike=True)
    promise = []
    for h in reference.stumps_of(q.features, thresholds):
        won = sum(d for (i, j), d in D.items() if h[i] > h[j])
        lost = sum(d for (i, j), d in D.items() if h[i] < h[j])
        promise.append(np.sqrt(won) - np.sqrt(lost))
    best = int(np.argmax(np.abs(promise)))
    if promise[best] > 0.0:  # turn that feature around, so that its step must be negative
        X = q.features.copy()
        X[:, best] = 5.0 - X[:, best]
        q = dx.Queries.from_arrays(X, q.labels, qid=np.repeat([0, 1], 9))
    result = dx.trainers.FRank(1, candidates=1).minimize(objective_of(q, thresholds), np.zeros(4))
    assert result.params[best] < 0.0
    assert np.count_nonzero(result.params) == 1
