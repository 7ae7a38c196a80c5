r"""The loss that trainers minimize: surrogate of model, weighted, negated, penalized.

.. math:: L(\theta) = -\frac{\sum_q v_q S_q(f_\theta(X_q))}{\sum_q v_q} + \lambda\lVert\theta-\theta_0\rVert^2

Weights of queries, the mean, the sign and the penalty live here and nowhere else.

The queries are cut into parts whose features fit in a cache. One thread takes a part through model,
surrogate and back: a full gradient reads the features from memory once, whatever the surrogate. A `Source`
has the parts, in memory or in a file; `Composed` or `Fused` kernels evaluate a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from directrix.data.checks import as_floats
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.objectives.box import Box, nearest_in
from directrix.objectives.kernels import Composed
from directrix.objectives.parts import Part
from directrix.objectives.penalty import L2
from directrix.objectives.source import Memory, Source
from directrix.parameters import whole
from directrix.threads import get_threads, one_blas_thread
from directrix.types import Float64Array, Int64Array, Model, Surrogate

_FLOATS_AT_ONCE = 1 << 24  # of gradients that wait to be added up


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss of a model's parameters on given data; fulfils `directrix.types.Objective`.

    Made by `linear_objective` or `make_objective`.
    """

    source: Source
    """The data in parts."""
    kernel: Composed
    """Surrogate and model, and how they evaluate a part."""
    penalty: L2
    """Added to the loss."""
    box: Box | None = None
    """Limits of the parameters, for trainers with ``takes_box``; the loss is defined beyond them too."""

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
        number of threads. Gradients of at most 128 MiB of parts (or four parts per thread) are kept at once.
        """
        losses, grads = self.values_and_grads([params], queries)
        return float(losses[0]), grads[0]

    def values_and_grads(
        self, params: Sequence[Float64Array], queries: Int64Array | None = None
    ) -> tuple[Float64Array, Float64Array]:
        """Losses (k,) and gradients (k, n_params) at k vectors of parameters, by one read of the features."""
        vectors = as_floats(params, "params", "one number per parameter")
        if vectors.ndim != 2 or not len(vectors):
            raise InputError(f"params has shape {vectors.shape[1:]}; one number per parameter is needed.")
        values, grads = self.sums(vectors, queries)
        n_queries = self.n_queries if queries is None else len(queries)
        return _stacked(
            self._with_penalty(float(value), grad, vector, n_queries)
            for value, grad, vector in zip(values, grads, vectors, strict=True)
        )

    def sums(self, params: Float64Array, queries: Int64Array | None = None) -> tuple[Any, Float64Array]:
        """Sums over queries of the surrogate and of its gradient, without sign, mean and penalty.

        Takes k vectors of parameters (k, n_params), and returns (k,) and (k, n_params).
        """
        for vector in params:
            self.kernel.check(vector, self.queries.n_features)
        source, parts = self.source, self.source.parts
        if queries is not None:
            source, order = self.source.in_memory(self.source.checked(queries))
            parts = self.kernel.batches(source, order)(0, len(order))
        with one_blas_thread():  # here and not in the models: once per gradient, not once per part
            return self._sums(source, parts, params)

    def _sums(self, source: Source, parts: Sequence[Part], params: Float64Array) -> tuple[Any, Float64Array]:
        """Sums over parts at one vector of parameters, or at several."""
        at_once = max(4 * get_threads(), _FLOATS_AT_ONCE // max(params.size, 1))
        at = self.kernel.value_and_grad if params.ndim == 1 else self._at_each
        work: Any = partial(at, params=params)
        value: Any = 0.0 if params.ndim == 1 else np.zeros(len(params))
        grad = np.zeros(params.shape)
        for first in range(0, len(parts), at_once):
            some = parts[first : first + at_once]
            for part_value, part_grad in source.gradients(work, some):
                value += part_value
                grad += part_grad
        return value, grad

    def _at_each(self, part: Part, params: Float64Array) -> tuple[Float64Array, Float64Array]:
        return _stacked(self.kernel.value_and_grad(part, vector) for vector in params)

    def _with_penalty(
        self, value: float, grad: Float64Array, params: Float64Array, n_queries: int
    ) -> tuple[float, Float64Array]:
        """Loss and gradient from the sums over this number of queries."""
        scale = -1.0 / n_queries
        if not self.penalty.strength:
            return scale * value, scale * grad
        penalty, dpenalty = self.penalty.value_and_grad(params)
        return scale * value + penalty, scale * grad + dpenalty

    def epoch(
        self, params: Float64Array, order: Int64Array, batch: int, step: Callable[[Float64Array], None]
    ) -> float:
        """Hand the gradient of one batch of queries after another to ``step``, which moves ``params``.

        Parameters
        ----------
        params : float64 (n_params,)
            Changed in place by ``step``.
        order : int64 (n,)
            Queries in the order of their use; `Stream.reading_order` of it, for features in a file.
        batch : int >= 1
            Queries per step.
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
        A model with dropout draws its masks, by a generator whose seed is the order and the batch.
        """
        self._check_epoch(params, batch)
        return self.source.epoch(self.source.checked(order), partial(self._steps, params, batch, step))

    def sgd_epoch(
        self, params: Float64Array, order: Int64Array, learning_rate: float, batch: int = 1
    ) -> float:
        """One epoch of Algorithm 1, in place: `epoch` with steps of ``learning_rate`` times the gradient.

        For ApproxRank and a linear model on dense features it is one kernel; where batches are large enough
        for several threads, it is one kernel for each thread and batch. With a `box` every step ends at the
        nearest parameters within it, and there is no such kernel.
        """
        self._check_epoch(params, batch)
        nearest = nearest_in(self)

        def step(grad: Float64Array) -> None:
            params[:] = nearest(params - learning_rate * grad)

        def steps(source: Memory, order: Int64Array) -> float:
            loss = None
            if self.box is None:
                loss = self.kernel.sgd_epoch(source, params, order, batch, learning_rate, self.penalty)
            return self._steps(params, batch, step, source, order) if loss is None else loss

        return self.source.epoch(self.source.checked(order), steps)

    def _steps(
        self,
        params: Float64Array,
        batch: int,
        step: Callable[[Float64Array], None],
        source: Memory,
        order: Int64Array,
    ) -> float:
        losses, batches = [], self.kernel.batches(source, order)
        sums = replace(self, kernel=self.kernel.drawing(order))._sums
        with one_blas_thread():
            for first in range(0, len(order), batch):
                last = min(first + batch, len(order))
                value, gradient = sums(source, batches(first, last), params)
                loss, grad = self._with_penalty(value, gradient, params, last - first)
                losses.append(loss)
                step(grad)
        return float(np.mean(losses))

    def at(self, smoothing: float) -> Self:
        """Return a copy whose surrogate is ``surrogate.at(smoothing)``, on the same data.

        Nothing is prepared again: what depends on the labels does not depend on the smoothing.

        Raises
        ------
        InputError
            If the surrogate has no smoothing.
        """
        surrogate: Any = self.surrogate
        if not hasattr(surrogate, "at"):
            raise InputError(
                f"{surrogate!r} has no smoothing to change, so it cannot be annealed; train without "
                "Anneal, or take a surrogate with at(smoothing), e.g. SmoothNDCG()."
            )
        return replace(self, kernel=replace(self.kernel, surrogate=surrogate.at(smoothing)))

    def penalized(self, penalty: L2) -> Self:
        """Return a copy with another penalty, on the same data; ``L2()`` removes it."""
        return replace(self, penalty=penalty)

    def convexified(self, params: Float64Array) -> Self:
        """Return a copy whose surrogate is convexified at the scores of these parameters, on the same data.

        For linear scores its loss is convex, nowhere below the loss, and equal to it at ``params`` in value
        and gradient: minimizing it and convexifying again there never raises the loss (concave-convex
        procedure, Yuille & Rangarajan 2003, doi:10.1162/08997660360581958). One read of the features.

        Raises
        ------
        InputError
            If the surrogate is not a `KernelSurrogate` with the trait ``convexifiable``.
        """
        if not ("convexifiable" in self.surrogate.traits and hasattr(self.source.surrogate, "convexify")):
            hint = "take a KernelSurrogate with the trait convexifiable, e.g. Dorm()."
            raise InputError(
                f"{self.surrogate!r} cannot be convexified: minimize its loss as it is, or {hint}"
            )
        return replace(self, source=self.source.convexified(self._checked(params).copy()))

    @property
    def queries(self) -> Queries:
        """Training data."""
        return self.source.queries

    @property
    def surrogate(self) -> Surrogate:
        """What is maximized."""
        return self.kernel.surrogate

    @property
    def model(self) -> Model:
        """Scores from features."""
        return self.kernel.model

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.queries.n_queries

    @property
    def value_free(self) -> bool:
        """Whether the gradient is not that of the loss: losses do not say how good a step along it is."""
        return not {"value_free", "estimated"}.isdisjoint(self.surrogate.traits)

    @property
    def query_weight(self) -> Float64Array:
        """Weights of the queries, with mean 1."""
        return self.source.query_weight

    @property
    def doc_weight(self) -> Float64Array | None:
        """Factors on what each document earns; None = all 1."""
        return self.source.doc_weight

    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,)."""
        return self.source.scores(self._checked(params))

    def _checked(self, params: Any) -> Float64Array:
        checked = as_floats(params, "params", "one number per parameter")
        self.kernel.check(checked, self.queries.n_features)
        return checked

    def _check_epoch(self, params: Any, batch: Any) -> None:
        if not isinstance(params, np.ndarray) or params.dtype != np.float64 or not params.flags.writeable:
            raise InputError("params must be a writable float64 array: the epoch writes its result there.")
        whole(batch, "batch", example=64)
        self._checked(params)


def _stacked(pairs: Iterable[tuple[float, Float64Array]]) -> tuple[Float64Array, Float64Array]:
    values, grads = zip(*pairs, strict=True)
    return np.array(values), np.array(grads) if len(grads) > 1 else grads[0][None]
