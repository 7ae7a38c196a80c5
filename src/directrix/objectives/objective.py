r"""The loss that trainers minimise: surrogate of model, weighted, negated, penalised.

.. math:: L(\theta) = -\frac{\sum_q v_q S_q(f_\theta(X_q))}{\sum_q v_q} + \lambda\lVert\theta-\theta_0\rVert^2

Weights of queries, the mean, the sign and the penalty live here and nowhere else.

The queries are cut into parts whose features fit in a cache. One thread takes a part through model,
surrogate and back: a full gradient reads the features from memory once, whatever the surrogate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import rows_of
from directrix.objectives.cut import Cut, Parts
from directrix.objectives.parts import Part
from directrix.objectives.penalty import L2
from directrix.objectives.weights import weights_of
from directrix.surrogates.base import KernelSurrogate
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.threads import get_threads, one_blas_thread, run_chunks
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
        self._weighs = bool((self._query_weight != 1.0).any())
        self._doc_weight = (
            None if doc_weight is None else weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
        )
        self._data = self._cut()

    def _cut(self, held_at: Float64Array | None = None) -> Cut:
        weights = self._query_weight, self._doc_weight
        return Cut(self.queries, self.surrogate, self.model, *weights, held_at)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_data": self._data.held_at}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickled arrays come back writable, which is another type to the kernels: cut anew, not unpickled.
        self.__dict__.update(state)
        self._data = self._cut(state["_data"])

    @property
    def _parts(self) -> list[Part]:
        return self._data.parts

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
        parts: Parts = self._parts
        n_queries = self.n_queries
        if queries is not None:
            order = self._data.checked(queries)
            n_queries, parts = len(order), self._batches(order)(0, len(order))
        with one_blas_thread():  # here and not in the models: once a gradient, not once a part
            return self._mean(parts, n_queries, params)

    def _mean(self, parts: Parts, n_queries: int, params: Float64Array) -> tuple[float, Float64Array]:
        at_once = max(4 * get_threads(), _FLOATS_AT_ONCE // max(len(params), 1))
        value, grad = 0.0, np.zeros(len(params))
        for first in range(0, len(parts), at_once):
            for part_value, part_grad in self._each(parts[first : first + at_once], params):
                value += part_value
                grad += part_grad
        scale = -1.0 / n_queries
        if not self.penalty.strength:
            return scale * value, scale * grad
        penalty, dpenalty = self.penalty.value_and_grad(params)
        return scale * value + penalty, scale * grad + dpenalty

    def _each(self, parts: Parts, params: Float64Array) -> list[tuple[float, Float64Array]]:
        results: list[tuple[float, Float64Array]] = [(0.0, params)] * len(parts)

        def work(p: int) -> None:
            part = parts[p]
            results[p] = self._part_value_and_grad(part if isinstance(part, Part) else part(), params)

        run_chunks(work, len(parts))
        return results

    def _batches(self, order: Int64Array) -> Callable[[int, int], Parts]:
        return self._data.batches(order)

    def epoch(
        self,
        params: Float64Array,
        order: Int64Array,
        batch: int,
        step: Callable[[Float64Array], None],
    ) -> float:
        """Hand the gradient of one batch of queries after another to ``step``, which moves ``params``.

        Parameters
        ----------
        params : float64 (n_params,)
            Changed in place by ``step``.
        order : int64 (n,)
            Queries in the order of their use.
        batch : int >= 1
            Queries a step.
        step : callable
            Takes the mean gradient of a batch, with the penalty's.

        Returns
        -------
        float
            Mean of the losses before each step.

        Notes
        -----
        What `value_and_grad` gives for one batch after another; what depends on the order alone is done
        once. A batch of more than about 2 MiB of features is shared among threads, whatever their number.
        """
        self._check_epoch(params, batch)
        order, losses = self._data.checked(order), []
        batches = self._batches(order)
        with one_blas_thread():
            for first in range(0, len(order), batch):
                last = min(first + batch, len(order))
                loss, grad = self._mean(batches(first, last), last - first, params)
                losses.append(loss)
                step(grad)
        return float(np.mean(losses))

    def sgd_epoch(self, params: Float64Array, order: Int64Array, rate: float, batch: int = 1) -> float:
        """One epoch of Algorithm 1, in place: `epoch` with steps of ``rate`` times the gradient."""

        def step(grad: Float64Array) -> None:
            params[:] -= rate * grad

        return self.epoch(params, order, batch, step)

    def _part_value_and_grad(self, part: Part, params: Float64Array) -> tuple[float, Float64Array]:
        scores, cache = self.model.forward(params, part.rows)
        n_queries = len(part.weight)
        if isinstance(self.surrogate, KernelSurrogate):
            value, dscores = np.zeros(n_queries), np.zeros(len(scores), dtype=scores.dtype)
            self.surrogate.fill(scores, part.prepared, part.qptr, (0, n_queries), (value, dscores))
        else:
            value, dscores = self.surrogate.value_and_grad(scores, part.prepared, part.qptr)
        if self._weighs:
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
        return self._with(_data=self._data.held(self._check_params(params).copy()))

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

    def _check_epoch(self, params: Any, batch: Any) -> None:
        if not isinstance(params, np.ndarray) or params.dtype != np.float64 or not params.flags.writeable:
            raise InputError("params must be a writable float64 array: the epoch writes its result there.")
        if not isinstance(batch, int | np.integer) or batch < 1:
            raise InputError(f"batch={batch!r}: the number of queries a step is an integer >= 1, e.g. 64.")
        self._check_params(params)

    def scores(self, params: Float64Array) -> Any:
        """The model's scores of all documents, float (n_docs,)."""
        rows = rows_of(self.queries.features, 0, self.queries.n_docs)
        with one_blas_thread():
            return self.model.forward(self._check_params(params), rows)[0]
