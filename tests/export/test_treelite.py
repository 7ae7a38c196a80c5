"""A third reader of exported trees: treelite, as servers of models use it."""

import numpy as np
import pytest

from directrix.export.formula import formula_of
from directrix.export.target import target as find_target

from .conftest import MODELS
from .rows import hard_rows, scores_of

treelite = pytest.importorskip("treelite")
TREES = [name for name in MODELS if name == "stumps" or "trees" in name]


def predicted(model, X):
    return treelite.gtil.predict(model, X, nthread=1, pred_margin=True).ravel()


@pytest.mark.parametrize("name", TREES)
def test_lightgbms_text_has_the_scores_in_double(name, fitted, tmp_path):
    ranker, q = fitted(name)
    formula = formula_of(ranker)
    path = tmp_path / "model.txt"
    path.write_bytes(find_target("lightgbm").content(formula))
    X = hard_rows(formula, q)
    found = predicted(treelite.frontend.load_lightgbm_model(path), X)
    np.testing.assert_allclose(found, scores_of(ranker, q, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in TREES if name != "trees, categories"])
def test_xgboosts_json_has_the_scores_in_single_precision(name, fitted):
    ranker, q = fitted(name)
    formula = formula_of(ranker)
    model = treelite.frontend.from_xgboost_json(find_target("xgboost").content(formula))
    X = hard_rows(formula, q).astype(np.float32)
    ours = scores_of(ranker, q, X.astype(np.float64))
    np.testing.assert_allclose(predicted(model, X), ours, rtol=0, atol=1e-6)
