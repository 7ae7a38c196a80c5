"""The size of a difference: intervals of its mean, effect size, and the smallest that can be detected."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Literal

import numpy as np

from directrix.errors import InputError
from directrix.experiments.significance.fisher import blocks, check_resampling
from directrix.experiments.significance.single import gaps_of, scatter
from directrix.parameters import share


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
    Source: Efron (1987), "Better bootstrap confidence intervals", as `scipy.stats.bootstrap` has it. Cost
    O(n_resamples n + n^2) in blocks of 8 MB.

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
    from scipy.stats import DegenerateDataWarning, bootstrap

    gaps = gaps_of(first, second)
    if np.ptp(gaps) == 0.0:
        return float(gaps.mean()), float(gaps.mean())
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("error", DegenerateDataWarning)
        try:
            interval = bootstrap(
                (gaps,),
                np.mean,
                n_resamples=n_resamples,
                batch=blocks(n_resamples, len(gaps))[0],
                confidence_level=confidence,
                method="BCa" if method == "bca" else method,
                random_state=np.random.default_rng(seed),
            ).confidence_interval
        except DegenerateDataWarning:
            raise InputError(
                f"n_resamples={n_resamples}: the means of all samples are on one side of the observed mean; "
                "more are needed, e.g. n_resamples=10000."
            ) from None
    return float(interval.low), float(interval.high)


def effect_size(first: Any, second: Any) -> float:
    r"""Cohen's d of the differences: d_z = mean(d) / sd(d), d = first - second, sd with n - 1.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.

    Returns
    -------
    float
        0 if all pairs are equal, infinite if all differ by the same amount, NaN for one pair.

    Raises
    ------
    InputError
        If values cannot be paired.

    Notes
    -----
    t = d_z sqrt(n). .2 is called small, .5 medium, .8 large. Source: Cohen (1988, Sect. 2.3.5).

    Examples
    --------
    >>> effect_size([3.0, 5.0, 4.0], [1.0, 1.0, 1.0])  # differences 2 4 3
    3.0
    """
    gaps = gaps_of(first, second)
    mean = float(gaps.mean())
    if len(gaps) < 2:
        return float("nan")
    deviation = scatter(gaps)
    if deviation == 0.0:
        return float(np.copysign(np.inf, mean)) if mean else 0.0
    return mean / deviation


def detectable(first: Any, second: Any, *, alpha: float = 0.05, power: float = 0.8) -> float:
    r"""Smallest true mean difference that the paired t-test would detect with the given probability.

    The delta for which P(\|T\| > t_(n-1, 1 - alpha/2)) = power, T non-central t with n - 1 degrees of freedom
    and non-centrality delta sqrt(n) / sd(d).

    Parameters
    ----------
    first, second : float (n_queries,)
        They give sd(d) and the number of queries; pairs with a NaN do not count.
    alpha, power : float in (0, 1)
        Level of the test, and the chance to detect the difference; alpha < power.

    Returns
    -------
    float
        In units of the measure; infinite for one pair.

    Raises
    ------
    InputError
        If values cannot be paired, or ``alpha`` or ``power`` is not between 0 and 1.

    Notes
    -----
    Source: Cohen (1988, Sect. 2.4). Cost: some twenty values of the non-central t for each n.

    Examples
    --------
    >>> import numpy as np
    >>> alternating = np.tile([0.1, -0.1], 50)
    >>> round(detectable(alternating, np.zeros(100)), 4)  # about 2.8 x .1 / sqrt(100)
    0.0284
    """
    share(alpha, "alpha")
    share(power, "power")
    gaps = gaps_of(first, second)
    if len(gaps) < 2:
        return float("inf")
    return float(_noncentrality(len(gaps), alpha, power) * scatter(gaps) / np.sqrt(len(gaps)))


@cache
def _noncentrality(n: int, alpha: float, power: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import stdtrit
    from scipy.stats import nct  # scipy.special.nctdtr is NaN for one degree of freedom far out

    edge = float(stdtrit(n - 1, 1.0 - alpha / 2.0))

    def excess_power(noncentrality: float) -> float:
        wrong_side = np.nan_to_num(nct.cdf(-edge, n - 1, noncentrality))  # NaN where it is almost 0
        return float(wrong_side + nct.sf(edge, n - 1, noncentrality)) - power

    if excess_power(0.0) >= 0.0:
        return 0.0
    high = edge + 1.0
    while excess_power(high) < 0.0:
        high *= 2.0
    return float(brentq(excess_power, 0.0, high, xtol=1e-10))
