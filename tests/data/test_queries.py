import copy
import datetime
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.messages import rejects

import directrix as dx
from directrix.data.grouping import group_by_query

X = np.arange(10.0).reshape(5, 2)
Y = [0, 1, 2, 0, 1]


def expected_groups(qid):
    """Textbook grouping: a dict of lists."""
    rows = {}
    for row, value in enumerate(qid):
        rows.setdefault(value, []).append(row)
    return rows


KINDS = {
    "integers": st.lists(st.integers(-3, 3), max_size=30),
    "text": st.lists(st.sampled_from(["a", "b", "", "longer"]), max_size=30),
    "tuples": st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab")), max_size=30),
    "mixed": st.lists(st.sampled_from([1, "1", (1,), b"1", 2.5]), max_size=30),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_groups_are_stable_whatever_the_type(kind, data):
    qid = data.draw(KINDS[kind])
    groups = expected_groups(qid)
    forms = [qid] + (
        [np.array(qid), pd.Series(qid), pl.Series(qid)] if kind in ("integers", "text") and qid else []
    )
    for form in forms:
        rows, qptr, ids = group_by_query(form)
        assert list(ids) == list(groups)
        assert [rows[a:b].tolist() for a, b in itertools.pairwise(qptr)] == list(groups.values())


def test_other_types_of_identifiers():
    days = np.array(["2024-01-02", "2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    assert group_by_query(days)[0].tolist() == [0, 2, 1]
    assert group_by_query(days)[2] == (datetime.date(2024, 1, 2), datetime.date(2024, 1, 1))
    fine = group_by_query(days.astype("datetime64[ns]"))[2]
    assert fine == (np.datetime64("2024-01-02", "ns"), np.datetime64("2024-01-01", "ns"))
    assert all(isinstance(day, np.datetime64) for day in fine)
    assert group_by_query(days.astype("datetime64[ns]") - np.datetime64("2024-01-01", "ns"))[2] == (
        np.timedelta64(86_400_000_000_000, "ns"),
        np.timedelta64(0, "ns"),
    )
    assert group_by_query(pd.Series(["a", "b", "a"], dtype="category"))[0].tolist() == [0, 2, 1]
    assert group_by_query(np.array([2.5, 1.0, 2.5]))[2] == (2.5, 1.0)
    assert group_by_query(x for x in "aba")[0].tolist() == [0, 2, 1]


def test_from_arrays_groups_everything_alike():
    q = dx.Queries.from_arrays(X, Y, qid=["b", "a", "b", "a", "c"], doc_ids="vwxyz", feature_names=["f", "g"])
    assert q.query_ids == ("b", "a", "c")
    assert q.qptr.tolist() == [0, 2, 4, 5]
    assert q.rows.tolist() == [0, 2, 1, 3, 4]
    assert q.features.tolist() == X[[0, 2, 1, 3, 4]].tolist()
    assert q.labels.tolist() == [0.0, 2.0, 1.0, 0.0, 1.0]
    assert q.doc_ids.tolist() == ["v", "x", "w", "y", "z"]
    assert q.feature_names == ("f", "g")
    assert (q.n_docs, q.n_queries, q.n_features) == (5, 3, 2)
    assert q.restore(q.features).tolist() == X.tolist()
    assert dx.Queries.from_arrays(X, Y, qid=[1, 2, 2, 1, 2]).restore(np.arange(5)).tolist() == [0, 2, 3, 1, 4]


@pytest.mark.parametrize(
    ("given_dtype", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
        (bool, np.float64),
        (np.float16, np.float64),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_types_of_features(given_dtype, kept, sparse):
    values = X.astype(given_dtype)
    q = dx.Queries.from_arrays(
        sp.coo_matrix(values) if sparse and given_dtype != np.float16 else values, Y, group=[len(Y)]
    )
    assert q.features.dtype == kept
    dense = q.features.toarray() if sp.issparse(q.features) else q.features
    assert dense.tolist() == values.astype(kept).tolist()


def test_frames_give_names():
    table = {"price": X[:, 0], "clicks": X[:, 1].astype(np.int64)}
    for frame in (pd.DataFrame(table), pl.DataFrame(table), pd.DataFrame(table).astype({"clicks": "Int64"})):
        q = dx.Queries.from_arrays(frame, pd.Series(Y), qid=pd.Series([1, 1, 2, 2, 2]))
        assert q.feature_names == ("price", "clicks")
        assert q.features.tolist() == X.tolist()
        assert q.features.flags.c_contiguous


def test_arrays_are_read_only_and_the_callers_are_left_alone():
    features, labels = X.copy(), np.array(Y, dtype=np.float64)
    csr = sp.csr_array(features)
    for q in (
        dx.Queries.from_arrays(features, labels, group=[len(labels)]),
        dx.Queries.from_arrays(csr, labels, qid=[1, 2, 1, 2, 1]),
    ):
        held = [q.labels, q.qptr, q.rows]
        held += (
            [q.features.data, q.features.indices, q.features.indptr]
            if sp.issparse(q.features)
            else [q.features]
        )
        for array in held:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    features[0, 0] = labels[0] = csr.data[0] = 5.0
    messy = sp.csr_array((np.ones(4), [1, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    q = dx.Queries.from_arrays(messy, [0, 1], group=[2])
    assert q.features.toarray().tolist() == [[1.0, 1.0], [0.0, 2.0]]
    assert messy.indices.tolist() == [1, 0, 1, 1]


def test_group_sizes_instead_of_qid():
    q = dx.Queries.from_arrays(X, Y, group=[2, 3])
    assert q.qptr.tolist() == [0, 2, 5]
    assert q.query_ids == (0, 1)
    assert dx.Queries.from_arrays(X, Y, group=[len(Y)]).qptr.tolist() == [0, 5]


def test_take_in_any_order():
    q = dx.Queries.from_arrays(X, Y, group=[2, 1, 2], doc_ids="abcde")
    t = q.take([2, 0])
    assert t.features.tolist() == X[[3, 4, 0, 1]].tolist()
    assert t.labels.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert t.doc_ids.tolist() == ["d", "e", "a", "b"]
    assert t.query_ids == (2, 0)
    assert q.take([]).n_docs == 0
    assert repr(q.take([])) == "Queries(empty, 2 features float64)"


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda q: pickle.loads(pickle.dumps(q))])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_copies_are_read_only_too(again, form):
    names = ["a", "b"]
    q = again(
        dx.Queries.from_arrays(form(np.eye(2)), [1, 0], doc_ids=["x", "y"], feature_names=names, group=[2])
    )
    features = (
        [q.features] if form is np.asarray else [q.features.data, q.features.indices, q.features.indptr]
    )
    for array in (q.labels, q.qptr, q.doc_ids, q.rows, *features):
        assert not array.flags.writeable
    assert q.feature_names == ("a", "b")
    with pytest.raises(ValueError, match="read-only"):
        q.labels[0] = 2.0


@pytest.mark.parametrize("column", [10**7, 4, -1])
def test_a_column_that_is_not_there_never_reaches_a_kernel(column):
    damaged = sp.csr_array((np.ones(3), [0, 1, column], [0, 1, 2, 3]), shape=(3, 4))
    with rejects(dx.InputError):
        dx.Queries.from_arrays(damaged, np.zeros(3), group=[3])


GOOD = {
    "features": np.ones((3, 2)),
    "labels": np.zeros(3),
    "qptr": np.array([0, 1, 3]),
    "query_ids": (1, 2),
    "doc_ids": None,
    "feature_names": None,
    "rows": np.arange(3),
}
WRONG = [
    ({"qptr": np.array([0, 3 * 2**61, -(2**62), 3])}, "qptr decreases"),
    ({"labels": np.zeros(2)}, r"labels has shape \(2,\), where \(3,\)"),
    ({"labels": np.float64(1.0)}, r"labels has shape \(\)"),
    ({"query_ids": (1,)}, "query_ids has shape"),
    ({"doc_ids": np.array(["a"], dtype=object)}, "doc_ids has shape"),
    ({"feature_names": ("a", "b", "c")}, "feature_names has shape"),
    ({"features": np.ones(3)}, r"features have shape \(3,\)"),
    ({"features": np.ones((3, 2), dtype=int)}, "dtype int64; two dimensions and float32 or float64"),
    ({"features": sp.csc_array(np.ones((3, 2)))}, "a csc matrix; CSR is needed"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_the_constructor_refuses_boundaries_and_shapes_that_do_not_agree(case):
    changed, message = WRONG[case]
    assert dx.Queries(**GOOD).n_docs == 3
    with pytest.raises(dx.InputError, match=message):
        dx.Queries(**(GOOD | changed))


def test_the_constructor_refuses_csr_with_columns_that_do_not_exist():
    features = sp.csr_array(np.ones((3, 2)))
    features.indices[3] = 2_000_000_000
    with rejects(dx.InputError):
        dx.Queries(**(GOOD | {"features": features}))


def test_columns_are_only_added():
    with rejects(dx.InputError):
        dx.Queries(**GOOD).widened(1)
