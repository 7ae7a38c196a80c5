"""Measures over pairs of documents: ROC area and Kendall's tau."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.prepared import Ranking, Ties
from directrix.measures.terms import Form, query_sums
from directrix.types import Float64Array, Int64Array


@dataclass(frozen=True, kw_only=True, repr=False)
class ROCArea(RankingMeasure):
    r"""Share of the (relevant, irrelevant) pairs of a query that are in the right order.

    The value of a query without such pairs is NaN. Documents that were not retrieved come after all others,
    tied with each other.

    Parameters
    ----------
    rel : number > 0
        Lowest label that counts as relevant.
    ties : {"expected", "order", "trec", "ranx", "worst"}
        "expected" counts a tied pair as one half.

    Examples
    --------
    >>> ROCArea()([8, 7, 6, 5, 4, 3, 2, 1], [1, 0, 0, 0, 0, 1, 1, 0], [0, 8])  # (5 + 1 + 1) / 15
    array([0.46666667])
    """

    symbol: ClassVar[str] = "ROCArea"
    compiled: ClassVar[str] = "pairs.roc_area"
    form: ClassVar[Form] = "pairs"
    rel: float = 1
    ties: Ties = "expected"

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return 1 for each relevant document, 0 for others."""
        return (labels >= self.rel).astype(np.float64)

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the number of pairs of a relevant and an irrelevant document."""
        n_relevant = query_sums(worth, qptr)
        return n_relevant * (np.diff(qptr) - n_relevant)

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        return ranking.labels, ranking.ends, ranking.qptr, float(self.rel)


@dataclass(frozen=True, kw_only=True, repr=False)
class KendallTau(RankingMeasure):
    r"""Kendall's tau-b between scores and labels, in [-1, 1].

    .. math:: \tau_b = \frac{C - D}{\sqrt{(n_0 - n_s)(n_0 - n_l)}},

    with C and D the numbers of pairs in the same and in opposite order, :math:`n_0 = n(n-1)/2`, and
    :math:`n_s, n_l` the numbers of pairs tied in scores and in labels. If all scores or all labels are equal,
    the value is NaN. The definition covers ties, so there is no field for them.

    References
    ----------
    Kendall (1945), doi:10.1093/biomet/33.3.239; Knight (1966) for the O(n log n) algorithm.

    Examples
    --------
    >>> KendallTau()([3, 2, 1], [2, 0, 1], [0, 3])
    array([0.33333333])
    """

    symbol: ClassVar[str] = "KendallTau"
    compiled: ClassVar[str] = "pairs.kendall_tau_b"

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        return ranking.labels, ranking.ends, ranking.qptr
