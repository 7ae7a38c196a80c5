"""Many systems at once: Tukey's honestly significant difference, and adjustment of p-values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.bootstrap import batch_sizes, check_resampling, equal_signs_p
from directrix.parameters import share
from directrix.types import Array, Float64Array

# Sums of the same terms in another order differ by rounding. This tolerance is in units of the mean size of a
# value.
_SLACK = 1e-12


class Tukey(NamedTuple):
    """All pairs of systems at once.

    Parameters
    ----------
    p : float64 (n_systems, n_systems)
        Adjusted for all pairs: the chance that, if all systems were equal, the best and the worst would be as
        far apart as these two are. Symmetric, 1 on the diagonal.
    least : float
        The honestly significant difference: two means further apart differ at level alpha. A mean difference
        +- this is an interval; all of them hold together with probability 1 - alpha. Infinite if the values
        of the systems differ by the same amounts in all queries, which tell no variance.
    n : int
        Number of queries on which all systems are defined.
    """

    p: Float64Array
    least: float
    n: int


def tukey(values: Any, *, alpha: float = 0.05) -> Tukey:
    r"""Compare all pairs by the studentized range of a two-way analysis of variance.

    y_sq = mu + system_s + query_q + e_sq. With MSE = sum (y_sq - y_s. - y_.q + y_..)^2 / nu,
    nu = (n_systems - 1)(n_queries - 1), the p-value of systems s and t is the upper tail of the studentized
    range of n_systems means with nu degrees of freedom at \|y_s. - y_t.\| / sqrt(MSE / n_queries).

    Parameters
    ----------
    values : float (n_queries, n_systems)
        Queries with a NaN (undefined) for any system do not count.
    alpha : float in (0, 1)
        Level of ``least``.

    Raises
    ------
    InputError
        If there are fewer than two systems, or fewer than two queries are left.

    Notes
    -----
    All pairs share one estimate of the variance. If two systems are very similar and a third is not (two
    settings of one method, and another method), the procedure hides differences between the two. For two
    systems it is the paired t-test, with its lowest p. If all queries agree on the differences, p is that of
    n equal signs, times the number of pairs. The usual Tukey test without the effect of queries
    (`scipy.stats.tukey_hsd`) is for unpaired samples and has far less power. Sources: Tukey (1953); on
    retrieval Carterette (2012), "Multiple testing in statistical analysis of systems-based information
    retrieval experiments". Cost: a numerical integral per pair, some milliseconds.

    Examples
    --------
    >>> result = tukey([[3.0, 1.0], [5.0, 1.0], [4.0, 1.0]])
    >>> round(float(result.p[0, 1]), 4)  # as in the paired t-test
    0.0351
    """
    from scipy.stats import studentized_range

    share(alpha, "alpha")
    y = _complete(values)
    n, m = y.shape
    degrees, error = (m - 1) * (n - 1), _error(y)
    gaps = _gaps(y.mean(axis=0))
    above = np.triu_indices(m, 1)
    p = np.ones((m, m))
    # Where all queries agree, rounding leaves residuals of about 1e-17.
    if error <= _SLACK * np.abs(y).mean():
        p[above] = np.where(gaps[above] > _SLACK * np.abs(y).mean(), equal_signs_p(n) * len(above[0]), 1.0)
        return Tukey(np.minimum(1.0, np.minimum(p, p.T)), np.inf, n)
    p[above] = np.clip(studentized_range.sf(gaps[above] / error, m, degrees), 0.0, 1.0)
    for i, j in zip(*above, strict=True):
        if (n_differ := int((np.abs(y[:, i] - y[:, j]) > _SLACK * np.abs(y).mean()).sum())) < n:
            p[i, j] = max(p[i, j], equal_signs_p(n_differ))
    return Tukey(np.minimum(p, p.T), float(studentized_range.isf(alpha, m, degrees)) * error, n)


def randomized_tukey(values: Any, *, alpha: float = 0.05, seed: int = 0, n_resamples: int = 10_000) -> Tukey:
    r"""Compare all pairs by the range of means after shuffling the values of each query among the systems.

    p of systems s and t = (b + 1) / (m + 1), where b of m shuffles have
    max_s y_s. - min_s y_s. >= \|y_s. - y_t.\|.

    Parameters
    ----------
    values : float (n_queries, n_systems)
        Queries with a NaN (undefined) for any system do not count.
    alpha : float in (0, 1)
        Level of ``least``, the 1 - alpha quantile of the ranges. It is infinite if no range is larger, or if
        all queries agree on the differences.
    seed : int >= 0
        Seed of the shuffles.
    n_resamples : int >= 1
        Number of shuffles.

    Raises
    ------
    InputError
        As for `tukey`.

    Notes
    -----
    Like `tukey`, but without a normal distribution: it assumes that, if the systems were equal, all orders of
    a query's values would be equally likely. Source: Carterette (2012). Cost O(n_resamples n_queries
    n_systems) in blocks of 8 MB.

    Examples
    --------
    >>> float(randomized_tukey([[1.0, 1.0], [2.0, 2.0]], n_resamples=99).p[0, 1])  # nothing differs
    1.0
    """
    share(alpha, "alpha")
    check_resampling(seed, n_resamples)
    y = _complete(values)
    rng = np.random.default_rng(seed)
    ranges = []
    for rows in batch_sizes(n_resamples, y.size):
        block = np.broadcast_to(y, (rows, *y.shape))
        ranges.append(np.ptp(rng.permuted(block, axis=2).mean(axis=1), axis=1))
    sorted_ranges = np.sort(np.concatenate(ranges))
    gaps = _gaps(y.mean(axis=0))
    below = np.searchsorted(sorted_ranges, gaps - _SLACK * np.abs(y).mean(), side="left")
    p = (n_resamples - below + 1) / (n_resamples + 1)
    least, slack = float(np.quantile(sorted_ranges, 1.0 - alpha)), _SLACK * np.abs(y).mean()
    # Few queries, or equal ones, have no range above the quantile, so no difference can be significant.
    is_told = _error(y) > slack and least < sorted_ranges[-1] - slack
    return Tukey(p, least if is_told else np.inf, len(y))


def _error(y: Float64Array) -> float:
    """Return the standard error of a mean, without the effects of systems and of queries."""
    n, m = y.shape
    residuals = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    return float(np.sqrt((residuals**2).sum() / ((m - 1) * (n - 1)) / n))


def _complete(values: Any) -> Float64Array:
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] < 2 or np.isinf(y).any():
        raise InputError(
            f"values has shape {y.shape}; finite values (NaN = undefined) of shape (n_queries, n_systems) "
            "with two systems or more are needed. Give a column for every system."
        )
    whole = y[~np.isnan(y).any(axis=1)]
    if len(whole) < 2:
        raise InputError(
            f"queries with a value for all {y.shape[1]} systems: {len(whole)} of {len(y)}; two or more are "
            "needed. Leave out the system that lacks them, or give the values of more queries."
        )
    return whole


def _gaps(means: Float64Array) -> Float64Array:
    return np.abs(means[:, None] - means)


CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg")


def adjust(p_values: Any, correction: str = "holm") -> Float64Array:
    r"""Adjust p-values so that each can be compared with one level.

    With p_(1) <= ... <= p_(m):

    - holm: p'_(i) = max_{j <= i} min(1, (m - j + 1) p_(j)). The chance of any false finding is at most alpha.
    - bonferroni: p'_i = min(1, m p_i). The same guarantee; Holm's values are never larger.
    - benjamini-hochberg: p'_(i) = min_{j >= i} min(1, m p_(j) / j). The expected share of false findings
      among the findings is at most alpha, for independent or positively dependent tests.

    Parameters
    ----------
    p_values : float (m,)
        In [0, 1].
    correction : {"holm", "bonferroni", "benjamini-hochberg"}

    Returns
    -------
    float64 (m,)
        In the order given.

    Raises
    ------
    InputError
        If the correction is not known, or a p-value is not between 0 and 1.

    Notes
    -----
    Sources: Holm (1979); Bonferroni after Dunn (1961); Benjamini and Hochberg (1995). Cost O(m log m).

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()  # 3 x .01, 2 x .03, and no less for the largest
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError("p_values must be between 0 and 1, without NaN; give p-values of tests.")
    check_correction(correction)
    m = len(p)
    if correction == "bonferroni":
        return np.minimum(1.0, m * p)
    if correction == "benjamini-hochberg":
        from scipy.stats import false_discovery_control

        return np.asarray(false_discovery_control(p))
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    return np.minimum(1.0, adjusted)


