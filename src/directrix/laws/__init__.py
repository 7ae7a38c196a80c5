"""Laws that surrogates keep, bounds of their errors, and soft ranks."""

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["laws"])
