"""Data for the tests of experiments."""

import numpy as np
import pytest

import directrix as dx


@pytest.fixture(scope="module")
def noisy():
    """Data on which no weights rank all documents right."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + rng.standard_normal(120)), 0, 2)
    return dx.Queries.from_arrays(X, y, qid=np.repeat(np.arange(12), 10))
