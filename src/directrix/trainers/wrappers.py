"""Wrappers of trainers: early stopping, annealing of the smoothing, and restarts.

In: a trainer. Out: another trainer, which calls it once or several times; wrappers can be nested:

>>> import directrix as dx
>>> trainer = Restarts(Anneal(dx.LBFGS(max_iter=5), start=1.0, stop=0.25), n=2)
>>> objective = dx.linear_objective(dx.data.make_cubic(5, 10, 4, seed=0), "SmoothNDCG")
>>> trainer.minimize(objective, np.ones(4)).counts["restarts"]
2
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from directrix.data.checks import generator
from directrix.errors import InputError, amount
from directrix.objectives.penalty import L2, nearest_in
from directrix.parameters import SMALLEST, number
from directrix.surrogates.base import FIRST_SHARE
from directrix.threads import serially
from directrix.trainers.loop import Best, Loop, Seed, Settings, added_counts
from directrix.types import Callback, Float64Array, Objective, Result, Step, Trainer

SHARES = (FIRST_SHARE, 0.3)
"""Shares of the stages before the last one of `Continuation`."""
_VANISHING = 1e-6
"""Smoothing, in units of 1/steepness, at which a surrogate has the values of its exact measure."""


@dataclass(frozen=True, eq=False)
class BestSoFar(Settings):
    """Wrap a trainer and return the step with the highest ``score``.

    Parameters
    ----------
    trainer : Trainer
        Trainer to run.
    score : callable
        Parameters (n_params,) -> float, higher is better; usually a measure on validation
        queries. It selects a step, but never changes the path.
    patience : int >= 1, or None
        Stop after this number of steps without a new best; None = run to the end.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> from directrix.trainers import BestSoFar
    >>> objective = dx.linear_objective(q, "RankNet")
    >>> def score(w):
    ...     return float(dx.evaluate("AP", q.features @ w, q.labels, qptr=q.qptr)["AP"])
    >>> result = BestSoFar(dx.LBFGS(), score).minimize(objective, np.zeros(4))
    >>> score(result.params) >= score(dx.LBFGS().minimize(objective, np.zeros(4)).params)
    True
    """

    trainer: Trainer
    score: Callable[[Float64Array], float]
    patience: int | None = None

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``.

        Returns
        -------
        Result
            ``params`` of the best step. ``value`` is the loss of the given ``objective`` there: for `SGD` it
            is not the mean over the epoch, and for `Anneal` not the loss at the step's smoothing. For
            trainers with ``own_loss`` it is the step's loss. ``counts["best"]`` is the number of that step,
            and the trace has a column ``score``. Under `Anneal` the smoothing of that step is in its row of
            the trace, and in the message. A run that ends before its first step, because the loss is not
            finite, is returned unchanged.

        Raises
        ------
        InputError
            If the score is NaN at every step.
        """
        scores: dict[int, float] = {}
        best, loss, params = Best(self.patience), np.nan, start

        def watch(step: Step) -> bool:
            nonlocal loss, params
            scores[step.iteration] = score = float(self.score(step.params))
            if best.improves(step.iteration, score):
                loss, params = step.loss, np.array(step.params)
            stop = bool(callback is not None and callback(step._replace(score=score)))
            return best.ran_out(step.iteration) or stop

        # Restarts of SGD watch the same score of the last step, which is not computed twice.
        watching = getattr(self.trainer, "watching", None)
        trainer = self.trainer if watching is None else watching(lambda _: scores[max(scores)])
        result = trainer.minimize(objective, start, callback=watch)
        if not scores:
            return result
        best.check(f"at all {len(scores)} steps")
        waited = best.ran_out(max(scores))
        message = f"no new best in {amount(self.patience or 0, 'steps')}" if waited else result.message
        value = loss if result.own_loss else objective.value_and_grad(params)[0]
        return replace(
            result,
            params=params,
            value=value,
            message=f"{message}; best at {_named(result.trace, best.step)} with {best.score:.4f}",
            counts={**result.counts, "best": best.step},
            # Under `Restarts` a step is a whole run, and its rows share the score.
            trace=[{**row, "score": scores[row.get("restart", row["iteration"])]} for row in result.trace],
        )


