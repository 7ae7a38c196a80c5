"""Trainings that are compared on test queries: constructions of the forces, and measures to train for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.experiments.cells import Progress
from directrix.experiments.crossval import CrossValidation, Entry, cross_validate
from directrix.experiments.donmez2009.collection import Collection
from directrix.experiments.donmez2009.settings import CONSTRUCTIONS, MODELS, Settings
from directrix.experiments.measure_matching import Matching
from directrix.types import Float64Array

__all__ = ["Comparison", "Construction", "compare_collection"]

_METHODS = {"linear": "LambdaRank", "mlp": "LambdaRank-MLP"}
_USUAL = CONSTRUCTIONS[0]
_LEFT_OUT = "nDCG@10"  # of the constructions: the paper shows MAP and MRR, nDCG stands for the graded ones


@dataclass(frozen=True, eq=False)
class Construction:
    """One way to make forces, trained and tested for one measure; the two-layer net.

    Parameters
    ----------
    name : str
    measure : str
    valid : float
        Mean over the folds of the measure on the validation queries, at the rate that these choose.
    values : float64 (n_queries,)
        On the test queries of all folds.
    """

    name: str
    measure: str
    valid: float
    values: Float64Array

    @property
    def mean(self) -> float:
        """Of the test queries."""
        return float(np.nanmean(self.values))

    @property
    def error(self) -> float:
        """Standard error of that mean over queries."""
        there = self.values[~np.isnan(self.values)]
        return float(there.std(ddof=1) / np.sqrt(len(there)))


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was compared on one collection.

    Parameters
    ----------
    name : str
        Of the collection.
    measures : tuple of str
        nDCG, nDCG@10, AP and RR, as the collection has them.
    query_ids : tuple of str
        Test queries of all folds.
    constructions : dict of str to tuple of Construction
        For each measure, in the order of `CONSTRUCTIONS`.
    matchings : dict of str to Matching
        For "linear" and "mlp".
    rates : dict of str to tuple of float
        Rates that validation chose in each fold, for "mlp for nDCG" and so on.
    """

    name: str
    measures: tuple[str, ...]
    query_ids: tuple[str, ...]
    constructions: dict[str, tuple[Construction, ...]]
    matchings: dict[str, Matching]
    rates: dict[str, tuple[float, ...]]


def compare_collection(
    collection: Collection,
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Train everything that is compared on a collection, or what a file does not hold yet.

    Parameters
    ----------
    collection : Collection
    settings : Settings
    path, n_jobs, progress
        As for `directrix.experiments.crossval.cross_validate`.
    """
    found = cross_validate(
        collection.splits,
        entries(collection, settings),
        collection.measures,
        select=collection.measures[0],
        path=path,
        seed=settings.seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    measures = collection.measures
    return Comparison(
        name=collection.name,
        measures=measures,
        query_ids=tuple(map(str, found.query_ids)),
        constructions={
            measure: tuple(_construction(found, name, measure) for name in CONSTRUCTIONS)
            for measure in _compared(measures)
        },
        matchings={model: _matching(found, model, measures) for model in MODELS},
        rates={
            f"{model} for {measure}": tuple(
                one["learning_rate"] for one in found.selected(_row(model, measure, _USUAL))
            )
            for model in MODELS
            for measure in measures
        },
    )


def entries(collection: Collection, settings: Settings) -> list[Entry]:
    """Both nets for every measure with the usual forces, and the two-layer one with all others."""
    fewest = min(split.train.n_queries for split in collection.splits)
    fixed: dict[str, Any] = {"epochs": settings.epochs_of(fewest), "patience": settings.patience}
    grid = {"learning_rate": settings.rates}
    pairs = [(model, measure, _USUAL) for model in MODELS for measure in collection.measures]
    pairs += [
        ("mlp", measure, name) for measure in _compared(collection.measures) for name in CONSTRUCTIONS[1:]
    ]
    return [
        Entry(
            _row(model, measure, name),
            _METHODS[model],
            {
                **fixed,
                "construction": name,
                **({"hidden": (settings.hidden,)} if model == "mlp" else {}),
            },
            grid,
            measure,
        )
        for model, measure, name in pairs
    ]


def _compared(measures: Sequence[str]) -> list[str]:
    return [measure for measure in measures if measure != _LEFT_OUT]


def _row(model: str, measure: str, construction: str) -> str:
    return f"{model} for {measure}" + (f", {construction}" if construction != _USUAL else "")


def _construction(found: CrossValidation, name: str, measure: str) -> Construction:
    row = _row("mlp", measure, name)
    return Construction(name, measure, found.valid(row, measure), found.values(row, measure))


def _matching(found: CrossValidation, model: str, measures: Sequence[str]) -> Matching:
    values = {
        trained: {target: found.values(_row(model, trained, _USUAL), target) for target in measures}
        for trained in measures
    }
    return Matching(tuple(measures), tuple(measures), values)
