"""Surrogates and measures in LightGBM, XGBoost and CatBoost; rankers in PyTerrier."""

from __future__ import annotations

from directrix.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__, {}, ("catboost", "lightgbm", "pyterrier", "xgboost"))
