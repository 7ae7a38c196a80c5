"""The page of ``directrix demo``: its table, and the queries behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directrix.data.queries import Queries
from directrix.experiments.crossval import top_of
from directrix.reports.html import html
from directrix.reports.rankings import shown_rankings
from directrix.reports.report import PerQuery, Report, Section
from directrix.tables import PValue, Table, Value, escaped_markdown, stars
from directrix.types import Float64Array, FloatArray

_TOP = 10  # documents that are shown of a ranking


def demo_page(
    rows: Sequence[Mapping[str, Any]],
    test: Queries,
    scores: Mapping[str, FloatArray],
    values: Mapping[str, Mapping[str, Float64Array]],
    remarks: Sequence[str],
) -> str:
    """Return the demo as one HTML file.

    A row has ``method``, means by measure, ``seconds``, and ``difference`` and ``p`` against the first;
    ``scores`` are by method, ``values`` of the test queries by method and measure.
    """
    table = Table(
        f"{test.n_queries} queries that took no part in training",
        (*rows[0], "stars"),
        tuple(map(_row, rows)),
        notes=(
            f"difference, p: to {rows[0]['method']}, two-sided paired t-test over queries. seconds: without "
            "the compilation of kernels, which are kept for the next run.",
        ),
    )
    rankings = {name: shown_rankings([test], top_of(each, test, _TOP)) for name, each in scores.items()}
    parts = tuple(
        PerQuery(
            "test queries",
            measure,
            tuple(map(str, test.query_ids)),
            {name: by_measure[measure] for name, by_measure in values.items()},
            rankings,
        )
        for measure in next(iter(values.values()))
    )
    report = Report(
        name="demo",
        title="directrix demo",
        paper="Several methods on built-in data, compared query by query.",
        summary=tuple(f"- {escaped_markdown(text)}" for text in remarks),
        sections=(Section("Tables", (table,)),),
        command="directrix demo",
        per_query=parts,
    )
    return html(report, {})


def _row(row: Mapping[str, Any]) -> tuple[Value, ...]:
    p = row["p"]
    return (*({**row, "p": None if p is None else PValue(p)}).values(), "" if p is None else stars(p))
