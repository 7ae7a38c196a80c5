"""Contracts between the layers, the result of a trainer, and names for arrays.

Ragged data are flat arrays plus pointers, never padding: query ``q`` has the documents
``qptr[q] <= i < qptr[q + 1]`` of every per-document array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Callback",
    "Data",
    "Float64Array",
    "FloatArray",
    "Int64Array",
    "Measure",
    "Model",
    "Objective",
    "Progress",
    "Result",
    "Status",
    "Step",
    "Surrogate",
    "Trainer",
    "is_sparse",
]

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
"""float32 or float64; results follow the dtype of the scores."""
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int64Array: TypeAlias = npt.NDArray[np.int64]
Progress: TypeAlias = Callable[[int, int, str], object]
"""Takes the number of finished items, that of all items (0 if unknown), and the name of the present one."""


@runtime_checkable
class Measure(Protocol):
    """An exact measure of ranking quality; higher is better.

    A frozen, hashable value whose ``repr`` parses back.
    """

    def __call__(self, scores: FloatArray, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Value of every query, shape (n_queries,)."""


@runtime_checkable
class Surrogate(Protocol):
    """A surrogate for a measure: a function of the scores only, to be maximized."""

    @property
    def properties(self) -> frozenset[str]:
        """Subset of the names that `directrix.laws.check_surrogate` tests.

        smooth, convex, convexifiable, bound, shift_invariant, unit_interval, tends_to_measure, pulls_at_ties,
        value_free, random.
        """

    def value_and_grad(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Return each query's value (n_queries,) and the gradient with respect to the scores (n_docs,)."""


class Model(Protocol):
    """Scores from features."""

    def forward(self, params: Float64Array, X: Any) -> tuple[FloatArray, Any]:
        """Return scores (n_docs,) and the values that ``backward`` needs."""

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Gradient with respect to the parameters."""


class Data(Protocol):
    """Documents of many queries, wherever their features are stored: `Queries`, or `ShardedQueries`."""

    @property
    def features(self) -> Any:
        """Any matrix with a shape and a dtype; kernels read it in place."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, or None."""

    @property
    def categories(self) -> Any:
        """Names of the categories of each feature, or None."""

    @property
    def missing(self) -> str:
        """How missing values were read: "error", "zero" or "nan"."""

    @property
    def held(self) -> Literal["memory", "file", "shards"]:
        """The place of the features."""

    @property
    def n_docs(self) -> int:
        """Number of documents."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def label_counts(self) -> dict[float, int]:
        """Number of documents with each label."""

    @property
    def n_ordered(self) -> int:
        """Number of queries with documents of different labels."""

    @property
    def digest(self) -> str:
        """SHA-256 of the data, or of the files of shards; the same data give the same text."""

    @property
    def flaws(self) -> tuple[Any, ...]:
        """Non-finite features: a `directrix.data.stored.Flaw` for NaN, and one for infinite values."""

    def judged(self) -> Any:
        """Return labels and queries in memory, for measures; the features may be elsewhere."""

    def scores(self, ranker: Any) -> Float64Array:
        """Return the score of every document by a fitted ranker of any kind."""

    def scaled(self, scale: Any) -> Any:
        """Return the same queries with scaled features."""


class Objective(Protocol):
    """An objective is a loss over a parameter vector; trainers need nothing else.

    `Anneal` also needs ``at(smoothing)``, which returns the loss with that smoothing. If the objective has
    ``bounds``, trainers that declare ``takes_bounds`` keep the parameters within them.
    """

    def value_and_grad(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array]:
        """Return the loss and its gradient over all queries, or over the given ones."""

    @property
    def n_queries(self) -> int:
        """Number of queries over which the loss is averaged."""


Status = Literal["converged", "stopped", "max_iter", "line_search", "not_finite"]


class Step(NamedTuple):
    """One iteration or epoch, as passed to callbacks and recorded in the trace."""

    iteration: int
    """0 = the start."""
    loss: float
    """The loss that the trainer minimizes: the value of the objective; for `SGD` and `Adam` the mean of the
    losses before each step of the epoch, for `Anneal` the value at the round's smoothing, and for trainers
    with ``Result.own_loss`` their own loss."""
    params: Float64Array
    """Parameters at this step, (n_params,); a view that must not be changed or kept without a copy."""
    score: float = float("nan")
    """The measure on the validation queries; NaN without them."""


Callback: TypeAlias = Callable[[Step], bool | None]
"""Called with the start and after every step; may return True to stop."""


@dataclass(frozen=True)
class Result:
    """The parameters at which a trainer stopped, and why it stopped."""

    params: Float64Array
    """The chosen parameters, (n_params,)."""
    value: float
    """Loss at ``params``: of the objective as it was given, or the trainer's own, see ``own_loss``."""
    status: Status
    """Why it stopped. "converged": the trainer's own criterion was met. "stopped": a callback (early
    stopping) asked for it. "max_iter": the budget was used up. "line_search": no step along the search
    direction lowers the loss, usually because it is flat to rounding; for `CuttingPlane`, the gap no longer
    decreases. "not_finite": the loss or its gradient became NaN or infinite; ``params`` are the last before
    that."""
    message: str
    """The same in words, with the remedy where there is one."""
    counts: dict[str, int] = field(default_factory=dict)
    """Counts of operations: ``iterations``, ``evaluations``, ..."""
    trace: list[dict[str, Any]] = field(default_factory=list)
    """One row per step, the start included: ``iteration`` and ``loss``, as in `Step`; ``score`` under
    `BestSoFar`, ``restart`` under `Restarts`, ``smoothing`` under `Anneal`, ``share`` under `Continuation`,
    and ``restarts`` (so far) under ``SGD(restart_after=)``; ``dual`` (so far) under `CuttingPlane`."""
    own_loss: bool = False
    """Whether ``value`` is a loss of the trainer's own: coordinate ascent, AdaRank, RankBoost, FRank and
    SVMAcc, whose loss does not use the surrogate, and `CuttingPlane` with a ``C``."""
    dual: float | None = None
    """A proven lower bound of the loss for all parameters; None if the trainer proves none."""

    @property
    def gap(self) -> float | None:
        """Optimality gap ``value - dual``, a bound on ``value`` minus the minimum; None without ``dual``."""
        return None if self.dual is None else self.value - self.dual


class Trainer(Protocol):
    """A method that minimizes an objective."""

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Minimize from ``start``; ``callback(step)`` may return True to stop."""


def is_sparse(X: object) -> bool:
    """Whether this is a sparse matrix of SciPy, or a scaled one; the check does not import SciPy."""
    # A sparse matrix exists only if SciPy has been imported already.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X) or hasattr(X, "absent"))
