"""The trade-off of alpha and restarts, and whether tendency correlation predicts measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.reproductions.claims import training_by_fold
from directrix.reproductions.he2010.coefficients import STRUCTURAL
from directrix.reproductions.he2010.methods import MAP, NDCG, ONE_START
from directrix.types import Float64Array

Coefficients = Mapping[str, Mapping[str, Float64Array]]
"""eps* on training queries, of a family and a surrogate, by fold."""
_SMOOTH = {MAP: "alpha", NDCG: "alpha", "SoftRank": "sigma"}


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Training MAP of ApproxRank-MAP against alpha."""

    alphas: Float64Array  # (n_alphas,)
    # one, many: (n_alphas, n_folds): from one random start, and the best of several by the surrogate
    one: Float64Array
    many: Float64Array


def trade_off(compared: CrossValidation) -> TradeOff:
    """Return the training MAP of the candidates of a cross-validation."""

    def by_alpha(entry: str) -> Float64Array:
        return np.array([[one.train["AP"] for one in fold.tried] for fold in compared.results[entry]]).T

    first = compared.results[MAP][0].tried
    return TradeOff(np.array([one.settings["alpha"] for one in first]), by_alpha(ONE_START), by_alpha(MAP))


class Point(NamedTuple):
    """A surrogate with its parameters."""

    name: str  # "ApproxRank-MAP alpha=100"
    coefficient: float  # mean of eps* over the folds
    # train, test: mean over folds of the measure
    train: float
    test: float


class Agreement(NamedTuple):
    """Whether a stronger tendency correlation goes with a higher measure."""

    measure: str
    points: tuple[Point, ...]
    # kendall, spearman: dict of str to (float, float): for "train" and "test" queries the rank correlation of
    # minus eps* with the measure, and its two-sided p-value; NaN with fewer than three points, or if one side
    # is constant. The p-values take surrogates as independent, which one surrogate at several parameters is
    # not: they are too small.
    kendall: dict[str, tuple[float, float]]
    spearman: dict[str, tuple[float, float]]
    # dict of str to float64 (n_folds,): Kendall's tau for "train" and "test" in every fold, with eps* of its
    # training queries
    by_fold: dict[str, Float64Array]


def agreement(coefficients: Coefficients, compared: CrossValidation, measure: str) -> Agreement:
    """Correlate eps* with "AP", "nDCG@5" or "nDCG@10" over all surrogates of AP, or of nDCG.

    Smooth surrogates are there with each parameter that was trained; structural ones with the C that
    validation chose.
    """
    from scipy.stats import kendalltau, spearmanr

    names = (MAP, "SVMmap", "PermuRank") if measure == "AP" else (NDCG, "SoftRank", "SVMndcg", "DORM")
    folds = [row for name in names for row in _by_fold(coefficients, compared, name, measure)]
    points = tuple(Point(name, *(float(values.mean()) for values in of)) for name, *of in folds)

    def correlated(test: Any, strength: Any, values: Any) -> tuple[float, float]:
        usable = len(points) > 2 and len(set(strength)) > 1 and len(set(values)) > 1
        tau, p = test(strength, values) if usable else (np.nan, np.nan)
        return float(tau), float(p)

    strength = [-point.coefficient for point in points]
    sides = {"train": [p.train for p in points], "test": [p.test for p in points]}
    kendall, spearman = (
        {side: correlated(test, strength, values) for side, values in sides.items()}
        for test in (kendalltau, spearmanr)
    )
    by_fold = {
        side: np.array(
            [
                correlated(kendalltau, [-row[1][i] for row in folds], [row[at][i] for row in folds])[0]
                for i in range(len(compared.folds))
            ]
        )
        for at, side in ((2, "train"), (3, "test"))
    }
    return Agreement(measure, points, kendall, spearman, by_fold)


def _by_fold(
    coefficients: Coefficients, compared: CrossValidation, name: str, measure: str
) -> list[tuple[str, Float64Array, Float64Array, Float64Array]]:
    """Return surrogates with eps* and the measure on training and on test queries, by fold."""
    if name in STRUCTURAL:
        train, test = training_by_fold(compared, name, measure), np.array(compared.folds_of(name, measure))
        return [(name, coefficients["structural"][name], train, test)]
    parameter, rows = _SMOOTH[name], []
    for candidates in zip(*(fold.tried for fold in compared.results[name]), strict=True):
        label = f"{parameter}={candidates[0].settings[parameter]:g}"
        train, test = (
            np.array([getattr(one, part)[measure] for one in candidates]) for part in ("train", "test")
        )
        rows.append((f"{name} {label}", coefficients[name][label], train, test))
    return rows
