"""Pieces of a staircase: which of them may be the best, and which of their points to try."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from directrix.types import Float64Array

Piece: TypeAlias = tuple[float, float, float]
"""Value, and where the piece begins and ends."""

_CANDIDATES = 8
_MANY = 1 << 10  # the highest pieces are looked at first
_DIGITS = 12  # sums of changes are equal if they agree in these
_NARROW = 1e-12  # relative width below which an interval may be nothing but rounding


def widest_of_the_best(lo: Float64Array, hi: Float64Array, value: Float64Array) -> list[Piece]:
    """Pieces that may hold the best point, ascending: the highest, of equal ones the widest."""
    if len(value) > _MANY:
        # rounding and widths are slow on millions of pieces, and only the highest matter
        high = np.sort(np.argpartition(value, -_MANY)[-_MANY:])
        pieces = _widest(lo[high], hi[high], value[high])
        if len(pieces) == _CANDIDATES and pieces[0][0] > value[high].min() + 10.0**-_DIGITS:
            return pieces
    return _widest(lo, hi, value)


def _widest(lo: Float64Array, hi: Float64Array, value: Float64Array) -> list[Piece]:
    value = value.round(_DIGITS)
    with np.errstate(invalid="ignore"):
        width = hi - lo
        wide = np.flatnonzero((width > _NARROW * (np.abs(lo) + np.abs(hi))) | np.isinf(width))
    if len(wide) > _CANDIDATES:
        least = np.partition(value[wide], -_CANDIDATES)[-_CANDIDATES]
        wide = wide[value[wide] >= least]
    wide = wide[np.lexsort((width[wide], value[wide]))[-_CANDIDATES:]]
    return [(float(value[i]), float(lo[i]), float(hi[i])) for i in wide]


def the_best(candidates: list[Piece]) -> list[Piece]:
    """Return the highest pieces; of equal ones the widest first."""
    return sorted(candidates, key=lambda c: (c[0], c[2] - c[1]), reverse=True)[:_CANDIDATES]


def points(lo: float, hi: float) -> tuple[float, ...]:
    """Points to try: a second one, for the first may be where documents meet that change nothing."""
    if np.isinf(lo) and np.isinf(hi):
        return (0.0, 0.7)
    if np.isinf(lo):
        return (hi - (abs(hi) or 1.0), hi - 1.7 * (abs(hi) or 1.0))
    if np.isinf(hi):
        return (lo + (abs(lo) or 1.0), lo + 1.7 * (abs(lo) or 1.0))
    return (lo + 0.5 * (hi - lo), lo + 0.382 * (hi - lo))
