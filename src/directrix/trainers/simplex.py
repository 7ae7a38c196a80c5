"""Exhaustive search for the measure itself, on a grid of weights that add up to 1."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import ClassVar

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.parameters import whole
from directrix.trainers.progress import Progress
from directrix.trainers.requirements import (
    linear_measure_objective,
    varying_features,
    weights_where_defined,
)
from directrix.types import Callback, Float64Array, Objective, Result

_MOST = 200_000


@dataclass(frozen=True)
class SimplexSearch:
    r"""Evaluate a measure for all weights on a grid, and keep the best.

    .. math:: \max_w \; \overline{M}(X w), \qquad
              w_f \in \left\{0, \tfrac1m, \tfrac2m, \dots, 1\right\}, \qquad \sum_f w_f = 1

    A ranking does not depend on the length of w, so that weights >= 0 can be taken from this simplex.

    Parameters
    ----------
    measure : measure or str, optional
        What is maximized. Default: the measure of the ranker's ``fit``; nDCG@10 outside of a ranker.
    steps : int >= 1
        m, the number of steps from 0 to 1; with 1 it finds the best single feature.

    Notes
    -----
    There are :math:`\binom{d + m - 1}{m}` such weights for d features that order the documents of some
    query: 286 for 4 features and 10 steps, 1,035 for 45 features and 2 steps. More than 200,000 are refused.
    Each costs one evaluation of scores and measure.
    Features must point the right way: a weight is never negative.

    Of the objective, only the queries, their weights and the linear model are used, not the surrogate, nor
    the start. The first step has equal weights, and every further one is better on the training queries than
    all before; of weights with the same value the first is kept. `BestSoFar` keeps the step that is best on
    validation queries. Losses in trace and result are minus the mean measure.

    References
    ----------
    Metzler & Croft (2007), Section 4, doi:10.1007/s10791-006-9019-z, next to the search of
    `CoordinateAscent`.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> from directrix.trainers import SimplexSearch
    >>> result = SimplexSearch("AP", steps=2).minimize(dx.linear_objective(q, "ApproxAP"), np.zeros(4))
    >>> bool(np.isin(result.params, [0.0, 0.5, 1.0]).all())  # weights on a grid, which sum to 1
    True
    """

    short_name: ClassVar[str] = "simplex-search"
    budget: ClassVar[str] = "steps"
    models: ClassVar[tuple[type, ...]] = (LinearModel,)

    measure: RankingMeasure | str | None = None
    steps: int = 2

    def __post_init__(self) -> None:
        if self.measure is not None:
            object.__setattr__(self, "measure", parse_measure(self.measure))
        whole(self.steps, "steps", "SimplexSearch")

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Maximize the measure; see `LBFGS.minimize`.

        Parameters
        ----------
        objective : Objective
            Made by `linear_objective`; without penalty and document weights.
        start : float64 (n_features,)
            Only its length matters.
        callback : callable, optional
            Called with a `Step` at equal weights and after every improvement; True stops.

        Raises
        ------
        InputError
            If the objective does not meet this, there are too many weights, or the measure does not suit the
            labels.
        """
        linear = linear_measure_objective(objective, "SimplexSearch")
        q, features = linear.queries, varying_features(linear.queries)
        self._check_size(len(features))
        measure = parse_measure(self.measure or "nDCG@10")
        ready = measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        owner = f"SimplexSearch(measure={measure.name!r})"

        def loss(params: Float64Array) -> float:
            values = ready(linear.scores(params).astype(np.float64))[0]
            weight = weights_where_defined(owner, linear.query_weight, values)
            return -float(weight @ np.nan_to_num(values) / weight.sum())

        progress, tried = Progress(start, callback), 0
        with progress:
            equal = np.full(len(start), 1.0 / max(len(start), 1))
            progress.step(equal, loss(equal))
            for chosen in combinations_with_replacement(features, self.steps) if features else ():
                params = np.bincount(chosen, minlength=len(start)) / self.steps
                now, tried = loss(params), tried + 1
                if now < progress.loss:
                    progress.step(params, now)
            progress.end("converged", f"all {tried} weights of the grid were tried")
        return progress.result({"evaluations": tried + 1}, own_loss=True)

    def _check_size(self, n_features: int) -> None:
        size = comb(n_features + self.steps - 1, self.steps)
        if size > _MOST:
            fits = max((m for m in range(1, self.steps) if comb(n_features + m - 1, m) <= _MOST), default=0)
            other = f"set steps={fits}, or train" if fits else "train"
            raise InputError(
                f"SimplexSearch(steps={self.steps}): the grid for {n_features} features has {size:,} "
                f"weights, more than {_MOST:,}; {other} with CoordinateAscent."
            )
