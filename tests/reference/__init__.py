"""Naive textbook loops that optimized code is compared with.

A module of references for surrogates lists them in ``REFERENCES``: name of the surrogate to `Reference`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any, NamedTuple

from directrix.registry import SURROGATES, load_class


class Reference(NamedTuple):
    """The loop that a surrogate is compared with, and the settings in which it is tested.

    Parameters
    ----------
    value : callable
        ``value(scores, labels, **fields)`` of one query, by plain loops, with all fields of the surrogate.
    settings : list of dict
        Fields that differ from their defaults; the laws are tested in these settings too.
    largest : int
        Documents of the largest query that the loops can take.
    """

    value: Callable[..., float]
    settings: list[dict[str, Any]]
    largest: int = 12

    def of(self, surrogate: Any, scores: Any, labels: Any) -> float:
        """Value of one query for the settings of a surrogate."""
        given = {field.name: getattr(surrogate, field.name) for field in fields(surrogate)}
        return self.value(scores, labels, **given)


def references() -> dict[str, Reference]:
    """Name of every surrogate of the registry to its reference.

    Raises
    ------
    LookupError
        If a surrogate has none.
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    known: dict[str, Reference] = {}
    for module in modules:
        known |= getattr(module, "REFERENCES", {})
    missing = [name for name in SURROGATES if name not in known]
    if missing:
        raise LookupError(
            f"no naive reference for {', '.join(missing)}: write the equation as a plain loop in a module of "
            "tests/reference, and list it there: "
            f'REFERENCES = {{"{missing[0]}": Reference(loop, settings=[{{}}])}}'
        )
    return {name: known[name] for name in SURROGATES}


def cases() -> list[Any]:
    """Every surrogate of the registry in every setting of its reference."""
    return [
        load_class(SURROGATES, name)(**setting)
        for name, reference in references().items()
        for setting in reference.settings
    ]
