"""One pair of systems on the same queries: tests, intervals, effect size, the smallest detectable difference.

In all functions ``first`` and ``second`` are the values of the two systems, float (n_queries,), in the same
order of queries; d = first - second, and sd(d) is the standard deviation with n - 1. A query counts where
both values are defined, not NaN; differences of at most 1e-12 are 0. Values that cannot be paired (unequal
numbers, infinite, none defined) raise `InputError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.bootstrap import batch_sizes, check_resampling, equal_signs_p, mean_interval
from directrix.parameters import share
from directrix.types import Float64Array, Int64Array

# Values of equal rankings may differ by rounding if their terms were added in another order.
_ZERO = 1e-12
# The exact distribution of signed ranks is computed up to this number of additions, which take some
# milliseconds.
_STEPS = 1 << 22
# Differences that agree to this number of decimals are ties, and share a rank.
_DIGITS = 12
# Up to this number of pairs, all 2^16 choices of signs are tried and the p-value is exact.
_ALL_SIGNS = 16
# Sums of the same terms in another order differ by rounding. This tolerance is in units of the sum of sizes.
_SLACK = 1e-12


def gaps_of(first: Any, second: Any) -> Float64Array:
    """Return ``first - second`` on the queries where both are defined; at least one remains."""
    a, b = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if len(a) != len(b) or np.isinf(a).any() or np.isinf(b).any():
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
    """Return the standard deviation, with n - 1; 0 if only rounding makes the differences differ."""
    deviation = float(gaps.std(ddof=1))
    return 0.0 if deviation <= _ZERO else deviation


class Significance(NamedTuple):
    """Result of a test of two systems.

    Parameters
    ----------
    p : float
        Two-sided p-value, in [0, 1].
    difference : float
        Mean of first minus second over the pairs, in units of the measure.
    n : int
        Number of pairs of values.
    wins, ties, losses : int
        Number of pairs in which the first value is higher, equal, lower.
    """

    p: float
    difference: float
    n: int
    wins: int
    ties: int
    losses: int

    @classmethod
    def of(cls, p: float, gaps: Float64Array) -> Significance:
        """Return the result of a test of some differences."""
        wins, losses = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
        return cls(float(p), float(gaps.mean()), len(gaps), wins, len(gaps) - wins - losses, losses)

    @property
    def is_clear(self) -> bool:
        """Whether p is below .05, which tables mark with two stars."""
        return self.p < 0.05


def paired_t(first: Any, second: Any) -> Significance:
    r"""Test whether the mean difference is zero, by Student's t.

    t = mean(d) / (sd(d) / sqrt(n)); n - 1 degrees of freedom.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Raises
    ------
    InputError
        If fewer than two pairs are left.

    Notes
    -----
    The test assumes that the mean of the differences is nearly normal, which holds for the usual measures
    from about 50 queries on (Smucker, Allan and Carterette 2007 find it close to the randomization test).
    Differences that are all the same have no variance, and those of few pairs among equal ones are far from
    normal. Then p is at least 2 / 2^m, that of m equal signs, for m pairs that differ.
    Source: Student (1908). Cost O(n).

    Examples
    --------
    >>> paired_t([3.0, 5.0, 4.0], [1.0, 1.0, 1.0])  # differences 2 4 3: t = 3 / (1 / sqrt(3))
    Significance(p=0.0350..., difference=3.0, n=3, wins=3, ties=0, losses=0)
    """
    gaps = gaps_of(first, second)
    if len(gaps) < 2:
        raise InputError(
            "the t-test has one pair of values; two or more are needed. Give the values of more queries."
        )
    from scipy.special import stdtr

    error, p = scatter(gaps) / np.sqrt(len(gaps)), 0.0
    if error > 0.0:
        p = 2.0 * stdtr(len(gaps) - 1, -abs(gaps.mean()) / error)
    if error == 0.0 or (gaps == 0.0).any():
        p = max(p, equal_signs_p(int(np.count_nonzero(gaps))))
    return Significance.of(p, gaps)


def signed_rank(first: Any, second: Any) -> Significance:
    r"""Test whether differences are symmetric around zero, by the ranks of their sizes (Wilcoxon).

    W = sum over i with d_i > 0 of rank(\|d_i\|), against all 2^n signs, which are equally likely.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Notes
    -----
    Equal pairs are left out, as in Wilcoxon (1945); differences of equal size, to twelve decimals, share the
    mean of their ranks. The distribution is exact for up to 200 pairs, and for up to 2,000 of one size. For
    more, it is the normal approximation, with the variance of the shared ranks and a correction for
    continuity. It tests ranks, not the mean that is reported. Cost O(n^3) while exact, then O(n log n).

    Examples
    --------
    >>> signed_rank([1, 2, 3], [0, 0, 0])  # 1 of the 8 signs is as extreme, in either tail: 2 / 8
    Significance(p=0.25, difference=2.0, n=3, wins=3, ties=0, losses=0)
    """
    from scipy.stats import rankdata

    gaps = gaps_of(first, second)
    sizes = np.round(gaps, _DIGITS)
    sizes = sizes[sizes != 0.0]
    # Tied sizes share the mean of their ranks, a multiple of one half. Doubled ranks are whole numbers.
    ranks = np.rint(2.0 * rankdata(np.abs(sizes))).astype(np.int64)
    ranks //= max(1, np.gcd.reduce(ranks))
    return Significance.of(_signed_sum_p(ranks, abs(int(np.sign(sizes) @ ranks))), gaps)


def _signed_sum_p(ranks: Int64Array, least: int) -> float:
    """Return the probability that a sum of whole numbers with random signs has this size, or a larger one."""
    from scipy.special import ndtr

    total = int(ranks.sum())
    # The normal approximation is corrected for continuity. Sums differ by 2, so half a step is 1.
    if len(ranks) * total > _STEPS:
        return min(1.0, 2.0 * float(ndtr((1.0 - least) / np.sqrt(float(ranks @ ranks)))))
    # The distribution of the sum of all ranks with a minus sign is built up one rank at a time.
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] += chances[:-rank].copy()
        chances *= 0.5
    return float(chances[np.abs(total - 2 * np.arange(total + 1)) >= least].sum())


def sign_test(first: Any, second: Any) -> Significance:
    r"""Test whether wins and losses are equally likely, by the exact binomial distribution.

    p = min(1, 2 P(X >= max(wins, losses))), X ~ Binomial(wins + losses, 1/2).

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Notes
    -----
    Equal pairs are left out (Dixon and Mood 1946). It has the fewest
    assumptions and the least power: sizes do not count. Cost O(n).

    Examples
    --------
    >>> sign_test([1, 2, 3, 4], [0, 0, 0, 4])  # 3 wins, no loss: 2 / 2^3
    Significance(p=0.25, difference=1.5, n=4, wins=3, ties=1, losses=0)
    """
    from scipy.stats import binom

    gaps = gaps_of(first, second)
    wins, losses = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
    return Significance.of(min(1.0, 2.0 * binom.sf(max(wins, losses) - 1, wins + losses, 0.5)), gaps)


def randomization(first: Any, second: Any, *, seed: int = 0, n_resamples: int = 100_000) -> Significance:
    r"""Test the mean difference by exchanging the two systems at random (Fisher).

    p = share of the 2^n signs e for which \|sum_i e_i d_i\| >= \|sum_i d_i\|.

    Parameters
    ----------
    seed : int >= 0
        Seed of the random signs; not used if all signs are tried.
    n_resamples : int >= 1
        Number of random signs for each pair, if there are too many to try all.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Raises
    ------
    InputError
        If ``n_resamples`` or ``seed`` is out of range.

    Notes
    -----
    All signs are tried for up to 16 pairs that differ. Otherwise p = (b + 1) / (m + 1), where b of m random
    signs are as extreme, which is never 0 and never too small (Phipson and Smyth 2010); its standard error is
    sqrt(p (1 - p) / m). The test assumes no distribution and tests the mean itself; Smucker, Allan and
    Carterette (2007) recommend it. Source: Fisher (1935). Cost O(m n) in blocks of 8 MB.

    Examples
    --------
    >>> randomization([1, 2, 3], [0, 0, 0])  # only +++ and --- reach 6: 2 / 8
    Significance(p=0.25, difference=2.0, n=3, wins=3, ties=0, losses=0)
    """
    check_resampling(seed, n_resamples)
    gaps = gaps_of(first, second)
    return Significance.of(randomization_p([gaps], seed=seed, n_resamples=n_resamples)[0], gaps)


def randomization_p(gaps: Sequence[Float64Array], *, seed: int, n_resamples: int) -> list[float]:
    """Two-sided p of the mean of each array of differences; arrays of one length share the signs."""
    few = [np.count_nonzero(g) <= _ALL_SIGNS for g in gaps]
    p: dict[int, float] = {i: _exact(g) for i, g in enumerate(gaps) if few[i]}
    for n in sorted({len(g) for i, g in enumerate(gaps) if not few[i]}):
        places = [i for i, g in enumerate(gaps) if len(g) == n and not few[i]]
        stacked, rng = np.column_stack([gaps[i] for i in places]), np.random.default_rng(seed)
        total, least = stacked.sum(axis=0), _least(stacked)
        extreme = np.zeros(len(places), dtype=np.int64)
        for rows in batch_sizes(n_resamples, max(stacked.shape)):
            # With 1 for plus and 0 for minus, twice the sum of the terms with a plus, minus the total, is the
            # sum with these signs.
            heads = rng.integers(0, 2, (rows, n), dtype=np.int8)
            extreme += (np.abs(2.0 * (heads.astype(np.float64) @ stacked) - total) >= least).sum(axis=0)
        p |= {i: (int(b) + 1) / (n_resamples + 1) for i, b in zip(places, extreme, strict=True)}
    return [p[i] for i in range(len(gaps))]


def _exact(gaps: Float64Array) -> float:
    """All signs of the differences that are not 0, half of them by symmetry: the last one is +."""
    sums = np.zeros(1)
    gaps = gaps[gaps != 0.0]
    for gap in gaps[:-1]:
        sums = np.concatenate([sums + gap, sums - gap])
    sums = sums + gaps[-1:].sum()
    return float((np.abs(sums) >= _least(gaps)).mean())


def _least(gaps: Float64Array) -> Any:
    """The smallest sum that is as extreme as the one seen."""
    return np.abs(gaps.sum(axis=0)) - _SLACK * np.abs(gaps).sum(axis=0)


def t_interval(first: Any, second: Any, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Interval of the mean difference by Student's t.

    mean(d) +- t_(n-1, (1+c)/2) sd(d) / sqrt(n).

    Parameters
    ----------
    confidence : float in (0, 1)

    Returns
    -------
    float, float
        Ends, in units of the measure; unbounded for a single pair, and if all pairs differ by the same
        amount. Otherwise zero is outside if and only if the paired t-test has p < 1 - confidence.

    Raises
    ------
    InputError
        If ``confidence`` is not between 0 and 1.

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
    if n < 2 or scatter(gaps) == 0.0:
        return -np.inf, np.inf
    half = float(stdtrit(n - 1, (1.0 + confidence) / 2.0) * scatter(gaps) / np.sqrt(n))
    return as_tested(gaps, mean - half, mean + half, confidence)


def as_tested(gaps: Float64Array, low: float, high: float, confidence: float) -> tuple[float, float]:
    """Extend an interval to 0 if some pairs are equal, and the signs of the others cannot exclude it."""
    if (gaps == 0.0).any() and equal_signs_p(int(np.count_nonzero(gaps))) >= 1.0 - confidence:
        return min(low, 0.0), max(high, 0.0)
    return low, high


def bootstrap_interval(
    first: Any,
    second: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    r"""Interval of the mean difference by the BCa bootstrap: queries are resampled.

    Its ends are the quantiles of the resampled means at Phi(z0 + (z0 + z) / (1 - a (z0 + z))). z0 is computed
    from the share of means below the observed one (bias), a from the skewness of the leave-one-out means
    (acceleration).

    Parameters
    ----------
    confidence : float in (0, 1)
    n_resamples : int >= 1
        Number of samples.
    seed : int >= 0

    Returns
    -------
    float, float
        Ends, in units of the measure; unbounded for fewer than 6 pairs at confidence .95, and if all pairs
        differ by the same amount. The interval contains 0 if fewer than 6 pairs differ.

    Raises
    ------
    InputError
        If an option is out of range.

    Notes
    -----
    Means of samples lie between the lowest and the highest of the n differences. These are both on one side
    of the median with probability 2 / 2^n, which must not exceed 1 - confidence.
    Source: Efron (1987), "Better bootstrap confidence intervals", as in `scipy.stats.bootstrap`. Cost
    O(n_resamples n + n^2) in blocks of 8 MB.

    Examples
    --------
    >>> low, high = bootstrap_interval([3.0, 5.0, 4.0, 4.5, 3.5, 4.0], [1.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    >>> 2.0 <= low < 2.8333 < high <= 4.0  # the mean of 2, 4, 3, 2.5, 2.5, 3
    True
    """
    share(confidence, "confidence")
    check_resampling(seed, n_resamples)
    values = gaps_of(first, second)
    low, high = mean_interval(values, confidence=confidence, n_resamples=n_resamples, seed=seed)
    return as_tested(values, low, high, confidence)


def effect_size(first: Any, second: Any) -> float:
    r"""Cohen's d of the differences: d_z = mean(d) / sd(d).

    Returns
    -------
    float
        0 if all pairs are equal; NaN for one pair, and if all differ by the same amount.

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
        return float("nan") if mean else 0.0
    return mean / deviation


def detectable(first: Any, second: Any, *, alpha: float = 0.05, power: float = 0.8) -> float:
    r"""Smallest true mean difference that the paired t-test would detect with the given probability.

    It is the delta for which P(\|T\| > t_(n-1, 1 - alpha/2)) = power, where T has the non-central t
    distribution with n - 1 degrees of freedom and non-centrality delta sqrt(n) / sd(d).

    Parameters
    ----------
    alpha, power : float in (0, 1)
        Level of the test, and the chance to detect the difference; alpha < power.

    Returns
    -------
    float
        In units of the measure; infinite for one pair, and if all pairs differ by the same amount.

    Raises
    ------
    InputError
        If ``alpha`` or ``power`` is not between 0 and 1.

    Notes
    -----
    Source: Cohen (1988, Sect. 2.4). Cost: about twenty values of the non-central t for each n.

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
    if len(gaps) < 2 or scatter(gaps) == 0.0:
        return float("inf")
    return float(_noncentrality(len(gaps), alpha, power) * scatter(gaps) / np.sqrt(len(gaps)))


@cache
def _noncentrality(n: int, alpha: float, power: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    # scipy.special.nctdtr is NaN for one degree of freedom far out.
    from scipy.stats import nct

    edge = float(stdtrit(n - 1, 1.0 - alpha / 2.0))

    def excess_power(noncentrality: float) -> float:
        # The function is NaN where the probability is almost 0.
        wrong_side = np.nan_to_num(nct.cdf(-edge, n - 1, noncentrality))
        return float(wrong_side + nct.sf(edge, n - 1, noncentrality)) - power

    if excess_power(0.0) >= 0.0:
        return 0.0
    high = edge + 1.0
    while excess_power(high) < 0.0:
        high *= 2.0
    return float(brentq(excess_power, 0.0, high, xtol=1e-10))
