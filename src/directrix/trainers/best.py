"""Keep the parameters that are best by another criterion, and stop when it stops rising."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.trainers.result import Result, Step
from directrix.types import Float64Array, Objective, Trainer

__all__ = ["BestSoFar"]


@dataclass(frozen=True, eq=False)
class BestSoFar:
    """Wrap a trainer: of all its steps, return the one with the highest ``score``.

    Parameters
    ----------
    trainer : Trainer
        Does the work.
    score : callable
        Parameters (n_params,) -> float, higher is better; usually a measure on validation
        queries. It selects; it never changes the path.
    patience : int >= 1, or None
        Stop after so many steps without a new best; None = run to the end.
    """

    trainer: Trainer
    score: Callable[[Float64Array], float]
    patience: int | None = None

    def __post_init__(self) -> None:
        if self.patience is not None and not self.patience >= 1:
            raise InputError(
                f"BestSoFar(patience={self.patience!r}): patience must be an integer >= 1, or None."
            )

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimise from ``start``; ``value`` of the result is the loss at the chosen step.

        The trace gains a column ``score``.
        """
        scores: dict[int, float] = {}
        best: dict[str, Any] = {"score": -np.inf, "iteration": 0, "params": np.array(start), "loss": np.nan}

        def watch(step: Step) -> bool:
            scores[step.iteration] = now = float(self.score(step.params))
            if now > best["score"]:
                best.update(score=now, iteration=step.iteration, params=np.array(step.params), loss=step.loss)
            stop = bool(callback is not None and callback(step))
            return stop or (self.patience is not None and step.iteration - best["iteration"] >= self.patience)

        result = self.trainer.minimise(objective, start, callback=watch)
        trace = [{**row, "score": scores[row["iteration"]]} for row in result.trace]
        message = f"{result.message}; best at step {best['iteration']} with {best['score']:.4f}"
        if not scores:
            return result
        return replace(result, params=best["params"], value=float(best["loss"]), message=message, trace=trace)
