"""A search on data in shards: one training after another, each on all workers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.judging import judge_of_shards
from directrix.rankers.method import Trial
from directrix.rankers.selection import choose
from directrix.rankers.selection.clock import Progress
from directrix.rankers.selection.race import heats
from directrix.rankers.selection.result import Search
from directrix.rankers.selection.search import SearchPlan
from directrix.rankers.selection.trial import Candidate, Target, steps_of
from directrix.rankers.training import mean_over_queries, values_of


def search_shards(
    plan: SearchPlan,
    shards: ShardedQueries,
    valid: ShardedQueries | Queries,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Search:
    """Train what is planned on shards, and keep the ranker that is best on the validation queries.

    Only methods whose rankers have ``fit_shards`` are tried; of several methods none that takes a step for
    each query, which would be a question to all shards. Of several methods each is tried with the
    setting in the middle of its grid, and the best with all settings.

    Parameters
    ----------
    plan : SearchPlan
        Of `plan_search`.
    shards, valid : training and validation queries
    seed, progress : as in `search`

    Raises
    ------
    InputError
        If none of the methods can be trained on shards, or as ``fit_shards``.
    """
    target = Target(plan.measure, seed=seed)
    able = [trial for trial in plan.trials if target.ranker(trial).takes_shards]
    quick = [trial for trial in able if not _asks_for_each_query(target.ranker(trial))]
    if len({trial.method.name for trial in able}) > 1:
        able = quick
    if not able:
        raise InputError(
            "none of these methods is trained on shards: their rankers need all features in one place. "
            "Choose a method with a linear model or a network, e.g. ApproxNDCG."
        )
    first, rest = heats(able)
    if len(first) == 1:
        first, rest = able, []
    names: dict[str, None] = dict.fromkeys(t.method.name for t in plan.trials if t not in able)
    judged = _Judged(valid)
    tried: list[tuple[Any, Candidate]] = []
    refused: list[InputError] = []
    total = len(able)

    def run(trials: Sequence[Trial]) -> None:
        for trial in trials:
            if progress is not None:
                progress(len(tried) + len(refused), total, trial.method.name)
            try:
                tried.append(_trained(trial, target, shards, judged))
            except InputError as error:
                if len(able) == 1:
                    raise
                refused.append(error)

    run(first)
    if tried and rest:
        best = max(tried, key=lambda one: one[1].or_worst)[1].method
        chosen = [trial for trial in rest if trial.method.name == best]
        total = len(first) + len(chosen)
        run(chosen)
    if not tried:
        raise refused[0]
    candidates = tuple(candidate for _, candidate in tried)
    best_of_all = choose.preferred(candidates)
    ranker = next(one for one, candidate in tried if candidate is best_of_all)
    selection = "the validation queries"
    choose.keep_selection(ranker, best_of_all.values, selection, len(candidates))
    remarks = [f"not trained on shards: {', '.join(names)}"] if names else []
    remarks += [f"left out: {error}" for error in refused]
    why = choose.why_chosen(best_of_all, candidates, plan.measure)
    return Search(ranker, best_of_all, candidates, selection, why, math.nan, tuple(remarks), seed=seed)


def _asks_for_each_query(ranker: Any) -> bool:
    """Whether the trainer takes a step for each query, and every step is a question to all shards."""
    return bool(getattr(ranker.get_params()["trainer"], "batch", None) == 1 or ranker.trainer == "sgd")


class _Judged:
    """Validation queries, in shards or in memory, with what a ranker is judged by."""

    def __init__(self, valid: ShardedQueries | Queries) -> None:
        self.valid = valid
        self._labels = valid.judged() if isinstance(valid, ShardedQueries) else valid

    def values(self, ranker: Any, measure: RankingMeasure) -> Any:
        """Value of the measure for every validation query."""
        valid = self.valid
        scores = valid.scores(ranker) if isinstance(valid, ShardedQueries) else ranker.predict_queries(valid)
        return values_of(measure, scores, self._labels)


def _trained(trial: Trial, target: Target, shards: ShardedQueries, judged: _Judged) -> tuple[Any, Candidate]:
    begun = time.perf_counter()
    ranker, measure = target.ranker(trial), target.measure
    ranker.fit_shards(shards, judged.valid if trial.method.keeps_best else None, measure=measure)
    values = judged.values(ranker, measure)
    candidate = Candidate(
        trial.method.name,
        trial.settings,
        mean_over_queries(values),
        _on_training(ranker, measure, shards),
        steps_of(ranker.result_.counts),
        ranker.result_.status,
        time.perf_counter() - begun,
        np.asarray(values),
    )
    return ranker, candidate


def _on_training(ranker: Any, measure: RankingMeasure, shards: ShardedQueries) -> float:
    scaled = shards if ranker.scale_ is None else shards.scaled(ranker.scale_)
    return judge_of_shards(measure, ranker._model(), scaled)(ranker._params)
