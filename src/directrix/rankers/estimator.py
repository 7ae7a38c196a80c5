"""The parts of scikit-learn that rankers use; their types, which it lacks, are in the stub."""

from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context

__all__ = ["BaseEstimator", "fit_context"]
