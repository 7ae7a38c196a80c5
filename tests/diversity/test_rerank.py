"""Greedy rankings, against plain loops and all permutations of small lists."""

from itertools import permutations, product
from math import e, log2

import numpy as np
import pandas as pd
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data import memory
from directrix.diversity import mmr, novelty
from directrix.errors import InputError

RNG = np.random.default_rng(0)


def ranking(new):
    """Places of the documents, the best first."""
    assert sorted(-new) == list(range(1, len(new) + 1))
    return np.argsort(-new, kind="stable").tolist()


def plain_mmr(scores, v, trade_off):
    chosen, left = [], list(range(len(scores)))

    def value(i):
        if not chosen:
            return scores[i]
        cosines = [v[i] @ v[j] / np.sqrt(v[i] @ v[i]) / np.sqrt(v[j] @ v[j]) for j in chosen]
        return trade_off * scores[i] - (1 - trade_off) * max(cosines)

    while left:
        chosen.append(max(left, key=value))
        left.remove(chosen[-1])
    return chosen


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 0.8, 1.0])
def test_mmr_is_the_loop_of_its_paper(trade_off):
    for _ in range(20):
        scores, v = RNG.random(9), RNG.normal(size=(9, 4))
        assert ranking(mmr(scores, v, trade_off=trade_off, group=[9])) == plain_mmr(scores, v, trade_off)


def expected_gain(order, p, m, alpha):
    """Expected alpha-DCG of a ranking, whose documents are relevant independently, by all outcomes."""
    total = 0.0
    for outcome in product([0, 1], repeat=len(order)):
        chance = np.prod([p[i] if y else 1 - p[i] for i, y in zip(order, outcome, strict=True)])
        seen = np.zeros(m.shape[1])
        for rank, (i, y) in enumerate(zip(order, outcome, strict=True), start=1):
            total += chance * y * (m[i] @ (1 - alpha) ** seen) / log2(1 + rank)
            seen += y * m[i]
    return total


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_novelty_is_close_to_the_best_of_all_permutations(alpha):
    ratios = []
    for _ in range(6):
        p, m = RNG.random(5), RNG.integers(0, 2, (5, 3)).astype(float)
        m[0] = 1.0
        found = expected_gain(ranking(novelty(p, m, alpha=alpha, group=[5])), p, m, alpha)
        best = max(expected_gain(order, p, m, alpha) for order in permutations(range(5)))
        ratios.append(found / best)
        assert (1 - 1 / e) * best <= found <= best + 1e-12
    assert np.mean(ratios) > 0.97


def test_the_second_choice_of_novelty_has_the_largest_expected_gain():
    for _ in range(40):
        p, m = RNG.random(8), RNG.integers(0, 2, (8, 4)).astype(float)
        order = ranking(novelty(p, m, alpha=0.7, k=2, group=[8]))
        second = [expected_gain([order[0], j], p, m, 0.7) for j in range(8) if j != order[0]]
        np.testing.assert_allclose(expected_gain(order[:2], p, m, 0.7), max(second), rtol=1e-12)


def test_novelty_of_judgments_is_the_ideal_ranking_of_the_measure():
    labels = RNG.integers(0, 2, (40, 4))
    labels = labels[labels.any(axis=1)]  # one list: others than relevant ones earn nothing
    ours = novelty(np.ones(len(labels)), labels, group=[len(labels)])
    n = len(labels)
    value = dx.evaluate("alpha_nDCG@10", ours, labels, group=[n], doc_ids=list(map(str, range(n))))
    assert value["alpha_nDCG@10"] == pytest.approx(1.0, abs=0.01)  # ties of the greedy choice differ


@pytest.mark.parametrize("rerank", [mmr, novelty])
def test_a_trade_off_of_one_keeps_the_order(rerank):
    scores = RNG.random(30).round(1)
    categories = RNG.integers(0, 3, 30)
    new = rerank(scores, categories, trade_off=1.0, group=[30])
    assert ranking(new) == np.argsort(-scores, kind="stable").tolist()


@pytest.mark.parametrize("rerank", [mmr, novelty])
def test_queries_are_independent_and_in_any_form(rerank):
    scores, qid = RNG.random(24), RNG.permutation(np.repeat(["a", "b", "c"], 8))
    colors = RNG.choice(["red", "blue", "green"], 24)
    new = rerank(scores, colors, qid=qid)
    for query in "abc":
        rows = qid == query
        np.testing.assert_array_equal(new[rows], rerank(scores[rows], colors[rows], qptr=[0, 8]))
        vectors = (colors[rows, None] == ["red", "blue", "green"]).astype(float)
        np.testing.assert_array_equal(new[rows], rerank(scores[rows], vectors, group=[8]))
    frame = pd.DataFrame({"p": scores, "color": colors, "query": qid})
    np.testing.assert_array_equal(rerank(frame["p"], frame["color"], qid=frame["query"]), new)


def test_below_the_cut_off_documents_follow_by_score():
    scores, colors = np.array([0.5, 0.9, 0.7, 0.6, 0.8]), ["red", "red", "red", "blue", "red"]
    assert ranking(mmr(scores, colors, trade_off=0.5, k=2, group=[5])) == [1, 3, 4, 2, 0]


@pytest.mark.parametrize("unit", [1e300, 1e-310])
def test_the_length_of_vectors_does_not_count(unit):
    scores, vectors = [0.9, 0.8, 0.5], np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = mmr(scores, unit * vectors, trade_off=0.5, group=[3])
    assert found.tolist() == [-1.0, -3.0, -2.0]


def test_a_document_without_direction_is_similar_to_none():
    assert ranking(mmr([0.9, 0.8, 0.7], [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]], trade_off=0.5, group=[3])) == [
        0,
        2,
        1,
    ]


@pytest.mark.parametrize("empty", [None, np.nan, ""])
def test_a_document_without_category_is_similar_to_none(empty):
    scores, brands = [0.9, 0.8, 0.7, 0.6], [empty, empty, "a", "a"]
    found = mmr(scores, brands, trade_off=0.5, group=[4])
    np.testing.assert_array_equal(
        found, mmr(scores, [[0, 0], [0, 0], [1, 0], [1, 0]], trade_off=0.5, group=[4])
    )
    np.testing.assert_array_equal(found, [-1, -2, -3, -4])
    np.testing.assert_array_equal(novelty(scores, brands, group=[4]), [-3, -4, -1, -2])


def test_bad_input_is_rejected():
    for scores, documents, more in (
        ([0.5, np.nan], ["a", "b"], {}),
        ([0.5, 0.4], ["a"], {}),
        ([0.5, 0.4], ["a", "b"], {"trade_off": 1.5}),
        ([0.5, 0.4], ["a", "b"], {"k": 0}),
        ([0.5, 0.4], ["a", ["b"]], {}),
        ([0.5, 0.4], [{}, {}], {}),
    ):
        with rejects(InputError):
            mmr(scores, documents, group=[2], **more)
    with rejects(InputError):
        novelty([0.5, 1.4], ["a", "b"], group=[2])
    with rejects(InputError):
        novelty([0.5, 0.4], [[1.0, 0.0], [2.0, 0.0]], group=[2])
    with rejects(InputError):
        mmr([0.5, 0.4], ["a", "b"])


def test_a_matrix_of_categories_that_does_not_fit_into_memory_is_rejected(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr(memory, "_NOT_ASKED", 1000)
    with pytest.raises(InputError, match="50 documents of a query with 50 different categories would take"):
        novelty(np.full(50, 0.5), range(50), group=[50])
