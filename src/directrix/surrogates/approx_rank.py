"""What all surrogates of ApproxRank share: fields and their checks, kernels, weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

from directrix.parameters import positive
from directrix.surrogates.base import MeasureSurrogate, refuse_doc_weight
from directrix.surrogates.positions import Sigmoid, sigmoid_code
from directrix.types import Float64Array, Int64Array


class ApproxRank(MeasureSurrogate):
    """Base of the surrogates in `approx`; they tend to their measure as alpha and beta grow."""

    entries: ClassVar[tuple[str, ...]] = ("document",)
    family: ClassVar[str]
    weighs_docs: ClassVar[bool] = False
    alpha: float
    beta: float = 1.0
    sigmoid: Sigmoid

    def __post_init__(self) -> None:
        super().__post_init__()
        sigmoid_code(self.sigmoid)

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array]:
        """Worth of every document to the measure, over the norm of its query."""
        if not self.weighs_docs:
            refuse_doc_weight(self, doc_weight)
        return (self.measure.document_values(labels, qptr, doc_weight),)

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
        """Return what the kernels need to know of the surrogate; see `separable_chunk`."""
        kind, factor = sigmoid_code(self.sigmoid)
        shape, k = self._shape()
        return shape, kind, float(k), factor * self.alpha, factor * self.beta

    def kernel(self) -> Any:
        """The compiled chunk."""
        from directrix.surrogates._kernels import approx as kernels

        return partial(getattr(kernels, f"{self.family}_chunk"), self.spec())
