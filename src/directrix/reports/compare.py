"""Tables of a comparison of systems: means with letters or stars, and every pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from directrix import __version__
from directrix.experiments.significance.comparisons import Comparisons, Pair
from directrix.reports.report import PerQuery, Report, Section
from directrix.tables import PValue, Table, Value, escaped_markdown
from directrix.types import Float64Array

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


def comparison_tables(
    comparison: Comparisons, measure: str, *, pairs: bool | None = None
) -> tuple[Table, ...]:
    r"""Means of the systems, best first, and their pairs.

    Parameters
    ----------
    comparison : Comparisons
        Result of `directrix.experiments.significance.compare`.
    measure : str
        Its name, for the headings.
    pairs : bool, optional
        Whether to make the second table; default for up to 10 systems.

    Returns
    -------
    tuple of Table
        One or two.

    Examples
    --------
    >>> from directrix.experiments.significance import compare
    >>> result = compare({"A": [0.5, 0.7, 0.6, 0.8], "B": [0.4, 0.4, 0.4, 0.4]})
    >>> print(comparison_tables(result, "AP")[0].text().split("\n\n")[1])
    system      AP  letters
    ------  ------  -------
    A       0.6500  a
    B       0.4000  b
    """
    is_wanted = len(comparison.means) <= _MANY if pairs is None else pairs
    return (_systems(comparison, measure), *([_pairs(comparison, measure)] if is_wanted else []))


def comparison_report(
    results: Mapping[str, Comparisons],
    values: Mapping[str, Mapping[str, Float64Array]],
    query_ids: Sequence[object],
    *,
    data: str,
    convention: str,
    command: str,
    remarks: Sequence[str] = (),
) -> Report:
    """Return the page of a comparison: its tables, and every query of every pair.

    Parameters
    ----------
    results : mapping of str to Comparisons
        By the name of the measure.
    values : mapping of str to mapping of str to float64 (n_queries,)
        Values of each measure and system.
    query_ids : sequence of hashable
    data, convention, command : str
        Names of the data and the convention, and the command that writes the page.
    remarks : sequence of str
        Sentences for its beginning, plain text.
    """
    sections = tuple(
        Section(measure, comparison_tables(result, measure, pairs=True))
        for measure, result in results.items()
    )
    one = next(iter(results.values()))
    best = {measure: max(result.means, key=result.means.__getitem__) for measure, result in results.items()}
    first = [
        f"{measure}: {name} is first with {results[measure].means[name]:.4f}"
        for measure, name in best.items()
    ]
    ids = tuple(map(str, query_ids))
    return Report(
        name="compare",
        title=f"{len(one.means)} rankings by {' and '.join(results)}",
        paper=escaped_markdown(f"{', '.join(one.means)}: rankings of {data}, compared query by query."),
        summary=tuple(f"- {escaped_markdown(text)}" for text in (*remarks, *first)),
        tables=tuple(table for section in sections for table in section.tables),
        command=command,
        settings={
            **{name: getattr(one, name) for name in ("test", "correction", "against", "alpha", "seed")},
            "convention": convention,
            "directrix": __version__,
        },
        per_query=tuple(PerQuery(data, measure, ids, by_system) for measure, by_system in values.items()),
        sections=sections,
    )


def stars(p: float) -> str:
    """``*`` for p < .05, ``**`` for p < .01, ``***`` for p < .001."""
    return "*" * ((p < 0.05) + (p < 0.01) + (p < 0.001))


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
