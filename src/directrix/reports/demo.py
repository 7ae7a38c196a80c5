"""The page of the demonstration: the gains, the table, and the queries behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import MissingExtra
from directrix.experiments.crossval import top_of
from directrix.experiments.significance import t_interval
from directrix.reports.figures import need_plot
from directrix.reports.rankings import shown_rankings
from directrix.reports.report import Curve, Figure, Panel, PerQuery, Report, Section
from directrix.tables import PValue, Table, Value, escaped_markdown, stars
from directrix.types import Float64Array, FloatArray

# The page shows this number of documents of a ranking.
_TOP = 10
_CHECKS = (
    "Training maximizes a smooth function of the scores in place of the measure. Two checks of one method:"
)


def demo_report(
    rows: Sequence[Mapping[str, Any]],
    test: Queries,
    scores: Mapping[str, FloatArray],
    values: Mapping[str, Mapping[str, Float64Array]],
    remarks: Sequence[str],
) -> Report:
    """Return the page of the demo.

    A row has ``method``, means by measure, ``seconds``, and ``difference`` and ``p`` against the first; the
    last is the saved model. ``scores`` are by method; ``values``, of the test queries, are by method and
    measure.
    """
    measure = next(iter(values[rows[0]["method"]]))
    by_method = {name: np.asarray(by_measure[measure]) for name, by_measure in values.items()}
    gained = [_gain(by_method, measure)]
    figures: tuple[Figure, ...] = (_gains(by_method, measure),)
    try:
        need_plot()
    except MissingExtra as error:
        figures, gained = (), [*gained, escaped_markdown(str(error))]
    table = Table(
        f"{test.n_queries} queries that took no part in training",
        (*rows[0], "stars"),
        tuple(map(_row, rows)),
        notes=(
            f"difference, p: to {rows[0]['method']}, two-sided paired t-test over queries. seconds: without "
            "the compilation of kernels, which are kept for the next run.",
            remarks[0],
        ),
    )
    # The page compares its first two systems at the start: the saved model and the baseline.
    *others, saved = scores
    scores = {name: scores[name] for name in (saved, *others)}
    rankings = {
        name: shown_rankings([test], top_of(method_scores, test, _TOP))
        for name, method_scores in scores.items()
    }
    per_query = tuple(
        PerQuery(
            "test queries",
            measure,
            tuple(map(str, test.query_ids)),
            {name: values[name][measure] for name in scores},
            rankings,
        )
        for measure in next(iter(values.values()))
    )
    checks = tuple(f"- {escaped_markdown(text)}" for text in remarks[1:])
    return Report(
        name="demo",
        title="directrix demo",
        paper="Several methods on built-in synthetic data, compared query by query.",
        summary=(),
        sections=(
            Section("What was gained", text=tuple(gained), figures=figures),
            Section("All methods", (table,)),
            Section("How close training came", text=(_CHECKS, *checks)),
        ),
        command="directrix demo",
        per_query=per_query,
    )


def _gain(values: Mapping[str, Float64Array], measure: str) -> str:
    """Say how much better the last method is than the first."""
    (baseline, base), *_, (name, ours) = values.items()
    low, high = t_interval(ours, base)
    higher, lower = int((ours > base).sum()), int((ours < base).sum())
    return (
        f"**{ours.mean() - base.mean():+.3f} {escaped_markdown(measure)}** over {escaped_markdown(baseline)} "
        f"on {len(base)} test queries of synthetic data, 95 % interval [{low:+.3f}, {high:+.3f}]: "
        f"{escaped_markdown(name)}, the saved model, has {ours.mean():.3f}, {escaped_markdown(baseline)} "
        f"{base.mean():.3f}. It is higher on {higher} queries and lower on {lower}."
    )


def _gains(values: Mapping[str, Float64Array], measure: str) -> Figure:
    """Draw the difference of every method to the first, with its interval."""
    (baseline, base), *others = values.items()
    marks = []
    for _, ours in others:
        low, high = t_interval(ours, base)
        # NaN ends the line, so one curve draws all intervals without joining them.
        marks.append([low, ours.mean() - base.mean(), high, np.nan])
    places, means = np.arange(len(others), dtype=np.float64), np.array(marks)[:, 1]
    curves = (Curve("", places, means, "bars"), Curve("", np.repeat(places, 4), np.ravel(marks)))
    label = f"difference of {measure}"
    panel = Panel("", curves, "", label, x_names=tuple(name for name, _ in others))
    title = (
        f"Difference of {measure} to {baseline} on {len(base)} test queries of synthetic data: means (bars) "
        "and 95 % intervals (lines)."
    )
    return Figure("gain", title, (panel,), f"{label} to {baseline} by method; the table has the means")


def _row(row: Mapping[str, Any]) -> tuple[Value, ...]:
    p = row["p"]
    return (*({**row, "p": None if p is None else PValue(p)}).values(), "" if p is None else stars(p))
