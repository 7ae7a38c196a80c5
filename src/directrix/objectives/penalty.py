"""Penalties on the parameters."""

from __future__ import annotations

from dataclasses import dataclass

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
        w_0; None = the origin. A regression start here is SmoothRank's penalty (Chapelle & Wu 2010).
    """

    strength: float = 0.0
    center: Float64Array | None = None

    def __post_init__(self) -> None:
        number(self.strength, "l2", least=0.0, example=1e-4)

    def value_and_grad(self, params: Float64Array) -> tuple[float, Float64Array]:
        """Penalty and its gradient."""
        step = params if self.center is None else params - self.center
        return self.strength * float(step @ step), 2.0 * self.strength * step
