"""One candidate of a search: trained and judged on folds, and trained again on all queries."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.measures.base import RankingMeasure
from directrix.rankers.candidates import Candidate
from directrix.rankers.clock import Clock
from directrix.rankers.judging import Fold, Weights
from directrix.rankers.methods import Method
from directrix.rankers.training import mean_over_queries, values_of
from directrix.types import Step

__all__ = ["Attempt", "again", "attempt"]


class Attempt(NamedTuple):
    """A candidate that was trained.

    Parameters
    ----------
    candidate : Candidate
        Its figures.
    rankers : tuple of Ranker
        Fitted, one a fold.
    method : Method
    """

    candidate: Candidate
    rankers: tuple[Any, ...]
    method: Method


def attempt(
    each: Method,
    chosen: Mapping[str, Any],
    folds: list[Fold],
    goal: RankingMeasure,
    seed: int,
    clock: Clock,
    trained_for: RankingMeasure | None = None,
) -> Attempt | None:
    """Train and judge one candidate; None if the time was over before it was finished.

    ``goal`` judges, and chooses the step that is kept; ``trained_for``, if it is another measure, makes the
    ranker.
    """
    begun = time.perf_counter()
    rankers, values, trained, steps = [], [], [], []
    for fold in folds:
        ranker = _ranker(each, chosen, trained_for or goal, seed)
        ranker.fit_queries(
            fold.train,
            fold.judge if each.keeps_best and _is_defined(goal, fold.judge) else None,
            measure=goal,
            doc_weight=fold.weights[0],
            query_weight=fold.weights[1],
            callback=clock.watch,
        )
        if clock.was_cut:
            return None
        rankers.append(ranker)
        values.append(values_of(goal, ranker.predict_queries(fold.judge), fold.judge))
        trained.append(mean_over_queries(values_of(goal, ranker.predict_queries(fold.train), fold.train)))
        steps.append(_steps(ranker.result_.counts))
    every = np.concatenate(values)
    candidate = Candidate(
        each.name,
        chosen,
        mean_over_queries(every),
        float(np.mean(trained)),
        int(np.median(steps)),
        ranker.result_.status,
        time.perf_counter() - begun,
        every,
    )
    return Attempt(candidate, tuple(rankers), each)


def _is_defined(goal: RankingMeasure, q: Queries) -> bool:
    """Whether the measure is defined for any query, so that it can choose a step."""
    return not np.isnan(values_of(goal, np.zeros(q.n_docs), q)).all()


def again(
    trial: Attempt,
    q: Queries,
    weights: Weights,
    goal: RankingMeasure,
    seed: int,
    clock: Clock,
    trained_for: RankingMeasure | None = None,
) -> Any:
    """Train the chosen candidate on all queries, as many steps as it was given on the folds."""
    enough = trial.candidate.steps if trial.method.keeps_best else math.inf

    def watch(step: Step) -> bool:
        return clock.watch(step) or step.iteration >= enough

    ranker = _ranker(trial.method, trial.candidate.settings, trained_for or goal, seed)
    return ranker.fit_queries(q, measure=goal, doc_weight=weights[0], query_weight=weights[1], callback=watch)


def _ranker(each: Method, chosen: Mapping[str, Any], goal: RankingMeasure, seed: int) -> Any:
    drawn = {"random_state": seed} if "random_state" in each.settings else {}
    return each.ranker(measure=goal, **{**drawn, **chosen})


def _steps(counts: Mapping[str, int]) -> int:
    names = ("best", "iterations", "epochs", "rounds")
    return next((int(counts[name]) for name in names if name in counts), 0)
