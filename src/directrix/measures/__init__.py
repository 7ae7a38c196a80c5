"""Exact measures, their conventions, and names.

The package can be called: ``directrix.measures()`` lists the measures, as ``directrix.methods()`` lists the
methods.
"""

from __future__ import annotations

from directrix.lazy import callable_package, exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["measures"])
callable_package(__name__)
