"""Adam over queries: stochastic steps with a separate step size for every parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from directrix.errors import InputError
from directrix.objectives.penalty import nearest_in
from directrix.parameters import number, whole
from directrix.trainers.epochs import Seed, generator, in_batches, over_epochs
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result

Schedule = Literal["cosine", "constant"]


@dataclass(frozen=True)
class Adam:
    r"""Steps along the mean of past gradients, divided by the root of the mean of their squares.

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        \theta &\leftarrow \theta - \eta \,
            \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    with the gradient g of a batch of queries at step t = 1, 2, ... of T. Within limits of the parameters
    every step ends at the nearest point within them.

    Parameters
    ----------
    learning_rate : float > 0
        eta: about how far a parameter moves in a step, whatever the size of the gradient.
    epochs : int >= 1
        Passes over the queries.
    batch : int >= 1
        Queries per step; the gradient is their mean.
    betas : (float, float), both >= 0 and < 1
        beta_1 and beta_2: how slowly the two means forget.
    eps : float > 0
        Keeps the division finite where gradients vanish.
    schedule : {"cosine", "constant"}
        "cosine": eta rises over the first 50 steps, or T/10 if those are fewer, and falls to 0 at the end, by
        the factor :math:`\min(1, t / \min(50, T / 10)) \; (1 + \cos(\pi t / T)) / 2`.
    average : float >= 0 and < 1
        a: what a callback sees after an epoch, what validation scores and what the result holds is the mean
        of the parameters after each step, :math:`\sum_{u \le t} a^{t-u} \theta_u / \sum_{u \le t} a^{t-u}`.
        With 0 that is the last parameters.
    random_state : int, numpy Generator or None
        Seed of the order of queries; None is that of the ranker, and 0 outside of one.

    Notes
    -----
    The penalty is part of the gradient (no decoupled weight decay). The result holds the last epoch;
    wrap it in `BestSoFar` to keep the epoch that is best on validation queries. The loss of an epoch in
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
    takes_box: ClassVar[bool] = True
    budget: ClassVar[str] = "epochs"
    models: ClassVar[tuple[type, ...]] = (object,)

    learning_rate: float = 3e-3
    epochs: int = 100
    batch: int = 8
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    schedule: Schedule = "cosine"
    average: float = 0.99
    random_state: Seed = None

    def __post_init__(self) -> None:
        number(self.learning_rate, "learning_rate", "Adam", above=0.0, example=0.001)
        number(self.eps, "eps", "Adam", above=0.0, example=1e-8)
        number(self.average, "average", "Adam", least=0.0, below=1.0, example=0.99)
        if self.schedule not in get_args(Schedule):
            raise InputError(f"Adam(schedule={self.schedule!r}): type 'cosine' or 'constant'.")
        for name in ("epochs", "batch"):
            whole(getattr(self, name), name, "Adam")
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise InputError(
                f"Adam(betas={self.betas!r}): two numbers >= 0 and < 1 are needed, e.g. (0.9, 0.999)."
            )

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; see `LBFGS.minimize`. ``counts`` has the epochs.

        Parameters
        ----------
        objective : Objective
            Loss and gradient over any queries.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every epoch; returning True stops.
        """
        from directrix.trainers._kernels.adam import adam_step

        t, betas = 0, (float(self.betas[0]), float(self.betas[1]))
        eps, average = float(self.eps), float(self.average)
        n_steps = self.epochs * -(-objective.n_queries // self.batch)
        nearest = nearest_in(objective)
        current = nearest(np.array(start, dtype=np.float64))
        mean, square, total = (np.zeros(len(start)) for _ in range(3))

        def step(grad: Float64Array) -> None:
            nonlocal t
            t += 1
            rate = float(self.learning_rate) * self._factor(t, n_steps)
            adam_step(grad, betas, eps, rate, average, t, current, mean, square, total)
            inside = nearest(current)
            if inside is not current:  # `total` holds steps that end within the limits
                total[:] += (1.0 - average) * (inside - current)
                current[:] = inside

        def one_epoch(params: Float64Array, order: Int64Array, before: float) -> float:
            loss = in_batches(objective, current, order, self.batch, step)
            np.divide(total, 1.0 - average**t, out=params)
            params[:] = nearest(params)  # rounding may leave the limits
            return loss

        rng = generator(self.random_state)
        return over_epochs(objective, start, one_epoch, epochs=self.epochs, rng=rng, callback=callback)

    def _factor(self, t: int, n_steps: int) -> float:
        """Of the learning rate, at step t of ``n_steps``."""
        if self.schedule == "constant":
            return 1.0
        return min(1.0, t / min(50.0, n_steps / 10)) * 0.5 * (1.0 + math.cos(math.pi * t / n_steps))
