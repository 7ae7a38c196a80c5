"""Smooth Kendall tau-b: pairs in the right order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from directrix.measures.pairs import KendallTau
from directrix.parameters import positive
from directrix.surrogates.approx_rank import ApproxRank
from directrix.surrogates.base import refuse_doc_weight
from directrix.surrogates.positions import Sigmoid
from directrix.types import Float64Array, Int64Array


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
    """

    family: ClassVar[str] = "kendall"
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing."""
        return replace(self, alpha=1.0 / positive(smoothing, "smoothing", "ApproxKendall.at"))

    @property
    def measure(self) -> KendallTau:
        """Kendall's tau-b."""
        return KendallTau()

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array]:
        """Return the labels."""
        refuse_doc_weight(self, doc_weight)
        return (np.array(labels, dtype=np.float64),)
