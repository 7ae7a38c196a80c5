"""The concave-convex procedure: losses that are convex once a part of them is fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from directrix.objectives.objective import Objective
from directrix.trainers.progress import Progress, added_counts
from directrix.types import Callback, Float64Array, Result


def in_rounds(
    objective: Objective,
    start: Float64Array,
    callback: Callback | None,
    epsilon: float,
    train: Callable[[Objective, Float64Array], Result],
) -> Result:
    """Convexify, train the convex loss, and repeat there, until a round gains less than ``epsilon``.

    ``objective.convexified(params)`` is a convex loss nowhere below its own, and equal to it at the
    parameters. ``train`` minimizes it from there; a status other than "converged" ends the rounds with it.

    A step of the result's trace, and for the callback, is a round, and losses are those of ``objective``,
    which never rise. ``counts`` add up over the rounds; ``rounds`` is their number.
    """
    progress = Progress(start, callback)
    rounds: list[Result] = []
    with progress:
        value = progress.loss = objective.value_and_grad(progress.params)[0]
        if not np.isfinite(value):
            progress.end("not_finite", "the loss of the start is not finite")
        progress.step(progress.params, value)
        while True:
            result = train(objective.convexified(progress.params), progress.params)
            rounds.append(result)
            before, value = value, objective.value_and_grad(result.params)[0]
            progress.step(result.params, value)
            if result.status != "converged":
                progress.end(result.status, f"round {len(rounds)}: {result.message}")
            if before - value < epsilon:
                progress.end("converged", f"round {len(rounds)} lowered the loss by less than {epsilon:g}")
    return replace(progress.result(), counts=added_counts(rounds) | {"rounds": len(rounds)})
