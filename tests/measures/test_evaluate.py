"""`evaluate`: grouping, means, names, and every message for data that cannot be used."""

import re

import numpy as np
import pytest

import directrix as dx
from directrix.measures.terms import gains
from tests.messages import rejects

SCORES, LABELS = np.array([0.9, 0.1, 0.2, 0.7]), np.array([0.0, 1.0, 1.0, 0.0])


def test_queries_may_be_given_in_four_ways():
    wanted = {"RR": (1 / 2 + 1 / 2) / 2}
    assert dx.evaluate("RR", SCORES, LABELS, qptr=[0, 2, 4]) == wanted
    assert dx.evaluate("RR", SCORES, LABELS, group=[2, 2]) == wanted
    assert dx.evaluate("RR", SCORES, LABELS, qid=["b", "b", "a", "a"]) == wanted
    assert dx.evaluate("RR", SCORES, LABELS, group=[len(LABELS)]) == {"RR": 1 / 3}


def test_query_ids_may_be_scattered():
    found = dx.evaluate(
        "RR", SCORES[[0, 2, 1, 3]], LABELS[[0, 2, 1, 3]], qid=["x", ("y", 1), "x", ("y", 1)], per_query=True
    )
    assert found.query_ids == ("x", ("y", 1))
    np.testing.assert_array_equal(found["RR"], [1 / 2, 1 / 2])


def test_document_ids_follow_scattered_queries():
    found = dx.evaluate(
        "RR(ties='trec')",
        [1, 1, 1, 1],
        [1, 0, 0, 1],
        qid=[1, 2, 1, 2],
        doc_ids=["b", "a", "a", "c"],
        per_query=True,
    )
    np.testing.assert_array_equal(found["RR(ties='trec')"], [1.0, 1.0])


def test_ids_are_needed_only_where_documents_tie():
    scores, labels = [3.0, 1.0, -np.inf, 2.0, 1.0, -np.inf, -np.inf], [0, 1, 1, 1, 0, 0, 1]
    given = {"qptr": [0, 3, 7], "convention": "trec_eval"}
    with_ids = dx.evaluate(["AP", "nDCG@2"], scores, labels, doc_ids=list("abcdefg"), **given)
    assert dx.evaluate(["AP", "nDCG@2"], scores, labels, **given) == with_ids
    with pytest.raises(dx.InputError, match="query 0: the documents in rows 0, 1 have the same score"):
        dx.AP(ties="trec")([1.0, 1.0 + 1e-12], [0, 1], [0, 2])


def test_keys_are_the_names_as_given():
    found = dx.evaluate(["map", "ndcg@1", dx.RR(k=3)], SCORES, LABELS, qptr=[0, 2, 4])
    assert list(found) == ["map", "ndcg@1", "RR@3"]
    assert list(dx.evaluate(dx.AP(), SCORES, LABELS, group=[len(LABELS)])) == ["AP"]


def test_queries_without_a_value_are_left_out_of_the_mean_and_counted():
    labels = [1, 0, 0, 0]
    found = dx.evaluate(["ROCArea", "AP", "AP(empty=skip)"], SCORES, labels, qptr=[0, 2, 4])
    assert found == {"ROCArea": 1.0, "AP": 0.5, "AP(empty=skip)": 1.0}
    assert found.skipped == {"ROCArea": 1, "AP": 0, "AP(empty=skip)": 1}
    nothing = dx.evaluate("ROCArea", SCORES, [0, 0, 0, 0], qptr=[0, 2, 4])
    assert np.isnan(nothing["ROCArea"])
    assert nothing.skipped == {"ROCArea": 2}


def test_per_query_gives_arrays_and_keeps_the_means():
    found = dx.evaluate("AP", SCORES, [1, 0, 0, 0], qptr=[0, 2, 4], per_query=True)
    np.testing.assert_array_equal(found["AP"], [1.0, 0.0])
    assert found.mean == {"AP": 0.5}
    assert found.query_ids == (0, 1)


def test_prepared_measures_give_the_same_for_new_scores():
    rng = np.random.default_rng(5)
    labels, qptr = rng.integers(0, 3, 60).astype(float), np.array([0, 20, 20, 60])
    ready = dx.NDCG(k=5).prepare(labels, qptr)
    for _ in range(3):
        scores = rng.standard_normal(60)
        np.testing.assert_array_equal(ready(scores)[0], dx.NDCG(k=5)(scores, labels, qptr))


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_other_dtypes_are_taken(kind):
    scores = np.array([3, 0, 1]).astype(kind)
    wanted = (1 / 1 + 1 / 2) / 2 if kind is bool else 1 / 2  # as bools, 3 and 1 are tied
    np.testing.assert_array_equal(dx.RR()(scores, [0, 0, 1], [0, 3]), [wanted])


