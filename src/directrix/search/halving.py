"""Successive halving over settings and documents: the order in which candidates are trained.

`TrainingRuns` trains candidates within a time limit, and holds their trials. Each round of the algorithm is a
function of the trials so far; `successive_halving` is the whole. The numbers are in `rules`.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.search import rules
from directrix.search.choice import contenders, is_hopeless, is_tied, leading, ranked
from directrix.search.clock import Clock, usual_growth
from directrix.search.folds import Fold, sample
from directrix.search.notes import standing
from directrix.search.plan import Candidate
from directrix.search.training import Fit, fitting, train_candidate
from directrix.search.trial import CUT_SHORT, INCOMPLETE, SAMPLE, UNTRAINED, Trial
from directrix.trainers.bins import sharing_bins


@dataclass(eq=False)
class TrainingRuns:
    """Trains candidates on the same folds, one after the other, and holds their trials.

    Parameters
    ----------
    folds, measure, clock, n_jobs
        As for `train_candidate`; ``n_jobs`` processes train ahead.
    reserved : float
        Seconds that the clock has left, but not for these runs.
    expected : mapping of str to float
        Estimated seconds for a setting of a method, until its first trial tells them.
    trials : tuple of Trial
        In the order of training.
    failed : dict of str to InputError
        The first error of each method that could not be trained with every setting.
    untried : list of str
        The method of each candidate for which no time was left.
    notes : list of str
        On what was left out.
    """

    folds: Sequence[Fold]
    measure: RankingMeasure
    clock: Clock
    n_jobs: int = 1
    reserved: float = 0.0
    expected: Mapping[str, float] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    failed: dict[str, InputError] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def n_docs(self) -> int:
        """Training documents of the first fold."""
        return int(self.folds[0].train.n_docs)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that a setting of a method is expected to take: those of the first one that was tried."""
        return {**self.expected, **{trial.name: trial.seconds for trial in reversed(self.trials)}}

    def train(self, candidates: Sequence[Candidate], n_later: int = 0) -> None:
        """Train candidates in this order, before ``n_later`` others."""
        with fitting(candidates, self.folds, self.measure, self.clock, self.n_jobs) as fit:
            for number, candidate in enumerate(candidates):
                following = len(candidates) - number
                left = self.clock.left - self.reserved
                # The first candidate is trained even without time, because a search must return some ranker.
                if self.clock.is_stopped or (self.trials and left <= 0.0):
                    self.untried += [c.name for c in candidates[number:]]
                    return
                usual = self.seconds.get(candidate.name, 0.0)
                # Trees raise their learning rate when time is short, so they can use even a small remainder.
                adapts = _is_trees(candidate) and left > rules.UNUSED * self.clock.budget
                if self.trials and usual and left < rules.LEAST_PART * usual and not adapts:
                    self.untried.append(candidate.name)
                    continue
                # The default trees get a guaranteed share while other candidates still wait.
                least = 0.0
                if n_later and candidate.is_anchor:
                    least = 1.0 if self.n_docs >= rules.ENOUGH_DOCS else rules.FIRST_SHARE
                share = fair_share(left, following + n_later, least)
                self.attempt(candidate, max(share, rules.MOST_PARTS * usual), fit)

    def attempt(self, candidate: Candidate, share: float = math.inf, fit: Fit | None = None) -> None:
        """Train a candidate for at most ``share`` seconds, and keep its trial, or its error."""
        # Trees that finished on these documents show how much growth suffices, better than the usual value
        # does.
        growths = [
            trial.candidate.unfitted.learning_rate * float(trial.curve.steps[-1])
            for trial in self.trials
            if _is_trees(trial.candidate) and not trial.outcome and trial.curve and len(trial.curve.steps)
        ]
        self.clock.growth = rules.MARGIN * max(growths) if growths else usual_growth(self.n_docs)
        self.clock.start(candidate.name, share)
        try:
            trial = train_candidate(
                candidate,
                self.folds,
                self.measure,
                self.clock,
                lambda values: is_hopeless(values, self.trials),
                fit,
            )
        # Errors that concern every method were raised before, so the others may still succeed.
        except InputError as error:
            self.failed.setdefault(candidate.name, error)
            self.clock.finish(f"{candidate.label}: not trained: {error}")
            return
        # One ranker per trial is enough for the choice; those of all folds would take a multiple of the
        # memory.
        self.trials = (*self.trials, replace(trial, rankers=trial.rankers[:1]))
        self.clock.finish(standing(trial, self.trials, self.measure))


