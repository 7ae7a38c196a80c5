"""Non-linear conjugate gradients, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from directrix.parameters import number, whole
from directrix.trainers.full_gradients import Descent, descend
from directrix.types import Callback, Float64Array, Objective, Result

_TRIALS = 20
"""Evaluations in a line search; SciPy would try 100 on a loss that is flat to rounding."""


class _Flat(Exception):
    """Leave a line search that finds nothing."""


@dataclass(frozen=True)
class CG:
    r"""Conjugate gradients with the update of Polak and Ribière and a strong-Wolfe line search.

    .. math:: d_t = -g_t + \max\Big(0, \frac{g_t \cdot (g_t - g_{t-1})}{g_{t-1} \cdot g_{t-1}}\Big)\, d_{t-1}

    It is what SmoothRank trains with. `LBFGS` usually needs fewer evaluations.

    Parameters
    ----------
    max_iter : int >= 1
        Iterations, each a line search of two evaluations or a few.
    tol : float >= 0
        Converged when no component of the gradient exceeds it.
    ftol : float >= 0
        Converged when an iteration lowers the loss by less than this, relative to max(abs(loss), 1).
    restart : int >= 1, or None
        Restart along the gradient after this number of iterations; None = the number of parameters.
        1 is steepest descent.

    References
    ----------
    Nocedal & Wright (2006), Numerical Optimization, Section 5.2 (PR+, Eq. 5.45);
    Chapelle & Wu (2010), Section 4.4, doi:10.1007/s10791-009-9110-3.
    """

    short_name: ClassVar[str] = "cg"
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (object,)

    max_iter: int = 200
    tol: float = 1e-6
    ftol: float = 1e-9
    restart: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_iter",) + ("restart",) * (self.restart is not None):
            whole(getattr(self, name), name, "CG")
        for name in ("tol", "ftol"):
            number(getattr(self, name), name, "CG", least=0.0, example=1e-6)

    def minimise(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimise from ``start``; parameters and result as in `LBFGS.minimise`.

        A line search that fails is tried again along the gradient before it ends the training.
        """
        from scipy.optimize import minimize

        def loop(descent: Descent) -> int:
            trials = 0

            def evaluate(params: Float64Array) -> tuple[float, Float64Array]:
                nonlocal trials
                trials += 1
                if trials > _TRIALS:
                    raise _Flat
                return descent.evaluate(params)

            def step(intermediate_result: Any) -> None:
                nonlocal trials
                trials = 0
                before, loss = descent.loss, float(intermediate_result.fun)
                descent.step(intermediate_result.x, loss)
                if before - loss <= self.ftol * max(abs(before), abs(loss), 1.0):
                    descent.end_with(0)

            code = 1
            while code == 1 and descent.iterations < self.max_iter:
                trials, begin = 0, descent.iterations
                cycle = min(self.restart or max(len(descent.params), 1), self.max_iter - begin)
                # An accurate search (c2 = 0.1) is what conjugate gradients need: N&W, Section 5.2.
                options = {"maxiter": cycle, "gtol": self.tol, "norm": np.inf, "c1": 1e-4, "c2": 0.1}
                try:
                    outcome = minimize(
                        evaluate, descent.params, jac=True, method="CG", callback=step, options=options
                    )
                    code = int(outcome.status)
                except _Flat:
                    code = 2
                if code == 2 and descent.iterations > begin:
                    code = 1  # along a conjugate direction it failed; the gradient's is tried next
            return code

        return descend(self, loop, objective, start, callback)
