"""One training by full gradients under way, and L-BFGS with line searches that try several steps at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import as_floats
from directrix.objectives.box import nearest_in
from directrix.objectives.dead import check_start
from directrix.trainers.progress import Progress
from directrix.types import Callback, Float64Array

_ENOUGH_LOWER, _ENOUGH_FLATTER = 1e-4, 0.9
"""Constants of the Wolfe conditions: sufficient decrease, and curvature in its weak form, which also suits
losses with kinks."""
_ROUNDS = 10
"""Maximum number of questions in a line search."""


class Descent(Progress):
    """One training under way, with its number of evaluations and its budget."""

    def __init__(self, objective: Any, start: Float64Array, callback: Callback | None, max_iter: int) -> None:
        self.nearest = nearest_in(objective)
        super().__init__(self.nearest(as_floats(start, "start")), callback)
        self.objective, self.max_iter = objective, max_iter
        self.evaluations = 0

    def evaluate(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Loss and gradient; the first evaluation is a step as well, the start. Ends if not finite."""
        loss, grad = self.objective.value_and_grad(params)
        self.evaluations += 1
        if not _is_finite(loss, grad):
            self.end_not_finite()
        if not self.trace:
            check_start(params, grad, self.objective)
            self.step(params, loss)
        return loss, grad

    def end_not_finite(self) -> None:
        """End because of a loss or gradient that is not finite."""
        self.end(
            "not_finite",
            "the loss became NaN or infinite; scale the features (scale 'standard') or lower alpha",
        )

    def end_with(self, code: int) -> None:
        """End with SciPy's status: 0 converged, 1 budget used up, otherwise line search."""
        if code == 0:
            self.end("converged", f"converged after {self.iterations} iterations")
        if code == 1:
            self.end(
                "max_iter",
                f"stopped after {self.iterations} iterations; raise max_iter={self.max_iter} to continue",
            )
        self.end(
            "line_search",
            f"after {self.iterations} iterations no step lowers the loss any more: it is flat to rounding; "
            "float64 features or a larger l2 would allow further steps",
        )


def _is_finite(loss: float, grad: Float64Array) -> bool:
    return bool(np.isfinite(loss) and np.isfinite(grad).all())


class _Point(NamedTuple):
    """A point on a line."""

    t: float
    params: Float64Array
    loss: float
    grad: Float64Array
    slope: float


def along_lines(descent: Descent, n_steps: int, memory: int, tolerances: tuple[float, float]) -> int:
    """L-BFGS; each round of a line search is one call of ``values_and_grads``. Returns SciPy's status.

    ``tolerances`` are ``tol`` and ``ftol``.
    """
    tol, ftol = tolerances
    loss, grad = descent.evaluate(descent.params)
    pairs: deque[tuple[Float64Array, Float64Array]] = deque(maxlen=memory)
    while np.abs(grad).max() > tol:
        if descent.iterations == descent.max_iter:
            return 1
        line = -_times_inverse_hessian(pairs, grad)
        first = 1.0 if pairs else min(1.0, 1.0 / float(np.linalg.norm(grad)))
        start = _Point(0.0, descent.params, loss, grad, float(grad @ line))
        found = _best_on(descent, start, line, first, n_steps)
        if found is start:
            if not pairs:
                return 2
            pairs.clear()  # the direction of the gradient is tried next
            continue
        step, change = found.params - start.params, found.grad - grad
        if step @ change > np.finfo(np.float64).eps * (change @ change):
            pairs.append((step, change))
        loss, grad = found.loss, found.grad
        descent.step(found.params, loss)
        if start.loss - loss <= ftol * max(abs(start.loss), abs(loss), 1.0):
            return 0
    return 0


def _times_inverse_hessian(
    pairs: Iterable[tuple[Float64Array, Float64Array]], grad: Float64Array
) -> Float64Array:
    """The two loops of Nocedal & Wright (2006), Algorithm 7.4."""
    known = [(step, change, float(step @ change)) for step, change in pairs]
    product, taken = grad.copy(), []
    for step, change, curvature in reversed(known):
        taken.append(float(step @ product) / curvature)
        product -= taken[-1] * change
    if known:
        _, change, curvature = known[-1]
        product *= curvature / float(change @ change)
    for (step, change, curvature), before in zip(known, reversed(taken), strict=True):
        product += (before - float(change @ product) / curvature) * step
    return product


def _best_on(descent: Descent, start: _Point, line: Float64Array, first: float, n_steps: int) -> _Point:
    """Return the lowest of the first points that meet the conditions.

    Without any the last ``low``, which may be ``start``. The first lengths are ``first``, half of it, twice
    it, and so on.

    Between ``low``, from which the loss still falls steeply, and ``high``, where it is no longer low enough,
    there are such points (Lewis & Overton 2013, doi:10.1007/s10107-012-0514-2): each round divides that
    interval. A point that is not finite is too far.
    """
    if not start.slope < 0.0:
        return start
    low, high = start, np.inf
    lengths: Any = first * 2.0 ** (np.arange(n_steps) - (n_steps - 1) // 2)
    for _ in range(_ROUNDS):
        good, points = [], _points(descent, start, line, lengths)
        finite = [_is_finite(point.loss, point.grad) for point in points]
        for point, is_finite in zip(points, finite, strict=True):
            is_low = is_finite and point.loss <= start.loss + _ENOUGH_LOWER * point.t * start.slope
            if is_low and point.slope >= _ENOUGH_FLATTER * start.slope:
                good.append(point)
            elif is_low and point.t < high:
                low = point
            else:
                high = min(high, point.t)
        if good:
            return min(good, key=lambda point: point.loss)
        if np.isfinite(high):
            lengths = low.t + (high - low.t) * np.arange(1, n_steps + 1) / (n_steps + 1)
        else:
            lengths = low.t * 2.0 ** np.arange(1, n_steps + 1)
    if not any(finite):
        descent.end_not_finite()
    return low


def _points(descent: Descent, start: _Point, line: Float64Array, lengths: Float64Array) -> list[_Point]:
    params = start.params + lengths[:, None] * line
    losses, grads = descent.objective.values_and_grads(params)
    descent.evaluations += len(params)
    with np.errstate(invalid="ignore"):  # of gradients that are not finite
        return [
            _Point(float(t), vector, float(loss), grad, float(grad @ line))
            for t, vector, loss, grad in zip(lengths, params, losses, grads, strict=True)
        ]
