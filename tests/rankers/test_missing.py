"""Missing values: filled by scales, split off by trees, refused by the rest; columns that must do no harm."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.messages import rejects
from tests.search import search

import directrix as dx
from directrix.cli.advice import message_of
from directrix.data.scale import FILLING
from directrix.data.synthetic import make_linear

Q, _ = make_linear(30, 12, 5, seed=1)
X, Y = Q.features, Q.labels
QID = np.repeat(np.arange(30), 12)
GAPS = np.random.default_rng(3).random(X.shape) < 0.1
HOLES = np.where(GAPS, np.nan, X)
QUICK = {
    "LinearRanker": {"max_iter": 20},
    "MLPRanker": {"max_iter": 10, "random_state": 0},
    "StumpRanker": {"max_iter": 10},
    "BoostedRanker": {"n_trees": 10, "random_state": 0},
}


def make(name, **settings):
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    return getattr(dx, name)(**QUICK[name], **settings)


@pytest.mark.parametrize("scale", FILLING)
@pytest.mark.parametrize("name", QUICK)
def test_a_scale_of_the_training_data_fills(name, scale, tmp_path):
    ranker = make(name, scale=scale)
    assert ranker.takes_missing
    some = QID.min() < QID
    valid = {"eval_set": (HOLES[some], Y[some]), "eval_qid": QID[some]}
    ranker.fit(HOLES, Y, qid=QID, missing="nan", measure="nDCG@3", **valid)
    assert ranker.score(HOLES, Y, qid=QID) > ranker.score(HOLES, Y[::-1].copy(), qid=QID) + 0.1
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict(HOLES).tobytes() == ranker.predict(HOLES).tobytes()
    q = dx.Queries.from_arrays(HOLES, Y, qid=QID, missing="nan")
    assert loaded.predict_queries(q).tobytes() == ranker.predict(HOLES).tobytes()
    assert np.isnan(q.features).sum() == GAPS.sum(), "the data keep their gaps"
    assert json.loads((tmp_path / "m.json").read_text())["training"]["data"]["missing"] == GAPS.sum()
    filled = np.where(GAPS, 0.0 if scale == "quantile" else np.nanmean(HOLES, axis=0), HOLES)
    if scale in ("standard", "minmax") and name in ("LinearRanker", "MLPRanker"):
        np.testing.assert_allclose(ranker.predict(filled), ranker.predict(HOLES), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [None, "standard", "query-standard"])
@pytest.mark.parametrize("name", QUICK)
def test_zeros_of_the_training_are_zeros_ever_after(name, scale, sparse, tmp_path):
    if sparse and (name != "LinearRanker" or scale):
        return
    rows, zeros = (sp.csr_array(one) if sparse else one for one in (HOLES, np.where(GAPS, 0.0, HOLES)))
    q = dx.Queries.from_arrays(rows, Y, qid=QID, missing="zero")
    gaps = dx.Queries.from_arrays(rows, Y, qid=QID, missing="nan")
    ranker = make(name, scale=scale).fit_queries(q, gaps.take(range(20)), measure="nDCG@3")
    ranker.save(tmp_path / "m.json")
    expected = ranker.predict(zeros, qid=QID)
    for one in (ranker, dx.load(tmp_path / "m.json")):
        assert one.missing_ == "zero"
        assert one.predict(rows, qid=QID).tobytes() == expected.tobytes()
        assert one.predict_queries(gaps).tobytes() == one.predict_queries(q).tobytes() == expected.tobytes()
    lists = np.asarray(HOLES[:12]), np.where(GAPS, 0.0, HOLES)[:12]
    assert len({tuple(dx.load_scorer(tmp_path / "m.json").rank(one)) for one in lists}) == 1


def test_how_missing_values_were_read_is_kept():
    complete, held = make("LinearRanker", scale="log").fit(X, Y, qid=QID), make("LinearRanker", scale="log")
    assert complete.missing_ == "error"
    assert held.fit(HOLES, Y, qid=QID, missing="nan").missing_ == "nan"
    both = dx.EnsembleRanker([complete, held]).fit(HOLES, Y, qid=QID, missing="nan")
    assert both.missing_ == "nan"
    zeros = dx.Queries.from_arrays(HOLES, Y, qid=QID, missing="zero")
    with rejects(dx.InputError):
        held.predict_queries(zeros)
    complete.predict_queries(zeros)


def test_a_missing_category_is_not_the_first_one(tmp_path):
    frame = pd.DataFrame(
        {"qid": 1, "label": 0, "c": pd.Categorical(["b", None, "a"]), "x": [1.0, np.nan, 2.0]}
    )
    frame.to_parquet(tmp_path / "c.parquet")
    dx.data.write_parquet(dx.Queries.from_frame(frame, missing="nan"), tmp_path / "stored.parquet")
    for q in (
        dx.Queries.from_frame(frame, missing="zero"),
        dx.Queries.from_frame(frame.astype({"c": object}), categorical="c", missing="zero"),
        dx.Queries.from_arrays(frame[["c", "x"]], frame["label"], qid=frame["qid"], missing="zero"),
        dx.data.read_parquet(tmp_path / "c.parquet", missing="zero"),
        dx.data.read_parquet(tmp_path / "stored.parquet", missing="zero"),
    ):
        np.testing.assert_array_equal(q.features, [[1.0, 1.0], [np.nan, 0.0], [0.0, 2.0]])
        assert q.take([0]).missing == "zero"


@pytest.mark.parametrize("scale", [None, "query-minmax", "query-standard", "query-percentile"])
@pytest.mark.parametrize("name", ["LinearRanker", "MLPRanker", "StumpRanker"])
def test_without_one_both_ways_out_are_named(name, scale):
    ranker = make(name, scale=scale)
    at = r"row \d+ of the (training )?data: feature \d is missing.*this model takes.*scale='log'.*Boosted"
    with pytest.raises(dx.InputError, match=at):
        ranker.fit(HOLES, Y, qid=QID, missing="nan")
    with pytest.raises(dx.InputError, match=at) as error:
        ranker.fit(X, Y, qid=QID).predict(HOLES, qid=QID)
    assert "--method YetiRank" in message_of(error.value)
    with rejects(dx.InputError):
        ranker.fit(X, Y, qid=QID, eval_set=(HOLES, Y), eval_qid=QID)


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "lambdarank"])
def test_trees_split_missing_values_off(surrogate, tmp_path):
    labels = np.tile([0, 0, 1], 120)
    told = np.where(labels > 0, np.nan, np.random.default_rng(0).random(360))[:, None]
    ranker = make("BoostedRanker", surrogate=surrogate).fit(told, labels, qid=QID, missing="nan")
    assert ranker.score(told, labels, qid=QID) == 1.0
    ranker.save(tmp_path / "m.json")
    assert dx.load(tmp_path / "m.json").predict(told).tobytes() == ranker.predict(told).tobytes()
    constant = np.where(labels > 0, np.nan, 3.0)[:, None]
    on_constant = make("BoostedRanker").fit(constant, labels, qid=QID, missing="nan")
    assert on_constant.score(constant, labels, qid=QID) == 1.0
    with pytest.warns(UserWarning, match="ranks nothing"):
        nothing = make("BoostedRanker").fit(np.full((360, 1), np.nan), labels, qid=QID, missing="nan")
    assert nothing.predict(told).tolist() == [0.0] * 360
    assert "no split" in nothing.result_.message


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("scale", [None, *FILLING])
@pytest.mark.parametrize("name", QUICK)
def test_an_infinite_value_is_refused_by_all(name, scale, value):
    bad = HOLES.copy() if scale else X.copy()
    bad[7, 3] = value
    ranker = make(name, scale=scale)
    with rejects(dx.InputError):
        ranker.fit(bad, Y, qid=QID, missing="nan")
    ranker.fit(X, Y, qid=QID)
    with rejects(dx.InputError):
        ranker.predict(bad)
    q = dx.Queries(bad, Q.labels, Q.qptr, Q.query_ids, None, None, Q.rows, missing="nan")
    with rejects(dx.InputError):
        ranker.predict_queries(q)
    with rejects(dx.InputError):
        ranker.fit_queries(q)


def test_frames_with_missing_values():
    frame = pd.DataFrame(HOLES, columns=list("abcde"))
    ranker = make("LinearRanker", scale="quantile").fit(frame, Y, qid=QID, missing="nan")
    by_array = make("LinearRanker", scale="quantile").fit(HOLES, Y, qid=QID, missing="nan")
    assert ranker.predict(frame).tobytes() == by_array.predict(HOLES).tobytes()
    whole = pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": [1.0, 2.0, None, 0.0]})
    q = dx.Queries.from_arrays(whole, [0, 1, 0, 1], missing="nan", group=[4])
    assert np.isnan(q.features).tolist() == [[False, False], [True, False], [False, True], [False, False]]
    ranker = dx.LinearRanker(scale="log").fit(whole, [0, 1, 0, 1], group=[4], missing="nan")
    assert ranker.predict(whole).shape == (4,)


def test_arrays_say_what_missing_values_mean():
    holes = np.array([[np.nan, 1.0], [2.0, np.nan]], dtype=np.float32)
    with rejects(dx.InputError):
        dx.Queries.from_arrays(holes, [0, 1], group=[2])
    for given in (holes, sp.csr_array(holes)):
        zero = dx.Queries.from_arrays(given, [0, 1], missing="zero", group=[2]).features
        dense = zero.toarray() if sp.issparse(zero) else zero
        assert dense.tolist() == [[0.0, 1.0], [2.0, 0.0]]
        assert dense.dtype == np.float32
    assert np.isnan(holes).sum() == 2, "the input stays"
    with rejects(dx.InputError):
        dx.Queries.from_arrays(holes, [0, 1], missing="drop", group=[2])
    with rejects(dx.InputError):
        dx.Queries.from_arrays([[np.inf]], [0], missing="zero", group=[1])


@pytest.mark.parametrize("scale", ["standard", "log"])
def test_sparse_features_with_missing_values(scale):
    counts = np.where(X > 0.5, np.round(X * 9), 0.0)
    counts[GAPS] = np.nan
    ranker = make("LinearRanker", scale=scale).fit(sp.csr_array(counts), Y, qid=QID, missing="nan")
    assert np.isfinite(ranker.predict(sp.csr_array(counts))).all()
    dense, sparse = dx.data.fit_scale(scale, counts), ranker.scale_
    for name in ("center", "width"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-12, atol=0)
    found = sparse.apply(sp.csr_array(counts), Q.qptr).toarray()
    np.testing.assert_allclose(found, dense.apply(counts, Q.qptr), rtol=0, atol=1e-12)


def test_a_search_leaves_out_what_takes_no_missing_values():
    pytest.importorskip("lightgbm")
    assert not dx.AutoRanker(method="ApproxNDCG").takes_missing
    assert dx.AutoRanker(method="no such method").takes_missing  # fit names the method, not the values
    ranker = dx.AutoRanker("nDCG@3", models=["linear", "trees"], folds=1)
    assert ranker.takes_missing
    q = dx.Queries.from_arrays(HOLES, Y, qid=QID, missing="nan")
    plan = {"settings": {"n_trees": 3}, "method": "BoostedNDCG", "measure": "nDCG@3", "folds": 1}
    assert search(q, **plan).ranker.trees_.to_lightgbm()
    with rejects(dx.InputError):
        dx.AutoRanker("nDCG@3", method="ApproxNDCG", folds=1).fit(HOLES, Y, qid=QID, missing="nan")
    assert search(q, method="ApproxNDCG", settings={"scale": "log"}, folds=1).ranker.scale_.kind == "log"


def heavy(seed, n=60, extra=None):
    """Queries whose labels follow the logarithms of two of three heavy-tailed columns."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(20 * n, 3))
    columns = np.exp(z * [1.0, 3.0, 5.0]) * [1e-3, 1.0, 1e4]
    labels = np.digitize(z[:, 0] + z[:, 1] + 0.3 * rng.normal(size=len(z)), [0.5, 1.5, 2.5])
    columns = columns if extra is None else np.column_stack([columns, extra(rng, columns)])
    return dx.Queries.from_arrays(columns.astype(np.float32), labels, group=[20] * n)


