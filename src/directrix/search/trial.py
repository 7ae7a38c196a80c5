"""`Trial`: a candidate trained and evaluated on the folds, and `LearningCurve`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from directrix.rankers.means import mean_and_error
from directrix.search.plan import Candidate
from directrix.types import Float64Array

# A complete trial has the outcome "". All others say why a trial is not complete; see `Trial`.
UNTRAINED, CUT_SHORT, DROPPED, SAMPLE = "not trained", "cut short", "dropped", "sample"
INCOMPLETE = "incomplete"


class LearningCurve(NamedTuple):
    """One point per step reported to the callback, including the start; float64 (n_steps,) each."""

    steps: Float64Array
    seconds: Float64Array
    """Seconds since training began, without compilation. They depend on the machine and are not saved in
    model files."""
    loss: Float64Array
    """Loss that the trainer minimizes, as in `Step`; NaN if it is not known."""
    valid: Float64Array
    """The measure on the validation queries; NaN unless the best step is kept."""
    best: Float64Array
    """The highest of ``valid`` so far. With folds, the mean of their highest, because each keeps its own
    step."""

    @classmethod
    def of(cls, trace: Sequence[Mapping[str, Any]], seconds: Mapping[int, float]) -> LearningCurve:
        """Join the trace of a `Result` with the times of its steps.

        Under `Restarts` a step is a whole run, and has the last row of that run.
        """
        # Later rows replace earlier ones with the same key, so a run of `Restarts` keeps its last row.
        rows = {int(row.get("restart", row["iteration"])): row for row in trace}
        seen = [
            (step, seconds[step], row["loss"], row.get("score", np.nan))
            for step, row in sorted(rows.items())
            if step in seconds
        ]
        steps, passed, loss, valid = np.array(seen, dtype=np.float64).reshape(-1, 4).T
        return cls(steps, passed, loss, valid, np.fmax.accumulate(valid))


def mean_curve(curves: Sequence[LearningCurve]) -> LearningCurve:
    """Return the mean of the folds after every step, and the sum of their seconds.

    A fold that ended earlier keeps the values of its last step. If a fold has no step, the curve has none.
    """
    shortest, longest = (choose(curves, key=lambda curve: len(curve.steps)) for choose in (min, max))
    if len(curves) == 1 or not len(shortest.steps):
        return shortest
    n = len(longest.steps)
    columns = [[np.pad(column, (0, n - len(column)), mode="edge") for column in curve] for curve in curves]
    _, seconds, *others = (np.stack(column) for column in zip(*columns, strict=True))
    return LearningCurve(longest.steps, seconds.sum(axis=0), *(column.mean(axis=0) for column in others))


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with the results of its training.

    Parameters
    ----------
    candidate : Candidate
        With the learning rate that it was trained with, if a time budget raised it.
    valid, train : float
        Mean of the measure on the validation and the training queries.
    steps : int
        Iterations, epochs, rounds or trees of the evaluated ranker; the median over folds.
    status : str
        Why training stopped, see `Result`; from the last fold.
    seconds : float
        Duration of training and evaluation, without the compilation of kernels.
    values : float64 (n_queries,)
        The measure on every validation query, NaN where it is undefined; for a dropped or incomplete trial,
        on the queries of the folds so far; for one on a sample, on those of the sample.
    outcome : str
        "" for a complete run; "cut short" if the time budget stopped it, and it was evaluated as it was; "not
        trained" if it stopped before the first step; "dropped" if it was too far behind to try all folds;
        "incomplete" if the search was stopped before it had tried all folds; or "sample" if it was trained
        and evaluated only on a sample of the queries.
    curve : LearningCurve, optional
        Loss and measure after every step; without points for a run without steps.
    progress : str
        Progress of a run that the time budget stopped: "8 of 300 trees"; otherwise "".
    rankers : tuple
        Fitted rankers, one for each fold. A search keeps that of the first fold, and after the choice only
        those of the chosen trials.
    scores : float64 (n_docs,)
        Scores of the validation queries, in units of their spread on the training queries; 0 in a fold whose
        ranker gives all training documents of a query the same score.
    """

    candidate: Candidate
    valid: float = math.nan
    train: float = math.nan
    steps: int = 0
    status: str = ""
    seconds: float = 0.0
    values: Float64Array = field(default_factory=lambda: np.zeros(0), repr=False)
    outcome: str = ""
    curve: LearningCurve | None = field(default=None, repr=False)
    progress: str = ""
    rankers: tuple[Any, ...] = field(default=(), repr=False)
    scores: Float64Array = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.candidate.name

    @property
    def label(self) -> str:
        """Method and settings in one line; see `Candidate.label`."""
        return self.candidate.label

    @property
    def place(self) -> int:
        """Place of the candidate in the order of preference."""
        return self.candidate.place

    @property
    def or_worst(self) -> float:
        """``valid``, or minus infinity where the measure is undefined."""
        return -math.inf if math.isnan(self.valid) else self.valid

    @property
    def error(self) -> float:
        """Standard error of ``valid`` over the validation queries; NaN where they do not tell it."""
        return mean_and_error(self.values)[1] or math.nan
