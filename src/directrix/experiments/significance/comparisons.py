"""What a comparison of systems found: every pair, and letters for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError

__all__ = ["Comparisons", "Pair"]


@dataclass(frozen=True)
class Pair:
    """Two systems on the queries where both are defined.

    Parameters
    ----------
    first, second : str
        The systems.
    difference : float
        Mean of first minus second, in units of the measure.
    interval : (float, float)
        Of the difference, at confidence 1 - alpha.
    p, adjusted : float
        Two-sided p-value, and the same adjusted for the number of pairs.
    differs : bool
        Whether ``adjusted`` is below alpha.
    wins, ties, losses : int
        Queries on which the first is higher, level, lower.
    effect : float
        Cohen's d of the differences; see `effect_size`.
    detectable : float
        Mean difference that a paired t-test at level alpha would see in 4 of 5 such experiments.
    n : int
        Queries that count.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    p: float
    adjusted: float
    differs: bool
    wins: int
    ties: int
    losses: int
    effect: float
    detectable: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON; what is not finite is null."""
        return {name: _finite(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Comparisons:
    """What `compare` found.

    Parameters
    ----------
    test : str
        One of `TESTS`.
    correction : str or None
        How p-values are adjusted; "tukey" if the test itself does it, None = not at all.
    interval : {"t", "bootstrap", "tukey"}
        Kind of the intervals: Student's t and BCa bootstrap for each pair alone, Tukey's for all together.
    against : str or None
        The system that all others are compared with; None = all pairs.
    alpha : float
    seed : int
    n_queries : int
        As given.
    means : dict of str to float
        Of every system over the queries where it is defined, in the order given.
    undefined : dict of str to int
        Queries without a value, of the systems that have such.
    pairs : tuple of Pair
        In the order given; against one system, that one is second.
    letters : dict of str to str, or None
        Systems that share a letter do not differ; None against one system.
    """

    test: str
    correction: str | None
    interval: str
    against: str | None
    alpha: float
    seed: int
    n_queries: int
    means: dict[str, float]
    undefined: dict[str, int]
    pairs: tuple[Pair, ...]
    letters: dict[str, str] | None

    def pair(self, first: str, second: str) -> Pair:
        """The comparison of two systems, in the order in which ``pairs`` has it.

        Raises
        ------
        InputError
            If the two were not compared.
        """
        for found in self.pairs:
            if {found.first, found.second} == {first, second}:
                return found
        raise InputError(
            f"{first!r} and {second!r} were not compared; there are {', '.join(self.means)}"
            + (f", each against {self.against!r}." if self.against else ", all pairs of them.")
        )

    @property
    def power_note(self) -> str:
        """What so many queries could not show, a sentence."""
        sizes = [pair.detectable for pair in self.pairs if 0.0 < pair.detectable < np.inf]
        if not sizes:
            return "The differences do not scatter: how small a true one would go unseen cannot be told."
        kind = "a true difference below" if len(sizes) == 1 else "true differences below about"
        more = "" if len(sizes) == 1 else ", the median of the pairs; correction asks for more"
        return (
            f"With {max(pair.n for pair in self.pairs)} queries {kind} {np.median(sizes):.3g} would go "
            f"unseen more often than once in five (paired t-test, alpha = {self.alpha:g}{more})."
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON; what is not finite is null."""
        fixed = ("test", "correction", "interval", "against", "alpha", "seed", "n_queries")
        systems = [
            {
                "name": name,
                "mean": _finite(mean),
                "undefined": self.undefined.get(name, 0),
                "letters": None if self.letters is None else self.letters[name],
            }
            for name, mean in self.means.items()
        ]
        return {name: getattr(self, name) for name in fixed} | {
            "systems": systems,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "power": self.power_note,
        }


def _finite(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
