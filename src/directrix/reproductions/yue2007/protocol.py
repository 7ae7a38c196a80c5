"""The protocol of section 5: trials, a C chosen by validation, values on the test topics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.trec.features import RunScores
from directrix.experiments.cells import Cell
from directrix.reproductions.base import SeededSettings
from directrix.reproductions.runner import Runner
from directrix.reproductions.yue2007.constraints import Constraints, constraints_of, count_constraints
from directrix.reproductions.yue2007.methods import METHODS, QUICK_GRID, Grid, features_of, train_path
from directrix.reproductions.yue2007.results import DataSetResult, result_of
from directrix.reproductions.yue2007.runs import Runs, average_precision, read_runs
from directrix.reproductions.yue2007.texts import text_runs
from directrix.reproductions.yue2007.trials import Trial, balanced_trials


@dataclass(frozen=True)
class Settings(SeededSettings):
    """What results depend on besides the data."""

    # seed: of the splits and of the classification
    trials: int = 50  # number of splits of the topics; a multiple of 10 uses 50 topics equally often
    # n_train, n_valid: topics of 50 to train and to validate on, of other numbers the same shares; the
    # others test
    n_train: int = 10
    n_valid: int = 5
    counted: int = 5  # first trials whose constraints are counted
    grid: Grid = field(default_factory=Grid)  # of the training

    def trials_of(self, n_topics: int) -> list[Trial]:
        """Return the splits of a number of topics."""
        n_train, n_valid = (n * n_topics // 50 for n in (self.n_train, self.n_valid))
        return balanced_trials(n_topics, n_train, n_valid, self.trials, seed=self.seed)


QUICK = Settings(trials=2, counted=1, grid=QUICK_GRID)
"""Settings of a quick run."""


@dataclass(frozen=True, eq=False)
class Results:
    """All results."""

    settings: Settings
    data_sets: tuple[DataSetResult, ...]
    constraints: tuple[Constraints, ...]  # of each data set


def read(data: Path, settings: Settings) -> dict[str, Runs]:
    """Read the runs and judgments of TREC-7, and make those of the collections with documents."""
    return {"TREC-7": read_runs(data), **text_runs(data)}


def run(data: Mapping[str, Runs], settings: Settings, runner: Runner) -> Results:
    """Run every trial on every data set."""
    of = [(runs, name, scores) for runs in data.values() for name, scores in runs.data_sets.items()]
    trials = {name: settings.trials_of(len(runs.topics)) for runs, name, _ in of}
    counted = range(min(settings.counted, settings.trials))
    cells = [
        Cell((name, t, "constraints"), count_constraints, (scores.take(trials[name][t].train), settings.grid))
        for t in counted
        for _, name, scores in of
    ]
    cells += [
        Cell((name, t), _run_trial, (scores, trials[name][t], settings))
        for t in range(settings.trials)
        for _, name, scores in of
    ]
    finished = runner.cells("trials of a data set", cells)
    constraints = tuple(
        constraints_of(name, [finished[name, number, "constraints"] for number in counted])
        for _, name, _ in of
    )
    results = (
        result_of(
            name,
            runs,
            settings.grid,
            features_of("score", scores.take(trials[name][0].train), settings.grid.bins)[1].n_params,
            [finished[name, t] for t in range(settings.trials)],
        )
        for runs, name, scores in of
    )
    return Results(settings, tuple(results), constraints)


def _run_trial(runs: RunScores, trial: Trial, settings: Settings) -> dict[str, Any]:
    """Return, as JSON, the positions of the test topics, and the results of every method.

    Of a method these are the chosen ``c``; ``valid``, MAP for every C; ``test``, AP of the test topics at the
    chosen C; ``test_by_c``, their MAP for every C; ``converged``, for every C; ``seconds`` of the processor.
    """
    train, valid, test = (runs.take(part) for part in trial)
    results: dict[str, Any] = {}
    for form in dict.fromkeys(method.form for method in METHODS):
        queries, model = features_of(form, train, settings.grid.bins)
        valid_rows, test_rows = (part.queries(form).features for part in (valid, test))
        for method in (method for method in METHODS if method.form == form):
            begun = time.process_time()
            steps = train_path(method, queries, model, settings.grid, seed=settings.seed)
            scores = [model.forward(step.params, valid_rows)[0] for step in steps]
            means = [float(average_precision(valid, one).mean()) for one in scores]
            tests = [average_precision(test, model.forward(step.params, test_rows)[0]) for step in steps]
            best = int(np.argmax(means))  # the first, so the smallest C, of equals
            results[method.name] = {
                "c": steps[best].c,
                "valid": means,
                "test": tests[best].tolist(),
                "test_by_c": [float(values.mean()) for values in tests],
                "converged": [step.is_converged for step in steps],
                "seconds": round(time.process_time() - begun, 2),
            }
    return {"test": trial.test.tolist(), "methods": {method.name: results[method.name] for method in METHODS}}


def seconds(results: Results) -> dict[str, float]:
    """Return the processor time of all trainings."""
    return {"training": sum(sum(one.seconds.values()) for one in results.data_sets)}


def more(results: Results) -> dict[str, Any]:
    """Return the results of every data set for ``tables.json``."""
    return {"columns": [one.to_dict() for one in results.data_sets]}
