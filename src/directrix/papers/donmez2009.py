"""Donmez, Svore and Burges (2009): local optimality of LambdaRank, and which measure to train for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.crossval import Entry
from directrix.experiments.measure_matching import Matching
from directrix.experiments.optimality import certify, polish
from directrix.experiments.splits import Split, letor_splits
from directrix.measures.names import measure as parse_measure
from directrix.objectives.objective import make_objective
from directrix.papers.claims import Scored
from directrix.papers.donmez2009_training import (
    ARTIFICIAL,
    COMPARED,
    CONSTRUCTIONS,
    EVERY_CHANGE,
    NETS,
    TRAINED,
    USUAL,
    Artificial,
    PairCounts,
    Sized,
    TrainingSettings,
    artificial,
    at_every_rate,
    full_name,
    lambda_for,
    measures_of,
    model_of,
    options_of,
    pair_cells,
    pair_counts,
    random_weights,
    size_cells,
    sized,
    training_cells,
    watch,
)
from directrix.papers.paper import Results
from directrix.papers.workspace import Collection, Compared, Workspace, available
from directrix.rankers.means import mean_and_error
from directrix.surrogates.lambdas import Lambda

GAIN_EPOCHS = 10
"""Number of epochs of the trainings that continue from weights of Section 8."""
EXAMINED = ("OHSUMED", ARTIFICIAL)
"""Collections whose weights are tested."""
# The tests take steps of .1 and more. A step would replace weights whose norm is below this, so steps from
# them are multiples of the norm.
_SHORTEST = 0.1
# The number of directions whose curves are kept, as many as the paper draws.
_SHOWN = 4
# The steps of the paper's footnote 4.
_SMALL = tuple(round(0.001 * i, 3) for i in range(1, 11))
# The tests by name. The name begins with the weights that are tested; the value has options of `certify`.
_TESTS: dict[str, dict[str, Any]] = {
    "chosen": {},
    "converged": {},
    "converged, small steps": {"steps": _SMALL},
    "converged, one weight": {"one_weight": True},
}

Key = tuple[str, str, str, str]
"""Kind of a result, collection, net and measure."""


@dataclass(frozen=True)
class Donmez2009(TrainingSettings):
    """Training runs of both nets, tests of their weights, and runs on growing numbers of queries."""

    def entries(self, collection: Collection) -> list[Entry]:
        """Return both nets for all of `TRAINED`, and the two-layer net with other constructions."""
        fixed: dict[str, Any] = {"epochs": self.epochs, "patience": self.patience}
        methods = {
            "linear": ("LambdaRank", fixed),
            "mlp": ("LambdaRank-MLP", {**fixed, "hidden": (self.hidden,)}),
        }
        measures = measures_of(collection)
        rows: list[tuple[str, str, str]] = [
            (model, measures[measure], name) for model in NETS for measure, name in TRAINED.values()
        ]
        rows += [("mlp", measures[measure], name) for measure in COMPARED for name in CONSTRUCTIONS[1:]]
        return [
            Entry(
                entry_name(model, measure, construction),
                methods[model][0],
                {**methods[model][1], **options_of(measure, construction)},
                {"learning_rate": self.rates},
                measure,
            )
            for model, measure, construction in rows
        ]

    def read(self, data: Path) -> dict[str, Collection]:
        """Read those LETOR collections that the data folder holds, and make the artificial data."""
        collections = {
            name: Collection(name, letor_splits(data / "letor" / name)[: self.folds])
            for name in available(data, self.letor)
        }
        split, _ = artificial(self.artificial, self.seed)
        return {**collections, ARTIFICIAL: Collection(ARTIFICIAL, (split,), rel=2)}

    def run(self, data: Mapping[str, Collection], work: Workspace) -> Optimality:
        """Train on first folds and test the weights; train on more and more queries, and on all folds."""
        trainings = work.cells("trainings on first folds", training_cells(data, self))
        examined = [data[name] for name in EXAMINED if name in data]
        tests = [cell for collection in examined for cell in _tests_on(collection, trainings, self)]
        # The slowest cells come last.
        tests.sort(key=lambda cell: (cell.key[0] == "polished", cell.key[2] == "mlp"))
        certificates = work.cells("tests of local optimality", tests)
        counted = work.cells("effective pairs", pair_cells(data, trainings, self))
        sizes = work.cells("trainings on growing numbers of queries", size_cells(data, self))
        if self.large is not None:
            large = [
                Cell(("large", ARTIFICIAL, model, measure), _large, (model, full_name(measure, 2), self))
                for model, measure in self.large.trained
            ]
            certificates |= work.cells("trainings at the paper's size", large)
        compared = {}
        for name, collection in data.items():
            rows, measures = self.entries(collection), tuple(measures_of(collection).values())
            cross_validation = work.cross_validate(name, collection.splits, rows, measures, seed=self.seed)
            compared[name] = Trained(collection, cross_validation)
        pairs = pair_counts(data, trainings)
        return Optimality(self, compared, certificates, pairs, sized(sizes), trainings, counted)


QUICK = Donmez2009(
    rates=(1e-2,),
    epochs=20,
    patience=10,
    folds=1,
    eps=0.05,
    delta=0.05,
    polish_moves=5,
    artificial=Artificial(n_train=60, n_valid=40, n_test=100, sizes=(15, 60)),
    large=None,
)


@dataclass(frozen=True, eq=False)
class Trained(Compared):
    """Training runs compared on the test queries of one collection; see `Donmez2009.entries`."""

    def _scored(self, measure: str, construction: str) -> Scored:
        name = measures_of(self.collection)[measure]
        return Scored(construction, self.compared.values(entry_name("mlp", name, construction), name))

    def constructions(self, measure: str) -> list[Scored]:
        """Return the two-layer nets of all constructions, trained for a measure and tested on it."""
        return [self._scored(measure, construction) for construction in CONSTRUCTIONS]

    def every_change(self) -> Scored:
        """Return the two-layer net that is trained with every change of RR."""
        return self._scored("RR", EVERY_CHANGE)

    def valid(self, measure: str, construction: str) -> float:
        """Return the validation value of one of `constructions`."""
        name = measures_of(self.collection)[measure]
        return self.compared.valid(entry_name("mlp", name, construction), name)

    def matching(self, model: str) -> Matching:
        """Return the training runs of a net, `TRAINED`, tested on every measure."""
        names = measures_of(self.collection)
        entries = {
            trained: entry_name(model, names[measure], how) for trained, (measure, how) in TRAINED.items()
        }
        return Matching(
            {
                trained: {target: self.compared.values(entry, full) for target, full in names.items()}
                for trained, entry in entries.items()
            }
        )


@dataclass(frozen=True, eq=False)
class Optimality(Results[Donmez2009, Trained]):
    """All results."""

    # The results of `_tests_on` and `_large`: certificates, gains and the trainings at the
    # paper's size.
    certificates: Mapping[Key, Any]
    pairs: tuple[PairCounts, ...] = ()
    # The runs on growing numbers of queries are sorted by measure, then by size.
    sized: tuple[Sized, ...] = ()
    # These are the results of `training_cells` and of `pair_cells`.
    trainings: Mapping[Key, Any] = field(default_factory=dict)
    counted: Mapping[Key, Mapping[str, Sequence[int]]] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> dict[Key, Any]:
        """Return the certificates of some kinds, one kind after the other."""
        return {key: test for kind in kinds for key, test in self.certificates.items() if key[0] == kind}


def entry_name(model: str, measure: str, construction: str = USUAL) -> str:
    """Return the name of the entry of a net, a measure by its full name, and a construction."""
    return f"{model} for {measure}" + (f", {construction}" if construction != USUAL else "")


# whether weights are local optima: tests of Sections 5, 7.1 and 8


def _tests_on(
    collection: Collection, trainings: Mapping[Any, Any], settings: TrainingSettings
) -> Iterator[Cell]:
    """Test the weights of the trainings on a collection, on its training queries.

    Keys are (kind, collection, net, measure). Kinds are "chosen", "converged", "converged, small steps",
    "converged, one weight" and "polished"; of the two-layer net for nDCG@10 "epoch 7", "epoch 12" and "RR
    weights"; and "random" for nDCG. The result is a certificate, see `_certified`. The results of "gain
    from epoch 7", "gain from RR weights" and so on are the values of the measure on the training queries
    after every epoch.
    """
    name, train, measures = collection.name, collection.first.train, measures_of(collection)

    def cell(kind: str, model: str, measure: str, work: Any, weights: Any, *more: Any) -> Cell:
        key = (kind, name, model, measure)
        return Cell(key, work, (train, model, measures[measure], weights, settings, *more))

    for model in NETS:
        for measure in measures:
            weights = trainings["training", name, model, measure]["weights"]
            for kind, options in _TESTS.items():
                yield cell(kind, model, measure, _certified, weights[kind.split(",")[0]], options)
            yield cell("polished", model, measure, _polished, weights["converged"])
        # The directions have the seed of the settings. With the same seed the first of them would point
        # along the weights.
        other = settings.seed + 1
        start = random_weights(model_of(model, settings), train.n_features, other)
        yield cell("random", model, "nDCG", _certified, start.tolist())
    graded = trainings["training", name, "mlp", "nDCG@10"]
    # A training may have ended before epoch 12, so these weights may be missing.
    early = {kind: weights for kind, weights in graded["weights"].items() if kind.startswith("epoch")}
    early["RR weights"] = trainings["training", name, "mlp", "RR"]["weights"]["chosen"]
    for kind, weights in early.items():
        yield cell(kind, "mlp", "nDCG@10", _certified, weights)
        yield cell(f"gain from {kind}", "mlp", "nDCG@10", _gained, weights, graded["rate"])


def _is_short(params: Any) -> bool:
    """Say whether steps must be relative to the norm of the weights, because they are longer than these."""
    return bool(0.0 < np.linalg.norm(params) < _SHORTEST)


def _as_json(certificate: Any, params: Any) -> dict[str, Any]:
    shown = certificate.curves[:_SHOWN].tolist()
    return {**certificate.to_dict(), "shown": shown, "norm": float(np.linalg.norm(params))}


def _certified(
    train: Queries,
    model: str,
    measure: str,
    weights: Any,
    settings: TrainingSettings,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a certificate as JSON, with the ``norm`` of the weights, and ``shown``, the first directions."""
    params, objective = np.array(weights), make_objective(train, Lambda(measure), model_of(model, settings))
    limits: dict[str, Any] = {"eps": settings.eps, "delta": settings.delta, "seed": settings.seed}
    certificate = certify(params, objective, measure, relative=_is_short(params), **limits, **(options or {}))
    return _as_json(certificate, params)


