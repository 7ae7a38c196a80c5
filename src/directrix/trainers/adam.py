"""Adam over queries: stochastic steps with a separate step size for every parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.errors import InputError
from directrix.parameters import number, whole
from directrix.trainers.epochs import Seed, in_batches, over_epochs
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result


@dataclass(frozen=True)
class Adam:
    r"""Steps along the mean of past gradients, divided by the root of the mean of their squares.

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        \theta &\leftarrow \theta - \eta \,
            \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    with the gradient g of a batch of queries at step t = 1, 2, ...

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
    random_state : int, numpy Generator or None
        Seed of the order of queries; an integer gives the same bits every time.

    Notes
    -----
    The penalty is part of the gradient (no decoupled weight decay). The result holds the last epoch;
    wrap it in `BestSoFar` to keep the epoch that is best on validation queries. The loss of an epoch in
    the trace is the mean of the losses before its steps, as under `SGD`.

    References
    ----------
    Kingma & Ba (2015), Algorithm 1, arXiv:1412.6980.
    """

    short_name: ClassVar[str] = "adam"
    budget: ClassVar[str] = "epochs"
    models: ClassVar[tuple[type, ...]] = (object,)

    learning_rate: float = 1e-3
    epochs: int = 100
    batch: int = 1
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    random_state: Seed = 0

    def __post_init__(self) -> None:
        number(self.learning_rate, "learning_rate", "Adam", above=0.0, example=0.001)
        number(self.eps, "eps", "Adam", above=0.0, example=1e-8)
        for name in ("epochs", "batch"):
            whole(getattr(self, name), name, "Adam")
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise InputError(
                f"Adam(betas={self.betas!r}): two numbers >= 0 and < 1 are needed, e.g. (0.9, 0.999)."
            )

    def minimise(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimise from ``start``; see `LBFGS.minimise`. ``counts`` has the epochs.

        Parameters
        ----------
        objective : Objective
            Loss and gradient over any queries.
        start : float64 (n_params,)
            First parameters.
        callback : callable, optional
            Called with a `Step` at the start and after every epoch; returning True stops.
        """
        (beta1, beta2), t = self.betas, 0
        mean, square = np.zeros(len(start)), np.zeros(len(start))

        def one_epoch(params: Float64Array, order: Int64Array, before: float) -> float:
            def step(grad: Float64Array) -> None:
                nonlocal t, mean, square
                t += 1
                mean = beta1 * mean + (1.0 - beta1) * grad
                square = beta2 * square + (1.0 - beta2) * grad**2
                root = np.sqrt(square / (1.0 - beta2**t)) + self.eps
                params[:] -= self.learning_rate / (1.0 - beta1**t) * mean / root

            return in_batches(objective, params, order, self.batch, step)

        rng = np.random.default_rng(self.random_state)
        return over_epochs(objective, start, one_epoch, epochs=self.epochs, rng=rng, callback=callback)