EXTRA = {
    "constant": lambda rng, x: np.full(len(x), 3e7),
    "duplicate": lambda rng, x: x[:, 0],
    "duplicate of the noise": lambda rng, x: x[:, 2],
    "2e8 beside 1e-3": lambda rng, x: np.where(rng.random(len(x)) < 0.5, 2e8, 1e-3),
    "one outlier": lambda rng, x: np.where(np.arange(len(x)) == 5, 3e38, rng.random(len(x))),
    "the smallest floats": lambda rng, x: np.where(rng.random(len(x)) < 0.5, 1e-45, 0.0),
    "never there": lambda rng, x: np.full(len(x), np.nan),
}


@pytest.mark.parametrize("extra", EXTRA)
@pytest.mark.parametrize("scale", ["log", "quantile"])
@pytest.mark.parametrize("name", ["LinearRanker", "MLPRanker"])
def test_a_useless_column_does_no_harm(name, scale, extra):
    def value(more):
        def data(seed):
            with_gaps = heavy(seed, extra=None if extra == "never there" else more)
            if more is None or extra != "never there":
                return with_gaps
            columns = np.column_stack([with_gaps.features, np.full(with_gaps.n_docs, np.nan, np.float32)])
            return dx.Queries.from_arrays(columns, with_gaps.labels, group=[20] * 60, missing="nan")

        ranker = make(name, scale=scale).fit_queries(data(1))
        test = data(2)
        scaled = ranker.scale_.apply(test.features, test.qptr)
        assert scaled.dtype == np.float32
        assert np.isfinite(scaled).all()
        assert scaled.max() < 60
        return dx.evaluate("nDCG@10", ranker.predict_queries(test), test.labels, qptr=test.qptr)["nDCG@10"]

    without = value(None)
    assert without > 0.85
    assert abs(value(EXTRA[extra]) - without) < 0.02
