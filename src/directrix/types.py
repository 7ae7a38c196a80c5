"""The contracts between the layers, and names for arrays.

Ragged data are flat arrays plus pointers, never padding: query ``q`` owns the documents
``qptr[q] <= i < qptr[q + 1]`` of every per-document array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from directrix.trainers.result import Result

__all__ = [
    "Array",
    "Float64Array",
    "FloatArray",
    "Int64Array",
    "Measure",
    "Model",
    "Objective",
    "Surrogate",
    "Trainer",
]

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
"""float32 or float64; results follow the dtype of the scores."""
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int64Array: TypeAlias = npt.NDArray[np.int64]


@runtime_checkable
class Measure(Protocol):
    """An exact measure of ranking quality; higher is better.

    A frozen, hashable value whose ``repr`` parses back.
    """

    def __call__(self, scores: FloatArray, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Value of every query, shape (n_queries,)."""
        ...


@runtime_checkable
class Surrogate(Protocol):
    """A stand-in for a measure, a function of the scores only; always to be maximised."""

    @property
    def traits(self) -> frozenset[str]:
        """Subset of the names that `directrix.laws.check_surrogate` tests.

        smooth, convex, convex_when_held, bound, shift_invariant, unit_interval, tends_to_measure, value_free.
        """
        ...

    def value_and_grad(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Each query's value (n_queries,) and its gradient over its documents (n_docs,)."""
        ...


class Model(Protocol):
    """Scores from features."""

    def forward(self, params: Float64Array, X: Any) -> tuple[FloatArray, Any]:
        """Scores (n_docs,) and whatever ``backward`` needs."""
        ...

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Gradient with respect to the parameters."""
        ...


class Objective(Protocol):
    """All a trainer ever sees: a loss to minimise over a parameter vector.

    `Anneal` needs one method more, ``at(smoothing)``: the same loss, otherwise smoothed.
    """

    def value_and_grad(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array]:
        """Loss and gradient over all queries, or over the given ones."""
        ...

    @property
    def n_queries(self) -> int:
        """Number of queries that the loss is a mean over."""
        ...


class Trainer(Protocol):
    """A way to minimise an objective."""

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Any], bool | None] | None = None,
    ) -> Result:
        """Minimise from ``start``; ``callback(step)`` may return True to stop."""
        ...
