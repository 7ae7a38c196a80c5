"""Trainers with full gradients, by SciPy: L-BFGS and non-linear conjugate gradients.

In: an objective and a start. Out: a `Result`, with the parameters and the reason for the end:

>>> import directrix as dx
>>> objective = dx.linear_objective(dx.data.make_cubic(20, 10, 4, seed=0), "RankNet", l2=1e-3)
>>> LBFGS().minimize(objective, np.zeros(4)).status
'converged'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import amount
from directrix.objectives.penalty import Bounds, nearest_in
from directrix.objectives.scores import check_start
from directrix.threads import one_blas_thread
from directrix.trainers.loop import Loop, Settings, check_values
from directrix.types import Callback, Float64Array, Objective, Result

_TRIALS = 20
"""Evaluations in a line search; SciPy would try 100 on a loss that is flat to rounding."""


class _Flat(Exception):
    """Leave a line search that finds nothing."""


class Descent(Loop):
    """A training run in progress, with its number of evaluations and its budget."""

    def __init__(self, objective: Any, start: Float64Array, callback: Callback | None, max_iter: int) -> None:
        self.nearest = nearest_in(objective)
        remedy = "scale the features (scale 'standard') or lower alpha"
        super().__init__(self.nearest(as_floats(start, "start")), callback, remedy=remedy)
        self.objective, self.max_iter = objective, max_iter
        self.evaluations = 0

    def evaluate(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Return loss and gradient; the first evaluation is a step too, the start. Stop if not finite."""
        loss, grad = self.objective.value_and_grad(params)
        self.evaluations += 1
        self.check(loss, grad)
        if not self.trace:
            check_start(params, grad, self.objective)
            self.step(params, loss)
        return loss, grad

    def end_with(self, code: int) -> None:
        """End with SciPy's status: 0 converged, 1 budget used up, otherwise line search."""
        done = amount(self.iterations, "iterations")
        if code == 0:
            self.stop("converged", f"converged after {done}")
        # L-BFGS-B also returns 1 when its evaluations, 25 per iteration, are used up.
        if code == 1:
            self.stop("max_iter", f"{done} done; raise max_iter={self.max_iter} to continue")
        self.stop(
            "line_search",
            f"after {done} no step lowers the loss further: it is flat to rounding; "
            "float64 features or a larger l2 would allow further steps",
        )


@dataclass(frozen=True)
class FullGradients(Settings):
    """Base of `LBFGS` and `CG`: their budget and tolerances."""

    budget: ClassVar[str] = "max_iter"

    max_iter: int = 200
    tol: float = 1e-6
    ftol: float = 1e-9

    # The limit holds for the whole run: threads of BLAS that come back after a gradient slow the next one.
    @one_blas_thread()
    def _descend(
        self,
        loop: Callable[[Descent], int],
        objective: Objective,
        start: Float64Array,
        callback: Callback | None,
    ) -> Result:
        """Run ``loop`` until it returns SciPy's status, or a step or an evaluation ends it."""
        check_values(objective, self)
        descent = Descent(objective, start, callback, self.max_iter)
        with descent:
            # SciPy cannot minimize a function of no parameters.
            if not len(descent.params):
                descent.evaluate(descent.params)
                descent.stop("converged", "there are no parameters")
            descent.end_with(loop(descent))
        return descent.result({"evaluations": descent.evaluations})


@dataclass(frozen=True)
class LBFGS(FullGradients):
    """Limited-memory BFGS with a strong-Wolfe line search (SciPy's L-BFGS-B).

    Parameters
    ----------
    max_iter : int >= 1
        Iterations, each with one or more evaluations of the loss.
    tol : float >= 0
        Converged when no component of the gradient exceeds it. With bounds, the projected gradient counts:
        components that point out of the bounds are 0.
    ftol : float >= 0
        Converged when an iteration lowers the loss by less than this, relative to max(abs(loss), 1).
    memory : int >= 1
        Pairs of steps and gradient changes that approximate the curvature.

    References
    ----------
    Liu & Nocedal (1989), doi:10.1007/BF01589116; within bounds Byrd, Lu, Nocedal & Zhu (1995),
    doi:10.1137/0916069.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.LBFGS().minimize(dx.linear_objective(q, "RankNet", l2=1e-3), np.zeros(4))
    >>> result.status, result.params.shape
    ('converged', (4,))
    """

    short_name: ClassVar[str] = "lbfgs"
    takes_bounds: ClassVar[bool] = True

    memory: int = 10

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``.

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
        from scipy import optimize

        bounds: Bounds | None = getattr(objective, "bounds", None)

        def loop(descent: Descent) -> int:
            if bounds is not None and (bounds.low == bounds.high).all():
                descent.evaluate(descent.params)
                descent.stop("converged", "all parameters are fixed")
            outcome = optimize.minimize(
                descent.evaluate,
                descent.params,
                jac=True,
                method="L-BFGS-B",
                bounds=None if bounds is None else optimize.Bounds(bounds.low, bounds.high),
                callback=lambda intermediate_result: descent.step(
                    descent.nearest(intermediate_result.x), float(intermediate_result.fun)
                ),
                options={
                    "maxiter": self.max_iter,
                    "gtol": self.tol,
                    "ftol": self.ftol,
                    "maxcor": self.memory,
                    # SciPy's default of 15,000 evaluations would end long runs.
                    "maxfun": 25 * self.max_iter,
                },
            )
            return int(outcome.status)

        return self._descend(loop, objective, start, callback)


@dataclass(frozen=True)
class CG(FullGradients):
    r"""Conjugate gradients with the update of Polak and Ribière and a strong-Wolfe line search.

    .. math:: d_t = -g_t + \max\Big(0, \frac{g_t \cdot (g_t - g_{t-1})}{g_{t-1} \cdot g_{t-1}}\Big)\, d_{t-1}

    It restarts along the gradient after n_params iterations. SmoothRank trains with it. `LBFGS` usually needs
    fewer evaluations.

    Parameters
    ----------
    max_iter : int >= 1
        Iterations, each a line search of two or more evaluations.
    tol : float >= 0
        Converged when no component of the gradient exceeds it.
    ftol : float >= 0
        Converged when an iteration lowers the loss by less than this, relative to max(abs(loss), 1).

    References
    ----------
    Nocedal & Wright (2006), Numerical Optimization, Section 5.2 (PR+, Eq. 5.45);
    Chapelle & Wu (2010), Section 4.4, doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.CG().minimize(dx.linear_objective(q, "RankNet", l2=1e-3), np.zeros(4))
    >>> result.status, result.params.shape
    ('line_search', (4,))
    """

    short_name: ClassVar[str] = "cg"

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; parameters and result as in `LBFGS.minimize`.

        A failed line search is tried again along the gradient before it ends the run.
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
                # In n dimensions, conjugate directions are used up after n steps, so a new cycle begins.
                cycle = min(max(len(descent.params), 1), self.max_iter - begin)
                # Conjugate gradients need an accurate search (c2 = 0.1): N&W, Section 5.2.
                options = {"maxiter": cycle, "gtol": self.tol, "norm": np.inf, "c1": 1e-4, "c2": 0.1}
                try:
                    outcome = minimize(
                        evaluate, descent.params, jac=True, method="CG", callback=step, options=options
                    )
                    code = int(outcome.status)
                except _Flat:
                    code = 2
                if code == 2 and descent.iterations > begin:
                    # It failed along a conjugate direction, so the next cycle begins along the gradient.
                    code = 1
            return code

        return self._descend(loop, objective, start, callback)
