"""L-BFGS, by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.trainers.result import Result, Status, Step, check_count, check_values
from directrix.types import Float64Array, Objective

__all__ = ["LBFGS"]


class _Stop(Exception):
    """Leave SciPy's loop, keeping the step where the callback said so."""


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with a strong-Wolfe line search (SciPy's L-BFGS-B without bounds).

    Parameters
    ----------
    max_iter : int >= 1
        Iterations, each one evaluation of the loss or a few.
    tol : float > 0
        Converged when no component of the gradient exceeds it.
    ftol : float >= 0
        Converged when an iteration lowers the loss by less than this, relative to max(abs(loss), 1).
    memory : int >= 1
        Pairs of steps and gradient changes that approximate the curvature.

    References
    ----------
    Liu & Nocedal (1989), doi:10.1007/BF01589116.
    """

    max_iter: int = 200
    tol: float = 1e-6
    ftol: float = 1e-9
    memory: int = 10

    def __post_init__(self) -> None:
        for name in ("max_iter", "memory"):
            check_count(getattr(self, name), f"LBFGS({name}=")
        for name in ("tol", "ftol"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"LBFGS({name}={getattr(self, name)!r}): {name} must be a number >= 0.")

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimise from ``start``.

        Parameters
        ----------
        objective : Objective
            Loss and gradient over all queries.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every iteration; returning True stops.

        Returns
        -------
        Result
            ``counts`` has iterations and evaluations.

        Raises
        ------
        InputError
            If the objective is ``value_free`` (LambdaRank): a line search needs its losses.
        """
        check_values(objective, "LBFGS")
        from scipy.optimize import minimize

        start = np.array(start, dtype=np.float64)
        trace: list[dict[str, Any]] = []
        last: dict[str, Any] = {"evaluations": 0}

        def evaluate(params: Float64Array) -> tuple[float, Float64Array]:
            loss, grad = objective.value_and_grad(params)
            last["evaluations"] += 1
            if not (np.isfinite(loss) and np.isfinite(grad).all()):
                raise _Stop("not_finite")
            if not trace:
                step(Step(0, loss, params))
            return loss, grad

        def step(now: Step) -> None:
            last.update(params=np.array(now.params), loss=now.loss)
            trace.append({"iteration": now.iteration, "loss": now.loss})
            if callback is not None and callback(now):
                raise _Stop("stopped")

        def iterate(intermediate_result: Any) -> None:
            step(Step(len(trace), float(intermediate_result.fun), intermediate_result.x))

        last.update(params=start, loss=np.nan)
        status: Status
        try:
            found = minimize(
                evaluate,
                start,
                jac=True,
                method="L-BFGS-B",
                callback=iterate,
                options={
                    "maxiter": self.max_iter,
                    "gtol": self.tol,
                    "ftol": self.ftol,
                    "maxcor": self.memory,
                    "maxfun": 25 * self.max_iter,  # SciPy's default of 15,000 would end long runs
                },
            )
            status, message = _reason(int(found.status), len(trace) - 1, self.max_iter)
        except _Stop as stop:
            status, message = _stopped(str(stop))
        counts = {"iterations": max(len(trace) - 1, 0), "evaluations": last["evaluations"]}
        return Result(last["params"], float(last["loss"]), status, message, counts, trace)


def _reason(code: int, iterations: int, max_iter: int) -> tuple[Status, str]:
    if code == 0:
        return "converged", f"converged after {iterations} iterations"
    if code == 1:
        return "max_iter", f"stopped after {iterations} iterations; raise max_iter={max_iter} to go on"
    return "line_search", (
        f"after {iterations} iterations no step lowers the loss any more: it is flat to rounding; "
        "float64 features or a larger l2 would allow further steps"
    )


def _stopped(why: str) -> tuple[Status, str]:
    if why == "stopped":
        return "stopped", "stopped by the callback"
    return "not_finite", (
        "the loss became NaN or infinite; scale the features (scale='standard') or lower alpha"
    )
