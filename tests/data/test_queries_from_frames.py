"""Queries from frames of any kind and from dicts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from tests.messages import rejects

import directrix as dx

pa = pytest.importorskip("pyarrow")

ROWS = {
    "qid": ["b", "a", "b"],
    "docno": ["x", "y", "z"],
    "label": [2, 0, 1],
    "f1": [0.5, 1.5, 2.5],
    "f2": [4, 2, 3],
}
FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "pyarrow": pa.table,
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@every_frame
def test_every_frame_gives_the_same_queries(frame):
    q = dx.Queries.from_frame(frame(ROWS))
    assert q.query_ids == ("b", "a")
    assert q.doc_ids.tolist() == ["x", "z", "y"]
    assert q.feature_names == ("f1", "f2")
    np.testing.assert_array_equal(q.features, [[0.5, 4.0], [2.5, 3.0], [1.5, 2.0]])
    np.testing.assert_array_equal(q.labels, [2.0, 1.0, 0.0])
    assert q.restore(q.labels).tolist() == ROWS["label"]


@every_frame
def test_every_frame_is_taken_where_an_array_is(frame):
    X = {name: ROWS[name] for name in ("f1", "f2")}
    expected = dx.LinearRanker(max_iter=5).fit(pd.DataFrame(X), ROWS["label"], qid=ROWS["qid"])
    ranker = dx.LinearRanker(max_iter=5).fit(frame(X), ROWS["label"], qid=ROWS["qid"])
    assert ranker.feature_names_in_.tolist() == ["f1", "f2"]
    np.testing.assert_array_equal(ranker.predict(frame(X)), expected.predict(pd.DataFrame(X)))
    q = dx.Queries.from_arrays(frame(X), ROWS["label"], qid=ROWS["qid"])
    assert q.feature_names == ("f1", "f2")
    np.testing.assert_array_equal(ranker.predict_queries(q)[[0, 2, 1]], ranker.predict(frame(X)))


def test_columns_of_a_dict_are_taken_by_name():
    X = {name: ROWS[name] for name in ("f1", "f2")}
    ranker = dx.LinearRanker(max_iter=5).fit(X, ROWS["label"], qid=ROWS["qid"])
    turned = dict(reversed(X.items()))
    np.testing.assert_array_equal(ranker.predict(turned), ranker.predict(X))
    with rejects(dx.InputError):
        ranker.predict({"f1": X["f1"]})


@pytest.mark.parametrize(
    "series", [pd.Series, pl.Series, pa.array, lambda values: pa.chunked_array([values])]
)
def test_labels_and_queries_may_be_columns(series):
    q = dx.Queries.from_arrays([[1.0], [2.0], [3.0]], series([1, 0, 2]), qid=series([7, 8, 7]))
    assert (q.query_ids, q.labels.tolist()) == ((7, 8), [1.0, 2.0, 0.0])
    assert dx.evaluate("AP", series([1.0, 2.0]), series([1, 0]), qid=series([1, 1])) == {"AP": 0.5}


@pytest.mark.parametrize(
    "names",
    [
        ("qid", "docno", "label"),  # PyTerrier
        ("query_id", "doc_id", "relevance"),  # ir_datasets, ir_measures
        ("q_id", "doc_id", "rel"),  # ranx calls labels score, which may be a feature
        ("topic", "docid", "grade"),
    ],
)
def test_the_columns_of_other_tools_are_recognized(names):
    rows = dict(zip((*names, "f1", "f2"), ROWS.values(), strict=True))
    q = dx.Queries.from_frame(pd.DataFrame(rows))
    assert (q.query_ids, q.doc_ids.tolist(), q.labels.tolist()) == (
        ("b", "a"),
        ["x", "z", "y"],
        [2.0, 1.0, 0.0],
    )
    assert q.feature_names == ("f1", "f2")


def test_the_frame_of_a_pyterrier_pipeline():
    rows = {
        **{"qid": ["1", "1"], "query": ["some words", "some words"], "docid": [17, 4], "docno": ["a", "b"]},
        **{"rank": [0, 1], "score": [2.0, 1.0], "label": [1, 0]},
        "features": [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    }
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows | {"features": [[1.0, 2.0], [3.0, 4.0]]})):
        q = dx.Queries.from_frame(frame)
        assert (q.doc_ids.tolist(), q.feature_names) == (["a", "b"], None)
        np.testing.assert_array_equal(q.features, [[1.0, 2.0], [3.0, 4.0]])
    q = dx.Queries.from_frame(pd.DataFrame(rows).drop(columns="features"))
    assert q.feature_names == (
        "rank",
        "score",
    )  # neither the words of the query nor the number of the document


def test_columns_of_any_name_are_named():
    frame = pd.DataFrame({"t": [1, 1], "u": ["x", "y"], "y": [1, 0], "qid": [3.0, 4.0], "title": ["a", "b"]})
    q = dx.Queries.from_frame(frame, qid="t", doc_id="u", label="y", features=["qid"])
    assert (q.query_ids, q.feature_names, q.features.tolist()) == ((1,), ("qid",), [[3.0], [4.0]])
    numbered = dx.Queries.from_frame(pd.DataFrame([[1, 0, 0.5], [1, 1, 0.1]]), qid=0, label=1)
    assert numbered.features.tolist() == [[0.5], [0.1]]


def test_missing_values_of_every_kind_are_nan():
    column = {
        "pandas": pd.DataFrame({"f": pd.array([1, None], dtype="Int64")}),
        "booleans": pd.DataFrame({"f": pd.array([True, None], dtype="boolean")}),
        "objects": pd.DataFrame({"f": [1, pd.NA]}, dtype=object),
        "polars": pl.DataFrame({"f": [1, None]}),
    }
    for frame in (*column.values(), pa.table({"f": [1, None]})):
        q = dx.Queries.from_arrays(frame, [1, 0], qid=[1, 1], missing="nan")
        np.testing.assert_array_equal(q.features, [[1.0], [np.nan]])
        with rejects(dx.InputError):
            dx.Queries.from_arrays(frame, [1, 0], qid=[1, 1])


WRONG = [
    (
        ROWS,
        {"qid": "quid"},
        r"no column quid; did you mean 'qid'\? The columns are qid, docno, label, f1, f2. Type .*qid=NAME",
    ),
    (ROWS, {"features": ["f1", "g2"]}, r"no column g2; did you mean 'f2'\? .*features=\[NAME, ...\]"),
    (
        {"qid": [1], "f": [1.0]},
        {},
        "no column label, relevance, rel or grade; the columns are qid, f. Type .*label=NAME",
    ),
    (
        ROWS | {"title": ["u", "v", "w"]},
        {},
        "columns must hold numbers, got 'title' .*'u'.*takes features=",
    ),
    (ROWS | {"day": np.array(["2020", "2021", "2022"], "M8[D]")}, {}, "columns must hold numbers, got 'day'"),
    (ROWS | {"f1": [1j, 2j, 3j]}, {}, "columns must hold numbers, got 'f1' .it holds complex128"),
    (
        pd.DataFrame(ROWS | {"label": ["2", "0", "1"]}),
        {},
        r"there is text.*labels.astype\(float\) if it holds numbers",
    ),
    (
        pd.DataFrame(ROWS).assign(label=pd.array([True, None, False], dtype="boolean")),
        {},
        "labels: 1 of 3 .* nan at row 1.*Drop unlabeled rows",
    ),
    ({}, {}, "the frame has no columns"),
    (ROWS | {"f1": [1.0]}, {}, r"the column 'f1' has shape \(1,\)|'f1' has 1 rows"),
    ([1, 2], {}, "the frame has the type list; a frame, or a dict of columns, with"),
    (np.eye(3), {}, "the frame has the type ndarray"),
    (
        ROWS | {"features": [[1.0], [2.0], [3.0, 4.0]]},
        {"features": "features"},
        "lists of features have different lengths",
    ),
    (
        {"qid": [1], "label": [1], "features": [["u", 1.0]]},
        {},
        "lists of features hold more than numbers .*'u'",
    ),
    (ROWS, {"features": []}, r"no column holds features; .*columns are qid, docno, .*features=\[NAME, ...\]"),
    ({"qid": 1, "label": 1, "f": 1.0}, {}, r"the column 'f' has shape \(\)"),
    ({"qid": [1], "label": [1], "docid": 5, "f": [1.0]}, {}, "a column of a frame has no rows"),
    (pd.DataFrame([[1, 1, 2]], columns=["qid", "label", "label"]), {}, "2 columns have the name 'label'"),
]


@pytest.mark.parametrize(("frame", "names", "message"), WRONG)
def test_what_is_wrong_is_named(frame, names, message):
    with pytest.raises(dx.InputError, match=message):
        dx.Queries.from_frame(frame, **names)


CATEGORIES = {
    "pandas": pd.DataFrame({"f1": [0.5, 1.5, 2.5], "c": pd.Categorical([3, 4, 3])}),
    "polars": pl.DataFrame({"f1": [0.5, 1.5, 2.5], "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical)}),
    "enum": pl.DataFrame({"f1": [0.5, 1.5, 2.5], "c": pl.Series(["u", "v", "u"], dtype=pl.Enum(["u", "v"]))}),
    "pyarrow": pa.table({"f1": [0.5, 1.5, 2.5], "c": pa.array(["u", "v", "u"]).dictionary_encode()}),
    "dict": {"f1": [0.5, 1.5, 2.5], "c": pd.Categorical([3, 4, 3])},
}


@pytest.mark.parametrize("frame", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_are_no_numbers_anywhere(frame):
    y, qid = ROWS["label"], ROWS["qid"]
    q = dx.Queries.from_arrays(frame, y, qid=qid)
    assert [None if one is None else len(one) for one in q.categories] == [None, 2]
    assert q.restore(q.features[:, 1]).tolist() == [0.0, 1.0, 0.0]
    ranker = dx.LinearRanker(max_iter=1).fit([[0.5, 3], [1.5, 4], [2.5, 3]], y, qid=qid)
    ranker.feature_names_in_ = np.array(["f1", "c"], dtype=object)
    with rejects(dx.InputError):
        dx.LinearRanker().fit(frame, y, qid=qid)
    with rejects(dx.InputError):
        ranker.predict(frame)


def test_sparse_matrices_that_inherit_from_dict_are_matrices():
    X = sp.dok_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
    q = dx.Queries.from_arrays(X, [1, 0], qid=[1, 1])
    assert (q.features.toarray().tolist(), q.feature_names) == ([[0.0, 1.0], [2.0, 0.0]], None)
    assert dx.LinearRanker(max_iter=1).fit(X, [1, 0], qid=[1, 1]).predict(X).shape == (2,)
