"""From the cells of all trials to the figures of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.experiments.significance import Paired, paired
from directrix.experiments.yue2007.collection import Collection
from directrix.experiments.yue2007.methods import METHODS
from directrix.experiments.yue2007.protocol import Settings
from directrix.types import Float64Array, Int64Array

__all__ = ["ColumnResult", "Figure", "results"]

_BASE = ("Best run", "2nd best", "3rd best")
_REFERENCE = METHODS[0].name


@dataclass(frozen=True, eq=False)
class Figure:
    """One method or run on one data set.

    Parameters
    ----------
    name : str
        Of the method; "Best run", "2nd best", "3rd best".
    values : float64 (n_topics,)
        Mean average precision of each topic over the trials that test it.
    against : Paired, or None
        SVMmap compared with it, topic by topic; None for SVMmap itself.
    run : str
        Name of the run, "" for a method.
    """

    name: str
    values: Float64Array
    against: Paired | None
    run: str = ""

    @property
    def mean(self) -> float:
        """MAP."""
        return float(self.values.mean())

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        against = None if self.against is None else self.against._asdict()
        return {
            "name": self.name,
            "run": self.run,
            "MAP": self.mean,
            "against": against,
            "topics": self.values.tolist(),
        }


@dataclass(frozen=True, eq=False)
class ColumnResult:
    """One data set.

    Parameters
    ----------
    name : str
        "basic", "plain + basic", "all", "all without the best".
    n_runs : int
        Of which features were made.
    topics : tuple of str
        That a trial tested: all of them if the trials are balanced.
    methods, base : tuple of Figure
        The trained methods, SVMmap first; the three best runs.
    chosen : dict of str to dict of float to int
        For each method, how often validation chose which C.
    by_c : dict of str to dict of float to float
        For each method, MAP of the test topics at each C, whatever validation chose; the mean over trials.
    seconds : dict of str to float
        For each method, processor time of all trials.
    not_converged : dict of str to int
        For each method, trainings that ended before their criterion was met.
    """

    name: str
    n_runs: int
    topics: tuple[str, ...]
    methods: tuple[Figure, ...]
    base: tuple[Figure, ...]
    chosen: dict[str, dict[float, int]]
    by_c: dict[str, dict[float, float]]
    seconds: dict[str, float]
    not_converged: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        figures = {name: [f.to_dict() for f in getattr(self, name)] for name in ("methods", "base")}
        rest = {
            name: getattr(self, name)
            for name in ("n_runs", "topics", "chosen", "by_c", "seconds", "not_converged")
        }
        return {"column": self.name, **rest, **figures}


def results(
    collection: Collection, settings: Settings, cells: Mapping[tuple[str, int], Any]
) -> tuple[ColumnResult, ...]:
    r"""Figures of every data set.

    The value of a topic is the mean of its average precision over the trials that test it, and MAP the
    mean over topics. In balanced trials that is the mean over all trials of their MAP, too.

    Parameters
    ----------
    collection, settings
        As given to `run_trials`.
    cells
        What that returned.

    Returns
    -------
    tuple of ColumnResult
        In the order of the data sets.
    """
    return tuple(_column(name, collection, settings, cells) for name in collection.columns)


def _column(
    name: str, collection: Collection, settings: Settings, cells: Mapping[tuple[str, int], Any]
) -> ColumnResult:
    trials = [cells[name, number] for number in range(settings.trials)]
    tested = np.unique(np.concatenate([trial["test"] for trial in trials]))
    values = {method.name: _by_topic(trials, method.name, tested) for method in METHODS}
    base = collection.base[name][: len(_BASE)]
    reference = values[_REFERENCE]
    grids = {m.name: settings.grid.c_of(m) for m in METHODS}
    of = {m.name: [trial["methods"][m.name] for trial in trials] for m in METHODS}
    return ColumnResult(
        name=name,
        n_runs=len(collection.columns[name].tags),
        topics=tuple(collection.topics[topic] for topic in tested),
        methods=tuple(
            Figure(method, found, None if method == _REFERENCE else paired(reference, found))
            for method, found in values.items()
        ),
        base=tuple(
            Figure(place, run.values[tested], paired(reference, run.values[tested]), run.name)
            for place, run in zip(_BASE, base, strict=False)
        ),
        chosen={m: {c: sum(t["c"] == c for t in of[m]) for c in grids[m]} for m in of},
        by_c={
            m: dict(zip(grids[m], np.mean([t["test_by_c"] for t in of[m]], axis=0).tolist(), strict=True))
            for m in of
        },
        seconds={m: float(sum(t["seconds"] for t in of[m])) for m in of},
        not_converged={m: sum(t["converged"].count(False) for t in of[m]) for m in of},
    )


def _by_topic(trials: list[Any], method: str, tested: Int64Array) -> Float64Array:
    topics = np.concatenate([trial["test"] for trial in trials])
    values = np.concatenate([trial["methods"][method]["test"] for trial in trials])
    place = np.searchsorted(tested, topics)
    return np.asarray(np.bincount(place, weights=values) / np.bincount(place))
