"""Scores of many parameter vectors together."""

import numpy as np
import pytest
import scipy.sparse as sp

from directrix.models import rows
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.rows import row_slice, scores_of


@pytest.mark.parametrize("model", [LinearModel(), MLPModel(hidden=(3,))], ids=["linear", "mlp"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_each_vector_has_the_scores_that_it_has_alone(model, form, monkeypatch):
    rng = np.random.default_rng(0)
    X = form(rng.standard_normal((10, 4)))
    params = rng.standard_normal((3, 4 if isinstance(model, LinearModel) else 4 * 3 + 3 + 3))
    monkeypatch.setattr(rows, "_ROWS_PER_CHUNK", 4)
    together = scores_of(model, params, X)
    assert together.shape == (3, 10)
    for scores, vector in zip(together, params, strict=True):
        np.testing.assert_allclose(
            scores, model.forward(vector, row_slice(X, 0, 10))[0], rtol=1e-14, atol=1e-15
        )
        assert (scores == scores_of(model, vector[None], X)[0]).all()
