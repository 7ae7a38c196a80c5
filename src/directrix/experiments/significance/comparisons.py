"""The result of a comparison of systems: every pair, and letters for all systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.tables import json_value
from directrix.types import Array


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
        Two-sided p-value, as it is and adjusted for the number of pairs.
    differs : bool
        Whether ``adjusted`` is below alpha.
    wins, ties, losses : int
        Number of queries on which the first is higher, equal, lower.
    effect : float
        Cohen's d of the differences; see `effect_size`.
    detectable : float
        Mean difference that a paired t-test at level alpha would detect in 4 of 5 experiments of this size.
    n : int
        Number of queries that count.
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
        """Return the result in JSON types; values that are not finite are None."""
        return dict(json_value(vars(self)))


@dataclass(frozen=True)
class Comparisons:
    """Result of `compare`.

    Parameters
    ----------
    test : str
        One of `TESTS`.
    correction : str or None
        Adjustment of p-values; "tukey" if the test does it itself, None = not adjusted.
    interval : {"t", "bootstrap", "tukey"}
        Kind of the intervals: Student's t or BCa bootstrap (each pair alone), Tukey's (all pairs together).
    against : str or None
        The system with which all others are compared; None = all pairs.
    alpha : float
    seed : int
    n_queries : int
        Number of queries as given.
    means : dict of str to float
        Mean of every system over the queries where it is defined, in the order given.
    undefined : dict of str to int
        Number of queries without a value, for the systems that have any.
    pairs : tuple of Pair
        In the order given; in comparisons against one system, that one is second.
    letters : dict of str to str, or None
        Systems that share a letter do not differ; None in comparisons against one system.
    ranked : dict of str to int
        Number of queries that each system has ranked; of `compare` those with a value. ``directrix compare``
        gives queries that a run lacks the value of an empty ranking, which counts.
    unit : str
        What the values of single queries are, and so the differences, where ``means`` are something else:
        "ln AP" for GMAP.

    Notes
    -----
    A query counts for a pair if both systems have a value, with Tukey's tests if all systems have one.
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
    ranked: dict[str, int]
    unit: str = ""

    def pair(self, first: str, second: str) -> Pair:
        """Return the comparison of two systems, in the order of ``pairs``.

        Raises
        ------
        InputError
            If the two were not compared.
        """
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second}:
                return pair
        raise InputError(
            f"{first!r} and {second!r} were not compared; the systems are {', '.join(self.means)}"
            + (f", each against {self.against!r}." if self.against else ", all pairs of them.")
        )

    @property
    def power_note(self) -> str:
        """A sentence on the differences that this number of queries could miss."""
        sizes = [pair.detectable for pair in self.pairs if 0.0 < pair.detectable < np.inf]
        if not sizes:
            return "The differences do not vary, so the smallest detectable difference is unknown."
        kind = "a true difference below" if len(sizes) == 1 else "true differences below about"
        more = "" if len(sizes) == 1 else ", median of the pairs; with a correction the limit is higher"
        return (
            f"With {max(pair.n for pair in self.pairs)} queries the test would miss {kind} "
            f"{np.median(sizes):.3g} more than one time in five (paired t-test, "
            f"alpha = {self.alpha:g}{more})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; values that are not finite are None."""
        fixed = ("test", "correction", "interval", "against", "alpha", "seed", "n_queries")
        systems = [
            {
                "name": name,
                "mean": json_value(mean),
                "undefined": self.undefined.get(name, 0),
                "ranked": self.ranked[name],
                "letters": None if self.letters is None else self.letters[name],
            }
            for name, mean in self.means.items()
        ]
        return {name: getattr(self, name) for name in fixed} | {
            "systems": systems,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "power": self.power_note,
            **({"unit": self.unit} if self.unit else {}),
        }


_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(means: Any, differ: Any) -> tuple[str, ...]:
    """Give every system letters so that two systems share one exactly if they do not differ.

    Parameters
    ----------
    means : float (n_systems,)
        They order the letters: "a" goes to the best system.
    differ : bool (n_systems, n_systems)
        Symmetric, False on the diagonal.

    Returns
    -------
    tuple of str
        In the order given. After 52 letters numbers in brackets are used.

    Notes
    -----
    A letter is a group of systems of which no two differ and to which none can be added. Groups are grown
    from pairs that share none yet, best systems first, and a group is dropped if the others cover its pairs.
    This gives few letters, not always the fewest, which are NP-hard to find. On the purpose, see Piepho
    (2004). Cost at most O(n^4) for n systems.

    Examples
    --------
    >>> between = [[False, False, True], [False, False, False], [True, False, False]]
    >>> letters([0.5, 0.45, 0.4], between)  # first and last differ, the middle one does not
    ('a', 'ab', 'b')
    """
    order = np.argsort(-np.asarray(means, dtype=np.float64), kind="stable")
    alike = ~np.asarray(differ, dtype=bool)[np.ix_(order, order)]
    groups = _needed(_groups(alike))
    marks = [""] * len(order)
    for number, group in enumerate(sorted(groups)):
        for position in group:
            marks[order[position]] += _ALPHABET[number] if number < len(_ALPHABET) else f"({number + 1})"
    return tuple(marks)


def _groups(alike: Array) -> list[tuple[int, ...]]:
    """Maximal groups that cover every system and every pair that does not differ."""
    n = len(alike)
    covered = np.zeros((n, n), dtype=bool)
    groups = []
    for i in range(n):
        for j in range(i, n):
            if covered[i, j] or not alike[i, j] or (i == j and alike[i].sum() > 1):
                continue
            group = sorted({i, j})
            for k in [*range(i, n), *range(i)]:  # near ones first
                if k not in group and alike[k, group].all():
                    group.append(k)
            covered[np.ix_(group, group)] = True
            groups.append(tuple(sorted(group)))
    return groups


def _needed(groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Groups without those whose pairs are all in other groups."""
    remaining = list(groups)
    for group in reversed(groups):
        rest = [set(other) for other in remaining if other != group]
        pairs = [{i, j} for i in group for j in group]
        if all(any(pair <= other for other in rest) for pair in pairs):
            remaining.remove(group)
    return remaining
