"""L-BFGS, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from directrix.parameters import number, whole
from directrix.trainers.full_gradients import Descent, descend
from directrix.types import Callback, Float64Array, Objective, Result


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with a strong-Wolfe line search (SciPy's L-BFGS-B without bounds).

    Parameters
    ----------
    max_iter : int >= 1
        Iterations, each one evaluation of the loss or a few.
    tol : float >= 0
        Converged when no component of the gradient exceeds it.
    ftol : float >= 0
        Converged when an iteration lowers the loss by less than this, relative to max(abs(loss), 1).
    memory : int >= 1
        Pairs of steps and gradient changes that approximate the curvature.

    References
    ----------
    Liu & Nocedal (1989), doi:10.1007/BF01589116.
    """

    short_name: ClassVar[str] = "lbfgs"
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (object,)

    max_iter: int = 200
    tol: float = 1e-6
    ftol: float = 1e-9
    memory: int = 10

    def __post_init__(self) -> None:
        for name in ("max_iter", "memory"):
            whole(getattr(self, name), name, "LBFGS")
        for name in ("tol", "ftol"):
            number(getattr(self, name), name, "LBFGS", least=0.0, example=1e-6)

    def minimise(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
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
        from scipy.optimize import minimize

        def loop(descent: Descent) -> int:
            outcome = minimize(
                descent.evaluate,
                descent.params,
                jac=True,
                method="L-BFGS-B",
                callback=lambda intermediate_result: descent.step(
                    intermediate_result.x, float(intermediate_result.fun)
                ),
                options={
                    "maxiter": self.max_iter,
                    "gtol": self.tol,
                    "ftol": self.ftol,
                    "maxcor": self.memory,
                    "maxfun": 25 * self.max_iter,  # SciPy's default of 15,000 would end long runs
                },
            )
            return int(outcome.status)

        return descend(self, loop, objective, start, callback)
