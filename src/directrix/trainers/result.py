"""What every trainer returns, and what it tells a callback at each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from directrix.types import Float64Array

__all__ = ["Result", "Step"]

Status = Literal["converged", "stopped", "max_iter", "line_search", "not_finite"]


class Step(NamedTuple):
    """One iteration or epoch, as a callback and the trace see it.

    Parameters
    ----------
    iteration : int
        0 = the start.
    loss : float
        Value of the objective.
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
        Loss at ``params``.
    status : {"converged", "stopped", "max_iter", "line_search", "not_finite"}
        "converged": the trainer's own criterion was met. "stopped": a callback (early
        stopping) asked for it. "max_iter": the budget was used up. "line_search": no step
        along the search direction lowers the loss, usually because it is flat to rounding.
        "not_finite": the loss or its gradient became NaN or infinite.
    message : str
        The same in words, with the remedy where there is one.
    counts : dict
        How often things were done: ``iterations``, ``evaluations``, ...
    trace : list of dict
        One row per iteration: ``iteration``, ``loss``, and what callbacks added.
    """

    params: Float64Array
    value: float
    status: Status
    message: str
    counts: dict[str, int] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the trainer reached what it aimed at."""
        return self.status in ("converged", "stopped", "line_search")
