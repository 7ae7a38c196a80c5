r"""Soft ranks as such, and `ApproxMeasure`: any measure that is a function of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.parameters import positive
from directrix.surrogates.base import DOCS_PER_CHUNK, query_sums, writable
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array

__all__ = ["ApproxMeasure", "Sigmoid", "sigmoid_code", "soft_ranks"]

Sigmoid = Literal["logistic", "tanh", "arctan", "erf"]
_SIGMOIDS: dict[str, tuple[int, float]] = {
    "logistic": (0, 1.0),
    "tanh": (0, 2.0),  # (1 + tanh z)/2 = logistic(2 z)
    "arctan": (1, 1.0),
    "erf": (2, 1.0),
}


def sigmoid_code(sigmoid: str) -> tuple[int, float]:
    """Kind of the sigmoid in the kernels, and the factor on its steepness.

    Raises
    ------
    InputError
        If there is no such sigmoid.
    """
    if sigmoid not in _SIGMOIDS:
        known = ", ".join(map(repr, _SIGMOIDS))
        raise InputError(f"sigmoid={sigmoid!r}: there is no such sigmoid; type one of {known}.")
    return _SIGMOIDS[sigmoid]


def _pull(
    scores: FloatArray, weights: Float64Array, qptr: Int64Array, spec: tuple[int, float], *, want_grad: bool
) -> tuple[Float64Array, FloatArray]:
    """Soft ranks of documents with weight != 0, and sum_i weight_i d rank_i / d scores."""
    from directrix.surrogates._kernels.approx import pull_chunk

    ranks, grad = np.zeros(len(scores)), np.zeros_like(scores)
    bounds = query_chunks(qptr, DOCS_PER_CHUNK)

    def work(c: int) -> None:
        chunk = int(bounds[c]), int(bounds[c + 1])
        pull_chunk(*spec, scores, weights, qptr, *chunk, ranks, grad, want_grad)

    run_chunks(work, len(bounds) - 1)
    return ranks, grad


def soft_ranks(
    scores: FloatArray, qptr: Int64Array | None = None, *, alpha: float = 10.0, sigmoid: Sigmoid = "logistic"
) -> Float64Array:
    r"""Soft ranks :math:`\hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i))`.

    Parameters
    ----------
    scores : float (n_docs,)
        Higher is ranked first.
    qptr : int64 (n_queries + 1,), or None
        Query boundaries; None = one query.
    alpha : float > 0
        Steepness, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Returns
    -------
    float64 (n_docs,)
        1 <= rank <= number of documents of the query; ranks of a query add up to n (n + 1)/2.

    Raises
    ------
    InputError
        If the arrays do not fit together, alpha is not > 0, or the sigmoid is unknown.

    Notes
    -----
    O(n log n + n b) time for a band of b documents, O(n) memory.

    References
    ----------
    Qin, Liu, Li (2010), Eq. (20) and Table 1, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> soft_ranks(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100).round(5)
    array([2.00118, 4.     , 1.     , 5.     , 2.99882])
    """
    alpha = positive(alpha, "alpha", "soft_ranks")
    scores = np.asarray(scores)
    bounds = np.array([0, len(scores)]) if qptr is None else qptr
    scores, _, bounds = check_ranking(scores, np.zeros(len(scores)), bounds)
    kind, factor = sigmoid_code(sigmoid)
    weights = np.ones(len(scores))
    return _pull(writable(scores), weights, writable(bounds), (kind, factor * alpha), want_grad=False)[0]


@dataclass(frozen=True)
class ApproxMeasure:
    r"""A measure of your own: :math:`\sum_i g(l_i)\, D(\hat\pi_i)`.

    Parameters
    ----------
    gain : callable
        Labels (n,) -> gains (n,). Documents of gain 0 cost nothing.
    discount : callable
        Positions (n,) -> (values (n,), derivatives (n,)); must be differentiable for x >= 1.
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Notes
    -----
    Not divided by an ideal value: put that into the gain if you want it. The functions see the
    documents of many queries at once.

    References
    ----------
    Qin, Liu, Li (2010), Section 4, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    The sum of reciprocal ranks of relevant documents:

    >>> s = ApproxMeasure(lambda labels: 1.0 * (labels > 0), lambda x: (1 / x, -1 / x**2), alpha=1000.0)
    >>> s.value_and_grad(np.array([0.3, 0.2, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0, 3]))[0].round(6)
    array([1.333333])
    """

    gain: Callable[[Float64Array], Float64Array]
    discount: Callable[[Float64Array], tuple[Float64Array, Float64Array]]
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive(self.alpha, "alpha", "ApproxMeasure"))
        sigmoid_code(self.sigmoid)

    @property
    def traits(self) -> frozenset[str]:
        """smooth, shift_invariant."""
        return frozenset({"smooth", "shift_invariant"})

    @property
    def steepness(self) -> float:
        """Alpha: scores closer than 1/alpha share their ranks."""
        return self.alpha

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing."""
        return replace(self, alpha=1.0 / positive(smoothing, "smoothing", "ApproxMeasure.at"))

    def value_and_grad(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Value of every query and its gradient; see `KernelSurrogate.value_and_grad`."""
        scores, labels, qptr = check_ranking(scores, labels, qptr)
        scores, qptr = writable(scores), writable(qptr)
        kind, factor = sigmoid_code(self.sigmoid)
        spec = (kind, factor * self.alpha)
        gain = np.array(self.gain(labels), dtype=np.float64)
        if gain.shape != labels.shape or not np.isfinite(gain).all():
            raise InputError(
                f"the gain function returned shape {gain.shape} for {len(labels)} labels, or a value that is "
                "not finite; one finite gain a label is needed, e.g. gain=lambda labels: 2.0**labels - 1."
            )
        ranks, _ = _pull(scores, gain, qptr, spec, want_grad=False)
        earns = gain != 0.0
        value, slope = np.zeros(len(gain)), np.zeros(len(gain))
        d, dd = self.discount(ranks[earns])
        value[earns], slope[earns] = gain[earns] * d, gain[earns] * dd
        return query_sums(value, qptr), _pull(scores, slope, qptr, spec, want_grad=True)[1]
