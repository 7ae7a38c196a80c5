"""Surrogates that have only ``value_and_grad``, in the form in which objectives use all surrogates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate


def kernel_surrogate(surrogate: Surrogate) -> KernelSurrogate:
    """Return the surrogate itself if it has kernels, otherwise an adapter with the same methods."""
    return surrogate if isinstance(surrogate, KernelSurrogate) else _Plain(surrogate)


@dataclass(frozen=True, eq=False)
class _Plain(KernelSurrogate):
    """Adapter of a surrogate that prepares nothing and takes no document weights."""

    entries: ClassVar[tuple[str, ...]] = ("document",)
    surrogate: Surrogate

    @property
    def traits(self) -> frozenset[str]:
        return self.surrogate.traits

    @property
    def steepness(self) -> float:
        return float(getattr(self.surrogate, "steepness", 1.0))

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array]:
        refuse_doc_weight(self.surrogate, doc_weight)
        return (labels,)

    def fill(
        self,
        scores: FloatArray,
        prepared: tuple[Float64Array],
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[FloatArray, ...],
    ) -> None:
        first, last = chunk
        docs = slice(int(qptr[first]), int(qptr[last]))
        bounds = qptr[first : last + 1] - qptr[first]
        value, grad = self.surrogate.value_and_grad(scores[docs], prepared[0][docs], bounds)
        out[0][first:last], out[1][docs] = value, grad
