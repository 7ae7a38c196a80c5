"""What stochastic trainers share: orders of the queries, batches, the loop over epochs and its statuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from directrix.objectives.penalty import nearest_in
from directrix.objectives.scores import check_start
from directrix.threads import one_blas_thread
from directrix.trainers.progress import Progress
from directrix.types import Callback, Float64Array, Int64Array, Objective, Result

Seed = int | np.random.Generator | None


def generator(random_state: Seed) -> np.random.Generator:
    """Return the generator of a seed; None is 0, so that the same call gives the same bits."""
    return np.random.default_rng(0 if random_state is None else random_state)


@one_blas_thread()  # see `FullGradients`
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

    ``one_epoch`` takes the parameters, which it changes in place, the order of the queries, a new random one
    every time, drawn by ``rng``, and the loss before; it returns the mean of the losses before its steps. The
    loss before the first epoch and after the last is that of ``objective``. The callback sees the start and
    every epoch.

    The result is the last epoch and its loss; where one is not finite, the last epoch before that.
    """
    params = nearest_in(objective)(np.array(start, dtype=np.float64))
    earlier = before = params.copy()
    loss, grad = objective.value_and_grad(params)
    check_start(params, grad, objective)
    progress, epoch = Progress(params, callback), 0
    with progress:
        for epoch in range(epochs + 1):
            if epoch:
                earlier, before = before, params.copy()
                loss = one_epoch(params, rng.permutation(objective.n_queries), loss)
            if not (np.isfinite(loss) and np.isfinite(params).all()):
                progress.end("not_finite", "")
            progress.step(params, loss)
        progress.end("max_iter", f"{epochs} epochs done")
    status, message = progress.status, progress.message
    loss = np.nan if status == "not_finite" else objective.value_and_grad(params)[0]
    if not np.isfinite(loss):
        status = "not_finite"
        where = f"in epoch {epoch}" if epoch else "at the start"
        message = f"the loss is not finite {where}; lower the learning_rate or scale the features"
        # An epoch reports the losses before its steps, not the one after the last.
        params, loss = before, objective.value_and_grad(before)[0]
        if not np.isfinite(loss):
            params, loss = earlier, objective.value_and_grad(earlier)[0]
    return Result(params, loss, status, message, {"epochs": epoch}, progress.trace)


def in_batches(
    objective: Objective,
    params: Float64Array,
    order: Int64Array,
    batch: int,
    step: Callable[[Float64Array], None],
) -> float:
    """One epoch: hand the mean gradient of every batch to ``step``, which moves ``params`` in place.

    An objective with a method ``epoch`` does that itself. Returns the mean of the losses before each step.
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
