"""The tendency coefficient against linear programming and arithmetic."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

from directrix.errors import InputError
from directrix.experiments import tendency as module
from directrix.experiments.tendency import tendency
from tests.messages import rejects


def by_linear_programming(a, b):
    """Minimize t over k >= 0 and t >= k (a_i - a_j) - (b_i - b_j) for all pairs and queries."""
    rows, bounds = [], []
    for i, j in permutations(range(len(a)), 2):
        rows += [[slope, -1.0] for slope in a[i] - a[j]]
        bounds += list(b[i] - b[j])
    found = linprog([0.0, 1.0], A_ub=rows, b_ub=bounds, bounds=[(0, None), (0, None)], method="highs")
    assert found.status == 0, found.message
    return found.fun


def worst(k, a, b):
    """Largest disagreement by enumeration of pairs."""
    return max(np.abs(k * (a[i] - a[j]) - (b[i] - b[j])).max() for i, j in permutations(range(len(a)), 2))


@pytest.mark.parametrize("seed", range(20))
def test_equals_a_linear_program_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n_models, n_queries = rng.integers(2, 9), rng.integers(1, 6)
    b = rng.random((n_models, n_queries))
    a = 3.0 * b + rng.normal(0.0, rng.choice([0.1, 1.0, 10.0]), b.shape)
    found = tendency(a, b)
    np.testing.assert_allclose(found.coefficient, by_linear_programming(a, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.coefficient, worst(found.k, a, b), rtol=1e-12, atol=0.0)


_values = hnp.arrays(np.float64, st.tuples(st.integers(2, 5), st.just(3)), elements=st.integers(-3, 3))


@given(st.data())
def test_equals_a_linear_program_where_values_tie(data):
    a = data.draw(_values)
    b = data.draw(hnp.arrays(np.float64, a.shape, elements=st.integers(-3, 3)))
    found = tendency(a, b)
    np.testing.assert_allclose(found.coefficient, by_linear_programming(a, b), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.coefficient, worst(found.k, a, b), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("slope", [0.0, -1.0], ids=["constant", "opposite"])
def test_a_surrogate_that_never_follows_has_the_largest_range_of_the_measure(slope):
    measure = np.array([[0.0, 0.5], [0.25, 0.125], [0.5, 1.0]])
    found = tendency(slope * measure, measure)
    assert (found.coefficient, found.k, found.query, found.models) == (1.0 - 0.125, 0.0, 1, (1, 2))
    np.testing.assert_array_equal(found.by_query, [0.5, 0.875])


@pytest.mark.parametrize("unit", [1e-290, 1e-9, 1e9, 1e290])
def test_units_of_the_surrogate_do_not_matter(unit):
    rng = np.random.default_rng(2)
    a, b = rng.random((10, 3)), rng.random((10, 3))
    expected = tendency(a + b, b)
    found = tendency(unit * (a + b), b)
    np.testing.assert_allclose(
        [found.coefficient, found.k * unit], [expected.coefficient, expected.k], rtol=1e-12
    )


def test_the_named_pair_of_models_attains_it():
    rng = np.random.default_rng(4)
    a, b = rng.random((12, 4)), rng.random((12, 4))
    found = tendency(a + b, b)
    (i, j), q = found.models, found.query
    gap = found.k * (a[i, q] + b[i, q] - a[j, q] - b[j, q]) - (b[i, q] - b[j, q])
    np.testing.assert_allclose(gap, found.coefficient, rtol=1e-12, atol=0.0)


def test_each_query_alone_has_a_factor_of_its_own():
    rng = np.random.default_rng(5)
    b = rng.random((15, 4))
    a = b * [1.0, 2.0, 3.0, -1.0]
    found = tendency(a, b, per_query=True)
    np.testing.assert_allclose(found.separate, [0.0, 0.0, 0.0, np.ptp(b[:, 3])], rtol=1e-14, atol=1e-14)
    assert (found.separate <= found.by_query + 1e-14).all()
    assert found.coefficient == found.by_query.max()
    assert tendency(a, b).separate is None


def test_queries_that_the_measure_skips_are_left_out():
    rng = np.random.default_rng(6)
    a, b = rng.random((10, 3)), rng.random((10, 3))
    undefined = np.full((10, 1), np.nan)
    expected = tendency(a, b, per_query=True)
    found = tendency(np.hstack([undefined, a]), np.hstack([undefined, b]), per_query=True)
    assert (found.coefficient, found.k, found.query) == (expected.coefficient, expected.k, expected.query + 1)
    np.testing.assert_array_equal(found.by_query, [np.nan, *expected.by_query])
    np.testing.assert_array_equal(found.separate, [np.nan, *expected.separate])


def by_a_program_over_all_pairs(a, b):
    """Minimize t over phi with |phi(a_i) - phi(a_j) - (b_i - b_j)| <= t for all pairs, phi not decreasing."""
    points, n = a.ravel(), a.size
    of = np.arange(n).reshape(a.shape)
    rows, bounds = [], []
    for q in range(a.shape[1]):
        for i, j in permutations(range(len(a)), 2):
            row = np.zeros(n + 1)
            row[[of[i, q], of[j, q], n]] = 1.0, -1.0, -1.0
            rows.append(row)
            bounds.append(b[i, q] - b[j, q])
    for p, r in permutations(range(n), 2):
        if points[p] <= points[r]:  # equal values: both orders, so phi is equal
            row = np.zeros(n + 1)
            row[[p, r]] = 1.0, -1.0
            rows.append(row)
            bounds.append(0.0)
    found = linprog(np.eye(n + 1)[n], A_ub=rows, b_ub=bounds, bounds=(None, None), method="highs")
    assert found.status == 0, found.message
    return found.fun


@pytest.mark.parametrize("seed", range(15))
def test_the_best_monotone_function_equals_a_program_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 6), rng.integers(1, 4)
    b = rng.random(shape)
    a = (3.0 * b + rng.normal(0.0, 0.7, shape)).round(rng.choice([0, 1, 6])) ** 3  # some values tie
    found = tendency(a, b, transform="monotone", per_query=True)
    np.testing.assert_allclose(found.coefficient, by_a_program_over_all_pairs(a, b), rtol=0, atol=1e-6)
    phi = found.transformed
    order = np.argsort(a, axis=None, kind="stable")
    assert (np.diff(phi.ravel()[order]) >= 0.0).all()
    assert all(np.ptp(phi[a == value]) == 0.0 for value in np.unique(a))
    np.testing.assert_allclose(found.by_query, np.ptp(phi - b, axis=0), rtol=0, atol=1e-12)
    assert found.coefficient <= tendency(a, b).coefficient + 1e-6
    assert np.isnan(found.k)


@given(st.data())
def test_a_query_alone_loses_the_largest_fall_of_its_measure(data):
    a = data.draw(_values)[:, :1]
    b = data.draw(hnp.arrays(np.float64, a.shape, elements=st.integers(-3, 3)))
    fall = max(b[i, 0] - b[j, 0] for i in range(len(a)) for j in range(len(a)) if a[i, 0] <= a[j, 0])
    found = tendency(a, b, transform="monotone", per_query=True)
    np.testing.assert_allclose([found.coefficient, found.separate[0]], fall, rtol=0, atol=1e-6)


def test_an_increasing_function_of_the_measure_moves_like_it():
    measure = np.random.default_rng(0).random((20, 5))
    for surrogate in (np.exp(9.0 * measure), measure > 2.0):  # the second is constant
        found = tendency(surrogate, measure, transform="monotone")
        expected = 0.0 if surrogate.dtype == np.float64 else np.ptp(measure, axis=0).max()
        np.testing.assert_allclose(found.coefficient, expected, rtol=0, atol=1e-6)
    assert tendency(np.exp(9.0 * measure), measure).coefficient > 0.3


def test_one_function_serves_all_queries():
    """On the first query the surrogate is the measure, on the second too, but for another level."""
    b = np.array([[0.0, 0.0], [1.0, 1.0]])
    a = np.array(
        [[0.0, 0.5], [1.0, 0.6]]
    )  # phi rises by 1 from .5 to .6, so by 1 from 0 to 1 at least: 0 and 1
    assert tendency(a, b, transform="monotone").coefficient < 1e-6
    a = np.array([[0.0, 1.0], [1.0, 2.0]])
    b = np.array([[0.0, 0.0], [0.0, 1.0]])  # no rise from 0 to 1, 1 from 1 to 2
    assert tendency(a, b, transform="monotone").coefficient < 1e-6
    a = np.array([[0.0, 0.0], [1.0, 1.0]])  # no rise, and one of 1, between the same values: halfway
    found = tendency(a, b, transform="monotone", per_query=True)
    np.testing.assert_allclose(found.coefficient, 0.5, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.separate, [0.0, 0.0], rtol=0, atol=1e-12)


def test_queries_that_the_measure_skips_have_no_transformed_values():
    rng = np.random.default_rng(6)
    a, b = rng.random((10, 2)), rng.random((10, 2))
    undefined = np.full((10, 1), np.nan)
    found = tendency(np.hstack([undefined, a]), np.hstack([undefined, b]), transform="monotone")
    expected = tendency(a, b, transform="monotone")
    np.testing.assert_array_equal(found.transformed[:, 1:], expected.transformed)
    assert np.isnan(found.transformed[:, 0]).all()
    assert found.coefficient == expected.coefficient


def test_there_are_two_transformations():
    with rejects(InputError):
        tendency(np.zeros((2, 2)), np.zeros((2, 2)), transform="log")


def test_few_looks_are_enough(monkeypatch):
    looks, line = [], module._line
    monkeypatch.setattr(module, "_line", lambda *given: looks.append(given[0]) or line(*given))
    rng = np.random.default_rng(7)
    b = rng.random((100, 106))
    tendency(np.exp(3.0 * b) + rng.lognormal(0.0, 2.0, b.shape), b)
    assert 3 <= len(looks) <= 30


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (
            np.zeros((3, 2)),
            np.zeros((2, 3)),
            r"shape \(3, 2\), measure_values \(2, 3\); both need \(n_models",
        ),
        (np.zeros((1, 2)), np.zeros((1, 2)), r"at least 2 models"),
        (np.zeros(3), np.zeros(3), r"shape \(3,\)"),
        (np.zeros((2, 0)), np.zeros((2, 0)), r"1 query"),
        (np.array([[0.0, 1.0], [0.0, np.nan]]), np.zeros((2, 2)), r"surrogate_values\[1, 1\] is nan; finite"),
        (np.zeros((2, 2)), np.array([[0.0, 1.0], [np.nan, 1.0]]), r"measure_values\[1, 0\] is nan"),
        (np.zeros((2, 2)), np.array([[0.0, 1.0], [0.0, np.inf]]), r"measure_values\[1, 1\] is inf"),
        (np.zeros((2, 2)), np.full((2, 2), np.nan), r"undefined on every query"),
    ],
)
def test_values_that_cannot_be_compared_are_rejected(a, b, message):
    with pytest.raises(InputError, match=message):
        tendency(a, b)
