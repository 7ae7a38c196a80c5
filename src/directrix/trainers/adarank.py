"""AdaRank: boosting of single features for a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from directrix.data.sparse import column_reader
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import DCG
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.trainers.loop import (
    Loop,
    Settings,
    linear_measure_objective,
    varying_features,
)
from directrix.types import Callback, Float64Array, Objective, Result

_PERFECT = 1.0 - 1e-6
"""Highest mean of E that counts: the weight of a perfect feature would be infinite; now it is about 7."""


@dataclass(frozen=True)
class AdaRank(Settings):
    r"""Add up single features, each chosen for the queries that the sum so far ranks badly.

    .. math:: f_t = \arg\max_f \sum_q P_t(q) E(f, q), \qquad
              \alpha_t = \tfrac12 \ln \frac{\sum_q P_t(q)(1 + E(f_t, q))}{\sum_q P_t(q)(1 - E(f_t, q))},
              \qquad P_{t+1}(q) \propto v_q \, e^{-E(\sum_{k \le t} \alpha_k f_k,\; q)}

    with the measure E of a ranking of query q, whose weight is v_q.

    Parameters
    ----------
    measure : measure or str, optional
        E, with values in [-1, 1], as all measures except DCG have. Default: the measure of the ranker's
        ``fit``; AP outside a ranker.
    rounds : int >= 1
        Number of features to add.
    signs : bool
        Whether features may also rank in descending order, as further weak rankers. The paper does not do so.
    repeats : int >= 1, or None
        A feature that was chosen this number of times is omitted until all others were too. None: never, as
        in the paper; then mostly the same feature is chosen, because E of a query lies in a narrow range and
        P hardly changes.

    Notes
    -----
    Only the queries of the objective, their weights and the linear model are used, not the surrogate.
    The start only determines the number of weights: boosting begins with zeros.

    Losses in trace and result are :math:`\sum_q v_q e^{-E} / \sum_q v_q`, which boosting minimizes; it may
    rise in a round, and the paper's Theorem 1 gives a condition for that. E of every feature is computed
    once, with the expectation over ties; a round costs one evaluation. A feature that ranks every query
    perfectly would have an infinite weight, so E is limited to 1 - 1e-6.

    Only the number of rounds prevents overfitting: wrap it in `BestSoFar`.

    References
    ----------
    Xu & Li (2007), Figure 2 and Section 3.3, doi:10.1145/1277741.1277809.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> from directrix.trainers import AdaRank
    >>> result = AdaRank("AP", rounds=10).minimize(dx.linear_objective(q, "ApproxAP"), np.zeros(4))
    >>> bool((result.params >= 0.0).all()), result.params.shape
    (True, (4,))
    """

    short_name: ClassVar[str] = "adarank"
    uses_surrogate: ClassVar[bool] = False
    budget: ClassVar[str] = "rounds"
    models: ClassVar[tuple[type, ...]] = (LinearModel,)

    measure: RankingMeasure | str | None = None
    rounds: int = 300
    signs: bool = False
    repeats: int | None = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.measure, DCG):
            raise InputError(
                f"AdaRank(measure={self.measure.name!r}): boosting needs values in [-1, 1], and DCG has no "
                "bound; give its normalized form, e.g. AdaRank('nDCG@10')."
            )

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Boost; see `LBFGS.minimize`.

        The objective comes from `linear_objective`, without penalty and document weights. Only the length of
        ``start`` matters. Steps for the callback are the start (all weights 0) and the rounds.
        """
        linear = linear_measure_objective(objective, self)
        q = linear.source.queries
        measure = parse_measure(self.measure or "AP")
        ready = measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        unordered = ready(np.zeros(q.n_docs))[0]
        weight = _weights_where_defined(
            f"AdaRank(measure={measure.name!r})", linear.source.query_weight, unordered
        )
        weight /= weight.sum()
        column = column_reader(q.features)
        rankers = [(f, sign) for f in varying_features(q) for sign in ((1, -1) if self.signs else (1,))]
        values = np.array([ready(sign * column(f))[0] for f, sign in rankers]).reshape(-1, q.n_queries)
        # Queries that the measure skips have no weight, so any number serves as their value.
        values = np.nan_to_num(values)
        loop, params = Loop(start, callback, unit="rounds"), np.zeros(len(start))
        now = np.nan_to_num(unordered)
        left = np.full(len(rankers), np.inf if self.repeats is None else self.repeats)
        with loop:
            while True:
                # Queries that the sum ranks badly have the highest potential.
                potential = weight * np.exp(-now)
                loss = float(potential.sum())
                loop.step(params, loss)
                if not rankers:
                    loop.stop("converged", "no feature distinguishes the documents of any query")
                loop.limit(self.rounds, "rounds")
                means = values @ potential / loss
                best = int(np.argmax(np.where(left > 0, means, -np.inf)))
                left[best] -= 1
                # All features have been used up, so each may be chosen again.
                if not left.any():
                    left[:] = self.repeats
                mean = float(np.clip(means[best], -_PERFECT, _PERFECT))
                params = params.copy()
                feature, sign = rankers[best]
                params[feature] += sign * 0.5 * np.log((1.0 + mean) / (1.0 - mean))
                scores = linear.scores(params)
                loop.check(scores)
                now = np.nan_to_num(ready(scores)[0])
        return loop.result(own_loss=True)


def _weights_where_defined(owner: str, weight: Float64Array, values: Float64Array) -> Float64Array:
    """Return the queries' weights, 0 where the measure is undefined (NaN); `InputError` if none is left."""
    weight = np.where(np.isnan(values), 0.0, weight)
    if not weight.any():
        raise InputError(
            f"{owner}: it is undefined for all {len(values)} queries, so nothing can be learned; at "
            "least one query needs documents of different labels."
        )
    return weight
