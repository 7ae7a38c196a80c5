"""AdaRank: boosting of single features for a measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import DCG
from directrix.measures.names import measure as parse_measure
from directrix.measures.prepared import Prepared
from directrix.objectives.objective import Objective as DataObjective
from directrix.trainers.exact import columns, features_of, linear_of
from directrix.trainers.result import Result, Status, Step, check_count
from directrix.types import Float64Array, Objective

__all__ = ["AdaRank"]

_PERFECT = 1.0 - 1e-6  # beyond this a weight would be infinite


@dataclass(frozen=True)
class AdaRank:
    r"""Add up single features, each chosen for the queries that the sum so far ranks badly.

    .. math:: f_t = \arg\max_f \sum_q P_t(q) E(f, q), \qquad
              \alpha_t = \tfrac12 \ln \frac{\sum_q P_t(q)(1 + E(f_t, q))}{\sum_q P_t(q)(1 - E(f_t, q))},
              \qquad P_{t+1}(q) \propto v_q \, e^{-E(\sum_{k \le t} \alpha_k f_k,\; q)}

    with the measure E of a ranking of query q, whose weight is v_q.

    Parameters
    ----------
    measure : measure or str
        E; its values must lie in [-1, 1], as those of all measures but DCG do.
    rounds : int >= 1
        Features to add.
    signs : bool
        Whether features may also count downwards, as weak rankers of their own. The paper takes
        them as they are.
    repeats : int >= 1, or None
        A feature that was chosen so often is set aside until all others were too. None: never, as
        in the paper, where mostly one feature is chosen for good: E of a query lies in a narrow
        range, so P hardly moves.

    Notes
    -----
    The objective lends its queries, their weights and its linear model; its surrogate plays no
    part. The start only says how many weights there are: boosting begins with none.

    Losses in trace and result are :math:`\sum_q v_q e^{-E} / \sum_q v_q`, what boosting lowers;
    it may rise in a round, for which the paper's Theorem 1 gives a condition. E of
    every feature is computed once, ties included as their expectation; a round costs one
    evaluation. A feature that ranks every query perfectly would have an infinite weight: E is
    taken for at most 1 - 1e-6 there.

    The number of rounds is the only thing that keeps it from overfitting: wrap it in `BestSoFar`.

    References
    ----------
    Xu & Li (2007), Figure 2 and Section 3.3, doi:10.1145/1277741.1277809.
    """

    measure: RankingMeasure | str = "AP"
    rounds: int = 300
    signs: bool = False
    repeats: int | None = 1

    def __post_init__(self) -> None:
        measure = parse_measure(self.measure)
        object.__setattr__(self, "measure", measure)
        check_count(self.rounds, "AdaRank(rounds=")
        if self.repeats is not None:
            check_count(self.repeats, "AdaRank(repeats=")
        if isinstance(measure, DCG):
            raise InputError(
                f"AdaRank(measure={measure.name!r}): boosting needs values in [-1, 1], and DCG has no bound; "
                "give its normalised form, e.g. AdaRank('nDCG@10')."
            )

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Boost; see `LBFGS.minimise`.

        Parameters
        ----------
        objective : LinearObjective
            Made by `linear_objective`; without penalty and document weights.
        start : float64 (n_features,)
            Only its length matters.
        callback : callable, optional
            Called with a `Step` at the start (all weights 0) and after every round; True stops.

        Raises
        ------
        InputError
            If the objective is no such one, or the measure does not suit the labels.
        """
        linear = linear_of(objective, "AdaRank")
        q = linear.queries
        ready = parse_measure(self.measure).prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        rankers, values, weight = self._weak_rankers(linear, ready)
        params, now = np.zeros(len(start)), np.nan_to_num(ready(np.zeros(q.n_docs))[0])
        trace: list[dict[str, Any]] = []
        status: Status = "max_iter"
        message = f"{self.rounds} rounds done"
        left, done = np.full(len(rankers), np.inf if self.repeats is None else self.repeats), 0
        while True:
            potential = weight * np.exp(-now)
            loss = float(potential.sum())
            trace.append({"iteration": done, "loss": loss})
            if callback is not None and callback(Step(done, loss, params)):
                status, message = "stopped", "stopped by the callback"
                break
            if not rankers:
                status, message = "converged", "no feature tells the documents of any query apart"
                break
            if done == self.rounds:
                break
            found = values @ potential / loss
            best = int(np.argmax(np.where(left > 0, found, -np.inf)))
            left[best] -= 1
            if not left.any():
                left[:] = self.repeats
            feature, sign = rankers[best]
            mean = float(np.clip(found[best], -_PERFECT, _PERFECT))
            moved = params.copy()
            moved[feature] += sign * 0.5 * np.log((1.0 + mean) / (1.0 - mean))
            scores = linear.scores(moved)
            if not np.isfinite(scores).all():
                status = "not_finite"
                message = f"scores overflow after {done + 1} rounds; scale the features (scale='standard')"
                break
            params, now, done = moved, np.nan_to_num(ready(scores)[0]), done + 1
        return Result(params, loss, status, message, {"iterations": done}, trace, own_loss=True)

    def _weak_rankers(
        self, linear: DataObjective, ready: Prepared
    ) -> tuple[list[tuple[int, int]], Float64Array, Float64Array]:
        """Feature and sign of each, E of each on every query, and the queries' weights with sum 1."""
        q, column = linear.queries, columns(linear.queries)
        rankers = [(f, sign) for f in features_of(q) for sign in ((1, -1) if self.signs else (1,))]
        values = np.array([ready(sign * column(f))[0] for f, sign in rankers]).reshape(-1, q.n_queries)
        skipped = np.isnan(values).all(axis=0) if rankers else np.zeros(q.n_queries, dtype=bool)
        weight = np.where(skipped, 0.0, linear.query_weight)
        if not weight.any():
            raise InputError(
                f"AdaRank(measure={str(self.measure)!r}): it is defined for none of the {q.n_queries} "
                "queries, so nothing can be learned; at least one query needs documents of different labels."
            )
        return rankers, np.nan_to_num(values), weight / weight.sum()
