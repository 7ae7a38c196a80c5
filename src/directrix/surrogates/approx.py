r"""ApproxRank (Qin, Liu, Li 2010): measures with their ranks replaced by soft ranks.

The position of a document is a count of the documents above it. With a sigmoid in place of
the step it becomes smooth (Eq. 20),

.. math:: \hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i)),

and so does every measure that is written as a function of positions. Truncations
:math:`[\pi_i < \pi_j]` and :math:`[\pi_i \le k]` become
:math:`\sigma(\beta(\hat\pi_j - \hat\pi_i))` and :math:`\sigma(\beta(k + 1/2 - \hat\pi_i))`. The latter is
flat far below k, where equal scores put all documents of a long query: a ``share`` ignores it.

Cost of all of them: O(R n) pairs for R documents that matter out of n, only those inside the
sigmoid's band for large alpha; memory O(n) a query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import ERR, RR
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import KendallTau
from directrix.measures.precision import AP, Precision
from directrix.parameters import positive, whole
from directrix.surrogates.approx_rank import ApproxRank, Sigmoid
from directrix.types import Float64Array, Int64Array


@dataclass(frozen=True)
class ApproxNDCG(ApproxRank):
    r"""Smooth nDCG@k.

    .. math:: \frac{1}{Z_k} \sum_i (2^{l_i} - 1)\, \frac{1}{\log_2(1 + \hat\pi_i)}
              \big[b + (1 - b)\, \sigma(\beta(k + 1/2 - \hat\pi_i))\big]

    without the last factor if ``k`` is None (Qin, Liu, Li 2010, Eq. 21), with b = ``share``.

    Parameters
    ----------
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score. Larger is closer to nDCG and harder to
        optimize.
    k : int >= 1, or None
        Cut-off; None = the whole list.
    beta : float > 0
        Steepness of the cut-off, in 1 / ranks; not used if ``k`` is None.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        "erf" with alpha = 1/(2 sigma) gives SoftRank's expected ranks.
    below : float, 0 <= below < 1
        Sets the share of the discount that ignores the cut-off, below^((alpha/10)^2), so that a document is
        pulled up from any rank; 0 = the paper's rule. Not used if ``k`` is None.

    Notes
    -----
    Without a cut-off the value lies in [0, 1]: soft ranks are mixtures of permutations and the
    discount is convex. With a cut-off it can exceed 1: relevant documents below k count too.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxNDCG(alpha=100.0).value_and_grad(*query)[0].round(4), dx.NDCG()(*query).round(4)
    (array([0.659]), array([0.659]))
    """

    compiled: ClassVar[str] = "approx.separable_chunk"
    measured: ClassVar[type[RankingMeasure]] = NDCG
    weighs_docs: ClassVar[bool] = True
    alpha: float = 10.0
    k: int | None = None
    beta: float = 10.0
    sigmoid: Sigmoid = "logistic"

    below: float = 0.9

    @property
    def traits(self) -> frozenset[str]:
        """See `ApproxRank.traits`; unit_interval without a cut-off."""
        return super().traits | ({"unit_interval"} if self.k is None else set())

    def _shape(self) -> tuple[int, float]:
        return (1, 0.0) if self.k is None else (2, float(self.k))


@dataclass(frozen=True)
class ApproxPrecision(ApproxRank):
    r"""Smooth P@k.

    .. math:: \frac1k \sum_i r_i \big[(1 - b)\, \sigma(\beta(k + 1/2 - \hat\pi_i))
              + b / \log_2(1 + \hat\pi_i)\big], \qquad b = \text{share}

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
    below : float, 0 <= below < 1
        Sets the share of the discount 1/log2(1 + rank), below^((alpha/10)^2), so that a document is pulled up
        from any rank; 0 = the paper's rule for truncations.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxPrecision(k=2).at(0.001).value_and_grad(*query)[0].round(4), dx.Precision(k=2)(*query)
    (array([0.5]), array([0.5]))
    """

    compiled: ClassVar[str] = "approx.separable_chunk"
    measured: ClassVar[type[RankingMeasure]] = Precision
    weighs_docs: ClassVar[bool] = True
    k: int = 5
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"
    below: float = 0.9

    def __post_init__(self) -> None:
        whole(self.k, "k", "ApproxPrecision")
        super().__post_init__()

    def _shape(self) -> tuple[int, float]:
        return 3, float(self.k)


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

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxAP(alpha=100.0).value_and_grad(*query)[0].round(4), dx.AP()(*query).round(4)
    (array([0.5833]), array([0.5833]))
    """

    compiled: ClassVar[str] = "approx.ap_chunk"
    measured: ClassVar[type[RankingMeasure]] = AP
    weighs_docs: ClassVar[bool] = True
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """Relevance over the number of relevant documents, each counted with its weight."""
        # A relevant document of weight 0 earns nothing, but is counted above others.
        least = None if doc_weight is None else np.maximum(doc_weight, 1e-100)
        return super().prepare(labels, qptr, least)


