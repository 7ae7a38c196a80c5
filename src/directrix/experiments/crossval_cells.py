"""One candidate on one fold: training, evaluation, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.experiments.json_values import json_value
from directrix.experiments.splits import StoredSplit
from directrix.experiments.tuning import subset
from directrix.measures.base import RankingMeasure
from directrix.measures.prepared import Prepared
from directrix.rankers.method import Method, Trial
from directrix.rankers.selection.folds import selection_folds
from directrix.rankers.selection.trial import Clock, Target, refit, run_trial
from directrix.rankers.training import mean_over_queries
from directrix.types import Float64Array, FloatArray

_UNWEIGHTED = (None, None)


@dataclass(frozen=True)
class Job:
    """What is done with every candidate of an entry."""

    goal: RankingMeasure  # chooses between candidates
    trained_for: RankingMeasure  # the goal, or the nearest measure that methods can be trained for
    measures: tuple[RankingMeasure, ...]  # reported
    seed: int  # for stochastic trainers, inner folds and subsets
    keep_top: int  # number of documents to keep of every test query
    keeps_judged: bool  # whether to keep the goal of every validation query


def try_candidate(
    fold: StoredSplit, method: Method, settings: Mapping[str, Any], job: Job, n_queries: int
) -> dict[str, Any]:
    """Train and evaluate one candidate on ``n_queries`` training queries; if not all, only ``chosen_by``.

    The result is JSON: ``status``, ``steps``, ``seconds`` of training and choosing, ``chosen_by`` (mean of
    the goal on the validation queries), ``train``, ``valid`` and ``test`` (a mean for each measure),
    ``values`` (for each measure the value of every test query), and as the job says ``judged`` and ``top``.
    NaN is None. If the candidate cannot be trained on these data, ``failed`` and ``in_shell`` say why, in
    words for Python and for a shell.
    """
    split, begun = fold.split, time.perf_counter()
    is_whole = n_queries == split.train.n_queries
    train = (
        split.train if is_whole else split.train.take(subset(split.train.n_queries, n_queries, seed=job.seed))
    )
    clock, target = Clock(), Target(job.goal, job.trained_for, job.seed)
    try:
        folds, _ = selection_folds(train, split.valid, _UNWEIGHTED, None, job.seed)
        trained = run_trial(Trial(method, dict(settings)), folds, target, clock)
        assert trained is not None  # there is no time budget
        ranker = trained.rankers[-1]
        if is_whole and folds[0].train is not train:  # inner folds chose
            ranker = refit(trained, train, _UNWEIGHTED, target, clock)
    except InputError as error:
        return {"failed": str(error), "in_shell": error.in_shell}
    candidate = trained.candidate
    record: dict[str, Any] = {
        "status": candidate.status,
        "steps": candidate.steps,
        "seconds": round(time.perf_counter() - begun, 3),
        "chosen_by": json_value(candidate.valid),
    }
    if job.keeps_judged:
        record["judged"] = json_value(candidate.values)
    if not is_whole:
        return record
    judged = [
        _values(job.measures, each.predict_queries(f.judge), f.judge)
        for f, each in zip(folds, trained.rankers, strict=True)
    ]
    scores = ranker.predict_queries(split.test)
    values = _values(job.measures, scores, split.test)
    record |= {
        "train": _means(_values(job.measures, ranker.predict_queries(train), train)),
        "valid": _means([np.concatenate(parts) for parts in zip(*judged, strict=True)]),
        "test": _means(values),
        "values": json_value(values),
    }
    if job.keep_top:
        record["top"] = top_of(scores, split.test, job.keep_top)
    return record


def _values(measures: tuple[RankingMeasure, ...], scores: Float64Array, q: Queries) -> list[Float64Array]:
    return list(Prepared(measures, q.labels, q.qptr, q.doc_ids)(scores))


def _means(values: Iterable[Float64Array]) -> list[float | None]:
    return [json_value(mean_over_queries(each)) for each in values]


def top_of(scores: FloatArray, q: Queries, n: int) -> list[list[tuple[int, float]]]:
    """Row in its query and score of the first documents of every query; equal scores by row."""
    top = []
    for low, high in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        rows = np.argsort(-scores[low:high], kind="stable")[:n]
        top.append(list(zip(rows.tolist(), scores[low:high][rows].tolist(), strict=True)))
    return top
