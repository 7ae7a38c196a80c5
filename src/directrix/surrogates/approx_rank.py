"""What all surrogates of ApproxRank share: fields and their checks, kernels, weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from directrix.errors import InputError
from directrix.surrogates.base import KernelSurrogate
from directrix.surrogates.positions import Sigmoid, sigmoid_code
from directrix.types import Float64Array, FloatArray, Int64Array

__all__ = ["SMOOTH", "ApproxRank", "check_k", "over_queries", "times"]

SMOOTH = frozenset({"smooth", "shift_invariant", "tends_to_measure"})


class ApproxRank(KernelSurrogate):
    """Base of the surrogates in `approx`; the fields are each one's own."""

    family: ClassVar[str]
    alpha: float
    beta: float = 1.0
    sigmoid: Sigmoid

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0.0 < value < np.inf):
                raise InputError(
                    f"{type(self).__name__}({name}={value!r}): {name} is the steepness of the sigmoid "
                    f"and must be a number > 0; type e.g. {type(self).__name__}({name}=10.0)."
                )
        sigmoid_code(self.sigmoid)

    @property
    def traits(self) -> frozenset[str]:
        """smooth, shift_invariant, tends_to_measure."""
        return SMOOTH

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing; beta keeps its ratio to alpha.

        As smoothing -> 0 the value tends to the exact measure wherever no scores tie.
        """
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


def check_k(surrogate: Any, k: Any, *, optional: bool = True) -> None:
    """Refuse a cut-off that is not an integer >= 1."""
    if (k is None and optional) or (isinstance(k, int | np.integer) and k >= 1):
        return
    name = type(surrogate).__name__
    raise InputError(f"{name}(k={k!r}): the cut-off must be an integer >= 1; type e.g. {name}(k=10).")
