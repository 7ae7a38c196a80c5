"""Differences of two systems, query by query; differences of the size of rounding errors are 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array

_ZERO = 1e-12  # values of equal rankings may differ by rounding, if sums are in another order


def gaps_of(first: Any, second: Any, *, all_defined: bool = False) -> Float64Array:
    """Differences ``first - second`` on the queries where both are defined.

    Values are in the same order of queries; NaN = the measure is undefined there, and the pair is left out,
    or with ``all_defined`` refused. At least one pair remains. Raises `InputError` if the numbers of values
    differ, a value is infinite, or no pair is left.
    """
    a, b = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    refused = [~np.isfinite(values) if all_defined else np.isinf(values) for values in (a, b)]
    if len(a) != len(b) or any(part.any() for part in refused):
        raise InputError(
            f"{len(a)} and {len(b)} values cannot be compared pair by pair; finite values of the same "
            "queries in the same order are needed. Leave out the queries that one of the two lacks."
        )
    gaps = a - b
    gaps = gaps[~np.isnan(gaps)]
    if not len(gaps):
        raise InputError(
            f"none of {len(a)} pairs of values has two numbers; values of the same queries are needed. "
            "Give systems and a measure that are defined on common queries."
        )
    return np.where(np.abs(gaps) <= _ZERO, 0.0, gaps)


def scatter(gaps: Float64Array) -> float:
    """Standard deviation, with n - 1, of two or more differences; 0 if only rounding makes them differ."""
    deviation = float(gaps.std(ddof=1))
    return 0.0 if deviation <= _ZERO else deviation
