"""Checks of options: seeds, what missing values mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array


def as_shares(name: str, values: Any, fewest: int = 1) -> Float64Array:
    """Return shares as an array; they must be positive, with sum 1, and at least ``fewest`` of them."""
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        shares = np.empty(0)
    is_row = shares.ndim == 1 and len(shares) >= fewest
    if not is_row or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        least = "at least two positive" if fewest == 2 else "positive"
        raise InputError(f"{name}={values!r}; {least} shares with sum 1 are needed, e.g. (0.7, 0.3).")
    return shares


def generator(seed: Any) -> np.random.Generator:
    """Return the random generator of a seed that NumPy accepts: not negative, and an integer."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"seed={seed!r}; an integer >= 0 is needed. Type e.g. seed=0.") from error


IF_MISSING = {
    "python": "Type missing='nan', for trees and for models with a scale such as 'log', which fills it, or "
    "missing='zero'.",
    "shell": "Add --missing nan, for trees and with --scale standard, log, quantile or minmax, which fill "
    "it, or --missing zero.",
}
"""What to type where a feature is missing."""


MISSING = ("error", "zero", "nan")
"""What missing values may be: an error, 0, or NaN."""


def check_missing(missing: Any) -> None:
    """Raise `InputError` unless it is "error", "zero" or "nan"."""
    if missing not in MISSING:
        raise InputError(f"missing={missing!r}; choose 'error', 'zero' or 'nan'.")
