"""Simulated logs: what is shown, and what is clicked."""

import numpy as np
import pytest

import directrix as dx
from directrix.clicks.simulation import ATTRACTION, EXAMINATION
from tests.messages import rejects

N = 20_000


@pytest.fixture(scope="module")
def queries():
    labels = np.array([4, 2, 0, 1, 3, 0, 2.0])
    X = np.arange(7.0)[:, None]
    return dx.Queries.from_arrays(X, labels, qid=[0, 0, 0, 0, 1, 1, 1], doc_ids=list("abcdefg"))


def ranks(log, document):
    """How often a document of query 0 is at each position, as frequencies in its sessions."""
    s = log.sessions
    pair = log.pairs.doc_ids.tolist().index(document)
    return np.bincount(s.position[s.pair == pair], minlength=5)[1:] / (s.query == log.pairs.query[pair]).sum()


def test_a_deterministic_policy_shows_the_best_first(queries):
    log = dx.clicks.simulate(queries, queries.labels, n_sessions=500, n_positions=3)
    s = log.sessions
    assert log.n_sessions == 500
    assert log.pairs.doc_ids[s.pair[:3]].tolist() == ["a", "b", "d"]
    assert log.pairs.doc_ids[s.pair[-3:]].tolist() == ["e", "g", "f"]
    assert 200 < (s.query == 0).sum() < 300
    ranker = dx.LinearRanker().fit_queries(queries)
    dx.clicks.simulate(queries, ranker, n_sessions=10)


def test_a_shuffle_is_uniform_and_a_swap_moves_the_first(queries):
    shuffled = dx.clicks.simulate(queries, queries.labels, n_sessions=N, policy="shuffle")
    np.testing.assert_allclose(ranks(shuffled, "d"), 1 / 4, atol=0.02)
    swapped = dx.clicks.simulate(queries, queries.labels, n_sessions=N, policy="swap")
    np.testing.assert_allclose(ranks(swapped, "a"), 1 / 4, atol=0.02)
    np.testing.assert_allclose(ranks(swapped, "d"), [1 / 4, 0, 3 / 4, 0], atol=0.02)


def test_plackett_luce_samples_by_softmax(queries):
    scores = np.array([0.0, 1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    log = dx.clicks.simulate(queries, scores, n_sessions=N, policy="plackett-luce", n_positions=2)
    p = np.exp(scores[:4]) / np.exp(scores[:4]).sum()
    for i, document in enumerate("abcd"):
        second = sum(p[j] * p[i] / (1 - p[j]) for j in range(4) if j != i)
        np.testing.assert_allclose(ranks(log, document)[:2], [p[i], second], atol=0.02)


def test_several_rankers_are_served_at_random(queries):
    log = dx.clicks.simulate(queries, {"up": queries.labels, "down": -queries.labels}, n_sessions=N)
    s = log.sessions
    first = log.pairs.doc_ids[s.pair[s.ptr[:-1]]]
    assert s.rankers == ("up", "down")
    np.testing.assert_allclose(s.ranker.mean(), 0.5, atol=0.02)
    assert set(first[(s.ranker == 0) & (s.query == 0)]) == {"a"}
    assert set(first[(s.ranker == 1) & (s.query == 0)]) == {"c"}


@pytest.mark.parametrize("eta", [0.0, 1.0, 2.0])
def test_clicks_are_examined_and_attract(queries, eta):
    log = dx.clicks.simulate(queries, queries.labels, n_sessions=N, eta=eta)
    cells = log.aggregate()
    labels = queries.labels.astype(int)[cells.pair]
    expected = np.array(EXAMINATION)[cells.position - 1] ** eta * np.array(ATTRACTION)[labels]
    np.testing.assert_allclose(cells.clicks / cells.impressions, expected, atol=0.02)


def test_trust_adds_clicks_on_what_does_not_attract(queries):
    log = dx.clicks.simulate(
        queries, queries.labels, n_sessions=N, trust=(0.9, [0.5, 0.4, 0.3, 0.2]), n_positions=4
    )
    cells = log.aggregate()
    r, k = np.array(ATTRACTION)[queries.labels.astype(int)[cells.pair]], cells.position - 1
    other = np.array([0.5, 0.4, 0.3, 0.2])[k]
    expected = np.array(EXAMINATION)[k] * (0.9 * r + other * (1 - r))
    np.testing.assert_allclose(cells.clicks / cells.impressions, expected, atol=0.02)


@pytest.mark.parametrize("name", ["CM", "DCM", "SDBN", "DBN", "UBM", "GCTR", "RCTR", "DCTR"])
def test_every_model_clicks_less_often_below(queries, name):
    same = dx.Queries.from_arrays(queries.features, np.full(7, 2), qid=[0] * 7)
    log = dx.clicks.simulate(same, np.zeros(7), name, n_sessions=5_000)
    rate = np.bincount(log.sessions.position, log.sessions.click)[1:] / 5_000
    assert name in ("GCTR", "DCTR") or rate[0] > rate[3] > rate[6]


def test_a_fitted_model_keeps_its_positions(queries):
    log = dx.clicks.simulate(queries, queries.labels, n_sessions=N, policy="shuffle", eta=2.0)
    model = dx.clicks.model("PBM").fit(log)
    attraction = model.attraction_.copy()
    again = dx.clicks.simulate(queries, queries.labels, model, n_sessions=N, policy="shuffle")
    assert (model.attraction_ == attraction).all()
    refit = dx.clicks.model("PBM").fit(again)
    np.testing.assert_allclose(refit.examination_, model.examination_, atol=0.05)


def test_the_same_seed_gives_the_same_log(queries):
    one, same, other = (
        dx.clicks.simulate(queries, queries.labels, n_sessions=300, policy="shuffle", seed=seed)
        for seed in (1, 1, 2)
    )
    assert all(np.array_equal(x, y) for x, y in zip(one.sessions, same.sessions, strict=True))
    assert not np.array_equal(one.sessions.click, other.sessions.click)


BAD = {
    "policy": {"policy": "random"},
    "sessions": {"n_sessions": 0},
    "eta": {"eta": -1},
    "attraction": {"attraction": [0.1, 2.0]},
    "labels": {"attraction": [0.1, 0.2]},
    "trust": {"trust": (0.2, 0.5)},
    "one trust": {"trust": 0.5},
    "model": {"model": dx.NDCG()},
    "scores": {"ranker": [1.0]},
    "infinite scores": {"ranker": np.full(7, np.inf)},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_what_cannot_be_simulated_is_rejected(queries, change):
    with rejects(dx.InputError):
        dx.clicks.simulate(queries, **({"ranker": queries.labels} | change))
