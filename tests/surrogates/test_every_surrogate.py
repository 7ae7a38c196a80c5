"""What every surrogate does with data that a law does not test; the laws are in tests/laws."""

import numpy as np
import pytest

import directrix as dx
from directrix.registry import SURROGATES, classes
from tests.reference import cases

CASES = pytest.mark.parametrize("surrogate", cases(), ids=repr)
every = pytest.mark.parametrize("kind", classes(SURROGATES).values(), ids=lambda kind: kind.__name__)
WEIGHING = {
    "ApproxNDCG",
    "ApproxAP",
    "ApproxPrecision",
    "SmoothNDCG",
    "RankNet",
    "RankSVM",
    "SoftNDCG",
    "YetiRank",
    "Gumbel",
    "Regression",
}


@CASES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [6, 500])
def test_scores_that_are_not_finite_give_nan_and_touch_no_foreign_memory(surrogate, dtype, n):
    """A diverging trainer passes them to the kernels, past the checks of the public functions."""
    qptr = np.array([0, 2, n])
    scores, labels = np.linspace(0, 1, n).astype(dtype), np.resize([0.0, 1.0, 2.0], n)
    scores[[3, n // 2, n - 1]] = np.nan, np.inf, -np.inf
    value, grad = np.zeros(2), np.zeros(n, dtype=dtype)
    surrogate.fill(scores, surrogate.prepare(labels, qptr), qptr, (0, 2), (value, grad))
    assert np.isfinite([value[0], *grad[:2]]).all()
    if surrogate == dx.Regression(intercept=False):
        assert not np.isfinite(value[1])  # minus the square of an infinite score
    else:
        assert np.isnan(value[1])
    if not isinstance(
        surrogate, dx.ListMLE | dx.Regression
    ):  # there other documents have slopes of their own
        assert np.isnan(grad[2:]).all()


@CASES
def test_a_query_without_documents_is_0_or_that_of_its_measure_and_harms_nobody(surrogate):
    scores, labels = np.array([0.3, 0.1, 0.2]), np.array([0.0, 1.0, 2.0])
    value, grad = surrogate.value_and_grad(scores, labels, np.array([0, 0, 3, 3]))
    alone, slope = surrogate.value_and_grad(scores, labels, np.array([0, 3]))
    is_one = isinstance(surrogate, dx.SVMRoc) or getattr(surrogate.measure, "empty", "zero") == "one"
    assert value.tolist() == [float(is_one), alone[0], float(is_one)]
    assert np.array_equal(grad, slope)


@every
def test_document_weights_are_taken_or_refused(kind):
    query = np.ones(2), np.array([0, 2]), np.ones(2)
    if kind.__name__ in WEIGHING:
        kind().prepare(*query)
    else:
        with pytest.raises(dx.InputError, match=r"takes no document weights.*query_weight="):
            kind().prepare(*query)


@every
def test_scores_of_1e300_have_a_finite_value_or_are_refused(kind):
    scores, labels = np.array([1e300, -1e300, 0.0]), np.array([0.0, 1.0, 1.0])
    try:
        value, _ = kind().value_and_grad(scores, labels, np.array([0, 3]))
    except dx.InputError as error:
        assert "overflows" in str(error)  # noqa: PT017
        return
    assert not np.isinf(value).any()


@pytest.mark.parametrize("kind", [dx.RankSVM, dx.Regression])
def test_squares_that_no_float_holds_are_refused(kind):
    query = np.array([0.0, 1.0]), np.array([0, 2])
    with pytest.raises(dx.InputError, match=r"query 0 overflows; its scores reach 1e\+300"):
        kind().value_and_grad(np.array([1e300, -1e300]), *query)
    assert np.isfinite(kind().value_and_grad(np.array([1e150, -1e150]), *query)[0]).all()
