"""Intervals of the mean difference of two systems."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from directrix.errors import InputError
from directrix.experiments.significance.fisher import check_resampling
from directrix.experiments.significance.gaps import gaps_of, scatter
from directrix.parameters import share
from directrix.types import Float64Array

_BLOCK = 1 << 20  # drawn differences at a time: 8 MB


def t_interval(first: Any, second: Any, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Interval of the mean difference by Student's t.

    mean(d) +- t_(n-1, (1+c)/2) sd(d) / sqrt(n), d = first - second.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.
    confidence : float in (0, 1)

    Returns
    -------
    float, float
        Ends, in units of the measure; unbounded for a single pair. Zero is outside exactly if the paired
        t-test has p < 1 - confidence.

    Raises
    ------
    InputError
        If values cannot be paired, or ``confidence`` is not between 0 and 1.

    Examples
    --------
    >>> low, high = t_interval([3.0, 5.0, 4.0], [1.0, 1.0, 1.0])
    >>> round(low, 3), round(high, 3)  # 3 +- 4.303 / sqrt(3)
    (0.516, 5.484)
    """
    share(confidence, "confidence")
    from scipy.special import stdtrit

    gaps = gaps_of(first, second)
    n, mean = len(gaps), float(gaps.mean())
    if n < 2:
        return -np.inf, np.inf
    half = float(stdtrit(n - 1, (1.0 + confidence) / 2.0) * scatter(gaps) / np.sqrt(n))
    return mean - half, mean + half


def bootstrap_interval(
    first: Any,
    second: Any,
    *,
    confidence: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    r"""Interval of the mean difference by the bootstrap: queries are drawn with replacement.

    Percentile: the (1-c)/2 and (1+c)/2 quantiles of the means of drawn differences. BCa: the quantiles at
    Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 from the share of means below the observed one (bias), a from
    the skewness of the means that leave one query out (acceleration).

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.
    confidence : float in (0, 1)
    method : {"bca", "percentile"}
    n_resamples : int >= 1
        Number of samples.
    seed : int >= 0

    Returns
    -------
    float, float
        Ends, in units of the measure; both are the difference if all pairs differ by the same amount.

    Raises
    ------
    InputError
        If values cannot be paired, or an option is out of range.

    Notes
    -----
    Source: Efron (1987), "Better bootstrap confidence intervals". Cost O(n_resamples n) in blocks of 8 MB.

    Examples
    --------
    >>> low, high = bootstrap_interval([3.0, 5.0, 4.0, 4.5], [1.0, 1.0, 1.0, 2.0])
    >>> 2.0 <= low < 3.0 - 0.125 < high <= 4.0
    True
    """
    share(confidence, "confidence")
    check_resampling(seed, n_resamples)
    if method not in ("bca", "percentile"):
        raise InputError(f"method={method!r}: give method='bca' or method='percentile'.")
    from scipy.special import ndtr, ndtri

    gaps = gaps_of(first, second)
    mean = float(gaps.mean())
    if np.ptp(gaps) == 0.0:
        return mean, mean
    drawn = _drawn_means(gaps, n_resamples, seed)
    shares = np.array([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    if method == "bca":
        below = ((drawn < mean).sum() + (drawn <= mean).sum()) / (2 * n_resamples)
        bias = ndtri(np.clip(below, 0.5 / n_resamples, 1.0 - 0.5 / n_resamples))
        # the means without one query differ from their own mean by -(d - mean) / (n - 1)
        centred = gaps - mean
        acceleration = (centred**3).sum() / (6.0 * (centred**2).sum() ** 1.5)
        z = bias + ndtri(shares)
        shares = ndtr(bias + z / (1.0 - acceleration * z))
    low, high = np.quantile(drawn, shares)
    return float(low), float(high)


def _drawn_means(gaps: Float64Array, n_resamples: int, seed: int) -> Float64Array:
    rng, n = np.random.default_rng(seed), len(gaps)
    rows = max(1, _BLOCK // n)
    blocks = [min(rows, n_resamples - first) for first in range(0, n_resamples, rows)]
    return np.concatenate([gaps[rng.integers(0, n, (block, n))].mean(axis=1) for block in blocks])
