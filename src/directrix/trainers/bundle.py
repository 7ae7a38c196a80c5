r"""Planes below a convex loss, and the minimum of their maximum with a penalty, by PIQP.

With :math:`u = w - w_c`, the distance to the penalty's center, plane k is :math:`a_k + g_k \cdot u`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import MissingExtra, amount
from directrix.objectives.objective import DataObjective
from directrix.objectives.penalty import L2
from directrix.trainers.loop import Loop
from directrix.types import Callback, Float64Array, Int64Array, Result

_UNUSED = 1e-7
"""Share of the mass of its group below which a plane has no influence on the solution."""
_STALLED = 100
"""Steps after which a gap that has not fallen by the factor `_FALL` no longer will: scores are rounded."""
_FALL = 0.999


class Proof(Loop):
    """A training run in progress, whose ``params`` and ``loss`` are the best so far.

    The strength of the penalty is > 0. The run has converged at a gap of ``epsilon``; ``max_iter`` counts the
    steps after the start.
    """

    def __init__(
        self,
        objective: DataObjective,
        start: Float64Array,
        epsilon: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(start, callback)
        self.penalty = objective.penalty
        self.unpenalized = objective.penalized(L2())
        self.center = 0.0 if self.penalty.center is None else self.penalty.center
        self.epsilon, self.max_iter = epsilon, max_iter
        # The best loss so far, without and with the penalty.
        self.bare = self.loss = np.inf
        self.dual = -np.inf
        self.oracle_calls = 0
        # Step and size of the gap when it last fell by a real amount.
        self._mark = (0, np.inf)
        self._rounding = float(np.finfo(self.unpenalized.source.queries.features.dtype).eps)

    @property
    def has_loss(self) -> bool:
        """Whether the loss of ``params`` is known."""
        return bool(np.isfinite(self.loss))

    @property
    def at_most_one(self) -> bool:
        """Whether the surrogate never exceeds 1, because it bounds a measure from below."""
        return "bound" in self.unpenalized.surrogate.properties

    def oracle(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array, float]:
        """Return the loss without penalty, its gradient, and their plane's value at the penalty's center.

        That value is lowered by the possible rounding error of the scores, about the precision of the
        features times the sum of absolute terms. The error is large far away, where a plane proves little.
        """
        value, grad = self.unpenalized.value_and_grad(params, queries)
        self.oracle_calls += self.unpenalized.n_queries if queries is None else len(queries)
        change = grad * (params - self.center)
        error = self._rounding * (abs(value) + float(np.abs(change).sum()))
        return value, grad, value - float(change.sum()) - error

    def offer(self, params: Float64Array, bare: float) -> None:
        """Keep the parameters if they are the best so far; ``bare`` is their loss without penalty."""
        value = bare + self.penalty.value_and_grad(params)[0]
        if value < self.loss:
            self.params, self.bare, self.loss = np.array(params), bare, value

    def record(self, dual: float) -> None:
        """Record a step with a lower bound of the loss; end if the gap or the budget requires it."""
        self.dual = max(self.dual, dual)
        self.step(self.params, self.loss, dual=self.bound)
        number, gap = self.iterations, self.loss - self.dual
        done = amount(number, "iterations")
        if gap <= self.epsilon:
            self.stop(
                "converged",
                f"converged after {done}: the last is no more than {max(gap, 0.0):.2g} above the minimum",
            )
        if gap < _FALL * self._mark[1]:
            self._mark = number, gap
        if number - self._mark[0] >= _STALLED:
            self.stop(
                "line_search",
                f"after {done} the gap of {gap:.2g} no longer decreases: planes are exact "
                f"only to rounding; use float64 features, or a larger epsilon than {self.epsilon:g}",
            )
        if number >= self.max_iter:
            self.stop(
                "max_iter",
                f"stopped after {done} with a gap of {gap:.2g}; raise max_iter={self.max_iter} to continue",
            )

    @property
    def bound(self) -> float:
        """Lower bound, limited to the loss of the best parameters, which rounding could exceed."""
        return min(self.dual, self.loss)

    def proven(self, counts: dict[str, int]) -> Result:
        """Return the trainer's result."""
        dual = self.bound if np.isfinite(self.dual) else None
        return self.result({"oracle_calls": self.oracle_calls, **counts}, dual=dual)


class Minimum(NamedTuple):
    """The minimum of a model, and the bound that it proves."""

    params: Float64Array
    """u (n_params,)."""
    dual: float
    """Value of the dual at the solver's solution, made feasible: a lower bound of the loss, perhaps a poor
    one."""
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
            # Doubling the room keeps the cost of a plane constant on average.
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
        # A plane is idle from the last solution that used it.
        self._idle[:n] = np.where(used, 0, self._idle[:n] + 1)
        params = -(alpha @ grad) / (2.0 * strength)
        highest = np.full(len(self._mass), -np.inf)
        # `EachSlack` compares the loss of a query with its highest plane.
        np.maximum.at(highest, group, value + grad @ params)
        dual = float(alpha @ value) - strength * float(params @ params)
        return Minimum(params, dual, highest)

    def drop(self, rounds: int) -> None:
        """Forget planes that the last ``rounds`` solutions did not use."""
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

    The solution is always feasible: it is clipped at 0 and scaled to the masses, or uniform for a group
    without any remaining mass. If the solver fails, it is a feasible guess, which still gives a lower bound;
    the caller notices that the bound is poor.
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
    # A group that lost all of its mass gets uniform shares, which are feasible too.
    even = 1.0 / np.bincount(row, minlength=len(present))
    lost = ~(total > 0.0)
    shares: Float64Array = np.where(lost[row], even[row], x / np.where(lost, 1.0, total)[row])
    return shares * share


