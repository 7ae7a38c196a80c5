"""Everything that is run, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.measure_matching import Matching
from directrix.reproductions.claims import Scored
from directrix.reproductions.donmez2009.certificates import certificate_cells
from directrix.reproductions.donmez2009.collection import MeasuredCollection
from directrix.reproductions.donmez2009.methods import entries, entry_name
from directrix.reproductions.donmez2009.pairs import PairCounts, Sized, pair_counts, sized
from directrix.reproductions.donmez2009.settings import CONSTRUCTIONS, MEASURES, Settings, short
from directrix.reproductions.donmez2009.training import size_cells, training_cells
from directrix.reproductions.runner import Cells, Runner

Key = tuple[str, str, str, str]
"""Kind of a certificate, collection, net and measure."""


@dataclass(frozen=True, eq=False)
class CollectionResults:
    """Trainings that are compared on the test queries of one collection."""

    collection: MeasuredCollection
    compared: CrossValidation  # of `entries`

    def constructions(self, measure: str) -> list[Scored]:
        """Return the two-layer nets of all constructions, trained for a measure and tested on it."""
        name = self.collection.measures[measure]
        values = {
            construction: self.compared.values(entry_name("mlp", name, construction), name)
            for construction in CONSTRUCTIONS
        }
        return [Scored(construction, of, float(np.nanmean(of))) for construction, of in values.items()]

    def valid(self, measure: str, construction: str) -> float:
        """Return the validation value of one of `constructions`."""
        name = self.collection.measures[measure]
        return self.compared.valid(entry_name("mlp", name, construction), name)

    def matching(self, model: str) -> Matching:
        """Return the trainings of a net for every measure, tested on all of them."""
        names = self.collection.measures
        values = {
            trained: {
                target: self.compared.values(entry_name(model, names[trained]), names[target])
                for target in MEASURES
            }
            for trained in MEASURES
        }
        return Matching(MEASURES, MEASURES, values)


@dataclass(frozen=True, eq=False)
class Results:
    """All results."""

    settings: Settings
    collections: Mapping[str, CollectionResults]
    # of `certificate_cells`: from kind, collection, net and measure to a certificate or gain
    certificates: Mapping[Key, Any]
    pairs: tuple[PairCounts, ...]
    sized: tuple[Sized, ...]  # by measure, then size

    def of_kind(self, *kinds: str) -> dict[Key, Any]:
        """Return the certificates of some kinds, one kind after the other."""
        return {key: one for kind in kinds for key, one in self.certificates.items() if key[0] == kind}


def run(collections: Mapping[str, MeasuredCollection], settings: Settings, runner: Runner) -> Results:
    """Train on the first folds, test the weights, train on growing numbers of queries, and on all folds."""
    trainings = _by_place(runner.cells("trainings on first folds", training_cells(collections, settings)))
    tests = runner.cells("tests of local optimality", certificate_cells(collections, trainings, settings))
    sizes = runner.cells("trainings on growing numbers of queries", size_cells(collections, settings))
    compared = {
        name: CollectionResults(
            one,
            runner.cross_validate(
                name, one.splits, entries(one, settings), tuple(one.measures.values()), seed=settings.seed
            ),
        )
        for name, one in collections.items()
    }
    return Results(settings, compared, _by_place(tests), pair_counts(collections, trainings), sized(sizes))


def _by_place(cells: Cells) -> dict[Key, Any]:
    """Shorten the measures in the keys, which are (kind, collection, net, measure)."""
    return {
        (str(kind), str(collection), str(model), short(str(measure))): value
        for (kind, collection, model, measure), value in cells.items()
    }
