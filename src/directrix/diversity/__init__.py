"""Reranking for diversity, and for a group's share of exposure, as scores of the new order."""

from directrix.lazy import exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["diversity"])
