"""Tables of a cross-validation: means, folds, significance, and the chosen settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from directrix.errors import InputError
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import Significance, paired_t
from directrix.reports.report import PerQuery, Report
from directrix.tables import PValue, Table, Value, escaped_markdown


def against_first(result: CrossValidation) -> dict[tuple[str, str], Significance | None]:
    """Compare every other entry with the first by the paired t-test over queries.

    The tests are by entry and measure; None with fewer than two queries.
    """
    tests: dict[tuple[str, str], Significance | None] = {}
    first, *others = result.entries
    for entry in others:
        for measure in result.measures:
            try:
                tests[entry, measure] = paired_t(result.values(entry, measure), result.values(first, measure))
            except InputError:
                tests[entry, measure] = None
    return tests


def crossval_tables(result: CrossValidation, selection: str) -> tuple[Table, Table]:
    """Return the tables of the figures, and of the settings that the measure ``selection`` chose."""
    tests = against_first(result)
    first, several = result.entries[0], len(result.entries) > 1
    rows: list[tuple[Value, ...]] = []
    for entry in result.entries:
        for measure in result.measures:
            test = tests.get((entry, measure))
            p = (None if test is None else PValue(test.p),) if several else ()
            rows.append((entry, measure, result.mean(entry, measure), *result.folds_of(entry, measure), *p))
    notes = [
        "mean: over the folds of their means over test queries.",
        f"Settings chosen by {selection} on validation queries.",
        "Measured on the documents of the data: relevant ones without a row, as those that no run retrieved, "
        "do not count.",
    ]
    sizes = sorted({test.n for test in tests.values() if test is not None})
    if sizes:
        over = f"{sizes[0]} test queries" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} defined queries"
        notes.append(f"p: two-sided paired t-test against {first} over {over}, not adjusted.")
    figures = Table(
        f"Test queries, convention {result.convention}",
        ("method", "measure", "mean", *result.folds, *(("p",) if several else ())),
        tuple(rows),
        notes=tuple(notes),
        digits=4,
    )
    chosen = Table(
        "Settings that validation chose",
        ("method", *result.folds),
        tuple((entry, *map(settings_text, result.selected(entry))) for entry in result.entries),
    )
    return figures, chosen


def crossval_report(
    result: CrossValidation, selection: str, *, data: str, command: str, settings: Mapping[str, Any]
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
        tables=crossval_tables(result, selection),
        command=command,
        settings=settings,
        per_query=tuple(
            PerQuery(
                "test queries of all folds", name, ids, {e: result.values(e, name) for e in result.entries}
            )
            for name in result.measures
        ),
    )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Write settings in one line, "-" if there are none."""
    return " ".join(f"{name}={shown(value)}" for name, value in settings.items()) or "-"


def shown(value: object) -> str:
    """Write the value of a setting."""
    return f"{value:g}" if isinstance(value, float) else str(value)
