"""Comparison of several systems on the same queries: every pair, and letters for all systems."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.checks import as_floats
from directrix.data.frames import columns_of
from directrix.errors import Advice, InputError, amount, in_words
from directrix.experiments.significance.family import (
    Tukey,
    adjust,
    check_correction,
    letters,
    randomized_tukey,
    tukey,
)
from directrix.experiments.significance.pairs import (
    Significance,
    as_tested,
    bootstrap_interval,
    detectable,
    effect_size,
    gaps_of,
    paired_t,
    randomization_p,
    sign_test,
    signed_rank,
    t_interval,
)
from directrix.measures.bootstrap import check_resampling
from directrix.parameters import share
from directrix.tables import Latex, PValue, Table, Value, json_value, stars
from directrix.types import Float64Array

TESTS = {
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
# These tests adjust for the number of pairs themselves, so no correction is applied to their p-values.
_FAMILY = ("tukey", "randomized-tukey")
_OF_PAIR = {"paired-t": paired_t, "wilcoxon": signed_rank, "sign": sign_test}
_DRAWN = {"randomization": 100_000, "randomized-tukey": 10_000}
# With fewer queries than this, a t-test relies on normal differences and the result has a note.
_FOR_T = 30
# With more systems, the table of all pairs is too long for a screen.
_MANY = 10


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
        Confidence interval of the difference, at confidence 1 - alpha; (-inf, inf) where the differences tell
        none: all are the same, or they are too few.
    p, adjusted : float
        Two-sided p-value, without and with adjustment for the number of pairs.
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

    @property
    def interval_text(self) -> str:
        """The interval in brackets, or why there is none."""
        if math.isfinite(sum(self.interval)):
            return "interval [{:.4f}, {:.4f}]".format(*self.interval)
        why = "with the same difference" if self.detectable == math.inf else "too few for it"
        return f"interval unknown: {amount(self.n, 'queries')} {why}"

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
        Number of queries that each system has ranked; for `compare`, those with a value. At the
        command line, queries that a run lacks count with the value of an empty ranking.
    unit : str
        Unit of the values of single queries, and so of the differences, if ``means`` has another unit: "ln
        AP" for GMAP.

    Notes
    -----
    A query counts for a pair if both systems have a value; for Tukey's tests, if all systems have one.
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
        n = max(pair.n for pair in self.pairs)
        few = ""
        if n < _FOR_T and self.test == "paired-t":
            few = " The t-test of so few needs nearly normal differences; randomization does not."
        return (
            f"With {n} queries the test would miss {kind} {np.median(sizes):.3g} more than one time in five "
            f"(paired t-test, alpha = {self.alpha:g}{more}).{few}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; values that are not finite are None."""
        fixed = "test", "correction", "interval", "against", "alpha", "seed", "n_queries"
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
            Name of the measure, for the headings.
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

    def latex(self, measure: str) -> str:
        r"""Return a LaTeX table: the best mean in bold, letters or stars, and the test in the caption.

        It needs ``\usepackage{booktabs}``.

        Examples
        --------
        >>> from directrix.experiments.significance import compare
        >>> result = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.4, 0.4]}, against="B")
        >>> print(result.latex("P@5").split("\n")[7])
        A & \textbf{0.6500}\textsuperscript{*} \\
        """
        return paper_table({measure: self})


def paper_table(results: Mapping[str, Comparisons], what: str = "") -> str:
    """Return a LaTeX table of systems by measures, with the best means bold and the test in the caption.

    ``results`` compare the same systems by each measure, in the same way; ``what`` is the first sentence.
    """
    reference = next(iter(results.values()))
    rows: dict[str, list[Value]] = {name: [name] for name in reference.means}
    for result in results.values():
        marks = result.letters or {pair.first: stars(pair.adjusted) for pair in result.pairs}
        best = f"{np.nanmax([*result.means.values()]):.4f}"
        for name, mean in result.means.items():
            # Means that are equal as printed are all bold.
            text = rf"\textbf{{{best}}}" if f"{mean:.4f}" == best else f"{mean:.4f}"
            mark = marks.get(name)
            rows[name].append(Latex(text + (rf"\textsuperscript{{{mark}}}" if mark else "")))
    reading = f"* p < .05, ** p < .01, *** p < .001 for the difference from {reference.against}"
    if reference.letters is not None:
        reading = f"systems that share a letter do not differ at {reference.alpha:g}"
    # Pairs may have different numbers of queries, so the caption has their range.
    n = sorted({pair.n for result in results.values() for pair in result.pairs})
    queries = " to ".join(map(str, dict.fromkeys((n[0], n[-1]))))
    units = [text for result in results.values() for text in _unit(result)]
    what = what or f"{in_words(results)} of {reference.n_queries} queries."
    how = _how(reference, " for each measure" if len(results) > 1 else "")
    caption = f"{what} The best values are bold; {reading}: {how}, over {queries} queries."
    return Table(" ".join([caption, *units]), ("", *results), tuple(map(tuple, rows.values()))).latex()


