"""LightGBM's own text."""

from __future__ import annotations

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Formula
from directrix.export.target import ExportTarget, version_of
from directrix.models.trees import Trees, lightgbm
from directrix.types import Array, Float64Array

_EXPLAINED = 200
"""Rows whose contributions are verified: one takes as long as hundreds of scores."""
_TOLERANCE = 1e-9
_VERSION = version_of("lightgbm")


def _write(formula: Formula) -> bytes:
    """Return the text that ``lightgbm.Booster(model_file=...)`` reads."""
    text: str = formula.model.to_lightgbm()
    return text.encode()


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by LightGBM; contributions must add up to them."""
    booster = lightgbm().Booster(model_str=content.decode())
    scores: Float64Array = booster.predict(X, raw_score=True, num_threads=1)
    if booster.num_trees():
        shares = booster.predict(X[:_EXPLAINED], pred_contrib=True, num_threads=1)
        rest = np.abs(shares.sum(axis=1) - scores[:_EXPLAINED])
        if not (rest <= _TOLERANCE * np.abs(shares).sum(axis=1)).all():
            raise InputError(
                f"LightGBM's contributions (pred_contrib) miss the scores by up to {rest.max():.2g}; choose "
                "another target, e.g. --to python, and report this model."
            )
    return scores


TARGET = ExportTarget(
    "LightGBM's text",
    _write,
    _read,
    _VERSION and f"{_VERSION} (scores and contributions)",
    models=(Trees,),
    takes_categories=True,
    has_contributions=True,
)
