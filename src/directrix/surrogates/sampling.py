r"""Expectations of measures and surrogates over noisy scores, from sampled rankings.

Noise turns a measure into a smooth function, its expectation :math:`\mathbb{E}\, M(s + \text{noise})`.
`PLRank` adds Gumbel noise, so that rankings follow the model of Plackett and Luce; `StochasticRank` adds
normal noise. Both sample rankings, and take exact expectations over a part of the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from directrix.errors import InputError
from directrix.measures.terms import query_sums
from directrix.surrogates.base import (
    Chunk,
    KernelSurrogate,
    Out,
    Smoothed,
    kernel_surrogate,
    uniforms,
    writable,
)
from directrix.surrogates.lambdas import NoisySurrogate
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Float64Array, FloatArray, Int64Array


class Sampling(Smoothed, NoisySurrogate):
    """Base of `PLRank` and `StochasticRank`, which share a kernel."""

    entries: ClassVar[tuple[str, ...]] = ("document", "data", "document", "query")
    compiled: ClassVar[str] = "sampling.sampling_chunk"

    @property
    def properties(self) -> frozenset[str]:
        """tends_to_measure, shift_invariant, random, estimated; unit_interval if the measure lies in it."""
        return super().properties | {"tends_to_measure", "estimated"}

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Any, ...]:
        """Return the arrays of the labels that `sampling_chunk` needs."""
        prepared = super().from_labels(labels, qptr)
        is_one = getattr(self.measure, "empty", "zero") == "one"
        empty = (query_sums(prepared.worth, qptr) <= 0.0) & is_one
        return prepared.worth, prepared.discount, prepared.labels, empty.astype(np.float64)

    def settings(self) -> tuple[Any, ...]:
        """See `KernelSurrogate.settings`."""
        setting = self.form, self.measure.depth, self.permutations, self.smoothed_by == "temperature"
        return ((setting, 1.0 / self.steepness, self.draw),)


@dataclass(frozen=True, repr=False)
class PLRank(Sampling):
    r"""PL-Rank: a measure's expectation over rankings of the Plackett-Luce model.

    .. math:: \mathbb{E}_\pi \sum_p r_p, \qquad
              P(\pi_p = i) = \frac{e^{s_i / T}}{\sum_{j \in \pi_{\ge p}} e^{s_j / T}}

    with the reward :math:`r_p = x_{\pi_p} A_p D(p)` of rank p: the gain of its document, a factor for the
    documents above, and the discount. A is 1 for nDCG and P, 1 + the number of relevant documents above for
    AP, and the probability of not stopping above for RR and ERR. The value is the mean over R sampled
    rankings, and the gradient is

    .. math:: \frac{1}{R\,T} \sum_\pi \sum_p \Big( P(\pi_p = i)\, A_p D(p) (x_i - \bar x_p)
              + \big([\pi_p = i] - P(\pi_p = i)\big) (F_p - b_p) \Big), \qquad F_p = \sum_{t > p} r_t

    with the mean gain :math:`\bar x_p` under these probabilities. The immediate reward of a choice enters by
    its exact expectation; later rewards are those of the ranking, minus a baseline: :math:`b_p` is the mean
    of :math:`F_p` over the ranking without noise and those sampled before.

    Parameters
    ----------
    measure : measure or str
        As for `Lambda`.
    permutations : int >= 1
        R, the number of rankings.
    temperature : float, 1e-30 to 1e30
        T, in units of score.
    draw : int >= 0
        Seed of the noise, as in `YetiRank`.

    Notes
    -----
    Value and gradient are unbiased estimates; the gradient of a sample is not that of its value, so trainers
    that compare losses reject them. PL-Rank-3 has no b, and :math:`r_p` in place of
    :math:`A_p D(p) \bar x_p`. This gradient is the same on average, adds up to 0 over the query in every
    ranking, and has a variance 3 to 20 times lower (docs/decisions/losses.md). The factor A, which gives such
    gradients to AP, RR and ERR, is not in the paper. Boosting divides by :math:`\sum_p (A_p D(p) \bar x_p +
    \max(F_p, b_p)) P (1 - P)`, at least 5 % of the same sum without :math:`1 - P`.

    O(n) time and a sort per ranking; O(n) memory.

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

    .. math:: \mathbb{E}\, M(z), \qquad z_i = s_i + \sigma \varepsilon_i, \qquad \varepsilon_i \sim N(0, 1)

    Given the noise of all documents except i, the measure is a step function of :math:`z_i`. The mean of its
    slope over the noise of i is exact: with the others in the order :math:`o_1, o_2, \dots` of z and
    :math:`\Delta_p` the increase when i moves from rank p + 1 to p, above :math:`o_p`,

    .. math:: \frac{\partial}{\partial s_i} = \frac1R \sum_z \sum_p \Delta_p \,
              \frac1\sigma \varphi\Big(\frac{z_{o_p} - s_i}{\sigma}\Big)

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
    draw : int >= 0
        Seed of the noise, as in `YetiRank`.

    Notes
    -----
    Value and gradient are unbiased estimates; the gradient of a sample is not that of its value, so trainers
    that compare losses reject them. The true gradient adds up to 0 over a query; so does this one, because
    its mean is subtracted. The paper's projection, which removes the component along the scores from the
    gradient, is omitted. Boosting divides by the same sum with :math:`|\Delta_p| / \sigma`.

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
    draw: int = 0


