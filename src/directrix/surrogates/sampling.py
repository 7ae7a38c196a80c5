r"""Measures in expectation over noisy scores, with gradients that are estimated from sampled rankings.

Noise makes a smooth function of a measure: its expectation :math:`\mathbb{E}\, M(s + \text{noise})`. `PLRank`
adds Gumbel noise, so that rankings follow the model of Plackett and Luce; `StochasticRank` adds normal noise.
Both sample rankings, and take exact expectations of a part of what the noise decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.measures.terms import query_sums
from directrix.parameters import SMALLEST, number, positive
from directrix.surrogates.noisy import NoisySurrogate
from directrix.types import Float64Array, Int64Array


class Sampling(NoisySurrogate):
    """Base of `PLRank` and `StochasticRank`, which share a kernel."""

    entries: ClassVar[tuple[str, ...]] = ("document", "data", "document", "query")
    compiled: ClassVar[str] = "sampling.sampling_chunk"
    smoothed_by: ClassVar[str]
    """Field that is the unit of the noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.smoothed_by
        checked = positive(getattr(self, name), name, type(self).__name__, SMALLEST)
        object.__setattr__(self, name, float(checked))

    @property
    def traits(self) -> frozenset[str]:
        """tends_to_measure, shift_invariant, random, estimated; unit_interval if the measure lies in it."""
        return super().traits | {"tends_to_measure", "estimated"}

    @property
    def steepness(self) -> float:
        """1/smoothing: scores closer than the smoothing often trade their ranks."""
        return 1.0 / float(getattr(self, self.smoothed_by))

    def at(self, smoothing: float) -> Self:
        """Return a copy with noise in this unit of score."""
        copy: Any = self
        return replace(copy, **{self.smoothed_by: smoothing})  # type: ignore[no-any-return]

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Any, ...]:
        """Return what `sampling_chunk` needs to know of the labels."""
        prepared = super().from_labels(labels, qptr)
        is_one = getattr(self.measure, "empty", "zero") == "one"
        empty = (query_sums(prepared.worth, qptr) <= 0.0) & is_one
        return prepared.worth, prepared.discount, prepared.labels, empty.astype(np.float64)

    def settings(self) -> tuple[Any, ...]:
        """See `KernelSurrogate.settings`."""
        setting = self.form, self.measure.depth, self.permutations, self.smoothed_by == "temperature"
        return ((setting, 1.0 / self.steepness, float(getattr(self, "mu", 0.0)), self.draw),)


@dataclass(frozen=True, repr=False)
class PLRank(Sampling):
    r"""PL-Rank: a measure's expectation over rankings of the Plackett-Luce model.

    .. math:: \mathbb{E}_\pi \sum_p r_p, \qquad
              P(\pi_p = i) = \frac{e^{s_i / T}}{\sum_{j \in \pi_{\ge p}} e^{s_j / T}}

    with the reward :math:`r_p = x_{\pi_p} A_p D(p)` of rank p: worth of its document, the part that the
    documents above leave, and discount. A is 1 for nDCG and P, 1 + the relevant documents above for AP, and
    the chance to get past the documents above for RR and ERR. The value is the mean over R sampled rankings,
    the gradient

    .. math:: \frac{1}{R\,T} \sum_\pi \sum_p \Big( P(\pi_p = i)\, A_p D(p) (x_i - \bar x_p)
              + \big([\pi_p = i] - P(\pi_p = i)\big) (F_p - b_p) \Big), \qquad F_p = \sum_{t > p} r_t

    with the mean worth :math:`\bar x_p` by these chances: what a choice earns at once counts by its exact
    expectation, what follows it by the ranking, less what followed in others: :math:`b_p` is the mean of
    :math:`F_p` over the ranking without noise and those sampled before.

    Parameters
    ----------
    measure : measure or str
        As for `Lambda`.
    permutations : int >= 1
        R, the number of rankings.
    temperature : float, 1e-30 to 1e30
        T, in units of score.
    draw : int >= 0
        Number of the noise, as in `YetiRank`.

    Notes
    -----
    Value and gradient are unbiased estimates; the gradient of one draw is not that of its value, so trainers
    that compare losses refuse them. PL-Rank-3 has no b, and :math:`r_p` in place of
    :math:`A_p D(p) \bar x_p`. This gradient is the same on average, adds up to 0 over the query in every
    ranking, and has a variance 3 to 20 times lower (docs/decisions/losses.md). A, with which AP, RR and ERR
    have such gradients too, is ours.
    Boosting divides by :math:`\sum_p (A_p D(p) \bar x_p + \max(F_p, b_p)) P (1 - P)`, at least 5 % of the
    same sum without :math:`1 - P`.

    O(n) time per ranking, and a sort; O(n) memory.

    References
    ----------
    Oosterhuis (2022), Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with
    minimal computational complexity, SIGIR (the algorithm PL-Rank-3), doi:10.1145/3477495.3531842.

    Examples
    --------
    >>> scores, labels, qptr = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    >>> PLRank("nDCG@1").value_and_grad(scores, labels, qptr)[1].round(4)  # p (1 - p), p = 1/(1 + e)
    array([-0.1966,  0.1966])
    """

    smoothed_by: ClassVar[str] = "temperature"
    measure: Any = "nDCG"
    permutations: int = 3
    temperature: float = 1.0
    draw: int = 0


