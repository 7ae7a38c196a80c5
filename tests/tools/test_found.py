"""Arguments that fuzzing found: each is rejected in one sentence."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import directrix as dx
from directrix.data.columns import feature_names
from directrix.errors import InputError
from directrix.experiments import line_search
from directrix.laws import smooth_ndcg_bound, soft_ranks
from directrix.models import StumpModel

Q, _ = dx.data.make_linear(3, 4, 2, seed=0)
RAGGED, HUGE = [[1.0], [1.0, 2.0]], 10**400
RECORDS = np.zeros(1, dtype="i4,f8")
OBJECTS = memoryview(np.array(["a", "b"], dtype=object))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dx.evaluate(np.array(7.0), [1.0], [1.0], qid=[1]), "the measures are numbers"),
        (lambda: line_search("AP", [1.0, 2.0], [1.0, 2.0], RAGGED, [0, 2]), "labels: not an array"),
        (lambda: soft_ranks(np.array(1.0), 10.0), "scores"),
        (
            lambda: dx.LBFGS().minimize(dx.linear_objective(Q, "ApproxNDCG"), np.array(0.5)),
            r"start has shape \(\)",
        ),
        (
            lambda: dx.CG().minimize(dx.linear_objective(Q, "ApproxNDCG"), np.zeros((2, 2))),
            r"start has shape \(2, 2",
        ),
        (lambda: dx.certify([HUGE, 1], Q, measure="AP"), "ranker_or_params is a list"),
        (lambda: dx.LinearRanker(start=[HUGE, 1]).fit_queries(Q), "start: not an array"),
        (
            lambda: dx.data.Run.from_frame({"qid": OBJECTS, "docno": OBJECTS, "score": [1, 2]}),
            "has no rows",
        ),
        (lambda: feature_names(5, 1), "feature_names=5: a list"),
        (lambda: feature_names(np.array(5), 1), r"feature_names=array\(5\): a list"),
        (lambda: dx.data.Scale.fit("standard", np.zeros((0, 2))), "features have no rows"),
        (lambda: StumpModel(np.dtype("f8")), "thresholds"),
        (lambda: StumpModel(OBJECTS), "thresholds: memoryview"),
        (lambda: dx.evaluate(np.dtype("f8"), [1.0], [1.0], qid=[1]), "dtype"),
        (lambda: dx.data.fit_scale("standard", np.eye(2).view(np.matrix)), "features are a matrix"),
        (lambda: dx.data.fit_scale("quantile", np.ma.masked_equal([[1.0], [2.0]], 1.0)), "a MaskedArray"),
        (lambda: Q.take(RAGGED), "take: not an array"),
        (lambda: dx.data.split_queries(Q, [HUGE, 1]), "shares with sum 1"),
        (lambda: dx.evaluate("AP", [1.0] * 3, [1.0] * 3, qid=[1, 2, 1], doc_ids=np.array(5)), "doc_ids"),
        (
            lambda: dx.AP(ties="trec")([1.0, 2.0], [1.0, 0.0], [0, 2], doc_ids=OBJECTS),
            "doc_ids: memoryview",
        ),
        (lambda: dx.Queries.from_arrays({"a": RAGGED}, [0, 1], group=[2]), "a column: not an array"),
        (lambda: feature_names(OBJECTS, 2), "feature_names"),
        (lambda: dx.ListNet().value_and_grad(RECORDS, [1.0], [0, 1]), "scores"),
        (lambda: dx.ListNet().value_and_grad(RECORDS[:0], [1.0], [0, 1]), "scores"),
        (lambda: dx.ListNet().value_and_grad(np.ma.array(RECORDS), [1.0], [0, 1]), "scores"),
        (lambda: dx.Queries.from_arrays(np.eye(2), [0, 1], qid=OBJECTS), "qid"),
        (
            lambda: dx.Queries.from_arrays(np.eye(2), [0, 1], doc_ids=OBJECTS, group=[2]),
            "identifiers: memoryview",
        ),
        (lambda: dx.data.Run("x", OBJECTS, [0, 1], ["d"], [1.0]), "lists of names"),
        (lambda: dx.evaluate(OBJECTS, [1.0], [1.0], qid=[1]), "give names of measures"),
        (lambda: dx.LinearRanker().fit(np.ma.array(np.zeros((2, 2), "i4,f8")), [0, 1], qid=[1, 1]), "X"),
        (lambda: smooth_ndcg_bound(RAGGED, [1.0, 0.0], 0.1), "scores: not an array"),
        (lambda: replace(Q, labels=None), "labels have dtype None"),
        (lambda: replace(Q, rows=RAGGED), "rows: not an array"),
        (lambda: replace(Q, labels=np.array([{}] * 12)), "labels have dtype object"),
        (lambda: dx.LinearRanker().fit(np.ma.masked_equal([[HUGE, 0]] * 2, 0), [0, 1], qid=[1, 1]), "X"),
        (lambda: dx.LinearRanker(start=RAGGED).fit_queries(Q), "start: not an array"),
    ],
)
def test_an_argument_is_rejected_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_weights_of_a_line_search_stay_as_they_are():
    weight = np.array([1.0, 2.0])
    weight.flags.writeable = False
    labels, scores = [1.0, 0.0, 0.0, 0.0], np.arange(4.0)
    measure = dx.NDCG(empty="skip")  # which the second query lacks
    assert line_search(measure, scores, -scores, labels, [0, 2, 4], query_weight=weight).value == 1.0


@pytest.mark.parametrize("params", [range(2), [Decimal(0), Decimal(1)]])
def test_parameters_of_a_loss_with_a_penalty_may_be_any_numbers(params):
    objective = dx.linear_objective(Q, dx.ListNet(), l2=0.5)
    value, grad = objective.value_and_grad(params)
    expected = objective.value_and_grad(np.array([0.0, 1.0]))
    assert (value, grad.tolist()) == (expected[0], expected[1].tolist())


def test_documents_may_be_records():
    docs = np.array([(1, "a"), (2, "b")], dtype=[("n", int), ("name", "U1")])
    run = dx.data.Run(tag="x", query_ids=("1",), qptr=[0, 2], doc_ids=docs, scores=[2.0, 1.0])
    qrels = dx.data.Qrels(query_ids=("1",), qptr=[0, 1], doc_ids=docs[:1], labels=[1.0])
    assert dx.data.join_trec(run, qrels).labels.tolist() == [1.0, 0.0]


def test_a_bound_of_scores_whose_distance_has_no_square():
    assert smooth_ndcg_bound([1e200, 0.0], [1.0, 0.0], 0.1) == 0.0


def test_masked_text_is_rejected_as_text_is():
    text = np.array([["x", "1"], ["2", "3"]])
    for X in (text, np.ma.array(text, mask=[[0, 1], [0, 0]])):
        with pytest.raises(ValueError, match="could not convert string to float"):
            dx.LinearRanker().fit(X, [0, 1], qid=[1, 1])
    numbers = np.ma.array([["0", "x"], ["2", "3"]], mask=[[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="NaN"):
        dx.LinearRanker().fit(numbers, [0, 1], qid=[1, 1])