def _polished(
    train: Queries, model: str, measure: str, weights: Sequence[float], settings: TrainingSettings
) -> dict[str, Any]:
    objective = make_objective(train, Lambda(measure), model_of(model, settings))
    polished = polish(
        np.array(weights),
        objective,
        measure,
        eps=settings.eps,
        delta=settings.delta,
        seed=settings.seed,
        relative=_is_short(weights),
        max_moves=settings.polish_moves,
    )
    return _as_json(polished.certificate, polished.params)


def _gained(
    train: Queries,
    model: str,
    measure: str,
    weights: Sequence[float],
    settings: TrainingSettings,
    rate: float,
) -> list[float]:
    net, short = model_of(model, settings), replace(settings, epochs=GAIN_EPOCHS)
    split = Split("training queries", train, train, train)
    return watch(split, lambda_for(measure), net, rate, short, start=np.array(weights)).values["train"]


# data of the paper's size


def _large(model: str, measure: str, settings: TrainingSettings) -> dict[str, Any]:
    """Train on the artificial data at the paper's size, and test the weights.

    Results are ``chosen`` and ``converged``, certificates of these weights; ``rate``, ``epoch`` and ``test``
    of the first, the last with its standard ``error``; ``chance``, the value of equal scores on the training
    queries; and ``restarts`` by rate.
    """
    large = settings.large
    assert large is not None, "such cells are made for experiments with data of this size only"
    split, _ = artificial(large.size, settings.seed)
    surrogate, value, train, test = lambda_for(measure), parse_measure(measure), split.train, split.test
    trainings, chosen = at_every_rate(split, model, surrogate, replace(settings, rates=large.rates))
    highest = max(trainings, key=lambda training: training.highest("train"))
    epoch, weights = chosen.best["valid"]
    scores = make_objective(test, surrogate, model_of(model, settings)).scores(weights).astype(np.float64)
    mean, error = mean_and_error(value(scores, test.labels, test.qptr))
    chance = value(np.zeros(train.n_docs), train.labels, train.qptr)
    return {
        "chosen": _certified(train, model, measure, weights, settings),
        "converged": _certified(train, model, measure, highest.best["train"][1], settings),
        **{"rate": f"{chosen.rate:g}", "epoch": epoch, "test": mean, "error": error},
        "chance": float(np.nanmean(chance)),
        "restarts": {f"{training.rate:g}": training.restarts for training in trainings},
    }
