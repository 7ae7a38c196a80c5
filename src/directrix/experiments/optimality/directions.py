"""Directions in the space of weights, random or one weight at a time, and the lengths of steps along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.parameters import share
from directrix.types import Float64Array

_MOST = 10_000_000
"""Most directions of a test."""


def n_directions(eps: float = 0.01, delta: float = 0.01) -> int:
    r"""Number of random directions that a test needs.

    .. math:: K = \lceil \ln\delta / \ln(1 - \varepsilon) \rceil

    If at least a share eps of all directions rises, K random ones hold a rising one with probability :math:`1
    - (1 - \varepsilon)^K \ge 1 - \delta`; see `certify`. Raises `InputError` if one of them is not between 0
    and 1, or more than 10 million directions would be needed.

    Examples
    --------
    >>> n_directions(eps=0.01, delta=0.01), n_directions(eps=0.05, delta=0.05)
    (459, 59)
    """
    share(eps, "eps")
    share(delta, "delta")
    count = math.log(delta) / math.log1p(-eps)
    if count > _MOST:
        raise InputError(
            f"eps={eps!r} and delta={delta!r} need {count:.2g} directions; at most {_MOST:,} are allowed. "
            "Ask for a larger share, e.g. eps=0.01."
        )
    return math.ceil(count)


def check_steps(steps: Any) -> tuple[float, ...]:
    """Check lengths of steps, and return them as plain numbers."""
    lengths = np.asarray(steps, dtype=np.float64)
    if lengths.ndim != 1 or not len(lengths) or not ((lengths > 0.0) & (lengths < np.inf)).all():
        raise InputError(f"steps={steps!r}: lengths > 0 are needed, e.g. steps=[0.1, 0.5, 1.0].")
    return tuple(lengths.tolist())


@dataclass(frozen=True)
class Steps:
    """Lengths of the steps along a direction.

    A linear ranking does not depend on the norm of its weights, so what an absolute step means depends on how
    long the weights happen to be; a relative step has the same meaning for all.
    """

    given: tuple[float, ...]  # in multiples of the unit
    relative: bool  # whether the unit is the norm of the weights; else it is 1

    def unit(self, params: Float64Array) -> float:
        """Return the unit at the given weights; raise `InputError` for relative steps if all are 0."""
        if not self.relative:
            return 1.0
        norm = float(np.linalg.norm(params))
        if norm == 0.0:
            raise InputError("relative=True, but all weights are 0 and have no length; use absolute steps.")
        return norm

    def lengths(self, params: Float64Array) -> Float64Array:
        """Lengths at some weights, float64 (n_steps,)."""
        return np.array(self.given) * self.unit(params)


@dataclass(frozen=True)
class RandomDirections:
    """Random unit vectors, uniform on the sphere; each depends only on the seed and its number."""

    count: int
    n_params: int  # components of a vector
    seed: tuple[int, ...]

    def block(self, first: int, last: int) -> Float64Array:
        """Directions first <= i < last, float64 (last - first, n_params)."""
        drawn = np.empty((last - first, self.n_params))
        for row, i in zip(drawn, range(first, last), strict=True):
            row[:] = np.random.default_rng([*self.seed, i]).standard_normal(self.n_params)
            row /= np.linalg.norm(row)
        return drawn

    def name(self, i: int) -> str:
        """Name of direction i in text."""
        return f"direction {i} of seed {'.'.join(map(str, self.seed))}"


@dataclass(frozen=True)
class OneWeight:
    """Up and down, one weight at a time: directions 2 j and 2 j + 1 are those of ``weights[j]``."""

    weights: Sequence[int]
    n_params: int

    @property
    def count(self) -> int:
        """Twice the number of weights."""
        return 2 * len(self.weights)

    def block(self, first: int, last: int) -> Float64Array:
        """Directions first <= i < last, float64 (last - first, n_params)."""
        axes = np.zeros((last - first, self.n_params))
        for row, i in zip(axes, range(first, last), strict=True):
            row[self.weights[i // 2]] = -1.0 if i % 2 else 1.0
        return axes

    def name(self, i: int) -> str:
        """Name of direction i in text."""
        return f"weight {self.weights[i // 2]} {'down' if i % 2 else 'up'}"
