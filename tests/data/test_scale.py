import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.messages import rejects

import directrix as dx
from directrix.data.scale import SCALES, Scale

X = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 4.0], [2.0, 7.0, 1.0], [2.0, 9.0, 3.0]])
QPTR = np.array([0, 2, 4])
KINDS = ["query-minmax", "query-standard", "query-percentile", "minmax", "standard", "log", "quantile"]


def test_by_query():
    assert dx.data.fit_scale("query-minmax", X).apply(X, QPTR).tolist() == [
        [0, 0, 0],
        [1, 0, 1],
        [0, 0, 0],
        [0, 1, 1],
    ]
    standard = dx.data.fit_scale("query-standard", X).apply(X, QPTR)
    assert standard.tolist() == [[-1, 0, -1], [1, 0, 1], [0, -1, -1], [0, 1, 1]]


def test_percentiles_are_shares_of_the_other_documents():
    column = np.array([[3.0], [1.0], [2.0], [1.0], [9.0], [5.0], [5.0], [7.0]])
    found = dx.data.fit_scale("query-percentile", column).apply(column, np.array([0, 5, 5, 7, 8]))
    assert found.ravel().tolist() == [3 / 4, 0, 2 / 4, 0, 1, 0, 0, 0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-3, 3, width=32)), min_size=1, max_size=20),
    st.sampled_from([np.float32, np.float64]),
)
def test_percentiles_by_their_formula_and_of_the_order_alone(rows, dtype):
    features = np.array(rows, dtype=dtype)
    n = len(rows)
    found = dx.data.fit_scale("query-percentile", features).apply(features, np.array([0, n]))
    below = (features[None] < features[:, None]).sum(axis=1) / max(n - 1, 1)
    assert found.dtype == dtype
    assert np.array_equal(found, below.astype(dtype))
    stretched = np.column_stack([features[:, 0] ** 3, 4 * features[:, 1]])
    assert np.array_equal(Scale("query-percentile").apply(stretched, np.array([0, n])), found)


def test_percentiles_of_missing_values_are_missing():
    column = np.array([[np.nan], [1.0], [2.0]])
    assert np.array_equal(
        Scale("query-percentile").apply(column, np.array([0, 3])), [[np.nan], [0], [1 / 2]], equal_nan=True
    )


@pytest.mark.parametrize("kind", ["query-minmax", "query-standard"])
def test_missing_values_stay_missing_by_query_and_do_not_count(kind):
    column = np.array([[np.nan], [1.0], [2.0], [6.0], [np.nan], [np.nan]])
    found = Scale(kind).apply(column, np.array([0, 4, 6])).ravel()
    known = Scale(kind).apply(column[1:4], np.array([0, 3])).ravel()
    assert np.array_equal(found, [np.nan, *known, np.nan, np.nan], equal_nan=True)


