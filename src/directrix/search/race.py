"""The order in which a search trains its candidates, screening, and the time for each."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error
from directrix.search.candidates import CUT_SHORT, INCOMPLETE, SAMPLE, UNTRAINED, Candidate
from directrix.search.choice import contenders, is_tied, leading, ranked
from directrix.search.clock import Clock, usual_growth
from directrix.search.folds import MANY_DOCS, SAMPLE_DOCS, Fold, sample
from directrix.search.notes import standing
from directrix.search.training import train_candidate, training_ahead
from directrix.trainers.bins import sharing_bins
from directrix.types import Float64Array

_FEWEST_TO_DROP = 10  # queries: from fewer the standard error itself is not known
_ENOUGH = 10_000  # training documents, from which the first trees may take all of a time budget
_FINALISTS = 3  # candidates that are trained on all of many documents without a time budget
_FOR_SAMPLE = 1 / 3  # of the time that is left then
_LEAST_PART, _ROOM = 0.5, 1.5  # of the seconds that the first setting of a method took: for the others of it
_BAGS, _SHARES = 5, {"subsample": 0.7, "feature_fraction": 0.6}  # docs/decisions/selection.md
_REST = 0.05  # of a time budget; while more is left, further trees are begun


class Race:
    """Trains candidates in the order of preference, and drops those that are behind.

    One setting represents each method, and the best third of the methods are tried with all settings. On many
    documents the default trees are trained first, then the methods that are ahead of them on a sample, then
    other settings of the best. With several methods, the best trees are trained again as bags. If time is
    left, runs that were cut short are repeated.

    If training ``is_costly``, as on shards, only the best method is tried with all settings, there is no
    sample, and cheap candidates come first in the order of preference.
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
        trees = _default_trees(candidates)
        self.candidates = [replace(c, is_anchor=c is trees, place=i) for i, c in enumerate(candidates)]
        self.folds, self.measure, self.clock = folds, measure, clock
        self.n_jobs, self.is_costly = n_jobs, is_costly
        self.failed: dict[str, InputError] = {}
        """The first error of each method that could not be trained with every setting."""
        self.untried: list[str] = []
        """The method of each candidate for which no time was left."""
        self.left_out: list[str] = []
        """Methods with only one tried setting, because others are ahead."""
        self.sampled = ""
        self._tried: list[Candidate] = []
        self._n_begun = 0
        self._reserved = 0.0  # seconds, for training on all queries
        self._expected: dict[str, float] = {}  # seconds for a setting of a method
        self._growth = 0.0  # of the trees that finished

    def run(self) -> list[Candidate]:
        """Return the trained candidates in the order of preference.

        Raises the first `InputError` if none could be trained.
        """
        self.clock.growth = usual_growth(self.folds[0].train.n_docs)
        with sharing_bins():
            is_large = len(self.candidates) > _FINALISTS and self.folds[0].train.n_docs > MANY_DOCS
            if is_large and not self.is_costly:
                self._run_large()
            else:
                self._run_heats()
                self._run_bags()
            self._extend()
        if self.clock.is_stopped and all(c.outcome in (SAMPLE, UNTRAINED) for c in self._tried):
            raise InputError("the search was stopped before a ranker was trained. Stop it later.")
        if not self._tried:
            raise next(iter(self.failed.values()))
        return sorted(self._tried, key=lambda c: c.place)

    def notes(self) -> Iterator[str]:
        """Yield notes on a sample, and on the methods with only one tried setting."""
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
            self.left_out = [n for n in behind if not done[n].progress and done[n].outcome != INCOMPLETE]
            slow = set(behind) - set(self.left_out)
            self.untried += [c.name for c in others if c.name in slow]
        rest = round_robin(others, racing)
        self.clock.total = len(first) + len(rest)
        self._run(rest, 0)

    def _run_large(self) -> None:
        """Train the default trees on all queries, methods ahead of them on a sample, and other settings.

        A sample shows which methods suit the data, but not how many leaves are best on all documents. Without
        a time budget, three candidates are trained on all queries.
        """
        first, _ = heats(self.candidates)
        trees = _default_trees(self.candidates)
        rivals = first if len(first) > 1 else [] if trees is not None else self.candidates
        self.clock.total = len(first)
        if trees is not None:
            self._run([trees], 0)
        begun = {c.place for c in self._tried}
        needed = _LEAST_PART * max(self._expected.values(), default=-math.inf)
        if rivals and self.clock.left > needed:
            leading = self._leading_on_sample(rivals, trees)
            self._run(leading, 0)
        self._run_bags()
        begun |= {c.place for c in self._tried if c.outcome != SAMPLE}
        while self.clock.left < math.inf or len(begun) < _FINALISTS:
            following = self._nearest_setting(begun)
            if following is None:
                break
            begun.add(following)
            self.clock.total += 1
            self._run([self.candidates[following]], 0)
        if self.sampled:
            names = dict.fromkeys(c.name for c in self._tried if c.outcome not in (SAMPLE, UNTRAINED))
            self.sampled += f"; trained on all: {', '.join(names) or 'none'}"

    def _leading_on_sample(self, rivals: Sequence[Candidate], trees: Candidate | None) -> list[Candidate]:
        """Train rivals on a sample, and return the best settings of the methods that are ahead of the trees.

        Afterwards the expected seconds of each method are in proportion to the documents.
        """
        tried, expected, folds = self._tried, self._expected, self.folds
        self._tried, self._expected = [], {}
        self.folds = [sample(folds[0], SAMPLE_DOCS, self.candidates[0].seed or 0)]
        if self.clock.left < math.inf:
            self._reserved = (1.0 - _FOR_SAMPLE) * self.clock.left
        self._run(sorted(rivals, key=lambda c: c is not trees), 0)
        able = contenders(self._tried) if self._tried else []
        name = "" if trees is None else trees.name
        bar = max((c.or_worst for c in self._tried if c.name == name), default=-math.inf)
        ahead = [
            self.candidates[c.place]
            for c in leading(able).values()
            if c.name != name and (trees is None or c.valid > bar)
        ]
        whole, drawn = folds[0].train, self.folds[0].train
        self.sampled = f"methods were compared on {drawn.n_queries:,} of {whole.n_queries:,} training queries"
        self._tried = tried + [
            replace(
                c, outcome=c.outcome if c.outcome == UNTRAINED else SAMPLE, rankers=(), scores=np.zeros(0)
            )
            for c in self._tried
        ]
        growth = whole.n_docs / drawn.n_docs
        self._expected = {n: growth * seconds for n, seconds in self._expected.items()} | expected
        self.folds, self._reserved = folds, 0.0
        return ahead[: _FINALISTS - (trees is not None)]

    def _nearest_setting(self, begun: Collection[int]) -> int | None:
        """Position of the setting to try next: the nearest to the best, of the best method with another.

        The distance is the number of steps in the grid. Of equally near settings, the later one, which has
        more leaves, comes first.
        """
        for best in ranked(contenders(self._tried)):
            group = [i for i, c in enumerate(self.candidates) if c.name == best.name]
            center = self.candidates[best.place]
            steps = steps_from(center, [self.candidates[i] for i in group])
            if left := [(n, -i) for n, i in zip(steps, group, strict=True) if i not in begun]:
                return -min(left)[1]
        return None

    def _run_bags(self) -> None:
        """Train the best trees again as the mean of several, unless they are behind or time is short."""
        able = [
            c
            for c in self._tried
            if not c.outcome and "n_bags" in c.method.settings and "n_bags" not in c.settings
        ]
        if self.is_costly or not able or len({c.name for c in self.candidates}) == 1:
            return
        best = ranked(able)[0]
        n_bags = int(min(_BAGS, self.clock.left / max(best.seconds, 1e-9)))
        if n_bags < 2 or self._is_hopeless(best.values):
            return
        settings = {**_SHARES, **best.settings, "n_bags": n_bags}
        n_candidates = len(self.candidates)
        bagged = replace(self.candidates[best.place], settings=settings, is_anchor=True, place=n_candidates)
        self.candidates = [*self.candidates, bagged]
        self.clock.total += 1
        self._run([bagged], 0)

    def _extend(self) -> None:
        """Repeat runs that the time budget stopped, the best first, if more time is left than they had."""
        extended = set[int]()
        while stopped := [c for c in self._tried if c.outcome == CUT_SHORT and c.place not in extended]:
            best = ranked(stopped)[0]
            extended.add(best.place)
            if self.clock.left < max(best.seconds, _REST * self.clock.budget):
                continue
            self._expected.pop(best.name, None)
            self.clock.total += 1
            self._run([self.candidates[best.place]], 0)
            again = [c for c in self._tried if c.place == best.place]  # of equals the longer run is kept
            kept = max(again, key=lambda c: (c.or_worst, c.steps))
            self._tried = [c for c in self._tried if c is kept or c not in again]

    def _run(self, candidates: Sequence[Candidate], n_later: int) -> None:
        """Train candidates in this order, before ``n_later`` others."""
        with training_ahead(candidates, self.folds, self.measure, self.n_jobs) as ahead:
            for number, candidate in enumerate(candidates):
                left, following = self.clock.left - self._reserved, candidates[number:]
                can_choose = any(c.outcome != SAMPLE for c in self._tried)
                if self.clock.is_stopped or (can_choose and left <= 0.0):
                    self.untried += [c.name for c in following]
                    return
                usual, is_trees = self._expected.get(candidate.name, 0.0), _turn(candidate) == _OF_TREES
                adapts = is_trees and left > _REST * self.clock.budget  # by its learning rate
                if can_choose and usual and left < _LEAST_PART * usual and not adapts:
                    self.untried.append(candidate.name)
                    continue
                least = 0.0
                if n_later and is_trees and not (number and _turn(candidates[number - 1]) == _OF_TREES):
                    least = 1.0 if self.folds[0].train.n_docs >= _ENOUGH else 0.5
                share = fair_share(left, len(following) + n_later, least)
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
                place = len(self._tried) if self.is_costly else candidate.place
                self._tried.append(replace(trained, rankers=trained.rankers[:1], place=place))
                if is_trees and not trained.outcome and trained.curve is not None:
                    n_trees = float(trained.curve.steps[-1])
                    self._growth = max(self._growth, _ROOM * trained.ranker().learning_rate * n_trees)
                    self.clock.growth = self._growth
                self._expected.setdefault(candidate.name, trained.seconds)
                self.clock.finish(standing(trained, self._tried, self.measure))

    def _is_hopeless(self, values: Float64Array) -> bool:
        """Whether a candidate is behind the best one by more than two standard errors, query by query.

        ``values`` are those of the first validation queries.
        """
        able = contenders(self._tried)
        if not able:
            return False
        best = ranked(able)[0]
        gaps = best.values[: len(values)] - values
        behind, error = mean_and_error(gaps)
        return bool(np.count_nonzero(~np.isnan(gaps)) >= _FEWEST_TO_DROP) and behind > 2.0 * error


