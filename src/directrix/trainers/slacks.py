r"""The two forms of a structural SVM: one slack for all queries, or one for each.

Both minimize :math:`\lambda\lVert w - w_c\rVert^2 + \frac1n\sum_q \ell_q(w)`. They differ in what a plane
bounds from below: the mean of the losses, or the loss of one query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from directrix.trainers.bundle import Bundle, Minimum
from directrix.trainers.proof import Proof
from directrix.types import Float64Array, Int64Array

_IDLE = 50  # consecutive solutions that do not use a plane before it is dropped


@dataclass
class Slacks(ABC):
    """Planes, and how often things were done; they may outlive one strength of the penalty."""

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
        """`Proof.oracle`; ends where the loss or its gradient is not finite."""
        bare, grad, value = proof.oracle(point, queries)
        if not (np.isfinite(bare) and np.isfinite(grad).all()):
            proof.end("not_finite", "the loss became NaN or infinite; scale the features (scale 'standard')")
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
        if proof.at_most_one:
            self.bundle.add(-1.0, np.zeros(len(proof.params)))

    def run(self, proof: Proof) -> None:
        """Add planes until the proof ends; at parameters whose loss it knows there is one already."""
        if not proof.has_loss:
            self._begin(proof)
        while True:
            low = self._minimum(proof)
            proof.record(low.dual)
            self.bundle.drop(_IDLE)
            point = proof.params + self._step * (proof.center + low.params - proof.params)
            self._add(*self._plane(proof, point))

    def _begin(self, proof: Proof) -> None:
        """Begin at the start, and continue from the penalty's center if the loss is lower there.

        From a start far away small steps would take long, and rounding leaves nothing of its plane.
        """
        start, center = proof.params, proof.center + np.zeros(len(proof.params))
        planes = [self._plane(proof, start)]
        if not np.array_equal(start, center):
            proof.record(self._minimum(proof).dual if len(self.bundle) else -np.inf)
            planes.append(self._plane(proof, center))
            if not np.array_equal(proof.params, start):
                del planes[0]
        for plane in planes:
            self._add(*plane)


class EachSlack(Slacks):
    """Planes below the loss of every query (Yue, Finley, Radlinski & Joachims 2007, Algorithm 1).

    Its step is a pass over the queries, and one more evaluation for the value of the loss.
    """

    def __init__(self, proof: Proof) -> None:
        n_queries, n_params = proof.unpenalized.n_queries, len(proof.params)
        super().__init__(Bundle(n_params, np.full(n_queries, 1.0 / n_queries)))
        if proof.at_most_one:
            for q, weight in enumerate(proof.unpenalized.query_weight):
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
            # a thousandth of epsilon is left to the error of the quadratic program's solution
            if bare > low.highest[q] + 0.999 * proof.epsilon:
                self._add(value, grad, q)
                low = self._minimum(proof)
        return low
