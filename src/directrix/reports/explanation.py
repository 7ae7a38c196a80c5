"""The page of an explanation."""

from __future__ import annotations

import numpy as np

from directrix import __version__
from directrix.errors import amount
from directrix.experiments.explanation.explain import Explanation
from directrix.reports.plots import importance_figures
from directrix.reports.report import Curve, Figure, Panel, Report, Section
from directrix.tables import escaped_markdown

# A figure has at most this number of panels, side by side.
_PANELS = 3


def explanation_report(
    explanation: Explanation, top: int, *, model: str, data: str, command: str, seed: int
) -> Report:
    """Return the page of an explanation of a model on some data, with these names."""
    importance = explanation.importance
    titles = ["What the features are worth"]
    titles += ["How they move a document"] * bool(explanation.dependence)
    titles += ["Groups of queries"] * bool(explanation.groups)
    tables = explanation.tables(top)
    return Report(
        name="explanation",
        title=f"What {model} depends on",
        paper=escaped_markdown(
            f"{model} on {data}: {importance.measure} {importance.value:.4f} on "
            f"{amount(importance.n_queries, 'queries')} with {amount(importance.n_docs, 'documents')}."
        ),
        summary=(f"- {escaped_markdown(importance.headline)}",),
        figures=_figures(explanation, top),
        command=command,
        settings={"measure": importance.measure, "seed": seed, "directrix": __version__},
        sections=tuple(Section(title, (table,)) for title, table in zip(titles, tables, strict=True)),
    )


def _figures(explanation: Explanation, top: int) -> tuple[Figure, ...]:
    figures = importance_figures(explanation.importance, top)
    if not figures:
        return ()
    moves = explanation.dependence[:top]
    for first in range(0, len(moves), _PANELS):
        panels = []
        for move in moves[first : first + _PANELS]:
            ends = np.array([move.values[0], move.values[-1]])
            # A line shows the trend, and points the values that were tried.
            curves = (
                Curve("", move.values, move.rank),
                Curve("", move.values, move.rank, "points"),
                Curve("", ends, np.full(2, move.own_rank), "dashed"),
            )
            panels.append(Panel("", curves, move.feature, "mean rank, 1 is the top"))
        names = ", ".join(panel.x_label for panel in panels)
        title = f"Mean rank of a document, by the value of {names}; dashed: with its own value."
        alt = "rank against the value of a feature; the table has its ends"
        figures.append(Figure(f"ranks-{first // _PANELS + 1}", title, tuple(panels), alt))
    return tuple(figures)