def _systems(comparison: Comparisons, measure: str) -> Table:
    ordered = sorted(comparison.means, key=lambda name: -comparison.means[name])
    ranked = comparison.ranked
    # If all systems have the same number of queries, the title says it and no column is needed.
    is_partial = len(set(ranked.values())) > 1
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
    counts = ", ".join(f"{name} {count}" for name, count in comparison.undefined.items())
    where = "for all systems" if comparison.correction == "tukey" else "for the pair"
    undefined = f"Queries without a value: {counts}; a query counts where it is defined {where}."
    return Table(
        title=f"{measure} of {amount(comparison.n_queries, 'queries')}",
        columns=heads,
        rows=tuple(rows),
        notes=(reading, *_unit(comparison), *([undefined] if counts else []), comparison.power_note),
        digits=4,
    )


def _pairs(comparison: Comparisons, measure: str) -> Table:
    interval = f"{100 * (1 - comparison.alpha):g} % interval"
    return Table(
        title=f"Differences of {measure}",
        columns=("pair", "difference", interval, "p", "adjusted", "W/T/L", "d"),
        rows=tuple(map(_row, comparison.pairs)),
        notes=(
            f"Intervals {_INTERVALS[comparison.interval]}; - if all are equal, or too few. d: Cohen's "
            "d, the mean difference over their standard deviation. W/T/L: queries on which the first is "
            "higher, equal, lower.",
        ),
        digits=4,
    )


def _row(pair: Pair) -> tuple[Value, ...]:
    return (
        f"{pair.first} - {pair.second}",
        pair.difference,
        "[{:.4f}, {:.4f}]".format(*pair.interval) if math.isfinite(sum(pair.interval)) else None,
        PValue(pair.p),
        PValue(pair.adjusted),
        f"{pair.wins}/{pair.ties}/{pair.losses}",
        f"{pair.effect:.2f}" if math.isfinite(pair.effect) else None,
    )


def _how(comparison: Comparisons, of: str = "") -> str:
    adjusted = _CORRECTIONS.get(comparison.correction or "", "p not adjusted")
    # The p-value of a single pair is not adjusted, so the text does not mention adjustment.
    if len(comparison.pairs) == 1 and comparison.correction != "tukey":
        return TESTS[comparison.test]
    return f"{TESTS[comparison.test]}, {adjusted} ({len(comparison.pairs)} pairs{of})"


def _unit(comparison: Comparisons) -> list[str]:
    return [f"Tests and differences are of {comparison.unit} by query."] if comparison.unit else []


