"""What trainers that follow full gradients share: evaluating, reporting steps, and ways to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.threads import one_blas_thread
from directrix.trainers.result import Result, Status, Step, check_values
from directrix.types import Float64Array, Objective

__all__ = ["Descent", "check_tolerance", "descend"]


class _Ended(Exception):
    """Leave the optimiser's loop with a status and a message."""


class Descent:
    """One training under way: what has been evaluated, and the steps so far.

    Parameters
    ----------
    objective : Objective
        Loss and gradient over all queries.
    start : float64 (n_params,)
        First parameters.
    callback : callable, or None
        Called with a `Step`; returning True stops.
    """

    def __init__(
        self, objective: Objective, start: Float64Array, callback: Callable[[Step], bool | None] | None
    ) -> None:
        self.objective, self.callback = objective, callback
        self.params = np.array(start, dtype=np.float64)
        self.loss = np.nan
        self.evaluations = 0
        self.trace: list[dict[str, Any]] = []

    @property
    def iterations(self) -> int:
        """Steps after the start."""
        return max(len(self.trace) - 1, 0)

    def evaluate(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Loss and gradient; the first is a step as well, the start. Ends if they are not finite."""
        loss, grad = self.objective.value_and_grad(params)
        self.evaluations += 1
        if not (np.isfinite(loss) and np.isfinite(grad).all()):
            self.end(
                "not_finite",
                "the loss became NaN or infinite; scale the features (scale='standard') or lower alpha",
            )
        if not self.trace:
            self.step(params, loss)
        return loss, grad

    def step(self, params: Float64Array, loss: float) -> None:
        """Record a step and tell the callback. Ends if that says so."""
        self.params, self.loss = np.array(params), float(loss)
        self.trace.append({"iteration": len(self.trace), "loss": loss})
        if self.callback is not None and self.callback(Step(len(self.trace) - 1, loss, params)):
            self.end("stopped", "stopped by the callback")

    def end(self, status: Status, message: str) -> None:
        """Leave the loop."""
        raise _Ended(status, message)

    def reason(self, code: int, max_iter: int) -> tuple[Status, str]:
        """Status and message for SciPy's status: 0 converged, 1 budget used up, else line search."""
        if code == 0:
            return "converged", f"converged after {self.iterations} iterations"
        if code == 1:
            return (
                "max_iter",
                f"stopped after {self.iterations} iterations; raise max_iter={max_iter} to go on",
            )
        return "line_search", (
            f"after {self.iterations} iterations no step lowers the loss any more: it is flat to rounding; "
            "float64 features or a larger l2 would allow further steps"
        )


@one_blas_thread()  # once for all: threads of BLAS that come back after every gradient slow the next one
def descend(
    name: str,
    loop: Callable[[Descent], tuple[Status, str]],
    objective: Objective,
    start: Float64Array,
    callback: Callable[[Step], bool | None] | None,
) -> Result:
    """Run ``loop`` on a new `Descent` until it returns, or a step or evaluation ends it.

    Raises
    ------
    InputError
        If the objective is ``value_free``; the message has the trainer's ``name``.
    """
    check_values(objective, name)
    descent = Descent(objective, start, callback)
    try:
        if len(descent.params):
            status, message = loop(descent)
        else:  # SciPy has no answer to that
            descent.evaluate(descent.params)
            status, message = "converged", "there are no parameters"
    except _Ended as ended:
        status, message = ended.args
    counts = {"iterations": descent.iterations, "evaluations": descent.evaluations}
    return Result(descent.params, float(descent.loss), status, message, counts, descent.trace)


def check_tolerance(value: float, where: str) -> None:
    """Refuse a tolerance that is no number >= 0; ``where`` reads "LBFGS(tol=".

    Raises
    ------
    InputError
        Then.
    """
    if not 0.0 <= value < np.inf:
        name = where.rstrip("=").split("(")[1]
        raise InputError(f"{where}{value!r}): {name} must be a number >= 0.")
