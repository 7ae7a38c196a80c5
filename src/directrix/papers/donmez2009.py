"""Donmez, Svore and Burges (2009): local optimality of LambdaRank, and which measure to train for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
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
    Large,
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
    parts_of,
    random_weights,
    size_cells,
    sized,
    training_cells,
    watch,
)
from directrix.papers.paper import Results
from directrix.papers.workspace import Collection, Compared, Workspace, available
from directrix.rankers.means import mean_and_error
from directrix.rankers.methods import method
from directrix.search.candidates import candidates_of
from directrix.surrogates.lambdas import Lambda

GAIN_EPOCHS = 10
"""Number of epochs of the trainings that continue from weights of Section 8."""
_LEARNERS = {  # methods with linear models whose weights are tested, by the measure that is tested
    "nDCG": ("RankNet", "RankSVM", "ListNet", "ApproxNDCG", "SmoothNDCG", "CoordinateAscent"),
    "AP": ("ApproxAP", "SmoothAP", "SVMMap", "CoordinateAscent"),
}
EXAMINED = ("OHSUMED", ARTIFICIAL)
"""Collections whose weights are tested."""
_SHORTEST = 0.1  # step of the tests; of shorter weights it would leave nothing
_SHOWN = 4  # directions whose curves are kept, as many as the paper draws
_SMALL = tuple(round(0.001 * i, 3) for i in range(1, 11))  # steps of the paper's footnote
_TESTS: dict[str, dict[str, Any]] = {  # of the weights that are named first
    "chosen": {},
    "converged": {},
    "converged, small steps": {"steps": _SMALL},
    "converged, one weight": {"one_weight": True},
}

Key = tuple[str, str, str, str]
"""Kind of a result, collection, net and measure; of the kinds "construction" and "learner" their name."""


@dataclass(frozen=True)
class Donmez2009(TrainingSettings):
    """Trainings of both nets, tests of their weights, and trainings on growing numbers of queries."""

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
        folds = self.letor_folds
        collections = {
            name: Collection(name, letor_splits(data / "letor" / name)[: folds[name]])
            for name in available(data, folds)
        }
        split, _ = artificial(self.artificial, self.seed)
        return {**collections, ARTIFICIAL: Collection(ARTIFICIAL, (split,), rel=2)}

    def run(self, data: Mapping[str, Collection], work: Workspace) -> Optimality:
        """Train on first folds and test the weights; train on more and more queries, and on all folds."""
        trainings = work.cells("trainings on first folds", training_cells(data, self))
        certificates = work.cells("tests of local optimality", _certificate_cells(data, trainings, self))
        counted = work.cells("effective pairs", pair_cells(data, trainings, self))
        if self.others:
            certificates |= work.cells("other constructions and learners", _other_cells(data, self))
        sizes = work.cells("trainings on growing numbers of queries", size_cells(data, self))
        if self.large is not None:
            trained = work.cells("trainings at the paper's size", _large_cells(self.large, self))
            certificates |= work.cells("tests at the paper's size", _large_tests(trained, self))
        compared = {}
        for name, one in data.items():
            rows, measures = self.entries(one), tuple(measures_of(one).values())
            found = work.cross_validate(name, one.splits, rows, measures, seed=self.seed)
            compared[name] = Trained(one, found)
        pairs = pair_counts(data, trainings)
        return Optimality(self, compared, certificates, pairs, sized(sizes), trainings, counted)


QUICK = Donmez2009(
    rates=(1e-2,),
    epochs=20,
    patience=10,
    folds=1,
    mq2008_folds=1,
    eps=0.05,
    delta=0.05,
    polish_moves=5,
    artificial=Artificial(n_train=60, n_valid=40, n_test=100, sizes=(15, 60)),
    large=None,
    others=False,
)


@dataclass(frozen=True, eq=False)
class Trained(Compared):
    """Trainings that are compared on the test queries of one collection, see `Donmez2009.entries`."""

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
        """Return the trainings of a net, `TRAINED`, tested on every measure."""
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

    # of `_certificate_cells`, `_other_cells` and `_large_tests`: certificates, and gains
    certificates: Mapping[Key, Any]
    pairs: tuple[PairCounts, ...] = ()
    sized: tuple[Sized, ...] = ()  # by measure, then size
    trainings: Mapping[Key, Any] = field(default_factory=dict)  # of `training_cells`
    counted: Mapping[Key, Mapping[str, Sequence[int]]] = field(default_factory=dict)  # of `pair_cells`

    def of_kind(self, *kinds: str) -> dict[Key, Any]:
        """Return the certificates of some kinds, one kind after the other."""
        return {key: one for kind in kinds for key, one in self.certificates.items() if key[0] == kind}


def entry_name(model: str, measure: str, construction: str = USUAL) -> str:
    """Return the name of the entry of a net, a measure by its full name, and a construction."""
    return f"{model} for {measure}" + (f", {construction}" if construction != USUAL else "")


# whether weights are local optima: tests of Sections 5, 7.1 and 8


def _certificate_cells(
    collections: Mapping[str, Collection], trainings: Mapping[Any, Any], settings: TrainingSettings
) -> list[Cell]:
    """Test the weights of the trainings on OHSUMED and the artificial data, on the training queries.

    Keys are (kind, collection, net, measure). Kinds are "chosen", "converged", "converged, small steps",
    "converged, one weight" and "polished"; of the two-layer net for nDCG@10 "epoch 7", "epoch 12" and "RR
    weights"; and "random" for nDCG. The result is a certificate, see `_certificate`. The results of "gain
    from epoch 7", "gain from RR weights" and so on are the values of the measure on the training queries
    after every epoch.
    """
    examined = [collections[name] for name in EXAMINED if name in collections]
    cells = [cell for one in examined for cell in _tests_on(one, trainings, settings)]
    cells.sort(key=lambda cell: (cell.key[0] == "polished", cell.key[2] == "mlp"))  # the slowest cells last
    return cells


def _tests_on(
    collection: Collection, trainings: Mapping[Any, Any], settings: TrainingSettings
) -> Iterator[Cell]:
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
        other = settings.seed + 1  # with the seed of the directions the first would point along the weights
        start = random_weights(model_of(model, settings), train.n_features, other)
        yield cell("random", model, "nDCG", _certified, start.tolist())
    graded = trainings["training", name, "mlp", "nDCG@10"]
    # a training may have stopped before epoch 12
    early = {kind: weights for kind, weights in graded["weights"].items() if kind.startswith("epoch")}
    early["RR weights"] = trainings["training", name, "mlp", "RR"]["weights"]["chosen"]
    for kind, weights in early.items():
        yield cell(kind, "mlp", "nDCG@10", _certified, weights)
        yield cell(f"gain from {kind}", "mlp", "nDCG@10", _gained, weights, graded["rate"])


def _certificate(
    weights: Any, data: Any, measure: str, params: Any, settings: TrainingSettings, **options: Any
) -> dict[str, Any]:
    """Return a certificate as JSON, with the ``norm`` of the weights, and ``shown``, the first directions."""
    limits: dict[str, Any] = {"eps": settings.eps, "delta": settings.delta, "seed": settings.seed}
    limits["relative"] = _is_short(params)
    return _as_json(certify(weights, data, measure, **{**limits, **options}), params)


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
    weights: Sequence[float],
    settings: TrainingSettings,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    params, objective = np.array(weights), make_objective(train, Lambda(measure), model_of(model, settings))
    return _certificate(params, objective, measure, params, settings, **(options or {}))


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
    parts = {"train": train, "valid": train}
    return watch(parts, lambda_for(measure), net, rate, short, start=np.array(weights)).values["train"]


# the paper's future work, and its own size


def _other_cells(collections: Mapping[str, Collection], settings: TrainingSettings) -> list[Cell]:
    """Test the weights of single-layer nets with other surrogate, and of other learners, for optimality.

    Keys are (kind, collection, name, measure) of the kinds "construction" and "learner". The results are
    certificates at the epoch that is best on the training queries at any rate, with ``relative``: the same
    with steps relative to the norm of the weights.
    """
    examined = [collections[name] for name in EXAMINED if name in collections]
    of_measure = {measure: (*CONSTRUCTIONS, *[EVERY_CHANGE] * (measure == "RR")) for measure in COMPARED}
    kinds = {"construction": (_construction, of_measure), "learner": (_learner, _LEARNERS)}
    return [
        Cell(
            (kind, one.name, name, measure),
            work,
            (one.first, name, measures_of(one)[measure], settings),
        )
        for kind, (work, by_measure) in kinds.items()
        for one in examined
        for measure, names in by_measure.items()
        for name in names
    ]


def _construction(
    split: Split, construction: str, measure: str, settings: TrainingSettings
) -> dict[str, Any]:
    surrogate = lambda_for(measure, construction)
    trainings, _ = at_every_rate(split, "linear", surrogate, settings)
    params = max(trainings, key=lambda one: one.highest("train")).best["train"][1]
    objective = make_objective(split.train, surrogate, model_of("linear", settings))
    return _both(params, objective, measure, params, settings)


def _learner(split: Split, learner: str, measure: str, settings: TrainingSettings) -> dict[str, Any]:
    goal = parse_measure(measure)
    first = candidates_of(method(learner), goal)[0][0]
    ranker = replace(first, seed=settings.seed).ranker().fit_queries(split.train)
    return _both(ranker, split.train, measure, ranker.coef_, settings)


def _both(weights: Any, data: Any, measure: str, params: Any, settings: TrainingSettings) -> dict[str, Any]:
    relative = _certificate(weights, data, measure, params, settings, relative=True)
    return {**_certificate(weights, data, measure, params, settings), "relative": relative}


def _large_cells(large: Large, settings: TrainingSettings) -> list[Cell]:
    """Train on the artificial data at the paper's size, one cell for each rate; keys have the rate.

    Results are the ``highest`` values on the training and the validation queries; ``restarts``; and
    ``weights`` and ``epochs`` of these: "train", "valid".
    """
    return [
        Cell(("large", model, measure, f"{rate:g}"), _large_training, (model, measure, rate, settings))
        for model, measure in large.trained
        for rate in large.rates
    ]


def _large_tests(trained: Mapping[Any, Any], settings: TrainingSettings) -> list[Cell]:
    """Test the weights of `_large_cells`.

    The result of the kind "large, tested" is ``rate``, ``epoch`` and ``test`` of what validation chose, the
    last with its standard ``error``; ``chance``, the value of equal scores on the training queries; and
    ``restarts`` by rate. Those of "large, chosen" and "large,
    converged" are certificates of these weights, the latter of the best epoch at any rate.
    """
    grouped: dict[tuple[str, str], dict[str, Any]] = {}
    for (_, model, measure, rate), one in trained.items():
        grouped.setdefault((model, measure), {})[rate] = one
    cells = []
    for (model, measure), by_rate in grouped.items():
        highest = max(by_rate.values(), key=lambda one: one["highest"]["train"])
        rate, chosen = max(by_rate.items(), key=lambda item: item[1]["highest"]["valid"])
        where = {
            "rate": rate,
            "epoch": chosen["epochs"]["valid"],
            "restarts": {name: one["restarts"] for name, one in by_rate.items()},
        }
        weights = chosen["weights"]["valid"], highest["weights"]["train"]
        for kind, work, params, *more in (
            ("tested", _large_tested, weights[0], where),
            ("chosen", _large_certified, weights[0]),
            ("converged", _large_certified, weights[1]),
        ):
            key = (f"large, {kind}", ARTIFICIAL, model, measure)
            cells.append(Cell(key, work, (model, full_name(measure, 2), params, settings, *more)))
    return cells


@lru_cache(maxsize=1)
def _large_data(settings: TrainingSettings) -> Split:
    assert settings.large is not None
    return artificial(settings.large.size, settings.seed)[0]


def _large_training(model: str, measure: str, rate: float, settings: TrainingSettings) -> dict[str, Any]:
    parts, surrogate = parts_of(_large_data(settings)), lambda_for(full_name(measure, 2))
    watched = watch(parts, surrogate, model_of(model, settings), rate, settings)
    return {
        "highest": {part: watched.highest(part) for part in parts},
        "restarts": watched.restarts,
        "weights": {part: params.tolist() for part, (_, params) in watched.best.items()},
        "epochs": {part: epoch for part, (epoch, _) in watched.best.items()},
    }


def _large_tested(
    model: str, measure: str, weights: Sequence[float], settings: TrainingSettings, where: Mapping[str, Any]
) -> dict[str, Any]:
    data, value = _large_data(settings), parse_measure(measure)
    train, test = data.train, data.test
    objective = make_objective(test, lambda_for(measure), model_of(model, settings))
    scores = objective.scores(np.array(weights)).astype(np.float64)
    mean, error = mean_and_error(value(scores, test.labels, test.qptr))
    chance = value(np.zeros(train.n_docs), train.labels, train.qptr)
    return {**where, "test": mean, "error": error, "chance": float(np.nanmean(chance))}


def _large_certified(
    model: str, measure: str, weights: Sequence[float], settings: TrainingSettings
) -> dict[str, Any]:
    return _certified(_large_data(settings).train, model, measure, weights, settings)
