"""What RankBoost and FRank share: the pairs of documents, and the loop over rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from directrix.models.rows import row_slice
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import Objective as DataObjective
from directrix.parameters import whole
from directrix.threads import query_chunks, run_chunks
from directrix.trainers.progress import Progress
from directrix.trainers.requirements import unpenalized_objective
from directrix.types import Callback, Float64Array, Objective, Result

_DOCS_PER_CHUNK = 1024
_NO_PAIRS = (
    "no query has two documents with different labels, or all pairs of these have weight 0, so "
    "nothing can be learned; check labels and qid"
)


class Pairs:
    """Documents of every query by descending label, and the arrays that boosting needs.

    Parameters
    ----------
    objective : Objective
        Whose queries and weights.
    model : StumpModel
        Whose thresholds.
    alike : bool
        Whether queries have equal weight, whatever their number of pairs; otherwise pairs have.

    Attributes
    ----------
    order : int64 (n_docs,)
        Rows of the data, in the order of all arrays below.
    qptr : int64 (n_queries + 1,)
    first, lower : int64 (n_docs,)
        Where the documents with this label begin, and those with a lower one.
    weight : float64 (n_docs,)
        Of every pair in which the document is the better one: those of query and document. Adds up to 1 over
        all pairs.
    bins : uint (n_features, n_docs)
        Thresholds below each value.
    n_pairs : int
    empty : bool
        Whether there is no pair with a weight.
    """

    def __init__(self, objective: DataObjective, model: StumpModel, *, alike: bool) -> None:
        q = objective.queries
        self.model = model
        query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
        self.order = np.lexsort((-q.labels, query))
        self.qptr = np.array(q.qptr)
        labels = q.labels[self.order]
        begins = np.ones(len(labels), dtype=bool)
        begins[1:] = (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])
        starts = np.append(np.flatnonzero(begins), len(labels))
        level = np.cumsum(begins) - 1
        self.first = starts[level]
        self.lower = np.minimum(starts[level + 1], self.qptr[query + 1])
        pairs = self.qptr[query + 1] - self.lower
        self.n_pairs = int(pairs.sum())
        weight = np.ones(len(labels)) if objective.doc_weight is None else objective.doc_weight[self.order]
        if alike:
            total = np.bincount(query, pairs * weight, minlength=q.n_queries)
            weight = weight / np.where(total > 0.0, total, 1.0)[query]
        weight = weight * objective.query_weight[query]
        whole = float((weight * pairs).sum())
        self.empty = not whole > 0.0
        self.weight = weight / (whole or 1.0)
        self.bins = np.ascontiguousarray(self.model.bins(q.features)[:, self.order])
        self.chunks = query_chunks(self.qptr, _DOCS_PER_CHUNK)

    def run(self, work: Callable[[int, int, int], None]) -> None:
        """Call ``work(chunk, first query, last query)`` for all chunks of queries, on threads."""
        bounds = self.chunks
        run_chunks(lambda c: work(c, int(bounds[c]), int(bounds[c + 1])), len(bounds) - 1)

    @cached_property
    def rows(self) -> Any:
        """The same as ``bins``, uint (n_docs, n_features)."""
        return np.ascontiguousarray(self.bins.T)

    def stairs(self, pull: Float64Array) -> Float64Array:
        """Sum of ``pull`` over the documents above every threshold, float64 (n_params,)."""
        from directrix.models._kernels.stumps import sums_above
        from directrix.trainers._kernels.stump_boosting import add_to_stairs

        model = self.model
        mass, above = np.empty(model.n_params + model.n_features), np.empty(model.n_params)
        run_chunks(lambda f: add_to_stairs(self.bins, f, f + 1, model.ptr, pull, mass), model.n_features)
        sums_above(mass, model.ptr, above)
        return above

    def step(self, param: int) -> Float64Array:
        """Value of a threshold function, 0 or 1, for every document."""
        feature = int(np.searchsorted(self.model.ptr, param, side="right")) - 1
        above: Float64Array = (self.bins[feature] > param - self.model.ptr[feature]).astype(np.float64)
        return above

    def centered(self, scores: Float64Array) -> Float64Array:
        """Return scores minus the middle of their range in each query, so that exponentials stay in range."""
        filled = np.diff(self.qptr) > 0
        start = self.qptr[:-1][filled]
        middle = 0.5 * (np.maximum.reduceat(scores, start) + np.minimum.reduceat(scores, start))
        centered: Float64Array = scores - np.repeat(middle, np.diff(self.qptr)[filled])
        return centered


@dataclass(frozen=True)
class StumpBooster(ABC):
    """Base of trainers that raise one step of a `StumpModel` in each round.

    A subclass chooses the step, and by how much.
    """

    budget: ClassVar[str] = "rounds"
    models: ClassVar[tuple[type, ...]] = (StumpModel,)

    rounds: int = 300
    alike: bool = True

    example: ClassVar[str] = 'make_objective(queries, "ApproxNDCG", StumpModel(quantile_thresholds(X)))'

    def __post_init__(self) -> None:
        whole(self.rounds, "rounds", type(self).__name__)

    @abstractmethod
    def _round(self, pairs: Pairs, scores: Float64Array) -> tuple[float, int, float]:
        """Loss of the scores, which are centered; which step to raise, and by how much."""

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Boost from ``start``; see `LBFGS.minimize`.

        Parameters
        ----------
        objective : Objective
            Of a `StumpModel`, without penalty. Its queries, weights and model are used, not its surrogate.
            A document weight counts for the pairs in which the document is the better one.
        start : float64 (n_params,)
            First steps, usually zeros.
        callback : callable, optional
            Called with a `Step` at the start and after every round; returning True stops.

        Raises
        ------
        InputError
            If the objective does not meet this.
        """
        data = unpenalized_objective(objective, type(self).__name__, self.models, self.example)
        model = cast(StumpModel, data.model)
        pairs = Pairs(data, model, alike=self.alike)
        params = np.array(start, dtype=np.float64)
        features = data.queries.features
        scores = model.forward(params, row_slice(features, 0, features.shape[0]))[0]
        scores = pairs.centered(scores.astype(np.float64)[pairs.order])
        progress = Progress(params, callback)
        with progress:
            while True:
                done = len(progress.trace)
                loss, param, raised = self._round(pairs, scores)
                if not (np.isfinite(loss) and np.isfinite(raised)):
                    progress.end(
                        "not_finite",
                        f"the loss is not finite after {done} rounds; take fewer, or start nearer to zero",
                    )
                progress.step(params, loss)
                if done == self.rounds:
                    progress.end("max_iter", f"{self.rounds} rounds done")
                if pairs.empty:
                    progress.end("converged", _NO_PAIRS)
                if raised == 0.0:
                    progress.end("converged", "no threshold function lowers the loss any more")
                params = params.copy()
                params[param] += raised
                scores = pairs.centered(scores + raised * pairs.step(param))
        return progress.result(own_loss=True)
