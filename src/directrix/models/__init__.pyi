"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.models.linear import LinearModel as LinearModel
from directrix.models.stumps import StumpModel as StumpModel
from directrix.models.stumps import quantile_thresholds as quantile_thresholds

__all__: list[str]
