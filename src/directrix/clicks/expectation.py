"""Expectation maximization over counts of clicks, with the relevance of each document as latent variable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from directrix.clicks._kernels.em import pass_over_cells
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

_CELLS = 1 << 17  # of a chunk of pairs


class Counts(NamedTuple):
    """Impressions and clicks by pair and group; a group is what the probability of examination depends on."""

    ptr: Int64Array
    """Pair ``i`` has the cells ``ptr[i] <= j < ptr[i + 1]``, int64 (n_pairs + 1,)."""
    group: Array
    """int32 (n_cells,)."""
    n: Float64Array
    c: Float64Array

    @classmethod
    def of(cls, pair: Int64Array, group: Array, n: Array, c: Array, n_pairs: int) -> Counts:
        """Return counts whose cells are in the order of pairs."""
        ptr = np.searchsorted(pair, np.arange(n_pairs + 1)).astype(np.int64)
        return cls(ptr, group.astype(np.int32), n.astype(np.float64), c.astype(np.float64))


class Estimate(NamedTuple):
    """Parameters of `pass_over_cells`, and how they were found."""

    attraction: Float64Array
    relevant: Float64Array
    other: Float64Array
    trace: list[float]
    """Log-posterior before each pass."""
    converged: bool


def maximize(
    counts: Counts,
    start: Estimate,
    free: tuple[Array, Array],
    prior: tuple[float, ...],
    max_iter: int,
    tol: float,
) -> Estimate:
    """Maximize the posterior from ``start``; only the groups in ``free`` change, of both probabilities.

    Stops when a pass gains less than ``tol`` per impression. Cost of a pass: O(n_cells), on all cores; its
    result does not depend on their number.
    """
    r, g, h = start.attraction.copy(), start.relevant.copy(), start.other.copy()
    trace: list[float] = []
    scale = max(float(counts.n.sum()), 1.0)
    for _ in range(max_iter):
        updated, sums = one_pass(counts, r, g, h, prior)
        trace.append(float(sums[4, 0]) + log_prior(prior, r, g[free[0]], h[free[1]]))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * scale:
            return Estimate(r, g, h, trace, converged=True)
        r, g, h = updated, g.copy(), h.copy()
        for rate, of, (above, below) in ((g, free[0], sums[:2]), (h, free[1], sums[2:4] - sums[:2])):
            total = below[of] + sum(prior)
            rate[of] = np.divide(above[of] + prior[0], total, out=rate[of], where=total > 0.0)
    return Estimate(r, g, h, trace, converged=False)


def one_pass(
    counts: Counts, r: Float64Array, g: Float64Array, h: Float64Array, prior: tuple[float, ...]
) -> tuple[Float64Array, Float64Array]:
    """Return the next attractions and the sums of `pass_over_cells` over all pairs."""
    bounds = query_chunks(counts.ptr, _CELLS)
    sums, updated = np.zeros((len(bounds) - 1, 5, len(g))), r.copy()
    pseudo = np.array(prior)

    def work(chunk: int) -> None:
        pass_over_cells(*counts, bounds[chunk], bounds[chunk + 1], g, h, pseudo, r, updated, sums[chunk])

    run_chunks(work, len(sums))
    return updated, sums.sum(axis=0)


def log_prior(prior: tuple[float, ...], *rates: Float64Array) -> float:
    """Return the log-density of the Beta prior of all rates, up to a constant."""
    return sum(float((xlogy(prior[0], rate) + xlog1py(prior[1], -rate)).sum()) for rate in rates)
