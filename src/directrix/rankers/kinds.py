"""The classes of rankers, told without importing them: listing methods needs no scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from directrix.rankers.base import Ranker

__all__ = ["RANKERS", "RankerKind"]


@dataclass(frozen=True)
class RankerKind:
    """A class of rankers: where it is, and what it takes.

    Parameters
    ----------
    module, name : str
        Where it is, below ``directrix.rankers``, and what it is called.
    settings : tuple of str
        Parameters of its constructor after the surrogate.
    needs : str, optional
        A package that must be there.
    """

    module: str
    name: str
    settings: tuple[str, ...]
    needs: str | None = None

    def load(self) -> type[Ranker]:
        """Import the class."""
        found: type[Ranker] = getattr(import_module(f"directrix.rankers.{self.module}"), self.name)
        return found

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is there."""
        return self.needs is None or find_spec(self.needs) is not None


_TRAINED = ("scale", "max_iter", "patience", "warm_start", "random_state")
RANKERS: Mapping[str, RankerKind] = {
    "linear": RankerKind("linear", "LinearRanker", ("trainer", "l2", "start", "center", *_TRAINED)),
    "mlp": RankerKind("mlp", "MLPRanker", ("trainer", "l2", "hidden", "activation", *_TRAINED)),
    "stumps": RankerKind("stumps", "StumpRanker", ("trainer", "l2", "thresholds", *_TRAINED)),
    "trees": RankerKind(
        "boosted",
        "BoostedRanker",
        (
            *("n_trees", "learning_rate", "num_leaves", "min_data_in_leaf", "l2", "subsample"),
            *("feature_fraction", "scale", "patience", "random_state"),
        ),
        needs="lightgbm",
    ),
}
"""The rankers, by the name of their model."""
