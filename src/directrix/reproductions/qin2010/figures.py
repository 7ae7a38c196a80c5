"""Figures 1 to 5, and values by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from directrix.reports.report import Curve, Figure, Panel, PerQuery
from directrix.reproductions.collection import by_query
from directrix.reproductions.paper import paper
from directrix.reproductions.qin2010.curves import FIGURES, ErrorCurve
from directrix.reproductions.qin2010.methods import MAP, NDCG_10, PUBLISHED_METHODS, ndcg_at
from directrix.reproductions.qin2010.protocol import CollectionResults, Results

_PAPER = paper("qin2010")
_DRAWN = 0.2  # a bound is drawn in the epochs in which it covers this share of the queries


def figures(results: Results) -> tuple[Figure, ...]:
    """Draw Figures 1 to 3 of every collection, 4 and 5 of OHSUMED."""
    collections = results.collections
    drawn = [_errors(name, one.curves) for name, one in collections.items()]
    if "OHSUMED" in collections:
        drawn += [
            _ndcg(collections["OHSUMED"], 4, ("SoftRank", "AdaRank.NDCG", "ApproxNDCG")),
            _ndcg(collections["OHSUMED"], 5, ("ApproxAP", "ApproxNDCG")),
        ]
    return tuple(drawn)


def per_query(results: Results) -> tuple[PerQuery, ...]:
    """Show AP and NDCG@10 of the paper's methods on every test query, with the first documents."""
    return by_query(
        results.collections.values(),
        lambda compared: [method for method in PUBLISHED_METHODS if method in compared.entries],
        {MAP: "AP", NDCG_10: "NDCG@10"},
    )


def _errors(name: str, curves: Mapping[str, Mapping[float, ErrorCurve]]) -> Figure:
    panels, has_bounds = [], False
    for number, figure in enumerate(FIGURES, 1):
        surrogate, _, parameter = figure.split()
        fixed = {"ApproxAP by alpha": ", beta = 10", "ApproxAP by beta": ", alpha = 100"}.get(figure, "")
        lines = []
        for value, curve in curves[figure].items():
            epochs = np.arange(1.0, len(curve.rho) + 1)
            lines.append(Curve(f"{parameter} = {value:g}", epochs, curve.rho))
        value, sharpest = list(curves[figure].items())[-1]
        bounded = sharpest.bounds["relevant"]
        bound = np.where(bounded.covered >= _DRAWN, bounded.bound, np.nan)
        if not np.isnan(bound).all():
            has_bounds = True
            share = f"{bounded.covered.mean():.0%} of queries"
            epochs = np.arange(1.0, len(bound) + 1)
            lines.append(Curve(f"bound, {parameter} = {value:g}, {share}", epochs, bound, "dashed"))
            lines.append(Curve("error of these", epochs, bounded.error, "points"))
        panels.append(
            Panel(f"Fig. {number}: {surrogate}{fixed}", tuple(lines), "epoch", "mean error", y_scale="log")
        )
    drawn = "; dashed, where it covers enough queries, the mean bound of the theorem" if has_bounds else ""
    return _PAPER.figure("errors", panels, name=name, file=name.lower(), bounds=drawn)


def _ndcg(results: CollectionResults, number: int, methods: Sequence[str]) -> Figure:
    cuts = np.arange(1.0, 11.0)
    lines = [
        Curve(method, cuts, np.array([results.compared.mean(method, ndcg_at(k).name) for k in range(1, 11)]))
        for method in methods
    ]
    panel = Panel("OHSUMED, means of the test folds", tuple(lines), "cut-off k", "NDCG@k")
    return _PAPER.figure("ndcg", [panel], number=number, methods=", ".join(methods))
