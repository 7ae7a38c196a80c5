"""The page of an explanation."""

from __future__ import annotations

import numpy as np

from directrix import __version__
from directrix.errors import amount
from directrix.experiments.explanation.effects import Dependence
from directrix.experiments.explanation.explain import Explanation
from directrix.reports.plots import importance_figures
from directrix.reports.report import Curve, Figure, Panel, Report, Section
from directrix.tables import escaped_markdown

_PANELS = 3  # side by side in a figure


def explanation_report(
    explanation: Explanation, top: int, *, model: str, data: str, command: str, seed: int
) -> Report:
    """Return the page of an explanation of a model on some data, with these names."""
    found = explanation.importance
    titles = ["What the features are worth"]
    titles += ["How they move a document"] * bool(explanation.dependence)
    titles += ["Groups of queries"] * bool(explanation.groups)
    tables = explanation.tables(top)
    return Report(
        name="explanation",
        title=f"What {model} depends on",
        paper=escaped_markdown(
            f"{model} on {data}: {found.measure} {found.value:.4f} on "
            f"{amount(found.n_queries, 'queries')} with {amount(found.n_docs, 'documents')}."
        ),
        summary=(f"- {escaped_markdown(found.headline)}",),
        figures=_figures(explanation, top),
        command=command,
        settings={"measure": found.measure, "seed": seed, "directrix": __version__},
        sections=tuple(Section(title, (table,)) for title, table in zip(titles, tables, strict=True)),
    )


def _figures(explanation: Explanation, top: int) -> tuple[Figure, ...]:
    figures = importance_figures(explanation.importance, top)
    if not figures:
        return ()
    moves = explanation.dependence[:top]
    for first in range(0, len(moves), _PANELS):
        panels = tuple(_panel(one) for one in moves[first : first + _PANELS])
        names = ", ".join(one.feature for one in moves[first : first + _PANELS])
        title = f"Mean rank of a document, by the value of {names}; dashed: with its own value."
        alt = "rank against the value of a feature; the table has its ends"
        figures.append(Figure(f"ranks-{first // _PANELS + 1}", title, panels, alt))
    return tuple(figures)


def _panel(one: Dependence) -> Panel:
    ends = np.array([one.values[0], one.values[-1]])
    curves = (
        Curve("", one.values, one.rank),
        Curve("", one.values, one.rank, "points"),
        Curve("", ends, np.full(2, one.own_rank), "dashed"),
    )
    return Panel("", curves, one.feature, "mean rank, 1 is the top")
