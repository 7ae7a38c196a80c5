r"""The loss that trainers minimize: the surrogate of a model's scores, weighted, negated and penalized.

.. math:: L(\theta) = -\frac{\sum_q v_q S_q(f_\theta(X_q))}{\sum_q v_q} + \lambda\lVert\theta-\theta_0\rVert^2

Weights of queries, the mean, the sign and the penalty are applied here and nowhere else.

In: queries, a surrogate, a model and a penalty. Out: a `DataObjective`, which trainers ask for loss and
gradient.

>>> import numpy as np, directrix as dx
>>> objective = dx.linear_objective(dx.data.make_cubic(5, 10, 4, seed=0), "ApproxNDCG")
>>> loss, grad = objective.value_and_grad(np.zeros(4))

The queries are cut into parts whose features fit in a cache. One thread takes a part through model, surrogate
and backward pass, so a full gradient reads the features from memory once, whatever the surrogate. A `Source`
has the parts, in memory, in a file or in shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from directrix.data.checks import as_floats, weights_of
from directrix.data.missing import check_finite
from directrix.data.queries import need_data
from directrix.errors import InputError
from directrix.measures.base import check_gains
from directrix.models.linear import LinearModel, one_per_feature
from directrix.objectives.epochs import fused_epoch
from directrix.objectives.penalty import L2, Bounds, nearest_in
from directrix.objectives.sharded import Sharded
from directrix.objectives.source import Source, Steps
from directrix.objectives.stream import LOCAL
from directrix.parameters import whole
from directrix.surrogates.base import kernel_surrogate
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.threads import one_blas_thread
from directrix.types import Float64Array, Int64Array, Model, Surrogate


@dataclass(frozen=True, eq=False)
class DataObjective:
    """Loss of a model's parameters on given data; implements `directrix.types.Objective`.

    It is made by `linear_objective` or `make_objective`.
    """

    source: Source
    """Queries, their weights and the model; it adds up values and gradients over the queries."""
    surrogate: Surrogate
    """The surrogate, which is maximized."""
    penalty: L2
    """Added to the loss."""
    bounds: Bounds | None = None
    """Bounds of the parameters, for trainers with ``takes_bounds``; the loss is defined beyond them too."""

    def value_and_grad(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array]:
        """Return the loss and its gradient.

        Parameters
        ----------
        params : float64 (n_params,)
        queries : int (n,), or None
            Positions of queries; None = all. For random queries, the expectation is the full loss.

        Returns
        -------
        loss : float
        grad : float64 (n_params,)

        Notes
        -----
        The features are read once. Sums run in the order of the parts, so they have the same bits for any
        number of threads. Gradients of at most 128 MiB of parts (or four parts per thread) are kept at once.
        """
        params = as_floats(params, "params", "one number per parameter")
        if params.ndim != 1:
            raise InputError(f"params has shape {params.shape}; one number per parameter is needed.")
        value, grad = self.source.sums(self.surrogate, params, queries)
        n_queries = self.n_queries if queries is None else len(queries)
        return self._with_penalty(float(value), grad, params, n_queries)

    def _with_penalty(
        self, value: float, grad: Float64Array, params: Float64Array, n_queries: int
    ) -> tuple[float, Float64Array]:
        """Loss and gradient from the sums over this number of queries."""
        # A batch is divided by its own number of queries, so its expectation is the loss of all.
        scale = -1.0 / n_queries
        if not self.penalty.strength:
            return scale * value, scale * grad
        penalty, dpenalty = self.penalty.value_and_grad(params)
        return scale * value + penalty, scale * grad + dpenalty

    def epoch(
        self, params: Float64Array, order: Int64Array, batch: int, step: Callable[[Float64Array], None]
    ) -> float:
        """Pass the gradient of each batch of queries in turn to ``step``, which moves ``params``.

        Parameters
        ----------
        params : float64 (n_params,)
            Changed in place by ``step``.
        order : int64 (n,)
            Queries in the order of their use; `Stream.reading_order` of it, for features in a file.
        batch : int >= 1
            Queries per step.
        step : callable
            Function of the mean gradient of a batch, including the penalty's.

        Returns
        -------
        float
            Mean of the losses before each step.

        Notes
        -----
        The result equals `value_and_grad` for one batch after another; work that depends only on the order is
        done once. A batch of more than about 2 MiB of features is shared among threads, whatever their
        number. A model with dropout draws its masks from a generator seeded by the order and the batch.
        """
        self._check_epoch(params, batch)
        return self.source.epoch(self.source.checked(order), partial(self._steps, params, batch, step))

    def sgd_epoch(
        self, params: Float64Array, order: Int64Array, learning_rate: float, batch: int = 1
    ) -> float:
        """Run one epoch of Algorithm 1 in place: `epoch` with steps of ``learning_rate`` times the gradient.

        For a linear model on dense features it is one kernel, unless batches are large enough for several
        threads. With `bounds`, every step ends at the nearest parameters within them, and there is no such
        kernel.
        """
        self._check_epoch(params, batch)
        nearest = nearest_in(self)

        def step(grad: Float64Array) -> None:
            params[:] = nearest(params - learning_rate * grad)

        def steps(source: Any, order: Int64Array) -> float:
            loss = None
            if self.bounds is None:
                loss = fused_epoch(source, self.surrogate, params, order, batch, learning_rate, self.penalty)
            return self._steps(params, batch, step, source, order) if loss is None else loss

        return self.source.epoch(self.source.checked(order), steps)

    def _steps(
        self,
        params: Float64Array,
        batch: int,
        step: Callable[[Float64Array], None],
        source: Any,
        order: Int64Array,
    ) -> float:
        losses: list[float] = []
        sums: Steps = source.batches_of(self.surrogate, order)
        with one_blas_thread():
            for first in range(0, len(order), batch):
                last = min(first + batch, len(order))
                value, slope = sums(first, last, params)
                loss, grad = self._with_penalty(value, slope, params, last - first)
                # The loss before a step comes with its gradient, so the mean costs nothing.
                losses.append(loss)
                step(grad)
        return float(np.mean(losses))

    def at(self, smoothing: float) -> Self:
        """Return a copy whose surrogate is ``surrogate.at(smoothing)``, on the same data.

        Nothing is prepared again, because prepared arrays do not depend on the smoothing.

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
        return replace(self, surrogate=surrogate.at(smoothing))

    def with_share(self, share: float) -> Self:
        """Return a copy with `KernelSurrogate.with_share`; without a cut-off it is the objective itself."""
        surrogate, source = kernel_surrogate(self.surrogate), self.source
        other = surrogate.with_share(share)
        if other is surrogate:
            return self
        # A surrogate of another class prepares other arrays of the labels.
        if type(other) is not type(surrogate):
            weights = source.query_weight, source.doc_weight
            source = _SOURCES[source.queries.held].cut(source.queries, other, source.model, *weights)
        return replace(self, source=source, surrogate=other)

    def penalized(self, penalty: L2) -> Self:
        """Return a copy with another penalty, on the same data; ``L2()`` removes it."""
        return replace(self, penalty=penalty)

    def convexified(self, params: Float64Array) -> Self:
        """Return a copy whose surrogate is convexified at the scores of these parameters, on the same data.

        For linear scores, the new loss is convex, nowhere below the original, and equal to it at ``params``
        in value and gradient. Minimizing it and convexifying again never increases the loss (concave-convex
        procedure, Yuille & Rangarajan 2003, doi:10.1162/08997660360581958). The features are read once.

        Raises
        ------
        InputError
            If the surrogate is not a `KernelSurrogate` with the property ``convexifiable``.
        """
        if not ("convexifiable" in self.surrogate.properties and hasattr(self.source.surrogate, "convexify")):
            hint = "take a KernelSurrogate with the property convexifiable, e.g. Dorm()."
            raise InputError(
                f"{self.surrogate!r} cannot be convexified: minimize its loss as it is, or {hint}"
            )
        return replace(
            self,
            source=self.source.convexified(as_floats(params, "params", "one number per parameter").copy()),
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.source.queries.n_queries)

    @property
    def value_free(self) -> bool:
        """Whether the gradient is not that of the loss, so that losses do not show how good a step is."""
        return "value_free" in self.surrogate.properties

    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,)."""
        return self.source.scores(as_floats(params, "params", "one number per parameter"))

    def _check_epoch(self, params: Any, batch: Any) -> None:
        if not isinstance(params, np.ndarray) or params.dtype != np.float64 or not params.flags.writeable:
            raise InputError("params must be a writable float64 array: the epoch writes its result there.")
        whole(batch, "batch", example=64)


# Sources by `Data.held`: where the features are decides how sums over queries are computed.
_SOURCES: dict[str, Any] = {**LOCAL, "shards": Sharded}


def make_objective(
    queries: Any,
    surrogate: Surrogate | str,
    model: Model,
    *,
    penalty: L2 | None = None,
    query_weight: Any = None,
    doc_weight: Any = None,
    bounds: Bounds | None = None,
) -> DataObjective:
    """Return the loss of a model's parameters on given data.

    Parameters
    ----------
    queries : Data
        Training data: `Queries` (for a linear model also from `directrix.data.open_parquet`), or the result
        of `directrix.data.open_shards`, whose sums are merged along a fixed tree over the shards.
    surrogate : Surrogate or str
        Function to maximize; a string is parsed by `directrix.surrogate`.
    model : Model
        Scores from features.
    penalty : L2
        Added to the loss.
    query_weight : float (n_queries,), or None
        Weights >= 0 of the queries in the mean, whatever their sum; None = all equal.
    doc_weight : float (n_docs,), or None
        Factors >= 0 on each document's contribution, in the order of ``queries`` (e.g. inverse
        propensities of clicks). ApproxNDCG and ApproxAP divide by the weighted ideal, so that
        their best value stays 1; surrogates that are not sums over documents do not support them.
    bounds : Bounds, or None
        Bounds of the parameters. Only trainers with ``takes_bounds`` use them: `LBFGS`, `SGD`, `Adam` and
        `CoordinateAscent`.

    Raises
    ------
    InputError
        If there is no query, weights do not fit, are negative or add up to 0, or labels are gains that the
        surrogate does not add up.
    """
    need_data(queries, "an objective")
    if not queries.n_queries:
        raise InputError("there is no query to train on; pass Queries with at least one query.")
    parsed = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
    check_gains(queries, parsed)
    weight = weights_of(query_weight, queries.n_queries, "query_weight", "query")
    if query_weight is not None:
        # With a mean of 1, sums of weighted queries are divided by their number, as without weights.
        weight = weight / weight.mean()
    documents = (
        None if doc_weight is None else weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
    )
    source = _SOURCES[queries.held].cut(queries, kernel_surrogate(parsed), model, weight, documents)
    return DataObjective(source, parsed, penalty or L2(), bounds)


def linear_objective(
    queries: Any,
    surrogate: Surrogate | str,
    l2: float = 0.0,
    *,
    w0: Any = None,
    query_weight: Any = None,
    doc_weight: Any = None,
) -> DataObjective:
    r"""Return the loss of a linear ranker: :math:`-\overline{S}(X w) + \lambda \lVert w - w_0\rVert^2`.

    Parameters
    ----------
    queries : Data
        Training data, see `make_objective`.
    surrogate : Surrogate or str
        Function to maximize, e.g. ``ApproxNDCG(alpha=10)`` or ``"ApproxNDCG(alpha=10)"``.
    l2 : float >= 0
        Strength lambda of the penalty.
    w0 : float (n_features,), or None
        Center of the penalty; None = the origin.
    query_weight, doc_weight
        As in `make_objective`.

    Examples
    --------
    >>> import numpy as np, directrix as dx
    >>> q = dx.Queries.from_arrays(np.eye(3), np.array([0.0, 1.0, 2.0]), qid=[7, 7, 7])
    >>> loss, grad = dx.linear_objective(q, "ApproxNDCG").value_and_grad(np.array([0.0, 0.1, 1.0]))
    >>> round(loss, 3), grad.round(3)
    (-0.987, array([ 0.082, -0.081, -0.001]))
    """
    need_data(queries, "linear_objective")
    check_finite(queries, "the data")
    center = None if w0 is None else one_per_feature(w0, queries.n_features, "w0")
    penalty = L2(l2, center)
    return make_objective(
        queries, surrogate, LinearModel(), penalty=penalty, query_weight=query_weight, doc_weight=doc_weight
    )
