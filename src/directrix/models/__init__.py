"""Models: scores from features."""

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["models"])
