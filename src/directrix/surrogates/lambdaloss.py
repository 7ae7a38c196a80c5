r"""LambdaLoss (Wang, Li, Golbandi, Bendersky & Najork 2018): pairwise losses that follow from nDCG.

LambdaRank weighs a pair by what swapping it changes. LambdaLoss weighs it so that the weights of a document
add up to what the ranking costs it: see `LambdaLoss`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.parameters import SMALLEST, positive
from directrix.surrogates.base import WHOLE_LIST, MeasureSurrogate
from directrix.surrogates.curvature import FilledCurvature

Version = Literal["NDCG-Loss2++", "NDCG-Loss2"]


@dataclass(frozen=True)
class LambdaLoss(FilledCurvature, MeasureSurrogate):
    r"""NDCG-Loss2 and NDCG-Loss2++ of LambdaLoss, for nDCG@k; minus the loss, in bits.

    .. math:: -\sum_{l_i > l_j} |G_i - G_j|\, w_{ij} \log_2\big(1 + e^{-(s_i - s_j)}\big)

    .. math:: w_{ij} = \begin{cases} \delta_{ij} & \text{NDCG-Loss2} \\
              |D_i - D_j| + \mu\, \delta_{ij} & \text{NDCG-Loss2++} \end{cases}, \qquad
              \delta_{ij} = \frac{d(|r_i - r_j|) - d(|r_i - r_j| + 1)}{1 - [m > k]\, d(m)}

    with G the gain over the ideal DCG@k, r the ranks, m the larger rank of a pair,
    :math:`d(r) = 1/\log_2(1 + r)`, and D_i = d(r_i) for the first k ranks, 0 below.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off of nDCG; None = the whole list.
    version : {"NDCG-Loss2++", "NDCG-Loss2"}
        Which weights.
    mu : float, 1e-30 to 1e30
        Of NDCG-Loss2++: weight of delta, to which LambdaRank's \|D_i - D_j\| is added. If it is small, the
        forces are LambdaRank's.

    Notes
    -----
    The delta of a document and all those above it add up to :math:`1 - D_i`, the share of its gain that the
    ranking costs. This holds below rank k too, where pairs of which both are below k count: every relevant
    document below k is pulled. A mask that keeps the pairs within the first k would leave it where it is.

    Weights are taken at the present scores: the value jumps where two documents trade their ranks, and the
    gradient is its slope elsewhere. Tied documents share the first of their ranks, and their distance is 1.
    Documents are not weighted; weight whole queries. Boosting divides by
    :math:`\sum w p (1 - p) / \ln 2`, at least 5 % of :math:`w p / \ln 2`, with the weight w of a pair and the
    chance :math:`p = 1/(1 + e^{s_i - s_j})` of its wrong order.

    O(R n) time for R documents with a gain, O(n) memory.

    References
    ----------
    Wang, Li, Golbandi, Bendersky & Najork (2018), The LambdaLoss framework for ranking metric optimization,
    CIKM, doi:10.1145/3269206.3271784; the cut-off is that of Jagerman, Qin, Wang, Bendersky & Najork (2022),
    On optimizing top-K metrics for neural ranking models, SIGIR, doi:10.1145/3477495.3531849.

    Examples
    --------
    A tied pair loses one bit, of the weight mu (d(1) - d(2)) = 2 (1 - 1/log2(3)):

    >>> import numpy as np
    >>> LambdaLoss(mu=2.0).value_and_grad(np.zeros(2), np.array([1.0, 0.0]), np.array([0, 2]))[0].round(4)
    array([-0.7381])
    """

    compiled: ClassVar[str] = "lambdaloss.lambdaloss_chunk"
    measured: ClassVar[type[RankingMeasure]] = NDCG
    k: int | None = None
    version: Version = "NDCG-Loss2++"
    mu: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mu", positive(self.mu, "mu", "LambdaLoss", SMALLEST))
        if self.version not in get_args(Version):
            raise InputError(f"LambdaLoss(version={self.version!r}): type 'NDCG-Loss2++' or 'NDCG-Loss2'.")

    @property
    def traits(self) -> frozenset[str]:
        """shift_invariant."""
        return frozenset({"shift_invariant"})

    def settings(self) -> tuple[Any, ...]:
        """Cut-off, the weight of LambdaRank's part, and mu."""
        is_sum = self.version == "NDCG-Loss2++"
        return ((self.k or WHOLE_LIST, float(is_sum), self.mu if is_sum else 1.0),)
