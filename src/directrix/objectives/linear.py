"""The objective of a linear ranker, with an epoch of SGD in one kernel where there is one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.models.linear import LinearModel, rows_of
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

    def sgd_epoch(self, params: Float64Array, order: Int64Array, rate: float) -> float:
        """One epoch of Algorithm 1; see `Objective.sgd_epoch`. For ApproxRank it is one kernel."""
        surrogate = self._fusible
        if surrogate is None:
            return super().sgd_epoch(params, order, rate)
        self._check_epoch(params)
        order = writable(np.array(self._check(order), dtype=np.int64))
        from directrix.objectives._kernels.sgd import FAMILIES, sgd_epoch

        center = np.zeros_like(params) if self.penalty.center is None else writable(self.penalty.center)
        return float(
            sgd_epoch(
                FAMILIES[surrogate.family],
                surrogate.spec(),
                rows_of(self.queries.features, 0, self.queries.n_docs),
                self._doc_values,
                writable(self.queries.qptr),
                self._query_weight,
                order,
                float(rate),
                float(self.penalty.strength),
                center,
                params,
            )
        )

    def _check_params(self, params: Any) -> Float64Array:
        return _one_a_feature(params, self.queries.n_features, "params")

    def _part_value_and_grad(self, part: Part, params: Float64Array) -> tuple[float, Float64Array]:
        surrogate = self._fusible
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

    @cached_property
    def _doc_values(self) -> Float64Array:
        return np.concatenate([part.prepared for part in self._parts])


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
        Training data, dense or CSR, or of `directrix.open_parquet`: then features are read as they are used.
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
