"""Normal scores by the empirical distribution, logarithms, and what takes the place of missing values."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from tests.messages import rejects

import directrix as dx
from directrix.data import statistics
from directrix.data.scale import FILLING, fit_scale

ONE = np.array([0, 1])


def apply(scale, column):
    column = np.asarray(column)
    return scale.apply(column[:, None], np.array([0, len(column)])).ravel()


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60), st.sampled_from([np.float32, float])
)
def test_few_values_get_the_scores_of_their_middle_ranks(values, dtype):
    column = np.array(values, dtype=dtype)
    found = apply(fit_scale("quantile", column[:, None]), column)
    assert found.dtype == dtype
    ranks = rankdata(np.array(values))  # of float32 they would be float32
    np.testing.assert_array_equal(found, norm.ppf((ranks - 0.5) / len(column)).astype(dtype))


def test_between_knots_it_is_linear_and_beyond_them_it_is_clipped():
    scale = fit_scale("quantile", np.array([[1.0], [3.0]]))
    assert scale.knots == ((1.0, 3.0),)
    np.testing.assert_allclose(scale.scores, [norm.ppf([1 / 4, 3 / 4])], rtol=1e-14, atol=0)
    low, high = scale.scores[0]
    assert apply(scale, [-1e300, 2.5, 1e300]).tolist() == [low, low + 0.75 * (high - low), high]


@pytest.mark.parametrize("draw", ["lognormal", "normal", "many zeros"])
def test_many_values_keep_their_ranks_within_a_step(draw):
    rng = np.random.default_rng(0)
    column = rng.lognormal(0, 4, 20_000) if draw == "lognormal" else rng.normal(size=20_000)
    if draw == "many zeros":
        column[rng.random(20_000) < 0.7] = 0.0
    scale = fit_scale("quantile", column[:, None])
    assert 100 < len(scale.knots[0]) <= statistics.MAX_KNOTS
    exact = norm.ppf((rankdata(column) - 0.5) / len(column))
    found = apply(scale, column)
    assert np.abs(found - exact).max() < (exact.max() - exact.min()) / 128
    assert (np.diff(found[np.argsort(column)]) >= 0.0).all()
    for edge in (column.min(), column.max(), 0.0 if draw == "many zeros" else column.max()):
        at = column == edge
        np.testing.assert_allclose(found[at], exact[at], rtol=1e-12, atol=1e-12)


def test_a_sample_stands_for_many_documents(monkeypatch):
    column = np.random.default_rng(0).lognormal(0, 3, (50_000, 1))
    before, whole = column.copy(), fit_scale("quantile", column)
    monkeypatch.setattr(statistics, "_SAMPLE", 5_000)
    drawn = fit_scale("quantile", column)
    assert drawn == fit_scale("quantile", column), "always the same ones"
    assert drawn != whole
    assert max(drawn.scores[0]) < max(whole.scores[0])
    middle = np.abs(apply(whole, column.ravel())) < 2
    assert np.abs(apply(whole, column.ravel()) - apply(drawn, column.ravel()))[middle].max() < 0.15
    assert np.array_equal(column, before), "one column is not changed in its place"


@pytest.mark.parametrize("kind", ["log", "quantile", "standard"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", [".arrow", ".parquet"])
def test_features_in_a_file_have_the_scale_of_those_in_memory(kind, gaps, form, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from directrix.data import statistics

    monkeypatch.setattr(statistics, "_SAMPLE", 200)
    q, _ = dx.data.make_linear(60, 10, 4, seed=3)
    features = np.exp(3 * q.features)
    if gaps:
        features[np.random.default_rng(0).random(features.shape) < 0.1] = np.nan
    q = dx.Queries.from_arrays(features, q.labels, group=np.diff(q.qptr), missing="nan")
    dx.data.write_parquet(q, tmp_path / f"data{form}")
    stored = dx.data.open_parquet(tmp_path / f"data{form}", missing="nan")
    monkeypatch.setattr(statistics, "block_rows", lambda rows: [0, 250, 500, len(rows)])
    monkeypatch.setattr("directrix.data.stored.block_rows", lambda rows: [0, 250, 500, len(rows)])
    in_memory, in_file = fit_scale(kind, q.features), fit_scale(kind, stored.features)
    if kind == "standard":
        np.testing.assert_allclose(in_file.width, in_memory.width, rtol=1e-12, atol=0)
    else:
        assert in_file == in_memory
    ranker = dx.LinearRanker(scale=kind, max_iter=5)
    scores = ranker.fit_queries(q).predict_queries(q)
    np.testing.assert_allclose(
        ranker.fit_queries(stored).predict_queries(stored), scores, rtol=1e-6, atol=1e-9
    )
    assert ranker.training_["data"].get("missing", 0) == np.isnan(features).sum()
    if gaps:
        with rejects(dx.InputError):
            dx.LinearRanker().fit_queries(stored)


def test_logarithms_keep_signs_and_are_standardized():
    column = np.array([[-(np.e - 1)], [0.0], [np.e - 1], [np.e**2 - 1]])
    scale = fit_scale("log", column)
    np.testing.assert_allclose(scale.center, [np.mean([-1, 0, 1, 2])], rtol=1e-14, atol=0)
    np.testing.assert_allclose(scale.width, [np.std([-1, 0, 1, 2])], rtol=1e-14, atol=0)
    np.testing.assert_allclose(
        apply(scale, [-(np.e - 1), np.e**5 - 1]),
        (np.array([-1, 5]) - 0.5) / np.std([-1, 0, 1, 2]),
        rtol=1e-13,
    )
    zeros = sp.csr_array(np.where(np.eye(4) > 0, 7.0, 0.0))
    assert fit_scale("log", zeros).apply(zeros, np.array([0, 4])).nnz == 4


@pytest.mark.parametrize("kind", ["log", "quantile"])
def test_the_largest_floats_are_no_problem(kind):
    for dtype in (np.float32, np.float64):
        top = np.finfo(dtype).max / 4
        column = np.array([-top, -1.0, 0.0, np.finfo(dtype).smallest_subnormal, 1e-3, 2e8, top], dtype=dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = apply(fit_scale(kind, column[:, None]), column)
        assert found.dtype == dtype
        assert (np.diff(found) >= 0.0).all()
        assert np.abs(found).max() < 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", FILLING)
def test_what_takes_the_place_of_a_missing_value(kind, dtype):
    column = np.array([0.0, 1.0, np.nan, 5.0, np.nan], dtype=dtype)
    scale = fit_scale(kind, column[:, None])
    assert scale.fills
    found, there = apply(scale, column), apply(scale, [0.0, 1.0, 5.0])
    assert found[[0, 1, 3]].tolist() == there.astype(dtype).tolist(), "missing values have no part in it"
    assert found[2] == found[4] == (dtype(2 / 5) if kind == "minmax" else 0.0)
    if kind in ("minmax", "standard"):
        assert scale == fit_scale(kind, np.array([[0.0], [1.0], [5.0]]))
    nothing = np.full((3, 1), np.nan, dtype=dtype)
    assert apply(fit_scale(kind, nothing), [np.nan, 1.0, -7.0]).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["log", "quantile"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(kind, dtype):
    features = np.random.default_rng(0).lognormal(0, 4, (30_000, 3)).astype(dtype)
    found = []
    for n in (1, 3):
        before = dx.set_threads(n)
        scale = fit_scale(kind, features)
        found.append((scale, scale.apply(features, np.array([0, 30_000])).tobytes()))
        dx.set_threads(before)
    assert found[0] == found[1]
    parts = [scale.apply(features[a:b], ONE) for scale in [found[0][0]] for a, b in [(0, 7), (7, 30_000)]]
    assert np.concatenate(parts).tobytes() == found[0][1], "a document has its values wherever it is"
