"""A training that proves how good its result is: the best parameters and a lower bound of the loss."""

from __future__ import annotations

import numpy as np

from directrix.objectives.objective import Objective
from directrix.objectives.penalty import L2
from directrix.trainers.progress import Progress
from directrix.types import Callback, Float64Array, Int64Array, Result

_STALLED = 100  # steps
_FALL = 0.999  # factor by which the gap must fall within that number of steps


class Proof(Progress):
    """One training under way, whose ``params`` and ``loss`` are the best so far.

    The penalty has a strength > 0. It has converged at a gap of ``epsilon``; ``max_iter`` counts the steps
    after the start.
    """

    def __init__(
        self,
        objective: Objective,
        start: Float64Array,
        epsilon: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(start, callback)
        self.penalty = objective.penalty
        self.unpenalized = objective.penalized(L2())
        self.center = 0.0 if self.penalty.center is None else self.penalty.center
        self.epsilon, self.max_iter = epsilon, max_iter
        self.bare = self.loss = np.inf  # without and with the penalty
        self.dual = -np.inf
        self.oracle_calls = 0
        self._mark = (0, np.inf)
        self._rounding = float(np.finfo(self.unpenalized.queries.features.dtype).eps)

    @property
    def has_loss(self) -> bool:
        """Whether the loss of ``params`` is known."""
        return bool(np.isfinite(self.loss))

    @property
    def at_most_one(self) -> bool:
        """Whether the surrogate never exceeds 1, because it bounds a measure from below."""
        return "bound" in self.unpenalized.surrogate.traits

    def oracle(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array, float]:
        """Loss without penalty, its gradient, and the value of their plane at the penalty's center.

        That value is lowered by the possible rounding error of the scores, about the precision of the
        features times the sum of its absolute terms: large far away, where a plane proves little.
        """
        value, grad = self.unpenalized.value_and_grad(params, queries)
        self.oracle_calls += self.unpenalized.n_queries if queries is None else len(queries)
        change = grad * (params - self.center)
        error = self._rounding * (abs(value) + float(np.abs(change).sum()))
        return value, grad, value - float(change.sum()) - error

    def offer(self, params: Float64Array, bare: float) -> None:
        """Keep the parameters if they are the best so far; ``bare`` is their loss without penalty."""
        value = bare + self.penalty.value_and_grad(params)[0]
        if value < self.loss:
            self.params, self.bare, self.loss = np.array(params), bare, value

    def record(self, dual: float) -> None:
        """Record a step with a lower bound of the loss; ends where the gap, or the budget, says so."""
        self.dual = max(self.dual, dual)
        self.step(self.params, self.loss, dual=self.bound)
        number, gap = self.iterations, self.loss - self.dual
        if gap <= self.epsilon:
            self.end(
                "converged",
                f"converged after {number} iterations: the last is no more than {max(gap, 0.0):.2g} "
                "above the minimum",
            )
        if gap < _FALL * self._mark[1]:
            self._mark = number, gap
        if number - self._mark[0] >= _STALLED:
            self.end(
                "line_search",
                f"after {number} iterations the gap of {gap:.2g} does not fall any more: planes are exact "
                f"only to rounding; use float64 features, or a larger epsilon than {self.epsilon:g}",
            )
        if number >= self.max_iter:
            self.end(
                "max_iter",
                f"stopped after {number} iterations with a gap of {gap:.2g}; "
                f"raise max_iter={self.max_iter} to continue",
            )

    @property
    def bound(self) -> float:
        """The lower bound, but not above the loss of the best parameters, which rounding could cause."""
        return min(self.dual, self.loss)

    def proven(self, counts: dict[str, int]) -> Result:
        """Return what the trainer returns."""
        dual = self.bound if np.isfinite(self.dual) else None
        return self.result({"oracle_calls": self.oracle_calls, **counts}, dual=dual)