_IDLE = 50
"""Consecutive solutions that do not use a plane before it is dropped."""


@dataclass
class Slacks(ABC):
    """Planes and counts, which may be used for several strengths of the penalty."""

    bundle: Bundle
    added: int = 0
    qps: int = 0

    @abstractmethod
    def run(self, proof: Proof) -> None:
        """Add planes until the proof ends."""

    def _add(self, value: float, grad: Float64Array, group: int = 0) -> None:
        self.bundle.add(value, grad, group)
        self.added += 1

    def _minimum(self, proof: Proof) -> Minimum:
        self.qps += 1
        return self.bundle.minimum(proof.penalty.strength)

    def _oracle(
        self, proof: Proof, point: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array, float]:
        """Call `Proof.oracle`; stop if the loss or its gradient is not finite."""
        bare, grad, value = proof.oracle(point, queries)
        proof.check(bare, grad)
        return bare, grad, value

    def _plane(self, proof: Proof, point: Float64Array) -> tuple[float, Float64Array]:
        """Offer a point and return its plane."""
        bare, grad, value = self._oracle(proof, point)
        proof.offer(point, bare)
        return value, grad


class OneSlack(Slacks):
    """One plane per step, below the whole loss (Joachims, Finley & Yu 2009, Algorithm 3).

    The next plane is taken at a fraction ``step``, in (0, 1], of the way from the best parameters to the
    model's minimum.
    """

    def __init__(self, proof: Proof, step: float) -> None:
        super().__init__(Bundle(len(proof.params), np.ones(1)))
        self._step = step
        # The surrogate never exceeds 1, so a level plane at -1 is below the loss from the start.
        if proof.at_most_one:
            self.bundle.add(-1.0, np.zeros(len(proof.params)))

    def run(self, proof: Proof) -> None:
        """Add planes until the proof ends; parameters with a known loss already have one."""
        if not proof.has_loss:
            self._begin(proof)
        while True:
            low = self._minimum(proof)
            proof.record(low.dual)
            self.bundle.drop(_IDLE)
            # A small step needs fewer planes than the minimum of the model; see ``step`` of `CuttingPlane`.
            point = proof.params + self._step * (proof.center + low.params - proof.params)
            self._add(*self._plane(proof, point))

    def _begin(self, proof: Proof) -> None:
        """Begin at the start, and continue from the penalty's center if the loss is lower there.

        From a distant start, small steps would take long, and rounding makes its plane useless.
        """
        start, center = proof.params, proof.center + np.zeros(len(proof.params))
        planes = [self._plane(proof, start)]
        if not np.array_equal(start, center):
            proof.record(self._minimum(proof).dual if len(self.bundle) else -np.inf)
            planes.append(self._plane(proof, center))
            # The center was better, so the distant plane of the start is forgotten.
            if not np.array_equal(proof.params, start):
                del planes[0]
        for plane in planes:
            self._add(*plane)


class EachSlack(Slacks):
    """Planes below the loss of every query (Yue, Finley, Radlinski & Joachims 2007, Algorithm 1).

    A step is a pass over the queries, plus one evaluation for the value of the loss.
    """

    def __init__(self, proof: Proof) -> None:
        n_queries, n_params = proof.unpenalized.n_queries, len(proof.params)
        super().__init__(Bundle(n_params, np.full(n_queries, 1.0 / n_queries)))
        if proof.at_most_one:
            for q, weight in enumerate(proof.unpenalized.source.query_weight):
                self.bundle.add(-float(weight), np.zeros(n_params), q)

    def run(self, proof: Proof) -> None:
        """Pass over the queries until the proof ends."""
        n_queries = proof.unpenalized.n_queries
        if not proof.has_loss:
            self._plane(proof, proof.params)
        low = Minimum(proof.params - proof.center, -np.inf, np.full(n_queries, -np.inf))
        if len(self.bundle):
            low = self._minimum(proof)
        while True:
            proof.record(low.dual)
            low = self._pass(proof, low)
            self._plane(proof, proof.center + low.params)
            self.bundle.drop(max(_IDLE, 2 * n_queries))

    def _pass(self, proof: Proof, low: Minimum) -> Minimum:
        """One round of the outer loop."""
        for q in range(proof.unpenalized.n_queries):
            bare, grad, value = self._oracle(proof, proof.center + low.params, np.array([q]))
            # A thousandth of epsilon is left to the error of the quadratic program's solution.
            if bare > low.highest[q] + 0.999 * proof.epsilon:
                self._add(value, grad, q)
                low = self._minimum(proof)
        return low
