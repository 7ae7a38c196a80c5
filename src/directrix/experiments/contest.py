"""The candidates of one entry on one fold: their trainings rung by rung, and the choice between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.experiments.cells import Cell
from directrix.experiments.crossval_result import FoldResult, Tried
from directrix.experiments.splits import StoredSplit
from directrix.experiments.tuning import canonical, subset
from directrix.fingerprint import fingerprint
from directrix.kernels import working_time
from directrix.measures.base import RankingMeasure
from directrix.measures.prepared import Prepared
from directrix.rankers.method import Trial
from directrix.rankers.selection.choose import preferred
from directrix.rankers.selection.clock import Clock
from directrix.rankers.selection.trial import Candidate, Target, refit, run_trial, selection_folds
from directrix.rankers.training import mean_over_queries
from directrix.tables import json_value
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

    @property
    def meanings(self) -> dict[str, str]:
        """Fingerprints of the measures, by name."""
        every = self.goal, self.trained_for, *self.measures
        return {f"measure {measure.name}": fingerprint(measure) for measure in every}


def _meanings(trial: Trial, job: Job) -> dict[str, str]:
    """Return fingerprints of a method, its surrogate and its trainer, by name."""
    method, parameters = trial.method, dict[str, Any]()
    with suppress(InputError):  # which is the result of the cell
        parameters |= vars(trial.ranker(job.trained_for))
    parts = {}
    for part in ("surrogate", "trainer"):
        made = parameters.pop(part, None)
        parts[f"{part} {type(made).__name__}"] = getattr(method, part), made
    parts[f"method {method.name}"] = type(method), parameters
    return {name: fingerprint(part) for name, part in parts.items()}


def try_candidate(fold: StoredSplit, trial: Trial, job: Job, n_queries: int) -> dict[str, Any]:
    """Train and evaluate one candidate on ``n_queries`` training queries; if not all, only ``chosen_by``.

    The result is JSON: ``status``, ``steps``, ``seconds`` of training and choosing, ``chosen_by`` (mean of
    the goal on the validation queries), ``train``, ``valid`` and ``test`` (a mean for each measure),
    ``values`` (for each measure the value of every test query), and as the job says ``judged`` and ``top``.
    NaN is None. If the candidate cannot be trained on these data, ``failed`` and ``in_shell`` say why, in
    words for Python and for a shell.
    """
    split, begun = fold.split, working_time()
    train = split.train
    is_whole = n_queries == train.n_queries
    if not is_whole:
        train = train.take(subset(train.n_queries, n_queries, seed=job.seed))
    clock, target = Clock(), Target(job.goal, job.trained_for, job.seed)
    try:
        folds, _ = selection_folds(train, split.valid, _UNWEIGHTED, None, job.seed)
        trained = run_trial(trial, folds, target, clock)
        ranker = trained.rankers[-1]
        if is_whole and folds[0].train is not train:  # inner folds chose
            ranker = refit(trained, train, _UNWEIGHTED, target, clock)
    except InputError as error:
        return {"failed": str(error), "in_shell": error.in_shell}
    candidate = trained.candidate
    record: dict[str, Any] = {
        "status": candidate.status,
        "steps": candidate.steps,
        "seconds": round(working_time() - begun, 3),
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


Key = tuple[str | int, ...]


@dataclass
class Contest:
    """The candidates of one entry on one fold, with their results so far."""

    name: str  # of the entry
    fold: StoredSplit
    trials: list[Trial]
    job: Job
    mark: str  # short digest of what else figures depend on; part of every key
    plan: list[tuple[int, int]]  # rungs as candidates and queries, see `halving_rungs`; one without halving
    _outcomes: dict[int, dict[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._alive = list(range(len(self.trials)))

    def cells(self, rung: int) -> list[Cell]:
        """Return the trainings of a rung; none after the last rung."""
        if rung >= len(self.plan):
            return []
        n, measures = self.plan[rung][1], self.job.meanings
        return [
            Cell(key, try_candidate, (self.fold, trial, self.job, n), measures | _meanings(trial, self.job))
            for trial, key in ((self.trials[i], self._key(i, n)) for i in self._alive)
        ]

    def end(self, rung: int, results: Mapping[Key, Any]) -> None:
        """Take the results of a rung, and drop the candidates that are not in the next one."""
        if rung >= len(self.plan):
            return
        for i in self._alive:
            self._outcomes[i] = {**results[self._key(i, self.plan[rung][1])], "rung": rung}
        trained = [i for i in self._alive if "failed" not in self._outcomes[i]]
        if rung + 1 < len(self.plan) and trained:  # if none can be trained on few queries, none is dropped
            ranked = sorted(trained, key=lambda i: -self._candidate(i).or_worst)  # stable
            self._alive = sorted(ranked[: self.plan[rung + 1][0]])

    def result(self, measures: tuple[str, ...]) -> FoldResult:
        """Choose by validation between the candidates that were trained on all queries.

        Raises `InputError` if none of them could be trained.
        """
        last = len(self.plan) - 1
        tried = tuple(_tried(t, self._outcomes[i], last, measures) for i, t in enumerate(self.trials))
        whole = [i for i, each in enumerate(tried) if each.status not in ("failed", "dropped")]
        if not whole:
            failed = next(self._outcomes[i] for i, each in enumerate(tried) if each.message)
            raise InputError(
                f"{self.name}, {self.fold.split.name}: none of {len(tried)} candidates could be trained:",
                python=failed["failed"],
                shell=failed["in_shell"],
            )
        candidates = [self._candidate(i) for i in whole]
        best = preferred(candidates)
        chosen = next(i for i, each in zip(whole, candidates, strict=True) if each is best)
        outcome = self._outcomes[chosen]
        values = np.array(outcome["values"], dtype=np.float64)  # None is NaN
        top = tuple(
            tuple((int(row), float(score)) for row, score in query) for query in outcome.get("top", ())
        )
        return FoldResult(tried, chosen, values, top)

    def _key(self, i: int, n_queries: int) -> Key:
        method, settings = self.trials[i]
        return self.name, self.fold.split.name, method.name, canonical(settings), n_queries, self.mark

    def _candidate(self, i: int) -> Candidate:
        """The candidate as `directrix.search` describes it, so that both choose alike."""
        outcome, (method, settings) = self._outcomes[i], self.trials[i]
        judged = np.array(outcome.get("judged", ()), dtype=np.float64)  # None is NaN
        chosen_by = _or_nan(outcome["chosen_by"])
        return Candidate(method.name, settings, chosen_by, math.nan, 0, outcome["status"], 0.0, judged)


def _tried(trial: Trial, outcome: Mapping[str, Any], last: int, measures: tuple[str, ...]) -> Tried:
    method, settings = trial
    means = {
        part: {name: _or_nan(value) for name, value in zip(measures, outcome.get(part, ()), strict=False)}
        for part in ("train", "valid", "test")
    }
    is_failed, is_dropped = "failed" in outcome, outcome["rung"] < last
    return Tried(
        method=method.name,
        settings=settings,
        status="failed" if is_failed else "dropped" if is_dropped else outcome["status"],
        chosen_by=_or_nan(outcome.get("chosen_by")),
        **means,
        steps=outcome.get("steps", 0),
        seconds=outcome.get("seconds", 0.0),
        message=outcome.get("failed", ""),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
