"""Trainings of a search in several processes, with the results of one process to the last bit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from directrix.errors import InputError
from directrix.rankers.method import Trial
from directrix.rankers.selection.clock import Clock
from directrix.rankers.selection.trial import Fold, FoldFit, Target, fitted


class Ahead:
    """Trains the folds of trials ahead of the search, which takes the rankers in its own order.

    The search decides after every fold whether a trial goes on. What was trained in vain meanwhile, at most
    ``n_jobs`` trainings for each trial that is dropped, is thrown away: so its decisions are those of one
    process.
    """

    def __init__(self, trials: Sequence[Trial], folds: list[Fold], target: Target, n_jobs: int) -> None:
        from joblib import Parallel, delayed

        self._trials, self._dropped = trials, set[int]()
        # Arrays that are mapped read-only would be another type, for which Numba compiles again.
        parallel = Parallel(n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1, mmap_mode="c")
        self._running: Any = parallel(
            delayed(_attempt)((number, fold), self._trials[number], folds[fold], target)
            for number in range(len(trials))
            for fold in range(len(folds))
            if number not in self._dropped
        )

    def take(self, trial: Trial, fold: int) -> FoldFit:
        """Return the ranker of a trial and a fold; raises the `InputError` that its training raised."""
        wanted = next(i for i, one in enumerate(self._trials) if one is trial), fold
        taken: FoldFit | InputError = next(result for place, result in self._running if place == wanted)
        if isinstance(taken, InputError):
            raise taken
        return taken

    def drop(self, trial: Trial) -> None:
        """Train no more folds of a trial."""
        self._dropped |= {i for i, one in enumerate(self._trials) if one is trial}

    def close(self) -> None:
        """Stop what is under way."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of trainings that are left out, as was asked
            self._running.close()


@contextmanager
def training_ahead(
    trials: Sequence[Trial], folds: list[Fold], target: Target, n_jobs: int
) -> Iterator[Ahead | None]:
    """Train in several processes within the block; None for one."""
    from joblib import effective_n_jobs

    if n_jobs == 0:
        raise InputError(
            "n_jobs=0 trains nothing; type a number of trainings at a time, or -1 for one per core."
        )
    if effective_n_jobs(n_jobs) == 1 or len(trials) * len(folds) < 2:
        yield None
        return
    ahead = Ahead(trials, folds, target, n_jobs)
    try:
        yield ahead
    finally:
        ahead.close()


def _attempt(
    place: tuple[int, int], trial: Trial, fold: Fold, target: Target
) -> tuple[tuple[int, int], FoldFit | InputError]:
    try:
        return place, fitted(trial, fold, target, Clock())
    except InputError as error:  # it concerns this trial alone
        return place, error
