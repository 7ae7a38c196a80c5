"""One trial of a search: trained and judged on folds, and its ranker trained again on all queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.split import fold_numbers
from directrix.errors import InputError
from directrix.kernels import working_time
from directrix.measures.base import RankingMeasure
from directrix.rankers.inputs import Weights
from directrix.rankers.limits import CONSTRAINTS
from directrix.rankers.method import Trial
from directrix.rankers.named_trainers import planned_steps
from directrix.rankers.selection.clock import Clock, Pace
from directrix.rankers.selection.curve import LearningCurve, mean_curve
from directrix.rankers.training import mean_and_error, mean_over_queries, spread_within_queries, values_of
from directrix.types import Array, Float64Array, Step

UNTRAINED, CUT_SHORT, SAMPLE = "not trained", "cut short", "sample"
"""Outcomes of candidates, see `Candidate`."""

_FEWEST_TO_SPLIT = 10
_ENOUGH_TO_HOLD_BACK = 1000
_FOLDS = 5


class Fold(NamedTuple):
    """Queries to train on, their weights, and queries that judge."""

    train: Queries
    weights: Weights
    judge: Queries


def selection_folds(
    q: Queries, valid: Queries | None, weights: Weights, folds: int | None, seed: int
) -> tuple[list[Fold], str]:
    """Return the folds, and in words which queries choose; see `search`."""
    if valid is not None:
        return [Fold(q, weights, valid)], f"{valid.n_queries} validation queries"
    if q.n_queries < _FEWEST_TO_SPLIT:
        return [Fold(q, weights, q)], f"the training queries ({q.n_queries}, too few to hold some out)"
    if folds is None:
        folds = _FOLDS if q.n_queries < _ENOUGH_TO_HOLD_BACK else 1
    if folds > q.n_queries:
        raise InputError(
            f"folds={folds} for {q.n_queries} queries: every fold needs a validation query.",
            python=f"Type at most folds={q.n_queries}, or leave it out for {_FOLDS}.",
            shell=f"Type at most --folds {q.n_queries}, or leave it out for {_FOLDS}.",
        )
    number = fold_numbers(q.n_queries, max(folds, _FOLDS if folds == 1 else 2), seed=seed)
    parts = [_fold(q, weights, number == fold) for fold in range(folds)]
    if folds == 1:
        judged = f"{parts[0].judge.n_queries} of {q.n_queries} queries held back"
    else:
        judged = f"{q.n_queries} queries in {folds} folds"
    return parts, f"{judged} (seed {seed}), then trained on all"


def _fold(q: Queries, weights: Weights, is_held_back: Array) -> Fold:
    return Fold(*_part(q, weights, ~is_held_back), q.take(np.flatnonzero(is_held_back)))


def _part(q: Queries, weights: Weights, is_in: Array) -> tuple[Queries, Weights]:
    by_document, by_query = weights
    part = (
        None if by_document is None else by_document[np.repeat(is_in, np.diff(q.qptr))],
        None if by_query is None else by_query[is_in],
    )
    return q.take(np.flatnonzero(is_in)), part


def sample(fold: Fold, n_docs: int, seed: int) -> Fold:
    """Return random queries of a fold, with about ``n_docs`` documents to train on and as many to judge."""
    train, weights = _part(fold.train, fold.weights, _is_drawn(fold.train, n_docs, seed))
    return Fold(train, weights, fold.judge.take(np.flatnonzero(_is_drawn(fold.judge, n_docs, seed))))


def _is_drawn(q: Queries, n_docs: int, seed: int) -> Array:
    order = np.random.default_rng(seed).permutation(q.n_queries)
    n = max(_FEWEST_TO_SPLIT, int(np.searchsorted(np.cumsum(np.diff(q.qptr)[order]), n_docs, "right")))
    drawn = np.zeros(q.n_queries, dtype=bool)
    drawn[order[:n]] = True
    return drawn


@dataclass(frozen=True)
class Target:
    """What the rankers of a search are trained for and judged by."""

    measure: RankingMeasure  # judges, and chooses the step that is kept
    trained_for: RankingMeasure | None = None  # what methods are told to train for, if it is another one
    seed: int = 0  # of stochastic trainers

    def ranker(self, trial: Trial) -> Any:
        """Return the unfitted ranker of a trial."""
        return trial.ranker(self.trained_for or self.measure, self.seed)


@dataclass(frozen=True)
class Candidate:
    """One setting of the grid and its figures.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : mapping
        What was set.
    valid, train : float
        Mean of the measure on the validation and the training queries.
    steps : int
        Iterations, epochs, rounds or trees of the ranker that was judged; the median over folds.
    status : str
        Why training stopped, see `Result`; of the last fold.
    seconds : float
        Duration of training and judging, without the compilation of kernels.
    values : float64 (n_queries,)
        The measure on every validation query, NaN where it is undefined; of a dropped candidate on the first
        of them, and of one on a sample on those of the sample.
    outcome : str
        "" for a whole training, "cut short" if the time budget stopped it and it was judged as it stood,
        "not trained" if that was before the first step, "dropped" if it was too far behind and not all folds
        were tried, or "sample" if it was trained and judged on a sample of the queries only.
    curve : LearningCurve, optional
        Loss and measure after every step; without points for a training without steps.
    progress : str
        How far a training came that the time budget stopped: "8 of 300 trees"; otherwise "".
    """

    method: str
    settings: Mapping[str, Any]
    valid: float
    train: float
    steps: int
    status: str
    seconds: float = field(compare=False)
    values: Float64Array = field(compare=False, repr=False)
    outcome: str = ""
    curve: LearningCurve | None = field(default=None, compare=False, repr=False)
    progress: str = ""

    @property
    def or_worst(self) -> float:
        """``valid``, and less than anything where the measure is undefined."""
        return -math.inf if math.isnan(self.valid) else self.valid

    @property
    def error(self) -> float:
        """Standard error of ``valid``, over the validation queries; NaN for fewer than two of them."""
        n_defined = np.count_nonzero(~np.isnan(self.values))
        return math.nan if n_defined < 2 else mean_and_error(self.values)[1]

    @property
    def label(self) -> str:
        """Method and settings in one line, without constraints: ``ApproxNDCG alpha=10 l2=0.001``."""
        varied = {name: value for name, value in self.settings.items() if name not in CONSTRAINTS}
        settings = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in varied.items())
        return " ".join([self.method, *settings])


class Trained(NamedTuple):
    """A trial that was trained: its figures, its fitted rankers, one per fold, and their scores.

    The scores are those of the validation queries, in units of their spread on the training queries; 0 in a
    fold whose ranker gives all training documents of a query the same score.
    """

    trial: Trial
    candidate: Candidate
    rankers: tuple[Any, ...]
    scores: Float64Array


class FoldFit(NamedTuple):
    """A ranker, trained on a fold; the trial, which the time may have changed; seconds by step and in all."""

    ranker: Any
    trial: Trial
    at_step: Mapping[int, float]
    seconds: float


def run_trial(
    trial: Trial,
    folds: list[Fold],
    target: Target,
    clock: Clock,
    is_hopeless: Callable[[Float64Array], bool] | None = None,
    ahead: Callable[[Trial, int], FoldFit] | None = None,
) -> Trained:
    """Train and judge one trial.

    A training that used up its share of the time budget is judged as it stands. Trees may get a learning rate
    that suits the time, see `Pace`; the settings of the returned trial have it. After each fold but the last
    ``is_hopeless(values)``, of the values so far, says whether to drop the trial. ``ahead(trial, fold)`` has
    the ranker of a fold that was trained in another process.
    """
    seconds, measure = 0.0, target.measure
    values: list[Float64Array] = []
    rankers, trained, steps, scores, curves, outcome = [], [], [], [], [], ""
    for number, fold in enumerate(folds):
        may_drop = None if clock.cut_at is not None else is_hopeless
        if number and may_drop is not None and may_drop(np.concatenate(values)):
            outcome = "dropped"
            break
        clock.start_fold(len(folds) - number)
        fit = fitted(trial, fold, target, clock) if ahead is None else ahead(trial, number)
        begun = working_time()
        ranker = fit.ranker
        if ahead is None:  # otherwise it is a copy
            trial = fit.trial
        rankers.append(ranker)
        curves.append(LearningCurve.of(ranker.result_.trace, fit.at_step))
        on_train, on_judge = ranker.predict_queries(fold.train), ranker.predict_queries(fold.judge)
        values.append(values_of(measure, on_judge, fold.judge))
        trained.append(mean_over_queries(values_of(measure, on_train, fold.train)))
        steps.append(steps_of(ranker.result_.counts))
        spread = spread_within_queries(on_train, fold.train)
        scores.append(on_judge / spread if spread > 0.0 else np.zeros(len(on_judge)))
        seconds += fit.seconds + working_time() - begun
    judged = np.concatenate(values)
    planned, done = planned_steps(ranker), clock.cut_at
    progress = ""
    if done is not None and done != planned:  # otherwise the time ended with the training
        of = "" if planned is None else f" of {planned}"
        progress = f"{done}{of} {'trees' if trial.method.model == 'trees' else 'steps'}"
        outcome = CUT_SHORT if done else UNTRAINED
    candidate = Candidate(
        trial.method.name,
        trial.settings,
        mean_over_queries(judged),
        float(np.mean(trained)),
        int(np.median(steps)),
        ranker.result_.status,
        seconds,
        judged,
        outcome,
        mean_curve(curves),
        progress,
    )
    return Trained(trial, candidate, tuple(rankers), np.concatenate(scores))


def fitted(trial: Trial, fold: Fold, target: Target, clock: Clock) -> FoldFit:
    """Train the ranker of a trial on a fold."""
    begun = working_time()
    ranker, measure = target.ranker(trial), target.measure
    pace = Pace(trial, ranker, clock)
    ranker.fit_queries(
        fold.train,
        fold.judge if trial.method.keeps_best and _is_defined(measure, fold.judge) else None,
        measure=measure,
        doc_weight=fold.weights[0],
        query_weight=fold.weights[1],
        callback=pace,
    )
    taken = working_time() - begun
    if pace.trial is trial:
        return FoldFit(ranker, trial, pace.steps.seconds, taken)
    again = fitted(pace.trial, fold, target, clock)
    return again._replace(seconds=again.seconds + taken)


def refit(trained: Trained, q: Queries, weights: Weights, target: Target, clock: Clock) -> Any:
    """Train the ranker of a trial on all queries, with as many steps as it had on the folds."""
    limited = trained.trial.method.keeps_best or trained.candidate.progress
    steps = trained.candidate.steps if limited else math.inf

    def watch(step: Step) -> bool:
        return clock.watch(step) or step.iteration >= steps

    return target.ranker(trained.trial).fit_queries(
        q, measure=target.measure, doc_weight=weights[0], query_weight=weights[1], callback=watch
    )


def _is_defined(measure: RankingMeasure, q: Queries) -> bool:
    """Whether the measure is defined for any query, so that it can choose a step."""
    return not np.isnan(values_of(measure, np.zeros(q.n_docs), q)).all()


def steps_of(counts: Mapping[str, int]) -> int:
    """Return the steps of the ranker that was kept, from the counts of its training."""
    names = ("best", "iterations", "epochs", "rounds")
    return next((int(counts[name]) for name in names if name in counts), 0)