def test_empty_queries_and_no_queries():
    np.testing.assert_array_equal(dx.AP()([1.0], [1.0], [0, 0, 1, 1]), [0.0, 1.0, 0.0])
    assert dx.AP()([], [], [0]).shape == (0,)
    for name in ("nDCG", "ERR", "P@3", "R", "IPrec@0.5", "RBP", "Rprec", "Success@1", "RR", "AP"):
        np.testing.assert_array_equal(dx.measure(name)([], [], [0, 0, 0]), [0.0, 0.0])
    for name in ("tau", "ROCArea"):
        np.testing.assert_array_equal(dx.measure(name)([], [], [0, 0, 0]), [np.nan, np.nan])


def test_no_documents_are_no_queries():
    for empty in ({"qid": []}, {"qptr": [0]}, {"group": []}):
        found = dx.evaluate("AP", [], [], **empty)
        assert np.isnan(found["AP"])
        assert found.query_ids == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.AP()([np.nan, 1.0], [0, 1], [0, 2]), "the first is nan at row 0 (query 0)"),
        (lambda: dx.AP()([1.0, np.inf], [0, 1], [0, 2]), "scores[1] is inf; finite scores are needed"),
        (lambda: dx.AP()([1.0], [0, 1], [0, 2]), "qptr ends at 2, but there are 1 scores"),
        (lambda: dx.AP()([[1.0, 2.0]], [0, 1], [0, 2]), "scores has shape (1, 2); one dimension is needed"),
        (lambda: dx.AP()([1.0, 2.0], [0, -1], [0, 2]), "the first is -1.0 at row 1 (query 0)"),
        (lambda: dx.AP()([1.0, 2.0], [0, np.nan], [0, 2]), "labels are finite and >= 0"),
        (lambda: dx.AP()([1.0, 2.0], [0, 1], [0, 3]), "qptr ends at 3, but there are 2 labels"),
        (lambda: dx.AP()([1.0, 2.0], [0, 1], [1, 2]), "qptr starts at 1"),
        (lambda: dx.AP()([1.0, 2.0], [0, 1], [0, 2, 1, 2]), "qptr decreases from 2 to 1 at query 1"),
        (lambda: dx.ERR()([1.0], [5.0], [0, 1]), "the highest label is 5 but ERR has l_max=4"),
        (lambda: dx.NDCG()([1.0], [2000.0], [0, 1]), "or a linear gain: NDCG(gain='linear')"),
        (
            lambda: dx.RR(ties="trec")([3.0, 1.0, 1.0, 2.0, 2.0], np.ones(5), [0, 1, 5]),
            "query 1: the documents in rows 3, 4 have the same score in single precision",
        ),
        (lambda: dx.RR(ties="trec")([1.0, 1.0], [1, 0], [0, 2]), "no ids were given. Pass doc_ids="),
        (
            lambda: dx.evaluate(
                "RR", [1.0, 3.0, 2.0, 3.0], np.ones(4), qid=list("abab"), convention="trec_eval"
            ),
            "query b: the documents in rows 1, 3 have",
        ),
        (
            lambda: dx.RR(ties="trec")([1.0], [1.0], [0, 1], doc_ids=["a", "b"]),
            "doc_ids has 2 entries but there are 1 documents",
        ),
        (
            lambda: dx.RR(ties="trec")([1.0, 1.0], [1, 0], [0, 2], doc_ids=5),
            "doc_ids: 'int' object is not it",
        ),
        (
            lambda: dx.evaluate("AP", SCORES, LABELS, qid=[1, 1, 2, 2], group=[2, 2]),
            "qid and group were given; they mean the same: pass only one",
        ),
        (lambda: dx.evaluate("AP", SCORES, LABELS, qid=[1, 2]), "qid has 2 values for 4 scores"),
        (lambda: dx.evaluate("AP", SCORES, LABELS, group=[2, 3]), "the 2 sizes add up to 5"),
        (
            lambda: dx.evaluate("AP", SCORES, [1, 0], qid=[1, 1, 2, 2]),
            "labels has 2 values for 4 scores; one value per row is needed. Compare len(labels) with len(sc",
        ),
        (lambda: dx.evaluate("AP", SCORES, LABELS, qptr=5), "qptr has shape (); one dimension is needed"),
        (lambda: dx.evaluate("AP", 1.0, 1.0, qid=[0]), "scores has shape ()"),
        (lambda: dx.evaluate("AP", SCORES, LABELS), "or qid=numpy.zeros(4) if all rows belong to one query"),
        (lambda: dx.AP()(["a", "b"], [0, 1], [0, 2]), "(first value 'a')"),
        (lambda: dx.AP()(np.array([1j, 0]), [0, 1], [0, 2]), "(first value 1j)"),
        (lambda: dx.AP()([1.0], [np.inf], [0, 1]), "Give the highest grade of the scale instead"),
    ],
)
def test_what_cannot_be_evaluated_is_said(call, message):
    with pytest.raises(dx.InputError, match=re.escape(message)):
        call()