@dataclass(frozen=True)
class ApproxRR(ApproxRank):
    r"""Smooth reciprocal rank.

    .. math:: \sum_j \frac{r_j}{\hat\pi_j} \prod_{i \ne j}
              \big(1 - r_i\, \sigma(\beta(\hat\pi_j - \hat\pi_i))\big)

    Named as future work by Qin, Liu, Li 2010; ours by their rule for truncations.

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

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxRR(alpha=100.0).value_and_grad(*query)[0].round(4), dx.RR()(*query).round(4)
    (array([0.5]), array([0.5]))
    """

    compiled: ClassVar[str] = "approx.cascade_chunk"
    measured: ClassVar[type[RankingMeasure]] = RR
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"


@dataclass(frozen=True)
class ApproxERR(ApproxRank):
    r"""Smooth expected reciprocal rank, with :math:`R_i = (2^{l_i} - 1) / 2^{l_{max}}`.

    .. math:: \sum_i \frac{R_i}{\hat\pi_i} \prod_{j \ne i}
              \big(1 - R_j\, \sigma(\beta(\hat\pi_i - \hat\pi_j))\big)

    Parameters
    ----------
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score.
    beta : float > 0
        Steepness of the truncation, in 1 / ranks.
    l_max : int >= 1
        The highest label; a document of that label satisfies with probability 1 - 2^-l_max.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> (
    ...     dx.ApproxERR(alpha=100.0, l_max=2).value_and_grad(*query)[0].round(4),
    ...     dx.ERR(l_max=2)(*query).round(4),
    ... )
    (array([0.3958]), array([0.3958]))
    """

    compiled: ClassVar[str] = "approx.cascade_chunk"
    measured: ClassVar[type[RankingMeasure]] = ERR
    alpha: float = 10.0
    beta: float = 10.0
    l_max: int = 4
    sigmoid: Sigmoid = "logistic"


@dataclass(frozen=True)
class ApproxKendall(ApproxRank):
    r"""Smooth Kendall tau-b between scores and labels.

    .. math:: \frac{\sum_{l_i > l_j} (2 \sigma(\alpha(s_i - s_j)) - 1)}
              {\sqrt{P\, n (n - 1) / 2}}

    with P the number of pairs of different labels.

    Parameters
    ----------
    alpha : float > 0
        Steepness, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Notes
    -----
    Lies in [-1, 1].

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxKendall(alpha=100.0).value_and_grad(*query)[0].round(4), dx.KendallTau()(*query).round(4)
    (array([-0.3333]), array([-0.3333]))
    """

    compiled: ClassVar[str] = "approx.kendall_chunk"
    measured: ClassVar[type[RankingMeasure]] = KendallTau
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing."""
        return replace(self, alpha=1.0 / positive(smoothing, "smoothing", "ApproxKendall.at"))

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Return the labels."""
        return (np.array(labels, dtype=np.float64),)
