"""Train and evaluate one candidate on folds, in this process, ahead in others, or on a cluster.

In: a candidate and folds. Out: a `Trial`, with the rankers and the measure of every validation query.
"""

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
from directrix.search import rules
from directrix.search.clock import Clock, Pace
from directrix.search.folds import Fold, few
from directrix.search.plan import Candidate
from directrix.search.trial import (
    CUT_SHORT,
    DROPPED,
    INCOMPLETE,
    UNTRAINED,
    LearningCurve,
    Trial,
    mean_curve,
)
from directrix.threads import ignore_interrupts
from directrix.types import Float64Array, Step

# Results count their steps under these names. The first one that exists is taken, so "best" comes before
# totals.
_STEPS = ("best", "iterations", "epochs", "rounds")

Fit = Callable[[Candidate, int], Trial]
"""Returns the trial of a candidate on the fold of a number: a ranker, a learning curve and the seconds."""


def train_candidate(
    candidate: Candidate,
    folds: Sequence[Fold],
    measure: RankingMeasure,
    clock: Clock,
    is_hopeless: Callable[[Float64Array], bool] | None = None,
    fit: Fit | None = None,
) -> Trial:
    """Return the trial of a candidate, with one ranker for each fold, and scores.

    A run that used up its share of the time budget is evaluated as it is. Trees may get a learning rate that
    suits the time (see `Pace`), which is added to the settings. After each fold except the last,
    ``is_hopeless(values)``, with the values so far, decides whether to drop the candidate. If the search is
    stopped, the result has the folds before, or the first one as it is.
    """
    fit = fit or (lambda candidate, number: train_fold(candidate, folds[number], measure, clock))
    fitted: list[Trial] = []
    values: list[Float64Array] = []
    train, steps, scores = [], [], []
    seconds, outcome, progress = 0.0, "", ""
    for number, fold in enumerate(folds):
        # A run that the clock cut short is not dropped: with more time it might not be behind.
        may_drop = None if clock.cut_at is not None else is_hopeless
        if number and clock.is_stopped:
            outcome = INCOMPLETE
            break
        if number and may_drop is not None and may_drop(np.concatenate(values)):
            outcome = DROPPED
            break
        clock.start_fold(len(folds) - number)
        on_fold = fit(candidate, number)
        if number and clock.is_stopped:
            outcome, clock.cut_at = INCOMPLETE, None
            break
        begun = working_time()
        fitted.append(on_fold)
        candidate, (ranker,) = on_fold.candidate, on_fold.rankers
        fold_scores = fold.scores(ranker)
        values.append(values_of(measure, fold_scores, fold.labeled))
        mean, spread = _on_training_queries(ranker, fold.train, measure)
        train.append(mean)
        if spread is not None:
            # Each fold has a ranker of its own, so the scores are divided by its spread before they are
            # joined.
            scores.append(fold_scores / spread if spread > 0.0 else np.zeros(len(fold_scores)))
        # A trainer may return an earlier step than its last; the counts are those of the ranker that it
        # returned.
        counts = ranker.result_.counts
        steps.append(next((int(counts[name]) for name in _STEPS if name in counts), 0))
        seconds += on_fold.seconds + working_time() - begun
    planned, done = planned_steps(ranker), clock.cut_at
    # Both are equal if the time ended just as training was complete.
    if done is not None and done != planned:
        total = "" if planned is None else f" of {planned}"
        progress = f"{done}{total} {'trees' if candidate.method.model == 'trees' else 'steps'}"
        outcome = (outcome or CUT_SHORT) if done else UNTRAINED
    every = np.concatenate(values)
    return Trial(
        candidate,
        valid=mean_over_queries(every),
        train=float(np.mean(train)),
        steps=int(np.median(steps)),
        status=ranker.result_.status,
        seconds=seconds,
        values=every,
        outcome=outcome,
        curve=mean_curve([trial.curve or LearningCurve.of((), {}) for trial in fitted]),
        progress=progress,
        rankers=tuple(trial.rankers[0] for trial in fitted),
        scores=np.concatenate(scores) if scores else np.zeros(0),
    )


