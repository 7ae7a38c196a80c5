"""The time of a search: what the progress display shows, and when a training must stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from directrix.types import Step

__all__ = ["Clock", "Progress"]

Progress = Callable[[int, int, str], None]
"""Called with the candidates that are done, how many there are, and what is going on."""


class Clock:
    """Tells the progress display what is going on, and a training when to stop.

    Parameters
    ----------
    budget : float > 0, or None
        Seconds.
    total : int
        Candidates.
    progress : callable, optional
    """

    def __init__(self, budget: float | None, total: int, progress: Progress | None) -> None:
        self._end = math.inf if budget is None else time.monotonic() + budget
        self._total, self._progress = total, progress
        self._number, self._text = 0, ""
        self.was_cut = False

    @property
    def is_late(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() > self._end

    def start(self, number: int, text: str) -> None:
        """Begin a candidate."""
        self._number, self._text = number, text
        self._tell("")

    def last(self, text: str) -> None:
        """Begin the last training, which is not cut."""
        self._end = math.inf
        self.start(self._total, f"{text}, on all queries")

    def watch(self, step: Step) -> bool:
        """Show a step; True if the training must stop. The first candidate may always end."""
        self._tell(f", step {step.iteration}")
        self.was_cut = self._number > 0 and self.is_late
        return self.was_cut

    def _tell(self, more: str) -> None:
        if self._progress is not None:
            self._progress(self._number, self._total, self._text + more)
