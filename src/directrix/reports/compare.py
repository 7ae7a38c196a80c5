"""The page of a comparison of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from directrix import __version__
from directrix.experiments.significance.comparisons import Comparisons
from directrix.reports.report import PerQuery, Report, Section
from directrix.tables import escaped_markdown
from directrix.types import Float64Array


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
        Section(measure, result.tables(measure, pairs=True)) for measure, result in results.items()
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
