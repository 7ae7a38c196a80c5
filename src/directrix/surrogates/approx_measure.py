r"""`ApproxMeasure`: any measure that is a sum over documents, with soft ranks in place of ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.measures.terms import Between, query_sums
from directrix.parameters import positive
from directrix.surrogates.approx_rank import ALPHA, Sigmoid, sigmoid_code
from directrix.surrogates.base import check_below, cut_traits, share_below
from directrix.surrogates.sums import SumSurrogate
from directrix.types import Float64Array, FloatArray, Int64Array


@dataclass(frozen=True, repr=False)
class ApproxMeasure(SumSurrogate):
    r"""Smooth form of any measure that is a sum of worths w times discounts D of ranks.

    .. math:: \frac{1}{Z} \sum_i w_i \big[(1 - b)\, D(\hat\pi_i) + b\, D(1) / \log_2(1 + \hat\pi_i)\big],
              \qquad b = \text{share}

    Parameters
    ----------
    measure : measure or str
        One whose documents earn their worth times the discount of their rank: of your own
        (`directrix.define_measure`), RBP, DCG, ...
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.
    below : float, 0 <= below < 1
        If the measure has a cut-off: sets the share of the discount of DCG, below^((alpha/10)^2), so that a
        document is pulled up from any rank. 0 = D alone, as without a cut-off.

    Notes
    -----
    Between two ranks the discount D is the measure's `discount_between`: the function itself if the measure
    was defined with its slope, else a smooth curve through its values, which falls to 0 from rank k to k + 1.

    References
    ----------
    Qin, Liu, Li (2010), Section 4, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> s, labels, qptr = np.array([0.3, 0.2, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0, 3])
    >>> ApproxMeasure("RBP(p=0.5)", alpha=1000.0).value_and_grad(s, labels, qptr)[0]  # 1/2 (1 + 1/4)
    array([0.625])
    """

    entries: ClassVar[tuple[str, ...]] = ("document",)
    measure: Any = "nDCG"
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"
    below: float = 0.9

    def __post_init__(self) -> None:
        self._check_measure("ApproxAP")
        object.__setattr__(self, "alpha", positive(self.alpha, "alpha", "ApproxMeasure"))
        object.__setattr__(self, "below", check_below(self.below, "ApproxMeasure"))
        sigmoid_code(self.sigmoid)

    def __repr__(self) -> str:
        fields = f"alpha={self.alpha!r}, sigmoid={self.sigmoid!r}, below={self.below!r}"
        return f"ApproxMeasure({self.measure.name!r}, {fields})"

    @property
    def traits(self) -> frozenset[str]:
        """See `cut_traits`."""
        return cut_traits(self.share)

    @property
    def steepness(self) -> float:
        """Alpha: scores closer than 1/alpha share their ranks."""
        return self.alpha

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing."""
        return replace(self, alpha=1.0 / positive(smoothing, "smoothing", "ApproxMeasure.at"))

    @property
    def share(self) -> float:
        """Share of the discount that is DCG's; 0 for a measure without a cut-off."""
        return 0.0 if self.measure.k is None else share_below(self.below, self.alpha / ALPHA)

    def discount(self, n: int) -> Between:
        """Return the smooth discount of the ranks of queries of up to n documents, and its slope."""
        own, share = self.measure.discount_between(n), self.share
        first = share * float(self.measure.discounts(1)[0]) * np.log(2.0)

        def mixed(ranks: Float64Array) -> tuple[Float64Array, Float64Array]:
            value, slope = own(ranks)
            log = np.log1p(ranks)
            return (1.0 - share) * value + first / log, (1.0 - share) * slope - first / (
                log**2 * (1.0 + ranks)
            )

        return mixed if share else own

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Worth of every document to the measure, over the norm of its query."""
        return self.worths(labels, qptr)[:1]

    def fill(
        self,
        scores: FloatArray,
        prepared: tuple[Float64Array],
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[FloatArray, ...],
    ) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        from directrix.surrogates._kernels.approx import pull_chunk

        first, last = chunk
        lo, hi = qptr[first], qptr[last]
        local, worth = qptr[first : last + 1] - lo, prepared[0][lo:hi]
        kind, factor = sigmoid_code(self.sigmoid)
        one = kind, factor * self.alpha, scores[lo:hi]
        ranks, grad = np.zeros(hi - lo), np.zeros_like(one[2])
        pull_chunk(*one, worth, local, 0, last - first, ranks, grad, False)  # noqa: FBT003
        earns = worth != 0.0
        value, slope = np.zeros(hi - lo), np.zeros(hi - lo)
        if earns.any():
            discount, steps = self.discount(int(np.diff(local).max()))(ranks[earns])
            value[earns], slope[earns] = worth[earns] * discount, worth[earns] * steps
        pull_chunk(*one, slope, local, 0, last - first, ranks, grad, True)  # noqa: FBT003
        out[0][first:last], out[1][lo:hi] = query_sums(value, local), grad
