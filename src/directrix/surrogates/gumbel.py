r"""`Gumbel`: the mean of any surrogate over scores with Gumbel noise (Bruch et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrix.errors import InputError
from directrix.parameters import SMALLEST, positive, whole
from directrix.surrogates.base import KernelSurrogate, writable
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.surrogates.noise import RandomSurrogate, uniforms
from directrix.surrogates.plain import kernel_surrogate
from directrix.types import Float64Array, FloatArray, Int64Array

_KEPT = frozenset({"smooth", "convex", "shift_invariant", "unit_interval", "value_free", "estimated"})
"""Traits of a surrogate that its mean over scores with noise has too."""


@dataclass(frozen=True, repr=False)
class Gumbel(RandomSurrogate):
    r"""Mean of a surrogate over scores with Gumbel noise, which makes the ranking a random one.

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
        Number of the noise. Boosting takes other noise for every tree, SGD and Adam for every epoch; other
        trainers keep it, so that they maximize one function, as smooth and as convex as S.

    Notes
    -----
    Noise belongs to the places of documents: it follows from ``draw`` and the labels of the query in their
    order, so that a query has the same noise in any batch. The expectation of the gradient does not depend on
    the order of the documents; the gradient of one draw does.

    If S is a gradient without a function, such as `Lambda`, the value is the measure, without noise.

    R times the cost of S, and O(R n) for the noise; O(n) memory.

    References
    ----------
    Bruch, Han, Bendersky & Najork (2020), A stochastic treatment of learning to rank scoring functions, WSDM,
    Section 4, doi:10.1145/3336191.3371844.

    Examples
    --------
    nDCG over both orders of two documents; with chance p = 1/(1 + 1/e) the relevant one is first:

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
        inner = parse_surrogate(self.surrogate)
        if isinstance(inner, type) or not hasattr(inner, "value_and_grad"):
            raise InputError(
                f"Gumbel(surrogate={inner!r}): a surrogate or its text is needed; type e.g. "
                "Gumbel('ApproxNDCG')."
            )
        checked = {
            "surrogate": inner,
            "samples": whole(self.samples, "samples", "Gumbel"),
            "scale": float(positive(self.scale, "scale", "Gumbel", SMALLEST)),
            "draw": whole(self.draw, "draw", "Gumbel", least=0, example=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("samples", "scale", "draw"))
        return f"Gumbel({repr(self.surrogate)!r}, {settings})"

    @property
    def traits(self) -> frozenset[str]:
        """random; smooth, convex, shift_invariant, unit_interval, value_free, estimated as the surrogate."""
        inner: frozenset[str] = self.surrogate.traits
        return (inner & _KEPT) | {"random"}

    @property
    def measure(self) -> Any:
        """That of the surrogate."""
        return self.surrogate.measure

    @property
    def steepness(self) -> float:
        """That of the surrogate; boosting itself takes the mean of the curvatures."""
        return self._inner.steepness

    @property
    def entries(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Those of the surrogate, after the labels."""
        inner = self._inner.entries
        return None if inner is None else ("document", *inner)

    @cached_property
    def _inner(self) -> KernelSurrogate:
        return kernel_surrogate(self.surrogate)

    def redraw(self, *numbers: int) -> Self:
        """Return a copy with other noise, also of the surrogate's own; see `RandomSurrogate.redraw`."""
        inner = self.surrogate
        inner = inner.redraw(*numbers) if "random" in inner.traits else inner
        return replace(super().redraw(*numbers), surrogate=inner)

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; the labels, for the noise, and what the surrogate prepares."""
        return (writable(labels), *self._inner.prepare(labels, qptr, doc_weight))

    def noises(self, labels: Float64Array, qptr: Int64Array) -> Iterator[Float64Array]:
        """Noise of every document, in units of score, one sample after another."""
        for sample in range(self.samples):
            yield self.scale * -np.log(-np.log(uniforms(labels, qptr, self.draw, sample)))

    def _noisy(self, scores: FloatArray, labels: Float64Array, qptr: Int64Array) -> Iterator[FloatArray]:
        return (scores + noise.astype(scores.dtype) for noise in self.noises(labels, qptr))

    def fill(
        self,
        scores: FloatArray,
        prepared: tuple[Any, ...],
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[FloatArray, ...],
    ) -> None:
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
        if "value_free" in self.traits:
            one[0][part] = 0.0
            self._inner.fill(scores, prepared[1:], qptr, chunk, one)
            out[0][part] = one[0][part]

    def value_grad_curvature(
        self, scores: FloatArray, prepared: tuple[Any, ...], qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """See `KernelSurrogate.value_grad_curvature`; here the means of the surrogate's."""
        value, grad, curvature = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
        for noisy in self._noisy(scores, prepared[0], qptr):
            parts = self._inner.value_grad_curvature(noisy, prepared[1:], qptr)
            for total, part in zip((value, grad, curvature), parts, strict=True):
                total += (part / self.samples).astype(total.dtype)
        if "value_free" in self.traits:
            value, _ = self._inner.fill_all(scores, prepared[1:], qptr)
        return value, grad, curvature

    def curvature(
        self, scores: FloatArray, prepared: tuple[Any, ...], qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """See `value_grad_curvature`."""
        return self.value_grad_curvature(scores, prepared, qptr)[2].astype(np.float64)
