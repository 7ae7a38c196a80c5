"""Figures: coefficients by parameter, the trade-off, measures by coefficient; and values by query."""

from __future__ import annotations

import numpy as np

from directrix.reports.report import Curve, Figure, Panel, PerQuery
from directrix.reproductions.collection import by_query
from directrix.reproductions.he2010.agreement import Agreement, Coefficients, TradeOff
from directrix.reproductions.he2010.coefficients import parameter
from directrix.reproductions.he2010.methods import MAP, NDCG, ONE_START
from directrix.reproductions.he2010.protocol import MEASURES, Results
from directrix.reproductions.paper import paper


def figures(results: Results) -> tuple[Figure, ...]:
    """Draw all figures."""
    collections = results.collections.items()
    panels = {
        "coefficients": [
            panel for name, one in collections for panel in _coefficients(name, one.coefficients)
        ],
        "trade-off": [_trade_off(name, one.trade_off) for name, one in collections],
        "agreement": [
            _agreement(name, agreement) for name, one in collections for agreement in one.agreements
        ],
    }
    return tuple(paper("he2010").figure(name, drawn) for name, drawn in panels.items())


def per_query(results: Results) -> tuple[PerQuery, ...]:
    """Show every measure of the same rankings."""
    return by_query(
        results.collections.values(),
        lambda compared: [entry for entry in compared.entries if entry != ONE_START],
        {measure: measure for measure in MEASURES},
    )


def _coefficients(name: str, coefficients: Coefficients) -> list[Panel]:
    panels = []
    for family, label, levels in (
        ("SoftRank", "sigma", ("DORM", "SVMndcg")),
        (MAP, "alpha", ("SVMmap", "PermuRank")),
        (NDCG, "alpha", ("DORM", "SVMndcg")),
    ):
        of = coefficients[family]
        x = np.array([parameter(surrogate) for surrogate in of])
        ends = np.array([x.min(), x.max()])
        dashed = [
            Curve(level, ends, np.full(2, float(coefficients["structural"][level].mean())), "dashed")
            for level in levels
        ]
        curve = Curve(family, x, np.array([float(values.mean()) for values in of.values()]))
        panels.append(Panel(f"{name}: {family}", (curve, *dashed), label, "eps*", x_scale="log"))
    return panels


def _trade_off(name: str, trade: TradeOff) -> Panel:
    curves = (
        Curve("restarts", trade.alphas, trade.many.mean(axis=1)),
        Curve("one start", trade.alphas, trade.one.mean(axis=1)),
    )
    return Panel(name, curves, "alpha", "MAP of the training queries", x_scale="log")


def _agreement(name: str, agreement: Agreement) -> Panel:
    by_method: dict[str, list[tuple[float, float]]] = {}
    for point in agreement.points:
        by_method.setdefault(point.name.partition(" ")[0], []).append((point.coefficient, point.test))
    curves = tuple(
        Curve(method, np.array([p[0] for p in points]), np.array([p[1] for p in points]), "points")
        for method, points in by_method.items()
    )
    shown = MEASURES[agreement.measure].name
    return Panel(f"{name}: {shown}", curves, "eps*", f"test {shown}")
