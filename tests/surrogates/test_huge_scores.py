"""Scores near the largest float: a value that is a number, or a refusal."""

import numpy as np
import pytest

import directrix as dx
from directrix.registry import SURROGATES, classes


def made(kind):
    try:
        return kind()
    except TypeError:  # it softens a measure, which it must be told
        return kind("nDCG@10")


@pytest.mark.parametrize("kind", classes(SURROGATES).values(), ids=lambda kind: kind.__name__)
def test_scores_of_1e300_have_a_finite_value_or_are_refused(kind):
    scores, labels = np.array([1e300, -1e300, 0.0]), np.array([0.0, 1.0, 1.0])
    try:
        value, _ = made(kind).value_and_grad(scores, labels, np.array([0, 3]))
    except dx.InputError as error:
        assert "beyond all floats" in str(error)  # noqa: PT017
        return
    assert not np.isinf(value).any()


@pytest.mark.parametrize("kind", [dx.RankSVM, dx.Regression])
def test_squares_that_no_float_holds_are_refused(kind):
    query = np.array([0.0, 1.0]), np.array([0, 2])
    with pytest.raises(dx.InputError, match=r"query 0 is beyond all floats; its scores reach 1e\+300"):
        kind().value_and_grad(np.array([1e300, -1e300]), *query)
    assert np.isfinite(kind().value_and_grad(np.array([1e150, -1e150]), *query)[0]).all()
