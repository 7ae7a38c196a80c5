"""Coordinate ascent on the measure itself, with an exact line search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from directrix.data.checks import generator
from directrix.data.sparse import column_reader
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.models.linear import LinearModel
from directrix.objectives.objective import DataObjective
from directrix.objectives.penalty import nearest_in
from directrix.trainers.loop import (
    Loop,
    Seed,
    Settings,
    linear_measure_objective,
    varying_features,
)
from directrix.types import Callback, Float64Array, Objective, Result


@dataclass(frozen=True)
class CoordinateAscent(Settings):
    r"""Maximize a measure of a linear model, one weight at a time.

    .. math:: w_f \leftarrow \arg\max_{w_f} \; \overline{M}(X w)

    The measure is piecewise constant in a weight; `line_search` examines all pieces, so every step is the
    best possible; published implementations try a list of step sizes.

    Parameters
    ----------
    measure : measure or str, optional
        Measure to maximize: any except interpolated precision and Kendall's tau. Default: the measure of the
        ranker's ``fit``; nDCG@10 outside a ranker.
    max_iter : int >= 1
        Sweeps; each visits all weights in a new random order.
    tol : float >= 0
        Converged when a sweep increases the measure by no more than this.
    random_state : int, numpy Generator or None
        Seed of the orders; None means the ranker's, or 0 outside a ranker.

    Notes
    -----
    Only the queries of the objective, their weights and the linear model are used, not the surrogate;
    losses in trace and result are minus the mean measure. A penalty would have no meaning, because a measure
    does not depend on the length of w: after every sweep :math:`\lVert w\rVert_1 = 1`.

    A start of zeros is replaced by equal weights, as in the paper: with all documents tied, the first weight
    alone would decide. With bounds, every line is searched between the two bounds of the weight, and weights
    whose bounds do not allow length 1 keep their length. The loss never rises. `BestSoFar` keeps the sweep
    with the best validation score. A sweep costs one `line_search` per feature.

    References
    ----------
    Metzler & Croft (2007), Section 4.3, doi:10.1007/s10791-006-9019-z.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.CoordinateAscent("AP").minimize(dx.linear_objective(q, "ApproxAP"), np.zeros(4))
    >>> result.status, result.params.shape
    ('converged', (4,))
    """

    short_name: ClassVar[str] = "coordinate-ascent"
    takes_bounds: ClassVar[bool] = True
    uses_surrogate: ClassVar[bool] = False
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (LinearModel,)

    measure: RankingMeasure | str | None = None
    max_iter: int = 20
    tol: float = 1e-4
    random_state: Seed = None

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Maximize the measure from ``start``; see `LBFGS.minimize`. Steps for the callback are sweeps.

        The objective comes from `linear_objective`, without penalty and document weights.
        """
        linear = linear_measure_objective(objective, self)
        q = linear.source.queries
        measure = self.measure or "nDCG@10"
        search = LineSearch(
            measure, q.labels, q.qptr, query_weight=linear.source.query_weight, doc_ids=q.doc_ids
        )
        nearest, low, high = nearest_in(linear), np.full(len(start), -np.inf), np.full(len(start), np.inf)
        if linear.bounds is not None:
            low, high = linear.bounds.low, linear.bounds.high
        column, features = column_reader(q.features), np.array(varying_features(q), dtype=np.int64)
        features = features[low[features] < high[features]]
        rng = generator(self.random_state)
        params = nearest(np.array(start, dtype=np.float64))
        if not params.any():
            equal = np.full(len(params), 1.0 / len(params))
            # Bounds may allow only negative weights; then a weight begins on the negative side.
            params = np.where(nearest(equal) == 0.0, nearest(-equal), nearest(equal))
        loop, sweep = Loop(params, callback, unit="sweeps"), 0
        with loop:
            point, before = _point_at(linear, search, params), -np.inf
            loop.loss = -point.value
            loop.check(loop.loss)
            while True:
                loop.step(point.params, -point.value)
                if point.value - before <= self.tol:
                    loop.stop("converged", f"a sweep raised the measure by no more than {self.tol:g}")
                loop.limit(self.max_iter, "max_iter")
                sweep, before = sweep + 1, point.value
                for f in rng.permutation(features):
                    within = low[f] - point.params[f], high[f] - point.params[f]
                    # Only points between the bounds of this weight are searched.
                    best = search.best(point.scores, column(int(f)), within)
                    if best.value > point.value:
                        moved = point.params.copy()
                        moved[f] += best.t
                        # The model rounds its scores, so a point counts only if the model itself has the
                        # higher value there.
                        point = max(point, _point_at(linear, search, nearest(moved)), key=lambda p: p.value)
                # The length of the weights has no effect on the ranking, except for rounding, which must not
                # lower the value.
                shorter = point.params / (np.abs(point.params).sum() or 1.0)
                if linear.bounds is None or linear.bounds.holds(shorter):
                    scaled = _point_at(linear, search, shorter)
                    point = scaled if scaled.value >= point.value else point
        counts = {"searches": sweep * len(features)} if loop.trace else {}
        return loop.result(counts, own_loss=True)


class _Point(NamedTuple):
    """Weights, and the model's scores from them in the precision of the features."""

    params: Float64Array
    scores: Float64Array
    value: float


def _point_at(linear: DataObjective, search: LineSearch, params: Float64Array) -> _Point:
    scores = linear.scores(params).astype(np.float64)
    return _Point(params, scores, search.value(scores) if np.isfinite(scores).all() else -np.inf)
