"""Stochastic gradient descent over queries: Algorithm 1 of ApproxRank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.objectives.penalty import nearest_in
from directrix.parameters import number, whole
from directrix.trainers.epochs import Seed, generator, in_batches, over_epochs
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result

_ROUNDING = 1e-12
"""Losses of two epochs this close are equal: their sums run over the queries in other orders."""


@dataclass(frozen=True)
class SGD:
    r"""One step per query (or batch of queries), in a new random order every epoch.

    .. math:: \theta \leftarrow \theta - \eta \nabla L_q(\theta)

    Within limits of the parameters every step ends at the nearest point within them.

    Parameters
    ----------
    learning_rate : float > 0
        eta.
    epochs : int >= 1
        Passes over the queries, T in the paper.
    batch : int >= 1
        Queries per step; the gradient is their mean.
    random_state : int, numpy Generator or None
        Seed of the order of queries; None is that of the ranker, and 0 outside of one.
    shrink : float in (0, 1]
        Factor on the learning rate after an epoch whose loss is above that of the epoch before; 1 = never.
    shrink_chance : float in [0, 1]
        Probability of doing so.
    restart_after : int >= 1, or None
        Epochs without any change of the loss, or of what is `watching`, after which training continues from
        random parameters (normal, of length about 1) at the first learning rate; None = never. A measure is
        constant where no step moves a document past another: at a minimum, and at scores so far apart that
        nothing moves.

    Notes
    -----
    The result holds the last epoch and its loss. Wrap it in `BestSoFar` to keep the epoch that is
    best on validation queries, as the paper does. In the trace and for callbacks, the loss of an
    epoch is the mean of the losses before its steps: it costs nothing.

    References
    ----------
    Qin, Liu, Li (2010), Algorithm 1 (T = 200, eta = 0.01), doi:10.1007/s10791-009-9124-x.
    Donmez, Svore & Burges (2009), Section 7, doi:10.1145/1571941.1572021, train LambdaRank with 700 epochs
    of one query per step, learning rates from 1e-7 to 1e-3 chosen on validation queries, shrink=0.8,
    shrink_chance=0.3 and a restart after 50 epochs of constant validation accuracy.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.SGD(epochs=5).minimize(dx.linear_objective(q, "ApproxNDCG"), np.zeros(4))
    >>> result.status, len(result.trace)
    ('max_iter', 6)
    """

    short_name: ClassVar[str] = "sgd"
    takes_box: ClassVar[bool] = True
    budget: ClassVar[str] = "epochs"
    models: ClassVar[tuple[type, ...]] = (object,)
    _watched: ClassVar[Any] = None  # a function would be taken for a method

    learning_rate: float = 0.01
    epochs: int = 200
    batch: int = 1
    random_state: Seed = None
    shrink: float = 1.0
    shrink_chance: float = 1.0
    restart_after: int | None = None

    def __post_init__(self) -> None:
        number(self.learning_rate, "learning_rate", "SGD", above=0.0, example=0.01)
        for name in ("epochs", "batch") + ("restart_after",) * (self.restart_after is not None):
            whole(getattr(self, name), name, "SGD")
        number(self.shrink, "shrink", "SGD", above=0.0, most=1.0, example=0.8)
        number(self.shrink_chance, "shrink_chance", "SGD", least=0.0, most=1.0, example=0.3)

    def watching(self, score: Callable[[Float64Array], float]) -> Self:
        """Return a copy whose restarts watch a score of the parameters in place of the training loss.

        `BestSoFar` makes them watch its score, so that rankers with validation queries do what Donmez et al.
        do. A score that is watched already is kept.

        Parameters
        ----------
        score : callable
            From the parameters, float64 (n_params,), to a number; called once per epoch.
        """
        copy = replace(self)
        object.__setattr__(copy, "_watched", self._watched or score)
        return copy

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`.

        Parameters
        ----------
        objective : Objective
            Loss and gradient over any queries. If it has an ``sgd_epoch(params, order, learning_rate,
            batch)``, as `Objective` has, that does the epochs.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every epoch; returning True stops.

        Returns
        -------
        Result
            With ``restart_after`` the trace has a column ``restarts``, their number up to that epoch.
        """
        rng = generator(self.random_state)
        watched: Callable[[Float64Array], float] | None = self._watched
        rate, flat, restarts, last = self.learning_rate, 0, [0], np.nan
        nearest = nearest_in(objective)

        def one_epoch(params: Float64Array, order: Int64Array, before: float) -> float:
            nonlocal rate, flat, last
            if self.restart_after is not None and watched is not None:
                value = watched(params)
                flat, last = flat + 1 if abs(value - last) <= _ROUNDING else 0, value
            restart = flat == self.restart_after
            restarts.append(restarts[-1] + restart)
            if restart:
                params[:] = nearest(rng.standard_normal(len(params)) / np.sqrt(len(params)))
                rate, flat = self.learning_rate, 0
            loss = self._epoch(objective, params, order, rate)
            rise = loss - before
            if watched is None:
                flat = flat + 1 if abs(rise) <= _ROUNDING else 0
            if self.shrink < 1.0 and rise > _ROUNDING and rng.random() < self.shrink_chance:
                rate *= self.shrink
            return loss

        result = over_epochs(objective, start, one_epoch, epochs=self.epochs, rng=rng, callback=callback)
        if self.restart_after is None:
            return result
        trace = [{**row, "restarts": n} for row, n in zip(result.trace, restarts, strict=False)]
        return replace(result, counts={**result.counts, "restarts": restarts[-1]}, trace=trace)

    def _epoch(self, objective: Objective, params: Float64Array, order: Int64Array, rate: float) -> float:
        whole_epoch = getattr(objective, "sgd_epoch", None)
        if whole_epoch is not None:
            return float(whole_epoch(params, order, rate, self.batch))

        nearest = nearest_in(objective)

        def step(grad: Float64Array) -> None:
            params[:] = nearest(params - rate * grad)

        return in_batches(objective, params, order, self.batch, step)
