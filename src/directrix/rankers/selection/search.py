"""The search itself: try a grid, let the measure choose on validation queries."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from directrix.data.queries import Queries
from directrix.data.weights import weights_of
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.rankers.inputs import Weights, check_measurable, check_trainable
from directrix.rankers.kinds import KINDS
from directrix.rankers.method import Method, Trial
from directrix.rankers.methods import method as method_named
from directrix.rankers.selection import choose
from directrix.rankers.selection.trial import (
    Candidate,
    Clock,
    Fold,
    Progress,
    Target,
    Trained,
    refit,
    run_trial,
    selection_folds,
)
from directrix.rankers.training import surrogate_gap


class SearchPlan(NamedTuple):
    """What chooses, and the trials in the order in which they are run; checked before any data are read."""

    measure: RankingMeasure
    trials: Sequence[Trial]

    @property
    def takes_missing(self) -> bool:
        """Whether any candidate takes features that are missing (NaN); the others are then left out."""
        return any(trial.ranker(self.measure).takes_missing for trial in self.trials)


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Parameters
    ----------
    ranker : Ranker
        Fitted with the chosen settings.
    chosen : Candidate
        See `preferred`: the best on the validation queries, unless an earlier method is as good.
    candidates : tuple of Candidate
        All that were tried, in order.
    selection : str
        On which queries the choice was made, in words.
    why : str
        By how much the chosen candidate is ahead of the best of another method, in words.
    gap : float
        Mean over the training queries of abs(surrogate - its measure), at the end: how far what was
        optimised is from what it replaces; NaN where no surrogate of a measure was optimised.
    remarks : tuple of str
        What the caller should know: that no query could teach an order, or none could choose.
    """

    ranker: Any
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    why: str
    gap: float
    remarks: tuple[str, ...] = ()


def search(  # noqa: PLR0913
    q: Queries,
    valid: Queries | None = None,
    *,
    method: Method | str = "auto",
    measure: RankingMeasure | str = "nDCG@10",
    settings: Mapping[str, Any] | None = None,
    models: Collection[str] | None = None,
    folds: int | None = None,
    time_budget: float | None = None,
    weights: Weights = (None, None),
    seed: int = 0,
    progress: Progress | None = None,
) -> Search:
    """Train every setting of a method's grid and keep the one that the measure prefers.

    Parameters
    ----------
    q : Queries
        Training queries.
    valid : Queries, optional
        Validation queries. Without them every candidate is judged on queries that it was not trained on, by
        cross-validation in ``folds`` folds, and the chosen one is trained again on all; with fewer than 10
        queries the training queries judge.
    method : Method or str
        What to search; "auto" tries the methods that suit the measure, in an order of preference.
    measure : measure or str
        What chooses.
    settings : mapping, optional
        Settings to fix: they replace the grid's values.
    models : names, optional
        Only methods with these models: "linear", "mlp", "stumps", "trees"; default all that are installed.
    folds : int >= 1, optional
        1 holds back a fifth of the queries. Default: 5, and 1 from 1,000 queries on.
    time_budget : float > 0, optional
        Seconds after which no further candidate is tried and the current one is dropped; the first one is
        always finished. Every method has its first setting tried before any has its second.
        What is chosen then depends on the speed of the machine.
    weights : (doc_weight, query_weight), optional
        As in ``fit_queries``.
    seed : int
        Of the split, and of trainers that draw at random.
    progress : callable, optional
        ``progress(done, total, text)`` at every step of every candidate.

    Returns
    -------
    Search

    Raises
    ------
    InputError
        If the method does not have a setting, or it has no effect in a search or a wrong value, or the data
        cannot be used by any candidate; where others can be trained, a remark says so.

    Notes
    -----
    Deterministic without a time budget: the same data and seed give the same bits. Cost: the number of
    candidates times folds times one ``fit``.
    """
    plan = plan_search(method, measure, settings or {}, models)
    return run_search(
        plan, q, valid, folds=folds, time_budget=time_budget, weights=weights, seed=seed, progress=progress
    )


def plan_search(
    method: Method | str,
    measure: RankingMeasure | str,
    settings: Mapping[str, Any],
    models: Collection[str] | None,
) -> SearchPlan:
    """List what `search` tries, and check every setting, before any data are read.

    Raises `InputError` if a name is not known, a setting does not exist or has no effect in a search, or no
    method has one of the models, and scikit-learn's ``InvalidParameterError`` for the value of a ranker's
    parameter.
    """
    measure = parse_measure(measure)
    method = method_named(method) if isinstance(method, str) else method
    trials = _with_models(method.candidates(measure, settings), models)
    for trial in trials:
        trial.ranker(measure).check_parameters()
    return SearchPlan(measure, trials)