@dataclass(frozen=True, repr=False)
class StochasticRank(Sampling):
    r"""StochasticRank: a measure's expectation over scores with normal noise.

    .. math:: \mathbb{E}\, M(z), \qquad z_i = s_i - \sigma \mu l_i + \sigma \varepsilon_i, \qquad
              \varepsilon_i \sim N(0, 1)

    Given the noise of all documents but i, the measure is a step function of :math:`z_i`. The mean of its
    slope over the noise of i is exact: with the others in the order :math:`o_1, o_2, \dots` of z and
    :math:`\Delta_p` what i gains if it trades the ranks p + 1 and p with :math:`o_p`,

    .. math:: \frac{\partial}{\partial s_i} = \frac1R \sum_z \sum_p \Delta_p \,
              \frac1\sigma \varphi\Big(\frac{z_{o_p} - s_i + \sigma \mu l_i}{\sigma}\Big)

    with the density :math:`\varphi`, over R samples of the noise. The value is the mean of the measure over
    them.

    Parameters
    ----------
    measure : measure or str
        As for `Lambda`.
    permutations : int >= 1
        R, the number of samples.
    sigma : float, 1e-30 to 1e30
        Standard deviation of the noise, in units of score.
    mu : float >= 0
        Lowers documents by their labels, so that a tie counts as its worst order, as for a measure with
        ``ties="worst"``. 0: as the mean of its orders.
    draw : int >= 0
        Number of the noise, as in `YetiRank`.

    Notes
    -----
    Value and gradient are unbiased estimates; the gradient of one draw is not that of its value, so trainers
    that compare losses refuse them. The true gradient adds up to 0 over a query; so does this one, as its
    mean is subtracted. The paper's projection, which takes the part along the scores out of the gradient,
    is left out.
    Boosting divides by the same sum with :math:`|\Delta_p| / \sigma`.

    O(n k) time per sample with a cut-off k, O(n^2) without; O(n) memory.

    References
    ----------
    Ustimenko & Prokhorenkova (2020), StochasticRank: global optimization of scale-free discrete functions,
    ICML (coordinate conditional sampling), arXiv:2003.02122.

    Examples
    --------
    >>> scores, labels, qptr = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    >>> mean = np.mean(
    ...     [StochasticRank("nDCG@1", draw=d).value_and_grad(scores, labels, qptr)[1] for d in range(10000)],
    ...     axis=0,
    ... )
    >>> mean.round(2)  # density of N(0, 2) at 1: exp(-1/4) / sqrt(4 pi)
    array([-0.22,  0.22])
    """

    smoothed_by: ClassVar[str] = "sigma"
    measure: Any = "nDCG"
    permutations: int = 3
    sigma: float = 1.0
    mu: float = 0.0
    draw: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mu", float(number(self.mu, "mu", "StochasticRank", least=0.0, example=0.1)))
