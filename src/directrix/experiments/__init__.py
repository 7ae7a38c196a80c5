"""Numbers from data, trainers and measures: cross-validation, significance, local optimality, tendency."""

from directrix.registry import NAMESPACES, exports

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["experiments"])
