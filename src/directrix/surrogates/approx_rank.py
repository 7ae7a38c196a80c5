"""Soft ranks, and what all surrogates of ApproxRank share: fields and their checks, kernels, weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from directrix.data.checks import as_array, check_ranking
from directrix.errors import InputError
from directrix.parameters import positive
from directrix.surrogates.base import (
    PULLS,
    SMOOTH,
    MeasureSurrogate,
    cut_traits,
    in_chunks,
    share_below,
    writable,
)
from directrix.types import Float64Array, FloatArray, Int64Array

Sigmoid = Literal["logistic", "tanh", "arctan", "erf"]
ALPHA = 10.0
"""The steepness at which the share of a discount that ignores a cut-off is ``below``."""
_FIRST_CUT = 2  # functions of soft ranks with a cut-off have this number in the kernels, or a higher one
_SIGMOIDS: dict[str, tuple[int, float]] = {
    "logistic": (0, 1.0),
    "tanh": (0, 2.0),  # (1 + tanh z)/2 = logistic(2 z)
    "arctan": (1, 1.0),
    "erf": (2, 1.0),
}


def sigmoid_code(sigmoid: str) -> tuple[int, float]:
    """Kind of the sigmoid in the kernels, and the factor on its steepness; `InputError` if there is none."""
    if sigmoid not in _SIGMOIDS:
        known = ", ".join(map(repr, _SIGMOIDS))
        raise InputError(f"sigmoid={sigmoid!r}: there is no such sigmoid; type one of {known}.")
    return _SIGMOIDS[sigmoid]


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
    from directrix.surrogates._kernels.approx import pull_chunk

    alpha = positive(alpha, "alpha", "soft_ranks")
    scores = as_array(scores, "scores")
    bounds = np.array([0, scores.size]) if qptr is None else qptr
    scores, _, bounds = check_ranking(scores, np.zeros(scores.size), bounds)
    kind, factor = sigmoid_code(sigmoid)
    scores, bounds = writable(scores), writable(bounds)
    data = scores, np.ones(len(scores)), bounds
    ranks, no_grad = np.zeros(len(scores)), (np.zeros_like(scores), False)
    in_chunks(lambda *chunk: pull_chunk(kind, factor * alpha, *data, *chunk, ranks, *no_grad), bounds)
    return ranks


class ApproxRank(MeasureSurrogate):
    """Base of the surrogates in `approx`; they tend to their measure as alpha and beta grow."""

    alpha: float
    beta: float = 1.0
    sigmoid: Sigmoid
    below: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        sigmoid_code(self.sigmoid)

    @property
    def traits(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure; pulls_at_ties, unless a cut-off leaves too little."""
        return SMOOTH | PULLS if self._shape()[0] < _FIRST_CUT else cut_traits(self.share)

    @property
    def share(self) -> float:
        """Share of the discount that ignores the cut-off."""
        return share_below(self.below, self.alpha / ALPHA)

    @property
    def steepness(self) -> float:
        """Alpha: scores closer than 1/alpha share their ranks."""
        return self.alpha

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing; beta keeps its ratio to alpha.

        As smoothing -> 0 the value tends to the exact measure wherever no scores tie.
        """
        smoothing = positive(smoothing, "smoothing", f"{type(self).__name__}.at")
        return replace(  # type: ignore[type-var]
            self, alpha=1.0 / smoothing, beta=self.beta / self.alpha / smoothing
        )

    def _shape(self) -> tuple[int, float]:
        return 0, 0.0

    def spec(self) -> tuple[int, int, float, float, float, float]:
        """Return what the kernels need to know of the surrogate; see `separable_chunk`."""
        kind, factor = sigmoid_code(self.sigmoid)
        shape, k = self._shape()
        return shape, kind, float(k), factor * self.alpha, factor * self.beta, self.share

    def settings(self) -> tuple[Any, ...]:
        """See `spec`."""
        return (self.spec(),)
