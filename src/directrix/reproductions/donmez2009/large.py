"""The artificial data at the paper's size: 300 features, 10,000 queries for training and for test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from directrix.experiments.cells import Cell
from directrix.experiments.optimality import certify
from directrix.experiments.splits import Split
from directrix.measures.names import measure as parse_measure
from directrix.objectives.objective import make_objective
from directrix.rankers.training import mean_and_error
from directrix.reproductions.donmez2009.certificates import as_json
from directrix.reproductions.donmez2009.collection import artificial, full_name
from directrix.reproductions.donmez2009.settings import Settings
from directrix.reproductions.donmez2009.training import forces_for, model_of, watch


def large_cells(settings: Settings) -> list[Cell]:
    """Train at every rate, one cell for each.

    Returns
    -------
    list of Cell
        Keys are ("large", net, measure, rate); none if the settings leave these data out. Results are
        ``train`` and ``valid``, the values after every epoch; ``restarts``; ``pairs`` at start and end; and
        ``weights`` and ``epochs`` of what is best on validation queries (``chosen``) and on training
        queries (``converged``).
    """
    if settings.large is None:
        return []
    return [
        Cell(("large", model, measure, f"{rate:g}"), _trained, (model, measure, rate, settings))
        for model, measure in settings.large.trained
        for rate in settings.large.rates
    ]


def large_tests(cells: Mapping[Any, Any], settings: Settings) -> list[Cell]:
    """Test the weights of `large_cells`.

    Returns
    -------
    list of Cell
        Keys are (kind, net, measure). The result of the kind "large, tested" is ``rate``, ``epoch`` and
        ``test`` of what validation chose, the last with its standard ``error``, and ``restarts`` by rate.
        Those of "large, chosen" and "large, converged" are certificates of these weights as in
        `certificate_cells`, the latter of the best epoch at any rate.
    """
    grouped: dict[tuple[str, str], dict[str, Any]] = {}
    for (_, model, measure, rate), one in cells.items():
        grouped.setdefault((model, measure), {})[rate] = one
    tests = []
    for (model, measure), by_rate in grouped.items():
        highest = max(by_rate.values(), key=lambda one: max(one["train"]))
        rate, chosen = max(by_rate.items(), key=lambda item: max(item[1]["valid"]))
        weights = {"chosen": chosen["weights"]["chosen"], "converged": highest["weights"]["converged"]}
        where = {
            "rate": rate,
            "epoch": chosen["epochs"]["chosen"],
            "restarts": {name: one["restarts"] for name, one in by_rate.items()},
        }
        place = model, measure
        tests.append(Cell(("large, tested", *place), _tested, (*place, weights["chosen"], where, settings)))
        tests += [
            Cell((f"large, {kind}", *place), _certified, (*place, params, settings))
            for kind, params in weights.items()
        ]
    return tests


@lru_cache(maxsize=1)
def _data(settings: Settings) -> Split:
    assert settings.large is not None
    return artificial(settings.large.size, settings.seed)[0]


def _trained(model: str, measure: str, rate: float, settings: Settings) -> dict[str, Any]:
    split, net = _data(settings), model_of(model, settings)
    assert split.valid is not None
    forces = forces_for(full_name(measure, 2))
    watched = watch(split.train, split.valid, forces, net, rate, settings)
    best = {"chosen": watched.best["valid"], "converged": watched.best["train"]}
    return {
        "train": watched.train,
        "valid": watched.valid,
        "restarts": watched.restarts,
        "pairs": [watched.pairs[0], watched.pairs[-1]],
        "weights": {name: params.tolist() for name, (_, params) in best.items()},
        "epochs": {name: epoch for name, (epoch, _) in best.items()},
    }


def _tested(
    model: str, measure: str, weights: Sequence[float], where: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    test, full = _data(settings).test, full_name(measure, 2)
    objective = make_objective(test, forces_for(full), model_of(model, settings))
    values = parse_measure(full)(
        objective.scores(np.array(weights)).astype(np.float64), test.labels, test.qptr
    )
    mean, error = mean_and_error(values)
    return {**where, "test": mean, "error": error}


def _certified(model: str, measure: str, weights: Sequence[float], settings: Settings) -> dict[str, Any]:
    params, full = np.array(weights), full_name(measure, 2)
    objective = make_objective(_data(settings).train, forces_for(full), model_of(model, settings))
    options: dict[str, Any] = {"eps": settings.eps, "delta": settings.delta, "seed": settings.seed}
    return as_json(certify(params, objective, full, **options), params)
