"""Exact measures, their conventions, and names.

The package can be called: ``directrix.measures()`` lists the measures, as ``directrix.methods()`` lists the
methods.
"""

from __future__ import annotations

import sys
from types import ModuleType

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["measures"])


class _Package(ModuleType):
    def __call__(self) -> tuple[str, ...]:
        from directrix.measures.names import measures

        return measures()


sys.modules[__name__].__class__ = _Package
