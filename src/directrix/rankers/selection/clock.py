"""How long the trainings of a search may take, and steps that suit the time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from directrix.kernels import working_time
from directrix.rankers.method import Trial
from directrix.rankers.selection.curve import StepClock
from directrix.types import Step

_TIMED = 3  # trees, after which it is known how many fit into the time
_DISTANCE = 40.0  # number of trees times their learning rate
_HIGHEST_RATE = 0.15

Progress = Callable[[int, int, str], None]
"""Called with the number of finished trials, the number of all, and what is being trained."""


class Clock:
    """Reports the progress of ``total`` trials, and stops trainings after their share of a time budget.

    Seconds in which kernels are compiled do not count: they belong to no training.
    """

    def __init__(self, budget: float | None = None, total: int = 1, progress: Progress | None = None) -> None:
        self._begun = working_time()
        self._end = math.inf if budget is None else self._begun + budget
        self._stop = self._fold_stop = self._end
        self.total, self._progress = total, progress
        self._number, self._text = 0, ""
        self.cut_at: int | None = None
        """The step after which the trial was stopped, of its folds the first; None if it was not."""

    @property
    def used(self) -> float:
        """Seconds since the beginning."""
        return working_time() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left of the budget, < 0 if it is used up; infinity without one."""
        return self._end - working_time()

    @property
    def fold_left(self) -> float:
        """Seconds that are left for the training of this fold."""
        return self._fold_stop - working_time()

    def start(self, number: int, text: str, share: float = math.inf) -> None:
        """Begin a trial, which may take ``share`` seconds."""
        self._number, self._text, self.cut_at = number, text, None
        self._stop = min(working_time() + share, self._end)
        self._report("")

    def start_fold(self, folds_left: int) -> None:
        """Begin a fold, which may take an even part of what is left of the trial's share."""
        now = working_time()
        self._fold_stop = now + (self._stop - now) / folds_left

    def start_refit(self, text: str) -> None:
        """Begin a training on all queries, which no budget stops."""
        self._end = self._fold_stop = math.inf
        self.start(self.total, f"{text}, on all queries")

    def watch(self, step: Step) -> bool:
        """Report a step; True if the training must stop."""
        self._report(f", step {step.iteration}")
        if self.fold_left >= 0.0:
            return False
        self.cut_at = step.iteration if self.cut_at is None else min(self.cut_at, step.iteration)
        return True

    def _report(self, more: str) -> None:
        if self._progress is not None:
            self._progress(self._number, self.total, self._text + more)


class Pace:
    """A callback that stops the trees of a trial whose time is too short for their learning rate.

    Trees of a low rate are the best in the end, but far behind if the time ends before. If at the pace of
    the first three fewer than 40 / rate trees fit into the time, ``trial`` becomes one with the rate at which
    they suffice, at most .15; see docs/decisions/selection.md. A rate that was set remains.
    """

    def __init__(self, trial: Trial, ranker: Any, clock: Clock) -> None:
        self.trial, self._clock = trial, clock
        is_free = trial.method.model == "trees" and "learning_rate" not in trial.settings
        self._rate = float(ranker.learning_rate) if is_free else math.inf
        self._n_trees = int(ranker.n_trees) if is_free else 0
        self.steps = StepClock(clock.watch)

    def __call__(self, step: Step) -> bool:
        """Note the step; True if the training must stop."""
        if self.steps(step):
            return True
        if step.iteration == _TIMED and self._rate < math.inf:
            seconds = self.steps.seconds
            n_fitting = _TIMED + _TIMED * self._clock.fold_left / (seconds[_TIMED] - seconds[0])
            rate = min(round(_DISTANCE / n_fitting, 2), _HIGHEST_RATE)
            if rate > self._rate and n_fitting < self._n_trees:
                self.trial = self.trial._replace(settings={**self.trial.settings, "learning_rate": rate})
                return True
        return False
