"""What measures of one call share (the sort, counts of labels) and quick ways through kernels move no bit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.measures.names import measures
from directrix.measures.prepared import trec_order
from directrix.parameters import literal_words

TIES = ("expected", "order", "worst", "trec")
RULES = [
    replace(m, ties=ties)
    for m in map(dx.measure, (*measures(), "nDCG@3", "nDCG(gain=linear)@3", "AP(rel=2)", "P(rel=3)@5"))
    for ties in literal_words(type(m)).get("ties", TIES)
    if hasattr(m, "ties") and m.sees != "subtopics"
]


def problem(seed, sizes=(7, 0, 1, 60, 300, 45)):
    """Queries on both sides of every switch of the sort, scores with ties, some not retrieved."""
    rng = np.random.default_rng(seed)
    qptr = np.append(0, np.cumsum(sizes))
    scores = rng.integers(0, 12, qptr[-1]) / 8
    scores[rng.random(qptr[-1]) < 0.1] = -np.inf
    return scores, rng.choice(5, qptr[-1], p=[0.5, 0.2, 0.1, 0.1, 0.1]).astype(float), qptr


def test_measures_of_all_rules_in_one_call_have_the_bits_of_each_alone():
    scores, labels, qptr = problem(0)
    ids = [f"d{i}" for i in np.random.default_rng(1).permutation(len(scores))]
    together = dx.evaluate(RULES, scores, labels, qptr=qptr, doc_ids=ids, per_query=True)
    assert len(together) == len(RULES)
    for m in RULES:
        np.testing.assert_array_equal(together[m.name], m(scores, labels, qptr, doc_ids=ids))


def test_measures_with_the_same_key_have_the_same_from_labels():
    _, labels, qptr = problem(2)
    kinds = [*RULES, dx.NDCG(k=3, empty="one"), dx.NDCG(k=3, discount="letor3"), dx.RBP(rel=2, p=0.5)]
    shared = 0
    for one, other in itertools.combinations(kinds, 2):
        if one.label_key == other.label_key:
            shared += 1
            np.testing.assert_array_equal(one.from_labels(labels, qptr), other.from_labels(labels, qptr))
    assert shared > 100


@pytest.mark.parametrize("kind", [np.float32, np.float16, ">f8"])
def test_scores_of_other_precision_and_views_give_the_same_bits(kind):
    scores, labels, qptr = problem(3)  # eighths: exact in all of them
    wanted = dx.evaluate(["nDCG", "AP", "KendallTau"], scores, labels, qptr=qptr)
    assert dx.evaluate(["nDCG", "AP", "KendallTau"], scores.astype(kind), labels, qptr=qptr) == wanted
    strided = np.repeat(scores.astype(kind), 2)[::2]
    assert dx.evaluate(["nDCG", "AP", "KendallTau"], strided, labels, qptr=qptr) == wanted
    by_id, ids = dx.AP(ties="trec"), [f"d{i % 7}" for i in range(len(scores))]
    got = by_id(scores.astype(kind), labels, qptr, doc_ids=ids)
    np.testing.assert_array_equal(got, by_id(scores, labels, qptr, doc_ids=ids))


@pytest.mark.parametrize("tied", [True, False])
def test_pairs_by_level_are_pairs_by_merging(tied):
    """A quarter more on every label changes no order, but such labels are not integers."""
    scores, labels, qptr = problem(4)
    if not tied:
        scores = np.random.default_rng(5).standard_normal(len(scores))
    tau = dx.KendallTau()
    np.testing.assert_array_equal(tau(scores, labels, qptr), tau(scores, labels + 0.25, qptr))
    np.testing.assert_array_equal(tau(scores, 5 * labels, qptr), tau(scores, labels, qptr))  # 20 > 16 levels


@pytest.mark.parametrize("k", [1, 4, None])
def test_ideal_by_counting_is_ideal_by_sorting(k):
    """Half of every label halves every linear gain exactly, but such labels are not integers."""
    scores, labels, qptr = problem(6)
    m = dx.NDCG(k=k, gain="linear")
    np.testing.assert_array_equal(m(scores, labels, qptr), m(scores, labels / 2, qptr))
    np.testing.assert_array_equal(m(scores, labels, qptr), m(scores, 32 * labels, qptr))  # 128 > 64 levels


@pytest.mark.parametrize("label", [0, 1, 4, 52, 53, 62, 63, 64, 69, 70, 0.5, 2.5, 1000])
def test_gains_by_shift_are_powers_less_one(label):
    np.testing.assert_array_equal(dx.DCG(k=1)([1.0], [label], [0, 1]), [2.0**label - 1.0])
    stop = (2.0**label - 1.0) / 2.0**1000
    np.testing.assert_array_equal(dx.ERR(k=1, l_max=1000)([1.0], [label], [0, 1]), [stop])


def test_identifiers_descend_within_queries_by_code_point():
    rng = np.random.default_rng(7)
    letters = list("abAZ09-é漢😀")
    ids = ["".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(400)]  # lengths 0 to 8, some twice
    qptr = np.array([0, 1, 1, 30, 75, 400])
    wanted = [
        row
        for a, b in itertools.pairwise(qptr)
        for row in sorted(range(a, b), key=lambda row: [-ord(letter) for letter in ids[row]] + [0])
    ]
    np.testing.assert_array_equal(trec_order(ids, qptr), wanted)
    np.testing.assert_array_equal(trec_order(np.array(ids), qptr), wanted)
    np.testing.assert_array_equal(trec_order(np.array(ids).astype(">U8"), qptr), wanted)
    np.testing.assert_array_equal(trec_order(np.array(ids, dtype=object), qptr), wanted)


def test_identifiers_that_are_no_text_are_compared_as_text():
    np.testing.assert_array_equal(trec_order([10, 9, 1, 100], np.array([0, 4])), [1, 3, 0, 2])
    assert trec_order([], np.array([0])).shape == (0,)
