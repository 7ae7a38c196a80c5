"""Boosting of threshold functions on pairs of documents: `RankBoost` and `FRank`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from directrix.models.stumps import StumpModel
from directrix.objectives.objective import DataObjective
from directrix.threads import query_chunks, run_chunks
from directrix.trainers.loop import Loop, Settings, unpenalized_objective
from directrix.types import Callback, Float64Array, Objective, Result

_DOCS_PER_CHUNK = 1024
"""Documents, of whole queries, that a thread takes at a time."""
_SMOOTH = 1e-3
"""epsilon of `FRank`, as a share of the largest W of a threshold function."""
_NO_PAIRS = (
    "no query has two documents with different labels, or all pairs of these have weight 0, so "
    "nothing can be learned; check labels and qid"
)


class LabelPairs:
    """Documents of every query by descending label, and the arrays that boosting needs, in that ``order``.

    ``first`` and ``lower`` (n_docs,) are the positions where documents with this label, and with a lower one,
    begin. ``weight`` (n_docs,) is that of every pair in which the document is the better one, and adds up to
    1 over all pairs; ``empty`` if all are 0. ``bins`` (n_features, n_docs) counts the thresholds below each
    value. If ``alike``, queries have equal weight, whatever their number of pairs; otherwise pairs have equal
    weight.
    """

    def __init__(self, objective: DataObjective, *, alike: bool) -> None:
        source = objective.source
        q, self.model = source.queries, cast(StumpModel, source.model)
        query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
        # Sorted by label, the worse documents of each are one run at the end of its query.
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
        weight = np.ones(len(labels)) if source.doc_weight is None else source.doc_weight[self.order]
        if alike:
            # A query without pairs keeps its weights, which do not count.
            total = np.bincount(query, pairs * weight, minlength=q.n_queries)
            weight = weight / np.where(total > 0.0, total, 1.0)[query]
        weight = weight * source.query_weight[query]
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
        # A bin is the number of thresholds below the value, so it exceeds the number of each of these.
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
class StumpBooster(Settings, ABC):
    """Base of trainers that increase one step of a `StumpModel` in each round.

    A subclass chooses the step and its increase.
    """

    budget: ClassVar[str] = "rounds"
    uses_surrogate: ClassVar[bool] = False
    models: ClassVar[tuple[type, ...]] = (StumpModel,)

    rounds: int = 300
    alike: bool = True

    @abstractmethod
    def _round(self, pairs: LabelPairs, scores: Float64Array) -> tuple[float, int, float]:
        """Loss of the scores, which are centered; which step to raise, and by how much."""

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Boost from ``start``, usually zeros; see `LBFGS.minimize`. Steps for the callback are rounds.

        The objective has a `StumpModel` and no penalty; its surrogate is not used. A document weight
        multiplies the pairs in which the document is the better one.
        """
        data = unpenalized_objective(objective, self)
        pairs = LabelPairs(data, alike=self.alike)
        params = np.array(start, dtype=np.float64)
        scores = pairs.centered(data.scores(params).astype(np.float64)[pairs.order])
        remedy = "take fewer rounds, or start nearer to zero"
        loop = Loop(params, callback, unit="rounds", remedy=remedy)
        with loop:
            while True:
                loss, param, raised = self._round(pairs, scores)
                loop.check(loss, raised)
                loop.step(params, loss)
                loop.limit(self.rounds, "rounds")
                if pairs.empty:
                    loop.stop("converged", _NO_PAIRS)
                if raised == 0.0:
                    loop.stop("converged", "no threshold function lowers the loss further")
                params = params.copy()
                params[param] += raised
                scores = pairs.centered(scores + raised * pairs.step(param))
        return loop.result(own_loss=True)


@dataclass(frozen=True)
class RankBoost(StumpBooster):
    r"""Increase the step that corrects most of the misranked pairs.

    .. math:: L = \sum_{l_i > l_j} D_{ij} e^{-(s_i - s_j)}, \qquad
              r(h) = \frac{1}{L} \sum_{l_i > l_j} D_{ij} e^{-(s_i - s_j)} (h(x_i) - h(x_j)), \qquad
              \alpha = \tfrac12 \ln \frac{1 + r + \varepsilon}{1 - r + \varepsilon}

    over the pairs of documents of one query with different labels; h is the threshold function with the
    largest :math:`|r|` ("third method"). The weights of pairs factorize, so r is a sum over documents,
    :math:`\sum_i \pi_i h(x_i)`: the bipartite form of the paper, for any number of labels.

    Parameters
    ----------
    rounds : int >= 1
        Number of increases; the same step may be chosen again.
    alike : bool
        Whether D gives each query the same weight (times the query weight), or each pair, as in the paper;
        then queries with many relevant documents count most.

    Notes
    -----
    The loss never increases. epsilon = 1 over the number of pairs keeps steps finite that no pair contradicts
    (Schapire & Singer 1999, Section 4.2). A round costs O(n d) additions. Only the number of rounds prevents
    overfitting: wrap it in `BestSoFar`.

    References
    ----------
    Freund, Iyer, Schapire & Singer (2003), Sections 3.2 and 3.3, JMLR 4, 933-969.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> ranker = dx.StumpRanker(trainer=dx.trainers.RankBoost(rounds=5)).fit_queries(q)
    >>> ranker.predict_queries(q).shape
    (200,)
    """

    short_name: ClassVar[str] = "rankboost"

    def _round(self, pairs: LabelPairs, scores: Float64Array) -> tuple[float, int, float]:
        from directrix.trainers._kernels.stump_boosting import exponential_potentials

        pull, losses = np.empty(len(scores)), np.empty(len(pairs.qptr) - 1)
        pairs.run(
            lambda _, a, b: exponential_potentials(
                scores, pairs.qptr, a, b, pairs.first, pairs.lower, pairs.weight, pull, losses
            )
        )
        loss = float(losses.sum())
        if pairs.empty or not pairs.model.n_params or loss == 0.0:
            return loss, 0, 0.0
        # Rounding would pass 1 where the loss is denormal.
        r = np.clip(pairs.stairs(pull) / loss, -1.0, 1.0)
        best = int(np.argmax(np.abs(r)))
        # This is the epsilon of the formula; without it, a step that no pair contradicts would be infinite.
        least = 1.0 / pairs.n_pairs
        return loss, best, 0.5 * float(np.log((1.0 + r[best] + least) / (1.0 - r[best] + least)))


