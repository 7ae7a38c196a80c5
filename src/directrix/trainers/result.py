"""What every trainer returns, and what it tells a callback at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array, Objective

__all__ = ["Result", "Step", "added_counts", "check_count", "check_trainer", "check_values"]

Status = Literal["converged", "stopped", "max_iter", "line_search", "not_finite"]


class Step(NamedTuple):
    """One iteration or epoch, as a callback and the trace see it.

    Parameters
    ----------
    iteration : int
        0 = the start.
    loss : float
        What the trainer lowers: value of the objective; under `SGD` and `Adam` the mean of the losses that
        the epoch met on its way, under `Anneal` the value at the round's smoothing, and of trainers with
        ``Result.own_loss`` their own loss.
    params : float64 (n_params,)
        Parameters at this step; a view that must not be changed or kept without a copy.
    """

    iteration: int
    loss: float
    params: Float64Array


@dataclass(frozen=True)
class Result:
    """Where a trainer stopped, and why.

    Parameters
    ----------
    params : float64 (n_params,)
        The chosen parameters.
    value : float
        Loss at ``params``: of the objective as it was given, or the trainer's own, see ``own_loss``.
    status : {"converged", "stopped", "max_iter", "line_search", "not_finite"}
        "converged": the trainer's own criterion was met. "stopped": a callback (early
        stopping) asked for it. "max_iter": the budget was used up. "line_search": no step
        along the search direction lowers the loss, usually because it is flat to rounding; of
        `CuttingPlane`, the gap does not fall any more.
        "not_finite": the loss or its gradient became NaN or infinite; ``params`` are the last before that.
    message : str
        The same in words, with the remedy where there is one.
    counts : dict
        How often things were done: ``iterations``, ``evaluations``, ...
    trace : list of dict
        One row a step, the start included: ``iteration`` and ``loss``, as in `Step`; ``score`` under
        `BestSoFar`, ``restart`` under `Restarts`, ``smoothing`` under `Anneal`, and ``restarts`` (so far)
        under ``SGD(restart_after=)``; ``dual`` (so far) under `CuttingPlane`.
    own_loss : bool
        Whether ``value`` is a loss of the trainer's own: coordinate ascent, AdaRank, RankBoost, FRank, in
        whose loss the surrogate has no part, and `CuttingPlane` with a ``C`` of its own.
    dual : float, or None
        A proven lower bound of the loss, at any parameters; None if the trainer knows none.
    """

    params: Float64Array
    value: float
    status: Status
    message: str
    counts: dict[str, int] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)
    own_loss: bool = False
    dual: float | None = None

    @property
    def gap(self) -> float | None:
        """How far ``value`` can be above the minimum, ``value - dual``; None without ``dual``."""
        return None if self.dual is None else self.value - self.dual


def added_counts(results: Iterable[Result]) -> dict[str, int]:
    """Add up the counts of several runs, but for ``best``: the number of a step is no amount."""
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.counts)
    del total["best"]
    return dict(total)


def check_trainer(trainer: Any, wrapper: str) -> None:
    """Refuse to wrap what is no trainer.

    Raises
    ------
    InputError
        Then.
    """
    if not hasattr(trainer, "minimise"):
        raise InputError(f"{wrapper}({trainer!r}): a trainer is needed, e.g. {wrapper}(LBFGS()).")


def check_count(value: Any, where: str) -> None:
    """Refuse a number of iterations that is not an integer >= 1; ``where`` reads "SGD(epochs=".

    Raises
    ------
    InputError
        Then.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"{where}{value!r}): an integer >= 1 is needed, e.g. {where}10).")


def check_values(objective: Objective, trainer: str) -> None:
    """Refuse an objective whose gradient belongs to no loss; for trainers that compare losses.

    Raises
    ------
    InputError
        If the objective says that it is ``value_free``.
    """
    if getattr(objective, "value_free", False):
        raise InputError(
            f"{trainer} compares losses, but the gradient of {getattr(objective, 'surrogate', objective)!r} "
            "is that of no loss, and its steps would be refused. Train it with steps alone: trainer='sgd', "
            "or directrix.SGD(rate=1e-3, epochs=700)."
        )
