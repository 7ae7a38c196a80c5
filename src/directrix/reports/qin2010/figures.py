"""Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directrix.experiments.qin2010.curves import FIGURES, ErrorCurve
from directrix.experiments.qin2010.methods import MAP, NDCG_10, ndcg_at
from directrix.experiments.qin2010.protocol import Found
from directrix.reports.rankings import compared_by_query
from directrix.reports.report import Curve, Figure, Panel, PerQuery

__all__ = ["figures", "per_query"]

_DRAWN = 0.2
"""Bounds are drawn in epochs in which they cover so large a share of the queries."""

_MAIN = ("ApproxAP", "ApproxNDCG", "AdaRank.MAP", "AdaRank.NDCG", "SVMmap", "SoftRank")


def figures(found: Mapping[str, Found]) -> tuple[Figure, ...]:
    """Figures 1 to 3 of every collection, 4 and 5 of OHSUMED."""
    made = [_errors(name, each.curves) for name, each in found.items()]
    if "OHSUMED" in found:
        made += [
            _ndcg(found["OHSUMED"], 4, ("SoftRank", "AdaRank.NDCG", "ApproxNDCG")),
            _ndcg(found["OHSUMED"], 5, ("ApproxAP", "ApproxNDCG")),
        ]
    return tuple(made)


def per_query(found: Mapping[str, Found]) -> tuple[PerQuery, ...]:
    """AP and NDCG@10 of the paper's methods on every test query, with the first documents."""
    shown = {MAP: "AP", NDCG_10: "NDCG@10"}
    return tuple(
        part
        for each in found.values()
        for part in compared_by_query(
            each.collection.name,
            each.compared,
            each.collection.splits,
            [method for method in _MAIN if method in each.compared.entries],
            shown,
        )
    )


def _errors(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Figure:
    panels = []
    for number, figure in enumerate(FIGURES, 1):
        surrogate, _, parameter = figure.split()
        fixed = {"ApproxAP by alpha": ", beta = 10", "ApproxAP by beta": ", alpha = 100"}.get(figure, "")
        lines = []
        for value, curve in curves[figure].items():
            epochs = np.arange(1.0, len(curve.rho) + 1)
            lines.append(Curve(f"{parameter} = {value:g}", epochs, curve.rho))
        value, sharp = list(curves[figure].items())[-1]
        each = sharp.bounds["relevant"]
        bound = np.where(each.covered >= _DRAWN, each.bound, np.nan)
        if not np.isnan(bound).all():
            share = f"{each.covered.mean():.0%} of queries"
            epochs = np.arange(1.0, len(bound) + 1)
            lines.append(Curve(f"bound, {parameter} = {value:g}, {share}", epochs, bound, "dashed"))
            lines.append(Curve("error of these", epochs, each.error, "points"))
        panels.append(
            Panel(f"Fig. {number}: {surrogate}{fixed}", tuple(lines), "epoch", "mean error", y_scale="log")
        )
    return Figure(
        f"errors-{name.lower()}",
        f"Figures 1 to 3: error of approximation while training, {name}, fold 1",
        tuple(panels),
        "Mean error of the surrogate over the training queries against the epoch, on a logarithmic scale, "
        "one line for each value of the parameter; dashed, where it says something, the mean bound of the "
        "theorem.",
    )


def _ndcg(found: Found, number: int, methods: Sequence[str]) -> Figure:
    cuts = np.arange(1.0, 11.0)
    lines = [
        Curve(method, cuts, np.array([found.compared.mean(method, ndcg_at(k).name) for k in range(1, 11)]))
        for method in methods
    ]
    panel = Panel("OHSUMED, means of the test folds", tuple(lines), "cut-off k", "NDCG@k")
    return Figure(
        f"ndcg-figure-{number}",
        f"Figure {number}: ranking accuracy in terms of NDCG",
        (panel,),
        f"NDCG@1 to NDCG@10 of {', '.join(methods)} on OHSUMED, one line each.",
    )
