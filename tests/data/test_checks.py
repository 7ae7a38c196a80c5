"""Arrays, identifiers and objects that cannot be used are refused with one clear error."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.messages import rejects

import directrix as dx
from directrix import data, experiments, models
from directrix.data.checks import check_ranking, weights_of
from directrix.data.trec.runs import Qrels, Run, qrels_lines
from directrix.text.documents import iter_documents, query_texts

HUGE = 10**400
X, Y = np.ones((4, 2)), [0.0, 1.0, 0.0, 2.0]
NAN = np.array([[1, 1], [1, np.nan], [1, 1], [np.inf, 1]])
INF = np.full((4, 2), np.inf, dtype=np.float32)
TIMES = pd.DataFrame({"t": pd.to_datetime(["2024-01-01"] * 4)})

ARRAYS = [
    ({"X": [1, 2, 3, 4]}, r"shape \(4,\); X needs two dimensions.*X.reshape\(-1, 1\)"),
    ({"X": [[1, 2], [1]]}, "different lengths"),
    ({"X": [["a", "b"]] * 4}, "more than real numbers .dtype <U1"),
    ({"X": [["1", "2"]] * 4}, r"numpy.asarray\(X, dtype=float\)"),
    ({"X": X * 1j}, "dtype complex128"),
    ({"X": np.array([[1, None]] * 4, dtype=object)}, "nan at row 0, feature 2"),
    ({"X": pd.DataFrame({"a": [1.0] * 4, "b": list("wxyz")})}, "columns must hold numbers, got 'b' .*'w'"),
    ({"X": TIMES}, "columns must hold numbers, got 't' .*datetime64"),
    ({"X": NAN}, r"nan at row 1, feature 2.*infinite: 2\)"),
    ({"X": sp.csr_array(NAN)}, "nan at row 1, feature 2"),
    ({"X": INF}, r"inf at row 0.*infinite: 8\). Clip the column"),
    ({"y": [1, 2]}, "2 values for 4 rows"),
    ({"y": [0, 1, -1, -1]}, "2 of 4 .*-1.0 at row 2.*Shift the labels"),
    ({"y": [0, np.nan, 1, 1]}, r"nan at row 1.*keep = ~numpy.isnan\(y\)"),
    ({"y": [0, np.inf, 1, 1]}, "inf at row 1"),
    ({"y": ["good"] * 4}, "dtype <U4 .*good"),
    ({"y": np.ones((4, 1))}, r"shape \(4, 1\).*numpy.ravel\(labels\)"),
    ({"qid": [1, 1]}, "qid has 2 values for 4 rows"),
    ({"qid": [1, None, 1, 1]}, "missing in 1 row, first in row 1"),
    ({"qid": pd.Series([1, pd.NA, 1, 1])}, "missing in 1 row, first in row 1"),
    ({"qid": np.array(["NaT"] * 4, dtype="datetime64[D]")}, "missing in 4 rows"),
    ({"qid": np.ma.masked_array([1, 1, 2, 2], mask=[0, 1, 0, 0])}, "1 entries are masked"),
    ({"qid": np.ones((4, 1))}, r"shape \(4, 1\)"),
    ({"qid": 7}, "qid is 7; a sequence"),
    ({"qid": [[1], [1], [2], [2]]}, "cannot name a query .*unhashable"),
    ({"group": [2**62] * 4 + [4]}, "add up to 18,446,744,073,709,551,6"),
    ({"group": [1, 2]}, "add up to 3, but X has 4 rows"),
    ({"group": [0, 4]}, "size of query 0 is 0"),
    ({"group": [4], "qid": [1] * 4}, "qid and group were given"),
    ({"group": [4], "doc_ids": ["a"]}, "doc_ids has 1 values"),
    ({"group": [4], "doc_ids": 5}, "'int' object is not iterable"),
    ({"group": [4], "feature_names": ["a"]}, "1 names for 2 col"),
    ({"group": [4], "feature_names": ["a", "a"]}, "'a' names columns 0 and 1"),
]


@pytest.mark.parametrize("case", range(len(ARRAYS)))
def test_malformed_arrays_give_their_message(case):
    changes, message = ARRAYS[case]
    arguments = {"X": X, "y": Y, **changes}
    features, labels = arguments.pop("X"), arguments.pop("y")
    with pytest.raises(dx.InputError) as caught:
        dx.Queries.from_arrays(features, labels, **arguments)
    assert re.search(message, str(caught.value), re.DOTALL)
    assert "np.float64(" not in str(caught.value)


RANKINGS = [
    (([1.0, 2.0], [1.0], [0, 2]), "labels has 1 values for 2 scores"),
    (([[1.0]], [1.0], [0, 1]), r"scores has shape \(1, 1\)"),
    ((sp.csr_array([[1.0, 2.0]]), [0, 1], [0, 2]), "sparse"),
    (([1.0, 2.0, np.nan], [1.0] * 3, [0, 1, 3]), r"nan at row 2 \(query 1\); a finite number"),
    (([np.inf], [1.0], [0, 1]), r"inf at row 0 \(query 0\)"),
    (([1.0], [1.0], [1, 1]), "qptr starts at 1"),
    (([1.0], [1.0], []), "qptr is empty"),
    (([1.0] * 3, [1.0] * 3, [0, 2, 1, 3]), "decreases from 2 to 1 at query 1"),
    (([1.0] * 3, [1.0] * 3, [0, 2]), "ends at 2, but there are 3 scores"),
    (([1.0] * 3, [1.0] * 3, [0, 3 * 2**61, -(2**62), 3]), "decreases .* at query 1"),
    (([1.0], [1.0], [0, 0.5]), "not integers"),
    (([1.0], [1.0], [[0, 1]]), r"qptr has shape \(1, 2\)"),
]


@pytest.mark.parametrize("case", range(len(RANKINGS)))
def test_malformed_rankings_give_their_message(case):
    arguments, message = RANKINGS[case]
    with pytest.raises(dx.InputError, match=message):
        check_ranking(*arguments)


def test_rankings_that_are_right_are_passed_on():
    scores, labels, qptr = np.ones(3, dtype=np.float32), np.ones(3), np.array([0, 1, 3])
    checked = check_ranking(scores, labels, qptr)
    assert all(np.shares_memory(a, b) for a, b in zip(checked, (scores, labels, qptr), strict=True))
    assert [a.dtype for a in check_ranking([1], [1], [0, 1])] == [np.float64, np.float64, np.int64]
    assert all(a.flags.c_contiguous for a in check_ranking(np.ones(6)[::2], np.ones(6)[::2], qptr))


def test_minus_infinity_is_not_retrieved_where_allowed():
    scores, _, _ = check_ranking([1.0, -np.inf], [1, 1], [0, 2], allow_infinite=True)
    assert scores.tolist() == [1.0, -np.inf]
    with rejects(dx.InputError):
        check_ranking([1.0, np.nan], [1, 1], [0, 2], allow_infinite=True)


def test_large_finite_features_pass_though_their_sum_overflows():
    assert dx.Queries.from_arrays(np.full((4, 2), 1.7e308), Y, group=[4]).n_docs == 4


@pytest.mark.parametrize("bad", [[5], [-1], [[0]], [0.5], "a"])
def test_take_of_queries_that_are_not_there(bad):
    with rejects(dx.InputError):
        dx.Queries.from_arrays(X, Y, group=[4]).take(bad)


def test_restore_needs_one_value_per_document():
    with rejects(dx.InputError):
        dx.Queries.from_arrays(X, Y, group=[4]).restore(np.ones(1))


SMALL = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]])
Q = dx.Queries.from_arrays(SMALL, [0, 1, 2], qid=[1, 1, 1])


@pytest.fixture(scope="module")
def ranker():
    return dx.LinearRanker(max_iter=1).fit_queries(Q)


@pytest.mark.parametrize("other", ["x", 3, None, len, np.zeros((2, 2)), {"a": 1}], ids=str)
def test_what_is_not_queries_is_refused(other, ranker):
    for door in (
        lambda q: data.k_folds(q, 3),
        lambda q: data.split_queries(q, [0.5, 0.5]),
        lambda q: data.audit({"train": q}),
        dx.LinearRanker().fit_queries,
        ranker.predict_queries,
        lambda q: experiments.surrogate_tendencies(["ApproxNDCG"], q),
        lambda q: experiments.approximation(q, "ApproxNDCG"),
        lambda q: experiments.permutation_importance(ranker, q),
        lambda q: Run.from_scores(q, [1.0]),
        lambda q: dx.linear_objective(q, "ApproxNDCG"),
        dx.trainers.regression_start,
    ):
        with rejects(dx.InputError):
            door(other)


@pytest.mark.parametrize("other", ["x", 3, len, np.zeros(3), [[1.0]]], ids=str)
def test_what_is_not_features_is_refused(other):
    scale = data.fit_scale("standard", SMALL)
    for door in (
        models.quantile_thresholds,
        lambda given: data.fit_scale("quantile", given),
        lambda given: scale.apply(given, np.array([0, 3])),
        lambda given: models.LinearModel().forward(np.ones(2), given),
        lambda given: models.StumpModel([[0.5], [0.5]]).forward(np.ones(2), given),
    ):
        with rejects(dx.InputError):
            door(other)


def test_models_take_csr_as_it_is():
    rows = sp.csr_array(SMALL)
    assert models.LinearModel().forward(np.array([1.0, 2.0]), rows)[0].tolist() == [2.0, 2.0, 2.0]
    stumps = models.StumpModel([[0.5], [0.7]])
    assert stumps.forward(np.ones(2), rows)[0].tolist() == stumps.forward(np.ones(2), SMALL)[0].tolist()


@pytest.mark.parametrize("wrong", [HUGE, "1", b"1", {}, [1], 1j], ids=type)
def test_numbers_that_no_float_holds_are_refused(wrong):
    values = np.empty(3, dtype=object)
    values[:] = [0, wrong, 1]
    for door in (
        lambda: weights_of(values, 3, "query_weight", "query"),
        lambda: models.LinearModel().forward(values[:2], SMALL),
        lambda: models.StumpModel([[0.5], [0.5, 1.0]]).forward(values, SMALL),
        lambda: dx.NDCG()(values, [0, 1, 1], [0, 3]),
        lambda: dx.NDCG()([0.0, 1.0, 2.0], values, [0, 3]),
        lambda: dx.evaluate("AP", [0.0, 1.0, 2.0], values, group=[len(values)]),
        lambda: dx.tendency([[0.0], [wrong], [1.0]], [[0.0], [1.0], [1.0]]),
        lambda: Run("x", ("a",), [0, 3], ["a", "b", "c"], values),
    ):
        with rejects(dx.InputError):
            door()
    with rejects(dx.InputError):
        dx.trainers.regression_start(Q, ridge=HUGE)


def test_numbers_in_object_arrays_are_taken():
    values = np.array([0, 1.5, np.float32(1)], dtype=object)
    assert weights_of(values, 3, "query_weight", "query").tolist() == [0.0, 1.5, 1.0]
    assert dx.RR()(values, np.array([0, 1, 0], dtype=object), [0, 3]).tolist() == [1.0]
    assert dx.RR()(pd.array([0.0, 1.5, 1.0], dtype="Float64"), [0, 1, 0], [0, 3]).tolist() == [1.0]


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
    for kind in (lambda *given: Run("x", *given), Qrels):
        with pytest.raises(dx.InputError):
            kind(*arguments)


FEATURES = {"label": [0], "bm25": [1.0]}
DOORS = {
    "documents": lambda name: [*iter_documents({name: "wing"})],
    "queries": lambda name: query_texts({name: "wing"}),
    "documents of a frame": lambda name: dx.Queries.from_frame(FEATURES | {"qid": [1], "docno": [name]}),
    "queries of a frame": lambda name: dx.Queries.from_frame(FEATURES | {"qid": [name]}),
    "frame of a run": lambda name: Run.from_frame({"qid": ["1"], "docno": [name], "score": [1.0]}),
    "dict of judgments": lambda name: Qrels.from_frame({name: {"d": 1}}),
    "documents of a run": lambda name: Run("bm25", ("1",), [0, 1], [name], [1.0]),
    "queries of a run": lambda name: Run("bm25", (name,), [0, 1], ["d"], [1.0]),
    "tag of a run": lambda name: Run(name, ("1",), [0, 1], ["d"], [1.0]),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_identifiers_that_no_file_of_lines_could_hold(door):
    for name in ("", "a\0b", "a\tb", "a\nb", "a\rb", "a\ud800"):
        with rejects(dx.InputError):
            DOORS[door](name)
    for name in ("a b", "\x1b[2J", "\u3000", "\U0001f600"):
        DOORS[door](name)


def test_a_file_of_documents_is_refused_with_the_line(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"docno": "a", "text": "b"}\n{"docno": "\\ud800", "text": "b"}\n')
    with rejects(dx.InputError):
        dx.text.Index.build(tmp_path / "d.jsonl")


def test_a_query_of_two_words_is_not_written_as_two_columns():
    q = dx.Queries.from_frame(FEATURES | {"qid": ["wing lift"], "docno": ["d"]})
    with rejects(dx.InputError):
        next(qrels_lines(q))
