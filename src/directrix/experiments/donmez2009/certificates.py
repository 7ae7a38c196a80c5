"""Whether trained weights are local optima: tests of Sections 5, 7.1 and 8, as cells."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell, Progress, run_cells
from directrix.experiments.donmez2009.collection import ARTIFICIAL, Collection
from directrix.experiments.donmez2009.protocol import EARLY, Key, Results
from directrix.experiments.donmez2009.settings import MODELS, ModelName, Settings
from directrix.experiments.donmez2009.training import model_of, objective_of, random_weights, watch
from directrix.experiments.optimality import Certificate, certify, polish
from directrix.surrogates.lambdas import Lambda

__all__ = ["EXAMINED", "GAIN_EPOCHS", "SHOWN", "SMALL", "run_certificates"]

EXAMINED = ("OHSUMED", ARTIFICIAL)
SHOWN = 4  # directions whose curves are kept, as many as the paper draws
SMALL = tuple(round(0.001 * i, 3) for i in range(1, 11))  # steps of the paper's footnote
GAIN_EPOCHS = 10  # within which learning that goes on must gain
_GRADED = "nDCG@10"  # the measure of Section 8


def run_certificates(
    collections: Sequence[Collection],
    trainings: Results,
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Test the weights of the trainings on the training queries, or what a file does not hold yet.

    Parameters
    ----------
    collections : sequence of Collection
        Those of `EXAMINED` are looked at.
    trainings : dict
        Of `run_trainings`.
    settings : Settings
    path, n_jobs, progress
        As for `directrix.experiments.cells.run_cells`.

    Returns
    -------
    dict
        From (what, collection, model, measure) to what was found. "chosen", "converged", "converged, small
        steps", "converged, one weight", "polished" and, of the two-layer net, "epoch 7", "epoch 12" and "RR
        weights" for nDCG@10, and "random" for nDCG: `Certificate.to_dict`, with ``norm`` of the weights and
        ``shown``, the changes along the first directions. "polished" has ``before``, ``moves`` and
        ``tests``, too. "gain from epoch 7", "gain from RR weights", ...: the measure on the training queries
        epoch after epoch.
    """
    cells = [
        cell for each in collections if each.name in EXAMINED for cell in _cells(each, trainings, settings)
    ]
    cells.sort(key=lambda cell: (cell.key[0] == "polished", cell.key[2] == "mlp"))  # what takes longest last
    return run_cells(cells, path, n_jobs=n_jobs, progress=progress)


def _cells(collection: Collection, trainings: Results, settings: Settings) -> list[Cell]:
    split, found = collection.first, []

    def add(what: str, model: ModelName, measure: str, work: Any, weights: Any, *more: Any) -> None:
        key: Key = (what, collection.name, model, measure)
        found.append(Cell(key, work, (split.train, model, measure, weights, settings, *more)))

    for model in MODELS:
        for measure in collection.measures:
            weights = trainings["training", collection.name, model, measure]["weights"]
            add("chosen", model, measure, _certified, weights["chosen"])
            add("converged", model, measure, _certified, weights["converged"])
            add("converged, small steps", model, measure, _certified, weights["converged"], {"steps": SMALL})
            add(
                "converged, one weight",
                model,
                measure,
                _certified,
                weights["converged"],
                {"one_weight": True},
            )
            add("polished", model, measure, _polished, weights["converged"])
        measure = collection.measures[0]
        other = settings.seed + 1  # with that of the directions the first would point along the weights
        start = random_weights(model_of(model, settings), split.train.n_features, other)
        add("random", model, measure, _certified, start.tolist())
    graded = trainings["training", collection.name, "mlp", _GRADED]
    early = {f"epoch {epoch}": graded["weights"].get(f"epoch {epoch}") for epoch in EARLY}
    early["RR weights"] = trainings["training", collection.name, "mlp", collection.measures[-1]]["weights"][
        "chosen"
    ]
    for name, params in early.items():
        if params is not None:  # a training may have ended before
            add(name, "mlp", _GRADED, _certified, params)
            add(f"gain from {name}", "mlp", _GRADED, _gained, params, graded["rate"])
    return found


def _certified(
    train: Queries,
    model: ModelName,
    measure: str,
    weights: Sequence[float],
    settings: Settings,
    how: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    params = np.array(weights)
    objective = objective_of(train, Lambda(measure), model_of(model, settings))
    found = certify(
        params,
        objective,
        measure,
        eps=settings.eps,
        delta=settings.delta,
        seed=settings.seed,
        **(how or {}),
    )
    return {**_as_json(found), "norm": float(np.linalg.norm(params))}


def _as_json(found: Certificate) -> dict[str, Any]:
    return {**found.to_dict(), "shown": found.curves[:SHOWN].tolist()}


def _polished(
    train: Queries, model: ModelName, measure: str, weights: Sequence[float], settings: Settings
) -> dict[str, Any]:
    objective = objective_of(train, Lambda(measure), model_of(model, settings))
    found = polish(
        np.array(weights),
        objective,
        measure,
        eps=settings.eps,
        delta=settings.delta,
        seed=settings.seed,
        max_moves=settings.polish_moves,
    )
    return {
        **_as_json(found.certificate),
        "norm": float(np.linalg.norm(found.params)),
        "before": found.start,
        "moves": found.moves,
        "tests": found.tests,
    }


def _gained(
    train: Queries,
    model: ModelName,
    measure: str,
    weights: Sequence[float],
    settings: Settings,
    rate: float,
) -> list[float]:
    net = model_of(model, settings)
    seen = watch(train, train, measure, net, rate, settings, start=np.array(weights), epochs=GAIN_EPOCHS)
    return seen.train
