"""Run a trainer from several starts and keep the best end."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from directrix.errors import InputError
from directrix.parameters import number, whole
from directrix.threads import serially
from directrix.trainers.epochs import Seed, generator
from directrix.trainers.progress import added_counts
from directrix.trainers.requirements import check_trainer
from directrix.types import Callback, Float64Array, Objective, Result, Step, Trainer


@dataclass(frozen=True)
class Restarts:
    r"""Run a trainer from the given start and n - 1 random ones; return the end with the lowest loss.

    A random start has the length of the given one, because the steepness of a surrogate has a unit
    of scores, and another direction:

    .. math:: \theta_r = \lVert\theta_0\rVert\, \frac{v_r}{\lVert v_r\rVert},
              \qquad v_r = \frac{\theta_0}{\lVert\theta_0\rVert} + \sigma u_r

    with u uniform on the unit sphere. If the given start is 0 they are u itself, of length 1.

    Parameters
    ----------
    trainer : Trainer
        Does the work; may be wrapped itself (``BestSoFar(LBFGS(), score)`` chooses a step in each run).
    n : int >= 1
        Runs, the one from the given start included.
    spread : float > 0
        sigma: in many dimensions the tangent of the angle between a random start and the given one.
        1 turns by about 45 degrees; 10 is as good as any direction.
    random_state : int, numpy Generator or None
        Seed of the starts; None is that of the ranker, and 0 outside of one.
    n_jobs : int
        Runs at a time, by joblib: 1 = one after the other, each on all threads of `set_threads`; more = in
        processes of one thread each; -1 = as many as there are cores. Under
        ``joblib.parallel_config(backend=...)`` any other backend.

    Notes
    -----
    The result is the same for any ``n_jobs``, provided that a stochastic trainer has an integer as its
    ``random_state``. Processes need an objective and a trainer that can be pickled (lambda functions
    can); arrays of more than 1 MB are shared through files, not copied.

    Around `Anneal` the ends are compared at the smoothing of the objective as it was given, the same for
    all; give the surrogate the smoothing that `Anneal` stops at, and it is the loss of the last rounds.

    Wrapped in `BestSoFar`, a step is a finished run, so that the score on validation queries chooses
    among the runs, and ``patience`` counts runs.

    Examples
    --------
    >>> import numpy as np, directrix as dx
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.Restarts(dx.LBFGS(), n=3).minimize(dx.linear_objective(q, "ApproxNDCG"), np.ones(4))
    >>> result.counts["restarts"], sorted({row["restart"] for row in result.trace})
    (3, [0, 1, 2])
    """

    trainer: Trainer
    n: int = 10
    spread: float = 1.0
    random_state: Seed = None
    n_jobs: int = 1

    def __post_init__(self) -> None:
        check_trainer(self.trainer, "Restarts")
        whole(self.n, "n", "Restarts")
        number(self.spread, "spread", "Restarts", above=0.0, example=1.0)
        if not isinstance(self.n_jobs, Integral) or isinstance(self.n_jobs, bool) or self.n_jobs == 0:
            raise InputError(
                f"Restarts(n_jobs={self.n_jobs!r}): a number of processes is needed, or -1 for all cores."
            )

    def starts(self, start: Float64Array) -> Float64Array:
        """Return the starts, one per row, the given one first; float64 (n, n_params)."""
        start = np.asarray(start, dtype=np.float64)
        rng = generator(self.random_state)
        direction = rng.standard_normal((self.n - 1, len(start)))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = float(np.linalg.norm(start))
        if length > 0.0:
            direction = start / length + self.spread * direction
            direction *= length / np.linalg.norm(direction, axis=1, keepdims=True)
        return np.vstack([start, direction])

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start`` and from random starts.

        Parameters
        ----------
        objective : Objective
            Loss and gradient; must be possible to pickle if ``n_jobs`` is not 1.
        start : float64 (n_params,)
            First parameters, and the length of the others.
        callback : callable, optional
            Called with a `Step` after every run, in the order of the starts whichever ends first: its number
            from 0, its loss, its parameters. Returning True leaves out the rest.

        Returns
        -------
        Result
            Parameters, value and status of the run with the lowest loss (the first of equals; a loss
            that is not finite counts as the highest), or status "stopped". ``counts`` are sums, and
            ``restarts`` the number of runs. The trace has the rows of all runs, distinguished by a column
            ``restart``.
        """
        from joblib import Parallel, delayed, effective_n_jobs

        alone = effective_n_jobs(self.n_jobs) == 1
        run = delayed(_run)
        # Arrays that are mapped read-only would be another type, for which Numba compiles again.
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", mmap_mode="c")
        results: list[Result] = []
        running = parallel(run(self.trainer, objective, one, alone=alone) for one in self.starts(start))
        stopped = False
        try:
            for number, result in enumerate(running):
                results.append(result)
                step = Step(number, result.value, result.params)
                if callback is not None and callback(step):
                    stopped = number + 1 < self.n
                    break
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib warns of runs that are left out, as was asked
                running.close()
        best = replace(_best(results), status="stopped") if stopped else _best(results)
        trace = [{**row, "restart": number} for number, result in enumerate(results) for row in result.trace]
        duals = [result.dual for result in results if result.dual is not None]
        return replace(
            best,
            dual=max(duals, default=None),  # each is a bound of the one loss
            message=_message(results, self.n),
            counts={**added_counts(results), "restarts": len(results)},
            trace=trace,
        )


def _run(trainer: Trainer, objective: Objective, start: Float64Array, *, alone: bool) -> Result:
    with nullcontext() if alone else serially():
        return trainer.minimize(objective, start)


def _best(results: list[Result]) -> Result:
    return min(results, key=lambda result: result.value if np.isfinite(result.value) else np.inf)


def _message(results: list[Result], n: int) -> str:
    best = _best(results)
    number = next(i for i, result in enumerate(results) if result is best)
    values = [result.value for result in results if np.isfinite(result.value)]
    spread = f"losses from {min(values):.6g} to {max(values):.6g}" if values else "no loss is finite"
    runs = f"{n}" if len(results) == n else f"{len(results)} of {n}, stopped by the callback"
    return f"restart {number} is the best of {runs} ({spread}): {best.message}"
