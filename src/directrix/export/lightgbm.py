"""LightGBM's own text."""

from __future__ import annotations

from directrix.export.formula import Formula
from directrix.export.target import ExportTarget, only_trees, version_of
from directrix.models.trees import lightgbm
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the text that ``lightgbm.Booster(model_file=...)`` reads."""
    return only_trees(formula, "LightGBM").to_lightgbm().encode()


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by LightGBM."""
    booster = lightgbm().Booster(model_str=content.decode())
    scores: Float64Array = booster.predict(X, raw_score=True, num_threads=1)
    return scores


TARGET = ExportTarget("LightGBM's text", _write, _read, version_of("lightgbm"))
