"""What all surrogates of ApproxRank share: fields and their checks, kernels, weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.parameters import positive, whole
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.surrogates.positions import Sigmoid, sigmoid_code
from directrix.types import Float64Array, FloatArray, Int64Array

__all__ = ["SMOOTH", "ApproxRank", "over_queries", "times"]

SMOOTH = frozenset({"smooth", "shift_invariant", "tends_to_measure"})


class ApproxRank(KernelSurrogate):
    """Base of the surrogates in `approx`; the fields are each one's own."""

    entries: ClassVar[tuple[str, ...]] = ("document",)
    family: ClassVar[str]
    weighs_docs: ClassVar[bool] = False
    alpha: float
    beta: float = 1.0
    sigmoid: Sigmoid

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("alpha", "beta", "rel"):
            if hasattr(self, name):
                object.__setattr__(self, name, positive(getattr(self, name), name, owner))
        for name in ("k", "l_max"):
            if getattr(self, name, None) is not None:
                object.__setattr__(self, name, whole(getattr(self, name), name, owner))
        sigmoid_code(self.sigmoid)
        _ = self.measure  # checks what it has in common with the surrogate

    @property
    @abstractmethod
    def measure(self) -> RankingMeasure:
        """The exact measure that the surrogate tends to as alpha and beta grow."""

    @abstractmethod
    def doc_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None
    ) -> Float64Array:
        """What the kernel needs of every document: gain over ideal, relevance over R, ..."""

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> Float64Array:
        """Check the labels and turn them into `doc_values`.

        Raises
        ------
        InputError
            If a label is too large, or the surrogate gives document weights no meaning.
        """
        if not self.weighs_docs:
            refuse_doc_weight(self, doc_weight)
        self.measure.check_labels(float(labels.max(initial=0.0)))
        return self.doc_values(labels, qptr, doc_weight)

    @property
    def traits(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure."""
        return SMOOTH

    @property
    def steepness(self) -> float:
        """Alpha: scores closer than 1/alpha share their ranks."""
        return self.alpha

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing; beta keeps its ratio to alpha.

        As smoothing -> 0 the value tends to the exact measure wherever no scores tie.
        """
        smoothing = positive(smoothing, "smoothing", f"{type(self).__name__}.at")
        return replace(  # type: ignore[type-var]
            self, alpha=1.0 / smoothing, beta=self.beta / self.alpha / smoothing
        )

    def _shape(self) -> tuple[int, float]:
        return 0, 0.0

    def spec(self) -> tuple[int, int, float, float, float]:
        """What the kernels know of the surrogate; see `separable_chunk`."""
        kind, factor = sigmoid_code(self.sigmoid)
        shape, k = self._shape()
        return shape, kind, float(k), factor * self.alpha, factor * self.beta

    def fill(
        self,
        scores: FloatArray,
        prepared: Float64Array,
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[Float64Array, FloatArray],
    ) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        from directrix.surrogates._kernels import approx as kernels

        kernel = getattr(kernels, f"{self.family}_chunk")
        kernel(self.spec(), scores, prepared, qptr, chunk[0], chunk[1], out[0], out[1])


def over_queries(per_doc: Float64Array, total: Float64Array, qptr: Int64Array) -> Float64Array:
    """Divide by the query's total; 0 where that is 0."""
    inverse: Float64Array = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0.0)
    return per_doc * np.repeat(inverse, np.diff(qptr))


def times(values: Float64Array, doc_weight: Float64Array | None) -> Float64Array:
    """Multiply by the documents' weights, if there are any."""
    return values if doc_weight is None else values * doc_weight
