"""From documents to a better list: an index, candidates, features of text."""

from directrix.lazy import exports
from directrix.registry import NAMESPACES

__getattr__, __dir__, __all__ = exports(__name__, NAMESPACES["text"])
