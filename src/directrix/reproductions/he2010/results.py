"""From cells and trainings to what the tables show: the trade-off, and whether tendency predicts measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.experiments.crossval import CrossValidation, Split
from directrix.experiments.he2010.coefficients import STRUCTURAL, Sweep
from directrix.experiments.he2010.methods import MAP, NDCG, ONE_START
from directrix.types import Float64Array

__all__ = ["Agreement", "Found", "Point", "TradeOff", "agreement", "found_of", "trade_off"]

_SMOOTH = {MAP: "alpha", NDCG: "alpha", "SoftRank": "sigma"}


@dataclass(frozen=True, eq=False)
class Found:
    """One collection.

    Parameters
    ----------
    name : str
    splits : tuple of Split
    coefficients : mapping of family to mapping of surrogate to float64 (n_folds,)
        eps* on the training queries, see `Sweep.families`.
    crossval : CrossValidation
        Of `entries`, all measures under the convention letor3.
    """

    name: str
    splits: tuple[Split, ...]
    coefficients: Mapping[str, Mapping[str, Float64Array]]
    crossval: CrossValidation


def found_of(
    name: str,
    splits: tuple[Split, ...],
    sweep: Sweep,
    cells: Mapping[tuple[str | int, ...], Any],
    crossval: CrossValidation,
) -> Found:
    """Put together what belongs to a collection; ``cells`` are those of `fold_cells`."""
    of = {key[2:4]: value for key, value in cells.items() if key[1] == name}
    coefficients = {
        family: {
            label: np.array([of[split.name, family][i]["coefficient"] for split in splits])
            for i, label in enumerate(surrogates)
        }
        for family, surrogates in sweep.families().items()
    }
    return Found(name, splits, coefficients, crossval)


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Training MAP of ApproxRank-MAP against alpha.

    Parameters
    ----------
    alphas : float64 (n_alphas,)
    one, many : float64 (n_alphas, n_folds)
        From one random start, and the best of several by the surrogate.
    """

    alphas: Float64Array
    one: Float64Array
    many: Float64Array


def trade_off(found: Found) -> TradeOff:
    """Read it off the candidates of the cross-validation."""

    def table(entry: str) -> Float64Array:
        folds = [found.crossval.candidates(entry, split.name) for split in found.splits]
        return np.array([[each.train["AP"] for each in fold] for fold in folds]).T

    first = found.crossval.candidates(MAP, found.splits[0].name)
    return TradeOff(np.array([each.settings["alpha"] for each in first]), table(ONE_START), table(MAP))


class Point(NamedTuple):
    """A surrogate with its parameters.

    Parameters
    ----------
    name : str
        "ApproxRank-MAP alpha=100".
    coefficient : float
        Mean of eps* over the folds.
    train, test : float
        Mean over folds of the measure.
    """

    name: str
    coefficient: float
    train: float
    test: float


class Agreement(NamedTuple):
    """Whether a stronger tendency correlation goes with a higher measure.

    Parameters
    ----------
    measure : str
    points : tuple of Point
    kendall, kendall_p, spearman, spearman_p : mapping of "train" and "test" to float
        Rank correlations of minus eps* with the measure, and two-sided p-values; NaN with fewer than three
        points, or if one side is constant. The p-values take surrogates as independent, which one at
        several parameters is not: they are too small.
    by_fold : mapping of "train" and "test" to float64 (n_folds,)
        Kendall's tau of every fold alone, eps* of its training queries.
    """

    measure: str
    points: tuple[Point, ...]
    kendall: dict[str, float]
    kendall_p: dict[str, float]
    spearman: dict[str, float]
    spearman_p: dict[str, float]
    by_fold: dict[str, Float64Array]


def agreement(found: Found, measure: str) -> Agreement:
    """Compare over all surrogates of AP, or of nDCG.

    Parameters
    ----------
    found : Found
    measure : str
        "AP", "nDCG@5" or "nDCG@10".

    Returns
    -------
    Agreement
        Smooth surrogates with each parameter that was trained; structural ones with the C that validation
        chose.
    """
    from scipy.stats import kendalltau, spearmanr

    names = (MAP, "SVMmap", "PermuRank") if measure == "AP" else (NDCG, "SoftRank", "SVMndcg", "DORM")
    folds = [each for name in names for each in _by_fold(found, name, measure)]
    points = tuple(Point(name, *(float(values.mean()) for values in of)) for name, *of in folds)

    def correlated(test: Any, strength: Any, values: Any) -> tuple[float, float]:
        usable = len(points) > 2 and len(set(strength)) > 1 and len(set(values)) > 1
        tau, p = test(strength, values) if usable else (np.nan, np.nan)
        return float(tau), float(p)

    strength = [-point.coefficient for point in points]
    sides = {"train": [p.train for p in points], "test": [p.test for p in points]}
    tests = [
        {side: correlated(test, strength, values) for side, values in sides.items()}
        for test in (kendalltau, spearmanr)
    ]
    kendall, kendall_p, spearman, spearman_p = (
        {side: pair[at] for side, pair in of.items()} for of in tests for at in (0, 1)
    )
    by_fold = {
        side: np.array(
            [
                correlated(kendalltau, [-of[1][i] for of in folds], [of[at][i] for of in folds])[0]
                for i in range(len(found.splits))
            ]
        )
        for at, side in ((2, "train"), (3, "test"))
    }
    return Agreement(measure, points, kendall, kendall_p, spearman, spearman_p, by_fold)


def _by_fold(
    found: Found, name: str, measure: str
) -> list[tuple[str, Float64Array, Float64Array, Float64Array]]:
    """Surrogate, and of every fold its eps*, and the measure on training and on test queries."""
    crossval = found.crossval
    if name in STRUCTURAL:
        chosen = [result.tried[result.chosen] for result in crossval.results[name]]
        train = np.array([each.train[measure] for each in chosen])
        test = np.array(crossval.folds_of(name, measure))
        return [(name, found.coefficients["structural"][name], train, test)]
    parameter, rows = _SMOOTH[name], []
    folds = [crossval.candidates(name, split.name) for split in found.splits]
    for each in zip(*folds, strict=True):
        label = f"{parameter}={each[0].settings[parameter]:g}"
        train, test = (np.array([getattr(c, part)[measure] for c in each]) for part in ("train", "test"))
        rows.append((f"{name} {label}", found.coefficients[name][label], train, test))
    return rows
