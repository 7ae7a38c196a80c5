"""Packages whose public names are loaded on first use, so that `import directrix` stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from directrix.registry import PUBLIC


def callable_package(package: str) -> None:
    """Make a package callable as the public function of its name."""

    class Package(ModuleType):
        def __call__(self, *args: Any, **settings: Any) -> Any:
            name = package.rpartition(".")[2]
            return getattr(import_module(f"directrix.{PUBLIC[name]}"), name)(*args, **settings)

    # Only a class can define `__call__`, so the module that exists gets another class.
    sys.modules[package].__class__ = Package


def exports(
    module: str, names: dict[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module whose names are loaded on first use.

    ``module`` is its ``__name__``; ``names`` maps a public name to the module that defines it, below
    ``directrix``; ``modules`` are attributes that need no import, and are not part of ``__all__``.
    """

    def load(name: str) -> Any:
        if name in modules:
            # The import itself sets the attribute, so the next access does not come here.
            return import_module(f"{module}.{name}")
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(f"directrix.{names[name]}"), name)
        # The value becomes an attribute of the module, so each name is loaded once.
        setattr(import_module(module), name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(import_module(module)), *names, *modules})

    return load, listed, sorted(names)