def successive_halving(candidates: Sequence[Candidate], runs: TrainingRuns) -> TrainingRuns:
    """Train candidates in the order of preference, drop those that are behind, and return the runs.

    One setting represents each method, and the best third of the methods are tried with all settings. On many
    documents the default trees are trained first, then the methods that are ahead of them on a sample, then
    other settings of the best. With several methods, the best trees are trained again as bags. If time is
    left, runs that were cut short are repeated.

    On shards only the best method is tried with all settings, there is no sample, and cheap candidates come
    first in the order of preference. Raises the first `InputError` if no candidate could be trained.
    """
    first, others = representatives(candidates)
    trees = next((c for c in first if _is_trees(c)), None)
    is_costly = runs.folds[0].train.held == "shards"
    # On shards a run occupies all workers, so of equally good candidates the cheap one is preferred.
    turns = [*first, *others] if is_costly else candidates
    candidates = [replace(c, place=turns.index(c), is_anchor=c is trees) for c in candidates]
    sampled: tuple[Trial, ...] = ()
    with sharing_bins():
        if len(candidates) > rules.FINALISTS and runs.n_docs > rules.MANY_DOCS and not is_costly:
            sampled = halve_documents(candidates, runs)
        else:
            halve_settings(candidates, runs, is_costly=is_costly)
        repeat_cut_runs(candidates, runs)
    if runs.clock.is_stopped and all(trial.outcome == UNTRAINED for trial in runs.trials):
        raise InputError("the search was stopped before a ranker was trained. Stop it later.")
    if not runs.trials:
        raise next(iter(runs.failed.values()))
    runs.trials = tuple(sorted((*sampled, *runs.trials), key=lambda trial: trial.place))
    return runs


