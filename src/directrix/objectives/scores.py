r"""The loss as a function of the scores themselves: what boosting descends.

Functional gradient descent has no parameters but the scores of the training documents; each tree is fitted
to minus the gradient there, in steps that the curvature sets (a Newton step a leaf).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.measures.gains import gains
from directrix.measures.terms import query_sums
from directrix.objectives.weights import weights_of
from directrix.surrogates.base import (
    DOCS_PER_CHUNK,
    KernelSurrogate,
    refuse_doc_weight,
    spread_curvature,
    writable,
)
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, Surrogate

__all__ = ["ScoreObjective"]


class ScoreObjective:
    r"""Loss :math:`-\sum_q v_q S_q(s) / \sum_q v_q`, its gradient, and a positive diagonal for Newton steps.

    Parameters
    ----------
    queries : Queries
        Training data.
    surrogate : Surrogate
        What to maximise.
    query_weight, doc_weight
        As in `Objective`.

    Raises
    ------
    InputError
        As `Objective`.
    """

    def __init__(
        self, queries: Queries, surrogate: Surrogate, *, query_weight: Any = None, doc_weight: Any = None
    ) -> None:
        self.queries, self.surrogate = queries, surrogate
        weight = weights_of(query_weight, queries.n_queries, "query_weight", "query")
        self._weight = weight / weight.sum()
        self._qptr = writable(queries.qptr)
        self._prepared: Any = None
        documents = (
            None if doc_weight is None else weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
        )
        if isinstance(surrogate, KernelSurrogate):
            self._prepared = surrogate.prepare(queries.labels, queries.qptr, documents)
        else:
            refuse_doc_weight(surrogate, documents)

    @property
    def _steepness(self) -> float:
        return float(getattr(self.surrogate, "steepness", 1.0))

    def _centred_gains(self) -> Float64Array:
        gain, sizes = gains(self.queries.labels), np.diff(self._qptr)
        centred: Float64Array = gain - np.repeat(query_sums(gain, self._qptr) / np.maximum(sizes, 1), sizes)
        return centred

    def value_grad_curvature(self, scores: Float64Array) -> tuple[float, Float64Array, Float64Array]:
        """Loss, gradient and curvature at the scores of all documents.

        Parameters
        ----------
        scores : float64 (n_docs,)

        Returns
        -------
        loss : float
        grad : float64 (n_docs,)
            In 1 / units of score.
        curvature : float64 (n_docs,)
            >= 0, in 1 / units of score squared: ``KernelSurrogate.curvature`` times the queries' weights.

        Notes
        -----
        A surrogate that has no slope where all scores are equal (SmoothRank) would never leave there: then
        gradient and curvature are those of a regression on the gains, in the surrogate's unit of score.
        """
        surrogate, qptr = self.surrogate, self._qptr
        if isinstance(surrogate, KernelSurrogate):
            value, grad = np.zeros(len(qptr) - 1), np.zeros_like(scores)
            bounds = query_chunks(qptr, DOCS_PER_CHUNK)
            run_chunks(
                lambda c: surrogate.fill(
                    scores, self._prepared, qptr, (int(bounds[c]), int(bounds[c + 1])), (value, grad)
                ),
                len(bounds) - 1,
            )
            curvature = surrogate.curvature(scores, self._prepared, qptr, grad)
        else:
            value, slope = surrogate.value_and_grad(scores, self.queries.labels, self.queries.qptr)
            grad = np.asarray(slope, dtype=np.float64)
            curvature = spread_curvature(grad, qptr, self._steepness)
        if not scores.any() and not grad.any():
            grad = self._centred_gains()
            curvature = spread_curvature(grad, qptr, self._steepness)
        factor = np.repeat(self._weight, np.diff(qptr))
        return -float(self._weight @ value), -factor * grad, factor * curvature
