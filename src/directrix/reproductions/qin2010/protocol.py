"""Settings of the experiments, the collections they run on, and everything that is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from directrix.experiments.cells import total_seconds
from directrix.experiments.crossval_result import CrossValidation
from directrix.reproductions.base import SeededSettings
from directrix.reproductions.collection import Collection, Compared, read_collections
from directrix.reproductions.qin2010.curves import ErrorCurve, Study, error_curves
from directrix.reproductions.qin2010.methods import OWN, Grids, entries, measures, surrogates_of_measures
from directrix.reproductions.runner import Runner

COLLECTIONS = {
    "TD2003": "the paper's, 50 queries",
    "TD2004": "the paper's, 75 queries",
    "OHSUMED": "the paper's, 106 queries; here in the edition of LETOR 3.0",
    "MQ2008": "not in the paper: it replaces TD2003 and TD2004",
}
"""Folders of ``letor/``, and what they are to the paper."""


@dataclass(frozen=True)
class Settings(SeededSettings):
    """What results depend on besides the data."""

    # seed: of the order of the queries in training
    grids: Grids = field(default_factory=Grids)  # of the trainings that are compared
    study: Study = field(default_factory=Study)  # of the errors of approximation
    n_folds: int | None = None  # number of folds of a quick run; None = all
    keep_top: int = 10  # number of documents to keep of every test query
    # collections on which the measures of Section 7 are studied; they double the time of a collection
    other_measures: tuple[str, ...] = ("OHSUMED",)


_FEW: dict[str, Mapping[str, Any]] = {
    "AdaRank.MAP": {"signs": (False,), "rounds": (50,)},
    "AdaRank.NDCG": {"signs": (False,), "rounds": (50,)},
    "SVMmap": {"C": (1.0, 100.0)},
    "SoftRank": {"sigma": (0.1,), "l2": (1e-4,), "max_iter": (30,)},
    "ListNet": {"temperature": (0.3,), "l2": (1e-4, 1e-2)},
    "RankSVM": {"l2": (1e-4, 1e-2), "max_iter": (100,)},
    "ApproxAP, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
    "ApproxNDCG, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
    "ListNet, query by query": {"temperature": (1.0,)},
}
QUICK = Settings(
    grids=Grids(40, 0.01, (10.0, 100.0), (10.0, 100.0), (10.0, 100.0, 300.0), _FEW),
    study=Study((10.0, 50.0, 100.0), (1.0, 10.0, 100.0), 40),
    n_folds=2,
)
"""Settings of a quick run."""


@dataclass(frozen=True, eq=False)
class CollectionResults(Compared):
    """Results on one collection: ``compared`` has all rows of the tables."""

    # mapping of figure and parameter to ErrorCurve: on the training queries of the first fold
    curves: Mapping[str, Mapping[float, ErrorCurve]]
    # of `surrogates_of_measures`, with the measures that they approximate; None if they are not studied here
    by_measure: CrossValidation | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """All results, by the name of the collection."""

    settings: Settings
    collections: Mapping[str, CollectionResults]
    seconds: float  # of all cells together


def read(data: Path, settings: Settings) -> dict[str, Collection]:
    """Read the collections that are there."""
    return read_collections(data, COLLECTIONS, settings.n_folds)


def run(collections: Mapping[str, Collection], settings: Settings, runner: Runner) -> Results:
    """Train for the curves and for the tables, on every collection."""
    train = {name: one.first.train for name, one in collections.items()}
    others = settings.other_measures
    curves = error_curves(train, settings.study, runner, seed=settings.seed, other_measures=others)
    results = {}
    for name, collection in collections.items():
        compared = runner.cross_validate(
            name,
            collection.splits,
            entries(settings.grids),
            measures(),
            seed=settings.seed,
            keep_top=settings.keep_top,
        )
        by_measure = None
        if name in others:
            by_measure = runner.cross_validate(
                f"{name}, other measures",
                collection.splits,
                surrogates_of_measures(settings.grids),
                list(OWN),
                seed=settings.seed,
            )
        results[name] = CollectionResults(collection, compared, curves[name], by_measure)
    return Results(settings, results, total_seconds(runner.path))


def seconds(results: Results) -> dict[str, float]:
    """Return the time that all trainings took on each collection."""
    times = {}
    for name, one in results.collections.items():
        # figures 1 and 2 share a curve
        curves = {id(curve): curve.seconds for by in one.curves.values() for curve in by.values()}
        others = one.by_measure
        times[name] = one.seconds + sum(curves.values())
        times[name] += 0.0 if others is None else sum(map(others.seconds, others.entries))
    return times
