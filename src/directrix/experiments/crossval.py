"""Methods compared on folds: settings chosen by validation, figures of test queries."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from directrix.errors import InputError
from directrix.experiments.cells import Progress, run_cells
from directrix.experiments.contest import Contest
from directrix.experiments.crossval_cells import Job
from directrix.experiments.crossval_result import CrossValidation, Tried
from directrix.experiments.rules import Rules
from directrix.experiments.splits import Split, k_fold_splits, letor_splits, stored
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
from directrix.measures.names import measure as parse_measure
from directrix.parameters import whole
from directrix.rankers.candidates import Trial
from directrix.rankers.checks import check_finite, check_measurable, check_trainable, check_valid

__all__ = [
    "CrossValidation",
    "Entry",
    "Split",
    "Tried",
    "cross_validate",
    "k_fold_splits",
    "letor_splits",
]

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
        Which candidates are trained: all; ``n_candidates`` at random; or all (or so many) on few training
        queries, the better third of them on three times as many, and so on.
    n_candidates : int >= 1, optional
        Of "random", default 10, and of "halving", default the whole grid.
    path : path, optional
        File of finished cells, made if it is not there. What it holds of the same data and settings is not
        computed again. None: nothing is kept.
    seed : int >= 0
        Of drawn candidates, trainers that draw, inner folds and subsets.
    n_jobs : int, optional
        Trainings at a time; -1 = all cores. None: 1, or as ``joblib.parallel_config`` says, with any of its
        backends. The numbers do not depend on it.
    progress : callable, optional
        Called after every training with how many are done, how many there are, and the time left.
    keep_top : int >= 0
        Documents of every test query to keep, see `CrossValidation.top`.

    Returns
    -------
    CrossValidation

    Raises
    ------
    InputError
        If the data, a method or a setting cannot be used, or on some fold no candidate of an entry could be
        trained. One that cannot where others can is reported as failed.

    See Also
    --------
    search : One training part, and a model to keep.

    Notes
    -----
    A candidate is trained and judged as by `directrix.search`: methods that keep their best step choose it
    on the validation queries too. Of equal candidates the earliest is chosen; between the methods of "auto"
    their order counts within one standard error. Test queries choose nothing.

    Cost: entries x folds x candidates trainings; data are sent once to every process.

    References
    ----------
    Qin, Liu, Xu & Li (2010), LETOR, doi:10.1007/s10791-009-9123-y, Sect. 4: folds and their means;
    Jamieson & Talwalkar (2016), arXiv:1502.07943: successive halving.

    Examples
    --------
    >>> from directrix.data.synthetic import make_linear
    >>> from directrix.experiments.crossval import cross_validate, k_fold_splits
    >>> splits = k_fold_splits(make_linear(12, 8, 3)[0], 3)
    >>> found = cross_validate(splits, ["Regression", "RankCosine"], ["AP", "nDCG@5"])
    >>> found.mean("Regression", "AP") > 0.8, len(found.values("RankCosine", "nDCG@5"))
    (True, 12)
    >>> sorted(found.selected("RankCosine")[0])
    ['centred', 'l2']
    """
    entries = [entries] if isinstance(entries, Entry | str) else list(entries)
    measures = [measures] if isinstance(measures, RankingMeasure | str) else list(measures)
    names = tuple(dict.fromkeys(_names(measures)))
    if not names or not splits or not entries:
        raise InputError(
            f"{len(splits)} folds, {len(entries)} entries, {len(names)} measures; at least one of each "
            "is needed."
        )
    whole(keep_top, "keep_top", least=0)
    rules = Rules(convention)
    reported = tuple(
        {n: rules(m, always=True) for n, m in zip(_names(measures), measures, strict=True)}.values()
    )
    rules.warn(names, reported)
    chosen = [Entry(each, each) if isinstance(each, str) else each for each in entries]
    _check_unlike("entry", [each.name for each in chosen])
    _check_unlike("fold", [each.name for each in splits])
    plans = []
    for entry in chosen:
        asked = entry.measure or select or measures[0]
        goal, trained_for = rules(asked), rules.trained_for(asked)
        trials = candidates_of(entry, trained_for, search, n_candidates, seed)
        check_candidates(trials, trained_for)
        plans.append(
            (entry, trials, Job(goal, trained_for, reported, seed, keep_top, _n_methods(trials) > 1))
        )
    for split in splits:
        _check_data(split, {job.goal for _, _, job in plans})
    with ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory()), "cells.jsonl")
        folds = stack.enter_context(stored(splits, Path(path).absolute()))
        contests = [
            Contest(
                entry.name,
                fold,
                trials,
                job,
                _mark(fold.split, trials, job),
                _plan(search, trials, fold.split),
            )
            for fold in folds
            for entry, trials, job in plans
        ]
        _run(contests, Path(path), n_jobs, progress)
    results: dict[str, list[Any]] = {entry.name: [] for entry in chosen}
    for contest in contests:
        results[contest.name].append(contest.result(names))
    return CrossValidation(
        entries=tuple(results),
        measures=names,
        folds=tuple(split.name for split in splits),
        query_ids=tuple(query for split in splits for query in split.test.query_ids),
        convention=rules.name,
        results=results,
    )


