"""Measures that model a user who reads down the list and may stop: RR, Success, ERR and RBP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.precision import BinaryMeasure
from directrix.measures.prepared import Ranking, Ties
from directrix.measures.terms import Form, gains, reciprocal_ranks
from directrix.parameters import Checks, number
from directrix.types import Float64Array


@dataclass(frozen=True, kw_only=True, repr=False)
class RR(BinaryMeasure):
    r"""Reciprocal rank of the first relevant document, 0 past k; its mean over queries is MRR.

    Parameters
    ----------
    k, rel, ties, empty
        As for `AP`.

    Examples
    --------
    >>> RR()([0.4, 0.9, 0.1], [1.0, 0.0, 1.0], [0, 3])
    array([0.5])
    """

    symbol: ClassVar[str] = "RR"
    compiled: ClassVar[str] = "precision.first_hit"
    form: ClassVar[Form] = "first_hit"
    k: int | None = None
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"
    # `Success` is RR without discounts, and shares its kernel.
    _reciprocal: ClassVar[bool] = True

    def discounts(self, n: int) -> Float64Array:
        """Return 1 / rank, or 1 for `Success`."""
        return reciprocal_ranks(n) if self._reciprocal else np.ones(n)

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        return *ranking, self.level, self.depth, prepared, self._reciprocal, self.empty_value


@dataclass(frozen=True, kw_only=True, repr=False)
class Success(RR):
    """Hit rate: whether a relevant document is among the first k (under ties: the probability).

    Parameters
    ----------
    k, rel, ties, empty
        As for `AP`.

    Examples
    --------
    >>> Success(k=1)([0.5, 0.5], [1.0, 0.0], [0, 2])
    array([0.5])
    """

    symbol: ClassVar[str] = "Success"
    _reciprocal: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True, repr=False)
class ERR(RankingMeasure):
    r"""Expected reciprocal rank.

    .. math:: \mathrm{ERR@}k = \sum_{p=1}^{k} \frac{1}{p} R_p \prod_{s<p} (1 - R_s), \qquad
              R_p = \frac{2^{l_p} - 1}{2^{l_{\max}}}

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank.
    l_max : number > 0
        Highest possible label; it is a property of the scale, not of the query. gdeval uses 4.
    ties, empty
        As for `NDCG`. The expectation over the orders of a tied group is exact; a group of m
        documents takes O(m min(m, k, 42/c)) time, where c is the smallest positive probability of stopping.

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan (2009), doi:10.1145/1645953.1646033.

    Examples
    --------
    >>> ERR(k=20)([3, 2, 1], [4, 2, 0], [0, 3])  # 15/16 + 1/2 * 1/16 * 3/16
    array([0.94335938])
    """

    symbol: ClassVar[str] = "ERR"
    checks: ClassVar[Checks] = {
        **RankingMeasure.checks,
        "l_max": partial(number, above=0.0, most=1000.0, example=4),
    }
    compiled: ClassVar[str] = "cascade.expected_reciprocal_rank"
    form: ClassVar[Form] = "cascade"
    k: int | None = None
    l_max: float = 4
    ties: Ties = "expected"
    empty: Empty = "zero"

    def check_labels(self, highest: float) -> None:
        """Reject labels above ``l_max``: their probability of stopping would exceed one."""
        if highest > self.l_max:
            raise InputError(
                f"the highest label is {highest:g} but ERR has l_max={self.l_max}; l_max must be the highest "
                f"label of the scale, e.g. ERR(k=20, l_max={int(np.ceil(highest))})."
            )

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return the probability that the user stops at each document."""
        chance: Float64Array = gains(labels) * 2.0**-self.l_max
        return chance

    def discounts(self, n: int) -> Float64Array:
        """Return 1 / rank."""
        return reciprocal_ranks(n)

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        return *ranking, self.depth, float(self.l_max), self.empty_value


@dataclass(frozen=True, kw_only=True, repr=False)
class RBP(BinaryMeasure):
    r"""Rank-biased precision: :math:`(1 - p) \sum_i r_i\, p^{\pi(i) - 1}`.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank.
    p : number in (0, 1)
        Persistence: the probability of reading on after each document.
    rel, ties, empty
        As for `AP`.

    References
    ----------
    Moffat & Zobel (2008), doi:10.1145/1416950.1416952.

    Examples
    --------
    >>> RBP(p=0.5)([3, 2, 1], [1, 0, 1], [0, 3])  # 1/2 (1 + 1/4)
    array([0.625])
    """

    symbol: ClassVar[str] = "RBP"
    checks: ClassVar[Checks] = {
        **RankingMeasure.checks,
        "p": partial(number, above=0.0, below=1.0, example=0.8),
    }
    compiled: ClassVar[str] = "precision.discounted_hits"
    form: ClassVar[Form] = "sum"
    k: int | None = None
    p: float = 0.8
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"

    def discounts(self, n: int) -> Float64Array:
        """Return the probability that the user stops at each rank 1..n."""
        chance: Float64Array = (1.0 - self.p) * self.p ** np.arange(float(n))
        return chance

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        return *ranking, self.level, self.depth, prepared, float(self.p), self.empty_value
