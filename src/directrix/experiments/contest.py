"""The candidates of one entry on one fold: their trainings rung by rung, and which of them is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.cells import Cell
from directrix.experiments.crossval_cells import Job, try_candidate
from directrix.experiments.crossval_result import FoldResult, Tried
from directrix.experiments.splits import StoredSplit
from directrix.experiments.tuning import canonical
from directrix.rankers.method import Trial
from directrix.rankers.selection.choose import preferred
from directrix.rankers.selection.trial import Candidate

__all__ = ["Contest"]

Key = tuple[str | int, ...]


@dataclass
class Contest:
    """The candidates of one entry on one fold, and how far they have come.

    Parameters
    ----------
    name : str
        Of the entry.
    fold : StoredSplit
    trials : list of (Method, settings)
    job : Job
    mark : str
        What else figures depend on, shortened: part of every key.
    plan : list of (candidates, queries)
        Rungs, see `halving_rungs`; of a search without halving one.
    """

    name: str
    fold: StoredSplit
    trials: list[Trial]
    job: Job
    mark: str
    plan: list[tuple[int, int]]
    _alive: list[int] = field(init=False)
    _found: dict[int, dict[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._alive = list(range(len(self.trials)))

    def cells(self, rung: int) -> list[Cell]:
        """The trainings of a rung; none if the contest is over."""
        if rung >= len(self.plan):
            return []
        n = self.plan[rung][1]
        return [
            Cell(self._key(i, n), try_candidate, (self.fold, *self.trials[i], self.job, n))
            for i in self._alive
        ]

    def end(self, rung: int, results: Mapping[Key, Any]) -> None:
        """Take the results of a rung, and drop who goes no further."""
        if rung >= len(self.plan):
            return
        for i in self._alive:
            self._found[i] = {**results[self._key(i, self.plan[rung][1])], "rung": rung}
        trained = [i for i in self._alive if "failed" not in self._found[i]]
        if rung + 1 < len(self.plan) and trained:  # that none can be trained on few queries says nothing
            ranked = sorted(trained, key=lambda i: -_or_worst(self._found[i]["chosen_by"]))  # stable
            self._alive = sorted(ranked[: self.plan[rung + 1][0]])

    def result(self, measures: tuple[str, ...]) -> FoldResult:
        """Choose by validation among those that were trained on all queries.

        Raises
        ------
        InputError
            If none of them could be trained.
        """
        last = len(self.plan) - 1
        tried = tuple(_tried(t, self._found[i], last, measures) for i, t in enumerate(self.trials))
        whole = [i for i, each in enumerate(tried) if each.status not in ("failed", "dropped")]
        if not whole:
            message = next(each.message for each in tried if each.message)
            raise InputError(
                f"{self.name}, {self.fold.split.name}: none of {len(tried)} candidates could be trained: "
                + message
            )
        candidates = [self._candidate(i) for i in whole]
        best = preferred(candidates)
        chosen = next(i for i, each in zip(whole, candidates, strict=True) if each is best)
        found = self._found[chosen]
        values = np.array([[_or_nan(value) for value in each] for each in found["values"]])
        top = tuple(tuple((int(row), float(score)) for row, score in query) for query in found.get("top", ()))
        return FoldResult(tried, chosen, values, top)

    def _key(self, i: int, n_queries: int) -> Key:
        method, settings = self.trials[i]
        return self.name, self.fold.split.name, method.name, canonical(settings), n_queries, self.mark

    def _candidate(self, i: int) -> Candidate:
        """As a search has it, so that the choice is the same."""
        found, (method, settings) = self._found[i], self.trials[i]
        judged = np.array([_or_nan(value) for value in found.get("judged", ())])
        chosen_by = _or_nan(found["chosen_by"])
        return Candidate(method.name, settings, chosen_by, math.nan, 0, found["status"], 0.0, judged)


def _tried(trial: Trial, found: Mapping[str, Any], last: int, measures: tuple[str, ...]) -> Tried:
    method, settings = trial
    means = {
        part: {name: _or_nan(value) for name, value in zip(measures, found.get(part, ()), strict=False)}
        for part in ("train", "valid", "test")
    }
    is_failed, is_dropped = "failed" in found, found["rung"] < last
    return Tried(
        method=method.name,
        settings=settings,
        status="failed" if is_failed else "dropped" if is_dropped else found["status"],
        chosen_by=_or_nan(found.get("chosen_by")),
        **means,
        steps=found.get("steps", 0),
        seconds=found.get("seconds", 0.0),
        message=found.get("failed", ""),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _or_worst(value: float | None) -> float:
    return -math.inf if value is None else float(value)
