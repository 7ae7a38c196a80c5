"""The search behind ``directrix train``: try a grid, let the measure choose on validation queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.objectives.weights import weights_of
from directrix.rankers.attempts import Attempt, again, attempt
from directrix.rankers.candidates import Candidate, allowed, by_turns, that_weigh
from directrix.rankers.checks import check_measurable, check_trainable
from directrix.rankers.clock import Clock, Progress
from directrix.rankers.judging import Weights, judging_folds
from directrix.rankers.methods import Method
from directrix.rankers.methods import method as find_method
from directrix.rankers.reasons import (
    not_trained,
    not_tried,
    nothing_to_learn,
    other_gain,
    preferred,
    unweighable,
    why_chosen,
)
from directrix.rankers.training import surrogate_gap

__all__ = ["Search", "search"]


@dataclass(frozen=True)
class Search:
    """What a search found.

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
        optimised is from what it stands for; NaN where no surrogate of a measure was optimised.
    remarks : tuple of str
        What the caller should hear: that there was nothing to learn from, or nothing to choose by.
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
        Validation queries. Without them every candidate is judged on queries that it was not trained on, in
        ``folds`` turns, and the chosen one is trained again on all; with fewer than 10 queries the training
        queries judge.
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
        Seconds after which no further candidate is tried and the one under way is dropped; the first one is
        always finished. The methods take turns, so that each has had its first setting before the second.
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
        If the method has no such setting, or one that has no effect in a search, or the data cannot be used
        by any candidate; where others can be trained, a remark says so.

    Notes
    -----
    Deterministic without a time budget: the same data and seed give the same bits. Cost: the number of
    candidates times folds times one ``fit``.
    """
    goal = parse_measure(measure)
    way = find_method(method) if isinstance(method, str) else method
    trials = allowed(way.candidates(goal, settings or {}), models)
    check_trainable(q)
    weights = _checked(weights, q)
    trials, left_out = that_weigh(trials, weights)
    if time_budget is not None:
        trials = by_turns(trials)
    parts, selection = judging_folds(q, valid, weights, folds, seed)
    for part in (parts[0].train, parts[0].judge):
        check_measurable(goal, part)
    clock, missing = Clock(time_budget, len(trials), progress), len(trials)
    tried: list[Attempt] = []
    failed: dict[str, InputError] = {}
    for number, (each, chosen) in enumerate(trials):
        if number and clock.is_late:
            break
        clock.start(number, each.name)
        try:
            found = attempt(each, chosen, parts, goal, seed, clock)
        except InputError as error:  # what no method can train on was refused above
            failed.setdefault(each.name, error)
            missing -= 1
            continue
        if found is None:
            break
        tried.append(found._replace(rankers=found.rankers[-1:]))  # the others are not needed
        missing -= 1
    if not tried:
        raise next(iter(failed.values()))
    candidates = tuple(trial.candidate for trial in tried)
    best = tried[candidates.index(preferred(candidates))]
    ranker = best.rankers[-1]
    if valid is None and parts[0].train is not q:
        clock.last(best.method.name)
        ranker = again(best, q, weights, goal, seed, clock)
    gap = math.nan if best.method.surrogate is None else gap_of(ranker, q)
    remarks = [
        *nothing_to_learn(parts, goal, best.candidate),
        *(() if math.isnan(gap) else other_gain(goal)),
        *unweighable(left_out),
        *not_trained(failed),
        *not_tried(missing, len(trials), time_budget),
    ]
    why = why_chosen(best.candidate, candidates, goal)
    return Search(ranker, best.candidate, candidates, selection, why, gap, tuple(remarks))


def _checked(weights: Weights, q: Queries) -> Weights:
    by_document, by_query = weights
    return (
        None if by_document is None else weights_of(by_document, q.n_docs, "doc_weight", "document"),
        None if by_query is None else weights_of(by_query, q.n_queries, "query_weight", "query"),
    )


def gap_of(ranker: Any, q: Queries) -> float:
    """Mean over queries of the distance between a ranker's surrogate and the measure it tends to.

    After `Anneal` the surrogate at the smoothing where it ended. NaN if it tends to no measure.
    """
    surrogate = getattr(ranker, "surrogate_", None)
    if "tends_to_measure" not in getattr(surrogate, "traits", ()):
        return math.nan
    return surrogate_gap(surrogate, ranker.predict_queries(q), q)
