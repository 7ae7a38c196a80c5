"""Whether trained weights are local optima: tests of Sections 5, 7.1 and 8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.optimality import Certificate, certify, polish
from directrix.objectives.objective import make_objective
from directrix.reproductions.donmez2009.collection import ARTIFICIAL, MeasuredCollection
from directrix.reproductions.donmez2009.settings import NETS, Settings
from directrix.reproductions.donmez2009.training import forces_for, model_of, random_weights, watch
from directrix.surrogates.lambdas import Lambda

GAIN_EPOCHS = 10
"""Number of epochs of the trainings that continue from weights of Section 8."""

EXAMINED = ("OHSUMED", ARTIFICIAL)
"""Collections whose weights are tested."""
_SHOWN = 4  # directions whose curves are kept, as many as the paper draws
_SMALL = tuple(round(0.001 * i, 3) for i in range(1, 11))  # steps of the paper's footnote
_TESTS: dict[str, dict[str, Any]] = {  # of the weights that are named first
    "chosen": {},
    "converged": {},
    "converged, small steps": {"steps": _SMALL},
    "converged, one weight": {"one_weight": True},
}


def certificate_cells(
    collections: Mapping[str, MeasuredCollection], trainings: Mapping[Any, Any], settings: Settings
) -> list[Cell]:
    """Test the weights of the trainings on OHSUMED and the artificial data, on the training queries.

    Parameters
    ----------
    collections : mapping of str to MeasuredCollection
    trainings : mapping
        Results of `training_cells`, with short names of measures.
    settings : Settings

    Returns
    -------
    list of Cell
        Keys are (kind, collection, net, measure). Kinds are "chosen", "converged", "converged, small steps",
        "converged, one weight" and "polished"; of the two-layer net for nDCG@10 "epoch 7", "epoch 12" and
        "RR weights"; and "random" for nDCG. The result is `Certificate.to_dict`, with the ``norm`` of the
        weights and ``shown``, the changes along the first directions. "polished" also has ``before``,
        ``moves`` and ``tests``. The results of "gain from epoch 7", "gain from RR weights" and so on are the
        values of the measure on the training queries after every epoch.
    """
    cells = [
        cell
        for name in EXAMINED
        if name in collections
        for cell in _cells(collections[name], trainings, settings)
    ]
    cells.sort(key=lambda cell: (cell.key[0] == "polished", cell.key[2] == "mlp"))  # the slowest cells last
    return cells


def _cells(
    collection: MeasuredCollection, trainings: Mapping[Any, Any], settings: Settings
) -> Iterator[Cell]:
    name, train, measures = collection.name, collection.first.train, collection.measures

    def cell(kind: str, model: str, measure: str, work: Any, weights: Any, *more: Any) -> Cell:
        key = (kind, name, model, measures[measure])
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


def _certified(
    train: Queries,
    model: str,
    measure: str,
    weights: Sequence[float],
    settings: Settings,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    params = np.array(weights)
    objective = make_objective(train, Lambda(measure), model_of(model, settings))
    options = {"eps": settings.eps, "delta": settings.delta, "seed": settings.seed, **(options or {})}
    return as_json(certify(params, objective, measure, **options), params)


def _polished(
    train: Queries, model: str, measure: str, weights: Sequence[float], settings: Settings
) -> dict[str, Any]:
    objective = make_objective(train, Lambda(measure), model_of(model, settings))
    polished = polish(
        np.array(weights),
        objective,
        measure,
        eps=settings.eps,
        delta=settings.delta,
        seed=settings.seed,
        max_moves=settings.polish_moves,
    )
    counts = {"before": polished.start, "moves": polished.moves, "tests": polished.tests}
    return {**as_json(polished.certificate, polished.params), **counts}


def as_json(certificate: Certificate, params: Any) -> dict[str, Any]:
    """Return a certificate as JSON, with ``norm`` and ``shown``; see `certificate_cells`."""
    shown = certificate.curves[:_SHOWN].tolist()
    return {**certificate.to_dict(), "shown": shown, "norm": float(np.linalg.norm(params))}


def _gained(
    train: Queries, model: str, measure: str, weights: Sequence[float], settings: Settings, rate: float
) -> list[float]:
    net, start, forces = model_of(model, settings), np.array(weights), forces_for(measure)
    return watch(train, train, forces, net, rate, settings, start=start, epochs=GAIN_EPOCHS).train
