"""What all surrogates of ApproxRank share: fields and their checks, kernels, weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

from directrix.measures.base import RankingMeasure
from directrix.parameters import positive, whole
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.surrogates.positions import Sigmoid, sigmoid_code
from directrix.types import Float64Array, Int64Array

SMOOTH = frozenset({"smooth", "shift_invariant", "tends_to_measure"})


class ApproxRank(KernelSurrogate):
    """Base of the surrogates in `approx`; each class has fields of its own."""

    entries: ClassVar[tuple[str, ...]] = ("document",)
    family: ClassVar[str]
    weighs_docs: ClassVar[bool] = False
    alpha: float
    beta: float = 1.0
    sigmoid: Sigmoid

    def __post_init__(self) -> None:
        class_name = type(self).__name__
        for name in ("alpha", "beta", "rel"):
            if hasattr(self, name):
                object.__setattr__(self, name, positive(getattr(self, name), name, class_name))
        for name in ("k", "l_max"):
            if getattr(self, name, None) is not None:
                object.__setattr__(self, name, whole(getattr(self, name), name, class_name))
        sigmoid_code(self.sigmoid)
        _ = self.measure  # checks what it has in common with the surrogate

    @property
    @abstractmethod
    def measure(self) -> RankingMeasure:
        """The exact measure that the surrogate tends to as alpha and beta grow."""

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array]:
        """Worth of every document to the measure, over the norm of its query.

        Raises
        ------
        InputError
            If a label is too large, or the surrogate gives document weights no meaning.
        """
        if not self.weighs_docs:
            refuse_doc_weight(self, doc_weight)
        return (self.measure.document_values(labels, qptr, doc_weight),)

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
        """Return what the kernels need to know of the surrogate; see `separable_chunk`."""
        kind, factor = sigmoid_code(self.sigmoid)
        shape, k = self._shape()
        return shape, kind, float(k), factor * self.alpha, factor * self.beta

    def kernel(self) -> Any:
        """The compiled chunk."""
        from directrix.surrogates._kernels import approx as kernels

        return partial(getattr(kernels, f"{self.family}_chunk"), self.spec())
