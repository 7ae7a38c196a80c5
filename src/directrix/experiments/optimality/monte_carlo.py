"""The Monte-Carlo test of local optimality.

Weights, data and a measure go in. A `Certificate` comes out, which counts random directions that rise:

>>> q = Queries.from_arrays([[1.0, 0.0], [0.0, 1.0]], [0, 1], group=[2])
>>> certify([0.0, 1.0], q, "nDCG", steps=[1e-3]).n_rising
0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from directrix.data.missing import check_finite
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.experiments.optimality.certificate import (
    LEVEL,
    Certificate,
    ExactRise,
    OneWeight,
    RandomDirections,
    Steps,
    check_steps,
    n_directions,
)
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.rows import scores_of
from directrix.objectives.objective import DataObjective
from directrix.parameters import seed_number
from directrix.rankers.base import Ranker
from directrix.rankers.gradient import decompose
from directrix.rankers.means import mean_over_queries, means_on_shards
from directrix.rankers.scoring import check_scores
from directrix.threads import run_chunks
from directrix.trainers.loop import varying_features
from directrix.types import Float64Array, Model, Progress

STEPS: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The steps of the paper."""
# Moved parameters of this number of floats, 8 MiB, are held at a time, of at most this number of directions.
_FLOATS_AT_ONCE = 1 << 20
_DIRECTIONS_AT_ONCE = 32


