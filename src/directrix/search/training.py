"""Train and evaluate one candidate on folds, in this process, ahead in others, or on a cluster."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.kernels import working_time
from directrix.measures.base import RankingMeasure
from directrix.rankers.inputs import Weights
from directrix.rankers.means import (
    mean_evaluator_on_shards,
    mean_over_queries,
    spread_within_queries,
    values_of,
)
from directrix.rankers.named_trainers import planned_steps
from directrix.search.candidates import CUT_SHORT, DROPPED, INCOMPLETE, UNTRAINED, Candidate
from directrix.search.clock import (
    HIGHEST_RATE,
    HIGHEST_RATE_OF_MANY,
    Clock,
    LearningCurve,
    Pace,
    mean_curve,
)
from directrix.search.folds import MANY_DOCS, Fold, few
from directrix.threads import ignore_interrupts
from directrix.types import Float64Array, Step

_STEPS = ("best", "iterations", "epochs", "rounds")  # counts of results, the first one that there is
Fit = Callable[[Candidate, int], Candidate]
"""Returns a candidate with its ranker, trained on the fold of this number."""


def train_candidate(
    candidate: Candidate,
    folds: Sequence[Fold],
    measure: RankingMeasure,
    clock: Clock,
    is_hopeless: Callable[[Float64Array], bool] | None = None,
    fit: Fit | None = None,
) -> Candidate:
    """Return a candidate with its figures, one ranker for each fold, and scores.

    A run that used up its share of the time budget is evaluated as it is. Trees may get a learning rate that
    suits the time (see `Pace`), which is added to the settings. After each fold except the last,
    ``is_hopeless(values)``, with the values so far, decides whether to drop the candidate. If the search is
    stopped, the result has the folds before, or the first one as it is.
    """
    fit = fit or (lambda candidate, number: train_fold(candidate, folds[number], measure, clock))
    values: list[Float64Array] = []
    rankers, curves, train, steps, scores = [], [], [], [], []
    seconds, outcome, progress = 0.0, "", ""
    for number, fold in enumerate(folds):
        may_drop = None if clock.cut_at is not None else is_hopeless
        if number and clock.is_stopped:
            outcome = INCOMPLETE
            break
        if number and may_drop is not None and may_drop(np.concatenate(values)):
            outcome = DROPPED
            break
        clock.start_fold(len(folds) - number)
        fitted = fit(candidate, number)
        if number and clock.is_stopped:
            outcome, clock.cut_at = INCOMPLETE, None
            break
        begun = working_time()
        candidate = replace(candidate, settings=fitted.settings)
        (ranker,) = fitted.rankers
        rankers.append(ranker)
        curves.append(fitted.curve or LearningCurve.of((), {}))
        on_judge = fold.scores(ranker)
        values.append(values_of(measure, on_judge, fold.judged))
        mean, spread = _on_training_queries(ranker, fold.train, measure)
        train.append(mean)
        if spread is not None:
            scores.append(on_judge / spread if spread > 0.0 else np.zeros(len(on_judge)))
        counts = ranker.result_.counts  # of the steps of the ranker that was kept
        steps.append(next((int(counts[of]) for of in _STEPS if of in counts), 0))
        seconds += fitted.seconds + working_time() - begun
    planned, done = planned_steps(ranker), clock.cut_at
    if done is not None and done != planned:  # otherwise the time ended with the training
        of = "" if planned is None else f" of {planned}"
        progress = f"{done}{of} {'trees' if candidate.method.model == 'trees' else 'steps'}"
        outcome = (outcome or CUT_SHORT) if done else UNTRAINED
    judged = np.concatenate(values)
    return replace(
        candidate,
        valid=mean_over_queries(judged),
        train=float(np.mean(train)),
        steps=int(np.median(steps)),
        status=ranker.result_.status,
        seconds=seconds,
        values=judged,
        outcome=outcome,
        curve=mean_curve(curves),
        progress=progress,
        rankers=tuple(rankers),
        scores=np.concatenate(scores) if scores else np.zeros(0),
    )


@contextmanager
def _unwarned() -> Iterator[None]:
    """Drop warnings that one candidate among many ranks nothing: the search warns if its choice does not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the trained ranker gives all documents")
        yield


