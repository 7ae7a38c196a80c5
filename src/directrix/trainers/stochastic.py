"""Stochastic gradient descent over queries: `SGD` and `Adam`.

In: an objective and a start. Out: a `Result`, whose trace has one row per epoch, after that of the start:

>>> import directrix as dx
>>> objective = dx.linear_objective(dx.data.make_cubic(5, 10, 4, seed=0), "RankNet")
>>> result = Adam(epochs=3).minimize(objective, np.zeros(4))
>>> result.message, len(result.trace)
('3 epochs done; raise epochs=3 to continue', 4)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.data.checks import generator
from directrix.objectives.penalty import nearest_in
from directrix.objectives.scores import check_start
from directrix.threads import one_blas_thread
from directrix.trainers.loop import Loop, Seed, Settings
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result

_BETAS, _EPS = (0.9, 0.999), 1e-8
"""beta_1, beta_2 and epsilon of `Adam`, as in the paper."""
_ROUNDING = 1e-12
"""Losses of two epochs this close are equal: their sums run over the queries in other orders."""


@dataclass(frozen=True)
class SGD(Settings):
    r"""One step per query (or batch of queries), in a new random order every epoch.

    .. math:: \theta \leftarrow \theta - \eta \nabla L_q(\theta)

    With bounds of the parameters, every step ends at the nearest point within them.

    Parameters
    ----------
    learning_rate : float > 0
        eta.
    epochs : int >= 1
        Passes over the queries, T in the paper.
    batch : int >= 1
        Queries per step; the gradient is their mean.
    random_state : int, numpy Generator or None
        Seed of the order of queries; None means the ranker's, or 0 outside a ranker.
    shrink : float in (0, 1]
        Factor on the learning rate after an epoch with a higher loss than the epoch before; 1 = never.
    shrink_chance : float in [0, 1]
        Probability of applying ``shrink``.
    restart_after : int >= 1, or None
        Epochs without any change of the loss, or of the score of `watching`, after which training continues
        from random parameters (normal, of length about 1) at the first learning rate; None = never. A measure
        is constant if no step swaps two documents: at a minimum, and at scores that are far apart.

    Notes
    -----
    The result holds the last epoch and its loss. Wrap it in `BestSoFar` to keep the epoch with the best
    validation score, as the paper does. In the trace and for callbacks, the loss of an epoch is the mean of
    the losses before its steps, which costs nothing.

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
    takes_bounds: ClassVar[bool] = True
    budget: ClassVar[str] = "epochs"
    # `watching` sets the score on a copy. It is no field, and on the class a function would become a method.
    _watched: ClassVar[Any] = None

    learning_rate: float = 0.01
    epochs: int = 200
    batch: int = 1
    random_state: Seed = None
    shrink: float = 1.0
    shrink_chance: float = 1.0
    restart_after: int | None = None

    def watching(self, score: Callable[[Float64Array], float]) -> Self:
        """Return a copy whose restarts watch a score of the parameters in place of the training loss.

        `BestSoFar` makes them watch its score, so that rankers with validation queries follow Donmez et al. A
        score that is already watched is kept.

        Parameters
        ----------
        score : callable
            Function from the parameters, float64 (n_params,), to a number; called once per epoch.
        """
        copy = replace(self)
        object.__setattr__(copy, "_watched", self._watched or score)
        return copy

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`. Steps for the callback are epochs.

        An objective with a method ``sgd_epoch(params, order, learning_rate, batch)`` runs its epochs itself.
        With ``restart_after`` the trace has a column ``restarts``, the number of restarts so far.
        """
        rng = generator(self.random_state)
        watched: Callable[[Float64Array], float] | None = self._watched
        rate, flat, restarts, last = self.learning_rate, 0, [0], np.nan
        nearest = nearest_in(objective)

        def one_epoch(params: Float64Array, order: Int64Array, before: float) -> float:
            nonlocal rate, flat, last
            if self.restart_after is not None and watched is not None:
                value = watched(params)
                # The first value is compared with NaN, which counts as a change.
                flat, last = flat + 1 if abs(value - last) <= _ROUNDING else 0, value
            restart = flat == self.restart_after
            restarts.append(restarts[-1] + restart)
            if restart:
                # Divided by the root of their number, normal parameters have a length of about 1.
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


@dataclass(frozen=True)
class Adam(Settings):
    r"""Steps along the mean of past gradients, divided by the root of the mean of their squares.

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        \theta &\leftarrow \theta - \eta \,
            \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    with the gradient g of a batch of queries at step t = 1, 2, ... of T, :math:`\beta_1 = 0.9`,
    :math:`\beta_2 = 0.999` and :math:`\epsilon = 10^{-8}`. The learning rate increases over the first 50
    steps (or T/10 if fewer), and decreases to 0 at the end, by the factor :math:`\min(1, t / \min(50, T /
    10)) \; (1 + \cos(\pi t / T)) / 2`. With bounds of the parameters, every step ends at the nearest point
    within them.

    Parameters
    ----------
    learning_rate : float > 0
        eta: approximate change of a parameter in a step, whatever the size of the gradient.
    epochs : int >= 1
        Passes over the queries.
    batch : int >= 1
        Queries per step; the gradient is their mean.
    average : float >= 0 and < 1
        a: callbacks, validation and the result use the mean of the parameters after each step, :math:`\sum_{u
        \le t} a^{t-u} \theta_u / \sum_{u \le t} a^{t-u}`. With 0 these are the last parameters.
    random_state : int, numpy Generator or None
        Seed of the order of queries; None means the ranker's, or 0 outside a ranker.

    Notes
    -----
    The penalty is part of the gradient (no decoupled weight decay). The result holds the last epoch;
    wrap it in `BestSoFar` to keep the epoch with the best validation score. The loss of an epoch in
    the trace is the mean of the losses before its steps, as under `SGD`.

    References
    ----------
    Kingma & Ba (2015), Algorithm 1 and, for the average, Sect. 7.2, arXiv:1412.6980; the schedule:
    Loshchilov & Hutter (2017), Eq. 5 without restarts, arXiv:1608.03983.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.Adam(epochs=5).minimize(dx.linear_objective(q, "ApproxNDCG"), np.zeros(4))
    >>> result.status, len(result.trace)
    ('max_iter', 6)
    """

    short_name: ClassVar[str] = "adam"
    takes_bounds: ClassVar[bool] = True
    budget: ClassVar[str] = "epochs"

    learning_rate: float = 3e-3
    epochs: int = 100
    batch: int = 8
    average: float = 0.99
    random_state: Seed = None

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`. Steps for the callback are epochs."""
        from directrix.trainers._kernels.adam import adam_step

        t, average = 0, float(self.average)
        n_steps = self.epochs * -(-objective.n_queries // self.batch)
        nearest = nearest_in(objective)
        current = nearest(np.array(start, dtype=np.float64))
        mean, square, total = (np.zeros(len(start)) for _ in range(3))

        def step(grad: Float64Array) -> None:
            nonlocal t
            t += 1
            rate = float(self.learning_rate) * cosine_factor(t, n_steps)
            adam_step(grad, _BETAS, _EPS, rate, average, t, current, mean, square, total)
            inside = nearest(current)
            # The mean has counted the step that left the bounds, so it is moved by the same correction.
            if inside is not current:
                total[:] += (1.0 - average) * (inside - current)
                current[:] = inside

        def one_epoch(params: Float64Array, order: Int64Array, before: float) -> float:
            loss = in_batches(objective, current, order, self.batch, step)
            # The weights of the sum add up to 1 - average**t, as in Adam's correction of its means.
            np.divide(total, 1.0 - average**t, out=params)
            # A mean of points within the bounds may leave them by rounding.
            params[:] = nearest(params)
            return loss

        rng = generator(self.random_state)
        return over_epochs(objective, start, one_epoch, epochs=self.epochs, rng=rng, callback=callback)


def cosine_factor(t: int, n_steps: int) -> float:
    """Return the factor on Adam's learning rate at step t of ``n_steps``."""
    return min(1.0, t / min(50.0, n_steps / 10)) * 0.5 * (1.0 + math.cos(math.pi * t / n_steps))


