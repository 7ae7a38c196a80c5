"""What all trainers share: the steps so far, the callback that sees them, and why the training ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import InputError
from directrix.types import Callback, Float64Array, Result, Status, Step


class _Ended(Exception):
    """Leave the trainer's loop."""


class Progress:
    """One training under way; ``with progress:`` is the block that `step` and `end` may leave.

    ``params`` and ``loss`` are those of the last step; of the start and NaN before the first. ``trace`` has
    one row per step; ``status`` and ``message`` say why it ended.
    """

    status: Status
    message: str

    def __init__(self, start: Float64Array, callback: Callback | None) -> None:
        self.params, self.loss = as_floats(start, "start").copy(), np.nan
        if self.params.ndim != 1:
            raise InputError(
                f"start has shape {self.params.shape}; a vector is needed, one number per parameter."
            )
        self.callback = callback
        self.trace: list[dict[str, Any]] = []

    @property
    def iterations(self) -> int:
        """Steps after the start."""
        return max(len(self.trace) - 1, 0)

    def step(self, params: Float64Array, loss: float, **columns: Any) -> None:
        """Record a step, with further columns of the trace; ends if the callback says so."""
        number = len(self.trace)
        self.params, self.loss = np.array(params), loss
        self.trace.append({"iteration": number, "loss": loss, **columns})
        seen = Step(number, loss, params, columns.get("score", np.nan))
        if self.callback is not None and self.callback(seen):
            self.end("stopped", "stopped by the callback")

    def end(self, status: Status, message: str) -> None:
        """Leave the block."""
        self.status, self.message = status, message
        raise _Ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is _Ended

    def result(self, counts: dict[str, int] | None = None, **more: Any) -> Result:
        """Return the last step as the result, with its number in ``counts`` and further fields."""
        counts = {"iterations": self.iterations, **(counts or {})}
        return Result(self.params, float(self.loss), self.status, self.message, counts, self.trace, **more)


def added_counts(results: Iterable[Result]) -> dict[str, int]:
    """Add up the counts of several runs, except for ``best``, which is the number of a step."""
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.counts)
    del total["best"]
    return dict(total)
