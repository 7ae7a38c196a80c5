"""The concave-convex procedure: losses that are convex once a part of them is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.objectives.objective import Objective
from directrix.trainers.result import Result, Status, Step, added_counts
from directrix.types import Float64Array

__all__ = ["in_rounds"]


def in_rounds(
    objective: Objective,
    start: Float64Array,
    callback: Callable[[Step], bool | None] | None,
    epsilon: float,
    train: Callable[[Objective, Float64Array], Result],
) -> Result:
    """Hold, train what is held from there, and hold again, until a round gains less than ``epsilon``.

    Parameters
    ----------
    objective : Objective
        With a method ``held(params)``: a loss nowhere below its own, and equal to it at the parameters.
    start : float64 (n_params,)
        Where it is held first.
    callback : callable, or None
        Called with the start and after every round; returning True stops.
    epsilon : float > 0
        What a round must lower the loss by.
    train : callable
        Objective and start -> Result; a status other than "converged" ends the rounds with it.

    Returns
    -------
    Result
        A step of its trace is a round, and losses are those of ``objective``, which never rise. ``counts``
        add up over the rounds; ``rounds`` is their number.
    """
    params = np.array(start, dtype=np.float64)
    value = objective.value_and_grad(params)[0]
    trace: list[dict[str, Any]] = []
    rounds: list[Result] = []

    def ended(fall: float) -> tuple[Status, str] | None:
        trace.append({"iteration": len(trace), "loss": value})
        if callback is not None and callback(Step(len(trace) - 1, value, params)):
            return "stopped", "stopped by the callback"
        if fall < epsilon:
            return "converged", f"round {len(rounds)} lowered the loss by less than {epsilon:g}"
        return None

    end = ended(np.inf) if np.isfinite(value) else ("not_finite", "the loss of the start is not finite")
    while end is None:
        held = train(objective.held(params), params)
        rounds.append(held)
        params, before = held.params, value
        value = objective.value_and_grad(params)[0]
        end = ended(before - value)
        if held.status != "converged" and (end is None or end[0] != "stopped"):
            end = held.status, f"round {len(rounds)}: {held.message}"
    counts = added_counts(rounds) | {"rounds": len(rounds)}
    return Result(params, value, *end, counts, trace)