_KEPT = frozenset({"smooth", "convex", "shift_invariant", "unit_interval", "value_free", "estimated"})
"""Properties of a surrogate that its mean over scores with noise has too."""


@dataclass(frozen=True, repr=False)
class Gumbel(KernelSurrogate):
    r"""Mean of a surrogate over scores with Gumbel noise, which makes the ranking random.

    .. math:: \frac1R \sum_{r=1}^R S(s + \beta\, g^r), \qquad g_i^r = -\log(-\log u_i^r)

    with u uniform on (0, 1) for every document and sample. The order of :math:`s + \beta g` has the
    Plackett-Luce distribution of :math:`s / \beta`. The gradient is the mean of the gradients.

    Parameters
    ----------
    surrogate : surrogate or str
        S.
    samples : int >= 1
        R.
    scale : float, 1e-30 to 1e30
        beta, in units of score. The standard deviation of the noise is 1.28 beta.
    draw : int >= 0
        Seed of the noise. Boosting uses other noise for every tree, SGD and Adam for every epoch; other
        trainers keep it, so that they maximize one function, as smooth and as convex as S.

    Notes
    -----
    Noise belongs to the positions of documents: it depends on ``draw`` and the labels of the query in their
    order, so a query has the same noise in any batch. The expectation of the gradient does not depend on the
    order of the documents; the gradient of one draw does.

    If S is a gradient without a function, such as `Lambda`, the value is the measure, without noise.

    R times the cost of S, and O(R n) for the noise; O(n) memory.

    References
    ----------
    Bruch, Han, Bendersky & Najork (2020), A stochastic treatment of learning to rank scoring functions, WSDM,
    Section 4, doi:10.1145/3336191.3371844.

    Examples
    --------
    nDCG over both orders of two documents; with probability p = 1/(1 + 1/e) the relevant one is first:

    >>> scores, labels, qptr = np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 2])
    >>> noisy = Gumbel("ApproxNDCG(alpha=1e6)", samples=10_000)
    >>> noisy.value_and_grad(scores, labels, qptr)[0].round(2)  # p + (1 - p)/log2(3)
    array([0.9])
    """

    surrogate: Any = "ApproxNDCG"
    samples: int = 8
    scale: float = 1.0
    draw: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = parse_surrogate(self.surrogate)
        if isinstance(inner, type) or not hasattr(inner, "value_and_grad"):
            raise InputError(
                f"Gumbel(surrogate={inner!r}): a surrogate or its text is needed; type e.g. "
                "Gumbel('ApproxNDCG')."
            )
        object.__setattr__(self, "surrogate", inner)

    @property
    def properties(self) -> frozenset[str]:
        """random; smooth, convex, shift_invariant, unit_interval, value_free, estimated as the surrogate."""
        inner: frozenset[str] = self.surrogate.properties
        return (inner & _KEPT) | {"random"}

    @property
    def adds_gains(self) -> bool:
        """Whether the surrogate adds up gains."""
        return self._inner.adds_gains

    @property
    def measure(self) -> Any:
        """Measure of the surrogate."""
        return self.surrogate.measure

    @property
    def steepness(self) -> float:
        """Steepness of the surrogate; boosting itself uses the mean of the curvatures."""
        return self._inner.steepness

    @property
    def entries(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Entries of the surrogate, after the labels."""
        inner = self._inner.entries
        return None if inner is None else ("document", *inner)

    @cached_property
    def _inner(self) -> KernelSurrogate:
        return kernel_surrogate(self.surrogate)

    def with_share(self, share: float) -> Self:
        """Return a copy whose surrogate has this share; see `KernelSurrogate.with_share`."""
        inner = self._inner.with_share(share)
        return self if inner is self._inner else replace(self, surrogate=inner)

    def redraw(self, *numbers: int) -> Self:
        """Return a copy with other noise, also of the surrogate's own; see `KernelSurrogate.redraw`."""
        inner = self.surrogate
        inner = inner.redraw(*numbers) if "random" in inner.properties else inner
        return replace(super().redraw(*numbers), surrogate=inner)

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; returns the labels, for the noise, and the surrogate's arrays."""
        return (writable(labels), *self._inner.prepare(labels, qptr, doc_weight))

    def noises(self, labels: Float64Array, qptr: Int64Array) -> Iterator[Float64Array]:
        """Yield the noise of every document, in units of score, one sample after another."""
        for sample in range(self.samples):
            yield self.scale * -np.log(-np.log(uniforms(labels, qptr, self.draw, sample)))

    def _noisy(self, scores: FloatArray, labels: Float64Array, qptr: Int64Array) -> Iterator[FloatArray]:
        return (scores + noise.astype(scores.dtype) for noise in self.noises(labels, qptr))

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        first, last = chunk
        docs, part = slice(qptr[first], qptr[last]), slice(first, last)
        labels, local = prepared[0][docs], qptr[first : last + 1] - qptr[first]
        # of all documents, as the prepared arrays are; only the chunk's part of the memory is touched
        at, one = np.empty_like(scores), (np.zeros(len(out[0])), np.zeros_like(scores))
        out[0][part], out[1][docs] = 0.0, 0.0
        for noisy in self._noisy(scores[docs], labels, local):
            at[docs], one[0][part], one[1][docs] = noisy, 0.0, 0.0
            self._inner.fill(at, prepared[1:], qptr, chunk, one)
            out[0][part] += one[0][part] / self.samples
            out[1][docs] += one[1][docs] / self.samples
        if "value_free" in self.properties:
            one[0][part] = 0.0
            self._inner.fill(scores, prepared[1:], qptr, chunk, one)
            out[0][part] = one[0][part]

    def value_grad_curvature(
        self, scores: FloatArray, prepared: tuple[Any, ...], qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """See `KernelSurrogate.value_grad_curvature`; here means over the samples."""
        value, grad, curvature = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
        for noisy in self._noisy(scores, prepared[0], qptr):
            parts = self._inner.value_grad_curvature(noisy, prepared[1:], qptr)
            for total, part in zip((value, grad, curvature), parts, strict=True):
                total += (part / self.samples).astype(total.dtype)
        if "value_free" in self.properties:
            value, _ = self._inner.fill_all(scores, prepared[1:], qptr)
        return value, grad, curvature
