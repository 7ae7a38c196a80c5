"""The candidates of one entry on one fold: their trainings rung by rung, and the choice between them."""

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

Key = tuple[str | int, ...]


@dataclass
class Contest:
    """The candidates of one entry on one fold, with their results so far."""

    name: str  # of the entry
    fold: StoredSplit
    trials: list[Trial]
    job: Job
    mark: str  # short digest of what else figures depend on; part of every key
    plan: list[tuple[int, int]]  # rungs as candidates and queries, see `halving_rungs`; one without halving
    _outcomes: dict[int, dict[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._alive = list(range(len(self.trials)))

    def cells(self, rung: int) -> list[Cell]:
        """Return the trainings of a rung; none after the last rung."""
        if rung >= len(self.plan):
            return []
        n = self.plan[rung][1]
        return [
            Cell(self._key(i, n), try_candidate, (self.fold, *self.trials[i], self.job, n))
            for i in self._alive
        ]

    def end(self, rung: int, results: Mapping[Key, Any]) -> None:
        """Take the results of a rung, and drop the candidates that are not in the next one."""
        if rung >= len(self.plan):
            return
        for i in self._alive:
            self._outcomes[i] = {**results[self._key(i, self.plan[rung][1])], "rung": rung}
        trained = [i for i in self._alive if "failed" not in self._outcomes[i]]
        if rung + 1 < len(self.plan) and trained:  # if none can be trained on few queries, none is dropped
            ranked = sorted(trained, key=lambda i: -_or_worst(self._outcomes[i]["chosen_by"]))  # stable
            self._alive = sorted(ranked[: self.plan[rung + 1][0]])

    def result(self, measures: tuple[str, ...]) -> FoldResult:
        """Choose by validation between the candidates that were trained on all queries.

        Raises `InputError` if none of them could be trained.
        """
        last = len(self.plan) - 1
        tried = tuple(_tried(t, self._outcomes[i], last, measures) for i, t in enumerate(self.trials))
        whole = [i for i, each in enumerate(tried) if each.status not in ("failed", "dropped")]
        if not whole:
            failed = next(self._outcomes[i] for i, each in enumerate(tried) if each.message)
            raise InputError(
                f"{self.name}, {self.fold.split.name}: none of {len(tried)} candidates could be trained:",
                python=failed["failed"],
                shell=failed["in_shell"],
            )
        candidates = [self._candidate(i) for i in whole]
        best = preferred(candidates)
        chosen = next(i for i, each in zip(whole, candidates, strict=True) if each is best)
        outcome = self._outcomes[chosen]
        values = np.array([[_or_nan(value) for value in each] for each in outcome["values"]])
        top = tuple(
            tuple((int(row), float(score)) for row, score in query) for query in outcome.get("top", ())
        )
        return FoldResult(tried, chosen, values, top)

    def _key(self, i: int, n_queries: int) -> Key:
        method, settings = self.trials[i]
        return self.name, self.fold.split.name, method.name, canonical(settings), n_queries, self.mark

    def _candidate(self, i: int) -> Candidate:
        """The candidate as `directrix.search` describes it, so that both choose alike."""
        outcome, (method, settings) = self._outcomes[i], self.trials[i]
        judged = np.array([_or_nan(value) for value in outcome.get("judged", ())])
        chosen_by = _or_nan(outcome["chosen_by"])
        return Candidate(method.name, settings, chosen_by, math.nan, 0, outcome["status"], 0.0, judged)


def _tried(trial: Trial, outcome: Mapping[str, Any], last: int, measures: tuple[str, ...]) -> Tried:
    method, settings = trial
    means = {
        part: {name: _or_nan(value) for name, value in zip(measures, outcome.get(part, ()), strict=False)}
        for part in ("train", "valid", "test")
    }
    is_failed, is_dropped = "failed" in outcome, outcome["rung"] < last
    return Tried(
        method=method.name,
        settings=settings,
        status="failed" if is_failed else "dropped" if is_dropped else outcome["status"],
        chosen_by=_or_nan(outcome.get("chosen_by")),
        **means,
        steps=outcome.get("steps", 0),
        seconds=outcome.get("seconds", 0.0),
        message=outcome.get("failed", ""),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _or_worst(value: float | None) -> float:
    return -math.inf if value is None else float(value)
