"""Methods compared on folds: settings are chosen by validation, test queries are reported."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from directrix import __version__
from directrix.errors import InputError
from directrix.experiments.cells import Progress, run_cells
from directrix.experiments.contest import Contest, Job
from directrix.experiments.crossval_result import CrossValidation, FoldResult
from directrix.experiments.splits import Split, StoredSplit, stored, write_folds
from directrix.experiments.tuning import (
    Entry,
    Search,
    candidates_of,
    canonical,
    check_candidates,
    halving_rungs,
)
from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.convention import convention as find_convention
from directrix.measures.evaluation import warn_lacking
from directrix.measures.names import listed
from directrix.measures.names import measure as parse_measure
from directrix.parameters import whole
from directrix.rankers.inputs import check_finite, check_measurable, check_training, goal_of
from directrix.rankers.method import Trial

_PARTS = ("name", "model", "surrogate", "trainer", "fixed", "keeps")  # of a method, without its grid


def cross_validate(  # noqa: PLR0913 - all but the first three are optional and by name
    splits: Sequence[Split],
    entries: Sequence[Entry | str] | Entry | str,
    measures: Sequence[RankingMeasure | str] | RankingMeasure | str = ("nDCG@10", "AP"),
    *,
    select: RankingMeasure | str | None = None,
    convention: Convention | str | None = None,
    search: Search = "grid",
    n_candidates: int | None = None,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_top: int = 0,
) -> CrossValidation:
    """Train methods on folds, choose their settings by validation, and report test queries.

    The class of the result, `CrossValidation`, says how candidates are trained and chosen, and the cost.

    Parameters
    ----------
    splits : sequence of Split
        Folds, from `letor_splits`, `k_fold_splits`, or of your own.
    entries : Entry or str, or a sequence of them
        What is compared; a name is the method of this name with its own grid.
    measures : measure or str, or a sequence of them
        Reported.
    select : measure or str, optional
        What to train for and to choose by; default the first of ``measures``.
    convention : Convention or str, optional
        Count as this tool does, when reporting and when choosing. A measure object for ``select`` or of an
        entry, instead of a text, is taken as it is.
    search : {"grid", "random", "halving"}
        Which candidates are trained: all; ``n_candidates`` at random; or by successive halving, see
        `directrix.experiments.tuning.halving_rungs`.
    n_candidates : int >= 1, optional
        For "random", default 10, and for "halving", default the whole grid.
    path : path, optional
        File of finished trainings, made if it does not exist. Trainings that it holds of the same data and
        settings are not repeated. None: nothing is kept.
    seed : int >= 0
        For drawn candidates, stochastic trainers, inner folds and subsets.
    n_jobs : int, optional
        Trainings at a time; -1 = all cores. None: 1, or as ``joblib.parallel_config`` says, with any of its
        backends. The numbers do not depend on it.
    progress : callable, optional
        Called after every training with the number of finished ones, the number of all, and the time left.
    keep_top : int >= 0
        Number of documents to keep of every test query, see `CrossValidation.top`.

    Raises
    ------
    InputError
        If the data, a method or a setting cannot be used, or if on some fold no candidate of an entry could
        be trained. A candidate that cannot be trained where others can is reported as failed.

    Examples
    --------
    >>> from directrix.data.synthetic import make_linear
    >>> from directrix import cross_validate, experiments
    >>> splits = experiments.k_fold_splits(make_linear(12, 8, 3)[0], 3)
    >>> result = cross_validate(splits, ["Regression", "RankCosine"], ["AP", "nDCG@5"])
    >>> result.mean("Regression", "AP") > 0.8, len(result.values("RankCosine", "nDCG@5"))
    (True, 12)
    """
    rules, contenders, (wanted, names) = Rules(convention), _contenders(entries), listed(measures)
    reported = dict(zip(names, (rules(each, always=True) for each in wanted), strict=True))
    _check_names(splits, contenders, reported)
    rules.warn(list(reported), list(reported.values()))
    study = _Study(rules, reported, select or wanted[0], search, n_candidates, seed, keep_top)
    plans = {entry.name: study.plan(entry) for entry in contenders}
    for split in splits:
        _check_data(split, plans.values())
    with ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory()), "cells.jsonl")
        folds = stack.enter_context(stored(splits, Path(path).absolute()))
        contests = [study.contest(name, *plan, fold) for fold in folds for name, plan in plans.items()]
        _run(contests, folds, Path(path), n_jobs, progress)
    return _result(contests, splits, tuple(reported), rules.name)


@dataclass(frozen=True, eq=False)
class _Study:
    """What every entry is asked; the parameters are those of `cross_validate`."""

    rules: Rules  # of the convention
    reported: dict[str, RankingMeasure]
    select: RankingMeasure | str  # for the entries without a measure of their own
    search: Search
    n_candidates: int | None
    seed: int
    keep_top: int

    def plan(self, entry: Entry) -> tuple[list[Trial], Job]:
        """Candidates of an entry, and what is done with each."""
        goal = entry.measure or self.select
        trained_for = self.rules.trained_for(goal)
        trials = candidates_of(entry, trained_for, self.search, self.n_candidates, self.seed)
        check_candidates(trials, trained_for)
        several = len({method.name for method, _ in trials}) > 1
        reported, keep_top = tuple(self.reported.values()), whole(self.keep_top, "keep_top", least=0)
        return trials, Job(self.rules(goal), trained_for, reported, self.seed, keep_top, several)

    def contest(self, name: str, trials: list[Trial], job: Job, fold: StoredSplit) -> Contest:
        """Return the contest of an entry's candidates on a fold."""
        n_queries = fold.split.train.n_queries
        rungs = [(len(trials), n_queries)]
        if self.search == "halving":
            rungs = halving_rungs(len(trials), n_queries)
        return Contest(name, fold, trials, job, _mark(fold.split, trials, job), rungs)