def run_search(  # noqa: PLR0913
    plan: SearchPlan,
    q: Queries,
    valid: Queries | None = None,
    *,
    folds: int | None = None,
    time_budget: float | None = None,
    weights: Weights = (None, None),
    seed: int = 0,
    progress: Progress | None = None,
) -> Search:
    """Train and judge what is planned; see `search`."""
    check_trainable(q)
    weights = _checked(weights, q)
    trials, without_weights = _supporting_weights(plan.trials, weights)
    if time_budget is not None:
        trials = round_robin(trials)
    parts, selection = selection_folds(q, valid, weights, folds, seed)
    for part in (parts[0].train, parts[0].judge):
        check_measurable(plan.measure, part)
    target, clock = Target(plan.measure, seed=seed), Clock(time_budget, len(trials), progress)
    tried, failed, n_untried = _run_trials(trials, parts, target, clock)
    candidates = tuple(trained.candidate for trained in tried)
    best = tried[candidates.index(choose.preferred(candidates))]
    ranker = best.rankers[-1]
    if valid is None and parts[0].train is not q:
        clock.start_refit(best.candidate.method)
        ranker = refit(best, q, weights, target, clock)
    gap = math.nan if best.trial.method.surrogate is None else surrogate_gap(ranker, q)
    texts = (
        *choose.remarks_on_data(parts, plan.measure, best.candidate),
        *choose.remarks_on_gains(plan.measure, gap),
        *choose.remarks_on_trials(without_weights, failed, n_untried, len(trials), time_budget),
    )
    why = choose.why_chosen(best.candidate, candidates, plan.measure)
    return Search(ranker, best.candidate, candidates, selection, why, gap, texts)


def _run_trials(
    trials: Sequence[Trial], folds: list[Fold], target: Target, clock: Clock
) -> tuple[list[Trained], dict[str, InputError], int]:
    """Return what was trained, the first error of each method, and the number of trials without time."""
    tried: list[Trained] = []
    failed: dict[str, InputError] = {}
    n_untried = len(trials)
    for number, trial in enumerate(trials):
        if number and clock.is_late:
            break
        clock.start(number, trial.method.name)
        try:
            trained = run_trial(trial, folds, target, clock)
        except InputError as error:  # data that no method can train on were refused before
            failed.setdefault(trial.method.name, error)
        else:
            if trained is None:
                break
            tried.append(trained._replace(rankers=trained.rankers[-1:]))  # the others are not needed
        n_untried -= 1
    if not tried:
        raise next(iter(failed.values()))
    return tried, failed, n_untried


def _with_models(trials: list[Trial], models: Collection[str] | None) -> list[Trial]:
    """Keep the trials with the given models; None keeps all."""
    if models is None:
        return trials
    models = [models] if isinstance(models, str) else models
    unknown = sorted(set(models) - set(KINDS))
    matching = [trial for trial in trials if trial.method.model in models]
    if unknown or not matching:
        raise InputError(
            f"models={sorted(models)}: "
            + (f"there is no model {unknown[0]!r}" if unknown else "no candidate has one of these models")
            + f"; models are {', '.join(KINDS)}.",
            python="Type e.g. models=['linear'].",
            shell="Type e.g. --model linear.",
        )
    return matching


def _supporting_weights(trials: Sequence[Trial], weights: Weights) -> tuple[Sequence[Trial], list[str]]:
    """Leave out the methods without weights of documents, where others support them; and name them."""
    supporting = [trial for trial in trials if weights[0] is None or trial.method.weighs_docs]
    if not supporting:
        return trials, []
    names = {trial.method.name for trial in supporting}
    return supporting, list(dict.fromkeys(t.method.name for t in trials if t.method.name not in names))


def round_robin(trials: Sequence[Trial]) -> list[Trial]:
    """Return the first setting of every method, then the second of every method, and so on."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    numbered = [(next(turns[trial.method.name]), trial) for trial in trials]
    return [trial for _, trial in sorted(numbered, key=lambda pair: pair[0])]


def _checked(weights: Weights, q: Queries) -> Weights:
    by_document, by_query = weights
    return (
        None if by_document is None else weights_of(by_document, q.n_docs, "doc_weight", "document"),
        None if by_query is None else weights_of(by_query, q.n_queries, "query_weight", "query"),
    )
