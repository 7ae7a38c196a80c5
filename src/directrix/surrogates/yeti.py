r"""YetiRank (Gulin, Kuralenok & Pavlov 2011): forces between neighbors in noisy rankings.

A pair of documents teaches most where a small change of scores would swap them. LambdaRank takes all pairs of
the present ranking; YetiRank adds noise to the scores, ranks, and lets only neighbors exert forces. On
average over some rankings this is a force between documents of similar scores, anywhere in the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from directrix.errors import InputError
from directrix.parameters import SMALLEST, number, positive
from directrix.surrogates.lambdas import SwapForces
from directrix.surrogates.noisy import NoisySurrogate
from directrix.types import Float64Array, Int64Array

Weights = Literal["labels", "measure"]


@dataclass(frozen=True, repr=False)
class YetiRank(NoisySurrogate, SwapForces):
    r"""YetiRank's gradient: the mean force between neighbors over rankings with noise.

    .. math:: \lambda_i = \frac1R \sum_{r=1}^R \sum_p w_p^r \, \frac{[i = a] - [i = b]}{1 + e^{s_a - s_b}},
              \qquad \pi_r \text{ sorts } s + \varepsilon \log\frac{u}{1 - u}

    where a and b are the documents at the ranks p and p + 1 of the permutation :math:`\pi_r`, a the one with
    the higher label, and u is uniform on (0, 1). The value is the measure itself: the forces are the gradient
    of no function of the scores, so a trainer that compares values needs another surrogate.

    Parameters
    ----------
    measure : measure or str
        The value; with ``weights="measure"`` also what weighs the pairs. As for `Lambda`.
    weights : {"labels", "measure"}
        "labels": :math:`w_p = \gamma^{p - 1} |l_a - l_b|`, as CatBoost computes YetiRank, so that every part
        of the list teaches, whatever the measure. "measure": :math:`w_p = |\Delta M|`, the change of the
        measure when a and b trade their ranks in :math:`\pi_r` (YetiLoss of Lyzhin et al.).
    permutations : int >= 1
        R, the number of rankings.
    decay : float in (0, 1]
        gamma: how much a rank counts of what the rank above counts.
    noise : float, 1e-30 to 1e30
        epsilon, in units of score.
    draw : int >= 0
        Number of the noise. Boosting takes other noise for every tree, SGD and Adam for every epoch.

    Notes
    -----
    Noise belongs to ranks: it follows from ``draw`` and the labels of the query by rank, so that a query has
    the same forces in any batch. Tied documents are ranked in input order. The force of a pair is multiplied
    by the weights of both documents; the value does not depend on them. Boosting divides by
    :math:`\sum w p (1 - p)`, at least 5 % of w p, with the chance :math:`p = 1/(1 + e^{s_a - s_b})` that a
    pair is in the wrong order.

    O(R n log n) time, O(n) memory.

    References
    ----------
    Gulin, Kuralenok & Pavlov (2011), Winning the transfer learning track of Yahoo!'s learning to rank
    challenge with YetiRank, JMLR W&CP 14, 63-76; Lyzhin, Ustimenko, Gulin & Prokhorenkova (2023),
    Which tricks are important for learning to rank?, ICML, arXiv:2204.01500.

    Examples
    --------
    >>> scores, labels, qptr = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    >>> YetiRank().value_and_grad(scores, labels, qptr)[1].round(4)  # one pair: 1/(1 + exp(-1))
    array([-0.7311,  0.7311])
    """

    entries: ClassVar[tuple[str, ...]] = (*SwapForces.entries, "document")
    compiled: ClassVar[str] = "yeti.yeti_chunk"
    measure: Any = "nDCG"
    weights: Weights = "labels"
    permutations: int = 3
    decay: float = 0.99
    noise: float = 1.0
    draw: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights not in get_args(Weights):
            raise InputError(f"YetiRank(weights={self.weights!r}): type 'labels' or 'measure'.")
        checked = {
            "decay": float(number(self.decay, "decay", "YetiRank", above=0.0, most=1.0, example=0.99)),
            "noise": float(positive(self.noise, "noise", "YetiRank", SMALLEST)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; a pair weighs as much as the product of its documents."""
        weights = np.ones(len(labels)) if doc_weight is None else np.array(doc_weight, dtype=np.float64)
        return (*self.from_labels(labels, qptr), weights)

    def settings(self) -> tuple[Any, ...]:
        """See `KernelSurrogate.settings`."""
        weighing = self.weights == "measure"
        setting = (self.form, self.measure.depth, self.permutations, self.decay, self.noise, weighing)
        return ((setting, self.draw),)
