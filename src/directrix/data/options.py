"""Checks of options: seeds, what missing values mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError

__all__ = ["check_missing", "generator"]


def generator(seed: Any) -> np.random.Generator:
    """Return the random generator of a seed.

    Raises
    ------
    InputError
        If NumPy takes no such seed: it is negative, or no integer.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"seed={seed!r}; an integer >= 0 is needed. Type e.g. seed=0.") from error


def check_missing(missing: Any) -> None:
    """Raise `InputError` unless it is "error", "zero" or "nan"."""
    if missing not in ("error", "zero", "nan"):
        raise InputError(f"missing={missing!r}; choose 'error', 'zero' or 'nan'.")
