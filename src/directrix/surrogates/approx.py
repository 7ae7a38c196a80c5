r"""ApproxRank (Qin, Liu, Li 2010): measures with their ranks replaced by soft ranks.

The position of a document is a count of the documents above it. With a sigmoid in place of
the step it becomes smooth (Eq. 20),

.. math:: \hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i)),

and so does every measure that is written as a function of positions. Truncations
:math:`[\pi_i < \pi_j]` and :math:`[\pi_i \le k]` become
:math:`\sigma(\beta(\hat\pi_j - \hat\pi_i))` and :math:`\sigma(\beta(k + 1/2 - \hat\pi_i))`.

Cost of all of them: O(R n) pairs for R documents that matter out of n, only those inside the
sigmoid's band for large alpha; memory O(n) a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.measures.dcg import NDCG
from directrix.measures.gains import discounts, gains
from directrix.measures.precision import AP, Precision
from directrix.parameters import whole
from directrix.surrogates.approx_rank import SMOOTH, ApproxRank, over_queries, times
from directrix.surrogates.base import query_sums
from directrix.surrogates.positions import Sigmoid
from directrix.types import Float64Array, Int64Array

__all__ = ["ApproxAP", "ApproxNDCG", "ApproxPrecision"]


@dataclass(frozen=True)
class ApproxNDCG(ApproxRank):
    r"""Smooth nDCG@k.

    .. math:: \frac{1}{Z_k} \sum_i (2^{l_i} - 1)\, \frac{1}{\log_2(1 + \hat\pi_i)}\,
              \sigma(\beta(k + 1/2 - \hat\pi_i))

    without the last factor if ``k`` is None (Qin, Liu, Li 2010, Eq. 21).

    Parameters
    ----------
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score. Larger is closer to nDCG and harder to
        optimise.
    k : int >= 1, or None
        Cut-off; None = the whole list.
    beta : float > 0
        Steepness of the cut-off, in 1 / ranks; not used if ``k`` is None.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        "erf" with alpha = 1/(2 sigma) gives SoftRank's expected ranks.

    Notes
    -----
    Without a cut-off the value lies in [0, 1]: soft ranks are mixtures of permutations and the
    discount is convex. With a cut-off, many tied documents just above it can exceed 1.
    """

    family: ClassVar[str] = "separable"
    weighs_docs: ClassVar[bool] = True
    alpha: float = 10.0
    k: int | None = None
    beta: float = 10.0
    sigmoid: Sigmoid = "logistic"

    @property
    def traits(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure; unit_interval without a cut-off."""
        return SMOOTH | {"unit_interval"} if self.k is None else SMOOTH

    @property
    def measure(self) -> NDCG:
        """nDCG@k."""
        return NDCG(k=self.k)

    def _shape(self) -> tuple[int, float]:
        return (1, 0.0) if self.k is None else (2, float(self.k))

    def doc_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None
    ) -> Float64Array:
        """Gains over the ideal DCG@k."""
        from directrix.measures._kernels.dcg import ideal_dcg

        gain = times(gains(labels), doc_weight)
        gain.flags.writeable = False  # as the measures' labels are: one compiled kernel for both
        longest = int(np.diff(qptr).max(initial=0))
        depth = longest if self.k is None else self.k
        ideal = np.empty(len(qptr) - 1)
        ideal_dcg(gain, qptr, discounts(min(longest, depth)), False, depth, ideal)  # noqa: FBT003
        return over_queries(gain, ideal, qptr)


@dataclass(frozen=True)
class ApproxPrecision(ApproxRank):
    r"""Smooth P@k: :math:`\frac1k \sum_i r_i\, \sigma(\beta(k + 1/2 - \hat\pi_i))`.

    Named as future work by Qin, Liu, Li 2010; ours by their rule for truncations. A document's weight
    multiplies what it earns; k divides all the same.

    Parameters
    ----------
    k : int >= 1
        Cut-off.
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score.
    beta : float > 0
        Steepness of the cut-off, in 1 / ranks.
    rel : float > 0
        Smallest label that counts as relevant.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.
    """

    family: ClassVar[str] = "separable"
    weighs_docs: ClassVar[bool] = True
    k: int = 5
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"

    def __post_init__(self) -> None:
        whole(self.k, "k", "ApproxPrecision")
        super().__post_init__()

    @property
    def measure(self) -> Precision:
        """P@k."""
        return Precision(k=self.k, rel=self.rel)

    def _shape(self) -> tuple[int, float]:
        return 3, float(self.k)

    def doc_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None
    ) -> Float64Array:
        """Relevance over k."""
        return times((labels >= self.rel).astype(np.float64) / self.k, doc_weight)


@dataclass(frozen=True)
class ApproxAP(ApproxRank):
    r"""Smooth average precision (Qin, Liu, Li 2010, Eq. 22).

    .. math:: \frac1R \sum_j \frac{r_j}{\hat\pi_j}
              \Big[1 + \sum_{i \ne j} r_i\, \sigma(\beta(\hat\pi_j - \hat\pi_i))\Big]

    Parameters
    ----------
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score.
    beta : float > 0
        Steepness of the truncation, in 1 / ranks.
    rel : float > 0
        Smallest label that counts as relevant.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Notes
    -----
    The bracket is a soft rank of the relevant documents among themselves, so the double sum
    costs no more than the first: the band of beta is a few ranks wide.
    """

    family: ClassVar[str] = "ap"
    weighs_docs: ClassVar[bool] = True
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"

    @property
    def measure(self) -> AP:
        """AP."""
        return AP(rel=self.rel)

    def doc_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None
    ) -> Float64Array:
        """Relevance over the number of relevant documents."""
        relevant = labels >= self.rel
        # A relevant document of weight 0 earns nothing, but is counted above others.
        relevance = np.where(relevant, np.maximum(times(np.ones(len(labels)), doc_weight), 1e-100), 0.0)
        return over_queries(relevance, query_sums(relevance, qptr), qptr)
