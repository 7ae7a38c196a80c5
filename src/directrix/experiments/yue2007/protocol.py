"""The protocol of section 5: trials, a C chosen by validation, values on the test topics."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from directrix.data.trec.scores import RunScores
from directrix.experiments.cells import Cell, Progress, run_cells
from directrix.experiments.trials import Trial, balanced_trials
from directrix.experiments.yue2007.collection import Collection, average_precision
from directrix.experiments.yue2007.methods import METHODS, Form, Grid, features_of, path
from directrix.models.stumps import StumpModel
from directrix.types import Float64Array

__all__ = ["Settings", "run_trials"]


@dataclass(frozen=True)
class Settings:
    """What the figures depend on, beside the data.

    Parameters
    ----------
    trials : int
        Splits of the topics; a multiple of 10 uses 50 topics equally often.
    n_train, n_valid : int
        Topics to train and to validate on; the others test.
    seed : int
        Of the splits and of the classification.
    grid : Grid
        Of the training.
    """

    trials: int = 50
    n_train: int = 10
    n_valid: int = 5
    seed: int = 0
    grid: Grid = field(default_factory=Grid)

    def fixed(self) -> dict[str, Any]:
        """What trials of one folder must share, as JSON: all but their number."""
        return {name: value for name, value in asdict(self).items() if name != "trials"}


def run_trials(
    collection: Collection,
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> dict[tuple[str, int], Any]:
    """Run every trial on every data set, or those that a file does not hold yet.

    Parameters
    ----------
    collection : Collection
    settings : Settings
    path, n_jobs, progress
        As for `directrix.experiments.cells.run_cells`.

    Returns
    -------
    dict
        From the name of a data set and the number of a trial to its ``test`` topics (positions) and, for
        each method, ``c``, ``valid`` (MAP for every C), ``test`` (AP of the test topics at the chosen C),
        ``test_by_c`` (their MAP for every C), ``converged`` (for every C) and ``seconds`` (of the processor).
    """
    trials = _trials(collection, settings)
    cells = [
        Cell((column, number), _run_trial, (runs, trial, settings))
        for number, trial in enumerate(trials)
        for column, runs in collection.columns.items()
    ]
    return run_cells(cells, path, n_jobs=n_jobs, progress=progress)  # type: ignore[return-value]


def _trials(collection: Collection, settings: Settings) -> list[Trial]:
    return balanced_trials(
        len(collection.topics), settings.n_train, settings.n_valid, settings.trials, seed=settings.seed
    )


def _run_trial(runs: RunScores, trial: Trial, settings: Settings) -> dict[str, Any]:
    train, valid, test = (runs.take(part) for part in trial)
    found: dict[str, Any] = {}
    for form in dict.fromkeys(method.form for method in METHODS):
        queries, model = features_of(form, train, settings.grid.bins)
        judged_valid, judged_test = (_Judge(part, form, model) for part in (valid, test))
        for method in (method for method in METHODS if method.form == form):
            begun = time.process_time()
            steps = path(method, queries, model, settings.grid, seed=settings.seed)
            means = [float(judged_valid(step.params).mean()) for step in steps]
            tests = [judged_test(step.params) for step in steps]
            best = int(np.argmax(means))  # the first, so the smallest C, of equals
            found[method.name] = {
                "c": steps[best].c,
                "valid": means,
                "test": tests[best].tolist(),
                "test_by_c": [float(values.mean()) for values in tests],
                "converged": [step.is_converged for step in steps],
                "seconds": round(time.process_time() - begun, 2),
            }
    return {"test": trial.test.tolist(), "methods": {method.name: found[method.name] for method in METHODS}}


class _Judge:
    """Average precision of a model's parameters on some topics."""

    def __init__(self, topics: RunScores, form: Form, model: StumpModel) -> None:
        self._topics, self._model = topics, model
        self._rows = topics.queries(form).features

    def __call__(self, params: Float64Array) -> Float64Array:
        return average_precision(self._topics, self._model.forward(params, self._rows)[0])
