"""Surrogates as objectives, and measures as metrics, of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from directrix.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__, {}, ("catboost", "lightgbm", "xgboost"))