def compare(
    per_query: Mapping[str, Any],
    *,
    test: str = "paired-t",
    correction: str | None = "auto",
    against: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    n_resamples: int | None = None,
) -> Comparisons:
    """Compare systems by their values on the same queries.

    Parameters
    ----------
    per_query : mapping of str to float (n_queries,), or a frame with a column for each system
        Two systems or more, in the same order of queries; NaN = the measure is undefined there.
    test : str
        "paired-t", "wilcoxon" (signed ranks), "sign", "randomization" (Fisher), "tukey" or "randomized-tukey"
        (all pairs at once, adjusted for their number).
    correction : {"auto", "holm", "bonferroni", "benjamini-hochberg", None}
        Adjustment for the number of pairs. "auto" = Holm's; Tukey's tests have their own.
    against : str, optional
        Compare every system with this one only; not for Tukey's tests, which compare all pairs.
    alpha : float in (0, 1)
        Level; intervals have confidence 1 - alpha.
    seed : int >= 0
        Seed of the random numbers.
    n_resamples : int, optional
        Number of random signs or shuffles; default 100,000 signs, 10,000 shuffles.

    Raises
    ------
    InputError
        If there are fewer than two systems, their numbers of values differ, or an option is not known.

    Notes
    -----
    Cost: tests of m (m - 1) / 2 pairs, with 10,000 bootstrap samples each except for t and Tukey's tests.

    Examples
    --------
    >>> result = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.5, 0.4], "C": [0.4, 0.5, 0.4, 0.4]})
    >>> result.letters
    {'A': 'a', 'B': 'a', 'C': 'a'}
    >>> pair = result.pair("A", "B")
    >>> print(f"{pair.difference:.3f}, {pair.wins} wins, p {pair.p:.3f}, of three pairs {pair.adjusted:.3f}")
    0.225, 4 wins, p 0.058, of three pairs 0.115
    """
    table = _table(per_query)
    correction = checked_correction(test, correction, against)
    share(alpha, "alpha")
    n_resamples = _DRAWN.get(test, 1) if n_resamples is None else n_resamples
    check_resampling(seed, n_resamples)
    counted, family = _tested_together(test, table, alpha, seed, n_resamples)
    names = _pairs_of(counted, against, least=1 + (test == "paired-t"))
    values = [(counted[first], counted[second]) for first, second in names]
    p = _p_values(test, values, family, seed, n_resamples)
    adjusted = p if correction in (None, "tukey") else adjust(p, correction).tolist()
    interval = "tukey" if family is not None else "t" if test == "paired-t" else "bootstrap"
    pairs = tuple(
        _pair(two, *both, p[i], adjusted[i], alpha, _interval(interval, *both, alpha, seed, family))
        for i, (two, both) in enumerate(zip(names, values, strict=True))
    )
    means = {name: float(np.nanmean(system)) for name, system in table.items()}
    undefined = {name: int(np.isnan(system).sum()) for name, system in table.items()}
    n_queries = len(next(iter(table.values())))
    return Comparisons(
        test=test,
        correction=correction,
        interval=interval,
        against=against,
        alpha=alpha,
        seed=seed,
        n_queries=n_queries,
        means=means,
        undefined={name: count for name, count in undefined.items() if count},
        pairs=pairs,
        letters=None if against is not None else _letters(means, pairs),
        ranked={name: n_queries - count for name, count in undefined.items()},
    )


def _tested_together(
    test: str, table: dict[str, Float64Array], alpha: float, seed: int, n_resamples: int
) -> tuple[dict[str, Float64Array], Any]:
    """Values on queries where all systems have one, and Tukey's result; all values and None without it."""
    if test not in _FAMILY:
        return table, None
    columns = np.column_stack(list(table.values()))
    columns = columns[~np.isnan(columns).any(axis=1)]
    draws = {} if test == "tukey" else {"seed": seed, "n_resamples": n_resamples}
    family = (tukey if test == "tukey" else randomized_tukey)(columns, alpha=alpha, **draws)
    return dict(zip(table, columns.T, strict=True)), family


def _pair(
    names: tuple[str, str],
    a: Float64Array,
    b: Float64Array,
    p: float,
    adjusted: float,
    alpha: float,
    interval: tuple[float, float],
) -> Pair:
    return Pair(
        first=names[0],
        second=names[1],
        interval=interval,
        adjusted=adjusted,
        differs=adjusted < alpha,
        effect=effect_size(a, b),
        detectable=detectable(a, b, alpha=alpha),
        **Significance.of(p, gaps_of(a, b))._asdict(),
    )


def _p_values(
    test: str,
    values: Sequence[tuple[Float64Array, Float64Array]],
    family: Tukey | None,
    seed: int,
    n_resamples: int,
) -> list[float]:
    if family is not None:
        # The rows of the upper triangle have the order of all pairs.
        p: list[float] = family.p[np.triu_indices(len(family.p), 1)].tolist()
        return p
    if test == "randomization":
        return randomization_p([gaps_of(*two) for two in values], seed=seed, n_resamples=n_resamples)
    return [_OF_PAIR[test](*two).p for two in values]


