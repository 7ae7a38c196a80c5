"""One trial of a search: trained and judged on folds, and its ranker trained again on all queries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.split import fold_numbers
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.inputs import Weights
from directrix.rankers.method import Trial
from directrix.rankers.training import mean_over_queries, values_of
from directrix.types import Array, Float64Array, Step

_FEWEST_TO_SPLIT = 10
_ENOUGH_TO_HOLD_BACK = 1000
_FOLDS = 5


class Fold(NamedTuple):
    """Queries to train on, their weights, and queries that judge."""

    train: Queries
    weights: Weights
    judge: Queries


def selection_folds(
    q: Queries, valid: Queries | None, weights: Weights, folds: int | None, seed: int
) -> tuple[list[Fold], str]:
    """Return the folds, and in words which queries choose; see `search`."""
    if valid is not None:
        return [Fold(q, weights, valid)], f"{valid.n_queries} validation queries"
    if q.n_queries < _FEWEST_TO_SPLIT:
        return [Fold(q, weights, q)], f"the training queries ({q.n_queries}, too few to hold some out)"
    if folds is None:
        folds = _FOLDS if q.n_queries < _ENOUGH_TO_HOLD_BACK else 1
    if folds > q.n_queries:
        raise InputError(
            f"folds={folds} for {q.n_queries} queries: every fold needs a validation query.",
            python=f"Type at most folds={q.n_queries}, or leave it out for {_FOLDS}.",
            shell=f"Type at most --folds {q.n_queries}, or leave it out for {_FOLDS}.",
        )
    number = fold_numbers(q.n_queries, max(folds, _FOLDS if folds == 1 else 2), seed=seed)
    parts = [_fold(q, weights, number == fold) for fold in range(folds)]
    if folds == 1:
        judged = f"{parts[0].judge.n_queries} of {q.n_queries} queries held back"
    else:
        judged = f"{q.n_queries} queries in {folds} folds"
    return parts, f"{judged} (seed {seed}), then trained on all"


def _fold(q: Queries, weights: Weights, is_held_back: Array) -> Fold:
    by_document, by_query = weights
    is_training = ~is_held_back
    rows = np.repeat(is_training, np.diff(q.qptr))
    part = (
        None if by_document is None else by_document[rows],
        None if by_query is None else by_query[is_training],
    )
    return Fold(q.take(np.flatnonzero(is_training)), part, q.take(np.flatnonzero(is_held_back)))


Progress = Callable[[int, int, str], None]
"""Called with the number of finished trials, the number of all, and what is being trained."""


@dataclass(frozen=True)
class Target:
    """What the rankers of a search are trained for and judged by."""

    measure: RankingMeasure  # judges, and chooses the step that is kept
    trained_for: RankingMeasure | None = None  # what methods are told to train for, if it is another one
    seed: int = 0  # of trainers that draw at random

    def ranker(self, trial: Trial) -> Any:
        """Return the unfitted ranker of a trial."""
        return trial.ranker(self.trained_for or self.measure, self.seed)


@dataclass(frozen=True)
class Candidate:
    """One setting of the grid and its figures.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : mapping
        What was set.
    valid, train : float
        Mean of the measure on the validation and the training queries.
    steps : int
        Iterations, epochs, rounds or trees of the ranker that was judged; the median over folds.
    status : str
        Why training stopped, see `Result`; of the last fold.
    seconds : float
        Duration of training and judging.
    values : float64 (n_queries,)
        The measure on every validation query, NaN where it is undefined.
    """

    method: str
    settings: Mapping[str, Any]
    valid: float
    train: float
    steps: int
    status: str
    seconds: float = field(compare=False)
    values: Float64Array = field(compare=False, repr=False)

    @property
    def or_worst(self) -> float:
        """``valid``, and less than anything where the measure is undefined."""
        return -math.inf if math.isnan(self.valid) else self.valid

    @property
    def label(self) -> str:
        """Method and settings in one line: ``ApproxNDCG alpha=10 l2=0.001``."""
        settings = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.settings.items())
        return " ".join([self.method, *settings])


class Trained(NamedTuple):
    """A trial that was trained: its figures, and its fitted rankers, one per fold."""

    trial: Trial
    candidate: Candidate
    rankers: tuple[Any, ...]


class Clock:
    """Reports the progress of ``total`` trials, and stops a training after a time budget in seconds."""

    def __init__(self, budget: float | None = None, total: int = 1, progress: Progress | None = None) -> None:
        self._end = math.inf if budget is None else time.monotonic() + budget
        self._total, self._progress = total, progress
        self._number, self._text = 0, ""
        self.was_cut = False

    @property
    def is_late(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() > self._end

    def start(self, number: int, text: str) -> None:
        """Begin a trial."""
        self._number, self._text = number, text
        self._report("")

    def start_refit(self, text: str) -> None:
        """Begin the last training, which no budget stops."""
        self._end = math.inf
        self.start(self._total, f"{text}, on all queries")

    def watch(self, step: Step) -> bool:
        """Report a step; True if the training must stop. The first trial is always finished."""
        self._report(f", step {step.iteration}")
        self.was_cut = self._number > 0 and self.is_late
        return self.was_cut

    def _report(self, more: str) -> None:
        if self._progress is not None:
            self._progress(self._number, self._total, self._text + more)


def run_trial(trial: Trial, folds: list[Fold], target: Target, clock: Clock) -> Trained | None:
    """Train and judge one trial; None if the time budget was used up before it was finished."""
    begun, measure = time.perf_counter(), target.measure
    rankers, values, trained, steps = [], [], [], []
    for fold in folds:
        ranker = target.ranker(trial)
        ranker.fit_queries(
            fold.train,
            fold.judge if trial.method.keeps_best and _is_defined(measure, fold.judge) else None,
            measure=measure,
            doc_weight=fold.weights[0],
            query_weight=fold.weights[1],
            callback=clock.watch,
        )
        if clock.was_cut:
            return None
        rankers.append(ranker)
        values.append(values_of(measure, ranker.predict_queries(fold.judge), fold.judge))
        trained.append(mean_over_queries(values_of(measure, ranker.predict_queries(fold.train), fold.train)))
        steps.append(_steps(ranker.result_.counts))
    judged = np.concatenate(values)
    candidate = Candidate(
        trial.method.name,
        trial.settings,
        mean_over_queries(judged),
        float(np.mean(trained)),
        int(np.median(steps)),
        ranker.result_.status,
        time.perf_counter() - begun,
        judged,
    )
    return Trained(trial, candidate, tuple(rankers))


def refit(trained: Trained, q: Queries, weights: Weights, target: Target, clock: Clock) -> Any:
    """Train the ranker of a trial on all queries, with as many steps as it had on the folds."""
    steps = trained.candidate.steps if trained.trial.method.keeps_best else math.inf

    def watch(step: Step) -> bool:
        return clock.watch(step) or step.iteration >= steps

    return target.ranker(trained.trial).fit_queries(
        q, measure=target.measure, doc_weight=weights[0], query_weight=weights[1], callback=watch
    )


def _is_defined(measure: RankingMeasure, q: Queries) -> bool:
    """Whether the measure is defined for any query, so that it can choose a step."""
    return not np.isnan(values_of(measure, np.zeros(q.n_docs), q)).all()


def _steps(counts: Mapping[str, int]) -> int:
    names = ("best", "iterations", "epochs", "rounds")
    return next((int(counts[name]) for name in names if name in counts), 0)