def _named(trace: list[dict[str, Any]], step: int) -> str:
    """The step's number, with its smoothing if it has one; or that of the run."""
    if "restart" in trace[0]:
        return f"restart {step}"
    smoothing = next((row.get("smoothing") for row in trace if row["iteration"] == step), None)
    return f"step {step}" if smoothing is None else f"step {step} (smoothing {smoothing:g})"


@dataclass(frozen=True)
class Anneal(Settings):
    """Wrap a trainer: train at decreasing smoothings, each round from the end of the last one.

    A strongly smoothed loss has few local minima; a barely smoothed one is close to the measure. The path
    from one to the other avoids local minima in which training at the last smoothing alone would end.

    Parameters
    ----------
    trainer : Trainer
        Trainer of every round.
    start, stop : float > 0
        First and last smoothing, in the unit of ``surrogate.at``: sigma of SmoothRank, 1/alpha of
        ApproxRank. The defaults are SmoothRank's, 2^6 to 2^-6.
    factor : float, 0 < factor < 1
        Ratio of one smoothing to the one before.

    Notes
    -----
    The callback is called at the start (iteration 0) and after every round, not after the steps within. So
    ``BestSoFar(Anneal(CG()), score)`` chooses the smoothing by ``score``, as SmoothRank does.

    References
    ----------
    Chapelle & Wu (2010), Section 4.4.2 and Algorithm 1, doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> anneal = dx.Anneal(dx.LBFGS(), start=1.0, stop=0.25)
    >>> anneal.smoothings
    [1.0, 0.5, 0.25]
    >>> result = anneal.minimize(dx.linear_objective(q, "SmoothNDCG"), np.ones(4))
    >>> result.params.shape
    (4,)
    """

    trainer: Trainer
    start: float = 64.0
    stop: float = 1 / 64
    factor: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.stop <= self.start < np.inf:
            raise InputError(
                f"Anneal(start={self.start!r}, stop={self.stop!r}): numbers with 0 < stop <= start are "
                "needed, e.g. Anneal(trainer, start=64.0, stop=1/64)."
            )

    @property
    def smoothings(self) -> list[float]:
        """The smoothings of the rounds: start, start factor, ..., none below stop."""
        # The small number makes up for rounding, which would lose the last round.
        rounds = int(np.log(self.stop / self.start) / np.log(self.factor) + 1e-9)
        return [self.start * self.factor**i for i in range(rounds + 1)]

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`. Steps for the callback are rounds.

        The objective has a method ``at(smoothing)``; a trainer with its own loss raises `InputError`.

        Returns
        -------
        Result
            ``status`` is the last round's, and ``message`` names its smoothing. The
            trace's rows have the column ``smoothing``, and ``loss`` at that smoothing. ``value`` is the loss
            of the given ``objective``, at its own smoothing, so that results are comparable wherever they
            ended. ``counts`` add up over the rounds; ``rounds`` is their number.
        """
        if not hasattr(objective, "at"):
            raise InputError(
                f"Anneal needs an objective with a method at(smoothing), and {type(objective).__name__} has "
                "none; build it with linear_objective, or train without Anneal."
            )
        loop, smoothing = Loop(start, callback), self.start
        loop.params = nearest_in(objective)(loop.params)
        rounds: list[Result] = []
        with loop:
            loss = objective.at(self.start).value_and_grad(loop.params)[0]
            # A start without a finite loss is no step; the first round reports it.
            if np.isfinite(loss):
                loop.step(loop.params, loss, smoothing=self.start)
            for smoothing in self.smoothings:
                result = self.trainer.minimize(objective.at(smoothing), loop.params)
                if result.own_loss:
                    raise InputError(
                        "Anneal changes the smoothing of the surrogate, which has no part in the loss of "
                        f"{self.trainer!r}; train without Anneal, or wrap a trainer with gradients, e.g. "
                        "Anneal(CG())."
                    )
                rounds.append(result)
                loop.params = result.params
                if result.status == "not_finite":
                    break
                loop.step(result.params, result.value, smoothing=smoothing)
            loop.stop(result.status, result.message)
        return replace(
            loop.result(),
            value=objective.value_and_grad(loop.params)[0],
            message=f"at smoothing {smoothing:g}: {loop.message}",
            counts=added_counts(rounds) | ({"rounds": len(rounds)} if rounds else {}),
        )


@dataclass(frozen=True)
class Continuation(Settings):
    """Wrap a trainer: train a surrogate with a cut-off in stages, each from the end of the last one.

    A cut-off leaves no slope far below rank k, where equal scores put the documents of a long query. So a
    share of the discount ignores the cut-off, see `CutOff`: ``shares`` in the first stages, none in the last
    one, which minimizes the objective as it is. Rankers train in this way (docs/decisions/cut-offs.md).

    Parameters
    ----------
    trainer : Trainer
        Trainer of every stage, with its budget for each.
    shares : tuple of float, > 0 and < 1
        Shares of the first stages; () trains the objective alone.

    Notes
    -----
    Around `BestSoFar`, a stage starts from the best step of the last one, so the validation score chooses
    among all. Otherwise the result is the end of the stage with the highest mean of the surrogate's exact
    measure on the training queries, or of the last one if the surrogate has no smoothing.

    An objective whose surrogate has no cut-off, or has ``below`` > 0, is trained in one stage. So is
    SmoothRank, but from parameters of 0 its first stages maximize the ApproxRank form of its measure.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> from directrix.trainers import Continuation
    >>> q, _ = dx.data.make_linear(n_queries=10, docs_per_query=100, n_features=4, seed=0)
    >>> result = Continuation(dx.LBFGS()).minimize(dx.linear_objective(q, "ApproxNDCG(k=5)"), np.zeros(4))
    >>> sorted({row["share"] for row in result.trace}), result.value < -0.99
    ([0.0, 0.3, 0.9], True)
    """

    trainer: Trainer
    shares: tuple[float, ...] = SHARES

    def __post_init__(self) -> None:
        super().__post_init__()
        argument: Any = self.shares
        limits: Any = {"above": 0.0, "below": 1.0, "example": 0.9}
        shares = argument if isinstance(argument, tuple | list) else [argument]
        checked = (number(share, "shares", "Continuation", **limits) for share in shares)
        object.__setattr__(self, "shares", tuple(checked))

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`.

        Steps for the callback are those of all stages, numbered through; each stage begins with its start.

        Returns
        -------
        Result
            ``value`` is the loss of the given ``objective``; ``status`` that of the last stage, which
            ``message`` numbers. ``counts`` add up over the stages, and the trace has a column ``share``.
        """
        stages = stages_of(objective, self.shares, start)
        if len(stages) == 1:
            return self.trainer.minimize(objective, start, callback=callback)
        params, n_steps, halted = start, 0, False
        trace: list[dict[str, Any]] = []
        results: list[Result] = []

        def watch(step: Step) -> bool:
            nonlocal n_steps, halted
            n_steps += 1
            halted = callback is not None and bool(callback(step._replace(iteration=n_steps - 1)))
            return halted

        for share, stage in stages:
            first = n_steps
            result = self.trainer.minimize(stage, params, callback=watch)
            # A loss of the trainer's own does not depend on the surrogate, so one stage is all.
            if result.own_loss:
                return result
            # Rows are numbered by run under `Restarts`, and by step otherwise; both continue from stage to
            # stage.
            column = "restart" if result.trace and "restart" in result.trace[0] else "iteration"
            trace += [{**row, column: row[column] + first, "share": share} for row in result.trace]
            best = {"best": first + result.counts["best"]} if "best" in result.counts else {}
            results.append(result)
            params = result.params
            if halted or result.status == "not_finite":
                break
        surrogate = objective.surrogate  # type: ignore[attr-defined]
        if not best and hasattr(surrogate, "at"):
            # With almost no smoothing, the surrogate has the values of its exact measure.
            smoothing = max(_VANISHING / surrogate.steepness, SMALLEST)
            exact = objective.penalized(L2()).at(smoothing)  # type: ignore[attr-defined]
            # The latest of equal stages is kept, because its objective is nearest to the given one.
            params = min(reversed(results), key=lambda end: float(exact.value_and_grad(end.params)[0])).params
        return replace(
            result,
            params=params,
            value=objective.value_and_grad(params)[0],
            message=f"stage {len(results)} of {len(stages)}: {result.message}",
            counts=added_counts(results) | best,
            trace=trace,
        )


def stages_of(objective: Any, shares: Iterable[float], start: Float64Array) -> list[tuple[float, Any]]:
    """Return the share and the objective of every stage of `Continuation`, the given objective last."""
    is_stationary = getattr(getattr(objective, "surrogate", None), "stationary_at_ties", False)
    if not hasattr(objective, "with_share") or (is_stationary and np.any(start)):
        return [(0.0, objective)]
    # An objective without a cut-off returns itself for every share, and has one stage.
    others = ((share, objective.with_share(share)) for share in shares)
    return [*((share, other) for share, other in others if other is not objective), (0.0, objective)]


@dataclass(frozen=True)
class Restarts(Settings):
    r"""Run a trainer from the given start and n - 1 random ones; return the result with the lowest loss.

    A random start has another direction, and the length of the given one, because the steepness of a
    surrogate has a unit of scores:

    .. math:: \theta_r = \lVert\theta_0\rVert\, \frac{v_r}{\lVert v_r\rVert},
              \qquad v_r = \frac{\theta_0}{\lVert\theta_0\rVert} + \sigma u_r

    with u uniform on the unit sphere. If the given start is 0, they are u itself, of length 1.

    Parameters
    ----------
    trainer : Trainer
        Trainer to run; may be wrapped itself (``BestSoFar(LBFGS(), score)`` chooses a step in each run).
    n : int >= 1
        Runs, the one from the given start included.
    spread : float > 0
        sigma: in many dimensions, the tangent of the angle between a random start and the given one. 1 turns
        by about 45 degrees; 10 amounts to any direction.
    random_state : int, numpy Generator or None
        Seed of the starts; None is that of the ranker, and 0 outside of one.
    n_jobs : int
        Runs at a time, by joblib: 1 = one after the other, each on all threads of `set_threads`; more = in
        processes of one thread each; -1 = one per core. Under ``joblib.parallel_config(backend=...)`` any
        other backend.

    Notes
    -----
    The result is the same for any ``n_jobs``, provided that a stochastic trainer has an integer as its
    ``random_state``. The objective and the trainer must be picklable for processes (lambda functions are);
    arrays of more than 1 MB are shared through files, not copied.

    Around `Anneal`, results are compared at the smoothing of the given objective, the same for all. If the
    surrogate has the smoothing at which `Anneal` stops, that is the loss of the last rounds.

    Inside `BestSoFar`, a step is a finished run, so the validation score chooses among the runs, and
    ``patience`` counts runs.

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
        super().__post_init__()
        if not isinstance(self.n_jobs, Integral) or isinstance(self.n_jobs, bool) or self.n_jobs == 0:
            raise InputError(
                f"Restarts(n_jobs={self.n_jobs!r}): a number of processes is needed, or -1 for all cores."
            )

    def starts(self, start: Float64Array) -> Float64Array:
        """Return the starts, one per row, the given one first; float64 (n, n_params)."""
        start = np.asarray(start, dtype=np.float64)
        rng = generator(self.random_state)
        direction = rng.standard_normal((self.n - 1, len(start)))
        # Normal vectors of length 1 are uniform on the unit sphere.
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        length = float(np.linalg.norm(start))
        if length > 0.0:
            direction = start / length + self.spread * direction
            direction *= length / np.linalg.norm(direction, axis=1, keepdims=True)
        return np.vstack([start, direction])

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start`` and from random starts; see `LBFGS.minimize`.

        Steps for the callback are finished runs, in the order of the starts: number from 0, loss,
        parameters; True skips the rest. If ``n_jobs`` is not 1, the objective must be picklable.

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
        # Arrays that are mapped read-only would be another type, for which Numba would compile again.
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", mmap_mode="c")
        results: list[Result] = []
        running = parallel(run(self.trainer, objective, point, alone=alone) for point in self.starts(start))
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
                # joblib warns of runs that are left out, but the callback asked for that.
                warnings.simplefilter("ignore")
                running.close()
        best = replace(_best(results), status="stopped") if stopped else _best(results)
        trace = [{**row, "restart": number} for number, result in enumerate(results) for row in result.trace]
        duals = [result.dual for result in results if result.dual is not None]
        return replace(
            best,
            # All runs bound the same loss from below, so the highest bound holds.
            dual=max(duals, default=None),
            message=_message(results, self.n),
            counts={**added_counts(results), "restarts": len(results)},
            trace=trace,
        )


def _run(trainer: Trainer, objective: Objective, start: Float64Array, *, alone: bool) -> Result:
    # Runs in several processes share the cores, so each takes one thread.
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