@_unwarned()
def train_fold(candidate: Candidate, fold: Fold, measure: RankingMeasure, clock: Clock) -> Candidate:
    """Return a candidate with its ranker, trained on a fold, its learning curve and the seconds."""
    begun = working_time()
    ranker = candidate.ranker()
    valid = fold.valid if candidate.method.keeps_best and fold.can_choose(measure) else None
    if fold.train.held == "shards":
        ranker.fit_shards(fold.train, valid, measure=measure, callback=clock.watch)
        return replace(
            candidate,
            rankers=(ranker,),
            seconds=working_time() - begun,
        )
    is_free = candidate.method.model == "trees" and "learning_rate" not in candidate.settings
    highest = HIGHEST_RATE_OF_MANY if fold.train.n_docs > MANY_DOCS else HIGHEST_RATE
    pace = Pace(clock, ranker.learning_rate, ranker.n_trees, highest) if is_free else Pace(clock)
    doc_weight, query_weight = fold.weights
    ranker.fit_queries(
        fold.train, valid, measure=measure, doc_weight=doc_weight, query_weight=query_weight, callback=pace
    )
    taken = working_time() - begun
    if pace.better_rate is not None:
        faster = {**candidate.settings, "learning_rate": pace.better_rate}
        again = train_fold(replace(candidate, settings=faster), fold, measure, clock)
        return replace(again, seconds=again.seconds + taken)
    curve = LearningCurve.of(ranker.result_.trace, pace.seconds)
    return replace(candidate, rankers=(ranker,), curve=curve, seconds=taken)


@_unwarned()
def refit(candidate: Candidate, q: Queries, weights: Weights, measure: RankingMeasure, clock: Clock) -> Any:
    """Train the ranker of a candidate on all queries, with as many steps as it had on the folds."""
    clock.start_refit(candidate.name)
    limited = candidate.method.keeps_best or candidate.progress
    steps = candidate.steps if limited else math.inf

    def watch(step: Step) -> bool:
        return clock.watch(step) or step.iteration >= steps

    return candidate.ranker().fit_queries(
        q, measure=measure, doc_weight=weights[0], query_weight=weights[1], callback=watch
    )


def _on_training_queries(ranker: Any, train: Any, measure: RankingMeasure) -> tuple[float, float | None]:
    """The mean of the measure, and the spread of the scores; None on shards, which have no ensembles."""
    if train.held == "shards":
        scaled = train if ranker.scale_ is None else train.scaled(ranker.scale_)
        return mean_evaluator_on_shards(measure, ranker.model_.model, scaled)(ranker.model_.params), None
    train = few(train)
    scores = ranker.predict_queries(train)
    return mean_over_queries(values_of(measure, scores, train)), spread_within_queries(scores, train)


class Ahead:
    """Trains candidates on folds in processes, ahead of a search that uses the rankers in its own order.

    The search decides after every fold whether a candidate continues. Superfluous runs, at most ``n_jobs``
    for each dropped candidate, are discarded, so the decisions are those of one process.
    """

    def __init__(
        self, candidates: Sequence[Candidate], folds: Sequence[Fold], measure: RankingMeasure, n_jobs: int
    ) -> None:
        from joblib import Parallel, delayed

        self._done = set[int]()
        # Arrays that are mapped read-only would be another type, for which Numba compiles again.
        parallel = Parallel(n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1, mmap_mode="c")
        self._running: Any = parallel(
            delayed(_attempt)((number, fold), candidates[number], folds[fold], measure)
            for number in range(len(candidates))
            for fold in range(len(folds))
            if number not in self._done
        )

    def take(self, number: int, fold: int) -> Candidate:
        """Return a candidate trained on a fold, or raise the `InputError` of its training."""
        taken = next(result for place, result in self._running if place == (number, fold))
        if isinstance(taken, InputError):
            raise taken
        trained: Candidate = taken
        return trained

    def end(self, number: int) -> None:
        """Train no more folds of a candidate."""
        self._done.add(number)

    def close(self) -> None:
        """Stop runs in progress."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of trainings that are left out, as was asked
            self._running.close()


@contextmanager
def training_ahead(
    candidates: Sequence[Candidate], folds: Sequence[Fold], measure: RankingMeasure, n_jobs: int
) -> Iterator[Ahead | None]:
    """Train in several processes within the block; yield None for one process."""
    from joblib import effective_n_jobs

    if n_jobs == 0:
        raise InputError(
            "n_jobs=0 trains nothing; type a number of training runs at a time, or -1 for one per core."
        )
    if effective_n_jobs(n_jobs) == 1 or len(candidates) * len(folds) < 2:
        yield None
        return
    ahead = Ahead(candidates, folds, measure, n_jobs)
    try:
        yield ahead
    finally:
        ahead.close()


def _attempt(
    place: tuple[int, int], candidate: Candidate, fold: Fold, measure: RankingMeasure
) -> tuple[tuple[int, int], Candidate | InputError]:
    ignore_interrupts()
    try:
        return place, train_fold(candidate, fold, measure, Clock())
    except InputError as error:  # it concerns this candidate alone
        return place, error
