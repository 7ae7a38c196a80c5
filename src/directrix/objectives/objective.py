r"""The loss that trainers minimise: surrogate of model, weighted, negated, penalised.

.. math:: L(\theta) = -\frac{\sum_q v_q S_q(f_\theta(X_q))}{\sum_q v_q} + \lambda\lVert\theta-\theta_0\rVert^2

Weights of queries, the mean, the sign and the penalty live here and nowhere else.

The queries are cut into parts whose features fit in a cache. One thread takes a part through model,
surrogate and back: a full gradient reads the features from memory once, whatever the surrogate.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import rows_of
from directrix.objectives.parts import Part, docs_per_part, prepared_rows
from directrix.objectives.penalty import L2
from directrix.objectives.weights import weights_of
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.threads import get_threads, one_blas_thread, query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array, Model, Surrogate

__all__ = ["Objective"]

_FLOATS_AT_ONCE = 1 << 24  # of gradients that wait to be added up


class Objective:
    """Loss of a model's parameters on given data; fulfils `directrix.types.Objective`.

    Parameters
    ----------
    queries : Queries
        Training data.
    surrogate : Surrogate or str
        What to maximise; a string is parsed by `directrix.surrogate`.
    model : Model
        Scores from features.
    penalty : L2
        Added to the loss.
    query_weight : float (n_queries,), or None
        Weights >= 0 of the queries in the mean, whatever their sum; None = all alike.
    doc_weight : float (n_docs,), or None
        Factors >= 0 on what each document earns, in the order of ``queries`` (e.g. inverse
        propensities of clicks). ApproxNDCG and ApproxAP divide by the weighted ideal, so that
        their best value stays 1; surrogates that are no sum over documents take none.

    Raises
    ------
    InputError
        If there is no query, or weights do not fit, are negative or add up to 0.
    """

    def __init__(
        self,
        queries: Queries,
        surrogate: Surrogate | str,
        model: Model,
        *,
        penalty: L2 | None = None,
        query_weight: Any = None,
        doc_weight: Any = None,
    ) -> None:
        if not queries.n_queries:
            raise InputError("there is no query to train on; pass Queries with at least one query.")
        self.queries = queries
        self.surrogate = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
        self.model = model
        self.penalty = penalty or L2()
        weight = weights_of(query_weight, queries.n_queries, "query_weight", "query")
        self._query_weight = weight / weight.mean() if query_weight is not None else weight
        self._doc_weight = (
            None if doc_weight is None else weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
        )
        self._held_at: Float64Array | None = None
        self._cut()

    def _cut(self) -> None:
        bounds = query_chunks(self.queries.qptr, docs_per_part(self.queries.features, self.model))
        self._parts = [self._part(int(a), int(b)) for a, b in pairwise(bounds)]
        self._single: dict[int, Part] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_parts", "_single")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickled arrays come back writable, which is another type to the kernels: cut anew, not unpickled.
        self.__dict__.update(state)
        self._cut()

    def _part(self, first: int, last: int) -> Part:
        lo, hi = int(self.queries.qptr[first]), int(self.queries.qptr[last])
        labels, qptr = self.queries.labels[lo:hi], self.queries.qptr[first : last + 1] - lo
        weight = None if self._doc_weight is None else self._doc_weight[lo:hi]
        if isinstance(self.surrogate, KernelSurrogate):
            prepared = self.surrogate.prepare(labels, qptr, weight)
        else:
            refuse_doc_weight(self.surrogate, weight)
            prepared = None
        rows = prepared_rows(self.queries.features, self.model, lo, hi)
        return self._hold(Part(rows, labels, qptr, self._query_weight[first:last], prepared))

    def _hold(self, part: Part) -> Part:
        if self._held_at is None:
            return part
        scores, _ = self.model.forward(self._held_at, part.rows)
        surrogate: Any = self.surrogate  # one that `held` has seen
        return part._replace(prepared=surrogate.hold(scores, part.prepared, part.qptr))

    def value_and_grad(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array]:
        """Loss and gradient.

        Parameters
        ----------
        params : float64 (n_params,)
        queries : int (n,), or None
            Positions of queries; None = all. Over random ones the expectation is the full loss.

        Returns
        -------
        loss : float
        grad : float64 (n_params,)

        Notes
        -----
        One read of the features. Sums run in the order of the parts: the same bits for any
        number of threads. Gradients of at most 128 MiB of parts (or four parts a thread) are kept at once.
        """
        params = self._check_params(params)
        parts = self._parts if queries is None else [self._single_part(q) for q in self._check(queries)]
        at_once = max(4 * get_threads(), _FLOATS_AT_ONCE // max(len(params), 1))
        value, grad = 0.0, np.zeros(len(params))
        with one_blas_thread():  # here and not in the models: once a gradient, not once a part
            for first in range(0, len(parts), at_once):
                for part_value, part_grad in self._each(parts[first : first + at_once], params):
                    value += part_value
                    grad += part_grad
        penalty, dpenalty = self.penalty.value_and_grad(params)
        scale = -1.0 / (self.n_queries if queries is None else len(queries))
        return scale * value + penalty, scale * grad + dpenalty

    def _each(self, parts: list[Part], params: Float64Array) -> list[tuple[float, Float64Array]]:
        results: list[tuple[float, Float64Array]] = [(0.0, params)] * len(parts)

        def work(p: int) -> None:
            results[p] = self._part_value_and_grad(parts[p], params)

        run_chunks(work, len(parts))
        return results

    def sgd_epoch(self, params: Float64Array, order: Int64Array, rate: float) -> float:
        """One epoch of Algorithm 1, a step a query, in place.

        Parameters
        ----------
        params : float64 (n_params,)
            Overwritten with the parameters after the epoch.
        order : int64 (n,)
            Queries in the order of their use.
        rate : float > 0
            Length of a step over the gradient of the query's loss.

        Returns
        -------
        float
            Mean of the losses before each step.

        Notes
        -----
        What `value_and_grad` gives for one query after another, without its threads and sums over
        parts, which take longer than a query.
        """
        self._check_epoch(params)
        loss = 0.0
        with one_blas_thread():
            for q in self._check(order):
                value, grad = self._part_value_and_grad(self._single_part(q), params)
                penalty, dpenalty = self.penalty.value_and_grad(params)
                loss += penalty - value
                params += rate * (grad - dpenalty)
        return loss / len(order)

    def _part_value_and_grad(self, part: Part, params: Float64Array) -> tuple[float, Float64Array]:
        scores, cache = self.model.forward(params, part.rows)
        n_queries = len(part.weight)
        if isinstance(self.surrogate, KernelSurrogate):
            value, dscores = np.zeros(n_queries), np.zeros(len(scores), dtype=scores.dtype)
            self.surrogate.fill(scores, part.prepared, part.qptr, (0, n_queries), (value, dscores))
        else:
            value, dscores = self.surrogate.value_and_grad(scores, part.labels, part.qptr)
        if not (part.weight == 1.0).all():
            dscores = dscores * np.repeat(part.weight, np.diff(part.qptr)).astype(dscores.dtype)
        return float(part.weight @ value), self.model.backward(cache, dscores)

    def at(self, smoothing: float) -> Self:
        """Return a copy whose surrogate is ``surrogate.at(smoothing)``, on the same data.

        Nothing is prepared again: what depends on the labels does not depend on the smoothing.

        Raises
        ------
        InputError
            If the surrogate has no smoothing.
        """
        if not hasattr(self.surrogate, "at"):
            raise InputError(
                f"{self.surrogate!r} has no smoothing to change, so it cannot be annealed; train without "
                "Anneal, or take a surrogate with at(smoothing), e.g. SmoothNDCG()."
            )
        return self._with(surrogate=self.surrogate.at(smoothing))

    def penalised(self, penalty: L2) -> Self:
        """Return a copy with another penalty, on the same data; ``L2()`` takes it off."""
        return self._with(penalty=penalty)

    def held(self, params: Float64Array) -> Self:
        """Return a copy whose surrogate is held at the scores of these parameters, on the same data.

        For linear scores its loss is convex, nowhere below the loss, and equal to it at ``params`` in value
        and gradient: to minimise it and hold again where that ends never raises the loss (concave-convex
        procedure, Yuille & Rangarajan 2003, doi:10.1162/08997660360581958). One read of the features.

        Raises
        ------
        InputError
            If the surrogate is no `KernelSurrogate` with the trait ``convex_when_held``.
        """
        if not (isinstance(self.surrogate, KernelSurrogate) and "convex_when_held" in self.surrogate.traits):
            hint = "take a KernelSurrogate with the trait convex_when_held, e.g. Dorm()."
            raise InputError(f"{self.surrogate!r} has nothing to hold: minimise its loss as it is, or {hint}")
        other, parts = self._with(_held_at=self._check_params(params).copy()), list(self._parts)

        def work(p: int) -> None:
            parts[p] = other._hold(parts[p])

        with one_blas_thread():
            run_chunks(work, len(parts))
        other._parts, other._single = parts, {}
        return other

    def _with(self, **changed: Any) -> Self:
        other = type(self).__new__(type(self))  # copy() would go through pickling, and cut the data anew
        other.__dict__.update(self.__dict__ | changed)
        return other

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.queries.n_queries

    @property
    def value_free(self) -> bool:
        """Whether the gradient belongs to no loss, so that losses do not tell a step's worth."""
        return "value_free" in self.surrogate.traits

    @property
    def query_weight(self) -> Float64Array:
        """Weights of the queries, with mean 1."""
        return self._query_weight

    @property
    def doc_weight(self) -> Float64Array | None:
        """Factors on what each document earns; None = all 1."""
        return self._doc_weight

    def _check_params(self, params: Any) -> Float64Array:
        return np.asarray(params, dtype=np.float64)

    def _check_epoch(self, params: Any) -> None:
        if not isinstance(params, np.ndarray) or params.dtype != np.float64:
            raise InputError("params must be a float64 array: the epoch writes its result there.")
        self._check_params(params)

    def _check(self, queries: Any) -> list[int]:
        wanted = np.asarray(queries)
        if not len(wanted) or wanted.min() < 0 or wanted.max() >= self.n_queries:
            raise InputError(
                f"queries={queries!r}: positions of at least one of the {self.n_queries} queries are needed, "
                f"0 to {self.n_queries - 1}; pass queries=None for all."
            )
        return [int(q) for q in wanted]

    def _single_part(self, q: int) -> Part:
        if q not in self._single:
            self._single[q] = self._part(q, q + 1)
        return self._single[q]

    def scores(self, params: Float64Array) -> Any:
        """The model's scores of all documents, float (n_docs,)."""
        rows = rows_of(self.queries.features, 0, self.queries.n_docs)
        with one_blas_thread():
            return self.model.forward(self._check_params(params), rows)[0]
