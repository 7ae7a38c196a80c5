"""The Monte-Carlo test of local optimality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.optimality.certificate import LEVEL, Certificate, ExactRise
from directrix.experiments.optimality.directions import (
    OneWeight,
    RandomDirections,
    check_steps,
    n_directions,
    seed_of,
)
from directrix.experiments.optimality.exact import exact_rises, line_search_of
from directrix.experiments.optimality.point import Judge, point_of
from directrix.measures.base import RankingMeasure
from directrix.trainers.requirements import varying_features
from directrix.types import Float64Array

__all__ = ["STEPS", "Progress", "certify", "changes_along", "seed_of", "unit_of"]

Progress = Callable[[int, int, str], None]
"""Called with the directions that are done, how many there are, and what is being done."""

STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The steps of the paper."""
_FLOATS_AT_ONCE = 1 << 20
"""Of moved parameters."""
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

    for random unit vectors r_i and every step :math:`\eta`. If none rises, then with confidence
    :math:`1 - \delta` less than a share :math:`\varepsilon` of all directions does.

    Parameters
    ----------
    ranker_or_params : LinearRanker, MLPRanker, AutoRanker, or float (n_params,)
        A fitted ranker, or weights: w. Of a network all weights and biases move together.
    data : Queries, or objective of a linear model or network
        On which the measure is computed: for the question of the paper the training data. A ranker scales
        them itself; weights take them as they are. An objective says what its weights belong to, and
        weighs queries.
    measure : measure or str, optional
        Default: what the ranker was trained for.
    eps, delta : float in (0, 1)
        Share of directions, and chance of a wrong certificate: 1 % and 1 % make 459 directions.
    steps : sequence of float > 0
        Lengths of the steps.
    relative : bool
        Multiply the steps by the norm of w. A linear ranking does not know its norm, so what an
        absolute step means depends on how long the weights happen to be.
    exact : bool
        For linear models also: the best point of every line :math:`w + t r_i`, over all t, by `line_search`.
    one_weight : bool
        Instead of random directions: up and down along every single weight ("the gradient vanishes").
        Features that order no documents are left out of a linear model.
    seed : int >= 0
        Of the directions; direction i depends on it and on i alone.
    progress : callable, optional
        Called as ``progress(done, total, text)``.

    Returns
    -------
    Certificate

    Raises
    ------
    InputError
        If the ranker's model has no weights (trees, stumps), data and weights do not fit together, no
        query has a value, or a parameter is out of range.

    Notes
    -----
    Changes of at most 1e-12 of the value are level, not rises. Scores are computed as the ranker computes
    them, so each value is what ``score`` would print; the same bits for any number of threads. Cost:
    a prediction and an evaluation a step, K times the number of steps; 4 million scores at a time.

    References
    ----------
    Donmez, Svore & Burges (2009), Section 5, doi:10.1145/1571941.1572021.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays(np.eye(3), [0, 1, 2])
    >>> ranker = LinearRanker("ApproxNDCG").fit_queries(q)
    >>> found = certify(ranker, q, "nDCG", steps=[1e-3])
    >>> found.n_directions, found.n_rising, found.is_local_optimum
    (459, 0, True)
    """
    count, given = n_directions(eps, delta), check_steps(steps)
    point, goal = point_of(ranker_or_params, data, measure)
    seeds = seed_of(seed)
    directions: RandomDirections | OneWeight
    if one_weight:
        weights = varying_features(point.queries) if point.is_linear else range(len(point.params))
        if not weights:
            raise InputError("no feature orders the documents of any query, so there is no weight to move.")
        directions = OneWeight(weights, len(point.params))
    else:
        directions = RandomDirections(count, len(point.params), seeds)
    judge = Judge(point, goal)
    unit = unit_of(point.params, relative=relative)
    lengths = np.array(given) * unit
    search = line_search_of(point, goal) if exact else None  # refuses before the work
    curves = changes_along(judge, point.params, judge.value, directions, lengths, progress)
    rises: tuple[ExactRise, ...] = ()
    if search is not None:
        rises = exact_rises(point, judge, search, directions, float(lengths.max()), progress)
    shape = tuple(given), unit
    return Certificate(goal.name, judge.value, directions, eps, delta, *shape, curves, rises)


def unit_of(params: Float64Array, *, relative: bool) -> float:
    """Return what steps are multiplied with: 1, or the norm of the weights."""
    if not relative:
        return 1.0
    norm = float(np.linalg.norm(params))
    if norm == 0.0:
        raise InputError("relative=True, but all weights are 0 and have no length; use absolute steps.")
    return norm


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

    With ``until_rise`` only as far as the first block with a direction that rises.
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
