r"""Quadratic programs over simplices, by PIQP: the duals of cutting-plane models."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import MissingExtra
from directrix.types import Float64Array, Int64Array


def check_solver() -> Any:
    """Return the solver's module, or raise `MissingExtra` if it is not installed."""
    try:
        import piqp
    except ImportError:
        raise MissingExtra("qp", "CuttingPlane") from None
    return piqp


def solve(gram: Float64Array, linear: Float64Array, group: Int64Array, mass: Float64Array) -> Float64Array:
    r"""Maximise a concave quadratic over a product of simplices.

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
