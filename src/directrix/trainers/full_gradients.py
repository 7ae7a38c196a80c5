"""What trainers that follow full gradients share: evaluations that are counted, and SciPy's ways to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.threads import one_blas_thread
from directrix.trainers.progress import Progress
from directrix.trainers.requirements import check_values
from directrix.types import Callback, Float64Array, Objective, Result


class Descent(Progress):
    """One training under way, with the number of evaluations; ``max_iter`` is for the message."""

    def __init__(
        self, objective: Objective, start: Float64Array, callback: Callback | None, max_iter: int
    ) -> None:
        super().__init__(start, callback)
        self.objective, self.max_iter = objective, max_iter
        self.evaluations = 0

    def evaluate(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Loss and gradient; the first evaluation is a step as well, the start. Ends if not finite."""
        loss, grad = self.objective.value_and_grad(params)
        self.evaluations += 1
        if not (np.isfinite(loss) and np.isfinite(grad).all()):
            self.end(
                "not_finite",
                "the loss became NaN or infinite; scale the features (scale 'standard') or lower alpha",
            )
        if not self.trace:
            self.step(params, loss)
        return loss, grad

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


@one_blas_thread()  # once for all: threads of BLAS that come back after every gradient slow the next one
def descend(
    trainer: Any,
    loop: Callable[[Descent], int],
    objective: Objective,
    start: Float64Array,
    callback: Callback | None,
) -> Result:
    """Run ``loop`` on a new `Descent` until it returns SciPy's status, or a step or evaluation ends it."""
    check_values(objective, type(trainer).__name__)
    descent = Descent(objective, start, callback, trainer.max_iter)
    with descent:
        if not len(descent.params):  # SciPy has no answer to that
            descent.evaluate(descent.params)
            descent.end("converged", "there are no parameters")
        descent.end_with(loop(descent))
    return descent.result({"evaluations": descent.evaluations})
