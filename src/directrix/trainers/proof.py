"""A training that proves how good it is: the best parameters so far, and a lower bound of the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.objectives.objective import Objective
from directrix.objectives.penalty import L2
from directrix.trainers.result import Result, Status, Step
from directrix.types import Float64Array, Int64Array

__all__ = ["Proof"]

_STALLED = 100  # steps
_FALL = 0.999  # of the gap, which such a number of steps must bring at least


class Proof:
    """One training under way.

    Parameters
    ----------
    objective : Objective
        With a penalty of a strength > 0.
    start : float64 (n_params,)
        First parameters.
    epsilon : float > 0
        The gap at which it has converged.
    max_iter : int >= 1
        Steps after the start.
    callback : callable, or None
        Called with a `Step`; returning True stops.
    """

    def __init__(
        self,
        objective: Objective,
        start: Float64Array,
        epsilon: float,
        max_iter: int,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> None:
        self.penalty = objective.penalty
        self.loss = objective.penalised(L2())
        self.center = 0.0 if self.penalty.center is None else self.penalty.center
        self.epsilon, self.max_iter, self.callback = epsilon, max_iter, callback
        self.params = np.array(start, dtype=np.float64)
        self.bare = self.value = np.inf  # without and with the penalty
        self.dual = -np.inf
        self.oracle_calls = 0
        self.trace: list[dict[str, Any]] = []
        self._mark = (0, np.inf)
        self._rounding = float(np.finfo(self.loss.queries.features.dtype).eps)

    @property
    def iterations(self) -> int:
        """Steps after the start."""
        return max(len(self.trace) - 1, 0)

    @property
    def has_value(self) -> bool:
        """Whether the loss of ``params`` is known."""
        return bool(np.isfinite(self.value))

    @property
    def at_most_one(self) -> bool:
        """Whether the surrogate never exceeds 1, because it bounds a measure from below."""
        return "bound" in self.loss.surrogate.traits

    def oracle(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array, float]:
        """Loss without penalty, its gradient, and the value of their plane at the penalty's centre.

        That value is lowered by what rounding of the scores may have raised it by, about the precision of
        the features times what it is added up of: much for parameters far away, whose plane proves little.
        """
        value, grad = self.loss.value_and_grad(params, queries)
        self.oracle_calls += self.loss.n_queries if queries is None else len(queries)
        change = grad * (params - self.center)
        error = self._rounding * (abs(value) + float(np.abs(change).sum()))
        return value, grad, value - float(change.sum()) - error

    def offer(self, params: Float64Array, bare: float) -> None:
        """Keep the parameters if they are the best so far; ``bare`` is their loss without penalty."""
        value = bare + self.penalty.value_and_grad(params)[0]
        if value < self.value:
            self.params, self.bare, self.value = np.array(params), bare, value

    def step(self, dual: float) -> tuple[Status, str] | None:
        """Record a step with a lower bound of the loss; return why it ends there, if it does."""
        self.dual = max(self.dual, dual)
        number = len(self.trace)
        self.trace.append({"iteration": number, "loss": self.value, "dual": self.bound})
        if self.callback is not None and self.callback(Step(number, self.value, self.params)):
            return "stopped", "stopped by the callback"
        gap = self.value - self.dual
        if gap <= self.epsilon:
            return "converged", (
                f"converged after {number} iterations: the last is no more than {max(gap, 0.0):.2g} "
                "above the minimum"
            )
        if gap < _FALL * self._mark[1]:
            self._mark = number, gap
        if number - self._mark[0] >= _STALLED:
            return "line_search", (
                f"after {number} iterations the gap of {gap:.2g} does not fall any more: planes are exact "
                f"only to rounding; float64 features, or a larger epsilon than {self.epsilon:g}, would do"
            )
        if number >= self.max_iter:
            return "max_iter", (
                f"stopped after {number} iterations with a gap of {gap:.2g}; "
                f"raise max_iter={self.max_iter} to go on"
            )
        return None

    @property
    def bound(self) -> float:
        """The lower bound; by rounding it may have come out above a loss that was met."""
        return min(self.dual, self.value)

    def result(self, status: Status, message: str, counts: dict[str, int]) -> Result:
        """What the trainer returns."""
        return Result(
            self.params,
            float(self.value),
            status,
            message,
            {"iterations": self.iterations, "oracle_calls": self.oracle_calls, **counts},
            self.trace,
            dual=self.bound if np.isfinite(self.dual) else None,
        )
