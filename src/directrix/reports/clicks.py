"""The pages of a log of clicks."""

from __future__ import annotations

import numpy as np

from directrix import __version__
from directrix.clicks.counterfactual import CounterfactualResult
from directrix.clicks.log import Log
from directrix.reports.report import Curve, Figure, Panel, Report, Section
from directrix.tables import escaped_markdown


def log_report(log: Log, *, data: str, command: str) -> Report:
    """Return the page of a log, with clicks by position; ``data`` is its name."""
    tables = log.tables()
    position, ctr = (
        np.array([float(row[tables[0].columns.index(name)]) for row in tables[0].rows])  # type: ignore[arg-type]
        for name in ("position", "CTR")
    )
    panel = Panel("", (Curve("", position, ctr),), "position", "clicks per impression")
    figure = Figure("ctr", "Clicks per impression by position.", (panel,), "the numbers of the table below")
    return Report(
        name="clicks",
        title=f"Clicks in {data}",
        paper=escaped_markdown(tables[0].title + "."),
        summary=(),
        figures=(figure,),
        command=command,
        settings={"directrix": __version__},
        sections=(Section("Positions", tables),),
    )


def counterfactual_report(result: CounterfactualResult, *, data: str, command: str) -> Report:
    """Return the page of estimates of rankers, with their intervals; ``data`` is the name of the log."""
    tables = result.tables()
    curves: list[Curve] = []
    for ranker in dict.fromkeys(one.ranker for one in result.estimates):
        mine = [one for one in result.estimates if one.ranker == ranker]
        place = np.arange(float(len(mine))) + 0.1 * len(curves)
        ends = np.array([(*one.interval, np.nan) for one in mine]).ravel()
        curves += [
            Curve(ranker, place, np.array([one.value for one in mine]), "points"),
            Curve("", np.repeat(place, 3), ends),
        ]
    names = tuple(dict.fromkeys(one.estimator for one in result.estimates))
    panel = Panel("", tuple(curves), "estimator", result.measure, x_names=names)
    what = f"{result.measure} by estimator, with {1 - result.alpha:.0%} intervals by queries."
    return Report(
        name="counterfactual",
        title=f"Rankers by the clicks in {data}",
        paper=escaped_markdown(tables[0].title + "."),
        summary=(),
        figures=(Figure("estimates", what, (panel,), "the numbers of the table below"),),
        command=command,
        settings={"directrix": __version__},
        sections=(Section("Estimates", tables),),
    )
