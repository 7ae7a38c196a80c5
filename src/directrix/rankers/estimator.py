"""The part of scikit-learn that rankers inherit; the stub has its types, which scikit-learn lacks."""

from sklearn.base import BaseEstimator

__all__ = ["BaseEstimator"]
