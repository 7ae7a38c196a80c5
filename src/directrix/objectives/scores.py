r"""The loss as a function of the scores themselves, which boosting minimizes.

Functional gradient descent has no parameters except the scores of the training documents; each tree is fitted
to minus the gradient there, in steps that the curvature sets (one Newton step per leaf).
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from directrix.data.checks import weights_of
from directrix.data.queries import Queries
from directrix.errors import warn
from directrix.measures.base import check_gains
from directrix.measures.terms import gains_of, query_sums
from directrix.surrogates.base import kernel_surrogate, spread_curvature, writable
from directrix.types import Float64Array, FloatArray, Surrogate

DEAD = 1e-12
"""Largest absolute gradient at equal scores that counts as no slope, in 1 / units of score."""


LEAST_CURVATURE = 1e-6
"""Least curvature of a document, as a share of the mean: those of queries that cannot improve have none."""


class ScoreLoss:
    """The surrogate of a loss of scores, without data: those of shards stay where they are."""

    def __init__(self, surrogate: Surrogate) -> None:
        self.surrogate = surrogate
        self._surrogate = kernel_surrogate(surrogate)

    def of(self, surrogate: Surrogate) -> Self:
        """Return the loss with another surrogate, for which the same data were prepared."""
        other = copy.copy(self)
        other.surrogate, other._surrogate = surrogate, kernel_surrogate(surrogate)
        return other

    def at(self, smoothing: float) -> Self:
        """Return the same loss with the surrogate at another smoothing."""
        return self.of(self.surrogate.at(smoothing))  # type: ignore[attr-defined]

    def warn_of_dead_start(self) -> None:
        """Warn that only the first tree learns, unless the surrogate is known to begin so."""
        if not self._surrogate.stationary_at_ties:
            warn_of_dead_start(self.surrogate, "Only the first tree learns, from the gains of the labels")

    def with_share(self, share: float) -> Self:
        """Return a copy with `KernelSurrogate.with_share`, or itself; SmoothRank begins with a regression."""
        surrogate = self._surrogate.with_share(share)
        if surrogate is self._surrogate or self._surrogate.stationary_at_ties:
            return self
        return self.of(surrogate)


class ScoreObjective(ScoreLoss):
    r"""Loss :math:`-\sum_q v_q S_q(s) / \sum_q v_q`, its gradient, and a positive diagonal for Newton steps.

    Arguments and errors are those of `make_objective`; ``n_queries`` is the number of queries in the mean if
    these are only some of them, with equal weights.
    """

    def __init__(
        self,
        queries: Queries,
        surrogate: Surrogate,
        *,
        query_weight: Any = None,
        doc_weight: Any = None,
        n_queries: int | None = None,
    ) -> None:
        check_gains(queries, surrogate)
        super().__init__(surrogate)
        self.queries = queries
        weight = weights_of(query_weight, queries.n_queries, "query_weight", "query")
        self._weight = weight / (n_queries or weight.sum())
        self._qptr = writable(queries.qptr)
        if doc_weight is not None:
            doc_weight = weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
        self._prepared = self._surrogate.prepare(queries.labels, queries.qptr, doc_weight)

    def value_grad_curvature(
        self, scores: Float64Array, *draw: int, is_dead: bool | None = None
    ) -> tuple[float, Float64Array, Float64Array]:
        """Return loss, gradient (n_docs,) and curvature (n_docs,) at the scores of all documents.

        The gradient is in 1 / units of score; the curvature, >= 0, in 1 / units of score squared, is
        ``KernelSurrogate.curvature`` times the queries' weights. ``draw`` are numbers >= 0 that choose the
        noise of a surrogate with the property ``random``.

        A surrogate that has no slope where all scores are equal (SmoothRank) would never leave that point, so
        gradient and curvature there are those of a regression on the gains, in the surrogate's unit of score.
        Other surrogates may have no slope at the next scores either; a warning says so. Where these are only
        some of the queries, ``is_dead`` tells whether this is so for all.
        """
        surrogate, qptr = self._surrogate.redraw(*draw), self._qptr
        value, grad, curvature = surrogate.value_grad_curvature(scores, self._prepared, qptr)
        # Training begins at scores of 0, where a surrogate may have no slope.
        if is_dead is None:
            is_dead = not scores.any() and has_no_slope(grad, self.queries)
            if is_dead:
                self.warn_of_dead_start()
        if is_dead:
            # The slope of a regression is the gain of a document minus the mean of its query.
            gain, sizes = gains_of(self.queries), np.diff(qptr)
            grad = gain - np.repeat(query_sums(gain, qptr) / np.maximum(sizes, 1), sizes)
            curvature = spread_curvature(grad, qptr, surrogate.steepness)
        factor = np.repeat(self._weight, np.diff(qptr))
        return -float(self._weight @ value), -factor * grad, factor * curvature


def newton_step(grad: Float64Array, curvature: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return gradient and curvature in the unit that boosters use, with a mean curvature of 1.

    Only their ratio determines the step. With mean 1, thresholds of boosters count documents; the floor is
    for documents of queries that cannot improve.
    """
    # If no query can improve, all curvatures are 0.
    mean = float(curvature.mean()) or 1.0
    return grad / mean, np.maximum(curvature / mean, LEAST_CURVATURE)


def has_no_slope(grad: FloatArray, queries: Any) -> bool:
    """Whether a gradient at equal scores is 0 although labels differ within a query."""
    return np.abs(grad).max(initial=0.0) <= DEAD and bool(queries.n_ordered)


def warn_of_dead_start(surrogate: Any, consequence: str) -> None:
    """Warn that training begins where the surrogate has no slope, and state the consequence."""
    warn(
        f"{surrogate!r} has no slope where all scores are equal, and training begins there. "
        f"{consequence}. A surrogate without a cut-off, or with below=0.9, has a slope there; "
        "directrix.trainers.Continuation(trainer) trains in stages.",
        stacklevel=4,
    )


def check_start(params: FloatArray, grad: FloatArray, objective: Any) -> None:
    """Warn if training begins at parameters of zero, hence equal scores, where the surrogate has no slope."""
    # A user's own objective has no source, and is not checked.
    source = getattr(objective, "source", None)
    if source is None or params.any() or np.abs(grad).max(initial=0.0) > DEAD:
        return
    surrogate, queries = objective.surrogate, source.queries
    # The slope is taken in the scores, because constant features would hide it in the parameters.
    if hasattr(queries, "qptr"):
        grad = surrogate.value_and_grad(np.zeros(len(queries.labels)), queries.labels, queries.qptr)[1]
    if has_no_slope(grad, queries):
        consequence = "It learns nothing; begin elsewhere, e.g. with LinearRanker(start='regression')"
        warn_of_dead_start(surrogate, consequence)
