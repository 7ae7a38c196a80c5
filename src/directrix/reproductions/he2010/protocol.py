"""Settings of the experiments, the collections they run on, and everything that is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.experiments.cells import total_seconds
from directrix.experiments.crossval_result import CrossValidation
from directrix.reproductions.base import SeededSettings
from directrix.reproductions.collection import Collection, Compared, read_collections
from directrix.reproductions.he2010.agreement import Agreement, Coefficients, TradeOff, agreement, trade_off
from directrix.reproductions.he2010.coefficients import QUICK_SWEEP, Sweep, apart_cell, fold_cells
from directrix.reproductions.he2010.methods import QUICK_GRIDS, Grids, entries
from directrix.reproductions.he2010.theorems import weak_cell
from directrix.reproductions.runner import Cells, Runner
from directrix.types import Float64Array

COLLECTIONS = ("OHSUMED", "TD2003", "TD2004")
_KEPT = 10  # documents of a test query


class Shown(NamedTuple):
    """A measure in the paper."""

    name: str
    # training, test: numbers of its tables of training and of test queries
    training: int
    test: int


MEASURES = {"AP": Shown("MAP", 4, 7), "nDCG@5": Shown("NDCG@5", 5, 8), "nDCG@10": Shown("NDCG@10", 6, 9)}
"""Measures that are reported."""


@dataclass(frozen=True)
class Settings(SeededSettings):
    """What results depend on besides the data."""

    sweep: Sweep = field(default_factory=Sweep)  # of coefficients
    grids: Grids = field(default_factory=Grids)  # of training


QUICK = Settings(QUICK_SWEEP, QUICK_GRIDS)
"""Settings of a quick run."""


@dataclass(frozen=True, eq=False)
class CollectionResults(Compared):
    """Results on one collection: ``compared`` has `entries`, all measures under the convention letor3."""

    # mapping of family to mapping of surrogate to float64 (n_folds,): eps* on the training queries, see
    # `Sweep.families`
    coefficients: Coefficients
    # losses, monotone: the same for the losses of Theorem 1, and for eps* after the best non-decreasing
    # transformation; the latter has NaN for surrogates that are not `SHOWN`
    losses: Coefficients
    monotone: Coefficients
    trade_off: TradeOff
    agreements: tuple[Agreement, ...]  # one for each measure


@dataclass(frozen=True, eq=False)
class Results:
    """All results."""

    settings: Settings
    apart: Mapping[str, Any]  # of `directrix.reproductions.he2010.coefficients.apart`
    weak: Sequence[Mapping[str, Any]]  # of `directrix.reproductions.he2010.theorems.weak_tendencies`
    collections: Mapping[str, CollectionResults]
    seconds: float  # of all cells together


def read(data: Path, settings: Settings) -> dict[str, Collection]:
    """Read the collections that are there."""
    return read_collections(data, COLLECTIONS, settings.grids.folds)


def run(collections: Mapping[str, Collection], settings: Settings, runner: Runner) -> Results:
    """Compute all coefficients, then train and test all methods on every collection."""
    sweep, seed = settings.sweep, settings.seed
    apart = apart_cell(sweep, seed)
    folds = [cell for name, one in collections.items() for cell in fold_cells(name, one.splits, sweep, seed)]
    weak = weak_cell()
    cells = runner.cells("coefficients", [apart, weak, *folds])
    results = {}
    for name, collection in collections.items():
        compared = runner.cross_validate(
            name,
            collection.splits,
            entries(settings.grids, seed),
            list(MEASURES),
            select="AP",
            convention="letor3",
            seed=seed,
            keep_top=_KEPT,
        )
        found = (_by_fold(field, collection, sweep, cells) for field in ("coefficient", "loss", "monotone"))
        results[name] = results_of(collection, compared, *found)
    return Results(settings, cells[apart.key], cells[weak.key], results, total_seconds(runner.path))


def results_of(
    collection: Collection,
    compared: CrossValidation,
    coefficients: Coefficients,
    losses: Coefficients,
    monotone: Coefficients,
) -> CollectionResults:
    """Add the trade-off and the agreement to trainings and coefficients."""
    agreements = tuple(agreement(coefficients, compared, measure) for measure in MEASURES)
    return CollectionResults(
        collection, compared, coefficients, losses, monotone, trade_off(compared), agreements
    )


def _by_fold(
    name: str, collection: Collection, sweep: Sweep, cells: Cells
) -> dict[str, dict[str, Float64Array]]:
    """Return eps* or another entry of the cells by family, surrogate and fold; NaN where it is not there."""
    of = {key[2:4]: value for key, value in cells.items() if key[:2] == ("tendency", collection.name)}
    return {
        family: {
            label: np.array(
                [of[split.name, family][i][name] for split in collection.splits], dtype=np.float64
            )
            for i, label in enumerate(surrogates)
        }
        for family, surrogates in sweep.families().items()
    }


def seconds(results: Results) -> dict[str, float]:
    """Return the time that all trainings took."""
    return {"training": sum(one.seconds for one in results.collections.values())}
