"""The order in which a search trains its candidates, which of them it drops, and how long each may take."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error
from directrix.search.candidates import SAMPLE, UNTRAINED, Candidate
from directrix.search.choice import contenders, difference, eligible
from directrix.search.clock import Clock
from directrix.search.folds import Fold, sample
from directrix.search.notes import standing
from directrix.search.training import train_candidate, training_ahead
from directrix.trainers.boosting import sharing_bins
from directrix.types import Float64Array

_FEWEST_TO_DROP = 10  # queries: from fewer the standard error itself is not known
_MANY = 200_000  # training documents, from which settings are compared on a sample of the queries
_SAMPLE = 60_000  # documents
_FINALISTS = 3
_FOR_SAMPLE = 1 / 3  # of a time budget
_LEAST_PART, _ROOM = 0.5, 1.5  # of the seconds that the first setting of a method took: for the others of it


class Race:
    """Trains candidates, in the order of preference, and drops those that are behind.

    One setting represents each method, and the best third of the methods are tried with all settings. Of many
    documents a sample is raced on first, and the best candidates of three methods are trained on all.

    If training ``is_costly``, as on shards, the best method alone is tried with all settings, there is no
    sample, and what is cheap comes first in the order of preference too.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        folds: Sequence[Fold],
        measure: RankingMeasure,
        clock: Clock,
        *,
        n_jobs: int = 1,
        is_costly: bool = False,
    ) -> None:
        self.candidates, self.folds, self.measure, self.clock = candidates, folds, measure, clock
        self.n_jobs, self.is_costly = n_jobs, is_costly
        self.failed: dict[str, InputError] = {}
        """The first error of each method that could not be trained with every setting."""
        self.untried: list[str] = []
        """The method of each candidate for which no time was left."""
        self.left_out: list[str] = []
        """Methods of which one setting was tried, because others are ahead."""
        self.sampled = ""
        self._tried: list[Candidate] = []
        self._places: list[int] = []  # of those that were tried, in ``candidates``
        self._n_begun = 0
        self._reserved = 0.0  # seconds, for the finalists
        self._where = ""

    def run(self) -> list[Candidate]:
        """Return what was trained, in the order of preference; only the best of a method keep their rankers.

        Raises the first `InputError` if none could be trained.
        """
        with sharing_bins():
            is_large = len(self.candidates) > _FINALISTS and self.folds[0].train.n_docs > _MANY
            if is_large and not self.is_costly:
                self._run_finals()
            else:
                self._run_heats()
        if not self._tried:
            raise next(iter(self.failed.values()))
        if self.is_costly:
            return self._tried
        order = sorted(range(len(self._tried)), key=lambda i: self._places[i])  # stable
        return [self._tried[i] for i in order]

    def notes(self) -> Iterator[str]:
        """Yield notes on a sample, and on the methods of which one setting was tried."""
        if self.sampled:
            yield self.sampled
        if self.left_out:
            yield f"{', '.join(self.left_out)}: only one setting was tried, because other methods are ahead"

    def _run_heats(self) -> None:
        """Train one setting of every method, and all settings of the methods that are ahead."""
        names = list(dict.fromkeys(c.name for c in self.candidates))
        first, others = heats(self.candidates) if len(names) > 1 else ([], self.candidates)
        self._run(first, -(-len(others) // 3))
        several = [name for name in names if any(c.name == name for c in others)]
        racing = several
        if len(names) > 1:
            done = {c.name: c for c in self._tried}
            racing = (
                survivors([*done.values()], names, 1)
                if self.is_costly
                else survivors([*done.values()], several)
            )
            racing += [name for name in several if name not in done]  # another setting may suit the data
            behind = [name for name in several if name not in racing]
            self.left_out = [name for name in behind if not done[name].progress]
            slow = set(behind) - set(self.left_out)
            self.untried += [c.name for c in others if c.name in slow]
        rest = round_robin(others, racing)
        self.clock.total = len(first) + len(rest)
        self._run(rest, 0)

    def _run_finals(self) -> None:
        """Race on a sample, then train the best candidate of each of the best methods on all queries."""
        folds = self.folds
        self.folds = [sample(folds[0], _SAMPLE, self.candidates[0].seed or 0)]
        if self.clock.left < math.inf:
            self._reserved = (1.0 - _FOR_SAMPLE) * self.clock.left
        self._run_heats()
        able = contenders(self._tried)
        ranked = sorted(  # stable; what was stopped comes last
            zip(self._tried, self._places, strict=True),
            key=lambda pair: (pair[0] not in able, -pair[0].or_worst),
        )
        best: dict[str, Candidate] = {}
        for candidate, place in ranked:
            best.setdefault(candidate.name, self.candidates[place])
        few = list(best.values())[:_FINALISTS]
        before = [
            replace(
                c, outcome=c.outcome if c.outcome == UNTRAINED else SAMPLE, rankers=(), scores=np.zeros(0)
            )
            for c in self._tried
        ]
        drawn, total = self.folds[0].train.n_queries, folds[0].train.n_queries
        places, self.folds, self._reserved = self._places, folds, 0.0
        self._tried, self._places = [], []
        self._where = " on all queries"
        self.clock.total += len(few)
        self._run(few, 0)
        whole = [c.name for c in self._tried if c.outcome != UNTRAINED]
        self.sampled = (
            f"settings were compared on {drawn:,} of {total:,} training queries; trained on all: "
            f"{', '.join(whole) or 'none'}"
        )
        if self._tried:
            self._tried, self._places = before + self._tried, places + self._places

    def _run(self, candidates: Sequence[Candidate], n_later: int) -> None:
        """Train candidates in this order, before ``n_later`` others."""
        with training_ahead(candidates, self.folds, self.measure, self.n_jobs) as ahead:
            for number, candidate in enumerate(candidates):
                left, following = self.clock.left - self._reserved, candidates[number:]
                if self._tried and left <= 0.0:
                    self.untried += [c.name + self._where for c in following]
                    return
                usual = next((c.seconds for c in self._tried if c.name == candidate.name), 0.0)
                if usual and left < _LEAST_PART * usual:
                    self.untried.append(candidate.name + self._where)
                    continue
                earlier = number and _turn(candidates[number - 1]) == 1
                share = fair_share(
                    left,
                    len(following) + n_later,
                    is_first_trees=n_later > 0 and _turn(candidate) == 1 and not earlier,
                )
                self.clock.start(self._n_begun, candidate.name, max(share, _ROOM * usual))
                self._n_begun += 1
                fit = None if ahead is None else lambda _, fold, n=number: ahead.take(n, fold)
                try:
                    trained = train_candidate(
                        candidate, self.folds, self.measure, self.clock, self._is_hopeless, fit
                    )
                except InputError as error:  # data that no method can train on were rejected before
                    self.failed.setdefault(candidate.name, error)
                    self.clock.finish(f"{candidate.label}: not trained: {error}")
                    continue
                finally:
                    if ahead is not None:
                        ahead.end(number)
                self._add(trained, self.candidates.index(candidate))
                self.clock.finish(standing(trained, self._tried, self.measure))

    def _add(self, trained: Candidate, place: int) -> None:
        """Keep the rankers of what can still be chosen, unless it is trained again on all queries."""
        self._tried.append(trained)
        self._places.append(place)
        kept = eligible(self._tried)
        is_refitted = len(self.folds) > 1
        self._tried = [
            replace(
                c,
                rankers=c.rankers if c in kept and not is_refitted else (),
                scores=c.scores if c in kept else np.zeros(0),
            )
            for c in self._tried
        ]

    def _is_hopeless(self, values: Float64Array) -> bool:
        """Whether a candidate is behind the best one by more than two standard errors, query by query.

        ``values`` are of the first of the validation queries.
        """
        able = contenders(self._tried)
        if not able:
            return False
        best = max(able, key=lambda c: c.or_worst)
        gaps = best.values[: len(values)] - values
        behind, error = mean_and_error(gaps)
        return bool(np.count_nonzero(~np.isnan(gaps)) >= _FEWEST_TO_DROP) and behind > 2.0 * error


def heats(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidate of each method that represents it, in the order to run them, and the rest.

    The middle of the grid represents a method. What needs no steps comes first, then trees, then the order
    of preference.
    """
    of_method: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        of_method[candidate.name].append(candidate)
    first = sorted((_middle(group) for group in of_method.values()), key=_turn)  # stable
    return first, [c for c in candidates if c not in first]


def _turn(candidate: Candidate) -> int:
    method = candidate.method
    return 0 if method.fixed.get("max_iter") == 0 else 1 if method.model == "trees" else 2


def _middle(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the middle value of every setting; of two middle values the earlier."""
    for name in candidates[0].settings:
        values: list[object] = []
        for candidate in candidates:
            if candidate.settings[name] not in values:
                values.append(candidate.settings[name])
        middle = values[(len(values) - 1) // 2]
        candidates = [c for c in candidates if c.settings[name] == middle]
    return candidates[0]


def survivors(candidates: Sequence[Candidate], names: Iterable[str], most: int | None = None) -> list[str]:
    """Return the methods whose other settings are tried, the best first: a third of ``names``, two at least.

    These are the best one, and of those within one standard error of it the earliest in ``names``, which is
    the order of preference; see docs/decisions/selection.md. ``candidates`` represent the methods.
    """
    ranked = sorted(contenders(candidates), key=lambda c: -c.or_worst)  # stable
    order = list(names)
    racing = [c for c in ranked if c.name in order]
    near = []
    for c in racing:
        behind, error = difference(racing[0], c)
        if behind <= error:
            near.append(c)
    near.sort(key=lambda c: (c is not racing[0], order.index(c.name)))
    kept = near[: most or max(2, len(order) // 3)]
    return [c.name for c in racing if c in kept]


def round_robin(candidates: Iterable[Candidate], names: Sequence[str]) -> list[Candidate]:
    """Return the first setting of every named method, in the order of names, then the second, and so on."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    numbered = [(next(turns[c.name]), c) for c in candidates if c.name in names]
    numbered.sort(key=lambda pair: (pair[0], names.index(pair[1].name)))
    return [candidate for _, candidate in numbered]


def fair_share(left: float, n_following: int, *, is_first_trees: bool) -> float:
    """Return the seconds that the next of ``n_following`` candidates may take of those that are left.

    Nearly twice an even share, all for the last candidate; at least half of all for the first trees, which
    need it most.
    """
    return max(2.0 * left / (n_following + 1), left / 2.0 if is_first_trees else 0.0)
