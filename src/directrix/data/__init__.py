"""Queries, files, splits, scaling, synthetic data: everything before a score exists."""

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["data"])
