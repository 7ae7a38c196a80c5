"""Coordinate ascent on the measure itself, with an exact line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.measures.names import measure as parse_measure
from directrix.objectives.objective import Objective as DataObjective
from directrix.trainers.exact import columns, features_of, linear_of
from directrix.trainers.result import Result, Status, Step, check_count
from directrix.types import Float64Array, Objective

__all__ = ["CoordinateAscent"]

_OVERFLOW = "the scores of the start are not finite; scale the features (scale='standard')"


@dataclass(frozen=True)
class CoordinateAscent:
    r"""Maximise a measure of a linear model, one weight at a time.

    .. math:: w_f \leftarrow \arg\max_{w_f} \; \overline{M}(X w)

    The measure is piecewise constant in a weight; `line_search` looks at all pieces, so every
    step is the best there is, where published implementations try a list of step sizes.

    Parameters
    ----------
    measure : measure or str
        What is maximised: all but interpolated precision and Kendall's tau.
    max_iter : int >= 1
        Sweeps; each takes all weights in a new random order.
    tol : float >= 0
        Converged when a sweep raises the measure by no more.
    random_state : int, numpy Generator or None
        Seed of the orders; an integer gives the same bits every time.

    Notes
    -----
    The objective lends its queries, their weights and its linear model; its surrogate plays no
    part, and losses in trace and result are minus the mean measure. A penalty would mean nothing,
    for a measure does not see the length of w: after every sweep :math:`\lVert w\rVert_1 = 1`.

    A start of zeros is replaced by equal weights, as in the paper: with all documents tied the first
    weight alone would decide. The loss never rises. `BestSoFar` keeps the sweep that is best on
    validation queries. A sweep costs a `line_search` a feature.

    References
    ----------
    Metzler & Croft (2007), Section 4.3, doi:10.1007/s10791-006-9019-z.
    """

    measure: RankingMeasure | str = "nDCG@10"
    max_iter: int = 20
    tol: float = 1e-4
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", parse_measure(self.measure))
        check_count(self.max_iter, "CoordinateAscent(max_iter=")
        if not 0.0 <= self.tol < np.inf:
            raise InputError(f"CoordinateAscent(tol={self.tol!r}): tol must be a number >= 0, e.g. 1e-4.")

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Maximise the measure from ``start``; see `LBFGS.minimise`.

        Parameters
        ----------
        objective : LinearObjective
            Made by `linear_objective`; without penalty and document weights.
        start : float64 (n_features,)
            First weights.
        callback : callable, optional
            Called with a `Step` at the start and after every sweep; returning True stops.

        Raises
        ------
        InputError
            If the objective is no such one, or the measure does not suit the labels.
        """
        linear = linear_of(objective, "CoordinateAscent")
        q = linear.queries
        search = LineSearch(
            self.measure, q.labels, q.qptr, query_weight=linear.query_weight, doc_ids=q.doc_ids
        )
        column, features = columns(q), np.array(features_of(q), dtype=np.int64)
        rng = np.random.default_rng(self.random_state)
        params = np.array(start, dtype=np.float64)
        if not params.any():
            params[:] = 1.0 / len(params)
        here = _judged(linear, search, params)
        trace: list[dict[str, Any]] = []
        if here.value == -np.inf:
            return Result(params, np.inf, "not_finite", _OVERFLOW, {"iterations": 0}, trace, own_loss=True)
        status: Status = "max_iter"
        message = f"{self.max_iter} sweeps done; raise max_iter={self.max_iter} to go on"
        sweep, before = 0, -np.inf
        while True:
            trace.append({"iteration": sweep, "loss": -here.value})
            if callback is not None and callback(Step(sweep, -here.value, here.params)):
                status, message = "stopped", "stopped by the callback"
                break
            if here.value - before <= self.tol:
                status, message = "converged", f"a sweep raised the measure by no more than {self.tol:g}"
                break
            if sweep == self.max_iter:
                break
            sweep, before = sweep + 1, here.value
            for f in rng.permutation(features):
                found = search.best(here.scores, column(int(f)))
                if found.value > here.value:
                    moved = here.params.copy()
                    moved[f] += found.t
                    here = max(here, _judged(linear, search, moved), key=lambda point: point.value)
            shorter = _judged(linear, search, here.params / np.abs(here.params).sum())
            here = shorter if shorter.value >= here.value else here
        counts = {"iterations": sweep, "searches": sweep * len(features)}
        return Result(here.params, -here.value, status, message, counts, trace, own_loss=True)


class _Point(NamedTuple):
    """Weights, and what the model makes of them in the precision of the features: that is what counts."""

    params: Float64Array
    scores: Float64Array
    value: float


def _judged(linear: DataObjective, search: LineSearch, params: Float64Array) -> _Point:
    scores = linear.scores(params).astype(np.float64)
    return _Point(params, scores, search.value(scores) if np.isfinite(scores).all() else -np.inf)
