"""Objects of the wrong kind are refused with one clear error at the doors of the package."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix import data, experiments, models
from directrix.data.checks import weights_of

HUGE = 10**400
OTHERS = ["x", 3, None, len, np.zeros((2, 2)), {"a": 1}]
X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]])
Q = dx.Queries.from_arrays(X, [0, 1, 2], qid=[1, 1, 1])


@pytest.fixture(scope="module")
def ranker():
    return dx.LinearRanker(max_iter=1).fit_queries(Q)


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_what_is_not_queries_is_refused(other, ranker):
    doors = [
        lambda q: data.k_folds(q, 3),
        lambda q: data.split_queries(q, [0.5, 0.5]),
        lambda q: data.audit({"train": q}),
        dx.LinearRanker().fit_queries,
        ranker.predict_queries,
        lambda q: experiments.surrogate_tendencies(["ApproxNDCG"], q),
        lambda q: experiments.approximation(q, "ApproxNDCG"),
        lambda q: experiments.permutation_importance(ranker, q),
        lambda q: data.Run.from_scores(q, [1.0]),
        lambda q: dx.linear_objective(q, "ApproxNDCG"),
        dx.trainers.regression_start,
    ]
    for door in doors:
        with pytest.raises(dx.InputError, match=r"Queries are needed"):
            door(other)


@pytest.mark.parametrize("other", ["x", 3, len, np.zeros(3), [[1.0]]], ids=str)
def test_what_is_not_features_is_refused(other):
    scale = data.fit_scale("standard", X)
    for door in (
        models.quantile_thresholds,
        lambda given: data.fit_scale("quantile", given),
        lambda given: scale.apply(given, np.array([0, 3])),
        lambda given: models.LinearModel().forward(np.ones(2), given),
        lambda given: models.StumpModel([[0.5], [0.5]]).forward(np.ones(2), given),
    ):
        with pytest.raises(dx.InputError, match="two dimensions and float32 or float64"):
            door(other)


def test_models_take_csr_as_it_is():
    rows = sp.csr_array(X)
    assert models.LinearModel().forward(np.array([1.0, 2.0]), rows)[0].tolist() == [2.0, 2.0, 2.0]
    stumps = models.StumpModel([[0.5], [0.7]])
    assert stumps.forward(np.ones(2), rows)[0].tolist() == stumps.forward(np.ones(2), X)[0].tolist()


@pytest.mark.parametrize("wrong", [HUGE, "1", b"1", {}, [1], 1j], ids=type)
def test_numbers_that_no_float_holds_are_refused(wrong):
    values = np.empty(3, dtype=object)
    values[:] = [0, wrong, 1]
    for door in (
        lambda: weights_of(values, 3, "query_weight", "query"),
        lambda: models.LinearModel().forward(values[:2], X),
        lambda: models.StumpModel([[0.5], [0.5, 1.0]]).forward(values, X),
        lambda: dx.NDCG()(values, [0, 1, 1], [0, 3]),
        lambda: dx.NDCG()([0.0, 1.0, 2.0], values, [0, 3]),
        lambda: dx.evaluate("AP", [0.0, 1.0, 2.0], values, group=[len(values)]),
        lambda: dx.tendency([[0.0], [wrong], [1.0]], [[0.0], [1.0], [1.0]]),
        lambda: data.Run("x", ("a",), [0, 3], ["a", "b", "c"], values),
    ):
        with pytest.raises(dx.InputError, match="number"):
            door()


def test_numbers_in_object_arrays_are_taken():
    values = np.array([0, 1.5, np.float32(1)], dtype=object)
    assert weights_of(values, 3, "query_weight", "query").tolist() == [0.0, 1.5, 1.0]
    assert dx.RR()(values, np.array([0, 1, 0], dtype=object), [0, 3]).tolist() == [1.0]
    assert dx.RR()(pd.array([0.0, 1.5, 1.0], dtype="Float64"), [0, 1, 0], [0, 3]).tolist() == [1.0]


def test_a_huge_parameter_is_refused():
    with pytest.raises(dx.InputError, match="ridge"):
        dx.trainers.regression_start(Q, ridge=HUGE)


def test_sparse_scores_and_ragged_labels_are_refused():
    with pytest.raises(dx.InputError, match="sparse"):
        dx.NDCG()(sp.csr_array([[1.0, 2.0]]), [0, 1], [0, 2])
    with pytest.raises(dx.InputError, match="labels"):
        dx.NDCG()([1.0, 2.0], [[1], [1, 2]], [0, 2])


def test_masked_entries_of_qid_are_refused():
    qid = np.ma.masked_array([1, 1, 2], mask=[False, True, False])
    with pytest.raises(dx.InputError, match="qid: 1 entries are masked"):
        dx.Queries.from_arrays(X, [0, 1, 1], qid=qid)
    with pytest.raises(dx.InputError, match="qid: 1 entries are masked"):
        dx.LinearRanker().fit(X, [0, 1, 1], qid=qid)


@pytest.mark.parametrize(
    "arguments",
    [
        (("a",), [0, 2], ["x", "y"], "no"),
        (("a",), [0, 3], ["x", "y"], [1.0, 2.0]),
        (3, [0, 2], ["x", "y"], [1.0, 2.0]),
        (("a", "a"), [0, 1, 2], ["x", "y"], [1.0, 2.0]),
        (("a",), [0, 2], [["x"], ["y"]], [1.0, 2.0]),
        (("a",), [0, 2], len, [1.0, 2.0]),
        (("a",), "no", ["x", "y"], [1.0, 2.0]),
    ],
)
def test_runs_and_judgments_of_bad_arrays_are_refused(arguments):
    with pytest.raises(dx.InputError):
        data.Run("x", *arguments)
    with pytest.raises(dx.InputError):
        data.Qrels(*arguments)
