"""The result of a comparison of systems: every pair, and letters for all systems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.tables import PValue, Table, Value, json_value, stars

_TESTS = {
    "paired-t": "two-sided paired t-test",
    "wilcoxon": "two-tailed Wilcoxon signed-rank test",
    "sign": "two-sided sign test",
    "randomization": "Fisher's randomization test, two-sided",
    "tukey": "Tukey's HSD, two-way (systems and queries)",
    "randomized-tukey": "randomized Tukey's HSD",
}
_CORRECTIONS = {
    "holm": "p adjusted by Holm",
    "bonferroni": "p adjusted by Bonferroni",
    "benjamini-hochberg": "p adjusted by Benjamini and Hochberg",
    "tukey": "p for all pairs together",
}
_INTERVALS = {
    "t": "of Student's t, for each pair alone",
    "bootstrap": "by the BCa bootstrap, for each pair alone",
    "tukey": "of Tukey, for all pairs together",
}
_MANY = 10  # systems; with more, the table of all pairs is too long for a screen


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

    def tables(self, measure: str, *, pairs: bool | None = None) -> tuple[Table, ...]:
        r"""Return the means of the systems, best first, and the differences of their pairs.

        Parameters
        ----------
        measure : str
            Its name, for the headings.
        pairs : bool, optional
            Whether to make the second table; default for up to 10 systems.

        Examples
        --------
        >>> from directrix.experiments.significance import compare
        >>> result = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.4, 0.4]})
        >>> print(result.tables("AP")[0].text().split("\n\n")[1])
        system      AP  letters
        ------  ------  -------
        A       0.6500  a
        B       0.4000  b
        """
        is_wanted = len(self.means) <= _MANY if pairs is None else pairs
        return (_systems(self, measure), *([_pairs(self, measure)] if is_wanted else []))


def _systems(comparison: Comparisons, measure: str) -> Table:
    ordered = sorted(comparison.means, key=lambda name: -comparison.means[name])
    ranked = comparison.ranked
    is_partial = len(set(ranked.values())) > 1  # otherwise the title says how many queries there are
    rows: list[tuple[Value, ...]]
    if comparison.letters is not None:
        heads: tuple[str, ...] = ("system", measure, "letters")
        rows = [(name, comparison.means[name], comparison.letters[name]) for name in ordered]
        reading = f"Systems that share a letter do not differ at {comparison.alpha:g}: {_how(comparison)}."
    else:
        pair_of = {pair.first: pair for pair in comparison.pairs}
        heads = ("system", measure, f"minus {comparison.against}", "")
        rows = [
            (name, comparison.means[name], pair_of[name].difference, stars(pair_of[name].adjusted))
            if name in pair_of
            else (name, comparison.means[name], None, "")
            for name in ordered
        ]
        reading = f"* p < .05, ** p < .01, *** p < .001: {_how(comparison)}."
    if is_partial:
        heads = (heads[0], "queries", *heads[1:])
        rows = [(row[0], ranked[str(row[0])], *row[1:]) for row in rows]
    return Table(
        title=f"{measure} of {comparison.n_queries} {'query' if comparison.n_queries == 1 else 'queries'}",
        columns=heads,
        rows=tuple(rows),
        notes=(reading, *_unit(comparison), *_undefined(comparison), comparison.power_note),
        digits=4,
    )


def _pairs(comparison: Comparisons, measure: str) -> Table:
    confidence = f"{100 * (1 - comparison.alpha):g} %"
    return Table(
        title=f"Differences of {measure}",
        columns=("pair", "difference", f"{confidence} interval", "p", "adjusted", "W/T/L", "d"),
        rows=tuple(_row(pair) for pair in comparison.pairs),
        notes=(
            f"Intervals {_INTERVALS[comparison.interval]}. d: Cohen's d, the mean difference over the "
            "standard deviation of the differences. W/T/L: queries on which the first is higher, equal, "
            "lower.",
        ),
        digits=4,
    )


def _row(pair: Pair) -> tuple[Value, ...]:
    low, high = pair.interval
    is_finite = math.isfinite(low) and math.isfinite(high)
    return (
        f"{pair.first} - {pair.second}",
        pair.difference,
        f"[{low:.4f}, {high:.4f}]" if is_finite else None,
        PValue(pair.p),
        PValue(pair.adjusted),
        f"{pair.wins}/{pair.ties}/{pair.losses}",
        f"{pair.effect:.2f}" if math.isfinite(pair.effect) else None,
    )


def _how(comparison: Comparisons) -> str:
    adjusted = _CORRECTIONS.get(comparison.correction or "", "p not adjusted")
    if len(comparison.pairs) == 1 and comparison.correction != "tukey":
        return _TESTS[comparison.test]
    return f"{_TESTS[comparison.test]}, {adjusted} ({len(comparison.pairs)} pairs)"


def _unit(comparison: Comparisons) -> list[str]:
    return [f"Tests and differences are of {comparison.unit} by query."] if comparison.unit else []


def _undefined(comparison: Comparisons) -> list[str]:
    if not comparison.undefined:
        return []
    counts = ", ".join(f"{name} {count}" for name, count in comparison.undefined.items())
    where = "for all systems" if comparison.correction == "tukey" else "for the pair"
    return [f"Queries without a value: {counts}; a query counts where it is defined {where}."]
