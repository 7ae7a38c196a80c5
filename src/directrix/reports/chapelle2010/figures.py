"""Figures of the reproduction of Chapelle and Wu (2010)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from directrix.experiments.chapelle2010.paths import SmoothingPath
from directrix.experiments.chapelle2010.plan import Plan
from directrix.experiments.chapelle2010.results import Results
from directrix.experiments.chapelle2010.theory import Theory
from directrix.experiments.crossval import CrossValidation
from directrix.reports.chapelle2010.tables import LINEAR, rivals, title_of, truncations
from directrix.reports.report import Curve, Figure, Panel

__all__ = ["figures_of"]

_CUTS = (1, 3, 5, 10)
_LINES = 6


def figures_of(found: Results, plan: Plan) -> tuple[Figure, ...]:
    """All figures, in the order of the paper."""
    return (
        _annealing(found, plan),
        _error(found.theory),
        *(figure for name, each in found.compared.items() for figure in _compared(name, each)),
        _cut_offs(found.compared[found.first]),
    )


def _annealing(found: Results, plan: Plan) -> Figure:
    panels = []
    for what in ("training", "test"):
        curves = []
        for l2 in plan.path_l2:
            path = found.paths[SmoothingPath(plan.sigma_first, plan.sigma_last, l2, plan.iterations)]
            means = path.train.mean(axis=0) if what == "training" else path.test.mean(axis=1)
            curves.append(Curve(f"lambda = {l2:g}", path.sigmas, means[1:]))
        panels.append(
            Panel(
                f"{what} queries", tuple(curves), "sigma, halved from right to left", "nDCG@50", x_scale="log"
            )
        )
    return Figure(
        "annealing",
        f"Figure 2: nDCG while sigma is halved, {found.first}",
        tuple(panels),
        "Curves of nDCG@50 against sigma: on training queries they rise towards small sigma, on test queries "
        "they are flat or fall there.",
    )


def _error(found: Theory) -> Figure:
    steps = np.array(found.steps)
    curves = (
        Curve("mean error of 20 lists", steps, np.array(found.errors)),
        Curve("bound", steps, np.array(found.bounds), "dashed"),
    )
    panel = Panel("error of SmoothNDCG", curves, "gap^2 / sigma", "|SmoothNDCG - nDCG|", y_scale="log")
    alt = "Two falling straight lines on a logarithmic scale, the bound above the error."
    return Figure("error", "Section 5.1: the error as sigma goes to 0", (panel,), alt)


def _compared(name: str, found: CrossValidation) -> Iterator[Figure]:
    """SmoothNDCG with six rivals at a time: more lines cannot be told apart."""
    ranks, others = np.arange(1.0, 11.0), rivals(found)
    for part, first in enumerate(range(0, len(others), _LINES), start=1):
        curves = tuple(
            Curve(entry, ranks, np.array([found.mean(entry, f"nDCG@{k}") for k in range(1, 11)]))
            for entry in (LINEAR, *others[first : first + _LINES])
        )
        best = max(curves, key=lambda curve: float(curve.y.mean())).label
        yield Figure(
            f"methods-{name.lower()}-{part}",
            f"{title_of(name)}: nDCG@k, part {part}",
            (Panel(name, curves, "k", "nDCG@k of the test queries"),),
            f"Curves of nDCG@k against k for {len(curves)} methods; on average {best} is highest.",
        )


def _cut_offs(found: CrossValidation) -> Figure:
    entries = {k: entry for k, entry in truncations(found).items() if k != "all"}
    at = np.array([float(k) for k in entries])
    curves = tuple(
        Curve(f"nDCG@{k}", at, np.array([found.mean(entry, f"nDCG@{k}") for entry in entries.values()]))
        for k in _CUTS
    )
    panel = Panel("cut-off in training", curves, "k in training", "test queries", x_scale="log")
    alt = "Four curves, of test nDCG@1, 3, 5 and 10, against the cut-off that was trained with."
    return Figure("cut-offs", "Table 3: the cut-off in training", (panel,), alt)