def _interval(
    kind: str, a: Float64Array, b: Float64Array, alpha: float, seed: int, family: Tukey | None
) -> tuple[float, float]:
    if family is not None:
        gaps = gaps_of(a, b)
        return as_tested(gaps, gaps.mean() - family.least, gaps.mean() + family.least, 1.0 - alpha)
    if kind == "t":
        return t_interval(a, b, confidence=1.0 - alpha)
    return bootstrap_interval(a, b, confidence=1.0 - alpha, seed=seed)


def _table(per_query: Mapping[str, Any]) -> dict[str, Float64Array]:
    needed = 'two systems or more are needed, e.g. {"A": values_a, "B": values_b}, with one value per query'
    systems = columns_of(per_query, "per_query", needed)
    if len(systems) < 2:
        raise InputError(f"per_query has {amount(len(systems), 'systems')}; {needed}.")
    table = {}
    for name, values in systems.items():
        if isinstance(values, Mapping):
            raise InputError(f"{name} is a dict; give one measure: evaluate(..., per_query=True)['nDCG@10'].")
        table[str(name)] = as_floats(values, str(name), "one number per query").ravel()
    indexes = [values.index for values in systems.values() if hasattr(values, "reindex")]
    if any(not index.equals(indexes[0]) for index in indexes):
        raise InputError(
            "the series have different indexes, in their queries or the order of these; values are paired by "
            "position. Type b.reindex(a.index), or give arrays."
        )
    if len(set(map(len, table.values()))) > 1:
        shown = ", ".join(f"{name} {len(values)}" for name, values in table.items())
        raise InputError(
            f"the systems have different numbers of values ({shown}); one per query is needed, in the same "
            "order of queries. Give NaN where a system has no value."
        )
    for name, values in table.items():
        if np.isinf(values).any() or np.isnan(values).all():
            what = "is infinite for a query" if np.isinf(values).any() else "has no value for any query"
            raise InputError(f"system {name!r} {what}; finite values are needed, and NaN where undefined.")
    return table


def takes_all_pairs(test: str) -> bool:
    """Whether a test adjusts p for all pairs of systems by itself."""
    return test in _FAMILY


def checked_correction(test: str, correction: str | None, against: str | None) -> str | None:
    """Return the correction that is used with a test; `InputError` if an option is unknown or not allowed."""
    if test not in TESTS:
        near = difflib.get_close_matches(str(test), TESTS, n=1)
        raise InputError(
            f"test={test!r}: the tests are {', '.join(TESTS)}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    if correction == "none":
        correction = None
    if correction not in (None, "auto"):
        check_correction(correction)
    if test not in _FAMILY:
        return "holm" if correction == "auto" else correction
    if correction != "auto":
        raise InputError(
            f"test={test!r} already adjusts p-values for all pairs and takes no correction={correction!r}. "
            "Leave the correction out."
        )
    if against is not None:
        raise InputError(
            f"test={test!r} compares all pairs; it takes no against={against!r}.",
            Advice("all-pairs"),
        )
    return "tukey"


def _pairs_of(table: dict[str, Float64Array], against: str | None, *, least: int) -> list[tuple[str, str]]:
    """Return the names of the systems of each pair, which have enough queries in common."""
    if against is not None and against not in table:
        raise InputError(f"against={against!r} is not one of the systems; they are {', '.join(table)}.")
    pairs = list(itertools.combinations(table, 2))
    if against is not None:
        pairs = [(name, against) for name in table if name != against]
    for first, second in pairs:
        both = int((~np.isnan(table[first]) & ~np.isnan(table[second])).sum())
        if both < least:
            raise InputError(
                f"{first!r} and {second!r} both have a value for {amount(both, 'queries')}; "
                f"{least} or more are needed. Leave one of them out, or give the values of more queries."
            )
    return pairs


def _letters(means: dict[str, float], pairs: tuple[Pair, ...]) -> dict[str, str]:
    place = {name: i for i, name in enumerate(means)}
    differ = np.zeros((len(means), len(means)), dtype=bool)
    for pair in pairs:
        i, j = place[pair.first], place[pair.second]
        differ[i, j] = differ[j, i] = pair.differs
    return dict(zip(means, letters(list(means.values()), differ), strict=True))
