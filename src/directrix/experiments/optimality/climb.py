"""Moves up a measure: along directions that rise, and along what they have in common."""

from __future__ import annotations

import contextlib

import numpy as np

from directrix.errors import InputError
from directrix.experiments.optimality.certificate import LEVEL
from directrix.experiments.optimality.directions import OneWeight, RandomDirections
from directrix.experiments.optimality.exact import line_search_of
from directrix.experiments.optimality.monte_carlo import changes_along, unit_of
from directrix.experiments.optimality.point import Judge, Point
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.trainers.requirements import varying_features
from directrix.types import Float64Array

__all__ = ["Climb"]

_CLIMBING = 2  # first word of the seeds, after the user's; of tests it is another
_LOOKED_AT = 128
"""Random directions at a time."""
_FOLLOWED = 8
"""Of those that rise, the best so many are followed."""
_HALVINGS = 10
"""Lengths of steps of a network along a direction: the longest step doubled, and halved so often."""


class Climb:
    """Weights that move up.

    Parameters
    ----------
    point : Point
        Where to begin.
    judge : Judge
        The measure as a function of weights.
    measure : measure
    steps : float64 (n_steps,)
    relative : bool
        Whether steps are multiplied by the norm of the weights.
    seed : int
    """

    def __init__(
        self,
        point: Point,
        judge: Judge,
        measure: RankingMeasure,
        steps: Float64Array,
        *,
        relative: bool,
        seed: int,
    ) -> None:
        self.params, self.value, self.moves = point.params.copy(), judge.value, 0
        self._point, self._judge, self._steps, self._relative = point, judge, steps, relative
        self._seed, self._drawn = seed, 0
        self._norm = float(np.linalg.norm(point.params))
        n_params = len(point.params)
        self._axes = OneWeight(
            varying_features(point.queries) if point.is_linear else range(n_params), n_params
        )
        self._search: LineSearch | None = None
        if point.is_linear:
            with contextlib.suppress(InputError):  # no sum over documents: steps are tried, as for networks
                self._search = line_search_of(point, measure)

    @property
    def unit(self) -> float:
        """What steps are multiplied with: 1, or the norm of the weights."""
        return unit_of(self.params, relative=self._relative)

    @property
    def lengths(self) -> Float64Array:
        """Lengths of the steps here."""
        return self._steps * self.unit

    def up(self, max_moves: int) -> None:
        """Climb until neither random directions nor single weights rise, or so many moves were made."""
        while self.moves < max_moves:
            self._drawn += 1
            directions = RandomDirections(_LOOKED_AT, len(self.params), (self._seed, _CLIMBING, self._drawn))
            if not self._look(directions) and not self._look(self._axes):
                return

    def _look(self, directions: RandomDirections | OneWeight) -> bool:
        curves = changes_along(self._judge, self.params, self.value, directions, self.lengths)
        return self.follow(directions.block(0, len(curves)), curves)

    def follow(self, directions: Float64Array, curves: Float64Array) -> bool:
        """Move along directions that rise, and along their common trend; return whether the weights moved."""
        heights = curves.max(axis=1)
        rising = np.flatnonzero(heights > LEVEL * abs(self.value))
        if not len(rising):
            return False
        best = rising[np.argsort(-heights[rising], kind="stable")][:_FOLLOWED]
        trend = (curves / self.lengths).mean(axis=1) @ directions
        before = self.moves
        length = np.linalg.norm(trend)
        if length > 0.0:
            self._along(trend / length)
        for i in best:
            self._along(directions[i])
        if self.moves == before:  # the very step that rose; the line search found no point that does
            i = best[0]
            self._take(self.params + self.lengths[curves[i].argmax()] * directions[i])
        return self.moves > before

    def _along(self, direction: Float64Array) -> None:
        """Go to the best point of a line: of all within the longest step, or of some for a network."""
        reach = float(self.lengths.max())
        if self._search is not None:
            here, along = self._judge.scores(np.stack([self.params, direction]))
            best = self._search.best_within(here, along, (reach,))[0]
            if best.value > self.value:
                self._take(self.params + best.t * direction)
            return
        lengths = np.concatenate([self.lengths, 2.0 * reach * 0.5 ** np.arange(_HALVINGS)])
        tries = self.params + lengths[:, None] * direction
        means = self._judge.means(tries)
        self._take(tries[means.argmax()])

    def _take(self, params: Float64Array) -> None:
        """Move there if it is higher; then, for a linear model, to the norm of the start if no lower."""
        value = float(self._judge.means(params[None])[0])
        if not value > self.value + LEVEL * abs(self.value):
            return
        norm = np.linalg.norm(params)
        if self._point.is_linear and self._norm > 0.0 and norm > 0.0:
            shorter = params * (self._norm / norm)
            there = float(self._judge.means(shorter[None])[0])
            if there >= value:
                params, value = shorter, there
        self.params, self.value, self.moves = params, value, self.moves + 1