@contextmanager
def _unwarned() -> Iterator[None]:
    """Drop warnings that one candidate among many ranks nothing: the search warns if its choice does not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the trained ranker gives all documents")
        yield


@_unwarned()
def train_fold(candidate: Candidate, fold: Fold, measure: RankingMeasure, clock: Clock) -> Trial:
    """Return the trial of a candidate on a fold, not yet evaluated: its ranker, curve and seconds."""
    begun = working_time()
    ranker = candidate.ranker()
    valid = fold.valid if candidate.method.keeps_best and fold.can_choose(measure) else None
    if fold.train.held == "shards":
        ranker.fit_shards(fold.train, valid, measure=measure, callback=clock.watch)
        return Trial(candidate, rankers=(ranker,), seconds=working_time() - begun)
    # Only a learning rate that the user did not fix may be adapted to the time.
    is_free = candidate.method.model == "trees" and "learning_rate" not in candidate.settings
    highest = rules.RATE_OF_MANY if fold.train.n_docs > rules.MANY_DOCS else rules.RATE
    pace = Pace(clock, ranker.learning_rate, ranker.n_trees, highest) if is_free else Pace(clock)
    doc_weight, query_weight = fold.weights
    ranker.fit_queries(
        fold.train, valid, measure=measure, doc_weight=doc_weight, query_weight=query_weight, callback=pace
    )
    seconds = working_time() - begun
    # The few trees so far have the lower rate, so training starts again. Their time counts for the trial.
    if pace.better_rate is not None:
        faster = {**candidate.settings, "learning_rate": pace.better_rate}
        again = train_fold(replace(candidate, settings=faster), fold, measure, clock)
        return replace(again, seconds=again.seconds + seconds)
    return Trial(
        candidate,
        rankers=(ranker,),
        curve=LearningCurve.of(ranker.result_.trace, pace.seconds),
        seconds=seconds,
    )


@_unwarned()
def refit(trial: Trial, queries: Queries, weights: Weights, measure: RankingMeasure, clock: Clock) -> Any:
    """Train the ranker of a trial on all queries, with as many steps as it had on the folds."""
    clock.start_refit(trial.name)
    # Methods that choose their best step on validation queries have none now, so they stop at the number
    # found before.
    is_limited = trial.candidate.method.keeps_best or trial.progress
    steps = trial.steps if is_limited else math.inf

    def watch(step: Step) -> bool:
        return clock.watch(step) or step.iteration >= steps

    return trial.candidate.ranker().fit_queries(
        queries, measure=measure, doc_weight=weights[0], query_weight=weights[1], callback=watch
    )


def _on_training_queries(ranker: Any, train: Any, measure: RankingMeasure) -> tuple[float, float | None]:
    """The mean of the measure, and the spread of the scores; None on shards, which have no ensembles."""
    if train.held == "shards":
        scaled = train if ranker.scale_ is None else train.scaled(ranker.scale_)
        return mean_evaluator_on_shards(measure, ranker.model_.model, scaled)(ranker.model_.params), None
    train = few(train)
    scores = ranker.predict_queries(train)
    return mean_over_queries(values_of(measure, scores, train)), spread_within_queries(scores, train)


@contextmanager
def fitting(
    candidates: Sequence[Candidate],
    folds: Sequence[Fold],
    measure: RankingMeasure,
    clock: Clock,
    n_jobs: int,
) -> Iterator[Fit]:
    """Yield the function that fits candidates on folds, which are asked for in this order.

    With several processes they are fitted ahead of a search that decides after every fold whether a
    candidate continues. Superfluous runs, at most ``n_jobs`` for each dropped candidate, are discarded, so
    the decisions are those of one process.
    """
    from joblib import Parallel, delayed, effective_n_jobs

    if n_jobs == 0:
        raise InputError(
            "n_jobs=0 trains nothing; type a number of training runs at a time, or -1 for one per core."
        )
    if effective_n_jobs(n_jobs) == 1 or len(candidates) * len(folds) < 2:
        yield lambda candidate, number: train_fold(candidate, folds[number], measure, clock)
        return
    # Places are unique, while candidates themselves may hold arrays and are not compared.
    number_of = {candidate.place: number for number, candidate in enumerate(candidates)}
    current = 0
    # Arrays that are mapped read-only would be another type, for which Numba compiles again.
    parallel = Parallel(n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1, mmap_mode="c")
    running: Any = parallel(
        delayed(_attempt)((candidate.place, fold), candidate, folds[fold], measure)
        for number, candidate in enumerate(candidates)
        for fold in range(len(folds))
        # The pool asks for the next task only when a process is free. By then the search may have dropped its
        # candidate.
        if number >= current
    )

    def fitted(candidate: Candidate, fold: int) -> Trial:
        nonlocal current
        current = number_of[candidate.place]
        result = next(result for wanted, result in running if wanted == (candidate.place, fold))
        if isinstance(result, InputError):
            raise result
        trial: Trial = result
        return trial

    try:
        yield fitted
    finally:
        with warnings.catch_warnings():
            # joblib warns about tasks that were not finished, and leaving them out is intended here.
            warnings.simplefilter("ignore")
            running.close()


def _attempt(
    wanted: tuple[int, int], candidate: Candidate, fold: Fold, measure: RankingMeasure
) -> tuple[tuple[int, int], Trial | InputError]:
    ignore_interrupts()
    try:
        return wanted, train_fold(candidate, fold, measure, Clock())
    # The error is returned and not raised, because it must not end the runs of other candidates.
    except InputError as error:
        return wanted, error
