"""Bootstrap intervals of the mean of one value per query, and batches of random samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.parameters import seed_number, whole
from directrix.types import Float64Array

# Random numbers that are drawn at a time: 8 MB of float64.
_BLOCK = 1 << 20
# Relative spread of values that differ only by the order of their sums.
_ROUNDING = 1e-12


def check_resampling(seed: Any, n_resamples: Any) -> None:
    """Raise `InputError` unless the seed is an integer >= 0, and the number of samples is an integer >= 1."""
    seed_number(seed)
    whole(n_resamples, "n_resamples")


def batch_sizes(n_resamples: int, size: int) -> list[int]:
    """Return the numbers of samples of this size to draw at a time."""
    rows = max(1, _BLOCK // size)
    return [min(rows, n_resamples - first) for first in range(0, n_resamples, rows)]


def equal_signs_p(n: int) -> float:
    """Return 2 / 2^n, the two-sided p-value of n differences with one sign; 1 for none."""
    return min(1.0, 2.0 ** (1 - n))


def mean_interval(
    values: Float64Array, *, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the BCa bootstrap interval of the mean of finite values.

    It is unbounded for about equal values, or too few: see
    `directrix.experiments.significance.bootstrap_interval`, also for the method. Raises `InputError` if all
    sampled means are on one side of the mean.
    """
    from scipy.stats import DegenerateDataWarning, bootstrap

    # With this few values, not even equal signs of all would be significant at this level.
    if equal_signs_p(len(values)) > 1.0 - confidence or np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return -np.inf, np.inf
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # SciPy only warns if no interval can be computed, and returns NaN.
        warnings.simplefilter("error", DegenerateDataWarning)
        try:
            interval = bootstrap(
                (values,),
                np.mean,
                n_resamples=n_resamples,
                batch=batch_sizes(n_resamples, len(values))[0],
                confidence_level=confidence,
                method="BCa",
                random_state=np.random.default_rng(seed),
            ).confidence_interval
        except DegenerateDataWarning:
            raise InputError(
                f"n_resamples={n_resamples}: the means of all samples are on one side of the observed mean; "
                "use more, e.g. n_resamples=10000."
            ) from None
    return float(interval.low), float(interval.high)
