"""The order in which a search trains its trials, which of them it drops, and how long each may take."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from directrix.errors import InputError
from directrix.rankers.method import Trial
from directrix.rankers.selection.ahead import Ahead, training_ahead
from directrix.rankers.selection.blend import eligible
from directrix.rankers.selection.choose import contenders, difference
from directrix.rankers.selection.clock import Clock
from directrix.rankers.selection.trial import (
    SAMPLE,
    UNTRAINED,
    Candidate,
    Fold,
    Target,
    Trained,
    run_trial,
    sample,
)
from directrix.rankers.training import mean_and_error
from directrix.trainers.boosting import sharing_bins
from directrix.types import Float64Array

_FEWEST_TO_DROP = 10  # queries: from fewer the standard error itself is not known
_MANY = 200_000  # training documents, from which settings are compared on a sample of the queries
_SAMPLE = 60_000  # documents
_FINALISTS = 3
_FOR_SAMPLE = 1 / 3  # of a time budget
_LEAST_PART, _ROOM = 0.5, 1.5  # of the seconds that the first setting of a method took: for the others of it


class Race:
    """Trains the trials of a search, and drops those that are behind.

    Parameters
    ----------
    trials : sequence of Trial
        In the order of preference.
    folds, target, clock
        As in `run_trial`.
    n_jobs : int
        Trainings at a time, see `Ahead`.
    """

    def __init__(
        self, trials: Sequence[Trial], folds: list[Fold], target: Target, clock: Clock, n_jobs: int = 1
    ) -> None:
        self.trials, self.folds, self.target, self.clock, self.n_jobs = trials, folds, target, clock, n_jobs
        self.failed: dict[str, InputError] = {}
        """The first error of each method that could not be trained with every setting."""
        self.untried: list[str] = []
        """The method of each trial for which no time was left."""
        self.left_out: list[str] = []
        """Methods of which one setting was tried, because others are ahead."""
        self._tried: list[Trained] = []
        self._planned: dict[int, Trial] = {}  # by the id of what was trained in its place
        self._n_begun = 0
        self._reserved = 0.0  # seconds, for the finalists
        self._sampled = self._where = ""

    def run(self) -> list[Trained]:
        """Return what was trained, in the order of preference; only the best of a method keep their rankers.

        Of many documents a sample is raced on first, and the best candidates of three methods are trained on
        all. Raises the first `InputError` if none could be trained.
        """
        with sharing_bins():
            if len(self.trials) > _FINALISTS and self.folds[0].train.n_docs > _MANY:
                tried = self._run_finals()
            else:
                self._run_heats()
                tried = self._tried
        if not tried:
            raise next(iter(self.failed.values()))
        place = {id(trial): number for number, trial in enumerate(self.trials)}
        return sorted(tried, key=lambda trained: place[id(self._planned[id(trained.trial)])])  # stable

    def _run_heats(self) -> None:
        """Train one setting of every method, and all settings of the methods that are ahead."""
        names = list(dict.fromkeys(trial.method.name for trial in self.trials))
        first, others = heats(self.trials) if len(names) > 1 else ([], self.trials)
        self._run(first, -(-len(others) // 3))
        several = [name for name in names if any(trial.method.name == name for trial in others)]
        racing = several
        if len(names) > 1:
            done = {trained.candidate.method: trained.candidate for trained in self._tried}
            racing = survivors([*done.values()], several)
            racing += [name for name in several if name not in done]  # another setting may suit the data
            behind = [name for name in several if name not in racing]
            self.left_out = [name for name in behind if not done[name].progress]
            slow = set(behind) - set(self.left_out)
            self.untried += [trial.method.name for trial in others if trial.method.name in slow]
        rest = round_robin(others, racing)
        self.clock.total = len(first) + len(rest)
        self._run(rest, 0)

    def _run_finals(self) -> list[Trained]:
        """Race on a sample, then train the best candidate of each of the best methods on all queries."""
        folds = self.folds
        self.folds = [sample(folds[0], _SAMPLE, self.target.seed)]
        if self.clock.left < math.inf:
            self._reserved = (1.0 - _FOR_SAMPLE) * self.clock.left
        self._run_heats()
        able = contenders([t.candidate for t in self._tried])
        ranked = sorted(  # stable; what was stopped comes last
            self._tried, key=lambda t: (not any(t.candidate is c for c in able), -t.candidate.or_worst)
        )
        best: dict[str, Trial] = {}
        for trained in ranked:
            best.setdefault(trained.candidate.method, self._planned[id(trained.trial)])
        few = list(best.values())[:_FINALISTS]
        before = [
            t._replace(candidate=_sampled(t.candidate), rankers=(), scores=t.scores[:0]) for t in self._tried
        ]
        drawn, total = self.folds[0].train.n_queries, folds[0].train.n_queries
        self.folds, self._tried, self._reserved = folds, [], 0.0
        self._where = " on all queries"
        self.clock.total += len(few)
        self._run(few, 0)
        whole = [t.candidate.method for t in self._tried if t.candidate.outcome != UNTRAINED]
        self._sampled = (
            f"settings were compared on {drawn:,} of {total:,} training queries; trained on all: "
            f"{', '.join(whole) or 'none'}"
        )
        return before + self._tried if self._tried else []

    def remarks(self) -> Iterator[str]:
        """Yield remarks on a sample, and on the methods of which one setting was tried."""
        if self._sampled:
            yield self._sampled
        if self.left_out:
            yield f"{', '.join(self.left_out)}: only one setting was tried, because other methods are ahead"

    def _run(self, trials: Sequence[Trial], n_later: int) -> None:
        with training_ahead(trials, self.folds, self.target, self.n_jobs) as ahead:
            self._run_in_order(trials, n_later, ahead)

    def _run_in_order(self, trials: Sequence[Trial], n_later: int, ahead: Ahead | None) -> None:
        for number, trial in enumerate(trials):
            left, following = self.clock.left - self._reserved, trials[number:]
            if self._tried and left <= 0.0:
                self.untried += [one.method.name + self._where for one in following]
                return
            is_first_trees = (
                n_later > 0 and _turn(trial) == 1 and (not number or _turn(trials[number - 1]) != 1)
            )
            usual = self._usual_seconds(trial)
            if usual and left < _LEAST_PART * usual:
                self.untried.append(trial.method.name + self._where)
                continue
            share = fair_share(left, len(following) + n_later, is_first_trees=is_first_trees)
            share = max(share, _ROOM * usual)
            self.clock.start(self._n_begun, trial.method.name, share)
            self._n_begun += 1
            try:
                take = None if ahead is None else ahead.take
                trained = run_trial(trial, self.folds, self.target, self.clock, self._is_hopeless, take)
            except InputError as error:  # data that no method can train on were refused before
                self.failed.setdefault(trial.method.name, error)
                continue
            finally:
                if ahead is not None:
                    ahead.drop(trial)
            self._planned[id(trained.trial)] = trial
            self._tried.append(trained)
            kept = eligible(self._tried)
            self._tried = [
                t if any(t is one for one in kept) else t._replace(rankers=(), scores=t.scores[:0])
                for t in self._tried
            ]
            if len(self.folds) > 1:  # they are trained again on all queries
                self._tried = [t._replace(rankers=()) for t in self._tried]

    def _usual_seconds(self, trial: Trial) -> float:
        """Seconds that the method took with its first setting, 0 if it was not trained yet."""
        return next((t.candidate.seconds for t in self._tried if t.trial.method is trial.method), 0.0)

    def _is_hopeless(self, values: Float64Array) -> bool:
        """Whether a candidate is behind the best one by more than two standard errors, query by query.

        ``values`` are of the first of the validation queries.
        """
        able = contenders([t.candidate for t in self._tried])
        if not able:
            return False
        best = max(able, key=lambda c: c.or_worst)
        gaps = best.values[: len(values)] - values
        behind, error = mean_and_error(gaps)
        return bool(np.count_nonzero(~np.isnan(gaps)) >= _FEWEST_TO_DROP) and behind > 2.0 * error


def _sampled(candidate: Candidate) -> Candidate:
    """The candidate with the outcome of a training on a sample."""
    return candidate if candidate.outcome == UNTRAINED else replace(candidate, outcome=SAMPLE)


def heats(trials: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Return the trial of each method that represents it, in the order to run them, and the rest.

    The middle of the grid represents a method. What needs no steps comes first, then trees, then the order
    of preference.
    """
    of_method: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        of_method[trial.method.name].append(trial)
    first = sorted((_middle(group) for group in of_method.values()), key=_turn)  # stable
    return first, [trial for trial in trials if not any(trial is one for one in first)]


