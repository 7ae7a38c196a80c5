"""Expectation maximization over counts of clicks, with the relevance of each document as latent variable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from directrix.clicks._kernels.em import pass_over_cells
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

# Size of a chunk of pairs, in cells of its arrays.
_CELLS = 1 << 17


class GroupCounts(NamedTuple):
    """Impressions and clicks by pair and group; a group has one probability of examination."""

    ptr: Int64Array
    """Pair ``i`` has the cells ``ptr[i] <= j < ptr[i + 1]``, int64 (n_pairs + 1,)."""
    group: Array
    """int32 (n_cells,)."""
    n: Float64Array
    c: Float64Array

    @classmethod
    def of(cls, pair: Int64Array, group: Array, n: Array, c: Array, n_pairs: int) -> GroupCounts:
        """Return counts whose cells are in the order of pairs."""
        ptr = np.searchsorted(pair, np.arange(n_pairs + 1)).astype(np.int64)
        return cls(ptr, group.astype(np.int32), n.astype(np.float64), c.astype(np.float64))


def maximize(
    counts: GroupCounts,
    start: tuple[Float64Array, Float64Array],
    free: Array,
    prior: tuple[float, ...],
    max_iter: int,
    gain: float,
) -> tuple[Float64Array, Float64Array, list[float], bool]:
    """Maximize the posterior of P(click) = theta r, and return r, theta, a trace, and whether it converged.

    The passes begin at ``start``, r and theta, and only the groups in ``free`` change theta. They stop when
    one gains less than ``gain``. The trace is the log-posterior before each pass. Cost of a pass: O(n_cells),
    on all cores; its result does not depend on their number.
    """
    r, theta = start
    trace: list[float] = []
    clicks = np.bincount(counts.group, counts.c, len(theta))[free] + prior[0]
    for _ in range(max_iter):
        updated, relevant, value = one_pass(counts, r, theta, prior)
        trace.append(value + log_prior(prior, r, theta[free]))
        if len(trace) > 1 and trace[-1] - trace[-2] < gain:
            return r, theta, trace, True
        r, theta = updated, theta.copy()
        # A group's examination is its clicks over the impressions that are expected to be relevant.
        total = relevant[free] + sum(prior)
        theta[free] = np.divide(clicks, total, out=theta[free], where=total > 0.0)
    return r, theta, trace, False


def one_pass(
    counts: GroupCounts, r: Float64Array, theta: Float64Array, prior: tuple[float, ...]
) -> tuple[Float64Array, Float64Array, float]:
    """Return the next r, the expected relevant impressions by group, and the log-likelihood."""
    bounds = query_chunks(counts.ptr, _CELLS)
    relevant, values = np.zeros((len(bounds) - 1, len(theta))), np.zeros((len(bounds) - 1, 1))
    updated, pseudo = r.copy(), np.array(prior)

    def work(chunk: int) -> None:
        pair_range = bounds[chunk], bounds[chunk + 1]
        pass_over_cells(*counts, *pair_range, theta, pseudo, r, updated, relevant[chunk], values[chunk])

    run_chunks(work, len(values))
    return updated, relevant.sum(axis=0), float(values.sum())


def log_prior(prior: tuple[float, ...], *rates: Float64Array) -> float:
    """Return the log-density of the Beta prior of all rates, up to a constant."""
    return sum(float((xlogy(prior[0], rate) + xlog1py(prior[1], -rate)).sum()) for rate in rates)
