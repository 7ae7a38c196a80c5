"""Learning curves: loss and validation measure of a training against steps and seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.kernels import working_time
from directrix.types import Callback, Float64Array, Step


class LearningCurve(NamedTuple):
    """One point per step that a callback saw, the start included; float64 (n_steps,) each."""

    steps: Float64Array
    seconds: Float64Array
    """Since the training began, without compilation. They depend on the machine; no model file has them."""
    loss: Float64Array
    """What the trainer lowers, as in `Step`; NaN if it is not known."""
    valid: Float64Array
    """The measure on the validation queries; NaN unless the best step is kept."""
    best: Float64Array
    """The highest of ``valid`` so far. With folds the mean of their highest, as each keeps its own step."""

    @classmethod
    def of(cls, trace: Sequence[Mapping[str, Any]], seconds: Mapping[int, float]) -> LearningCurve:
        """Join the trace of a `Result` with the seconds at which a `StepClock` saw its steps.

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


class StepClock:
    """A callback that notes when it saw each step, and passes it on."""

    def __init__(self, callback: Callback) -> None:
        self.seconds: dict[int, float] = {}
        self._begun, self._callback = working_time(), callback

    def __call__(self, step: Step) -> bool | None:
        """Note the step; True if the callback wants to stop."""
        self.seconds[step.iteration] = working_time() - self._begun
        return self._callback(step)


def mean_curve(curves: Sequence[LearningCurve]) -> LearningCurve:
    """Return the mean of the folds after every step, and the sum of their seconds.

    A fold that ended earlier keeps the figures of its last step. If a fold has no step, the curve has none.
    """
    shortest, longest = (f(curves, key=lambda curve: len(curve.steps)) for f in (min, max))
    if len(curves) == 1 or not len(shortest.steps):
        return shortest
    n = len(longest.steps)
    columns = [[np.pad(part, (0, n - len(part)), mode="edge") for part in curve] for curve in curves]
    _, seconds, *others = (np.stack(column) for column in zip(*columns, strict=True))
    return LearningCurve(longest.steps, seconds.sum(axis=0), *(column.mean(axis=0) for column in others))
