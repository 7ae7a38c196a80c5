"""directrix: learning to rank by optimizing the measure you report.

The public names are those of `directrix.registry`, loaded on first use, so that ``import directrix`` stays
fast; ``__init__.pyi`` lists them for type checkers.
"""

from directrix.lazy import exports
from directrix.registry import MODULES, NAMESPACES, PUBLIC

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = exports(__name__, PUBLIC, modules=(*NAMESPACES, *MODULES))
