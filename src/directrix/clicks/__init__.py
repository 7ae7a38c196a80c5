"""Logs of clicks: click models, position bias, simulated logs; interleaving of rankings.

A log shows which documents users saw for a query, at which positions, and which of them they clicked.
"""

from directrix.lazy import exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["clicks"])
