"""Time limits of the runs in a search, the times of their steps, and steps that suit the time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.kernels import working_time
from directrix.types import Float64Array, Progress, Step

_TIMED = 3  # trees, after which it is known how many fit into the time
_TO_JUDGE = 0.05  # of the budget: what was stopped last is scored, and the choice is made
HIGHEST_RATE, HIGHEST_RATE_OF_MANY = 0.15, 0.3  # of many documents the first trees alone do not overfit
_MOST_GROWTH = 40.0


class Clock:
    """Reports the progress of ``total`` candidates, and stops runs that used up their share of a budget.

    The compilation of kernels does not count, because it belongs to no run.
    """

    def __init__(self, budget: float | None = None, total: int = 1, progress: Progress | None = None) -> None:
        self.budget = math.inf if budget is None else budget
        self._begun, self._started = working_time(), time.perf_counter()
        self._end = self._begun + (1.0 - _TO_JUDGE) * self.budget
        self._stop = self._fold_stop = self._end
        self.total, self._progress = total, progress
        self._number, self._text = 0, ""
        self.is_stopped = False
        """Whether ``progress`` returned True, which ends the search as the end of a time budget does."""
        self.cut_at: int | None = None
        """The fewest steps after which a fold of the candidate was stopped; None if none was."""
        self.growth = _MOST_GROWTH
        """Learning rate times number of trees that suffice."""

    @property
    def used(self) -> float:
        """Seconds since the beginning."""
        return working_time() - self._begun

    @property
    def compiling(self) -> float:
        """Seconds since the beginning in which kernels were compiled."""
        return time.perf_counter() - self._started - self.used

    @property
    def left(self) -> float:
        """Remaining seconds for training, < 0 if they are used up; infinity without a budget."""
        return self._end - working_time()

    @property
    def fold_left(self) -> float:
        """Remaining seconds for training on this fold."""
        return self._fold_stop - working_time()

    def start(self, number: int, text: str, share: float = math.inf) -> None:
        """Begin a candidate, which may take ``share`` seconds."""
        self._number, self._text, self.cut_at = number, text, None
        self._stop = min(working_time() + share, self._end)
        self._report("")

    def finish(self, text: str) -> None:
        """End a candidate, and report its result."""
        self._number, self._text = self._number + 1, text
        self._report("")

    def start_fold(self, folds_left: int) -> None:
        """Begin a fold, which may take an even part of the candidate's remaining share."""
        now = working_time()
        self._fold_stop = now + (self._stop - now) / folds_left

    def start_refit(self, text: str) -> None:
        """Begin training on all queries, which no budget stops."""
        self._end = self._fold_stop = math.inf
        self.start(self.total, f"{text}, on all queries")

    def watch(self, step: Step) -> bool:
        """Report a step; True if training must stop."""
        self._report(f", step {step.iteration}")
        if self.fold_left >= 0.0 and not self.is_stopped:
            return False
        self.cut_at = step.iteration if self.cut_at is None else min(self.cut_at, step.iteration)
        return True

    def _report(self, more: str) -> None:
        is_last = self._progress is not None and self._progress(self._number, self.total, self._text + more)
        if is_last is True:  # a callback that returns anything else goes on
            self.is_stopped, self._end = True, min(self._end, working_time())


class Pace:
    """A callback that records the time of each step, and increases a learning rate that is too low.

    Trees with a low rate are the best in the end, but far behind if time runs out first. If ``rate`` is
    given, and at the pace of the first three trees fewer than ``clock.growth / rate`` of ``n_trees`` fit into
    the time, training stops, and ``better_rate`` is that of `rate_for`, at most ``highest``.
    """

    def __init__(
        self, clock: Clock, rate: float = math.inf, n_trees: int = 0, highest: float = HIGHEST_RATE
    ) -> None:
        self._clock, self._rate, self._n_trees, self._highest = clock, rate, n_trees, highest
        self._begun = working_time()
        self.seconds: dict[int, float] = {}
        self.better_rate: float | None = None

    def __call__(self, step: Step) -> bool:
        """Note the step; True if training must stop."""
        self.seconds[step.iteration] = working_time() - self._begun
        if self._clock.watch(step):
            return True
        if step.iteration == _TIMED and self._rate < math.inf:
            n_fitting = _TIMED + _TIMED * self._clock.fold_left / (self.seconds[_TIMED] - self.seconds[0])
            rate = rate_for(n_fitting, self._highest, self._clock.growth)
            if rate > self._rate and n_fitting < self._n_trees:
                self.better_rate = rate
                return True
        return False


def usual_growth(n_docs: int) -> float:
    """Return the learning rate times the number of trees that usually suffice for a number of documents.

    It is proportional to their cube root, 40 for 300,000; see docs/decisions/selection.md.
    """
    return float(min(60.0 * (n_docs / 1e6) ** (1.0 / 3.0), _MOST_GROWTH))


def rate_for(n_trees: float, highest: float = HIGHEST_RATE, growth: float = _MOST_GROWTH) -> float:
    """Return the learning rate for a number of trees that the time limits, two decimals.

    It is ``growth / n``, at most .15; for fewer than 107 trees 16 / n, at most ``highest``. See
    docs/decisions/selection.md.
    """
    return round(min(growth / n_trees, max(HIGHEST_RATE, min(16.0 / n_trees, highest))), 2)


class LearningCurve(NamedTuple):
    """One point per step reported to the callback, including the start; float64 (n_steps,) each."""

    steps: Float64Array
    seconds: Float64Array
    """Seconds since training began, without compilation. They depend on the machine and are not saved in
    model files."""
    loss: Float64Array
    """Loss that the trainer minimizes, as in `Step`; NaN if it is not known."""
    valid: Float64Array
    """The measure on the validation queries; NaN unless the best step is kept."""
    best: Float64Array
    """The highest of ``valid`` so far. With folds, the mean of their highest, because each keeps its own
    step."""

    @classmethod
    def of(cls, trace: Sequence[Mapping[str, Any]], seconds: Mapping[int, float]) -> LearningCurve:
        """Join the trace of a `Result` with the times of its steps.

        Under `Restarts` a step is a whole run, and has the last row of that run.
        """
        rows = {int(row.get("restart", row["iteration"])): row for row in trace}
        seen = [
            (step, seconds[step], row["loss"], row.get("score", np.nan))
            for step, row in sorted(rows.items())
            if step in seconds
        ]
        steps, passed, loss, valid = np.array(seen, dtype=np.float64).reshape(-1, 4).T
        return cls(steps, passed, loss, valid, np.fmax.accumulate(valid))


def mean_curve(curves: Sequence[LearningCurve]) -> LearningCurve:
    """Return the mean of the folds after every step, and the sum of their seconds.

    A fold that ended earlier keeps the values of its last step. If a fold has no step, the curve has none.
    """
    shortest, longest = (f(curves, key=lambda curve: len(curve.steps)) for f in (min, max))
    if len(curves) == 1 or not len(shortest.steps):
        return shortest
    n = len(longest.steps)
    columns = [[np.pad(part, (0, n - len(part)), mode="edge") for part in curve] for curve in curves]
    _, seconds, *others = (np.stack(column) for column in zip(*columns, strict=True))
    return LearningCurve(longest.steps, seconds.sum(axis=0), *(column.mean(axis=0) for column in others))
