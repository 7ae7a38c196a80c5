"""Anneal: train at a large smoothing, then at smaller and smaller ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from directrix.errors import InputError
from directrix.objectives.penalty import nearest_in
from directrix.parameters import number
from directrix.trainers.progress import Progress, added_counts
from directrix.trainers.requirements import check_trainer
from directrix.types import Callback, Float64Array, Objective, Result, Trainer


@dataclass(frozen=True)
class Anneal:
    """Wrap a trainer: train at falling smoothings, each round from where the last one ended.

    A strongly smoothed loss has few local minima; a barely smoothed one is close to the measure. The path
    from one to the other avoids local minima in which a training at the last smoothing alone would end.

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
        check_trainer(self.trainer, "Anneal")
        if not 0.0 < self.stop <= self.start < np.inf:
            raise InputError(
                f"Anneal(start={self.start!r}, stop={self.stop!r}): numbers with 0 < stop <= start are "
                "needed, e.g. Anneal(trainer, start=64.0, stop=1/64)."
            )
        number(self.factor, "factor", "Anneal", above=0.0, below=1.0, example=0.5)

    @property
    def smoothings(self) -> list[float]:
        """The smoothings of the rounds: start, start factor, ..., none below stop."""
        rounds = int(np.log(self.stop / self.start) / np.log(self.factor) + 1e-9)
        return [self.start * self.factor**i for i in range(rounds + 1)]

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`.

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
            If the objective has no ``at``, its surrogate has no smoothing, or the trainer lowers a loss of
            its own.
        """
        if not hasattr(objective, "at"):
            raise InputError(
                f"Anneal needs an objective with a method at(smoothing), and {type(objective).__name__} has "
                "none; make it by linear_objective, or train without Anneal."
            )
        progress, smoothing = Progress(start, callback), self.start
        progress.params = nearest_in(objective)(progress.params)
        rounds: list[Result] = []
        with progress:
            first = objective.at(self.start).value_and_grad(progress.params)[0]
            if np.isfinite(first):
                progress.step(progress.params, first, smoothing=self.start)
            for smoothing in self.smoothings:
                result = self.trainer.minimize(objective.at(smoothing), progress.params)
                if result.own_loss:
                    raise InputError(
                        "Anneal changes the smoothing of the surrogate, which has no part in the loss of "
                        f"{self.trainer!r}; train without Anneal, or wrap a trainer with gradients, e.g. "
                        "Anneal(CG())."
                    )
                rounds.append(result)
                progress.params = result.params
                if result.status == "not_finite":
                    break
                progress.step(result.params, result.value, smoothing=smoothing)
            progress.end(result.status, result.message)
        value = objective.value_and_grad(progress.params)[0]
        counts = added_counts(rounds) | ({"rounds": len(rounds)} if rounds else {})
        message = f"at smoothing {smoothing:g}: {progress.message}"
        return Result(progress.params, value, progress.status, message, counts, progress.trace)
