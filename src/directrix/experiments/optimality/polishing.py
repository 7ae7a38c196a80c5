"""Follow directions that raise a measure until a test of local optimality finds none."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.experiments.optimality.certificate import (
    LEVEL,
    Certificate,
    OneWeight,
    RandomDirections,
    Steps,
    check_steps,
    n_directions,
)
from directrix.experiments.optimality.monte_carlo import STEPS, Evaluator, changes_along, point_of
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.parameters import seed_number, whole
from directrix.rankers.gradient import with_parameters
from directrix.types import Float64Array, Progress

# The second word of the seeds of climbing, after the seed of the user. Tests have another.
_CLIMBING = 2
# This number of random directions is tried at a time. The best of those that rise are followed, up to
# `_FOLLOWED`.
_LOOKED_AT = 128
_FOLLOWED = 8
# A network takes this number of steps along a direction: the longest step doubled, and halves of that.
_HALVINGS = 10


class Climb:
    """Weights that improve the measure of an evaluator, from its point."""

    def __init__(self, evaluator: Evaluator, steps: Steps, seed: int) -> None:
        point = evaluator.point
        self.params, self.value, self.moves = point.params.copy(), evaluator.value, 0
        self.steps, self.seed = steps, seed
        self.evaluator, self._drawn = evaluator, 0
        self._norm = float(np.linalg.norm(point.params))
        self._axes = OneWeight(point.movable, len(point.params))
        self._search: LineSearch | None = None
        if point.is_linear:
            # A measure that is not a sum over documents has no line search. Steps are tried, as for networks.
            with contextlib.suppress(InputError):
                self._search = point.line_search(evaluator.measure)

    def changes(
        self,
        directions: RandomDirections | OneWeight,
        progress: Progress | None = None,
        *,
        until_rise: bool = False,
    ) -> Float64Array:
        """Return the change of the measure by every step in every direction; see `changes_along`."""
        lengths = self.steps.lengths(self.params)
        return changes_along(
            self.evaluator, self.params, self.value, directions, lengths, progress, until_rise=until_rise
        )

    def up(self, max_moves: int) -> None:
        """Climb until neither random directions nor single weights rise, or ``max_moves`` is reached."""
        while self.moves < max_moves:
            self._drawn += 1
            directions = RandomDirections(_LOOKED_AT, len(self.params), (self.seed, _CLIMBING, self._drawn))
            if not self._try(directions) and not self._try(self._axes):
                return

    def _try(self, directions: RandomDirections | OneWeight) -> bool:
        curves = self.changes(directions)
        return self.follow(directions.block(0, len(curves)), curves)

    def follow(self, directions: Float64Array, curves: Float64Array) -> bool:
        """Move along directions that rise, and along their common trend; return whether the weights moved."""
        heights = curves.max(axis=1)
        rising = np.flatnonzero(heights > LEVEL * abs(self.value))
        if not len(rising):
            return False
        best = rising[np.argsort(-heights[rising], kind="stable")][:_FOLLOWED]
        lengths = self.steps.lengths(self.params)
        trend = (curves / lengths).mean(axis=1) @ directions
        before = self.moves
        slope = np.linalg.norm(trend)
        if slope > 0.0:
            self._along(trend / slope)
        for i in best:
            self._along(directions[i])
        # The line search can miss a higher point that the test found. The step of the test is then taken.
        if self.moves == before:
            i = best[0]
            self._take(self.params + lengths[curves[i].argmax()] * directions[i])
        return self.moves > before

    def _along(self, direction: Float64Array) -> None:
        """Move to the best point of a line within the longest step, or for a network of some steps."""
        lengths = self.steps.lengths(self.params)
        reach = float(lengths.max())
        if self._search is not None:
            here, along = self.evaluator.scores(np.stack([self.params, direction]))
            best = self._search.best_within(here, along, (reach,))[0]
            if best.value > self.value:
                self._take(self.params + best.t * direction)
            return
        lengths = np.concatenate([lengths, 2.0 * reach * 0.5 ** np.arange(_HALVINGS)])
        tries = self.params + lengths[:, None] * direction
        means = self.evaluator.means(tries)
        self._take(tries[means.argmax()])

    def _take(self, params: Float64Array) -> None:
        """Move to higher weights; those of a linear model get the norm of the start, unless that is lower."""
        value = float(self.evaluator.means(params[None])[0])
        if not value > self.value + LEVEL * abs(self.value):
            return
        norm = np.linalg.norm(params)
        if self.evaluator.point.is_linear and self._norm > 0.0 and norm > 0.0:
            shorter = params * (self._norm / norm)
            rescaled = float(self.evaluator.means(shorter[None])[0])
            if rescaled >= value:
                params, value = shorter, rescaled
        self.params, self.value, self.moves = params, value, self.moves + 1


# The second word of the seeds of tests, after the seed of the user. Climbing has another, so directions
# differ.
_TESTS = 1


@dataclass(frozen=True, eq=False)
class Polished:
    """Weights that were moved along rising directions; made by `polish`.

    Parameters
    ----------
    ranker : ranker or None
        A copy with the new weights, if a ranker was given.
    params : float64 (n_params,)
        The new weights.
    certificate : Certificate
        Certificate of the new weights, from directions that were not used to choose them.
    start : float
        The measure at the given weights.
    moves, tests : int
        Number of moves, and of tests.
    """

    ranker: Any
    params: Float64Array
    certificate: Certificate
    start: float
    moves: int
    tests: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types, without the weights."""
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
        Maximum number of moves, after which it stops, certified or not.
    progress : callable, optional
        Called as ``progress(done, total, text)`` with the directions of the running test.

    Returns
    -------
    Polished
        The measure is never lower than before. ``certificate.is_local_optimum`` says whether the test passed.

    Raises
    ------
    InputError
        As for `certify`.

    Notes
    -----
    The directions of a test are not used to choose moves. Several tests may be needed, and each could certify
    by chance: test a does so with probability at most :math:`\delta_a = \delta / (a (a + 1))`, and all tests
    together with at most :math:`\sum_a \delta_a = \delta`. So the last test has more than 459 directions, and
    its ``confidence`` accounts for all tests.

    The weights of a linear model keep their norm: the ranking does not depend on it, and a test with absolute
    steps could be passed by shrinking it. Only the training measure rises; check the polished ranker on
    validation data before you use it.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays(np.eye(3), [0, 1, 2], group=[3])
    >>> ranker = LinearRanker("ListNet", max_iter=0, start="zero").fit_queries(q)
    >>> better = polish(ranker, q, "nDCG", eps=0.05, delta=0.05, steps=[0.1])
    >>> better.start < 1.0, better.certificate.value, better.certificate.is_local_optimum
    (True, 1.0, True)
    """
    # The call raises the error for a fraction outside (0, 1) before the work begins.
    n_directions(eps, delta)
    tried = Steps(check_steps(steps), relative)
    whole(max_moves, "max_moves", least=0)
    point, goal = point_of(ranker_or_params, data, measure)
    root = seed_number(seed)
    evaluator = Evaluator(point, goal)
    # The call raises the error for weights of length 0, for which relative radii have no unit.
    tried.unit(point.params)
    climb = Climb(evaluator, tried, root)
    certificate, tests = _until_certified(climb, eps, delta, max_moves, progress)
    polished = None
    if point.ranker is not None:
        record = _record(certificate, evaluator.value, climb.moves)
        polished = with_parameters(point.ranker, climb.params, goal, climb.value, record)
    return Polished(polished, climb.params, certificate, evaluator.value, climb.moves, tests)


def _until_certified(
    climb: Climb, eps: float, delta: float, max_moves: int, progress: Progress | None
) -> tuple[Certificate, int]:
    """Climb and test in turn; return the last certificate and the number of tests."""
    spent, number = 0.0, 0
    while True:
        climb.up(max_moves)
        number += 1
        # These chances add up to delta over all tests, see the notes of `polish`.
        chance = delta / (number * (number + 1))
        count = n_directions(eps, chance)
        directions = RandomDirections(count, len(climb.params), (climb.seed, _TESTS, number))
        last = climb.moves >= max_moves
        curves = climb.changes(directions, progress, until_rise=not last)
        if last or not (curves > LEVEL * abs(climb.value)).any():
            break
        spent += (1.0 - eps) ** count
        climb.follow(directions.block(0, len(curves)), curves)
    unit = climb.steps.unit(climb.params)
    certificate = Certificate(
        climb.evaluator.measure.name,
        climb.value,
        directions,
        eps,
        delta,
        climb.steps.given,
        unit,
        np.array(curves),
        spent=spent,
        chance=chance,
    )
    return certificate, number


def _record(certificate: Certificate, start: float, moves: int) -> dict[str, Any]:
    """The part of the certificate that a model file keeps."""
    level = "a local optimum" if certificate.is_local_optimum else "not a local optimum"
    names = ("measure", "value", "eps", "delta", "n_directions", "n_rising", "confidence", "unit", "steps")
    stored = certificate.to_dict()
    return {
        "message": f"polished for {certificate.measure} in {moves} moves to {level}",
        "start": start,
        "moves": moves,
        "certificate": {name: stored[name] for name in names},
    }