@dataclass(frozen=True)
class FRank(StumpBooster):
    r"""Increase the step that lowers the fidelity loss most.

    .. math:: L = \sum_{l_i > l_j} D_{ij} \left(1 - \sqrt{P_{ij}}\right), \qquad
              P_{ij} = \frac{1}{1 + e^{-(s_i - s_j)}}

    Unlike in RankBoost's and RankNet's loss, a pair costs at most D, however wrong it is. For the threshold
    function h with :math:`h_{ij} = h(x_i) - h(x_j)` the step is

    .. math:: \alpha = \tfrac12 \ln \frac{W_+ + \varepsilon}{W_- + \varepsilon},
              \qquad W_\pm = \sum_{h_{ij} = \pm 1} W_{ij},
              \qquad W_{ij} = D_{ij} \frac{e^{-(s_i - s_j)}}{(1 + e^{-(s_i - s_j)})^{3/2}}

    Parameters
    ----------
    rounds : int >= 1
        Number of increases; the same step may be chosen again.
    alike : bool
        Whether D gives each query the same weight (times the query weight), as in the paper, or each pair.
    candidates : int >= 1
        Number of threshold functions, each the most promising of a feature, for which the loss is computed;
        the one with the lowest loss is chosen. Promising means a large :math:`(\sqrt{W_+} - \sqrt{W_-})^2`,
        the gain of the step if W changed exponentially. The paper computes the loss for all.

    Notes
    -----
    epsilon = :math:`10^{-3}` of all W keeps steps finite that no pair contradicts. Pairs are never stored; a
    round costs O(d) additions per pair.

    References
    ----------
    Tsai, Liu, Qin, Chen & Ma (2007), Sections 3.2 and 3.3, doi:10.1145/1277741.1277808.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> ranker = dx.StumpRanker(trainer=dx.trainers.FRank(rounds=5)).fit_queries(q)
    >>> ranker.predict_queries(q).shape
    (200,)
    """

    short_name: ClassVar[str] = "frank"

    candidates: int = 8

    def _loss(self, pairs: LabelPairs, scores: Float64Array) -> float:
        from directrix.trainers._kernels.stump_boosting import fidelity

        loss = np.empty(len(pairs.qptr) - 1)
        pairs.run(lambda _, a, b: fidelity(scores, pairs.qptr, a, b, pairs.lower, pairs.weight, loss))
        return float(loss.sum())

    def _round(self, pairs: LabelPairs, scores: Float64Array) -> tuple[float, int, float]:
        now = self._loss(pairs, scores)
        if pairs.empty or not pairs.model.n_params:
            return now, 0, 0.0
        won, lost = self._won_and_lost(pairs, scores)
        # Where no step separates any pair, the smallest float keeps the quotient defined.
        least = _SMOOTH * max(float((won + lost).max()), np.finfo(float).tiny)
        raised = 0.5 * np.log((won + least) / (lost + least))
        promise = (np.sqrt(won) - np.sqrt(lost)) ** 2
        best, height, lowest = 0, 0.0, now
        # The loss decides among a few promising steps, because it costs a pass over all pairs.
        for param in self._most_promising(pairs, promise):
            step = float(raised[param])
            loss = self._loss(pairs, pairs.centered(scores + step * pairs.step(param)))
            if loss < lowest:
                best, height, lowest = param, step, loss
        return now, best, height

    def _most_promising(self, pairs: LabelPairs, promise: Float64Array) -> list[int]:
        ptr = pairs.model.ptr
        tops = [int(ptr[f] + np.argmax(promise[ptr[f] : ptr[f + 1]])) for f in np.flatnonzero(np.diff(ptr))]
        return sorted(tops, key=lambda p: -promise[p])[: self.candidates]

    def _won_and_lost(self, pairs: LabelPairs, scores: Float64Array) -> tuple[Float64Array, Float64Array]:
        """W of the pairs that each threshold puts right, and of those that it puts wrong."""
        from directrix.trainers._kernels.stump_boosting import fidelity_potentials

        model = pairs.model
        start = model.ptr[:-1] + np.arange(model.n_features)
        pull = np.empty(len(scores))
        cuts = np.zeros((len(pairs.chunks) - 1, model.n_params + model.n_features))
        pairs.run(
            lambda c, a, b: fidelity_potentials(
                scores, pairs.qptr, a, b, pairs.lower, pairs.weight, pairs.rows, start, pull, cuts[c]
            )
        )
        # The cuts of a feature add up to 0, so the running sum begins at 0 for the next feature too.
        running = np.cumsum(cuts.sum(axis=0))
        parted = np.delete(running, start + np.diff(model.ptr))
        more = pairs.stairs(pull)
        # Both sums are known for each threshold, W+ plus W- and W+ minus W-; rounding may make a part
        # negative.
        return np.maximum(0.5 * (parted + more), 0.0), np.maximum(0.5 * (parted - more), 0.0)
