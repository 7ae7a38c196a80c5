"""Surrogates whose kernel computes the curvature for boosting along with the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.surrogates.base import KernelSurrogate, in_chunks
from directrix.types import Float64Array, FloatArray, Int64Array


class FilledCurvature(KernelSurrogate):
    """Base of surrogates whose kernel has one more output, the curvature, and writes it before the gradient.

    Where only the gradient is wanted, the kernel takes the same array for both.
    """

    def fill(
        self,
        scores: FloatArray,
        prepared: Any,
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[FloatArray, ...],
    ) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        super().fill(scores, prepared, qptr, chunk, out if len(out) == 3 else (*out, out[-1]))

    def value_grad_curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """See `KernelSurrogate.value_grad_curvature`; the notes of each surrogate say which curvature."""
        out = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
        in_chunks(lambda first, last: self.fill(scores, prepared, qptr, (first, last), out), qptr)
        return out

    def curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """See `value_grad_curvature`."""
        return self.value_grad_curvature(scores, prepared, qptr)[2].astype(np.float64)
