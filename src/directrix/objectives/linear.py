"""The objective of a linear ranker, with an epoch of SGD in one kernel where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.objectives.batches import runs
from directrix.objectives.cut import Parts
from directrix.objectives.objective import Objective
from directrix.objectives.parts import Part
from directrix.objectives.penalty import L2
from directrix.surrogates.approx_rank import ApproxRank
from directrix.surrogates.base import writable
from directrix.types import Float64Array, Int64Array, Surrogate

__all__ = ["LinearObjective", "linear_objective"]


class LinearObjective(Objective):
    """`Objective` of a `LinearModel`; made by `linear_objective`.

    For dense features and ApproxRank it has kernels of its own, which give what the general way
    gives but for rounding.
    """

    def sgd_epoch(self, params: Float64Array, order: Int64Array, rate: float, batch: int = 1) -> float:
        """One epoch of Algorithm 1; see `Objective.sgd_epoch`. For ApproxRank it is one kernel.

        Where batches are large enough for several threads, it is one kernel for each thread and batch.
        """
        self._check_epoch(params, batch)
        usual = batch * self.queries.n_docs / self.n_queries
        if self._fusible is None or (batch > 1 and usual > self._data.docs_per_thread):
            return super().sgd_epoch(params, order, rate, batch)
        order = self._data.checked(order)
        center = np.zeros_like(params) if self.penalty.center is None else writable(self.penalty.center)
        grad, penalty = np.empty_like(params), float(self.penalty.strength)
        return self._descend(order, min(batch, len(order)), float(rate), penalty, center, params, grad)

    def _descend(self, order: Int64Array, batch: int, *steps: Any) -> float:
        from directrix.objectives._kernels.sgd import FAMILIES, sgd_epoch

        surrogate: Any = self._fusible
        return float(
            sgd_epoch(FAMILIES[surrogate.family], surrogate.spec(), *self._data.whole, order, batch, *steps)
        )

    def _batches(self, order: Int64Array) -> Callable[[int, int], Parts]:
        if self._fusible is None:
            return super()._batches(order)
        part, docs_per_thread = self._parts[0], self._data.docs_per_thread
        bounds = [0, *np.cumsum(np.diff(self.queries.qptr)[order]).tolist()]

        def cut(first: int, last: int) -> Parts:
            return [part._replace(order=order[a:b]) for a, b in runs(bounds, first, last, docs_per_thread)]

        return cut

    def _check_params(self, params: Any) -> Float64Array:
        return _one_a_feature(params, self.queries.n_features, "params")

    def _part_value_and_grad(self, part: Part, params: Float64Array) -> tuple[float, Float64Array]:
        surrogate = self._fusible
        if part.order is not None:  # a step of length 0 leaves the gradient
            n, grad, still = len(part.order), np.empty(len(params)), params.copy()
            loss = self._descend(part.order, n, 0.0, 0.0, still, still, grad)
            return -n * loss, grad
        if surrogate is None or surrogate.family != "separable":
            return super()._part_value_and_grad(part, params)
        from directrix.objectives._kernels.fused import fused_separable

        value, grad = np.empty(len(part.weight)), np.zeros(len(params))
        w = params.astype(part.rows.dtype)
        spec = surrogate.spec()
        fused_separable(spec, part.rows, part.prepared, part.qptr, part.weight, w, value, grad)
        return float(part.weight @ value), grad

    @property
    def _fusible(self) -> ApproxRank | None:
        """The surrogate, if kernels exist that join it with the model on these features."""
        dense = not hasattr(self.queries.features, "tocsr")
        return self.surrogate if dense and isinstance(self.surrogate, ApproxRank) else None


def linear_objective(
    queries: Queries,
    surrogate: Surrogate | str,
    l2: float = 0.0,
    *,
    w0: Any = None,
    query_weight: Any = None,
    doc_weight: Any = None,
) -> LinearObjective:
    r"""Loss of a linear ranker: :math:`-\overline{S}(X w) + \lambda \lVert w - w_0\rVert^2`.

    Parameters
    ----------
    queries : Queries
        Training data, dense or CSR, or of `directrix.data.open_parquet`: then features are read as they are used.
    surrogate : Surrogate or str
        What to maximise, e.g. ``ApproxNDCG(alpha=10)`` or ``"ApproxNDCG(alpha=10)"``.
    l2 : float >= 0
        Strength lambda of the penalty.
    w0 : float (n_features,), or None
        Where the penalty pulls to; None = the origin.
    query_weight, doc_weight
        As in `Objective`.

    Examples
    --------
    >>> import numpy as np, directrix as dx
    >>> q = dx.Queries.from_arrays(np.eye(3), np.array([0.0, 1.0, 2.0]), qid=[7, 7, 7])
    >>> loss, grad = dx.linear_objective(q, "ApproxNDCG").value_and_grad(np.array([0.0, 0.1, 1.0]))
    >>> round(loss, 3), grad.round(3)
    (-0.987, array([ 0.082, -0.081, -0.001]))
    """
    center = None if w0 is None else _one_a_feature(w0, queries.n_features, "w0")
    kind = LinearObjective
    if isinstance(queries.features, StoredFeatures):
        from directrix.objectives.streamed import StreamedObjective as kind  # it is one of the above
    return kind(
        queries,
        surrogate,
        LinearModel(),
        penalty=L2(l2, center),
        query_weight=query_weight,
        doc_weight=doc_weight,
    )


def _one_a_feature(values: Any, n_features: int, name: str) -> Float64Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n_features,):
        raise InputError(
            f"{name} has shape {array.shape}; the data have {n_features} features: "
            f"pass one number for each, shape ({n_features},)."
        )
    return array