def _turn(trial: Trial) -> int:
    return 0 if trial.method.fixed.get("max_iter") == 0 else 1 if trial.method.model == "trees" else 2


def _middle(trials: Sequence[Trial]) -> Trial:
    """The trial with the middle value of every setting; of two middle values the earlier."""
    for name in trials[0].settings:
        values: list[object] = []
        for trial in trials:
            if trial.settings[name] not in values:
                values.append(trial.settings[name])
        middle = values[(len(values) - 1) // 2]
        trials = [trial for trial in trials if trial.settings[name] == middle]
    return trials[0]


def survivors(candidates: Sequence[Candidate], names: Iterable[str]) -> list[str]:
    """Return the methods whose other settings are tried, the best first: a third of ``names``, two at least.

    These are the best one, and of those within one standard error of it the earliest in ``names``, which is
    the order of preference; see docs/decisions/selection.md. ``candidates`` represent the methods.
    """
    ranked = sorted(contenders(candidates), key=lambda c: -c.or_worst)  # stable
    order = list(names)
    racing = [c for c in ranked if c.method in order]
    if not racing:
        return []
    near = []
    for c in racing:
        behind, error = difference(racing[0], c)
        if behind <= error:
            near.append(c)
    near.sort(key=lambda c: (c is not racing[0], order.index(c.method)))
    kept = near[: max(2, len(order) // 3)]
    return [c.method for c in racing if c in kept]


def round_robin(trials: Iterable[Trial], names: Sequence[str]) -> list[Trial]:
    """Return the first setting of every named method, in the order of names, then the second, and so on."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    numbered = [(next(turns[t.method.name]), t) for t in trials if t.method.name in names]
    numbered.sort(key=lambda pair: (pair[0], names.index(pair[1].method.name)))
    return [trial for _, trial in numbered]


def fair_share(left: float, n_following: int, *, is_first_trees: bool) -> float:
    """Return the seconds of those that are left that the next of the trials to come may take.

    Nearly twice an even share, all for the last trial; at least half of all for the first trees, which need
    it most.
    """
    return max(2.0 * left / (n_following + 1), left / 2.0 if is_first_trees else 0.0)
