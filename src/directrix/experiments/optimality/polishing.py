"""Follow rising directions until a test of local optimality finds none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.optimality.certificate import LEVEL, Certificate
from directrix.experiments.optimality.climb import Climb
from directrix.experiments.optimality.directions import RandomDirections, check_steps, n_directions, seed_of
from directrix.experiments.optimality.monte_carlo import STEPS, Progress, changes_along, unit_of
from directrix.experiments.optimality.point import Judge, point_of
from directrix.measures.base import RankingMeasure
from directrix.rankers.parameters import with_parameters
from directrix.types import Float64Array

__all__ = ["Polished", "polish"]

_TESTS = 1  # first word of the seeds of tests, after the user's; of climbing it is another


@dataclass(frozen=True, eq=False)
class Polished:
    """Weights from which rising directions were followed; made by `polish`.

    Parameters
    ----------
    ranker : ranker or None
        A copy with the new weights, if a ranker was given.
    params : float64 (n_params,)
        The new weights.
    certificate : Certificate
        Of the new weights, from directions that had no part in choosing them.
    start : float
        The measure at the weights that were given.
    moves, tests : int
        How often the weights moved, and how many tests there were.
    """

    ranker: Any
    params: Float64Array
    certificate: Certificate
    start: float
    moves: int
    tests: int

    def to_dict(self) -> dict[str, Any]:
        """In JSON types, without the weights."""
        return {
            "start": self.start,
            "moves": self.moves,
            "tests": self.tests,
            "certificate": self.certificate.to_dict(),
        }


def polish(  # noqa: PLR0913
    ranker_or_params: Any,
    data: Any,
    measure: RankingMeasure | str | None = None,
    *,
    eps: float = 0.01,
    delta: float = 0.01,
    steps: Sequence[float] = STEPS,
    relative: bool = False,
    seed: int = 0,
    max_moves: int = 1000,
    progress: Progress | None = None,
) -> Polished:
    r"""Move trained weights up the measure itself until a test of local optimality finds no rising direction.

    Parameters
    ----------
    ranker_or_params, data, measure, eps, delta, steps, relative, seed
        As in `certify`.
    max_moves : int >= 0
        Moves after which it ends, certified or not.
    progress : callable, optional
        Called as ``progress(done, total, text)`` with the directions of the test that runs.

    Returns
    -------
    Polished
        The measure is never lower than before. ``certificate.is_local_optimum`` says whether it got there.

    Raises
    ------
    InputError
        As `certify`.

    Notes
    -----
    A test uses directions that nothing was chosen by. Several tests may be needed, and each could
    certify by luck; test a may do so with chance :math:`\delta_a = \delta / (a (a + 1))`, which makes at most
    :math:`\sum_a \delta_a = \delta` together. So the last one has more than 459 directions, and its
    ``confidence`` is what all of them leave.

    The weights of a linear model keep their norm: the ranking does not know it, and a test with
    absolute steps could be passed by shrinking it.

    It is the training measure that rises: look at validation data before the polished ranker is used.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays(np.eye(3), [0, 1, 2])
    >>> ranker = LinearRanker("ListNet", max_iter=0, start="zero").fit_queries(q)
    >>> better = polish(ranker, q, "nDCG", eps=0.05, delta=0.05, steps=[0.1])
    >>> better.start < 1.0, better.certificate.value, better.certificate.is_local_optimum
    (True, 1.0, True)
    """
    n_directions(eps, delta)  # refuses what is no share
    given = check_steps(steps)
    if max_moves < 0:
        raise InputError(f"max_moves={max_moves!r}: an integer >= 0 is needed, e.g. max_moves=1000.")
    point, goal = point_of(ranker_or_params, data, measure)
    (root,) = seed_of(seed)
    judge = Judge(point, goal)
    unit_of(point.params, relative=relative)  # refuses weights without a length
    climb = Climb(point, judge, goal, np.array(given), relative=relative, seed=root)
    spent, number = 0.0, 0
    while True:
        climb.up(max_moves)
        number += 1
        chance = delta / (number * (number + 1))
        count = n_directions(eps, chance)
        directions = RandomDirections(count, len(climb.params), (root, _TESTS, number))
        last = climb.moves >= max_moves
        curves = changes_along(
            judge, climb.params, climb.value, directions, climb.lengths, progress, until_rise=not last
        )
        if last or not (curves > LEVEL * abs(climb.value)).any():
            break
        spent += (1.0 - eps) ** count
        climb.follow(directions.block(0, len(curves)), curves)
    shape = tuple(given), climb.unit
    found = Certificate(
        goal.name,
        climb.value,
        directions,
        eps,
        delta,
        *shape,
        np.array(curves),
        spent=spent,
        chance=chance,
    )
    better = None
    if point.ranker is not None:
        better = with_parameters(
            point.ranker, climb.params, goal, climb.value, _record(found, judge.value, climb.moves)
        )
    return Polished(better, climb.params, found, judge.value, climb.moves, number)


def _record(found: Certificate, start: float, moves: int) -> dict[str, Any]:
    """What a model file keeps."""
    level = "a local optimum" if found.is_local_optimum else "no local optimum"
    kept = ("measure", "value", "eps", "delta", "n_directions", "n_rising", "confidence", "unit", "steps")
    stored = found.to_dict()
    return {
        "message": f"polished for {found.measure} in {moves} moves to {level}",
        "start": start,
        "moves": moves,
        "certificate": {name: stored[name] for name in kept},
    }
