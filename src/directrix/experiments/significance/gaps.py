"""Differences of two systems, query by query: checked, without what rounding made of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array

__all__ = ["gaps_of", "level", "scatter"]

_ZERO = 1e-12  # values of equal rankings may differ by the rounding of another order of sums


def gaps_of(first: Any, second: Any) -> Float64Array:
    """Differences ``first - second`` on the queries where both are defined.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; NaN = the measure is undefined there.

    Returns
    -------
    float64 (n,)
        Without the pairs that hold a NaN; n is at least 1.

    Raises
    ------
    InputError
        If there are not as many values of each, a value is infinite, or no pair is left.
    """
    a, b = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if len(a) != len(b) or np.isinf(a).any() or np.isinf(b).any():
        raise InputError(
            f"{len(a)} and {len(b)} values are to be compared pair by pair; finite values of the same "
            "queries in the same order are needed. Leave out the queries that one of the two lacks."
        )
    gaps = a - b
    gaps = gaps[~np.isnan(gaps)]
    if not len(gaps):
        raise InputError(
            f"of {len(a)} pairs of values none has two numbers; values of the same queries are needed. "
            "Give systems and a measure that are defined on common queries."
        )
    return level(gaps)


def level(gaps: Float64Array) -> Float64Array:
    """Differences with those of at most 1e-12 as 0."""
    return np.where(np.abs(gaps) <= _ZERO, 0.0, gaps)


def scatter(gaps: Float64Array) -> float:
    """Standard deviation, with n - 1, of two or more differences; 0 if rounding alone tells them apart."""
    deviation = float(gaps.std(ddof=1))
    return 0.0 if deviation <= _ZERO else deviation
