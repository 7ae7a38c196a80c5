"""Keep the parameters that are best by another criterion, and stop when it stops rising."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.parameters import whole
from directrix.trainers.requirements import check_trainer
from directrix.types import Callback, Float64Array, Objective, Result, Step, Trainer


@dataclass(frozen=True, eq=False)
class BestSoFar:
    """Wrap a trainer: of all its steps, return the one with the highest ``score``.

    Parameters
    ----------
    trainer : Trainer
        Does the work.
    score : callable
        Parameters (n_params,) -> float, higher is better; usually a measure on validation
        queries. It selects; it never changes the path.
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

    def __post_init__(self) -> None:
        check_trainer(self.trainer, "BestSoFar")
        if self.patience is not None:
            whole(self.patience, "patience", "BestSoFar")

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``.

        Returns
        -------
        Result
            ``params`` of the best step. ``value`` is the loss there of ``objective`` as it was given, so
            under `SGD` not the mean over the epoch, and under `Anneal` not that at the step's smoothing; for
            trainers with ``own_loss`` it is the step's. ``counts["best"]`` is the number of that step, the
            trace gains a column ``score``. Under `Anneal` the smoothing of that step is in its row of
            the trace, and in the message. A training that ends before its first step, because the loss is
            not finite, is returned as it is.

        Raises
        ------
        InputError
            If the score is NaN at every step.
        """
        scores: dict[int, float] = {}
        best: dict[str, Any] = {"score": -np.inf}
        waited = False

        def watch(step: Step) -> bool:
            nonlocal waited
            scores[step.iteration] = now = float(self.score(step.params))
            if now > best["score"]:
                best.update(score=now, iteration=step.iteration, loss=step.loss)
                best["params"] = np.array(step.params)
            stop = bool(callback is not None and callback(step._replace(score=now)))
            waited = self.patience is not None and step.iteration - best.get("iteration", 0) >= self.patience
            return stop or waited

        # restarts of SGD watch the score too: the one of the last step, which is not computed twice
        watching = getattr(self.trainer, "watching", None)
        trainer = self.trainer if watching is None else watching(lambda _: scores[max(scores)])
        result = trainer.minimize(objective, start, callback=watch)
        if not scores:
            return result
        if "iteration" not in best:
            raise InputError(
                f"the score was NaN at all {len(scores)} steps, so none is best; the measure must be defined "
                "for at least one validation query."
            )
        message = f"no new best in {self.patience} steps" if waited else result.message
        value = best["loss"] if result.own_loss else objective.value_and_grad(best["params"])[0]
        return replace(
            result,
            params=best["params"],
            value=value,
            message=f"{message}; best at {_named(result.trace, best['iteration'])} with {best['score']:.4f}",
            counts={**result.counts, "best": best["iteration"]},
            # under Restarts a step is a whole run, and its rows share the score
            trace=[{**row, "score": scores[row.get("restart", row["iteration"])]} for row in result.trace],
        )


def _named(trace: list[dict[str, Any]], step: int) -> str:
    """The step's number, with its smoothing if it has one; or that of the run."""
    if "restart" in trace[0]:
        return f"restart {step}"
    smoothing = next((row.get("smoothing") for row in trace if row["iteration"] == step), None)
    return f"step {step}" if smoothing is None else f"step {step} (smoothing {smoothing:g})"