def _names(measures: Iterable[RankingMeasure | str]) -> list[str]:
    return [m if isinstance(m, str) else parse_measure(m).name for m in measures]


def _check_unlike(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{what} {name!r} is there {names.count(name)} times; names tell results apart: give "
                f"each its own, e.g. {name + ' 2'!r}."
            )


def _check_data(split: Split, goals: Iterable[RankingMeasure]) -> None:
    try:
        check_trainable(split.train)
        check_finite(split.train, "the training data")
        if split.valid is not None:
            check_valid(split.valid, split.train)
        if split.test.n_features != split.train.n_features:
            raise InputError(
                f"the test data have {split.test.n_features} features, the training data "
                f"{split.train.n_features}; both must have the same ones."
            )
        check_finite(split.test, "the test data")
        for goal in goals:
            for part in (split.train, split.valid):
                if part is not None:
                    check_measurable(goal, part)
    except InputError as error:
        raise InputError(f"{split.name}: {error}") from None


def _n_methods(trials: Sequence[Trial]) -> int:
    return len({method.name for method, _ in trials})


def _plan(search: Search, trials: Sequence[Trial], split: Split) -> list[tuple[int, int]]:
    n_queries = split.train.n_queries
    return halving_rungs(len(trials), n_queries) if search == "halving" else [(len(trials), n_queries)]


def _mark(split: Split, trials: Sequence[Trial], job: Job) -> str:
    """What figures depend on beside settings, shortened: a cell of other data is another cell."""
    methods = {method.name: method.describe() for method, _ in trials}
    parts = [{name: each[name] for name in _PARTS} for each in methods.values()]
    depends = [split.digest, repr(job), *map(canonical, parts)]
    return hashlib.sha256("\n".join(depends).encode()).hexdigest()[:12]


def _run(contests: Sequence[Contest], path: Path, n_jobs: int | None, progress: Progress | None) -> None:
    """All rungs, each as one table of cells."""
    n_rungs = max(len(contest.plan) for contest in contests)
    sizes = [
        sum(contest.plan[rung][0] for contest in contests if rung < len(contest.plan))
        for rung in range(n_rungs)
    ]
    for rung in range(n_rungs):
        cells = [cell for contest in contests for cell in contest.cells(rung)]
        before, total = sum(sizes[:rung]), sum(sizes)

        def report(
            done: int, _: int, left: str, before: int = before, total: int = total, rung: int = rung
        ) -> None:
            if progress is not None:
                of = f" of rung {rung + 1} of {n_rungs}" if n_rungs > 1 else ""
                progress(before + done, total, left + of)

        results = run_cells(cells, path, n_jobs=n_jobs, progress=report)
        for contest in contests:
            contest.end(rung, results)
