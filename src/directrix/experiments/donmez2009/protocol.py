"""What is run, as cells: trainings that are watched, growing training sets, certificates of optimality."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.experiments.cells import Cell, Progress, run_cells
from directrix.experiments.donmez2009.collection import ARTIFICIAL, Collection, artificial
from directrix.experiments.donmez2009.settings import MODELS, ModelName, Settings
from directrix.experiments.donmez2009.training import Watched, model_of, objective_of, watch
from directrix.experiments.splits import Split
from directrix.measures.names import measure as parse_measure
from directrix.surrogates.lambdas import Lambda

__all__ = ["EARLY", "Key", "Results", "run_sizes", "run_trainings"]

EARLY = (7, 12)  # epochs whose weights Section 8 looks at
Key = tuple[str | int, ...]
Results = dict[Key, Any]


def run_trainings(
    collections: Sequence[Collection],
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Train for every measure on the first fold of every collection, at every rate, and watch.

    Parameters
    ----------
    collections : sequence of Collection
    settings : Settings
    path, n_jobs, progress
        As for `directrix.experiments.cells.run_cells`.

    Returns
    -------
    dict
        From ("training", collection, model, measure) to ``rate``, which validation chose; ``by_rate``, the
        best value on the validation queries at each; ``train``, ``valid`` and ``pairs`` at that rate, epoch
        after epoch, the start first; and ``weights``: parameters ``chosen`` by validation, ``converged``,
        which are the best on the training queries at any rate, and those after `EARLY` epochs, with their
        ``epochs``.
    """
    cells = [
        Cell(("training", each.name, model, measure), _training, (each.first, model, measure, settings))
        for each in collections
        for model in MODELS
        for measure in each.measures
    ]
    return run_cells(cells, path, n_jobs=n_jobs, progress=progress)


def run_sizes(
    collections: Sequence[Collection],
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Train the two-layer net for every measure on more and more artificial queries (Fig. 5).

    Parameters
    ----------
    collections, settings, path, n_jobs, progress
        As for `run_trainings`.

    Returns
    -------
    dict
        From ("size", queries, measure) to ``pairs``, the mean over epochs at the rate that validation
        chose, and ``test``: of every measure the values on the test queries.
    """
    measures = next(each.measures for each in collections if each.name == ARTIFICIAL)
    _, split = artificial(settings.artificial, settings.seed)
    cells = [
        Cell(("size", size, measure), _size, (_first(split, size), measure, measures, settings))
        for size in settings.artificial.sizes
        for measure in measures
    ]
    return run_cells(cells, path, n_jobs=n_jobs, progress=progress)


def _first(split: Split, n_queries: int) -> Split:
    return Split(split.name, split.train.take(np.arange(n_queries)), split.valid, split.test)


def _at_every_rate(
    split: Split, model: ModelName, measure: str, settings: Settings, keep: tuple[int, ...] = ()
) -> tuple[list[Watched], Watched]:
    """All trainings, and the one that validation chooses: the first of equals."""
    net = model_of(model, settings)
    assert split.valid is not None
    seen = [
        watch(split.train, split.valid, measure, net, rate, settings, keep=keep) for rate in settings.rates
    ]
    return seen, max(seen, key=lambda one: one.best_of("valid"))


def _training(split: Split, model: ModelName, measure: str, settings: Settings) -> dict[str, Any]:
    seen, chosen = _at_every_rate(split, model, measure, settings, keep=EARLY)
    highest = max(seen, key=lambda one: one.best_of("train"))
    weights = {
        "chosen": chosen.best["valid"],
        "converged": highest.best["train"],
        **{f"epoch {epoch}": (epoch, params) for epoch, params in chosen.kept.items()},
    }
    return {
        "rate": chosen.rate,
        "by_rate": {f"{one.rate:g}": one.best_of("valid") for one in seen},
        "train": chosen.train,
        "valid": chosen.valid,
        "pairs": chosen.pairs,
        "weights": {name: params.tolist() for name, (_, params) in weights.items()},
        "epochs": {name: epoch for name, (epoch, _) in weights.items()},
    }


def _size(split: Split, measure: str, measures: Sequence[str], settings: Settings) -> dict[str, Any]:
    _, chosen = _at_every_rate(split, "mlp", measure, settings)
    objective = objective_of(split.test, Lambda(measure), model_of("mlp", settings))
    scores = objective.scores(chosen.best["valid"][1]).astype(np.float64)
    test = split.test
    return {
        "pairs": float(np.mean(chosen.pairs)),
        "test": {name: parse_measure(name)(scores, test.labels, test.qptr).tolist() for name in measures},
    }
