"""Time limits of the runs in a search, the times of their steps, and learning rates that suit the time."""

from __future__ import annotations

import math
import time

from directrix.kernels import working_time
from directrix.search import rules
from directrix.types import Progress, Step


class Clock:
    """Reports the progress of ``total`` candidates, and stops runs that used up their share of a budget.

    The compilation of kernels does not count, because it belongs to no run.
    """

    def __init__(self, budget: float | None = None, total: int = 1, progress: Progress | None = None) -> None:
        self.budget = math.inf if budget is None else budget
        self._begun, self._started = working_time(), time.perf_counter()
        # Training ends before the budget does, so that the last run can still be evaluated.
        self._end = self._begun + (1.0 - rules.UNSCORED) * self.budget
        self._stop = self._fold_stop = self._end
        self.total, self._progress = total, progress
        self._number, self._text = 0, ""
        self.is_stopped = False
        """Whether ``progress`` returned True, which ends the search as the end of a time budget does."""
        self.cut_at: int | None = None
        """The fewest steps after which a fold of the candidate was stopped; None if none was."""
        self.growth = rules.GROWTH
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

    def start(self, text: str, share: float = math.inf) -> None:
        """Begin a candidate, which may take ``share`` seconds."""
        self._text, self.cut_at = text, None
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
        self._number = self.total
        self.start(f"{text}, on all queries")

    def watch(self, step: Step) -> bool:
        """Report a step; True if training must stop."""
        self._report(f", step {step.iteration}")
        if self.fold_left >= 0.0 and not self.is_stopped:
            return False
        # Folds may be stopped after different numbers of steps. The smallest one is reported.
        self.cut_at = step.iteration if self.cut_at is None else min(self.cut_at, step.iteration)
        return True

    def _report(self, more: str) -> None:
        is_last = self._progress is not None and self._progress(self._number, self.total, self._text + more)
        # Callbacks may return any value, such as None or a count. Only True ends the search.
        if is_last is True:
            self.is_stopped, self._end = True, min(self._end, working_time())


class Pace:
    """A callback that records the time of each step, and increases a learning rate that is too low.

    Trees with a low rate are the best in the end, but far behind if time runs out first. If ``rate`` is
    given, and at the pace of the first three trees fewer than ``clock.growth / rate`` of ``n_trees`` fit into
    the time, training stops, and ``better_rate`` is that of `rate_for`, at most ``highest``.
    """

    def __init__(
        self, clock: Clock, rate: float = math.inf, n_trees: int = 0, highest: float = rules.RATE
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
        timed = rules.TIMED_TREES
        if step.iteration == timed and self._rate < math.inf:
            # Step 0 is the start. The seconds before it prepare the data, so the pace does not count them.
            n_fitting = timed + timed * self._clock.fold_left / (self.seconds[timed] - self.seconds[0])
            rate = rate_for(n_fitting, self._highest, self._clock.growth)
            if rate > self._rate and n_fitting < self._n_trees:
                self.better_rate = rate
                return True
        return False


def usual_growth(n_docs: int) -> float:
    """Return the learning rate times the number of trees that usually suffice for a number of documents."""
    return float(min(rules.GROWTH_PER_ROOT * (n_docs / 1e6) ** (1.0 / 3.0), rules.GROWTH))


def rate_for(n_trees: float, highest: float = rules.RATE, growth: float = rules.GROWTH) -> float:
    """Return the learning rate for a number of trees that the time limits, two decimals.

    It is ``growth / n``, at most .15; for fewer than 107 trees 16 / n, at most ``highest``. See
    docs/decisions/selection.md.
    """
    return round(min(growth / n_trees, max(rules.RATE, min(rules.GROWTH_OF_FEW / n_trees, highest))), 2)
