"""Experiments with trainers and measures: cross-validation, significance, local optimality, tendency."""

from directrix.lazy import exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["experiments"])
