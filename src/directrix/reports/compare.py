"""The pages of a comparison of systems, and of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directrix import __version__
from directrix.experiments.crossval_result import CrossValidation
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

    ``results`` are by measure, ``values`` by measure and system; ``remarks`` are sentences of plain text.
    """
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
        command=command,
        settings={
            **{name: getattr(one, name) for name in ("test", "correction", "against", "alpha", "seed")},
            "convention": convention,
            "directrix": __version__,
        },
        per_query=tuple(PerQuery(data, measure, ids, by_system) for measure, by_system in values.items()),
        sections=tuple(
            Section(measure, result.tables(measure, pairs=True)) for measure, result in results.items()
        ),
    )


def crossval_report(
    result: CrossValidation, *, data: str, command: str, settings: Mapping[str, Any]
) -> Report:
    """Return the page of a cross-validation: its tables, and every test query of every pair of methods."""
    measure, ids = result.measures[0], tuple(map(str, result.query_ids))
    best = max(result.entries, key=lambda entry: result.mean(entry, measure))
    text = f"{measure}: {best} is first with {result.mean(best, measure):.4f}, the mean over folds"
    return Report(
        name="crossval",
        title=f"{len(result.entries)} methods by {' and '.join(result.measures)}",
        paper=escaped_markdown(f"{', '.join(result.entries)}: trained on the folds of {data}."),
        summary=(f"- {escaped_markdown(text)}",),
        sections=(Section("Tables", result.tables()),),
        command=command,
        settings=settings,
        per_query=tuple(
            PerQuery(
                "test queries of all folds", name, ids, {e: result.values(e, name) for e in result.entries}
            )
            for name in result.measures
        ),
    )
