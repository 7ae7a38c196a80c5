"""The pages of a log of clicks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from directrix import __version__
from directrix.clicks.estimates import CounterfactualResult
from directrix.clicks.log import Log
from directrix.clicks.position_bias import Propensities
from directrix.reports.report import Curve, Figure, Panel, Report, Section
from directrix.tables import Table, escaped_markdown


def log_report(log: Log, *, data: str, command: str) -> Report:
    """Return the page of a log, with clicks by position; ``data`` is its name."""
    tables = log.tables()
    figure = Figure(
        "ctr",
        "Clicks per impression by position.",
        (_by_position(tables[0], "clicks per impression", "CTR"),),
        "the numbers of the table below",
    )
    return _report(f"Clicks in {data}", tables, (figure,), tables[0].title + ".", command)


def model_report(tables: Sequence[Table], *, model: str, data: str, command: str) -> Report:
    """Return the page of a click model: its parameters by position, and its perplexity, the last table."""
    figures = [
        Figure(
            name,
            f"{title} by position.",
            (_by_position(table, title.lower(), *table.columns[1:]),),
            "the numbers of the table below",
        )
        for name, title, table in zip(
            ("parameters", "perplexity"), ("Parameters", "Perplexity"), tables, strict=True
        )
    ]
    return _report(f"{model} of {data}", tables, tuple(figures), tables[0].title + ".", command)


def propensities_report(found: Propensities, *, data: str, command: str) -> Report:
    """Return the page of propensities, with their intervals as dashed lines."""
    position = np.arange(1.0, len(found.theta) + 1.0)
    curves = [Curve(found.method, position, found.theta)]
    curves += [
        Curve(label, position, ends, "dashed")
        for label, ends in zip(("95 % interval", ""), found.interval.T, strict=True)
    ]
    panel = Panel("", tuple(curves), "position", "propensity, relative to position 1")
    figure = Figure("propensities", "Propensities by position.", (panel,), "the numbers of the table below")
    tables = found.tables()
    return _report(f"Position bias in {data}", tables, (figure,), tables[0].title + ".", command)


def _by_position(table: Table, label: str, *columns: str) -> Panel:
    position = np.array([float(row[0] or 0) for row in table.rows])
    curves = []
    for name in columns:
        values = [row[table.columns.index(name)] for row in table.rows]
        curves.append(Curve(name if len(columns) > 1 else "", position, np.array(values, dtype=np.float64)))
    return Panel("", tuple(curves), "position", label)


def _report(
    title: str,
    tables: Sequence[Table],
    figures: tuple[Figure, ...],
    text: str,
    command: str,
    *,
    name: str = "clicks",
    heading: str = "Tables",
) -> Report:
    return Report(
        name=name,
        title=title,
        paper=escaped_markdown(text),
        summary=(),
        figures=figures,
        command=command,
        settings={"directrix": __version__},
        sections=(Section(heading, tuple(tables)),),
    )


def counterfactual_report(result: CounterfactualResult, *, data: str, command: str) -> Report:
    """Return the page of estimates of rankers, with their intervals; ``data`` is the name of the log."""
    tables = result.tables()
    curves: list[Curve] = []
    for ranker in dict.fromkeys(estimate.ranker for estimate in result.estimates):
        mine = [estimate for estimate in result.estimates if estimate.ranker == ranker]
        # The points of a ranker are shifted to the side, so that intervals do not hide each other.
        place = np.arange(float(len(mine))) + 0.1 * len(curves)
        # NaN ends a line, so one curve draws all intervals without joining them.
        ends = np.array([(*estimate.interval, np.nan) for estimate in mine]).ravel()
        curves += [
            Curve(ranker, place, np.array([estimate.value for estimate in mine]), "points"),
            Curve("", np.repeat(place, 3), ends),
        ]
    names = tuple(dict.fromkeys(estimate.estimator for estimate in result.estimates))
    panel = Panel("", tuple(curves), "estimator", result.measure, x_names=names)
    what = f"{result.measure} by estimator, with {1 - result.alpha:.0%} intervals by queries."
    figure = Figure("estimates", what, (panel,), "the numbers of the table below")
    title, text = f"Rankers by the clicks in {data}", tables[0].title + "."
    return _report(title, tables, (figure,), text, command, name="counterfactual", heading="Estimates")
