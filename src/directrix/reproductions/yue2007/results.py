"""From the trials on a data set to the values of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.experiments.significance import Paired, paired
from directrix.reproductions.yue2007.methods import METHODS, Grid
from directrix.reproductions.yue2007.runs import Runs
from directrix.types import Float64Array, Int64Array

SVM_MAP = METHODS[0].name
_PLACES = ("Best run", "2nd best", "3rd best")


@dataclass(frozen=True, eq=False)
class SystemResult:
    """One method or run on one data set."""

    name: str  # of the method; "Best run", "2nd best", "3rd best"
    values: Float64Array  # (n_topics,): mean average precision of each topic over the trials that test it
    against: Paired | None  # SVMmap compared with it, topic by topic; None for SVMmap itself
    run: str = ""  # name of the run, "" for a method

    @property
    def mean(self) -> float:
        """MAP."""
        return float(self.values.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types."""
        return {
            "name": self.name,
            "run": self.run,
            "MAP": self.mean,
            "against": None if self.against is None else self.against._asdict(),
            "topics": self.values.tolist(),
        }


@dataclass(frozen=True, eq=False)
class DataSetResult:
    """All methods and the best runs on one data set."""

    name: str  # "basic", "plain + basic", "all", "all without the best"
    n_runs: int  # number of runs that features were made of
    n_features: int  # thresholds of the first trial
    # n_documents, n_relevant: of all topics, in the union of the runs
    n_documents: int
    n_relevant: int
    topics: tuple[str, ...]  # topics that a trial tested: all of them if the trials are balanced
    # methods, base: the trained methods, SVMmap first; the three best runs
    methods: tuple[SystemResult, ...]
    base: tuple[SystemResult, ...]
    chosen: dict[str, dict[float, int]]  # for each method, how often validation chose which C
    # for each method, MAP of the test topics at each C, whatever validation chose; the mean over trials
    by_c: dict[str, dict[float, float]]
    seconds: dict[str, float]  # for each method, processor time of all trials
    # for each method, number of trainings that ended before their criterion was met
    not_converged: dict[str, int]

    @property
    def statistics(self) -> tuple[int, int, int, int]:
        """Runs, features, documents, relevant documents: the columns of Table 5."""
        return self.n_runs, self.n_features, self.n_documents, self.n_relevant

    def to_dict(self) -> dict[str, Any]:
        """Return the results in JSON types."""
        systems = {name: [one.to_dict() for one in getattr(self, name)] for name in ("methods", "base")}
        return {"column": self.name, **{k: v for k, v in vars(self).items() if k != "name"}, **systems}


def result_of(name: str, runs: Runs, grid: Grid, n_features: int, trials: Sequence[Any]) -> DataSetResult:
    r"""Return the results on a data set, from the trials on it and the grid that methods were trained with.

    ``n_features`` is the number of thresholds of the first trial.

    The value of a topic is the mean of its average precision over the trials that test it, and MAP the
    mean over topics. In balanced trials that is the mean over all trials of their MAP, too.
    """
    scores = runs.data_sets[name]
    tested = np.unique(np.concatenate([trial["test"] for trial in trials]))
    values = {method.name: _by_topic(trials, method.name, tested) for method in METHODS}
    reference = values[SVM_MAP]
    grids = {method.name: grid.c_of(method) for method in METHODS}
    of = {method: [trial["methods"][method] for trial in trials] for method in grids}
    return DataSetResult(
        name=name,
        n_runs=len(scores.tags),
        n_features=n_features,
        n_documents=len(scores.labels),
        n_relevant=int((scores.labels >= 1).sum()),
        topics=tuple(runs.topics[topic] for topic in tested),
        methods=tuple(
            SystemResult(method, one, None if method == SVM_MAP else paired(reference, one))
            for method, one in values.items()
        ),
        base=tuple(
            SystemResult(place, one[tested], paired(reference, one[tested]), run)
            for place, (run, one) in zip(_PLACES, runs.single[name].items(), strict=False)
        ),
        chosen={m: {c: sum(t["c"] == c for t in of[m]) for c in grids[m]} for m in of},
        by_c={
            m: dict(zip(grids[m], np.mean([t["test_by_c"] for t in of[m]], axis=0).tolist(), strict=True))
            for m in of
        },
        seconds={m: float(sum(t["seconds"] for t in of[m])) for m in of},
        not_converged={m: sum(t["converged"].count(False) for t in of[m]) for m in of},
    )


def _by_topic(trials: Sequence[Any], method: str, tested: Int64Array) -> Float64Array:
    topics = np.concatenate([trial["test"] for trial in trials])
    values = np.concatenate([trial["methods"][method]["test"] for trial in trials])
    place = np.searchsorted(tested, topics)
    return np.asarray(np.bincount(place, weights=values) / np.bincount(place))
