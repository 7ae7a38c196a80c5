"""One candidate on one fold: trained, judged, and what is kept of it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.experiments.splits import StoredSplit
from directrix.experiments.tuning import subset
from directrix.measures.base import RankingMeasure
from directrix.measures.prepared import Prepared
from directrix.rankers.method import Method, Trial
from directrix.rankers.selection.folds import selection_folds
from directrix.rankers.selection.trial import Clock, Target, refit, run_trial
from directrix.rankers.training import mean_over_queries
from directrix.types import Float64Array, FloatArray

__all__ = ["Job", "top_of", "try_candidate"]

_UNWEIGHTED = (None, None)


@dataclass(frozen=True)
class Job:
    """What is done with every candidate of an entry.

    Parameters
    ----------
    goal : measure
        Chosen by.
    trained_for : measure
        What methods are told to train for: ``goal``, or what of it can be trained for.
    measures : tuple of measure
        Reported.
    seed : int
        Of trainers that draw, of inner folds and of subsets.
    keep_top : int
        Documents of every test query that are kept.
    keeps_judged : bool
        Whether to keep ``goal`` of every validation query.
    """

    goal: RankingMeasure
    trained_for: RankingMeasure
    measures: tuple[RankingMeasure, ...]
    seed: int
    keep_top: int
    keeps_judged: bool


def try_candidate(
    fold: StoredSplit, method: Method, settings: Mapping[str, Any], job: Job, n_queries: int
) -> dict[str, Any]:
    """Train one candidate and judge it, on all training queries or on some.

    Parameters
    ----------
    fold : StoredSplit
    method : Method
    settings : mapping
    job : Job
    n_queries : int
        Training queries to use. With fewer than there are nothing is reported but ``chosen_by``.

    Returns
    -------
    dict
        JSON. ``status``, ``steps``, ``seconds`` of training and choosing, ``chosen_by`` (mean of the
        goal on the validation queries), ``train``, ``valid`` and ``test`` (a mean for each measure),
        ``values`` (for each measure one a test query), and as the job says ``judged`` and ``top``.
        NaN is None. Of a candidate that cannot be trained on these data ``failed``: why.
    """
    split, begun = fold.split, time.perf_counter()
    is_whole = n_queries == split.train.n_queries
    train = (
        split.train if is_whole else split.train.take(subset(split.train.n_queries, n_queries, seed=job.seed))
    )
    clock, target = Clock(), Target(job.goal, job.trained_for, job.seed)
    try:
        folds, _ = selection_folds(train, split.valid, _UNWEIGHTED, None, job.seed)
        found = run_trial(Trial(method, dict(settings)), folds, target, clock)
        assert found is not None  # there is no time budget
        ranker = found.rankers[-1]
        if is_whole and folds[0].train is not train:  # inner folds chose
            ranker = refit(found, train, _UNWEIGHTED, target, clock)
    except InputError as error:
        return {"failed": str(error)}
    candidate = found.candidate
    kept: dict[str, Any] = {
        "status": candidate.status,
        "steps": candidate.steps,
        "seconds": round(time.perf_counter() - begun, 3),
        "chosen_by": _number(candidate.valid),
    }
    if job.keeps_judged:
        kept["judged"] = _numbers(candidate.values)
    if not is_whole:
        return kept
    judged = [
        _values(job.measures, each.predict_queries(f.judge), f.judge)
        for f, each in zip(folds, found.rankers, strict=True)
    ]
    scores = ranker.predict_queries(split.test)
    values = _values(job.measures, scores, split.test)
    kept |= {
        "train": _means(_values(job.measures, ranker.predict_queries(train), train)),
        "valid": _means([np.concatenate(parts) for parts in zip(*judged, strict=True)]),
        "test": _means(values),
        "values": [_numbers(each) for each in values],
    }
    if job.keep_top:
        kept["top"] = top_of(scores, split.test, job.keep_top)
    return kept


def _values(measures: tuple[RankingMeasure, ...], scores: Float64Array, q: Queries) -> list[Float64Array]:
    return list(Prepared(measures, q.labels, q.qptr, q.doc_ids)(scores))


def _means(values: Iterable[Float64Array]) -> list[float | None]:
    return [_number(mean_over_queries(each)) for each in values]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _numbers(values: Float64Array) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def top_of(scores: FloatArray, q: Queries, n: int) -> list[list[tuple[int, float]]]:
    """Row in its query and score of the first documents of every query; equal scores by row."""
    found = []
    for low, high in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        first = np.argsort(-scores[low:high], kind="stable")[:n]
        found.append(list(zip(first.tolist(), scores[low:high][first].tolist(), strict=True)))
    return found
