"""The search behind ``directrix train``: try a grid, let the measure choose on validation queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from directrix.data.queries import Queries
from directrix.data.split import split_queries
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
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
        Mean of the measure on the validation and the training queries, at the kept iteration.
    iterations : int
        The kept iteration.
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
        optimised is from what it stands for.
    """

    ranker: LinearRanker
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    gap: float


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
        If the method has no such setting, or the data cannot be used.

    Notes
    -----
    Deterministic: the same data and seed give the same bits. Cost: the number of candidates times one
    `LinearRanker.fit`.
    """
    goal = parse_measure(measure)
    way = find_method(method) if isinstance(method, str) else method
    train, judge, selection = _split(q, valid, seed)
    trials = way.candidates(goal, settings or {})
    tried: list[tuple[Candidate, LinearRanker]] = []
    for number, (part, chosen) in enumerate(trials):
        if progress is not None:
            progress(number, len(trials), part.name)
        ranker = part.ranker(measure=goal, **{"random_state": seed, **chosen})
        ranker.fit_queries(train, measure=goal)
        tried.append((_candidate(part, chosen, ranker, goal, train, judge), ranker))
    best, ranker = max(tried, key=lambda pair: -math.inf if math.isnan(pair[0].valid) else pair[0].valid)
    if train is not q:
        ranker = ranker.fit_queries(q, measure=goal)
    return Search(ranker, best, tuple(candidate for candidate, _ in tried), selection, gap_of(ranker, q))


def gap_of(ranker: LinearRanker, q: Queries) -> float:
    """Mean over queries of the distance between a ranker's surrogate and the measure it tends to."""
    return surrogate_gap(ranker.surrogate_, ranker.predict_queries(q), q)


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
        int(result.counts.get("iterations", 0)),
        result.status,
    )
