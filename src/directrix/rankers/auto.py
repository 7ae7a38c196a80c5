"""The search behind ``directrix train``: try a grid, let the measure choose on validation queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.split import split_queries
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.rankers.checks import check_measurable, check_trainable
from directrix.rankers.linear import LinearRanker
from directrix.rankers.methods import Method
from directrix.rankers.methods import method as find_method
from directrix.rankers.training import mean_of, surrogate_gap

__all__ = ["Candidate", "Search", "search"]

_FEWEST_TO_SPLIT = 10
_SHARE = 0.2


@dataclass(frozen=True)
class Candidate:
    """One setting of the grid and how it did.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : mapping
        What was set.
    valid, train : float
        Mean of the measure on the validation and the training queries, after the last iteration.
    iterations : int
        How many there were.
    status : str
        Why training stopped, see `Result`.
    """

    method: str
    settings: Mapping[str, Any]
    valid: float
    train: float
    iterations: int
    status: str

    @property
    def label(self) -> str:
        """Method and settings in one line: ``ApproxNDCG alpha=10 l2=0.001``."""
        return " ".join(
            [
                self.method,
                *(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.settings.items()),
            ]
        )


@dataclass(frozen=True)
class Search:
    """What a search found.

    Parameters
    ----------
    ranker : LinearRanker
        Fitted with the chosen settings.
    chosen : Candidate
        The best on the validation queries; the earliest of equals.
    candidates : tuple of Candidate
        All that were tried, in order.
    selection : str
        On which queries the choice was made, in words.
    gap : float
        Mean over the training queries of abs(surrogate - its measure), at the end: how far what was
        optimised is from what it stands for; NaN for "Regression", which optimises no surrogate.
    remarks : tuple of str
        What the caller should hear: that there was nothing to learn from, or nothing to choose by.
    """

    ranker: LinearRanker
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    gap: float
    remarks: tuple[str, ...] = ()


Progress = Callable[[int, int, str], None]


def search(
    q: Queries,
    valid: Queries | None = None,
    *,
    method: Method | str = "auto",
    measure: RankingMeasure | str = "nDCG@10",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Search:
    """Train every setting of a method's grid and keep the one that the measure prefers.

    Parameters
    ----------
    q : Queries
        Training queries.
    valid : Queries, optional
        Validation queries. Without them a fifth of the training queries (chosen by ``seed``) judges, and
        the chosen settings are trained again on all; with fewer than 10 queries the training queries judge.
    method : Method or str
        What to search; "auto" starts from the methods that suit the measure.
    measure : measure or str
        What chooses.
    settings : mapping, optional
        Settings to fix: they replace the grid's values.
    seed : int
        Of the split, and of trainers that draw at random.
    progress : callable, optional
        ``progress(done, total, label)`` before every candidate.

    Returns
    -------
    Search

    Raises
    ------
    InputError
        If the method has no such setting, or one that has no effect in a search, or the data cannot be used.

    Notes
    -----
    Deterministic: the same data and seed give the same bits. Cost: the number of candidates times one
    `LinearRanker.fit`.
    """
    goal = parse_measure(measure)
    way = find_method(method) if isinstance(method, str) else method
    train, judge, selection = _split(q, valid, seed)
    trials = way.candidates(goal, settings or {})
    check_trainable(train)
    for part in (train, judge):
        check_measurable(goal, part)
    tried: list[tuple[Candidate, LinearRanker]] = []
    for number, (each, chosen) in enumerate(trials):
        if progress is not None:
            progress(number, len(trials), each.name)
        ranker = each.ranker(measure=goal, **chosen)
        ranker.set_params(random_state=chosen.get("random_state", seed)).fit_queries(train, measure=goal)
        tried.append((_candidate(each, chosen, ranker, goal, train, judge), ranker))
    best, ranker = max(tried, key=lambda pair: -math.inf if math.isnan(pair[0].valid) else pair[0].valid)
    if train is not q:
        ranker = ranker.fit_queries(q, measure=goal)
    is_optimised = find_method(best.method).surrogate is not None
    gap = gap_of(ranker, q) if is_optimised else math.nan
    remarks = [*_nothing_to_learn(train, judge, goal, best), *(_other_gain(goal) if is_optimised else ())]
    return Search(ranker, best, tuple(candidate for candidate, _ in tried), selection, gap, tuple(remarks))


def gap_of(ranker: LinearRanker, q: Queries) -> float:
    """Mean over queries of the distance between a ranker's surrogate and the measure it tends to."""
    return surrogate_gap(ranker.surrogate_, ranker.predict_queries(q), q)


def _nothing_to_learn(train: Queries, judge: Queries, goal: RankingMeasure, best: Candidate) -> Iterator[str]:
    if not _has_order(train):
        yield "no training query has documents of different labels, so there is no order to learn"
    if math.isnan(best.valid):
        yield f"{goal.name} is undefined on all validation queries, so the first candidate was kept"
    elif judge is not train and not _has_order(judge):
        yield (
            "no validation query has documents of different labels, so all candidates are equal and the "
            "first was kept"
        )


def _has_order(q: Queries) -> bool:
    """Whether any query has documents of different labels."""
    first = q.qptr[:-1][np.diff(q.qptr) > 0]
    return bool(np.any(np.minimum.reduceat(q.labels, first) < np.maximum.reduceat(q.labels, first)))


def _other_gain(goal: RankingMeasure) -> Iterator[str]:
    if getattr(goal, "gain", "exp") != "exp":
        yield (
            f"training maximises the gain 2^label - 1; {goal.name} chooses among the candidates and is "
            "what score reports"
        )


def _split(q: Queries, valid: Queries | None, seed: int) -> tuple[Queries, Queries, str]:
    if valid is not None:
        return q, valid, f"{valid.n_queries} validation queries"
    if q.n_queries < _FEWEST_TO_SPLIT:
        return q, q, f"the {q.n_queries} training queries, too few to hold some back"
    train, judge = split_queries(q, (1.0 - _SHARE, _SHARE), seed=seed)
    text = f"{judge.n_queries} of {q.n_queries} queries held back (seed {seed}), then trained on all"
    return train, judge, text


def _candidate(
    part: Method,
    chosen: Mapping[str, Any],
    ranker: LinearRanker,
    goal: RankingMeasure,
    train: Queries,
    judge: Queries,
) -> Candidate:
    result = ranker.result_
    return Candidate(
        part.name,
        chosen,
        mean_of(goal, ranker.predict_queries(judge), judge),
        mean_of(goal, ranker.predict_queries(train), train),
        int(result.counts.get("iterations", result.counts.get("epochs", 0))),
        result.status,
    )
