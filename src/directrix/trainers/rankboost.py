"""RankBoost: boosting of threshold functions on the exponential loss of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.trainers.stump_boosting import Pairs, StumpBooster
from directrix.types import Float64Array


@dataclass(frozen=True)
class RankBoost(StumpBooster):
    r"""Raise the step that puts most of the badly ranked pairs right.

    .. math:: L = \sum_{l_i > l_j} D_{ij} e^{-(s_i - s_j)}, \qquad
              r(h) = \frac{1}{L} \sum_{l_i > l_j} D_{ij} e^{-(s_i - s_j)} (h(x_i) - h(x_j)), \qquad
              \alpha = \tfrac12 \ln \frac{1 + r + \varepsilon}{1 - r + \varepsilon}

    over the pairs of documents of one query with different labels; h is the threshold function with the
    largest :math:`|r|` ("third method"). The pairs' weights factor, so that r is a sum over
    documents, :math:`\sum_i \pi_i h(x_i)`: the bipartite form of the paper, for any number of levels.

    Parameters
    ----------
    rounds : int >= 1
        Steps to raise; a step may be raised again.
    alike : bool
        Whether D gives each query the same weight (times the query's own), or each pair, as in
        the paper: then queries with many relevant documents count most.

    Notes
    -----
    The loss never rises. epsilon = 1 over the number of pairs keeps a step finite that no pair
    contradicts (Schapire & Singer 1999, Section 4.2). A round costs O(n d) additions. Only the number of
    rounds keeps it from overfitting: wrap it in `BestSoFar`.

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

    def _round(self, pairs: Pairs, scores: Float64Array) -> tuple[float, int, float]:
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
        r = np.clip(pairs.stairs(pull) / loss, -1.0, 1.0)  # rounding would pass 1 where the loss is denormal
        best = int(np.argmax(np.abs(r)))
        least = 1.0 / pairs.n_pairs
        return loss, best, 0.5 * float(np.log((1.0 + r[best] + least) / (1.0 - r[best] + least)))