def _contenders(entries: Sequence[Entry | str] | Entry | str) -> list[Entry]:
    given = [entries] if isinstance(entries, Entry | str) else entries
    return [Entry(each, each) if isinstance(each, str) else each for each in given]


def _check_names(splits: Sequence[Split], entries: Sequence[Entry], measures: Mapping[str, Any]) -> None:
    if not measures or not splits or not entries:
        raise InputError(
            f"{len(splits)} folds, {len(entries)} entries, {len(measures)} measures; at least one of each "
            "is needed."
        )
    for kind, given in (("entry", entries), ("fold", splits)):
        names = [each.name for each in given]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"{kind} {twice!r} is given {names.count(twice)} times; results are told apart by name: give "
                f"different names, e.g. {twice + ' 2'!r}."
            )


def _check_data(split: Split, plans: Collection[tuple[list[Trial], Job]]) -> None:
    missing = any(trial.ranker(job.trained_for).takes_missing for trials, job in plans for trial in trials)
    try:
        check_training(split.train, split.valid, allow_missing=missing)
        if split.test.n_features != split.train.n_features:
            raise InputError(
                f"the test data have {split.test.n_features} features, the training data "
                f"{split.train.n_features}; both must have the same ones."
            )
        check_finite(split.test, "the test data", allow_missing=missing)
        for goal in {job.goal for _, job in plans}:
            for part in (split.train, split.valid):
                if part is not None:
                    check_measurable(goal, part)
    except InputError as error:
        raise error.at(split.name) from None


def _mark(split: Split, trials: Sequence[Trial], job: Job) -> str:
    """Short digest of what figures depend on except settings: with other data a cell has another key."""
    methods = {method.name: method.describe() for method, _ in trials}
    parts = [{name: each[name] for name in _PARTS} for each in methods.values()]
    depends = [__version__, split.digest, repr(job), *map(canonical, parts)]
    return hashlib.sha256("\n".join(depends).encode()).hexdigest()[:12]


def _run(
    contests: Sequence[Contest],
    folds: Sequence[StoredSplit],
    path: Path,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Run all rungs, each as one table of cells."""
    n_rungs = max(len(contest.plan) for contest in contests)
    sizes = [
        sum(contest.plan[rung][0] for contest in contests if rung < len(contest.plan))
        for rung in range(n_rungs)
    ]

    for rung in range(n_rungs):
        before = sum(sizes[:rung])

        def report(done: int, _: int, left: str, before: int = before, rung: int = rung) -> None:
            if progress is not None:
                of = f" of rung {rung + 1} of {n_rungs}" if n_rungs > 1 else ""
                progress(before + done, sum(sizes), left + of)

        cells = [cell for contest in contests for cell in contest.cells(rung)]
        results = run_cells(cells, path, n_jobs=n_jobs, progress=report, share=partial(write_folds, folds))
        for contest in contests:
            contest.end(rung, results)


def _result(
    contests: Sequence[Contest], splits: Sequence[Split], measures: tuple[str, ...], convention: str
) -> CrossValidation:
    results: dict[str, list[FoldResult]] = {contest.name: [] for contest in contests}
    for contest in contests:
        results[contest.name].append(contest.result(measures))
    return CrossValidation(
        entries=tuple(results),
        measures=measures,
        folds=tuple(split.name for split in splits),
        query_ids=tuple(query for split in splits for query in split.test.query_ids),
        convention=convention,
        results=results,
    )


class Rules:
    """Parses measures and puts them under the convention of a tool; measure objects are kept as they are.

    Without a tool: directrix's own rules.
    """

    def __init__(self, tool: Convention | str | None) -> None:
        self._tool = None if tool is None else find_convention(tool)
        self.name = "default" if self._tool is None else self._tool.name

    def __call__(self, measure: RankingMeasure | str, *, always: bool = False) -> RankingMeasure:
        """Return the measure to report; with ``always`` a measure object is put under the convention too."""
        parsed = goal_of(measure)
        return parsed.under(self._tool) if self._tool and (always or isinstance(measure, str)) else parsed

    def trained_for(self, measure: RankingMeasure | str) -> RankingMeasure:
        """Return the measure that methods train for: with gain, discount and denominators of the tool.

        The tool's rules for ties and for queries without relevant documents concern finished scores;
        LambdaRank cannot be trained for them.
        """
        reported = self(measure)
        if self._tool is None or not isinstance(measure, str):
            return reported
        plain = parse_measure(measure)
        tie_rules = {name: getattr(plain, name) for name in ("ties", "empty") if hasattr(plain, name)}
        return replace(reported, **tie_rules)

    def warn(self, names: Sequence[str], measures: Sequence[RankingMeasure]) -> None:
        """Warn about measures that the tool does not have."""
        if self._tool is not None:
            warn_lacking(self._tool, list(names), list(measures), "Leave out those, or the convention.")
