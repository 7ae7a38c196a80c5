"""Everything that is run, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.measure_matching import Matching
from directrix.reproductions.claims import Scored
from directrix.reproductions.donmez2009.certificates import certificate_cells
from directrix.reproductions.donmez2009.collection import MeasuredCollection
from directrix.reproductions.donmez2009.future import Counted, counted, other_cells, pair_cells
from directrix.reproductions.donmez2009.large import large_cells, large_tests
from directrix.reproductions.donmez2009.methods import entries, entry_name
from directrix.reproductions.donmez2009.pairs import PairCounts, Sized, pair_counts, sized
from directrix.reproductions.donmez2009.settings import CONSTRUCTIONS, EVERY_CHANGE, MEASURES, Settings, short
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

    def every_change(self) -> Scored:
        """Return the two-layer net that is trained with every change of RR."""
        name = self.collection.measures["RR"]
        of = self.compared.values(entry_name("mlp", name, EVERY_CHANGE), name)
        return Scored(EVERY_CHANGE, of, float(np.nanmean(of)))

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
    # of `training_cells`: from "training", collection, net and measure
    trainings: Mapping[Key, Any] = field(default_factory=dict)
    counted: tuple[Counted, ...] = ()  # effective pairs by construction
    # of `other_cells`: from kind, collection, name and measure to a certificate
    others: Mapping[Key, Any] = field(default_factory=dict)
    # of `large_tests`: from "tested", "chosen" or "converged", net and measure
    large: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> dict[Key, Any]:
        """Return the certificates of some kinds, one kind after the other."""
        return {key: one for kind in kinds for key, one in self.certificates.items() if key[0] == kind}


def run(collections: Mapping[str, MeasuredCollection], settings: Settings, runner: Runner) -> Results:
    """Train on first folds and test the weights; train on growing numbers of queries, and on all folds."""
    trainings = _by_place(runner.cells("trainings on first folds", training_cells(collections, settings)))
    tests = runner.cells("tests of local optimality", certificate_cells(collections, trainings, settings))
    pairs = runner.cells("effective pairs", pair_cells(collections, trainings, settings))
    others = runner.cells("other constructions and learners", other_cells(collections, settings))
    sizes = runner.cells("trainings on growing numbers of queries", size_cells(collections, settings))
    trained = runner.cells("trainings at the paper's size", large_cells(settings))
    large = runner.cells("tests at the paper's size", large_tests(trained, settings))
    compared = {
        name: CollectionResults(
            one,
            runner.cross_validate(
                name, one.splits, entries(one, settings), tuple(one.measures.values()), seed=settings.seed
            ),
        )
        for name, one in collections.items()
    }
    return Results(
        settings,
        compared,
        _by_place(tests),
        pair_counts(collections, trainings),
        sized(sizes),
        trainings,
        counted(_by_place(pairs)),
        _by_place(others),
        {
            (str(kind).removeprefix("large, "), str(model), str(measure)): one
            for (kind, model, measure), one in large.items()
        },
    )


def _by_place(cells: Cells) -> dict[Key, Any]:
    """Shorten the measures in the keys, which are (kind, collection, net, measure)."""
    return {
        (str(kind), str(collection), str(model), short(str(measure))): value
        for (kind, collection, model, measure), value in cells.items()
    }
