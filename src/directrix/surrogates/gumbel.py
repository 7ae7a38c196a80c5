"""The mean of another surrogate over scores with Gumbel noise: a stochastic treatment of scoring functions.

A surrogate goes in, and a surrogate comes out, whose rankings follow the model of Plackett and Luce:

    noisy = Gumbel("ApproxNDCG", samples=8)
    noisy.value_and_grad(scores, labels, qptr)  # the mean over 8 samples of the noise
    noisy.redraw(1)  # the same with other noise
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrix.errors import InputError
from directrix.surrogates.base import (
    Chunk,
    KernelSurrogate,
    Out,
    kernel_surrogate,
    uniforms,
    writable,
)
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Float64Array, FloatArray, Int64Array

_KEPT = frozenset({"smooth", "convex", "shift_invariant", "unit_interval", "value_free"})
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
        """random; smooth, convex, shift_invariant, unit_interval, value_free as the surrogate."""
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
        # A surrogate with noise of its own draws that again too.
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
        docs, queries = slice(qptr[first], qptr[last]), slice(first, last)
        labels, local = prepared[0][docs], qptr[first : last + 1] - qptr[first]
        # The arrays have places for all documents, as the prepared ones do, but only those of the chunk are
        # touched.
        at, sample = np.empty_like(scores), (np.zeros(len(out[0])), np.zeros_like(scores))
        out[0][queries], out[1][docs] = 0.0, 0.0
        for noisy in self._noisy(scores[docs], labels, local):
            at[docs], sample[0][queries], sample[1][docs] = noisy, 0.0, 0.0
            self._inner.fill(at, prepared[1:], qptr, chunk, sample)
            out[0][queries] += sample[0][queries] / self.samples
            out[1][docs] += sample[1][docs] / self.samples
        if "value_free" in self.properties:
            # Lambdas have no value of their own: it is the measure of the ranking without noise.
            sample[0][queries] = 0.0
            self._inner.fill(scores, prepared[1:], qptr, chunk, sample)
            out[0][queries] = sample[0][queries]

    def value_grad_curvature(
        self, scores: FloatArray, prepared: tuple[Any, ...], qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """See `KernelSurrogate.value_grad_curvature`; here means over the samples."""
        value, grad, curvature = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
        for noisy in self._noisy(scores, prepared[0], qptr):
            outcome = self._inner.value_grad_curvature(noisy, prepared[1:], qptr)
            for total, array in zip((value, grad, curvature), outcome, strict=True):
                total += (array / self.samples).astype(total.dtype)
        if "value_free" in self.properties:
            value, _ = self._inner.fill_all(scores, prepared[1:], qptr)
        return value, grad, curvature
