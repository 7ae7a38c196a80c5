"""Average precision of thresholds equals a loop, and scikit-learn."""

import itertools

import numpy as np
from sklearn.metrics import average_precision_score

from directrix.reconciliation.settings import precision_of_thresholds

from .naive import precision_of_thresholds as by_loop

SETTING = {"rel": 1, "denominator": "relevant"}


def test_groups_end_with_their_query():
    """The last score of the first query is the first one of the second."""
    value = precision_of_thresholds(
        np.array([2.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0]), np.array([0, 2, 4]), 1.0
    )
    assert value.tolist() == [1 / 2, 1.0]


def test_random_queries():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 12, 50)
    qptr = np.append(0, np.cumsum(sizes))
    scores, labels = rng.integers(0, 4, qptr[-1]).astype(float), rng.integers(0, 2, qptr[-1]).astype(float)
    scores[rng.random(qptr[-1]) < 0.1] = -np.inf
    got = precision_of_thresholds(scores, labels, qptr, 1.0)
    for q, (first, last) in enumerate(itertools.pairwise(qptr)):
        s, y = scores[first:last], labels[first:last]
        docs = [(score, label, "") for score, label in zip(s, y, strict=True) if score > -np.inf]
        expected = by_loop(docs, y.tolist(), SETTING)
        np.testing.assert_allclose(got[q], np.nan if expected is None else expected, rtol=1e-14)
        if y.any() and np.isfinite(s).all():
            np.testing.assert_allclose(got[q], average_precision_score(y, s), rtol=1e-12)
