"""The model of stumps: naive sums, slopes, rows cut in two, sparse rows, thresholds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import directrix as dx
from directrix.models.rows import row_slice
from directrix.objectives.objective import make_objective
from tests.messages import rejects

THRESHOLDS = [[-0.5, 0.0, 1.5], [], [0.25], [-2.0, 2.0]]


def data(dtype=np.float64, n=23, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * (rng.random((n, 4)) < 0.6)
    X[0], X[1] = 0.0, [1.5, 9.0, 0.25, -2.0]  # on the thresholds
    return np.ascontiguousarray(X.astype(dtype)), rng.standard_normal(6), rng.standard_normal(n).astype(dtype)


def naive(X, w):
    flat = [(f, t) for f, row in enumerate(THRESHOLDS) for t in row]
    H = np.array([(X[:, f] > t).astype(float) for f, t in flat]).T
    return H @ w, H


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_and_gradient_are_the_naive_sums(dtype, sparse):
    X, w, g = data(dtype)
    model = dx.models.StumpModel(THRESHOLDS)
    rows = row_slice(sp.csr_array(X) if sparse else X, 0, len(X))
    scores, cache = model.forward(w, rows)
    expected, H = naive(X, w)
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-14)
    grad = model.backward(cache, g)
    np.testing.assert_allclose(grad, H.T @ g.astype(float), rtol=0, atol=1e-12)
    assert model.n_params == 6
    assert model.n_features == 4


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_cut_in_two_give_the_same(sparse):
    X, w, g = data()
    model = dx.models.StumpModel(THRESHOLDS)
    whole = sp.csr_array(X) if sparse else X
    a, b = (model.forward(w, row_slice(whole, *part)) for part in ((0, 9), (9, 23)))
    both = model.forward(w, row_slice(whole, 0, 23))
    assert np.array_equal(np.concatenate([a[0], b[0]]), both[0])
    parts = model.backward(a[1], g[:9]) + model.backward(b[1], g[9:])
    np.testing.assert_allclose(parts, model.backward(both[1], g), rtol=0, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n_thresholds", "kind"), [(3, np.uint8), (255, np.uint8), (256, np.uint16)])
def test_prepared_rows_give_the_same_bits(sparse, n_thresholds, kind):
    X, _, g = data()
    model = dx.models.StumpModel([np.linspace(-2, 2, n_thresholds), [], [0.25], [-2.0, 2.0]])
    w = np.random.default_rng(2).standard_normal(model.n_params)
    rows = row_slice(sp.csr_array(X) if sparse else X, 5, 20)
    prepared = model.prepare(rows)
    assert prepared.stairs.dtype == kind
    assert model.prepare(prepared) is prepared
    (a, cached), (b, other) = model.forward(w, rows), model.forward(w, prepared)
    assert np.array_equal(a, b)
    assert np.array_equal(model.backward(cached, g[5:20]), model.backward(other, g[5:20]))
    np.testing.assert_allclose(a, model.forward(w, X[5:20])[0], rtol=0, atol=1e-12)


def test_bins_count_the_thresholds_below():
    X, _, _ = data()
    model = dx.models.StumpModel(THRESHOLDS)
    expected = np.array([[sum(x > t for t in row) for x in X[:, f]] for f, row in enumerate(THRESHOLDS)])
    assert np.array_equal(model.bins(X), expected)
    assert np.array_equal(model.bins(sp.csr_array(X)), expected)
    assert model.bins(X).dtype == np.uint8
    assert dx.models.StumpModel([np.arange(300.0)]).bins(np.array([[299.5]])).tolist() == [[300]]


def test_a_gradient_trainer_works_on_it():
    q = dx.data.make_cubic(n_queries=40, docs_per_query=12, n_features=5, seed=3)
    model = dx.models.StumpModel(dx.models.quantile_thresholds(q.features, 6))
    objective = make_objective(q, "ApproxNDCG(alpha=3.0)", model)
    start = np.zeros(model.n_params)
    result = dx.LBFGS(max_iter=30).minimize(objective, start)
    assert result.value < objective.value_and_grad(start)[0] - 0.05
    direction, h = np.random.default_rng(0).standard_normal(len(start)), 1e-4
    w = 0.1 * direction
    exact = dx.Queries.from_arrays(q.features.astype(float), q.labels, qid=np.repeat(np.arange(40), 12))
    smooth = make_objective(exact, "ApproxNDCG(alpha=3.0)", model)
    up, down = (smooth.value_and_grad(w + s * h * direction)[0] for s in (1, -1))
    slope = smooth.value_and_grad(w)[1] @ direction
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5)


@given(
    values=st.lists(st.integers(-4, 4), min_size=1, max_size=40),
    n=st.integers(1, 12),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_thresholds_lie_between_values_and_part_the_rows_evenly(values, n, dtype):
    x = np.array(values, dtype=dtype)
    (found,) = dx.models.quantile_thresholds(x[:, None], n)
    different = np.unique(x)
    assert len(found) == min(n, len(different) - 1) or len(found) < n  # two quantiles may share a gap
    assert not np.isin(found, x).any()
    assert (np.diff(found) > 0).all()
    if len(different) - 1 <= n:
        assert np.array_equal(found, 0.5 * (different[1:] + different[:-1]))


def test_thresholds_are_quantiles():
    (found,) = dx.models.quantile_thresholds(np.arange(100.0)[::-1, None], 4)
    assert found.tolist() == [19.5, 39.5, 59.5, 79.5]


def test_between_neighboring_floats_the_lower_is_the_threshold():
    x = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    (found,) = dx.models.quantile_thresholds(x, 3)
    assert (x[:, 0] > found[0]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dx.models.StumpModel([[0.0], [2.0, 1.0]]),
            "thresholds of feature 2 .*ascending",
        ),
        (
            lambda: dx.models.StumpModel([[0.0]] * 3).forward(np.zeros(3), np.zeros((2, 4))),
            r"there are 4 features; this StumpModel has 3 thresholds of 3 features.*quantile_thresholds",
        ),
        (lambda: dx.models.StumpModel([[np.nan]]), "thresholds of feature 1 .*finite"),
        (lambda: dx.models.quantile_thresholds(np.eye(2), 0), "n_thresholds=0"),
        (lambda: dx.models.quantile_thresholds(np.eye(2), 2.5), "n_thresholds=2.5"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_thresholds_are_lists():
    with rejects(dx.InputError):
        dx.models.StumpModel(5)
