"""Several scales of the same features side by side."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.messages import rejects

import directrix as dx
from directrix.data.scale import Scale, fills_missing, fit_scale, is_by_query, is_scale, scale_from_json

X = np.array([[1.0, 8.0], [3.0, 8.0], [2.0, 9.0], [50.0, 1.0], [70.0, 0.0]], dtype=np.float32)
QPTR = np.array([0, 3, 3, 5])


def test_the_columns_of_every_part_follow_each_other():
    union = fit_scale("raw+query-percentile+standard", X)
    assert union.kind == "raw+query-percentile+standard"
    assert (union.n_features, union.n_columns, union.by_query, union.fills) == (2, 3, True, False)
    out = union.apply(X, QPTR)
    assert out.shape == (5, 6)
    assert out.dtype == X.dtype
    assert np.array_equal(out[:, :2], X)
    assert out[:, 2].tolist() == [0.0, 1.0, 0.5, 0.0, 1.0]
    assert out[:, 3].tolist() == [0.0, 0.0, 1.0, 1.0, 0.0]
    assert np.array_equal(out[:, 4:], fit_scale("standard", X).apply(X, QPTR))


def test_names_of_scales():
    assert isinstance(fit_scale("log", X), Scale)
    assert is_scale("raw+log")
    for name in ("raw", "log+log", "raw+", "log+robust", "", None, 3):
        assert not is_scale(name)
    assert is_by_query("raw+query-minmax")
    assert not is_by_query("raw+log")
    assert not is_by_query(None)
    assert fills_missing("log+quantile")
    assert not fills_missing("raw+log")
    assert not fills_missing(None)
    with pytest.raises(ValueError, match=r"must be .* 'quantile', or several of them joined by plus signs"):
        dx.LinearRanker(scale="raw+robust").check_parameters()
    with rejects(dx.InputError):
        fit_scale("raw+robust", X)
    with rejects(dx.InputError):
        Scale.fit(7, X)


def test_a_union_in_a_model_file_is_read_back_and_checked():
    union = fit_scale("raw+query-percentile+quantile", X)
    assert scale_from_json(json.loads(json.dumps(union.to_json()))) == union
    assert scale_from_json({"kind": "query-minmax"}) == Scale("query-minmax")
    one = fit_scale("standard", X[:, :1]).to_json()
    two = fit_scale("log", X).to_json()
    for bad, message in [
        ("raw", "two or more different kinds"),
        ([None], "two or more different kinds"),
        ([None] * 10_000, "two or more different kinds"),
        ([None, 3], "the scale in the model file: scale=3"),
        ([one, two], "has parts for 1 and 2 features"),
    ]:
        with pytest.raises(dx.InputError, match=message) as caught:
            scale_from_json({"union": bad})
        assert str(caught.value).count("the scale in the model file") == 1
        assert str(caught.value).count("Save the model again.") == 1
        assert len(str(caught.value)) < 300


def test_sparse_features_stay_sparse():
    sparse = sp.csr_array(X)
    out = fit_scale("raw+query-percentile", sparse).apply(sparse, QPTR)
    assert sp.issparse(out)
    assert np.array_equal(out.toarray()[:, :2], X)


@pytest.mark.parametrize(
    "ranker",
    [
        dx.LinearRanker(scale="standard+query-percentile", max_iter=20),
        dx.MLPRanker(scale="quantile+query-percentile", max_iter=3),
        dx.StumpRanker(scale="raw+query-percentile", max_iter=5),
        dx.BoostedRanker(scale="raw+query-percentile", n_trees=5),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_every_ranker_takes_a_union_and_keeps_it_in_its_file(ranker, tmp_path):
    q, _ = dx.data.make_linear(20, seed=3)
    ranker.fit_queries(q)
    scores = ranker.predict_queries(q)
    ranker.save(tmp_path / "m.json")
    again = dx.load(tmp_path / "m.json")
    assert again.scale_ == ranker.scale_
    assert np.array_equal(again.predict_queries(q), scores)
    assert np.array_equal(again.predict(q.features, group=np.diff(q.qptr)), scores)
    with rejects(dx.InputError):
        again.predict(q.features)
    if isinstance(ranker, dx.LinearRanker):
        assert again.coef_.shape == (2 * q.n_features,)


def test_a_level_of_the_query_costs_trees_with_percentiles_nothing():
    """Labels follow the order within the query; the levels of queries differ by far more."""
    q, _ = dx.data.make_linear(60, 20, 2, seed=1)
    level = np.repeat(np.random.default_rng(0).normal(0.0, 1e4, q.n_queries), np.diff(q.qptr))
    shifted = replace(q, features=q.features + level[:, None])
    measure = dx.measure("nDCG@10")
    plain, both = (
        measure(
            dx.BoostedRanker(n_trees=40, scale=scale).fit_queries(shifted).predict_queries(shifted),
            q.labels,
            q.qptr,
        ).mean()
        for scale in (None, "raw+query-percentile")
    )
    assert both > plain + 0.05


def test_trees_take_missing_values_with_a_union_too():
    q, _ = dx.data.make_linear(20, seed=3)
    features = q.features.copy()
    features[::7, 3] = np.nan
    holes = replace(q, features=features, missing="nan")
    ranker = dx.BoostedRanker(scale="raw+query-percentile", n_trees=5).fit_queries(holes)
    assert np.isfinite(ranker.predict_queries(holes)).all()
    with rejects(dx.InputError):
        dx.LinearRanker(scale="raw+standard").fit_queries(holes)


def test_features_in_a_file_have_the_columns_of_a_union_too(tmp_path):
    q, _ = dx.data.make_linear(30, seed=4)
    dx.data.write_parquet(q, tmp_path / "q.parquet")
    stored = dx.data.open_parquet(tmp_path / "q.parquet")
    union = fit_scale("log+query-percentile", stored.features)
    scaled = stored.scaled(union).features
    assert scaled.shape == (q.n_docs, 2 * q.n_features)
    want = fit_scale("log+query-percentile", q.features).apply(q.features, q.qptr)
    assert np.array_equal(np.concatenate([rows for _, rows in scaled.blocks(stored.qptr)]), want)
    fitted = [
        dx.LinearRanker(scale="log+query-percentile", max_iter=10).fit_queries(data) for data in (q, stored)
    ]
    np.testing.assert_allclose(fitted[1].coef_, fitted[0].coef_, rtol=1e-6)
