"""Measures of the first relevant document: RR and Success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.measures.base import Empty
from directrix.measures.gains import reciprocal_ranks
from directrix.measures.order import Ranking, Ties
from directrix.measures.precision import BinaryMeasure
from directrix.measures.terms import Form
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
    form: ClassVar[Form] = "first_hit"
    k: int | None = None
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"
    _reciprocal: ClassVar[bool] = True

    def discounts(self, n: int) -> Float64Array:
        """One over the rank; for `Success` 1."""
        return reciprocal_ranks(n) if self._reciprocal else np.ones(n)

    def of_ranking(self, ranking: Ranking, part: Float64Array | None) -> Float64Array:
        """Value of every query of a ranking."""
        from directrix.measures._kernels.precision import first_hit

        value = np.empty(len(ranking.qptr) - 1)
        n_rel = self.n_relevant(ranking, part)
        first_hit(*ranking, self.level, self.depth, n_rel, self._reciprocal, self.fill, value)
        return value


@dataclass(frozen=True, kw_only=True, repr=False)
class Success(RR):
    """Whether a relevant document is among the first k (under ties: the chance of it).

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