def halve_settings(candidates: Sequence[Candidate], runs: TrainingRuns, *, is_costly: bool = False) -> None:
    """Train one setting of every method, all settings of the methods that are ahead, and bags."""
    names = list(dict.fromkeys(c.name for c in candidates))
    first, others = representatives(candidates) if len(names) > 1 else ([], candidates)
    # The time is shared as if a third of the other settings followed, since about a third of the methods
    # survive.
    runs.train(first, -(-len(others) // 3))
    several = [name for name in names if any(c.name == name for c in others)]
    surviving = several
    if len(names) > 1:
        tried = {trial.name: trial for trial in runs.trials}
        ahead = survivors(runs.trials, names if is_costly else several, 1 if is_costly else None)
        # where the first setting could not be trained, another may suit the data
        surviving = ahead + [name for name in several if name not in tried]
        behind = [name for name in several if name not in surviving]
        # A method that time stopped was not beaten, so it counts as untried and not as left out.
        left_out = [n for n in behind if not tried[n].progress and tried[n].outcome != INCOMPLETE]
        runs.untried += [c.name for c in others if c.name in behind and c.name not in left_out]
        if left_out:
            reason = "only one setting was tried, because other methods are ahead"
            runs.notes.append(f"{', '.join(left_out)}: {reason}")
    rest = round_robin(others, surviving)
    runs.clock.total = len(first) + len(rest)
    runs.train(rest)
    if not is_costly:
        train_bags(candidates, runs)


def halve_documents(candidates: Sequence[Candidate], runs: TrainingRuns) -> tuple[Trial, ...]:
    """Train the default trees on all queries, methods ahead of them on a sample, and other settings.

    A sample shows which methods suit the data, but not how many leaves are best on all documents. Without
    a time budget, three candidates are trained on all queries. The trials on the sample are returned.
    """
    first, _ = representatives(candidates)
    trees = [c for c in candidates if c.is_anchor]
    runs.clock.total = len(first)
    runs.train(trees)
    begun = {trial.place for trial in runs.trials}
    rivals = first if len(first) > 1 else [] if trees else candidates
    needed = rules.LEAST_PART * max(runs.seconds.values(), default=-math.inf)
    sampled: tuple[Trial, ...] = ()
    if rivals and runs.clock.left > needed:
        left = runs.clock.left
        drawn = sample(runs.folds[0], rules.SAMPLE_DOCS, candidates[0].seed or 0)
        # The sample only selects methods. Most of the time is reserved for training on all documents.
        reserved = (1.0 - rules.FOR_SAMPLE) * left if left < math.inf else 0.0
        on_sample = replace(runs, folds=[drawn], reserved=reserved, trials=())
        on_sample.train(sorted(rivals, key=lambda c: not c.is_anchor))
        # Training time is assumed to be proportional to the number of documents.
        growth = runs.n_docs / on_sample.n_docs
        runs.expected = {name: growth * seconds for name, seconds in on_sample.seconds.items()}
        # A ranker that was trained on the sample, and its scores, cannot be chosen.
        sampled = tuple(
            replace(
                trial,
                outcome=UNTRAINED if trial.outcome == UNTRAINED else SAMPLE,
                rankers=(),
                scores=np.zeros(0),
            )
            for trial in on_sample.trials
        )
        runs.train(_ahead_of_trees(candidates, on_sample.trials)[: rules.FINALISTS - len(trees)])
    train_bags(candidates, runs)
    begun |= {trial.place for trial in runs.trials}
    # With a budget the rest of the time is used; without one, the number of candidates is the limit.
    while runs.clock.left < math.inf or len(begun) < rules.FINALISTS:
        following = nearest_setting(candidates, runs.trials, begun)
        if following is None:
            break
        begun.add(following.place)
        runs.clock.total += 1
        runs.train([following])
    if sampled:
        n_drawn, n_queries = drawn.train.n_queries, runs.folds[0].train.n_queries
        names = dict.fromkeys(trial.name for trial in runs.trials if trial.outcome != UNTRAINED)
        runs.notes.append(
            f"methods were compared on {n_drawn:,} of {n_queries:,} training queries; trained on all: "
            f"{', '.join(names) or 'none'}"
        )
    return sampled


def _ahead_of_trees(candidates: Sequence[Candidate], trials: Sequence[Trial]) -> list[Candidate]:
    """Return the best setting of each method that is ahead of the default trees on a sample, or of all."""
    trees = next((c.name for c in candidates if c.is_anchor), None)
    bar = max((t.or_worst for t in trials if t.name == trees), default=-math.inf)
    leaders = (leader for leader in leading(contenders(trials)).values() if leader.name != trees)
    by_place = {c.place: c for c in candidates}
    return [by_place[t.place] for t in leaders if trees is None or t.valid > bar]


def train_bags(candidates: Sequence[Candidate], runs: TrainingRuns) -> None:
    """Train the best trees again as the mean of several, unless they are behind or time is short."""
    able = [t for t in runs.trials if not t.outcome and "n_bags" in t.candidate.method.settings]
    able = [t for t in able if "n_bags" not in t.candidate.settings]
    if not able or len({c.name for c in candidates}) == 1:
        return
    best = ranked(able)[0]
    # A bag costs as much as the best trees once more, so the remaining time limits their number.
    n_bags = int(min(rules.BAGS, runs.clock.left / max(best.seconds, 1e-9)))
    if n_bags < 2 or is_hopeless(best.values, runs.trials):
        return
    hyperparameters = {**rules.BAG_SHARES, **_original(best, candidates).settings, "n_bags": n_bags}
    place = 1 + max(c.place for c in candidates)
    runs.clock.total += 1
    runs.train([replace(best.candidate, settings=hyperparameters, is_anchor=True, place=place)])


def nearest_setting(
    candidates: Sequence[Candidate], trials: Sequence[Trial], begun: set[int]
) -> Candidate | None:
    """Return the setting to try next: the nearest to the best, of the best method with another.

    The distance is the number of steps in the grid. Of equally near settings, the later one, which has
    more leaves, comes first. ``begun`` holds the places of those that were tried.
    """
    for best in ranked(contenders(trials)):
        group = [c for c in candidates if c.name == best.name]
        steps = steps_from(best.candidate.settings, group)
        left = [(n, -c.place, c) for n, c in zip(steps, group, strict=True) if c.place not in begun]
        if left:
            return min(left, key=lambda entry: entry[:2])[2]
    return None


def repeat_cut_runs(candidates: Sequence[Candidate], runs: TrainingRuns) -> None:
    """Repeat runs that the time budget stopped, the best first, if more time is left than they had."""
    repeated = set[int]()
    while cut := [t for t in runs.trials if t.outcome == CUT_SHORT and t.place not in repeated]:
        best = ranked(cut)[0]
        repeated.add(best.place)
        # A second run can exceed the first one only if it has more time.
        if runs.clock.left < max(best.seconds, rules.UNUSED * runs.clock.budget):
            continue
        runs.clock.total += 1
        runs.attempt(_original(best, candidates))
        # Values do not always rise with more steps, so the better run is kept, and of equal ones the longer.
        again = [t for t in runs.trials if t.place == best.place]
        kept = max(again, key=lambda trial: (trial.or_worst, trial.steps))
        runs.trials = tuple(t for t in runs.trials if t is kept or t not in again)


def _original(trial: Trial, candidates: Iterable[Candidate]) -> Candidate:
    """The candidate of a trial without the learning rate that a short time required."""
    return next((c for c in candidates if c.place == trial.place), trial.candidate)


def representatives(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidate that represents each method, in the order to run them, and the rest.

    The middle of the grid represents a method. Methods without steps come first, then trees, then the order
    of preference.
    """
    by_method: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_method[candidate.name].append(candidate)

    def turn(candidate: Candidate) -> int:
        has_steps = candidate.method.fixed.get("max_iter") != 0
        return 1 if _is_trees(candidate) else 2 if has_steps else 0

    # The sort is stable, so methods with the same turn keep the order of preference.
    first = sorted(map(_middle, by_method.values()), key=turn)
    return first, [c for c in candidates if c not in first]


def _is_trees(candidate: Candidate) -> bool:
    return candidate.method.model == "trees"


def steps_from(settings: Mapping[str, object], candidates: Sequence[Candidate]) -> list[int]:
    """Return how many steps in the grid of a method its candidates are from some settings."""
    total = [0] * len(candidates)
    for name, value in settings.items():
        values = _distinct_values(name, candidates)
        # A value outside the grid, such as a raised learning rate, has no distance and is not counted.
        if value in values:
            places = [values.index(c.settings.get(name)) for c in candidates]
            total = [n + abs(place - values.index(value)) for n, place in zip(total, places, strict=True)]
    return total


def _distinct_values(name: str, candidates: Sequence[Candidate]) -> list[object]:
    """The values of a setting in the order of the grid; they may be unhashable."""
    values: list[object] = []
    for candidate in candidates:
        if candidate.settings.get(name) not in values:
            values.append(candidate.settings.get(name))
    return values


def _middle(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the middle value of every setting; the earlier of two middle values."""
    for name in candidates[0].settings:
        values = _distinct_values(name, candidates)
        middle = values[(len(values) - 1) // 2]
        candidates = [c for c in candidates if c.settings[name] == middle]
    return candidates[0]


def survivors(trials: Sequence[Trial], names: Sequence[str], most: int | None = None) -> list[str]:
    """Return the methods whose other settings are tried, best first: a third of ``names``, at least two.

    Each is at most two standard errors behind the best. The trials represent the methods.
    """
    most = most or max(rules.FEWEST_SURVIVORS, int(rules.SURVIVING * len(names)))
    racing = [trial for trial in ranked(contenders(trials)) if trial.name in names]
    return [trial.name for trial in racing if is_tied(trial, racing[0])][:most]


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
