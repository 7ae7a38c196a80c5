"""Lists without repetition, and with a share of exposure for a group, as scores of a new order."""

from directrix.lazy import exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["diversity"])
