"""Input that used to end in a traceback, in NaN or in silence: refused, with what to do instead."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.messages import rejects
from tests.search import search

import directrix as dx
from directrix.rankers.means import mean_of

X = np.array([[0.1, 1.0], [0.7, 0.5], [0.3, 0.2], [0.9, 0.2]])
Y = [0, 2, 1, 0]
QID = ["a", "a", "b", "b"]


def queries(features=X, labels=Y):
    """`Queries` past all checks, as from a file read with missing="nan"."""
    q = dx.Queries.from_arrays(X, labels, qid=QID)
    return dx.Queries(np.asarray(features), q.labels, q.qptr, q.query_ids, None, None, q.rows)


def twelve():
    return dx.data.make_cubic(n_queries=12, docs_per_query=2, n_features=2, seed=0)


def with_value(value):
    features = X.copy()
    features[2, 1] = value
    return features


@pytest.mark.parametrize(
    ("value", "remedy"), [(np.nan, "missing='zero'"), (np.inf, "numpy.clip"), (-np.inf, "numpy.clip")]
)
@pytest.mark.parametrize("start", ["zero", "regression"])
def test_missing_features_are_not_trained_on(value, remedy, start):
    with pytest.raises(dx.InputError, match=rf"row 2 .* feature 2 is .*{remedy}"):
        dx.LinearRanker(start=start).fit_queries(queries(with_value(value)))


def test_missing_features_in_csr_are_not_trained_on():
    import scipy.sparse as sp

    q = queries()
    sparse = dx.Queries(sp.csr_array(with_value(np.nan)), q.labels, q.qptr, q.query_ids, None, None, q.rows)
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(sparse)


def test_missing_features_in_validation_data_are_refused():
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(queries(), queries(with_value(np.nan)))


def test_features_too_large_to_add_up_are_fine():
    large = np.full((4, 2), 1e308)
    large[1] = 0.0
    assert np.isfinite(large).all()
    assert dx.LinearRanker(start="zero", max_iter=0).fit_queries(queries(large)).coef_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["LinearRanker", "MLPRanker", "StumpRanker", "BoostedRanker"])
def test_missing_features_give_no_scores(value, name):
    """Not even where comparisons with thresholds would give some."""
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    ranker = getattr(dx, name)(scale="query-minmax").fit(X, Y, qid=QID)
    with rejects(dx.InputError):
        ranker.predict_queries(queries(with_value(value)))


def test_empty_queries_are_not_trained_on():
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(dx.Queries.from_arrays(np.zeros((0, 2)), [], qid=[]))


@pytest.mark.parametrize(
    "text", ["ApproxNDCG(alpha=-1)", "ApproxNDCG(alfa=3)", "approxndcg(alpha=", "", "%%%", "import os"]
)
def test_a_surrogate_that_directrix_cannot_read_is_refused(tmp_path, text):
    path = saved(tmp_path, lambda c: c["training"].update(surrogate=text))
    with rejects(dx.InputError):
        dx.load(path).trained()


@pytest.mark.parametrize("text", ["MyOwn(alpha=3)", "package.MyOwn()", "<__main__.Own object at 0x7f00>"])
def test_a_surrogate_of_the_users_own_still_predicts(tmp_path, text):
    loaded = dx.load(saved(tmp_path, lambda c: c["training"].update(surrogate=text))).trained()
    assert np.isfinite(loaded.predict(X)).all()
    assert not hasattr(loaded, "surrogate_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(counts={"iterations": "many"}), "iterations.*integer"),
        (lambda r: r.update(counts={"iterations": -1}), "iterations.*integer"),
        (lambda r: r.update(counts={"iterations": True}), "iterations.*integer"),
        (lambda r: r.update(value=10**400), "number that a model can hold"),
    ],
)
def test_results_in_a_file_are_checked(tmp_path, change, message):
    path = saved(tmp_path, lambda c: change(c["training"]["result"]))
    with pytest.raises(dx.InputError, match=message):
        dx.load(path).trained()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400])
@pytest.mark.parametrize("where", ["value", "l2", "center"])
def test_numbers_beyond_float64_are_refused(tmp_path, number, where):
    path = saved(tmp_path, scale="standard")
    text = path.read_text()
    marks = {"value": '"value": ', "l2": '"l2": ', "center": '"center": [\n   '}
    begin = text.index(marks[where]) + len(marks[where])
    end = begin + min(text[begin:].index(c) for c in ",\n")
    path.write_text(text[:begin] + number + text[end:])
    with rejects(dx.InputError):
        dx.load(path).trained()


def saved(folder, change=None, **settings):
    path = folder / "m.json"
    dx.LinearRanker(max_iter=2, **settings).fit(X, Y, qid=QID).save(path)
    content = json.loads(path.read_text())
    if change is not None:
        change(content)
    path.write_text(json.dumps(content, indent=1))
    return path


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dx.LinearRanker().fit(
                pd.DataFrame({"a": [0.0, 1.0], "b": ["x", "y"]}), [0, 1], group=[2]
            ),
            "columns must hold numbers, got 'b' .*'x'",
        ),
        (
            lambda: dx.LinearRanker().fit(
                pd.DataFrame({"a": [0.0, 1.0], "b": pd.to_datetime(["2020", "2021"])}), [0, 1], group=[2]
            ),
            "columns must hold numbers, got 'b' .it holds datetime64",
        ),
        (
            lambda: dx.LinearRanker().fit([{"a": 1.0}, [2.0]], [0, 1], group=[2]),
            r"row 1 is \[2.0\], and row 0 a dict",
        ),
        (
            lambda: dx.LinearRanker().fit(X, [0, np.nan] * 2, qid=QID),
            "labels: 2 of 4 .* nan at row 1.*Drop unlabeled rows",
        ),
        (
            lambda: dx.LinearRanker().fit(X, pd.array([0, None] * 2, dtype="Int64"), qid=QID),
            "labels: 2 of 4 .* nan at row 1",
        ),
        (lambda: dx.LinearRanker().fit(X, Y, qid="qid"), r"qid is the text 'qid'.*qid=frame\['qid'\]"),
        (
            lambda: dx.LinearRanker().fit(X, Y, qid=QID, sample_weight=[1.0, np.nan, 1.0, 1.0]),
            r"sample_weight\[1\] is nan.*nan_to_num",
        ),
        (lambda: dx.method(None), "method None must be a surrogate"),
        (lambda: dx.LinearRanker(dx.ApproxNDCG).fit(X, Y, qid=QID), r"class.*ApproxNDCG\(\)"),
        (lambda: dx.LinearRanker("nDCG@10").fit(X, Y, qid=QID), "is a measure.*ApproxNDCG"),
        (lambda: dx.LinearRanker("AP").fit(X, Y, qid=QID), "is a measure.*ApproxAP"),
        (lambda: dx.LinearRanker("RBP(p=0.8)").fit(X, Y, qid=QID), "is a measure.*ApproxNDCG"),
        (lambda: dx.LinearRanker().fit(X, Y, qid=QID, query_weight=["a", "b"]), "query_weight.*not an array"),
        (
            lambda: dx.LinearRanker().fit(X, Y, qid=QID, sample_weight=["a"] * 4),
            "sample_weight.*not an array",
        ),
        (lambda: dx.LinearRanker().fit(X, Y, qid=QID, query_weight=[1, [2]]), "query_weight.*not an array"),
        (lambda: dx.LinearRanker("ApproxAP").fit(X, np.array(Y) * 1e6, qid=QID), "highest label"),
        (lambda: search(queries(), method="ApproxNDCG", settings={"patience": 2}), "patience"),
        (lambda: search(queries(), settings={"warm_start": True}), "warm_start"),
        (lambda: search(queries(), measure="nDCG(ties=trec)"), "doc"),
        (lambda: search(twelve(), folds=13), "folds=13 for 12 queries"),
        (lambda: search(twelve(), weights=(None, [1.0] * 11)), r"query_weight has shape \(11,\)"),
        (lambda: search(twelve(), weights=([-1.0] * 24, None)), r"doc_weight\[0\] is -1"),
    ],
)
def test_what_cannot_be_used_is_said(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_labels_that_remain_among_the_features_are_told():
    frame = pd.DataFrame({"bm25": X[:, 0], "label": Y, "qid": [1, 1, 2, 2]})
    with pytest.warns(UserWarning, match=r"'label' holds the labels y.*X.drop\(columns='label'\)") as told:
        dx.LinearRanker().fit(frame, frame.label, qid=frame.qid)
    assert told[0].filename == __file__
    dx.LinearRanker().fit(frame.assign(label=X[:, 1]), Y, qid=frame.qid)  # another feature of this name


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_dates_are_no_numbers_in_any_frame(convert):
    """polars and pyarrow would give days or microseconds since 1970."""
    frame = pd.DataFrame({"bm25": X[:, 0], "day": X[:, 1]})
    dated = frame.assign(day=pd.to_datetime(["2020", "2021", "2022", "2023"]))
    ranker = dx.LinearRanker().fit(convert(frame), Y, qid=QID)
    for given in (dated, dated[["day"]], frame.assign(day=dated.day - dated.day[0])):
        with pytest.raises(dx.InputError, match="columns must hold numbers, got 'day'"):
            dx.LinearRanker().fit(convert(given), Y, qid=QID)
    with pytest.raises(dx.InputError, match="columns must hold numbers, got 'day'"):
        ranker.predict(convert(dated))


def test_text_and_objects_are_read_as_in_a_frame_of_queries():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    scores = dx.LinearRanker().fit(frame, Y, qid=QID).predict(frame)
    for given in (frame.assign(b=frame.b.astype(str)), frame.astype({"b": object})):
        assert dx.LinearRanker().fit(given, Y, qid=QID).predict(given).tolist() == scores.tolist()
    with pytest.raises(dx.InputError, match=r"got 'b' .could not convert string to float: '1_0'"):
        dx.LinearRanker().fit(frame.assign(b=["1_0", "2", "3", "4"]), Y, qid=QID)
    gaps = frame.assign(b=pd.Series([1, pd.NA, 2, 3], dtype=object))
    trees = dx.BoostedRanker(n_trees=2).fit(gaps, Y, qid=QID, missing="nan")
    assert np.isfinite(trees.predict(gaps)).all()
    assert trees.training_["data"]["missing"] == 1


def test_regression_weighs_its_rows():
    """The start is all there is: equal to leaving out the rows of no weight, here those of query "b"."""
    weighted = dx.LinearRanker(max_iter=0).fit(X, Y, qid=QID, query_weight={"a": 3.0, "b": 0.0})
    plain = dx.LinearRanker(max_iter=0).fit(X, Y, qid=QID)
    assert weighted.coef_.tobytes() != plain.coef_.tobytes()
    by_row = dx.LinearRanker(max_iter=0).fit(X, Y, qid=QID, sample_weight=[3.0, 3.0, 0.0, 0.0])
    np.testing.assert_allclose(by_row.coef_, weighted.coef_, rtol=1e-12, atol=0)
    same = dx.LinearRanker(max_iter=0).fit(X, Y, qid=QID, query_weight=[7.0, 7.0])
    assert same.coef_.tobytes() == plain.coef_.tobytes()


def test_means_break_ties_by_document():
    q = dx.Queries.from_arrays(X, [1, 0, 0, 1], qid=QID, doc_ids=["z", "a", "z", "a"])
    # trec_eval: of equal scores the later name is first
    found = mean_of(dx.measure("AP(ties=trec)"), np.zeros(4), q)
    np.testing.assert_allclose(found, (1.0 + 1 / 2) / 2, rtol=1e-15, atol=0)


def test_nothing_is_learned_from_queries_of_one_label():
    flat = queries(labels=[1, 1, 0, 0])
    for train in (search, dx.LinearRanker().fit_queries):
        with rejects(dx.InputError):
            train(flat)
    with rejects(dx.InputError):
        dx.LinearRanker().fit(X, [1, 1, 1, 1], qid=QID)


def test_validation_queries_of_one_label_are_said():
    settings = {"alpha": 3.0, "l2": 0.0, "max_iter": 2}
    found = search(queries(), queries(labels=[1, 1, 0, 0]), settings=settings)
    assert any(
        "has the same value for every ranking of the validation queries" in text for text in found.notes
    )
    q = queries()
    notes = search(q, q, method="ApproxNDCG", settings={"alpha": 3.0, "l2": 0.0}).notes
    assert not any("has the same value for every ranking" in text for text in notes)


def test_a_search_of_regression_has_no_gap():
    q = queries()
    found = search(q, q, method="Regression")
    assert np.isnan(found.gap)
    assert found.chosen.steps == 0


def test_warnings_point_at_the_line_that_trains():
    class Broken:
        def minimize(self, objective, start, *, callback=None):
            return dx.LBFGS(max_iter=1).minimize(Nothing(), start)

    class Nothing:
        def value_and_grad(self, params, queries=None):
            return np.nan, params

    ranker = dx.LinearRanker(trainer=Broken())
    for train in (lambda: ranker.fit(X, Y, qid=QID), lambda: ranker.fit_queries(queries())):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train()
        assert [w.filename for w in caught] == [__file__]
        assert caught[0].category is dx.NotConverged


def test_epochs_are_iterations_too():
    settings = {"trainer": "sgd", "max_iter": 3, "alpha": 3.0, "l2": 0.0}
    q = queries()
    found = search(q, q, method="ApproxNDCG", settings=settings)
    assert [c.steps for c in found.trials] == [3]


def test_integers_beyond_all_floats_are_no_features():
    with rejects(dx.InputError):
        dx.LinearRanker().fit(np.array([[10**400], [1]], dtype=object), [0, 1])
