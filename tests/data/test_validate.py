import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.data.checks import check_ranking

X = np.ones((4, 2))
Y = [0.0, 1.0, 0.0, 2.0]
NAN = np.array([[1, 1], [1, np.nan], [1, 1], [np.inf, 1]])

ARRAYS = {
    "one dimension": (
        {"X": [1, 2, 3, 4]},
        r"features have shape \(4,\); X needs two dimensions.*X.reshape\(-1, 1\)",
    ),
    "three dimensions": ({"X": np.ones((4, 1, 1))}, r"features have shape \(4, 1, 1\)"),
    "ragged": ({"X": [[1, 2], [1]]}, r"rows have different lengths"),
    "text": (
        {"X": [["a", "b"]] * 4},
        r"features have dtype <U1; .*'a'.* at row 0, column 0 +is not a number",
    ),
    "text beside numbers": (
        {"X": [[1.0, 2.0], [1.0, "a"], [1.0, 2.0], [1.0, 2.0]]},
        r"dtype <U32; 'a' at row 1, column 1 is not a number",
    ),
    "numbers as text": ({"X": [["1", "2"]] * 4}, r"'1' at row 0, column 0 .*numpy.asarray\(X, dtype=float\)"),
    "a complex number": (
        {"X": X * 1j},
        r"features have dtype complex128; 1j at row 0, column 0 is not a number",
    ),
    "complex": ({"X": X * 1j}, r"features have dtype complex128"),
    "complex sparse": ({"X": sp.csr_array(X * 1j)}, r"features have dtype complex128; real numbers"),
    "objects": (
        {"X": np.array([[1, None]] * 4, dtype=object)},
        r"features: nan at row 0, column 1",
    ),
    "frame with text": (
        {"X": pd.DataFrame({"a": [1.0] * 4, "b": list("wxyz")})},
        r"'w' at row 0, column 1 \('b'\) is no",
    ),
    "frame with dates": (
        {"X": pd.DataFrame({"t": pd.to_datetime(["2024-01-01"] * 4)})},
        r"dtype datetime64.*; '2024-01-01T.*' at row 0, column 0 \('t'\)",
    ),
    "NaN": (
        {"X": NAN},
        r"features: nan at row 1, column 1; finite numbers are needed \(values that are NaN or infinite: 2\)",
    ),
    "NaN in a frame": ({"X": pd.DataFrame(NAN, columns=["a", "b"])}, r"row 1, column 1 \('b'\)"),
    "NaN sparse": ({"X": sp.csr_array(NAN)}, r"features: nan at row 1, column 1"),
    "infinite float32": (
        {"X": np.full((4, 2), np.inf, dtype=np.float32)},
        r"features: inf at row 0, .* infinite: 8\). Clip the column",
    ),
    "label count": ({"y": [1, 2]}, r"y \(labels\) has 2 values for 4 rows of X"),
    "label negative": (
        {"y": [0, 1, -1, -1]},
        r"2 of 4 cannot be used; the first is -1.0 at row 2; .*Shift the labels",
    ),
    "label NaN": ({"y": [0, np.nan, 1, 1]}, r"the first is nan at row 1; .*keep = ~numpy.isnan\(y\)"),
    "label infinite": ({"y": [0, np.inf, 1, 1]}, r"the first is inf at row 1"),
    "label text": ({"y": ["good"] * 4}, r"labels has dtype <U4 \(first value .*good"),
    "label None": ({"y": [None, 1, 1, 1]}, r"the first is nan at row 0|labels"),
    "label columns": (
        {"y": np.ones((4, 1))},
        r"labels has shape \(4, 1\); one dimension.*numpy.ravel\(labels\)",
    ),
    "labels missing": ({"y": None}, r"labels has shape \(\)|labels: not an array"),
    "qid count": ({"qid": [1, 1]}, r"qid has 2 values for 4 rows of X"),
    "qid None": ({"qid": [1, None, 1, 1]}, r"qid is missing in 1 row, first in row 1"),
    "qid NaN": ({"qid": np.array([1, 1, np.nan, np.nan])}, r"qid is missing in 2 rows, first in row 2"),
    "qid NaN in a list": ({"qid": [1, float("nan"), 1, 1]}, r"qid is missing in 1 row, first in row 1"),
    "qid NA": ({"qid": pd.Series([1, pd.NA, 1, 1])}, r"qid is missing in 1 row, first in row 1"),
    "qid NaT": ({"qid": np.array(["NaT"] * 4, dtype="datetime64[D]")}, r"qid is missing in 4 rows"),
    "qid columns": ({"qid": np.ones((4, 1))}, r"qid has shape \(4, 1\)"),
    "qid number": ({"qid": 7}, r"qid is 7; a sequence with one identifier per row"),
    "qid lists": (
        {"qid": [[1], [1], [2], [2]]},
        r"qid holds values that cannot name a query \(.*unhashable type: 'list'\)",
    ),
    "group sum wraps around": ({"group": [2**62] * 4 + [4]}, r"5 sizes add up to 18,446,744,073,709,551,6"),
    "group sum": ({"group": [1, 2]}, r"2 sizes add up to 3, but X has 4 rows"),
    "group zero": ({"group": [0, 4]}, r"the size of query 0 is 0; sizes are integers >= 1"),
    "group fraction": ({"group": [1.5, 2.5]}, r"the size of query 0 is 1.5"),
    "group and qid": ({"group": [4], "qid": [1] * 4}, r"qid and group were given; they mean the same"),
    "doc_ids count": ({"group": [4], "doc_ids": ["a"]}, r"doc_ids has 1 values for 4 rows of X"),
    "feature_names count": (
        {"group": [4], "feature_names": ["a"]},
        r"feature_names has 1 names for 2 col",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_malformed_arrays_give_their_message(name):
    changes, message = ARRAYS[name]
    arguments = {"X": X, "y": Y, **changes}
    features, labels = arguments.pop("X"), arguments.pop("y")
    with pytest.raises(dx.InputError) as caught:
        dx.Queries.from_arrays(features, labels, **arguments)
    assert re.search(message, str(caught.value), re.DOTALL)
    assert "np.float64(" not in str(caught.value)


RANKINGS = {
    "lengths": (([1.0, 2.0], [1.0], [0, 2]), r"labels has 1 values for 2 scores"),
    "scores columns": (([[1.0]], [1.0], [0, 1]), r"scores has shape \(1, 1\)"),
    "scores text": ((["a"], [1.0], [0, 1]), r"scores has dtype <U1"),
    "scores NaN": (
        ([1.0, 2.0, np.nan], [1.0] * 3, [0, 1, 3]),
        r"first is nan at row 2 \(query 1\); a finite number",
    ),
    "scores infinite": (([np.inf], [1.0], [0, 1]), r"first is inf at row 0 \(query 0\)"),
    "labels negative": (([1.0, 1.0], [1.0, -1.0], [0, 1, 2]), r"first is -1.0 at row 1 \(query 1\)"),
    "qptr start": (([1.0], [1.0], [1, 1]), r"qptr starts at 1; query boundaries start at 0"),
    "qptr empty": (([1.0], [1.0], []), r"qptr is empty; query boundaries start at 0"),
    "qptr decreases": (([1.0] * 3, [1.0] * 3, [0, 2, 1, 3]), r"qptr decreases from 2 to 1 at query 1"),
    "qptr end": (([1.0] * 3, [1.0] * 3, [0, 2]), r"qptr ends at 2, but there are 3 scores"),
    "qptr wraps around": (
        ([1.0] * 3, [1.0] * 3, [0, 3 * 2**61, -(2**62), 3]),
        r"qptr decreases from 6917529027641081856 to -4611686018427387904 at query 1",
    ),
    "qptr beyond int64": (([1.0], [1.0], [0, 1e300]), r"qptr has dtype float64 and values that are no int"),
    "qptr fractions": (([1.0], [1.0], [0, 0.5]), r"qptr has dtype float64 and values that are no integers"),
    "qptr columns": (([1.0], [1.0], [[0, 1]]), r"qptr has shape \(1, 2\)"),
}


@pytest.mark.parametrize("name", RANKINGS)
def test_malformed_rankings_give_their_message(name):
    arguments, message = RANKINGS[name]
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
    with pytest.raises(dx.InputError, match="or -inf for 'not retrieved'"):
        check_ranking([1.0, np.nan], [1, 1], [0, 2], allow_infinite=True)


def test_large_finite_features_pass_though_their_sum_overflows():
    assert dx.Queries.from_arrays(np.full((4, 2), 1.7e308), Y, group=[len(Y)]).n_docs == 4


@pytest.mark.parametrize("bad", [[5], [-1], [[0]], [0.5], "a"])
def test_take_of_queries_that_are_not_there(bad):
    with pytest.raises(dx.InputError, match=r"take: "):
        dx.Queries.from_arrays(X, Y, group=[len(Y)]).take(bad)


def test_restore_needs_one_value_a_document():
    with pytest.raises(dx.InputError, match=r"per_doc has 1 values for 4 documents"):
        dx.Queries.from_arrays(X, Y, group=[len(Y)]).restore(np.ones(1))
