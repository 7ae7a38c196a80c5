"""Fitted rankers in the formats of other programs.

The package can be called: ``directrix.export(ranker, path, to="onnx")``, see `verification.export`.
"""

from __future__ import annotations

from directrix.lazy import callable_package, exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["export"])
callable_package(__name__)
