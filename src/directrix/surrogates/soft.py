r"""SoftRank (Taylor, Guiver, Robertson, Minka 2008): expected measures under noisy scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.surrogates.base import (
    PULLS,
    SMOOTH,
    WHOLE_LIST,
    CutOff,
    MeasureSurrogate,
)


@dataclass(frozen=True)
class SoftNDCG(CutOff, MeasureSurrogate):
    r"""Expected nDCG@k if scores are Gaussian and the pairs of a document independent.

    .. math:: \frac{1}{Z_k} \sum_j (2^{l_j} - 1) \sum_{r \ge 0} \frac{p_j(r)}{\log_2(2 + r)}
              \big([r < k] + \text{share}\, [r \ge k]\big), \qquad S_i \sim N(s_i, \sigma^2)

    with :math:`p_j` the distribution of the number of documents above j, as if each document i
    were above it independently with probability :math:`\Phi((s_i - s_j)/(\sqrt 2\,\sigma))`.

    Parameters
    ----------
    sigma : float, 1e-30 to 1e30
        Standard deviation of a score, in units of score. Smaller is closer to nDCG and harder to
        optimize.
    k : int >= 1, or None
        Cut-off; None = the whole list.
    below : float, 0 <= below < 1
        Sets the share of the discount that ignores the cut-off, below^(1/sigma^2); 0 = none, as in the paper,
        which rankers train in stages (`directrix.trainers.Continuation`). Not used if ``k`` is None.

    Notes
    -----
    The paper's recursion costs O(n^3) per query. Here every document with a gain costs about 30 terms of a
    Fourier series for each document within 2 sqrt(36 + log n) sigma, some 13 sigma (20 terms and 10 sigma for
    float32 scores), whatever k. Value and gradient take O(R n) time and O(n) memory, and agree with the
    recursion to 1e-14 (1e-9 for float32 scores).

    Without a cut-off the value lies in [0, 1]: the expected ranks are exact, independence makes ranks
    vary less than they do, and the discount is convex. With a cut-off it can exceed 1,
    because the cut discount is not convex.

    References
    ----------
    Taylor, Guiver, Robertson, Minka (2008), doi:10.1145/1341531.1341544.

    Examples
    --------
    Two tied documents, one of them relevant, share the first two ranks: (1 + 1/log2(3))/2.

    >>> import numpy as np
    >>> SoftNDCG().value_and_grad(np.zeros(2), np.array([1.0, 0.0]), np.array([0, 2]))[0].round(6)
    array([0.815465])
    """

    compiled: ClassVar[str] = "soft.soft_ndcg_chunk"
    weighs_docs: ClassVar[bool] = True
    measured: ClassVar[type[RankingMeasure]] = NDCG
    sigma: float = 1.0
    k: int | None = None
    below: float = 0.0

    @property
    def properties(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure, pulls_at_ties; unit_interval without a cut-off."""
        return SMOOTH | PULLS | {"unit_interval"} if self.k is None else super().properties

    def arguments(self) -> tuple[Any, ...]:
        """Sigma, the cut-off as a number, and the share that ignores it."""
        return float(self.sigma), self.k or WHOLE_LIST, self.share
