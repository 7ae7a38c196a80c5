"""Surrogates that draw noise by counter: a draw gives the same bits for a query in any batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from directrix.surrogates.base import KernelSurrogate
from directrix.types import Float64Array, Int64Array


class RandomSurrogate(KernelSurrogate):
    """Base of surrogates with the trait ``random``: frozen dataclasses with a field ``draw``.

    ``draw`` is the number of the noise: the same one gives the same bits.
    """

    draw: int

    def redraw(self, *numbers: int) -> Self:
        """Return a copy with other noise, which follows from ``draw`` and these numbers."""
        state = np.random.SeedSequence([self.draw, *numbers]).generate_state(1)
        return replace(self, draw=int(state[0] >> 1))  # type: ignore[type-var]


def uniforms(labels: Float64Array, qptr: Int64Array, draw: int, sample: int = 0) -> Float64Array:
    """Numbers uniform on (0, 1), one per document, that follow from its place and the labels of its query.

    ``draw`` and ``sample`` are integers >= 0; each pair gives other numbers. O(n).
    """
    from directrix.surrogates._kernels.noise import uniform_chunk

    u = np.empty(len(labels))
    uniform_chunk(labels, draw, sample, qptr, 0, len(qptr) - 1, u)
    return u
