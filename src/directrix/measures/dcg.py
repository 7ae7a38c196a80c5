"""Discounted cumulative gain: DCG and NDCG."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import Empty, RankingMeasure, restates_terms
from directrix.measures.prepared import Ranking, Ties
from directrix.measures.terms import HIGHEST_EXPONENT, Discount, Form, Gain, Terms, discounts, gains
from directrix.types import Float64Array, Int64Array


@dataclass(frozen=True, kw_only=True, repr=False)
class _Discounted(RankingMeasure):
    compiled: ClassVar[str] = "dcg.dcg"
    form: ClassVar[Form] = "sum"
    k: int | None = None
    gain: Gain = "exp"
    discount: Discount = "log2"
    ties: Ties = "expected"

    def check_labels(self, highest: float) -> None:
        if self.gain == "exp" and highest > HIGHEST_EXPONENT:
            raise InputError(
                f"the highest label is {highest:g}, whose gain 2**label - 1 is too large for a float; "
                f"labels up to {HIGHEST_EXPONENT} are needed, or a linear gain: "
                f"{type(self).__name__}(gain='linear')."
            )

    def worth(self, labels: Float64Array) -> Float64Array:
        """Gain of every document."""
        return gains(labels, self.gain)

    def discounts(self, n: int) -> Float64Array:
        """Discount of the ranks 1..n."""
        return discounts(n, self.discount)

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`; ``prepared`` is the divisor of every query."""
        table = self.discounts(self._longest(ranking.qptr))
        return *ranking, table, self.gain == "exp", self.depth, prepared, self.empty_value

    def _longest(self, qptr: Int64Array) -> int:
        # Ranks past the cut-off need no discounts.
        return min(int(np.diff(qptr).max(initial=0)), self.depth)


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(_Discounted):
    r"""Normalized discounted cumulative gain.

    .. math:: \mathrm{nDCG@}k = \frac{1}{Z_k} \sum_{i:\,\pi(i) \le k} g(l_i)\, D(\pi(i)),

    with :math:`Z_k` the largest value that any ranking of the query's documents gives the sum.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank; None counts the whole list.
    gain : {"exp", "linear"}
        :math:`2^l - 1`, or :math:`l`.
    discount : {"log2", "letor3"}
        :math:`1/\log_2(1+p)`, or 1, 1, :math:`1/\log_2 p` (see `discounts`).
    ties : {"expected", "order", "trec", "ranx", "worst"}
        Tied documents: mean over all their orders; input order; document id descending; the order of
        ranx's sort; lowest label first.
    empty : {"zero", "skip", "one"}
        Value of a query in which no document has a gain; "skip" is NaN.

    References
    ----------
    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; Burges et al. (2005),
    doi:10.1145/1102351.1102363 (exponential gain); McSherry & Najork (2008),
    doi:10.1007/978-3-540-78646-7_38 (ties).

    Examples
    --------
    >>> NDCG(k=3)([0.4, 0.9, 0.1], [2.0, 0.0, 1.0], [0, 3])  # (3/log2(3) + 1/2) / (3 + 1/log2(3))
    array([0.6590018])
    """

    symbol: ClassVar[str] = "nDCG"
    # The class states its kernel again, because that also computes the norm below; see `restates_terms`.
    compiled: ClassVar[str] = "dcg.dcg"
    discount: Literal["log2", "letor3"] = "log2"
    empty: Empty = "zero"

    @property
    def label_key(self) -> Hashable:
        """The ideal DCG depends neither on ``ties`` nor on ``empty``."""
        return "ideal", self.k, self.gain, self.discount

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Ideal DCG@k of every query."""
        return self._ideal(labels, qptr, exponential=self.gain == "exp")

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the ideal DCG@k of every query, from gains that may carry weights."""
        # Labels are read-only too, so both share one compiled kernel.
        worth.flags.writeable = False
        return self._ideal(worth, qptr, exponential=False)

    def terms(self, labels: Float64Array, qptr: Int64Array) -> Terms:
        """Return the measure as a sum, with the normalizer of evaluation: powers of 2 may differ in a bit."""
        terms = super().terms(labels, qptr)
        return terms if restates_terms(type(self)) else terms._replace(norm=self.from_labels(labels, qptr))

    def _ideal(self, labels: Float64Array, qptr: Int64Array, *, exponential: bool) -> Float64Array:
        from directrix.measures._kernels.dcg import ideal_dcg

        ideal = np.empty(len(qptr) - 1)
        ideal_dcg(labels, qptr, self.discounts(self._longest(qptr)), exponential, self.depth, ideal)
        return ideal


@dataclass(frozen=True, kw_only=True, repr=False)
class DCG(_Discounted):
    r"""Discounted cumulative gain, not normalized: :math:`\sum_{\pi(i) \le k} g(l_i) D(\pi(i))`.

    A query without gains has the value 0. There are two more discounts than for `NDCG`.
    With "none", the value is the sum of the first k gains: k times the precision, if gains are 0 or 1. With
    "position", it is minus the sum of the ranks of the relevant documents (the "average relevant position",
    without its divisor; Joachims, Swaminathan & Schnabel 2017, Eq. 2).

    With ``gain="linear"``, labels are gains of any sign: unbiased estimates of them from clicks give an
    unbiased estimate of this sum.

    Parameters
    ----------
    k, gain, discount, ties
        As for `NDCG`; ``discount`` can also be "none" or "position".

    Examples
    --------
    >>> DCG(k=3)([0.4, 0.9, 0.1], [2.0, 0.0, 1.0], [0, 3])  # 3/log2(3) + 1/2
    array([2.39278926])
    """

    symbol: ClassVar[str] = "DCG"
    highest: ClassVar[float] = np.inf

    @property
    def adds_gains(self) -> bool:
        """Whether labels are gains themselves."""
        return self.gain == "linear"

    @property
    def empty_value(self) -> float:
        """0: the value of a query without gains."""
        return 0.0

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return 1 for every query: the sum has no divisor."""
        return np.ones(len(qptr) - 1)