# Once for the whole run; see `FullGradients`.
@one_blas_thread()
def over_epochs(
    objective: Objective,
    start: Float64Array,
    one_epoch: Callable[[Float64Array, Int64Array, float], float],
    *,
    epochs: int,
    rng: np.random.Generator,
    callback: Callback | None,
) -> Result:
    """Call ``one_epoch`` until the epochs are done, the loss is not finite, or the callback stops.

    ``one_epoch`` takes the parameters (changed in place), a new random order of the queries, drawn by
    ``rng``, and the previous loss. It returns the mean of the losses before its steps. The loss before the
    first epoch and after the last is that of ``objective``. The callback receives the start and every epoch.

    The result is the last epoch and its loss; if that is not finite, the last epoch before it.
    """
    params = nearest_in(objective)(np.array(start, dtype=np.float64))
    loss, grad = objective.value_and_grad(params)
    check_start(params, grad, objective)
    loop = Loop(params, callback, unit="epochs", remedy="lower the learning_rate or scale the features")
    # The last three ends suffice: an epoch reports a loss that is not finite one epoch late.
    ends = deque([params.copy()], maxlen=3)
    with loop:
        while True:
            loop.check(loss, params)
            loop.step(params, loss)
            loop.limit(epochs, "epochs")
            loss = one_epoch(params, rng.permutation(objective.n_queries), loss)
            ends.append(params.copy())
    status, message = loop.status, loop.message
    # The last epoch met a loss that is not finite, so its end is not a candidate.
    if status == "not_finite" and len(ends) > 1:
        ends.pop()
    # An epoch reports the losses before its steps, so its end may have a loss that is not finite.
    for last in reversed(ends):
        loss = objective.value_and_grad(last)[0]
        if np.isfinite(loss):
            break
        if status != "not_finite":
            status, message = "not_finite", loop.not_finite(loop.iterations)
    return Result(last, loss, status, message, {"epochs": loop.iterations}, loop.trace)


def in_batches(
    objective: Objective,
    params: Float64Array,
    order: Int64Array,
    batch: int,
    step: Callable[[Float64Array], None],
) -> float:
    """Run one epoch: pass the mean gradient of every batch to ``step``, which moves ``params`` in place.

    An objective with a method ``epoch`` does this itself. Returns the mean of the losses before each step.
    """
    epoch = getattr(objective, "epoch", None)
    if epoch is not None:
        return float(epoch(params, order, batch, step))
    losses = []
    for begin in range(0, len(order), batch):
        loss, grad = objective.value_and_grad(params, order[begin : begin + batch])
        step(grad)
        losses.append(loss)
    return float(np.mean(losses))
