"""The classes of rankers by the name of their model; a class is imported when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from directrix.registry import RANKERS, load_class


@dataclass(frozen=True)
class RankerKind:
    """A class of rankers that a model file can hold."""

    name: str  # in `directrix.registry.RANKERS`

    def load(self) -> type[Any]:
        """Import the class."""
        return load_class(RANKERS, self.name)

    @property
    def settings(self) -> tuple[str, ...]:
        """Parameters of its constructor after the surrogate; this imports the class and scikit-learn."""
        return tuple(inspect.signature(self.load()).parameters)[1:]


KINDS: Mapping[str, RankerKind] = {
    "linear": RankerKind("LinearRanker"),
    "mlp": RankerKind("MLPRanker"),
    "stumps": RankerKind("StumpRanker"),
    "trees": RankerKind("BoostedRanker"),
    "ensemble": RankerKind("EnsembleRanker"),
}
"""The rankers, by the name of their model in model files."""

MODELS = tuple(name for name in KINDS if name != "ensemble")
"""The models that a method trains: in methods, and in ``models=``."""
