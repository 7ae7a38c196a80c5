"""Fisher's randomization test of two systems: swap their names query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.experiments.significance.single import Significance, gaps_of
from directrix.parameters import seed_number, whole
from directrix.types import Float64Array

_EXACT = 16  # pairs up to which all 2^16 signs are tried
_BLOCK = 1 << 20  # random numbers at a time: 8 MB
_SLACK = 1e-12  # of the sum of sizes: sums of the same terms in another order are the same sum


def randomization(first: Any, second: Any, *, seed: int = 0, n_resamples: int = 100_000) -> Significance:
    r"""Test whether the names of the two systems matter to their mean difference.

    p = share of the 2^n signs e for which \|sum_i e_i d_i\| >= \|sum_i d_i\|, d = first - second.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries; pairs with a NaN (undefined) do not count.
    seed : int >= 0
        For the random signs; without effect if all signs are tried.
    n_resamples : int >= 1
        Number of random signs for each pair, if there are too many to try all.

    Returns
    -------
    Significance
        p is 1 if all pairs are equal.

    Raises
    ------
    InputError
        If values cannot be paired, or ``n_resamples`` or ``seed`` is out of range.

    Notes
    -----
    All signs are tried for up to 16 pairs that differ. Otherwise p = (b + 1) / (m + 1), where b of m random
    signs are as extreme, which is never 0 and never too small (Phipson and Smyth 2010); its standard error is
    sqrt(p (1 - p) / m). It assumes no distribution and tests the mean itself: the test that Smucker, Allan
    and Carterette (2007) recommend. Source: Fisher (1935). Cost O(m n) in blocks of 8 MB.

    Examples
    --------
    >>> randomization([1, 2, 3], [0, 0, 0])  # only +++ and --- reach 6: 2 / 8
    Significance(p=0.25, difference=2.0, n=3)
    """
    check_resampling(seed, n_resamples)
    gaps = gaps_of(first, second)
    p = randomization_p([gaps], seed=seed, n_resamples=n_resamples)[0]
    return Significance(p, float(gaps.mean()), len(gaps))


def check_resampling(seed: Any, n_resamples: Any) -> None:
    """Raise `InputError` unless the seed is an integer >= 0 and the number of samples one >= 1."""
    seed_number(seed)
    whole(n_resamples, "n_resamples")


def blocks(n_resamples: int, size: int) -> list[int]:
    """Numbers of samples, of this size each, to draw at a time."""
    rows = max(1, _BLOCK // size)
    return [min(rows, n_resamples - first) for first in range(0, n_resamples, rows)]


def randomization_p(gaps: Sequence[Float64Array], *, seed: int, n_resamples: int) -> list[float]:
    """Two-sided p of the mean of each array of differences; arrays of one length share the signs."""
    few = [np.count_nonzero(g) <= _EXACT for g in gaps]
    p: dict[int, float] = {i: _exact(g) for i, g in enumerate(gaps) if few[i]}
    for n in sorted({len(g) for i, g in enumerate(gaps) if not few[i]}):
        places = [i for i, g in enumerate(gaps) if len(g) == n and not few[i]]
        stacked = np.column_stack([gaps[i] for i in places])
        p |= dict(zip(places, _random(stacked, seed, n_resamples), strict=True))
    return [p[i] for i in range(len(gaps))]


def _exact(gaps: Float64Array) -> float:
    """All signs of the differences that are not 0, half of them by symmetry: the last one is +."""
    sums = np.zeros(1)
    gaps = gaps[gaps != 0.0]
    for gap in gaps[:-1]:
        sums = np.concatenate([sums + gap, sums - gap])
    sums = sums + gaps[-1:].sum()
    return float((np.abs(sums) >= _least(gaps)).mean())


def _random(gaps: Float64Array, seed: int, n_resamples: int) -> list[float]:
    """Monte Carlo for the columns of (n_queries, n_pairs)."""
    rng = np.random.default_rng(seed)
    total, least = gaps.sum(axis=0), _least(gaps)
    extreme = np.zeros(gaps.shape[1], dtype=np.int64)
    for rows in blocks(n_resamples, max(gaps.shape)):
        heads = rng.integers(0, 2, (rows, len(gaps)), dtype=np.int8)
        extreme += (np.abs(2.0 * (heads.astype(np.float64) @ gaps) - total) >= least).sum(axis=0)
    return [(int(b) + 1) / (n_resamples + 1) for b in extreme]


def _least(gaps: Float64Array) -> Any:
    """The smallest sum that is as extreme as the one seen."""
    return np.abs(gaps.sum(axis=0)) - _SLACK * np.abs(gaps).sum(axis=0)
