"""One pair of systems on the same queries: differences, tests by t, signed ranks and signs, wins."""

from __future__ import annotations

from typing import Any, NamedTuple

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


_EXACT = 50  # pairs up to which SciPy has the exact distribution
_DIGITS = 12  # differences that agree to this number of decimals share a rank


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
    """

    p: float
    difference: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether p is below .05."""
        return self.p < 0.05


def paired_t(first: Any, second: Any) -> Significance:
    r"""Test whether the mean difference is zero, by Student's t.

    t = mean(d) / (sd(d) / sqrt(n)), d = first - second, sd with n - 1; n - 1 degrees of freedom.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal, 0 if all differ by the same amount.

    Raises
    ------
    InputError
        If values cannot be paired, or fewer than two pairs are left.

    Notes
    -----
    Assumes that the mean of the differences is nearly normal, which holds for the usual measures from about
    50 queries on (Smucker, Allan and Carterette 2007 find it close to the randomization test). Source:
    Student (1908). Cost O(n).

    Examples
    --------
    >>> paired_t([3.0, 5.0, 4.0], [1.0, 1.0, 1.0])  # differences 2 4 3: t = 3 / (1 / sqrt(3))
    Significance(p=0.0350..., difference=3.0, n=3)
    """
    gaps = gaps_of(first, second)
    if len(gaps) < 2:
        raise InputError(
            "the t-test has one pair of values; two or more are needed. Give the values of more queries."
        )
    from scipy.special import stdtr

    mean, deviation = gaps.mean(), scatter(gaps)
    if deviation == 0.0:  # t is 0 / 0, or infinite
        p = float(mean == 0.0)
    else:
        p = float(2.0 * stdtr(len(gaps) - 1, -abs(mean) / (deviation / np.sqrt(len(gaps)))))
    return Significance(p, float(mean), len(gaps))


def signed_rank(first: Any, second: Any) -> Significance:
    r"""Test whether differences are symmetric around zero, by the ranks of their sizes (Wilcoxon).

    W = sum over i with d_i > 0 of rank(\|d_i\|), against all 2^n signs, which are equally likely.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Raises
    ------
    InputError
        If values cannot be paired.

    Notes
    -----
    Pairs that differ by at most 1e-12 are equal and are left out, as in Wilcoxon (1945); differences of equal
    size, to twelve decimals, share the mean of their ranks. The exact distribution is used for up to 50 pairs
    without equal sizes, else the normal approximation with the variance corrected for ties and without a
    correction for continuity. It tests ranks, not the mean that is reported. Cost O(n log n).

    Examples
    --------
    >>> signed_rank([1, 2, 3], [0, 0, 0])  # 1 of the 8 signs is as extreme, in either tail: 2 / 8
    Significance(p=0.25, difference=2.0, n=3)
    """
    from scipy.stats import wilcoxon

    gaps = gaps_of(first, second)
    sizes = np.round(gaps, _DIGITS)
    sizes = sizes[sizes != 0.0]
    is_exact = len(sizes) <= _EXACT and len(np.unique(np.abs(sizes))) == len(sizes)
    method = "exact" if is_exact else "approx"
    p = float(wilcoxon(sizes, method=method, correction=False).pvalue) if len(sizes) else 1.0
    return Significance(p, float(gaps.mean()), len(gaps))


def sign_test(first: Any, second: Any) -> Significance:
    r"""Test whether wins and losses are equally likely, by the exact binomial distribution.

    p = min(1, 2 P(X >= max(wins, losses))), X ~ Binomial(wins + losses, 1/2).

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Raises
    ------
    InputError
        If values cannot be paired.

    Notes
    -----
    Pairs that differ by at most 1e-12 are equal and are left out (Dixon and Mood 1946). It has the fewest
    assumptions and the least power: sizes do not count. Cost O(n).

    Examples
    --------
    >>> sign_test([1, 2, 3, 4], [0, 0, 0, 4])  # 3 wins, no loss: 2 / 2^3
    Significance(p=0.25, difference=1.5, n=4)
    """
    from scipy.stats import binom

    gaps = gaps_of(first, second)
    wins, losses = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
    p = float(min(1.0, 2.0 * binom.sf(max(wins, losses) - 1, wins + losses, 0.5)))
    return Significance(p, float(gaps.mean()), len(gaps))


class Paired(NamedTuple):
    """A comparison of two systems, query by query.

    Parameters
    ----------
    wins, losses, ties : int
        Number of queries on which the first system is higher, lower, equal.
    p : float
        Two-tailed p-value of the Wilcoxon signed-rank test, in [0, 1]; 1 if all values are equal.
    """

    wins: int
    losses: int
    ties: int
    p: float

    @property
    def is_clear(self) -> bool:
        """Whether p is below .05, which tables mark with two stars."""
        return self.p < 0.05


def paired(first: Any, second: Any) -> Paired:
    """Compare two systems by their values on the same queries.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries.

    Returns
    -------
    Paired
        Wins, losses and ties of ``first``, and the p-value of their difference.

    Raises
    ------
    InputError
        If values are not finite, or their numbers differ.

    Notes
    -----
    Values that differ by at most 1e-12 are equal. The test is `signed_rank`.

    Examples
    --------
    >>> paired([1, 2, 3], [0, 0, 0])  # 1 of the 8 signs is as extreme, in either tail: 2 / 8
    Paired(wins=3, losses=0, ties=0, p=0.25)
    >>> paired([0.5, 0.4, 0.2, 0.3], [0.1, 0.2, 0.3, 0.3])
    Paired(wins=2, losses=1, ties=1, p=0.5)
    """
    gaps = gaps_of(first, second, all_defined=True)
    wins, losses = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
    return Paired(wins, losses, len(gaps) - wins - losses, signed_rank(first, second).p)
