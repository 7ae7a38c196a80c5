"""What must hold for surrogates, as functions: laws, bounds of errors, soft ranks."""

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["laws"])
