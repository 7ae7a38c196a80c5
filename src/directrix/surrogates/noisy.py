"""What surrogates share whose gradient is a mean over rankings by scores with noise."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self, cast

import numpy as np

from directrix.parameters import whole
from directrix.surrogates.base import in_chunks
from directrix.surrogates.lambdas import RankwiseSurrogate
from directrix.types import Float64Array, FloatArray, Int64Array


class NoisySurrogate(RankwiseSurrogate):
    """Base of `YetiRank`, `PLRank` and `StochasticRank`: frozen dataclasses with these fields.

    Their kernels fill a third array of the output: the curvature.
    """

    permutations: int
    draw: int

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        object.__setattr__(self, "permutations", whole(self.permutations, "permutations", owner))
        object.__setattr__(self, "draw", whole(self.draw, "draw", owner, least=0, example=0))

    def __repr__(self) -> str:
        names = [field.name for field in fields(cast("Any", self)) if field.name != "measure"]
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({self.measure.name!r}, {settings})"

    @property
    def traits(self) -> frozenset[str]:
        """random, and those of the base."""
        return super().traits | {"random"}

    def redraw(self, *numbers: int) -> Self:
        """Return a copy with other noise, which follows from ``draw`` and these numbers."""
        state = np.random.SeedSequence([self.draw, *numbers]).generate_state(1)
        return cast("Self", replace(cast("Any", self), draw=int(state[0] >> 1)))

    def fill(
        self,
        scores: FloatArray,
        prepared: Any,
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[FloatArray, ...],
    ) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`. Without a third array the curvature is not kept."""
        super().fill(scores, prepared, qptr, chunk, (*out, out[-1])[:3])

    def value_grad_curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray, FloatArray]:
        """See `KernelSurrogate.value_grad_curvature`."""
        out = np.zeros(len(qptr) - 1), np.zeros_like(scores), np.zeros_like(scores)
        in_chunks(lambda first, last: self.fill(scores, prepared, qptr, (first, last), out), qptr)
        return out

    def curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """See `KernelSurrogate.curvature`."""
        return self.value_grad_curvature(scores, prepared, qptr)[2].astype(np.float64)
