r"""The two forms of a structural SVM: one slack for all queries, or one for each.

Both are the minimum of :math:`\lambda\lVert w - w_c\rVert^2 + \frac1n\sum_q \ell_q(w)`, and differ in what a
plane is below of: the mean of the losses, or the loss of one query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from directrix.trainers.bundle import Bundle, Minimum
from directrix.trainers.proof import Proof
from directrix.trainers.result import Status
from directrix.types import Float64Array

__all__ = ["EachSlack", "OneSlack"]

_NOT_FINITE: tuple[Status, str] = (
    "not_finite",
    "the loss became NaN or infinite; scale the features (scale='standard')",
)
_IDLE = 50  # solutions without a part in them after which a plane is dropped


@dataclass
class _Slacks:
    """Planes, and how often things were done; they may outlive one strength of the penalty."""

    bundle: Bundle
    added: int = 0
    qps: int = 0

    def _add(self, value: float, grad: Float64Array, group: int = 0) -> None:
        self.bundle.add(value, grad, group)
        self.added += 1

    def _minimum(self, proof: Proof) -> Minimum:
        self.qps += 1
        return self.bundle.minimum(proof.penalty.strength)


class OneSlack(_Slacks):
    """A plane a step, below the whole loss (Joachims, Finley & Yu 2009, Algorithm 3).

    Parameters
    ----------
    proof : Proof
        Whose loss it is.
    step : float, 0 < step <= 1
        Where the next plane is taken: this far on the way from the best parameters to the model's minimum.
    """

    def __init__(self, proof: Proof, step: float) -> None:
        super().__init__(Bundle(len(proof.params), np.ones(1)))
        self._step = step
        if proof.at_most_one:
            self.bundle.add(-1.0, np.zeros(len(proof.params)))

    def run(self, proof: Proof) -> tuple[Status, str]:
        """Add planes until the proof ends; at parameters whose loss it knows there is one already."""
        ended = None if proof.has_value else self._first(proof)
        if ended:
            return ended
        while True:
            low = self._minimum(proof)
            ended = proof.step(low.dual)
            if ended:
                return ended
            self.bundle.drop(_IDLE)
            point = proof.params + self._step * (proof.center + low.params - proof.params)
            plane = self._plane(proof, point)
            if plane is None:
                return _NOT_FINITE
            self._add(*plane)

    def _first(self, proof: Proof) -> tuple[Status, str] | None:
        """Begin at the start, and go on from the penalty's centre if the loss is lower there.

        From a start far away small steps would take long, and rounding leaves nothing of its plane.
        """
        start, center = proof.params, proof.center + np.zeros(len(proof.params))
        planes = [self._plane(proof, start)]
        if planes[0] is not None and not np.array_equal(start, center):
            ended = proof.step(self._minimum(proof).dual if len(self.bundle) else -np.inf)
            if ended:
                return ended
            planes.append(self._plane(proof, center))
            if not np.array_equal(proof.params, start):
                del planes[0]
        for plane in planes:
            if plane is None:
                return _NOT_FINITE
            self._add(*plane)
        return None

    def _plane(self, proof: Proof, point: Float64Array) -> tuple[float, Float64Array] | None:
        """Offer a point; return its plane, or None if that is not finite."""
        bare, grad, value = proof.oracle(point)
        if not (np.isfinite(bare) and np.isfinite(grad).all()):
            return None
        proof.offer(point, bare)
        return value, grad


class EachSlack(_Slacks):
    """Planes below the loss of every query (Yue, Finley, Radlinski & Joachims 2007, Algorithm 1).

    Its step is a pass over the queries, and one more evaluation for the value of the loss.

    Parameters
    ----------
    proof : Proof
        Whose loss it is.
    """

    def __init__(self, proof: Proof) -> None:
        n_queries, n_params = proof.loss.n_queries, len(proof.params)
        super().__init__(Bundle(n_params, np.full(n_queries, 1.0 / n_queries)))
        if proof.at_most_one:
            for q, weight in enumerate(proof.loss.query_weight):
                self.bundle.add(-float(weight), np.zeros(n_params), q)

    def run(self, proof: Proof) -> tuple[Status, str]:
        """Pass over the queries until the proof ends."""
        if not proof.has_value and not self._value(proof, proof.params):
            return _NOT_FINITE
        low = Minimum(proof.params - proof.center, -np.inf, np.full(proof.loss.n_queries, -np.inf))
        if len(self.bundle):
            low = self._minimum(proof)
        while True:
            ended = proof.step(low.dual)
            if ended:
                return ended
            found = self._pass(proof, low)
            if found is None or not self._value(proof, proof.center + found.params):
                return _NOT_FINITE
            low = found
            self.bundle.drop(max(_IDLE, 2 * proof.loss.n_queries))

    def _pass(self, proof: Proof, low: Minimum) -> Minimum | None:
        """One round of the outer loop; None if a loss is not finite."""
        for q in range(proof.loss.n_queries):
            bare, grad, value = proof.oracle(proof.center + low.params, np.array([q]))
            if not (np.isfinite(bare) and np.isfinite(grad).all()):
                return None
            # a thousandth of epsilon is left to the error of the quadratic program's solution
            if bare > low.highest[q] + 0.999 * proof.epsilon:
                self._add(value, grad, q)
                low = self._minimum(proof)
        return low

    def _value(self, proof: Proof, point: Float64Array) -> bool:
        bare, _, _ = proof.oracle(point)
        proof.offer(point, bare)
        return bool(np.isfinite(bare))
