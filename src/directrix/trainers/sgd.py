"""Stochastic gradient descent over queries: Algorithm 1 of ApproxRank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from directrix.errors import InputError
from directrix.trainers.epochs import Seed, in_batches, over_epochs
from directrix.trainers.result import Result, Step, check_count
from directrix.types import Float64Array, Int64Array, Objective

__all__ = ["SGD"]


@dataclass(frozen=True)
class SGD:
    r"""One step a query (or batch of queries), in a new random order every epoch.

    .. math:: \theta \leftarrow \theta - \eta \nabla L_q(\theta)

    Parameters
    ----------
    rate : float > 0
        Learning rate eta.
    epochs : int >= 1
        Passes over the queries, T in the paper.
    batch : int >= 1
        Queries a step; the gradient is their mean.
    random_state : int, numpy Generator or None
        Seed of the order of queries; an integer gives the same bits every time.

    Notes
    -----
    The result holds the last epoch and its loss. Wrap it in `BestSoFar` to keep the epoch that is
    best on validation queries, as the paper does. In the trace and for callbacks, the loss of an
    epoch is the mean of the losses that its steps met: it costs nothing.

    References
    ----------
    Qin, Liu, Li (2010), Algorithm 1 (T = 200, eta = 0.01), doi:10.1007/s10791-009-9124-x.
    """

    rate: float = 0.01
    epochs: int = 200
    batch: int = 1
    random_state: Seed = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise InputError(f"SGD(rate={self.rate!r}): the learning rate must be a number > 0, e.g. 0.01.")
        for name in ("epochs", "batch"):
            check_count(getattr(self, name), f"SGD({name}=")

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
            Loss and gradient over any queries. If it has an ``sgd_epoch`` (as the linear objective
            has), that does the epochs with a query a step.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every epoch; returning True stops.
        """

        def one_epoch(params: Float64Array, order: Int64Array) -> float:
            return self._epoch(objective, params, order)

        return over_epochs(
            objective,
            start,
            one_epoch,
            epochs=self.epochs,
            random_state=self.random_state,
            callback=callback,
        )

    def _epoch(self, objective: Objective, params: Float64Array, order: Int64Array) -> float:
        whole_epoch = getattr(objective, "sgd_epoch", None) if self.batch == 1 else None
        if whole_epoch is not None and (loss := whole_epoch(params, order, self.rate)) is not None:
            return float(loss)

        def step(grad: Float64Array) -> None:
            params[:] -= self.rate * grad

        return in_batches(objective, params, order, self.batch, step)
