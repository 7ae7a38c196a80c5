"""The pages of a log of clicks."""

from __future__ import annotations

import numpy as np

from directrix import __version__
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
