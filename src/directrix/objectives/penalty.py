"""Penalty on the parameters, and their bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.parameters import number
from directrix.types import Float64Array


@dataclass(frozen=True, eq=False)
class L2:
    r"""Ridge penalty :math:`\lambda \lVert w - w_0 \rVert^2`.

    Parameters
    ----------
    strength : float >= 0
        lambda.
    center : float64 (n_params,), or None
        w_0; None = the origin. With a regression start here, this is SmoothRank's penalty (Chapelle & Wu
        2010).
    """

    strength: float = 0.0
    center: Float64Array | None = None

    def __post_init__(self) -> None:
        number(self.strength, "l2", least=0.0, example=1e-4)

    def value_and_grad(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Penalty and its gradient."""
        step = params if self.center is None else params - self.center
        return self.strength * float(step @ step), 2.0 * self.strength * step


@dataclass(frozen=True, eq=False)
class Bounds:
    r"""Bounds of each parameter: :math:`l_p \le \theta_p \le u_p`.

    Parameters
    ----------
    low, high : float64 (n_params,)
        l and u, with l <= u; minus and plus infinity for no limit, equal for a fixed parameter.
    """

    low: Float64Array
    high: Float64Array

    def nearest(self, params: Float64Array) -> Float64Array:
        """Return the point within the bounds that is nearest to the parameters."""
        # Adding 0.0 turns -0.0 into 0.0.
        inside: Float64Array = np.clip(params, self.low, self.high) + 0.0
        return inside

    def holds(self, params: Float64Array) -> bool:
        """Whether the parameters lie within the bounds."""
        return bool(((self.low <= params) & (params <= self.high)).all())


def nearest_in(objective: Any) -> Callable[[Float64Array], Float64Array]:
    """Return `Bounds.nearest` of the bounds of an objective; without them, the identity."""
    bounds: Bounds | None = getattr(objective, "bounds", None)
    return (lambda params: params) if bounds is None else bounds.nearest
