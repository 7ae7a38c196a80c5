"""The parts of scikit-learn that rankers use; the stub has their types, which scikit-learn lacks."""

from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context

__all__ = ["BaseEstimator", "fit_context"]
