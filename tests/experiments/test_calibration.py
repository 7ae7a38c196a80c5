"""Calibration curves and errors, against a plain loop."""

from math import log

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.experiments.calibration import cross_calibrated
from directrix.rankers.calibration import Calibration
from tests.messages import rejects

P = np.array([0.9, 0.1, 0.4, 0.8, 0.2, 0.6])
Q = dx.Queries.from_arrays(np.zeros((6, 1)), [2, 0, 1, 2, 1, 0], qid=["a", "a", "b", "b", "c", "c"])
CURVE = dx.experiments.calibration_curve(P, Q, rel=2, bins=3, by={"a": "short", "b": "long", "c": "long"})


def test_bins_hold_equally_many_documents_by_probability():
    assert CURVE.documents == (2, 2, 2)
    np.testing.assert_allclose(
        CURVE.predicted, [(0.1 + 0.2) / 2, (0.4 + 0.6) / 2, (0.8 + 0.9) / 2], rtol=1e-12
    )
    assert CURVE.relevant == (0.0, 0.0, 1.0)


def test_errors():
    total = CURVE.total
    np.testing.assert_allclose(total.error, (2 * 0.15 + 2 * 0.5 + 2 * 0.15) / 6, rtol=1e-12)
    np.testing.assert_allclose(
        total.brier, (0.1**2 + 0.1**2 + 0.4**2 + 0.2**2 + 0.2**2 + 0.6**2) / 6, rtol=1e-12
    )
    np.testing.assert_allclose(
        total.log_loss, -(log(0.9) + log(0.9) + log(0.6) + log(0.8) + log(0.8) + log(0.4)) / 6, rtol=1e-12
    )
    assert (total.documents, total.relevant) == (6, 2 / 6)
    np.testing.assert_allclose(total.predicted, 0.5, rtol=1e-12)


def test_segments_have_errors_of_their_own():
    short, long = CURVE.segments["short"], CURVE.segments["long"]
    assert list(CURVE.segments) == ["long", "short"]
    np.testing.assert_allclose([short.error, short.brier], [(0.1 + 0.1) / 2, 0.1**2], rtol=1e-12)
    assert (short.documents, long.documents, long.relevant) == (2, 4, 1 / 4)
    by_row = dx.experiments.calibration_curve(P, Q, rel=2, bins=3, by=["short"] * 2 + ["long"] * 4)
    assert by_row == CURVE


def test_tables_and_json_have_the_numbers():
    curve, errors = CURVE.tables()
    assert curve.rows[0] == (1, 2, *map(pytest.approx, (0.15, 0.0)))
    assert [row[0] for row in errors.rows] == ["long", "short", "all"]
    assert CURVE.to_dict()["segments"]["short"]["documents"] == 2


def test_cross_calibration_never_sees_its_own_queries():
    q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=3, seed=1)
    scores = q.features[:, 0].astype(float) + q.labels
    found = cross_calibrated(scores, q, "platt", 1.0)
    fold = np.repeat(np.arange(20) % 5, 10)
    expected = Calibration.fit(scores[fold != 2], q.labels[fold != 2], "platt")(scores[fold == 2])
    np.testing.assert_array_equal(found[fold == 2], expected)


def test_bad_probabilities_are_rejected():
    with rejects(InputError):
        dx.experiments.calibration_curve(P[:3], Q)
    for bad in (1.5, np.nan):
        with rejects(InputError):
            dx.experiments.calibration_curve([0.1] * 5 + [bad], Q)
