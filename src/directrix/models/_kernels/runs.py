"""Scores and gradients of a linear model over runs of rows, without copying them."""

from directrix.kernels import kernel
from directrix.models._kernels.linear import dense_add, dense_scores


@kernel
def runs_scores(X, starts, ends, w, scores):
    """Scores of the rows starts[r] <= i < ends[r] of X for one run after another."""
    at = 0
    for r in range(len(starts)):
        lo, hi = starts[r], ends[r]
        dense_scores(X, lo, hi, w, scores, at)
        at += hi - lo


@kernel
def runs_add(X, starts, ends, g, part, grad):
    """Grad (float64) += X^T g over those rows; ``part`` as in `dense_add`."""
    at = 0
    for r in range(len(starts)):
        lo, hi = starts[r], ends[r]
        dense_add(X, lo, hi, g, at, part, grad)
        at += hi - lo
