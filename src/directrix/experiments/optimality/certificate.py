"""The result of a test of local optimality: the directions that were tried, and how the measure changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.parameters import share
from directrix.tables import json_value
from directrix.types import Float64Array, Int64Array

# A test has at most this number of directions.
_MOST = 10_000_000


def n_directions(eps: float = 0.01, delta: float = 0.01) -> int:
    r"""Number of random directions that a test needs.

    .. math:: K = \lceil \ln\delta / \ln(1 - \varepsilon) \rceil

    If at least a share eps of all directions rises, K random ones include a rising one with probability
    :math:`1 - (1 - \varepsilon)^K \ge 1 - \delta`; see `certify`. Raises `InputError` if eps or
    delta is not between 0 and 1, or more than 10 million directions would be needed.

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

    A linear ranking does not depend on the norm of its weights, but the effect of an absolute step does; a
    relative step has the same effect for any norm.
    """

    # Radii in multiples of the unit.
    given: tuple[float, ...]
    # The unit is the norm of the weights if this is true, and 1 otherwise.
    relative: bool

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
    n_params: int
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
    """Directions of single weights: 2 j moves ``weights[j]`` up, and 2 j + 1 moves it down."""

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


LEVEL = 1e-12
"""Changes of at most this share of the value count as no change."""
_FIGURES = ("eps", "delta", "confidence", "share_below", "largest_rise")


@dataclass(frozen=True)
class ExactRise:
    """The best point of all lines through the weights, found by exact line searches.

    Parameters
    ----------
    reach : float
        Largest distance from the weights; may be infinite.
    n_rising : int
        Number of lines with a higher point.
    largest_rise : float
        Rise of the highest point over the weights; 0 if no line has a higher point.
    direction : int or None
        Number of the line of the highest point.
    t : float
        Position of the highest point on its line.
    """

    reach: float
    n_rising: int
    largest_rise: float
    direction: int | None
    t: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in JSON types; an infinite reach is null."""
        return dict(json_value(vars(self)))


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""Result of `certify`: a test of whether trained weights are a local optimum of a measure.

    Parameters
    ----------
    measure : str
        Name of the measure.
    value : float
        Mean of the measure at the weights.
    directions : RandomDirections or OneWeight
        The directions that were tried; ``directions.block(i, i + 1)[0]`` is direction i.
    eps, delta : float
        If none of enough directions rises, less than a share eps of all directions rises, with confidence 1 -
        delta.
    steps : tuple of float
        Lengths of the steps, in units of ``unit``.
    unit : float
        1, or the norm of the weights.
    curves : float64 (n_directions, n_steps)
        Change of the measure by every step, in units of the measure.
    exact : tuple of ExactRise
        Best points within the longest step, and anywhere; empty without ``exact=True``.
    spent : float
        Chance of a wrong certificate that earlier tests of `polish` have used up.
    chance : float, optional
        Part of ``delta`` that `polish` leaves to this test; None = all of it.

    Notes
    -----
    Changes of at most 1e-12 of the value are level: neither a rise nor a fall.
    """

    measure: str
    value: float
    directions: RandomDirections | OneWeight
    eps: float
    delta: float
    steps: tuple[float, ...]
    unit: float
    curves: Float64Array
    exact: tuple[ExactRise, ...] = ()
    spent: float = 0.0
    chance: float | None = None

    @property
    def n_directions(self) -> int:
        """Number of directions that were tried."""
        return self.directions.count

    @property
    def one_weight(self) -> bool:
        """Whether the directions are single weights, not random ones."""
        return isinstance(self.directions, OneWeight)

    @property
    def rising(self) -> Int64Array:
        """Numbers of the directions in which a step raises the measure, int64."""
        return np.flatnonzero((self.curves > self._level).any(axis=1)).astype(np.int64)

    @property
    def n_rising(self) -> int:
        """Number of directions in which a step raises the measure."""
        return len(self.rising)

    @property
    def n_level(self) -> int:
        """Number of directions in which no step raises the measure, but one leaves it unchanged."""
        highest = self.curves.max(axis=1)
        return int(((highest <= self._level) & (highest >= -self._level)).sum())

    @property
    def largest_rise(self) -> float:
        """Rise of the measure by the best step; 0 if no step raises it."""
        highest = float(self.curves.max())
        return highest if highest > self._level else 0.0

    @property
    def largest_at(self) -> tuple[int, float] | None:
        """Number of the direction of the best step and its length, as in ``steps``; None if none rises."""
        if not self.n_rising:
            return None
        row, column = divmod(int(self.curves.argmax()), self.curves.shape[1])
        return row, self.steps[column]

    @property
    def mean_change(self) -> Float64Array:
        """Mean over directions of the change, for every step: float64 (n_steps,)."""
        return np.asarray(self.curves.mean(axis=0))

    @property
    def max_change(self) -> Float64Array:
        """The highest change of any direction, for every step: float64 (n_steps,)."""
        return np.asarray(self.curves.max(axis=0))

    @property
    def confidence(self) -> float:
        r"""Confidence that less than a share eps of all directions rises.

        Before ``spent`` is subtracted, it is 1 minus the probability that at most r directions, the observed
        number, rise if a share eps of all directions rises:

        .. math:: 1 - \sum_{i \le r} \binom{K}{i} \varepsilon^i (1 - \varepsilon)^{K - i},

        which is :math:`1 - (1 - \varepsilon)^K` if none of K rises. With one weight at a time, nothing is
        random, and it is 1 or 0.
        """
        if self.one_weight:
            return float(self.n_rising == 0)
        from scipy.special import bdtrc

        return max(0.0, float(bdtrc(self.n_rising, self.n_directions, self.eps)) - self.spent)

    @property
    def is_local_optimum(self) -> bool:
        """True if no direction rises and enough were tried for confidence 1 - delta."""
        # The tolerance is for rounding: a delta of exactly (1 - eps)^K must pass.
        return self.n_rising == 0 and 1.0 - self.confidence <= self.delta * (1.0 + 1e-9)

    @property
    def share_below(self) -> float | None:
        """Upper limit of the share of rising directions, at confidence 1 - delta (Clopper & Pearson 1934).

        After `polish`, the limits of all its tests hold jointly at this confidence. None with one weight at a
        time, since nothing is random.
        """
        if self.one_weight:
            return None
        from scipy.special import bdtri

        if self.n_rising == self.n_directions:
            return 1.0
        chance = self.delta if self.chance is None else self.chance
        return float(bdtri(self.n_rising, self.n_directions, chance))

    @property
    def _level(self) -> float:
        return LEVEL * abs(self.value)

    def to_dict(self, *, curves: bool = False) -> dict[str, Any]:
        """Return the result in JSON types; with ``curves``, also every change, one list per direction."""
        direction, step = self.largest_at or (None, None)
        return {
            "measure": self.measure,
            "value": self.value,
            "directions": "one weight" if self.one_weight else "random",
            "seed": list(self.directions.seed) if isinstance(self.directions, RandomDirections) else None,
            "n_directions": self.n_directions,
            "n_rising": self.n_rising,
            "n_level": self.n_level,
            "is_local_optimum": self.is_local_optimum,
            **{name: getattr(self, name) for name in _FIGURES},
            "largest_direction": direction,
            "largest_step": step,
            "unit": self.unit,
            "steps": list(self.steps),
            "mean_change": self.mean_change.tolist(),
            "max_change": self.max_change.tolist(),
            "exact": [rise.to_dict() for rise in self.exact],
            **({"curves": self.curves.tolist()} if curves else {}),
        }

    def text(self) -> str:
        """Return the result in a few lines."""
        lines = [f"{self.measure} {self.value:.6f}: {self.n_rising} of {self.n_directions} directions rise"]
        best = self.largest_at
        if best is not None:
            where = self.directions.name(best[0])
            lines.append(f"largest rise {self.largest_rise:.2e}: {where}, step {best[1]:g}")
        if self.one_weight:
            passed = "none rises, one weight at a time"
            lines.append("not an optimum of single weights" if self.n_rising else passed)
        elif self.is_local_optimum:
            # A measure that no step changes has optima everywhere, which says little about these weights.
            is_flat = (np.abs(self.curves) <= self._level).all()
            lines.append(
                f"local optimum: with {self.confidence:.2%} confidence fewer than {self.eps:.4g} of all "
                f"directions rise{'; but no step changes the measure at all' if is_flat else ''}"
            )
        else:
            lines.append(
                f"not a local optimum: up to {self.share_below:.2%} of all directions rise "
                f"({1.0 - self.delta:.4g} confidence)"
            )
        for rise in self.exact:
            where = f"within {rise.reach:g}" if np.isfinite(rise.reach) else "anywhere"
            line = f"along whole lines, {where}: {rise.n_rising} rise, the highest by {rise.largest_rise:.2e}"
            if rise.direction is not None:
                line += f", {self.directions.name(rise.direction)} at t = {rise.t:g}"
            lines.append(line)
        return "\n".join(lines)