def certify(  # noqa: PLR0913
    ranker_or_params: Any,
    data: Any,
    measure: RankingMeasure | str | None = None,
    *,
    eps: float = 0.01,
    delta: float = 0.01,
    steps: Sequence[float] = STEPS,
    relative: bool = False,
    exact: bool = False,
    one_weight: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    r"""Test whether trained weights are a local optimum of the measure itself.

    .. math:: \overline{M}(w + \eta r_i) > \overline{M}(w)\;? \qquad i = 1 \dots K, \quad
              K = \lceil \ln\delta / \ln(1 - \varepsilon) \rceil

    for random unit vectors r_i and every step :math:`\eta`; `Certificate` says what follows if none rises.

    Parameters
    ----------
    ranker_or_params : LinearRanker, MLPRanker, AutoRanker, or float (n_params,)
        A fitted ranker, or weights w. All weights and biases of a network move together.
    data : Queries, or objective of a linear model or network
        Usually the training data. A ranker scales the features itself; for weights they are used unchanged.
        An objective defines the model, and the weights of queries.
    measure : measure or str, optional
        Default: the training measure of the ranker.
    eps, delta : float in (0, 1)
        Share of directions, and chance of a wrong certificate; 1 % and 1 % need 459 directions.
    steps : sequence of float > 0
        Lengths of the steps.
    relative : bool
        Multiply the steps by the norm of w, on which a linear ranking does not depend.
    exact : bool
        For linear models also: the best point of every line :math:`w + t r_i`, over all t, by `line_search`.
    one_weight : bool
        Move every single weight up and down, instead of using random directions ("the gradient vanishes"); in
        a linear model, without features that order no documents.
    seed : int >= 0
        Seed of the directions; direction i depends only on the seed and on i.
    progress : callable, optional
        Called as ``progress(done, total, text)``.

    Raises
    ------
    InputError
        If the ranker's model has no weights (trees, stumps), data and weights do not match, no query has a
        value, or a parameter is out of range.

    Notes
    -----
    Each value is that of ``score``, with the same bits for any number of threads. Cost: K times the
    number of steps predictions and evaluations, with at most 4 million scores at a time.

    References
    ----------
    Donmez, Svore & Burges (2009), Section 5, doi:10.1145/1571941.1572021.

    Examples
    --------
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 1, 2], group=[3])
    >>> ranker = LinearRanker("ApproxNDCG").fit_queries(q)
    >>> result = certify(ranker, q, "nDCG", steps=[1e-3])
    >>> result.n_directions, result.n_rising, result.is_local_optimum
    (459, 0, True)
    """
    count, tried = n_directions(eps, delta), Steps(check_steps(steps), relative)
    point, goal = point_of(ranker_or_params, data, measure)
    root = seed_number(seed)
    directions = _directions(point, count, root, one_weight=one_weight)
    evaluator = Evaluator(point, goal)
    unit, lengths = tried.unit(point.params), tried.lengths(point.params)
    search = point.line_search(goal) if exact else None
    curves = changes_along(evaluator, point.params, evaluator.value, directions, lengths, progress)
    rises = _exact_rises(evaluator, search, directions, float(lengths.max()), progress) if search else ()
    return Certificate(goal.name, evaluator.value, directions, eps, delta, tried.given, unit, curves, rises)


def _directions(point: Point, count: int, seed: int, *, one_weight: bool) -> RandomDirections | OneWeight:
    if not one_weight:
        return RandomDirections(count, len(point.params), (seed,))
    if not point.movable:
        raise InputError("no feature orders the documents of any query, so there is no weight to move.")
    return OneWeight(point.movable, len(point.params))


def changes_along(
    evaluator: Evaluator,
    params: Float64Array,
    value: float,
    directions: RandomDirections | OneWeight,
    lengths: Float64Array,
    progress: Progress | None = None,
    *,
    until_rise: bool = False,
) -> Float64Array:
    """Return the change of the measure by every step in every direction, float64 (n_directions, n_steps).

    With ``until_rise`` it stops after the first block with a rising direction.
    """
    curves = np.empty((directions.count, len(lengths)))
    at_once = min(_DIRECTIONS_AT_ONCE, max(1, _FLOATS_AT_ONCE // (len(lengths) * len(params))))
    for first in range(0, directions.count, at_once):
        last = min(first + at_once, directions.count)
        moves = directions.block(first, last)[:, None, :] * lengths[:, None]
        means = evaluator.means((params + moves).reshape(-1, len(params)))
        curves[first:last] = means.reshape(last - first, -1) - value
        if progress is not None:
            progress(last, directions.count, "directions")
        if until_rise and (curves[first:last] > LEVEL * abs(value)).any():
            return curves[:last]
    return curves


def _exact_rises(
    evaluator: Evaluator,
    search: LineSearch,
    directions: RandomDirections | OneWeight,
    reach: float,
    progress: Progress | None,
) -> tuple[ExactRise, ...]:
    """Search every line through the weights in both directions: within ``reach``, and anywhere.

    With one weight at a time every second direction is skipped: it lies on the line of the one before.
    """
    scores = evaluator.scores(evaluator.point.params[None])[0]
    base = search.value(scores)
    reaches = (reach, np.inf)
    lines = range(0, directions.count, 2 if isinstance(directions, OneWeight) else 1)
    rises, places = np.zeros((2, len(lines))), np.zeros((2, len(lines)))
    for row, i in enumerate(lines):
        along = evaluator.scores(directions.block(i, i + 1))[0]
        for k, highest in enumerate(search.best_within(scores, along, reaches)):
            rises[k, row], places[k, row] = highest.value - base, highest.t
        if progress is not None:
            progress(row + 1, len(lines), "lines")
    level = LEVEL * abs(base)
    summaries = []
    for k, distance in enumerate(reaches):
        row, n_rising = int(rises[k].argmax()), int((rises[k] > level).sum())
        best = (float(rises[k, row]), lines[row], float(places[k, row])) if n_rising else (0.0, None, 0.0)
        summaries.append(ExactRise(distance, n_rising, *best))
    return tuple(summaries)


# Scores of this number of floats, 32 MiB, are held at a time.
_SCORES_AT_ONCE = 1 << 22
# From this number of score vectors on, each is ranked by one thread. Fewer are ranked one by one, on all.
_ENOUGH = 8


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters of a model on data."""

    # A linear model or a network.
    model: Model
    params: Float64Array
    # Queries or ShardedQueries, scaled as the model needs them.
    queries: Any
    # Weights of the queries in the mean; None for equal ones.
    query_weight: Float64Array | None = None
    # The ranker that has these parameters, if one was given.
    ranker: Any = None

    @property
    def is_linear(self) -> bool:
        """Whether scores move along straight lines."""
        return isinstance(self.model, LinearModel)

    @property
    def movable(self) -> Sequence[int]:
        """Weights that can change a ranking; in a linear model, those of features that order documents."""
        return varying_features(self.queries) if self.is_linear else range(len(self.params))

    def line_search(self, measure: RankingMeasure) -> LineSearch:
        """Return the line search on the data.

        Raises `InputError` if the model is not linear, or the measure is not a sum over documents.
        """
        if not self.is_linear:
            raise InputError(
                f"exact=True: the scores of {self.model!r} do not move along straight lines; leave exact "
                "out, or test a linear model."
            )
        q = self.queries
        if not isinstance(q, Queries):
            raise q.features.refusal("exact=True")
        return LineSearch(measure, q.labels, q.qptr, query_weight=self.query_weight, doc_ids=q.doc_ids)


def point_of(ranker_or_params: Any, data: Any, measure: Any) -> tuple[Point, RankingMeasure]:
    """Return the point, and the measure that it is tested for; see `certify`."""
    if isinstance(ranker_or_params, Ranker):
        if not hasattr(data, "held"):
            raise InputError(
                f"data is a {type(data).__name__}; a ranker scales its data itself and is tested on Queries, "
                "e.g. read_letor(path)."
            )
        model, params, queries, ranker = decompose(ranker_or_params, data)
        check_finite(queries, "the data")
        goal = ranker.measure_ if measure is None else measure
        return Point(model, params, queries, None, ranker), parse_measure(goal)
    try:
        vector = np.array(ranker_or_params, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"ranker_or_params is a {type(ranker_or_params).__name__}; a fitted LinearRanker or MLPRanker is "
            "needed, or weights: one for every feature, shape (n_features,)."
        ) from None
    if hasattr(data, "held"):
        point = Point(LinearModel(), vector, data)
        n_params = data.n_features
    elif isinstance(data, DataObjective) and isinstance(data.source.model, LinearModel | MLPModel):
        source = data.source
        point = Point(source.model, vector, source.queries, source.query_weight)
        n_params = source.queries.n_features
        if isinstance(source.model, MLPModel):
            n_params = source.model.n_params(n_params)
    else:
        raise InputError(
            f"data is a {type(data).__name__}; Queries are needed, or the objective of a linear model or a "
            "network, e.g. linear_objective(queries, 'ApproxNDCG')."
        )
    if vector.shape != (n_params,) or not np.isfinite(vector).all():
        raise InputError(
            f"params has shape {vector.shape}; {n_params} finite numbers are needed on {data!r}, e.g. "
            "ranker.coef_ of a fitted LinearRanker."
        )
    if measure is None:
        raise InputError("weights have no measure of their own; pass one, e.g. measure='nDCG@10'.")
    check_finite(point.queries, "the data")
    return point, parse_measure(measure)


class Evaluator:
    """Mean over queries of a measure as a function of parameters; functions of labels are computed once."""

    def __init__(self, point: Point, measure: RankingMeasure) -> None:
        self.point, self.measure, q = point, measure, point.queries
        if isinstance(q, Queries):
            self._ready = measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        self.value = float(self.means(point.params[None])[0])
        """The mean at the point itself."""
        if np.isnan(self.value):
            raise InputError(
                f"{measure} is defined for none of the {q.n_queries} queries, so nothing can rise; at least "
                "one query needs documents of different labels."
            )

    def scores(self, params: Float64Array) -> Float64Array:
        """Return scores of documents, float64 (n_vectors, n_docs), of parameters (n_vectors, n_params)."""
        return scores_of(self.point.model, params, self.point.queries.features)

    def means(self, params: Float64Array) -> Float64Array:
        """Mean over queries for every vector of parameters (n_vectors, n_params): float64 (n_vectors,).

        The values have the same bits as ``ranker.score``, for any number of vectors and of threads.
        At most 4 million scores, 32 MiB, are held at a time, or those of one vector.
        """
        if self.point.queries.held == "shards":
            return means_on_shards(self.measure, self.point.model, self.point.queries, params)
        means = np.empty(len(params))
        at_once = max(1, _SCORES_AT_ONCE // max(self.point.queries.n_docs, 1))
        for first in range(0, len(params), at_once):
            scores = self.scores(params[first : first + at_once])
            if len(scores) < _ENOUGH:
                for i in range(len(scores)):
                    self._fill(means[first:], scores, i)
            else:
                run_chunks(partial(self._fill, means[first:], scores), len(scores))
        return means

    def _fill(self, means: Float64Array, scores: Float64Array, i: int) -> None:
        if not np.isfinite(scores[i]).all():
            check_scores(scores[i], self.point.queries)
        means[i] = mean_over_queries(self._ready(scores[i])[0], self.point.query_weight)