def test_gains_do_not_overflow_without_a_word():
    np.testing.assert_array_equal(gains(np.array([1000.0])), [2.0**1000 - 1])
    with rejects(dx.InputError):
        gains(np.array([0.0, 1001.0]))
    np.testing.assert_array_equal(gains(np.array([2000.0]), "linear"), [2000.0])


def test_masked_numbers_are_not_used_as_if_they_were_there():
    mask = [True, False, False]
    scores = np.ma.masked_array([3.0, 2.0, 1.0], mask)
    labels = np.ma.masked_array([1, 0, 1], mask)
    for call in (
        lambda: dx.evaluate("AP", scores, [1, 0, 1], group=[3]),
        lambda: dx.AP()(scores, [1, 0, 1], [0, 3]),
        lambda: dx.evaluate("AP", [3, 2, 1], labels, group=[len(labels)]),
        lambda: dx.LinearRanker().fit(np.eye(3), labels, qid=[1, 1, 1]),
    ):
        with rejects(dx.InputError):
            call()
    assert dx.evaluate("bpref", [3, 2, 1], labels, group=[len(labels)]) == dx.evaluate(
        "bpref", [3, 2, 1], [np.nan, 0, 1], group=[3]
    )
    whole = np.ma.masked_array([1, 0, 1], [False] * 3)
    assert dx.evaluate("AP", [3, 2, 1], whole, group=[len(whole)]) == dx.evaluate(
        "AP", [3, 2, 1], [1, 0, 1], group=[3]
    )
    features = np.ma.masked_array(np.eye(3), [mask, mask, mask])
    with rejects(dx.InputError):
        dx.Queries.from_arrays(features, [1, 0, 1], qid=[1, 1, 1])
    q = dx.Queries.from_arrays(features, [1, 0, 1], qid=[1, 1, 1], missing="nan")
    assert np.isnan(q.features[:, 0]).all()
    with pytest.raises(ValueError, match=r"NaN|nan|missing"):
        dx.LinearRanker().fit(features, [1, 0, 1], qid=[1, 1, 1])


def test_kendalls_tau_never_exceeds_one():
    """With these ties the quotient of the square roots rounds to 1 + 2e-16."""
    rng = np.random.default_rng(0)
    for n in (3, 5, 6, 7, 10, 11, 50, 300):
        for levels in range(2, 8):
            y = rng.integers(0, levels, n).astype(float)
            tau = dx.KendallTau()(np.append(y, -y), np.append(y, y), [0, n, 2 * n])
            assert np.isnan(tau).all() or (abs(tau) <= 1.0).all()


@pytest.mark.parametrize("kind", [int, float, np.float32])
def test_gains_below_zero_are_for_scores_of_any_type(kind):
    found = dx.evaluate("DCG(gain=linear)", np.array([3, 2, 1], kind), [1, -1, 0], group=[3])
    np.testing.assert_allclose(found["DCG(gain=linear)"], 1 / np.log2(2) - 1 / np.log2(3), rtol=1e-15, atol=0)


@pytest.mark.parametrize("how", [{"group": [3, 3]}, {"qid": [0, 1]}])
def test_scores_of_two_dimensions_are_told_so(how):
    scores = np.array([[0.1, 0.2, 0.3], [0.8, 0.1, 0.05]])
    with pytest.raises(dx.InputError, match=r"scores has shape \(2, 3\); one dimension is needed"):
        dx.evaluate("nDCG", scores, scores > 0.25, **how)
