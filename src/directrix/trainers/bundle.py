r"""Planes below a convex loss, and the minimum of their maximum with a penalty, by PIQP.

With :math:`u = w - w_c`, the distance to the penalty's center, plane k is :math:`a_k + g_k \cdot u`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.errors import MissingExtra
from directrix.types import Float64Array, Int64Array

_UNUSED = 1e-7  # share of its group below which a plane has no part in the solution


class Minimum(NamedTuple):
    """The lowest point of a model, and what it proves."""

    params: Float64Array
    """u (n_params,)."""
    dual: float
    """Value of the dual at the solver's answer, made feasible: a lower bound of the loss, however poor."""
    highest: Float64Array
    """The value of the highest plane of every group at u (n_groups,)."""


class Bundle:
    r"""Planes in groups, one group for each part of the loss with separate planes.

    The model is :math:`\lambda\lVert u\rVert^2 + \sum_g m_g \max_{k \in g} (a_k + g_k \cdot u)`, below the
    penalized loss everywhere, with u of ``n_params`` numbers and m = ``mass`` (n_groups,). Products of the
    gradients are computed once for each pair.

    O(n_planes (n_params + n_planes)) memory; a plane costs O(n_planes n_params) time.
    """

    def __init__(self, n_params: int, mass: Float64Array) -> None:
        self._mass = mass
        self._size = 0
        self._value = np.empty(0)
        self._group = np.empty(0, dtype=np.int64)
        self._idle = np.empty(0, dtype=np.int64)
        self._grad = np.empty((0, n_params))
        self._gram = np.empty((0, 0))

    def __len__(self) -> int:
        return self._size

    def add(self, value: float, grad: Float64Array, group: int = 0) -> None:
        """Add the plane ``value + grad . u``."""
        n = self._size
        if n == len(self._value):
            self._move(np.arange(n), max(16, 2 * n))
        self._size = n + 1
        self._value[n], self._grad[n], self._group[n], self._idle[n] = value, grad, group, 0
        self._gram[n, : n + 1] = self._gram[: n + 1, n] = self._grad[: n + 1] @ grad

    def minimum(self, strength: float) -> Minimum:
        r"""Minimize the model for a strength lambda > 0 of the penalty.

        The dual is :math:`\sum_k \alpha_k a_k - \lVert\sum_k \alpha_k g_k\rVert^2 / (4 \lambda)` over
        :math:`\alpha \ge 0` that add up to the mass of every group, and
        :math:`u = -\sum_k \alpha_k g_k / (2 \lambda)`.
        """
        n = self._size
        value, group, grad = self._value[:n], self._group[:n], self._grad[:n]
        alpha = solve(self._gram[:n, :n] / (2.0 * strength), value, group, self._mass)
        used = alpha > _UNUSED * self._mass[group]
        self._idle[:n] = np.where(used, 0, self._idle[:n] + 1)
        params = -(alpha @ grad) / (2.0 * strength)
        highest = np.full(len(self._mass), -np.inf)
        np.maximum.at(highest, group, value + grad @ params)
        dual = float(alpha @ value) - strength * float(params @ params)
        return Minimum(params, dual, highest)

    def drop(self, rounds: int) -> None:
        """Forget planes that had no part in the last ``rounds`` solutions."""
        keep = np.flatnonzero(self._idle[: self._size] < rounds)
        if len(keep) < self._size:
            self._move(keep, len(self._value))

    def _move(self, keep: Int64Array, capacity: int) -> None:
        """Keep these planes, in room for ``capacity``."""
        n = len(keep)
        for name in ("_value", "_group", "_idle", "_grad"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[:n] = old[keep]
            setattr(self, name, new)
        gram = np.empty((capacity, capacity))
        gram[:n, :n] = self._gram[np.ix_(keep, keep)]
        self._gram, self._size = gram, n


def check_solver() -> Any:
    """Return the solver's module, or raise `MissingExtra` if it is not installed."""
    try:
        import piqp
    except ImportError:
        raise MissingExtra("piqp", "CuttingPlane") from None
    return piqp


def solve(gram: Float64Array, linear: Float64Array, group: Int64Array, mass: Float64Array) -> Float64Array:
    r"""Maximize a concave quadratic over a product of simplices.

    .. math:: \max_{\alpha \ge 0} \; a \cdot \alpha - \tfrac12 \alpha^\top G \alpha
              \quad\text{with}\quad \sum_{k \in g} \alpha_k = m_g \text{ for every group } g

    with G = ``gram``, positive semi-definite (n, n); a = ``linear`` (n,); the ``group`` of every variable
    (n,); and m = ``mass`` > 0, indexed by group.

    The answer is feasible whatever the solver says: clipped at 0 and scaled to the masses, the even spread
    for a group of which nothing is left. Where the solver fails it is a feasible guess, so that what is
    computed from it is a lower bound all the same; the caller sees that by the bound, which is poor.
    """
    piqp = check_solver()
    share = mass[group]
    present, row = np.unique(group, return_inverse=True)
    n = len(linear)
    sums = np.zeros((len(present), n), order="F")
    sums[row, np.arange(n)] = 1.0
    solver = piqp.DenseSolver()
    # Variables as shares of their group, so that the solver's tolerances are in units of the loss.
    solver.setup(
        np.asfortranarray(gram * share * share[:, None]),
        -linear * share,
        sums,
        np.ones(len(present)),
        x_l=np.zeros(n),
    )
    solver.solve()
    x = np.array(solver.result.x, dtype=np.float64)
    x = np.where(np.isfinite(x), np.maximum(x, 0.0), 0.0)
    total = np.bincount(row, weights=x, minlength=len(present))
    even = 1.0 / np.bincount(row, minlength=len(present))
    lost = ~(total > 0.0)
    shares: Float64Array = np.where(lost[row], even[row], x / np.where(lost, 1.0, total)[row])
    return shares * share
