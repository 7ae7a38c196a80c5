"""Effect size of a difference, and the smallest difference that a number of queries can detect."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from directrix.experiments.significance.gaps import gaps_of, scatter
from directrix.parameters import share


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