def heats(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidate that represents each method, in the order to run them, and the rest.

    The middle of the grid represents a method. Methods without steps come first, then trees, then the order
    of preference.
    """
    of_method: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        of_method[candidate.name].append(candidate)
    first = sorted((_middle(group) for group in of_method.values()), key=_turn)  # stable
    return first, [c for c in candidates if c not in first]


def _default_trees(candidates: Sequence[Candidate]) -> Candidate | None:
    return next((c for c in heats(candidates)[0] if _turn(c) == _OF_TREES), None)


_OF_TREES = 1


def _turn(candidate: Candidate) -> int:
    method = candidate.method
    return 0 if method.fixed.get("max_iter") == 0 else _OF_TREES if method.model == "trees" else 2


def steps_from(center: Candidate, candidates: Sequence[Candidate]) -> list[int]:
    """Return how many steps in the grid of a method its candidates are from one of them."""
    total = [0] * len(candidates)
    for name, value in center.settings.items():
        values: list[object] = []
        for candidate in candidates:
            if candidate.settings.get(name) not in values:
                values.append(candidate.settings.get(name))
        steps = [abs(values.index(c.settings.get(name)) - values.index(value)) for c in candidates]
        total = [a + b for a, b in zip(total, steps, strict=True)]
    return total


def _middle(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the middle value of every setting; the earlier of two middle values."""
    for name in candidates[0].settings:
        values: list[object] = []
        for candidate in candidates:
            if candidate.settings[name] not in values:
                values.append(candidate.settings[name])
        middle = values[(len(values) - 1) // 2]
        candidates = [c for c in candidates if c.settings[name] == middle]
    return candidates[0]


def survivors(candidates: Sequence[Candidate], names: Iterable[str], most: int | None = None) -> list[str]:
    """Return the methods whose other settings are tried, best first: a third of ``names``, at least two.

    Each is at most two standard errors behind the best. ``candidates`` represent the methods.
    """
    order = list(names)
    racing = [c for c in ranked(contenders(candidates)) if c.name in order]
    return [c.name for c in racing if is_tied(c, racing[0])][: most or max(2, len(order) // 3)]


def round_robin(candidates: Iterable[Candidate], names: Sequence[str]) -> list[Candidate]:
    """Return the first setting of every named method, in the order of names, then the second, and so on."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    numbered = [(next(turns[c.name]), c) for c in candidates if c.name in names]
    numbered.sort(key=lambda pair: (pair[0], names.index(pair[1].name)))
    return [candidate for _, candidate in numbered]


def fair_share(left: float, n_following: int, least: float = 0.0) -> float:
    """Return the share of the remaining seconds for the next of ``n_following`` candidates.

    It is nearly twice an even share, at least the fraction ``least``; the last candidate gets all.
    """
    return left * max(2.0 / (n_following + 1), least)