def check_correction(correction: Any) -> None:
    """Raise `InputError` for an unknown correction."""
    if correction not in CORRECTIONS:
        raise InputError(f"correction={correction!r}: the corrections are {', '.join(CORRECTIONS)}.")


_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(means: Any, differ: Any) -> tuple[str, ...]:
    """Give every system letters such that two systems share one if and only if they do not differ.

    Parameters
    ----------
    means : float (n_systems,)
        Means, by which letters are ordered: "a" goes to the best system.
    differ : bool (n_systems, n_systems)
        Symmetric, False on the diagonal.

    Returns
    -------
    tuple of str
        Letters in the order given; after 52 letters, numbers in brackets.

    Notes
    -----
    A letter marks a maximal group of systems in which no two differ. Groups are grown
    from pairs that share none yet, best systems first, and a group is dropped if the others cover its pairs.
    This gives few letters, not always the fewest, which are NP-hard to find. For background, see Piepho
    (2004). Cost at most O(n^4) for n systems.

    Examples
    --------
    >>> between = [[False, False, True], [False, False, False], [True, False, False]]
    >>> letters([0.5, 0.45, 0.4], between)  # first and last differ, the middle one does not
    ('a', 'ab', 'b')
    """
    order = np.argsort(-np.asarray(means, dtype=np.float64), kind="stable")
    alike = ~np.asarray(differ, dtype=bool)[np.ix_(order, order)]
    groups = _groups(alike)
    # A group is superfluous if all of its pairs are in others. The groups of the best systems stay.
    for group in reversed(list(groups)):
        rest = [set(other) for other in groups if other != group]
        pairs = [{i, j} for i in group for j in group]
        if all(any(pair <= other for other in rest) for pair in pairs):
            groups.remove(group)
    marks = [""] * len(order)
    for number, group in enumerate(sorted(groups)):
        for position in group:
            marks[order[position]] += _ALPHABET[number] if number < len(_ALPHABET) else f"({number + 1})"
    return tuple(marks)


def _groups(alike: Array) -> list[tuple[int, ...]]:
    """Maximal groups that cover every system and every pair that does not differ."""
    n = len(alike)
    covered = np.zeros((n, n), dtype=bool)
    groups = []
    for i in range(n):
        for j in range(i, n):
            if covered[i, j] or not alike[i, j] or (i == j and alike[i].sum() > 1):
                continue
            group = sorted({i, j})
            # Systems after the first of the group come first, because they are near it in value.
            for k in [*range(i, n), *range(i)]:
                if k not in group and alike[k, group].all():
                    group.append(k)
            covered[np.ix_(group, group)] = True
            groups.append(tuple(sorted(group)))
    return groups
