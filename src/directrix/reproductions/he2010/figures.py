"""The figures of He and Liu (2010): coefficients by parameter, the trade-off, measures by coefficient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from directrix.experiments.he2010.coefficients import STRUCTURAL
from directrix.experiments.he2010.methods import MAP, NDCG
from directrix.experiments.he2010.results import Agreement, Found, TradeOff
from directrix.reports.he2010.performance import PERFORMANCE
from directrix.reports.report import Curve, Figure, Panel

__all__ = ["figures"]


def figures(
    found: Sequence[Found], trades: Sequence[TradeOff], agreements: Sequence[tuple[str, Agreement]]
) -> tuple[Figure, ...]:
    """All figures."""
    return (
        Figure(
            "coefficients",
            "Tendency correlation over parameters (Tables 10 and 11), mean over folds; dashed: structural "
            "SVMs.",
            tuple(panel for one in found for panel in _coefficients(one)),
            "Lines of SoftRank and ApproxRank fall as they get sharper; dashed levels of SVMmap, "
            "PermuRank, SVMndcg "
            "and DORM stay high.",
        ),
        Figure(
            "trade-off",
            "Training MAP of ApproxRank-MAP against alpha, from one random start and with restarts (Sect. "
            "6.3).",
            tuple(_trade_off(one.name, trade) for one, trade in zip(found, trades, strict=True)),
            "Two lines over alpha; the one with restarts is above the other.",
        ),
        Figure(
            "agreement",
            "Test measure of each surrogate over its coefficient; not in the paper.",
            tuple(_agreement(name, each) for name, each in agreements),
            "A point a surrogate: coefficient to the right, measure upwards.",
        ),
    )


def _coefficients(one: Found) -> list[Panel]:
    panels = []
    for families, label, bounds in (
        (("SoftRank",), "sigma", ("SVMndcg", "DORM")),
        ((MAP,), "alpha", ("SVMmap", "PermuRank")),
        ((NDCG,), "alpha", ("SVMndcg", "DORM")),
    ):
        curves = []
        for family in families:
            of = one.coefficients[family]
            x = np.array([float(name.partition("=")[2]) for name in of])
            curves.append(Curve(family, x, np.array([float(v.mean()) for v in of.values()])))
            ends = np.array([x.min(), x.max()])
            curves += [
                Curve(name, ends, np.full(2, float(one.coefficients["structural"][name].mean())), "dashed")
                for name in STRUCTURAL
                if name in bounds
            ]
        panels.append(Panel(f"{one.name}: {families[0]}", tuple(curves), label, "eps*", x_scale="log"))
    return panels


def _trade_off(name: str, trade: TradeOff) -> Panel:
    curves = (
        Curve("restarts", trade.alphas, trade.many.mean(axis=1)),
        Curve("one start", trade.alphas, trade.one.mean(axis=1)),
    )
    return Panel(name, curves, "alpha", "MAP of the training queries", x_scale="log")


def _agreement(name: str, each: Agreement) -> Panel:
    by_method: dict[str, list[tuple[float, float]]] = {}
    for point in each.points:
        by_method.setdefault(point.name.partition(" ")[0], []).append((point.coefficient, point.test))
    curves = tuple(
        Curve(method, np.array([p[0] for p in points]), np.array([p[1] for p in points]), "points")
        for method, points in by_method.items()
    )
    shown = PERFORMANCE[each.measure][0]
    return Panel(f"{name}: {shown}", curves, "eps*", f"test {shown}")
