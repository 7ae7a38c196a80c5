"""What rankers take from scikit-learn, which has no types: the stub beside this file has them."""

from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context

__all__ = ["BaseEstimator", "fit_context"]
