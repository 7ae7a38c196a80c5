"""Smooth RR and ERR: a user goes down the list until a document satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from directrix.measures.cascade import ERR
from directrix.measures.first_hit import RR
from directrix.surrogates.approx_rank import ApproxRank
from directrix.surrogates.positions import Sigmoid


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
    """

    family: ClassVar[str] = "cascade"
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"

    @property
    def measure(self) -> RR:
        """RR."""
        return RR(rel=self.rel)


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
    """

    family: ClassVar[str] = "cascade"
    alpha: float = 10.0
    beta: float = 10.0
    l_max: int = 4
    sigmoid: Sigmoid = "logistic"

    @property
    def measure(self) -> ERR:
        """ERR."""
        return ERR(l_max=self.l_max)
