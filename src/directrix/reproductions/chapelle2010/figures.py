"""All figures, and values by query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.reports.report import Curve, Figure, Panel, PerQuery
from directrix.reproductions.chapelle2010.methods import LINEAR, rivals, truncations
from directrix.reproductions.chapelle2010.protocol import Results, whole_path
from directrix.reproductions.chapelle2010.tables import title_of
from directrix.reproductions.chapelle2010.theory import Theory
from directrix.reproductions.collection import Compared, by_query
from directrix.reproductions.paper import paper

_PAPER = paper("chapelle2010")
_CUTS = (1, 3, 5, 10)
_LINES = 6


def figures(results: Results) -> tuple[Figure, ...]:
    """Draw all figures, in the order of the paper."""
    return (
        _annealing(results),
        _error(results.theory),
        *(figure for name, one in results.compared.items() for figure in _compared(name, one)),
        _cut_offs(results.compared[results.first]),
    )


def per_query(results: Results) -> tuple[PerQuery, ...]:
    """Show nDCG@10 of SmoothNDCG and its rivals on every test query, with the first documents."""
    return by_query(
        [Compared(results.collections[name], one) for name, one in results.compared.items()],
        lambda compared: (LINEAR, *rivals(compared)),
        {"nDCG@10": "nDCG@10"},
    )


def _annealing(results: Results) -> Figure:
    curves: dict[str, list[Curve]] = {"training": [], "test": []}
    for l2 in results.settings.path_l2:
        path = results.paths[replace(whole_path(results.settings), l2=l2)]
        for part, means in (("training", path.train.mean(axis=0)), ("test", path.test.mean(axis=1))):
            curves[part].append(Curve(f"lambda = {l2:g}", path.sigmas, means[1:]))
    panels = tuple(
        Panel(f"{part} queries", tuple(lines), "sigma, halved from right to left", "nDCG@50", x_scale="log")
        for part, lines in curves.items()
    )
    return _PAPER.figure("annealing", panels, name=results.first)


def _error(theory: Theory) -> Figure:
    steps = np.array(theory.steps)
    curves = (
        Curve("mean error of 20 lists", steps, np.array(theory.errors)),
        Curve("bound", steps, np.array(theory.bounds), "dashed"),
    )
    panel = Panel("error of SmoothNDCG", curves, "gap^2 / sigma", "|SmoothNDCG - nDCG|", y_scale="log")
    return _PAPER.figure("error", [panel])


def _compared(name: str, compared: CrossValidation) -> Iterator[Figure]:
    """Draw SmoothNDCG with six rivals at a time: more lines cannot be told apart."""
    ranks, others = np.arange(1.0, 11.0), rivals(compared)
    for part, first in enumerate(range(0, len(others), _LINES), start=1):
        curves = tuple(
            Curve(entry, ranks, np.array([compared.mean(entry, f"nDCG@{k}") for k in range(1, 11)]))
            for entry in (LINEAR, *others[first : first + _LINES])
        )
        best = max(curves, key=lambda curve: float(curve.y.mean())).label
        panel = Panel(name, curves, "k", "nDCG@k of the test queries")
        values = {"file": name.lower(), "place": title_of(name), "part": part, "n": len(curves), "best": best}
        yield _PAPER.figure("methods", [panel], **values)


def _cut_offs(compared: CrossValidation) -> Figure:
    entries = {k: entry for k, entry in truncations(compared).items() if k != "all"}
    at = np.array([float(k) for k in entries])
    curves = tuple(
        Curve(f"nDCG@{k}", at, np.array([compared.mean(entry, f"nDCG@{k}") for entry in entries.values()]))
        for k in _CUTS
    )
    panel = Panel("cut-off in training", curves, "k in training", "test queries", x_scale="log")
    return _PAPER.figure("cut-offs", [panel])
