"""The Monte-Carlo test of local optimality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.optimality.certificate import LEVEL, Certificate, ExactRise
from directrix.experiments.optimality.directions import (
    OneWeight,
    RandomDirections,
    Steps,
    check_steps,
    n_directions,
)
from directrix.experiments.optimality.point import Judge, Point, point_of
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.parameters import seed_number
from directrix.types import Float64Array, Progress

STEPS: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The steps of the paper."""
_FLOATS_AT_ONCE = 1 << 20
"""Floats of moved parameters."""
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
        A fitted ranker, or weights: w. All weights and biases of a network move together.
    data : Queries, or objective of a linear model or network
        Usually the training data. A ranker scales them itself; weights take them as they are. An objective
        says which model the weights belong to, and weights queries.
    measure : measure or str, optional
        Default: what the ranker was trained for.
    eps, delta : float in (0, 1)
        Share of directions, and chance of a wrong certificate; 1 % and 1 % need 459 directions.
    steps : sequence of float > 0
        Lengths of the steps.
    relative : bool
        Multiply the steps by the norm of w, on which a linear ranking does not depend.
    exact : bool
        For linear models also: the best point of every line :math:`w + t r_i`, over all t, by `line_search`.
    one_weight : bool
        Instead of random directions: up and down along every single weight ("the gradient vanishes"),
        without the features that order no documents of a linear model.
    seed : int >= 0
        For drawing directions; direction i depends only on it and on i.
    progress : callable, optional
        Called as ``progress(done, total, text)``.

    Raises
    ------
    InputError
        If the ranker's model has no weights (trees, stumps), data and weights do not fit together, no
        query has a value, or a parameter is out of range.

    Notes
    -----
    Each value is what ``score`` would print, with the same bits for any number of threads. Cost: K times the
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
    judge = Judge(point, goal)
    unit, lengths = tried.unit(point.params), tried.lengths(point.params)
    search = point.line_search(goal) if exact else None  # refuses before the work
    curves = changes_along(judge, point.params, judge.value, directions, lengths, progress)
    rises = _exact_rises(judge, search, directions, float(lengths.max()), progress) if search else ()
    return Certificate(goal.name, judge.value, directions, eps, delta, tried.given, unit, curves, rises)


def _directions(point: Point, count: int, seed: int, *, one_weight: bool) -> RandomDirections | OneWeight:
    if not one_weight:
        return RandomDirections(count, len(point.params), (seed,))
    if not point.movable:
        raise InputError("no feature orders the documents of any query, so there is no weight to move.")
    return OneWeight(point.movable, len(point.params))


def changes_along(
    judge: Judge,
    params: Float64Array,
    value: float,
    directions: RandomDirections | OneWeight,
    lengths: Float64Array,
    progress: Progress | None = None,
    *,
    until_rise: bool = False,
) -> Float64Array:
    """Change of the measure by every step in every direction, float64 (n_directions, n_steps).

    With ``until_rise`` only up to the first block with a direction that rises.
    """
    curves = np.empty((directions.count, len(lengths)))
    at_once = min(_DIRECTIONS_AT_ONCE, max(1, _FLOATS_AT_ONCE // (len(lengths) * len(params))))
    for first in range(0, directions.count, at_once):
        last = min(first + at_once, directions.count)
        moves = directions.block(first, last)[:, None, :] * lengths[:, None]
        means = judge.means((params + moves).reshape(-1, len(params)))
        curves[first:last] = means.reshape(last - first, -1) - value
        if progress is not None:
            progress(last, directions.count, "directions")
        if until_rise and (curves[first:last] > LEVEL * abs(value)).any():
            return curves[:last]
    return curves


def _exact_rises(
    judge: Judge,
    search: LineSearch,
    directions: RandomDirections | OneWeight,
    reach: float,
    progress: Progress | None,
) -> tuple[ExactRise, ...]:
    """Search every line through the weights in both directions: within ``reach``, and anywhere.

    With one weight at a time every second direction is skipped: it lies on the line of the one before.
    """
    scores = judge.scores(judge.point.params[None])[0]
    base = search.value(scores)
    reaches = (reach, np.inf)
    lines = range(0, directions.count, 2 if isinstance(directions, OneWeight) else 1)
    rises, places = np.zeros((2, len(lines))), np.zeros((2, len(lines)))
    for row, i in enumerate(lines):
        along = judge.scores(directions.block(i, i + 1))[0]
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
