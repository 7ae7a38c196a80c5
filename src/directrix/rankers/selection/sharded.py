"""A search on data in shards: one training after another, each on all workers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.errors import InputError
from directrix.kernels import working_time
from directrix.rankers.method import Trial
from directrix.rankers.selection import choose
from directrix.rankers.selection.clock import Progress
from directrix.rankers.selection.race import heats
from directrix.rankers.selection.result import Search
from directrix.rankers.selection.search import SearchPlan
from directrix.rankers.selection.trial import Candidate, Target, steps_of
from directrix.rankers.training import judge_of_shards, mean_over_queries, values_of


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
    search = _Search(plan, shards, valid, seed, progress)
    able = search.able()
    first, rest = heats(able)
    if len(first) == 1:
        first, rest = able, []
    search.run(first, len(able))
    if search.tried and rest:
        best = max(search.tried, key=lambda one: one[1].or_worst)[1].method
        chosen = [trial for trial in rest if trial.method.name == best]
        search.run(chosen, len(first) + len(chosen))
    return search.result()


class _Search:
    """The trainings of a search, one after another."""

    def __init__(
        self,
        plan: SearchPlan,
        shards: ShardedQueries,
        valid: ShardedQueries | Queries,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.plan, self.shards, self.valid, self.progress = plan, shards, valid, progress
        self.target = Target(plan.measure, seed=seed)
        self.tried: list[tuple[Any, Candidate]] = []
        self._refused: list[InputError] = []
        self._judged = valid.judged() if isinstance(valid, ShardedQueries) else valid

    def able(self) -> list[Trial]:
        """Return the trials that can run on shards; of several methods those whose steps are few."""
        rankers = [(trial, self.target.ranker(trial)) for trial in self.plan.trials]
        able = [(trial, ranker) for trial, ranker in rankers if hasattr(ranker, "fit_shards")]
        if not able:
            raise InputError(
                "none of these methods is trained on shards: their rankers need all features in one place. "
                "Choose a method with a linear model or a network, e.g. ApproxNDCG."
            )
        if len({trial.method.name for trial, _ in able}) > 1:
            able = [(trial, ranker) for trial, ranker in able if not _asks_for_each_query(ranker)]
        return [trial for trial, _ in able]

    def run(self, trials: Sequence[Trial], total: int) -> None:
        """Train some; data that one cannot use leave it out, unless it is the only one."""
        for trial in trials:
            if self.progress is not None:
                self.progress(len(self.tried) + len(self._refused), total, trial.method.name)
            try:
                self.tried.append(self._trained(trial))
            except InputError as error:
                if total == 1:
                    raise
                self._refused.append(error)

    def _trained(self, trial: Trial) -> tuple[Any, Candidate]:
        begun = working_time()
        ranker, measure = self.target.ranker(trial), self.plan.measure
        ranker.fit_shards(self.shards, self.valid if trial.method.keeps_best else None, measure=measure)
        valid = self.valid
        scores = valid.scores(ranker) if isinstance(valid, ShardedQueries) else ranker.predict_queries(valid)
        values = values_of(measure, scores, self._judged)
        scaled = self.shards if ranker.scale_ is None else self.shards.scaled(ranker.scale_)
        candidate = Candidate(
            trial.method.name,
            trial.settings,
            mean_over_queries(values),
            judge_of_shards(measure, ranker._model(), scaled)(ranker._params),
            steps_of(ranker.result_.counts),
            ranker.result_.status,
            working_time() - begun,
            np.asarray(values),
        )
        return ranker, candidate

    def result(self) -> Search:
        """Return the best of the rankers, and what was tried."""
        if not self.tried:
            raise self._refused[0]
        candidates = tuple(candidate for _, candidate in self.tried)
        best = choose.preferred(candidates)
        ranker = next(one for one, candidate in self.tried if candidate is best)
        selection = f"{self._judged.n_queries} validation queries"
        choose.keep_selection(ranker, best.values, selection, len(candidates))
        names = {candidate.method for candidate in candidates}
        absent = dict.fromkeys(t.method.name for t in self.plan.trials if t.method.name not in names)
        remarks = [f"not trained on shards: {', '.join(absent)}"] * bool(absent)
        remarks += [f"left out: {error}" for error in self._refused]
        why = choose.why_chosen(best, candidates, self.plan.measure)
        seed = self.target.seed
        return Search(ranker, best, candidates, selection, why, math.nan, tuple(remarks), seed=seed)


def _asks_for_each_query(ranker: Any) -> bool:
    """Whether the trainer takes a step for each query, and every step is a question to all shards."""
    return bool(ranker.trainer == "sgd" or getattr(ranker.trainer, "batch", None) == 1)
