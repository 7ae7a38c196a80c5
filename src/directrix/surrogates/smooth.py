r"""SmoothRank (Chapelle, Wu 2010): measures with the document at a rank replaced by a soft one.

Let d(j) be the document at rank j. Document i has the following share of this rank (Eq. 7)

.. math:: h_{ij} = \frac{\exp(-(s_i - s_{d(j)})^2 / \sigma)}{\sum_m \exp(-(s_m - s_{d(j)})^2 / \sigma)},

so the gain of rank j is :math:`\bar g_j = \sum_i g_i h_{ij}`. As sigma -> 0 it tends to the gain of d(j); as
sigma -> infinity, to the mean gain of the query, whatever the scores.

The value is continuous, with kinks where scores tie. The gradient takes d(j) as constant, which is exact
where no scores tie; where some do, it is the mean over the orders of the tied documents. If all scores tie,
it is 0: start from parameters that rank, such as `directrix.trainers.regression_start`. From parameters of 0,
rankers first train the ApproxRank form of the measure (`directrix.trainers.Continuation`), and trees begin
with a regression.

The cost is k n exponentials for the ranks 1..k, but only those inside the band
:math:`(s_i - s_{d(j)})^2 < (37 + \log n)\,\sigma` (17 + log n for float32 scores). It needs O(n) memory per
query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.precision import AP
from directrix.surrogates.approx import ApproxAP, ApproxNDCG, SoftRanks
from directrix.surrogates.base import SMOOTH, MeasureSurrogate, Smoothed, writable
from directrix.types import Float64Array, Int64Array

# Numbers of the forms of the value in the kernel.
_KINDS = {"dcg": 0, "product": 1, "direct": 2}
Variant = Literal["product", "direct"]


Prepared = tuple[Float64Array, Float64Array]
"""Arrays that depend on labels: a number for each document, and the gain of each rank."""


class SmoothRank(Smoothed):
    """Base of this family; its members tend to their measure as sigma -> 0."""

    compiled: ClassVar[str] = "smooth.smooth_chunk"
    entries: ClassVar[tuple[str, ...] | None] = ("document", "data")
    stationary_at_ties: ClassVar[bool] = True
    soft_form: ClassVar[Any] = ApproxNDCG
    """ApproxRank's surrogate of the same measure."""

    @property
    def properties(self) -> frozenset[str]:
        """shift_invariant, tends_to_measure; not smooth: there are kinks where scores tie."""
        return SMOOTH - {"smooth"}

    @property
    def steepness(self) -> float:
        """1/sqrt(sigma): scores closer than sqrt(sigma) share their ranks."""
        return 1.0 / math.sqrt(self.sigma)

    def with_share(self, share: float) -> SoftRanks:
        """Return the ApproxRank form of the measure, which pulls at equal scores, with this share."""
        # The cut-off, or the lowest relevant label, passes from one form of the measure to the other.
        common = {f.name: getattr(self, f.name) for f in fields(self.soft_form) if hasattr(self, f.name)}
        form: SoftRanks = self.soft_form(**common, alpha=self.steepness)
        return form.with_share(share)

    def arguments(self) -> tuple[Any, ...]:
        """Kind of the measure, and sigma."""
        return _KINDS[getattr(self, "variant", "dcg")], float(self.sigma)


@dataclass(frozen=True)
class SmoothNDCG(SmoothRank, MeasureSurrogate):
    r"""SmoothRank's nDCG@k (Chapelle, Wu 2010, Eq. 8).

    .. math:: \frac{1}{Z_k} \sum_{j \le k} \frac{1}{\log_2(1 + j)} \sum_i (2^{l_i} - 1)\, h_{ij}

    Parameters
    ----------
    sigma : float, 1e-30 to 1e30
        Smoothing, in squared units of score. Smaller is closer to nDCG and harder to optimize.
    k : int >= 1, or None
        Cut-off; None = the whole list. The paper trains with 50, whatever the cut-off it reports.

    Notes
    -----
    The value is never negative, but not bounded by 1: the shares of a document over the ranks need not add up
    to 1, so a document just below relevant ones can count as relevant too. With k = 1 it lies in [0, 1].

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.SmoothNDCG(sigma=0.01).value_and_grad(*query)[0].round(4), dx.NDCG()(*query).round(4)
    (array([0.6645]), array([0.659]))
    """

    measured: ClassVar[type[RankingMeasure]] = NDCG
    sigma: float = 1.0
    k: int | None = None

    @property
    def properties(self) -> frozenset[str]:
        """shift_invariant, tends_to_measure; unit_interval for k = 1."""
        return super().properties | {"unit_interval"} if self.k == 1 else super().properties

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> Prepared:
        """Return gains divided by the ideal DCG@k, and the discounts."""
        longest = int(np.diff(qptr).max(initial=0))
        top = longest if self.k is None else min(longest, self.k)
        weights = self.measure.document_values(labels, qptr, doc_weight)
        return weights, writable(self.measure.discounts(top))


@dataclass(frozen=True)
class SmoothAP(SmoothRank, MeasureSurrogate):
    r"""SmoothRank's average precision, with :math:`\rho_j = \sum_i r_i h_{ij}`.

    .. math:: \frac1R \sum_j \rho_j \frac1j \sum_{m \le j} \rho_m \quad\text{("product", Eq. 9)},
              \qquad
              \frac1R \sum_j \rho_j \frac1j \Big(1 + \sum_{m < j} \rho_m\Big) \quad\text{("direct")}

    Parameters
    ----------
    sigma : float, 1e-30 to 1e30
        Smoothing, in squared units of score.
    rel : float > 0
        Smallest label that counts as relevant.
    variant : {"product", "direct"}
        "direct" follows from the paper's Eq. 4: the document at rank j counts itself once.

    Notes
    -----
    The value is never negative, but not bounded by 1, for the reason given at `SmoothNDCG`. It is not a sum
    over documents, so it does not support document weights.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.SmoothAP(sigma=0.01).value_and_grad(*query)[0].round(4), dx.AP()(*query).round(4)
    (array([0.579]), array([0.5833]))
    """

    measured: ClassVar[type[RankingMeasure]] = AP
    soft_form: ClassVar[Any] = ApproxAP
    sigma: float = 1.0
    rel: float = 1
    variant: Variant = "product"

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Prepared:
        """Relevance, and 1/rank."""
        longest = int(np.diff(qptr).max(initial=0))
        return self.measure.worth(labels), self.measure.discounts(longest)
