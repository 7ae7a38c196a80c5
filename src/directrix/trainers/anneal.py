"""Anneal: train at a large smoothing, then at smaller and smaller ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.trainers.result import Result, Status, Step, added_counts, check_trainer
from directrix.types import Float64Array, Objective, Trainer

__all__ = ["Anneal"]

_STOPPED: tuple[Status, str] = "stopped", "stopped by the callback"


@dataclass(frozen=True)
class Anneal:
    """Wrap a trainer: train at falling smoothings, each round from where the last one ended.

    A strongly smoothed loss has few local minima, a hardly smoothed one is the measure; the way from
    one to the other leads past minima that a start at the end would be caught in.

    Parameters
    ----------
    trainer : Trainer
        Trains every round.
    start, stop : float > 0
        First and last smoothing, in the unit of ``surrogate.at``: sigma of SmoothRank, 1/alpha of
        ApproxRank. The defaults are SmoothRank's, 2^6 to 2^-6.
    factor : float, 0 < factor < 1
        Ratio of one smoothing to the one before.

    Notes
    -----
    It calls back with the start (iteration 0) and after every round, not after the steps within. So
    ``BestSoFar(Anneal(CG()), score)`` chooses the smoothing by ``score``, as SmoothRank does.

    References
    ----------
    Chapelle & Wu (2010), Section 4.4.2 and Algorithm 1, doi:10.1007/s10791-009-9110-3.
    """

    trainer: Trainer
    start: float = 64.0
    stop: float = 1 / 64
    factor: float = 0.5

    def __post_init__(self) -> None:
        check_trainer(self.trainer, "Anneal")
        if not 0.0 < self.stop <= self.start < np.inf:
            raise InputError(
                f"Anneal(start={self.start!r}, stop={self.stop!r}): numbers with 0 < stop <= start are "
                "needed, e.g. Anneal(trainer, start=64.0, stop=1/64)."
            )
        if not 0.0 < self.factor < 1.0:
            raise InputError(
                f"Anneal(factor={self.factor!r}): a number between 0 and 1 is needed, e.g. factor=0.5."
            )

    @property
    def smoothings(self) -> list[float]:
        """The smoothings of the rounds: start, start factor, ..., none below stop."""
        rounds = int(np.log(self.stop / self.start) / np.log(self.factor) + 1e-9)
        return [self.start * self.factor**i for i in range(rounds + 1)]

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimise from ``start``; see `LBFGS.minimise`.

        Parameters
        ----------
        objective : Objective
            With a method ``at(smoothing)``.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every round; returning True stops.

        Returns
        -------
        Result
            ``status`` is the last round's, and ``message`` says at which smoothing that was. The
            trace's rows have the column ``smoothing``, and ``loss`` at that smoothing. ``value`` is
            the loss of ``objective`` as it was given, at its own smoothing, so that results are comparable
            wherever they ended. ``counts`` add up over the rounds; ``rounds`` is their number.

        Raises
        ------
        InputError
            If the objective has no ``at``, its surrogate no smoothing, or the trainer a loss of its own.
        """
        if not hasattr(objective, "at"):
            raise InputError(
                f"Anneal needs an objective with a method at(smoothing), and {type(objective).__name__} has "
                "none; make it by linear_objective, or train without Anneal."
            )
        params = np.array(start, dtype=np.float64)
        rounds: list[Result] = []
        trace: list[dict[str, Any]] = []

        def stopped(smoothing: float, loss: float) -> bool:
            trace.append({"iteration": len(trace), "loss": loss, "smoothing": smoothing})
            return callback is not None and bool(callback(Step(len(trace) - 1, loss, params)))

        first = objective.at(self.start).value_and_grad(params)[0]
        stop = bool(np.isfinite(first)) and stopped(self.start, first)
        smoothing, (status, message) = self.start, _STOPPED
        for smoothing in () if stop else self.smoothings:
            result = self.trainer.minimise(objective.at(smoothing), params)
            if result.own_loss:
                raise InputError(
                    "Anneal changes the smoothing of the surrogate, which has no part in the loss of "
                    f"{self.trainer!r}; train without Anneal, or wrap a trainer with gradients, e.g. "
                    "Anneal(CG())."
                )
            rounds.append(result)
            params, status, message = result.params, result.status, result.message
            if status == "not_finite":
                break
            if stopped(smoothing, result.value):
                status, message = _STOPPED
                break
        value = objective.value_and_grad(params)[0]
        counts = added_counts(rounds) | ({"rounds": len(rounds)} if rounds else {})
        return Result(params, value, status, f"at smoothing {smoothing:g}: {message}", counts, trace)
