"""Base of surrogates whose gradient is a mean over rankings by noisy scores."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from directrix.parameters import whole
from directrix.surrogates.curvature import FilledCurvature
from directrix.surrogates.lambdas import RankwiseSurrogate
from directrix.surrogates.noise import RandomSurrogate


class NoisySurrogate(RandomSurrogate, FilledCurvature, RankwiseSurrogate):
    """Base of `YetiRank`, `PLRank` and `StochasticRank`: frozen dataclasses with these fields.

    Their noise belongs to ranks: they have the same forces for any order of the documents.
    """

    permutations: int

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        object.__setattr__(self, "permutations", whole(self.permutations, "permutations", owner))
        object.__setattr__(self, "draw", whole(self.draw, "draw", owner, least=0, example=0))

    def __repr__(self) -> str:
        names = [field.name for field in fields(cast("Any", self)) if field.name != "measure"]
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({self.measure.name!r}, {settings})"

    @property
    def traits(self) -> frozenset[str]:
        """random, and those of the base."""
        return super().traits | {"random"}