def test_by_training_data():
    scale = dx.data.fit_scale("minmax", X)
    assert scale.apply(X, QPTR).tolist() == [
        [(1 - 1) / 2, 0, 0],
        [1, 0, 4 / 4],
        [1 / 2, (7 - 5) / 4, 1 / 4],
        [1 / 2, 1, 3 / 4],
    ]
    other = np.array([[5.0, 5.0, 8.0]])
    assert scale.apply(other, np.array([0, 1])).tolist() == [[2.0, 0.0, 2.0]], "statistics of training stay"
    standard = dx.data.fit_scale("standard", X).apply(X, QPTR)
    np.testing.assert_allclose(standard.mean(axis=0), np.zeros(3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(standard.std(axis=0), np.ones(3), rtol=1e-14, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_become_zero(kind, dtype):
    constant = np.full((7, 2), 0.1, dtype=dtype)  # the mean of seven rounds
    out = dx.data.fit_scale(kind, constant).apply(constant, np.array([0, 7]))
    assert out.dtype == dtype
    assert out.tolist() == np.zeros((7, 2)).tolist()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000))
def test_json_reads_back_exactly_and_the_input_stays(kind, seed):
    features = np.random.default_rng(seed).standard_normal((4, 3))
    before = features.copy()
    scale = dx.data.fit_scale(kind, features)
    again = Scale.from_json(json.loads(json.dumps(scale.to_json())))
    assert again == scale
    assert np.array_equal(again.apply(features, QPTR), scale.apply(features, QPTR))
    assert np.array_equal(features, before)


@pytest.mark.parametrize("kind", [*SCALES, "raw+standard+query-percentile"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_are_scaled_like_dense_ones(kind, dtype):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((40, 6)) < 0.3, rng.normal(2, 1, (40, 6)), 0.0).astype(dtype)
    dense[:, 0], dense[:, 1] = 3.0, 0.0  # without zeros, and without anything else
    dense[5, 2] = dense[7, 2] = np.nan
    qptr, sparse = np.array([0, 7, 7, 19, 40]), sp.csr_array(dense)
    scale, other = dx.data.fit_scale(kind, dense), dx.data.fit_scale(kind, sparse)
    rounding = 8 * np.finfo(np.float64).eps
    for one, two in zip(getattr(scale, "parts", (scale,)), getattr(other, "parts", (other,)), strict=True):
        for name in ("center", "width", "fill", "knots") if one is not None else ():
            ours, theirs = (np.hstack([np.empty(0), *(getattr(s, name) or ())]) for s in (one, two))
            np.testing.assert_allclose(theirs, ours, rtol=rounding, atol=0)
    scaled, want = scale.apply(sparse, qptr), scale.apply(dense, qptr)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scaled.toarray(), want, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(scaled[np.array([9, 2])].toarray(), want[[9, 2]], rtol=rounding, atol=rounding)
    assert scaled.nnz < 0.75 * want.size


def test_a_constant_sparse_column():
    assert dx.data.fit_scale("standard", sp.csr_array(np.full((4, 1), 0.1))).width == (0.0,)


def test_no_scale():
    assert dx.data.fit_scale(None, X) is None


def test_messages():
    with rejects(dx.InputError):
        dx.data.fit_scale("robust", X)
    with rejects(dx.InputError):
        dx.data.fit_scale("standard", X).apply(X[:, :2], QPTR)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "robust"},
        {"kind": "minmax", "center": [0.0], "width": "1"},
        {"kind": "minmax", "center": [0.0], "width": [float("nan")]},
        {"kind": "minmax", "center": [0.0], "width": [-1.0]},
        {"kind": "standard", "center": [0.0], "width": [1.0, 2.0]},
        {"kind": "standard", "center": [10**5000], "width": [1.0]},
        {"kind": 10**5000},
        {"kind": "query-minmax", "center": [0.0], "width": [1.0]},
        {"kind": "minmax", "center": [0.0], "width": [1.0], "fill": [float("inf")]},
        {"kind": "log", "center": [0.0], "width": [1.0], "fill": [0.0]},
        {"kind": "quantile", "center": [0.0], "width": [1.0]},
        {"kind": "quantile", "knots": [[]], "scores": [[]]},
        {"kind": "quantile", "knots": [[0.0, 1.0]], "scores": [[0.0]]},
        {"kind": "quantile", "knots": [[1.0, 0.0]], "scores": [[0.0, 1.0]]},
        {"kind": "quantile", "knots": [[0.0, "1"]], "scores": [[0.0, 1.0]]},
        {"kind": "quantile", "knots": [0.0, 1.0], "scores": [0.0, 1.0]},
        {"kind": "quantile", "knots": [list(range(257))], "scores": [list(range(257))]},
    ],
)
def test_broken_model_files(data):
    with rejects(dx.InputError):
        Scale.from_json(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bogus",), "scale='bogus'; choose one of 'query-minmax'"),
        (("standard",), "center=None; one finite number per feature"),
        (("minmax", 0.0, 1.0), "center=0.0"),
        (("minmax", (0.0,), (-1.0,)), "(widths >= 0). Type directrix.data.fit_scale('minmax'"),
        (("minmax", ("a",), (1.0,)), "center=('a',)"),
        (("log", (0.0, 1.0), (1.0,)), "2 centers and 1 widths"),
        (("query-standard", (0.0,), (1.0,)), "kinds by query have no statistics"),
    ],
)
def test_a_scale_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(dx.InputError, match=re.escape(message)):
        Scale(*arguments)


@pytest.mark.parametrize("kind", ["query-minmax", "minmax"])
def test_a_width_without_a_reciprocal_is_divided_by(kind):
    features = np.array([[0.0, 1.0], [3e-320, 3.0]])
    got = dx.data.fit_scale(kind, features).apply(features, np.array([0, 2]))
    assert got.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("query-percentile", "log")])
def test_ranges_beyond_the_largest_float_are_refused(kind):
    features = np.array([[0.0, -1e308], [1.0, 1e308]])
    with rejects(dx.InputError):
        dx.data.fit_scale(kind, features).apply(features, np.array([0, 2]))


def test_values_that_scaling_would_make_infinite_are_refused():
    small = np.array([[0.0], [1e-30]], dtype=np.float32)
    scale = dx.data.fit_scale("minmax", small)
    message = r"features: 1e\+30 in feature 1 is too large for float32 once it is scaled"
    with pytest.raises(dx.InputError, match=message):
        scale.apply(np.array([[np.nan], [1e30]], dtype=np.float32), np.array([0, 2]))
    with rejects(dx.InputError):
        dx.data.fit_scale("quantile", small).apply(np.array([[np.nan], [np.inf]]), np.array([0, 2]))
    sparse = dx.data.fit_scale("standard", sp.csr_array(small))
    with rejects(dx.InputError):
        sparse.apply(sp.csr_array(np.array([[1e30]], dtype=np.float32)), np.array([0, 1]))
    with rejects(dx.InputError):
        dx.data.fit_scale("standard", sp.csr_array(np.array([[1e200], [0.0]])))
    with rejects(dx.InputError):
        dx.data.fit_scale("standard", sp.csr_array(np.array([[1e200], [3e200]])))


@pytest.mark.parametrize("kind", ["query-minmax", "query-standard", "query-percentile"])
def test_a_scale_by_query_gives_the_same_bits_in_any_order_of_rows_and_columns(kind):
    rows = np.random.default_rng(0).normal(3, 1, (50, 4))
    scaled, qptr = dx.data.fit_scale(kind, rows).apply, np.array([0, 50])
    want = scaled(rows, qptr)
    assert np.array_equal(scaled(rows[::-1], qptr), want[::-1])
    assert np.array_equal(scaled(rows[:, [2]], qptr), want[:, [2]])


def test_sparse_float32_is_squared_in_double():
    large = np.array([[1e25], [3e25]], dtype=np.float32)
    np.testing.assert_allclose(
        dx.data.fit_scale("standard", sp.csr_array(large)).width, [1e25], rtol=1e-6, atol=0
    )
