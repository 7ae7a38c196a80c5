"""Moves that raise a measure: along rising directions, and along their common trend."""

from __future__ import annotations

import contextlib

import numpy as np

from directrix.errors import InputError
from directrix.experiments.cells import Progress
from directrix.experiments.optimality.certificate import LEVEL
from directrix.experiments.optimality.directions import OneWeight, RandomDirections, Steps
from directrix.experiments.optimality.monte_carlo import changes_along
from directrix.experiments.optimality.point import Judge, Point
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.types import Float64Array

_CLIMBING = 2  # second word of the seeds, after the user's; tests have another
_LOOKED_AT = 128
"""Random directions that are tried at a time."""
_FOLLOWED = 8
"""Most rising directions that are followed, the best first."""
_HALVINGS = 10
"""Steps of a network along a direction: the longest step doubled, and halves of that."""


class Climb:
    """Weights that move up the measure from a point; the judge is the measure as a function of weights."""

    def __init__(
        self, point: Point, judge: Judge, measure: RankingMeasure, steps: Steps, *, seed: int
    ) -> None:
        self.params, self.value, self.moves = point.params.copy(), judge.value, 0
        self.steps, self.seed = steps, seed
        self._point, self._judge, self._drawn = point, judge, 0
        self._norm = float(np.linalg.norm(point.params))
        self._axes = OneWeight(point.movable, len(point.params))
        self._search: LineSearch | None = None
        if point.is_linear:
            # where it is not a sum over documents, steps are tried, as for networks
            with contextlib.suppress(InputError):
                self._search = point.line_search(measure)

    def changes(
        self,
        directions: RandomDirections | OneWeight,
        progress: Progress | None = None,
        *,
        until_rise: bool = False,
    ) -> Float64Array:
        """Change of the measure by every step in every direction, see `changes_along`."""
        lengths = self.steps.lengths(self.params)
        return changes_along(
            self._judge, self.params, self.value, directions, lengths, progress, until_rise=until_rise
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
        if self.moves == before:  # the line search found no higher point: take the step that rose
            i = best[0]
            self._take(self.params + lengths[curves[i].argmax()] * directions[i])
        return self.moves > before

    def _along(self, direction: Float64Array) -> None:
        """Move to the best point of a line within the longest step, or for a network of some steps."""
        lengths = self.steps.lengths(self.params)
        reach = float(lengths.max())
        if self._search is not None:
            here, along = self._judge.scores(np.stack([self.params, direction]))
            best = self._search.best_within(here, along, (reach,))[0]
            if best.value > self.value:
                self._take(self.params + best.t * direction)
            return
        lengths = np.concatenate([lengths, 2.0 * reach * 0.5 ** np.arange(_HALVINGS)])
        tries = self.params + lengths[:, None] * direction
        means = self._judge.means(tries)
        self._take(tries[means.argmax()])

    def _take(self, params: Float64Array) -> None:
        """Move to higher weights; those of a linear model get the norm of the start, unless that is lower."""
        value = float(self._judge.means(params[None])[0])
        if not value > self.value + LEVEL * abs(self.value):
            return
        norm = np.linalg.norm(params)
        if self._point.is_linear and self._norm > 0.0 and norm > 0.0:
            shorter = params * (self._norm / norm)
            rescaled = float(self._judge.means(shorter[None])[0])
            if rescaled >= value:
                params, value = shorter, rescaled
        self.params, self.value, self.moves = params, value, self.moves + 1
