"""FRank: boosting of threshold functions on the fidelity loss of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.parameters import whole
from directrix.trainers.stump_boosting import Pairs, StumpBooster
from directrix.types import Float64Array


@dataclass(frozen=True)
class FRank(StumpBooster):
    r"""Raise the step that lowers the fidelity loss most.

    .. math:: L = \sum_{l_i > l_j} D_{ij} \left(1 - \sqrt{P_{ij}}\right), \qquad
              P_{ij} = \frac{1}{1 + e^{-(s_i - s_j)}}

    A pair costs at most D, however wrong it is, unlike under RankBoost's or RankNet's loss. For the threshold
    function h with :math:`h_{ij} = h(x_i) - h(x_j)` the step is

    .. math:: \alpha = \tfrac12 \ln \frac{W_+ + \varepsilon}{W_- + \varepsilon},
              \qquad W_\pm = \sum_{h_{ij} = \pm 1} W_{ij},
              \qquad W_{ij} = D_{ij} \frac{e^{-(s_i - s_j)}}{(1 + e^{-(s_i - s_j)})^{3/2}}

    Parameters
    ----------
    rounds : int >= 1
        Steps to raise; a step may be raised again.
    alike : bool
        Whether D gives each query the same weight (times the query's own), as in the paper, or each pair.
    candidates : int >= 1
        Number of threshold functions, each the most promising of a feature, for which the loss is computed;
        the one with the lowest is taken. Promising means a large :math:`(\sqrt{W_+} - \sqrt{W_-})^2`, what
        the step would gain if W fell and rose exponentially. The paper computes the loss for all.

    Notes
    -----
    epsilon = :math:`10^{-3}` of all W keeps steps finite that no pair contradicts. Pairs are visited,
    never stored: a round costs O(d) additions per pair.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.candidates, "candidates", "FRank")

    def _loss(self, pairs: Pairs, scores: Float64Array) -> float:
        from directrix.trainers._kernels.stump_boosting import fidelity

        loss = np.empty(len(pairs.qptr) - 1)
        pairs.run(lambda _, a, b: fidelity(scores, pairs.qptr, a, b, pairs.lower, pairs.weight, loss))
        return float(loss.sum())

    def _round(self, pairs: Pairs, scores: Float64Array) -> tuple[float, int, float]:
        now = self._loss(pairs, scores)
        if pairs.empty or not pairs.model.n_params:
            return now, 0, 0.0
        won, lost = self._won_and_lost(pairs, scores)
        least = _SMOOTH * max(float((won + lost).max()), np.finfo(float).tiny)
        raised = 0.5 * np.log((won + least) / (lost + least))
        promise = (np.sqrt(won) - np.sqrt(lost)) ** 2
        best, height, lowest = 0, 0.0, now
        for param in self._most_promising(pairs, promise):
            step = float(raised[param])
            loss = self._loss(pairs, pairs.centered(scores + step * pairs.step(param)))
            if loss < lowest:
                best, height, lowest = param, step, loss
        return now, best, height

    def _most_promising(self, pairs: Pairs, promise: Float64Array) -> list[int]:
        ptr = pairs.model.ptr
        tops = [int(ptr[f] + np.argmax(promise[ptr[f] : ptr[f + 1]])) for f in np.flatnonzero(np.diff(ptr))]
        return sorted(tops, key=lambda p: -promise[p])[: self.candidates]

    def _won_and_lost(self, pairs: Pairs, scores: Float64Array) -> tuple[Float64Array, Float64Array]:
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
        running = np.cumsum(cuts.sum(axis=0))  # a feature's part adds up to 0: the next begins at 0 again
        parted = np.delete(running, start + np.diff(model.ptr))
        more = pairs.stairs(pull)
        return np.maximum(0.5 * (parted + more), 0.0), np.maximum(0.5 * (parted - more), 0.0)


_SMOOTH = 1e-3
