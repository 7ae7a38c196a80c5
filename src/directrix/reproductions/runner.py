"""Runs the trainings of a reproduction, and keeps each result so that a stopped run can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directrix.experiments.cells import Cell, Progress, run_cells
from directrix.experiments.crossval import Entry, cross_validate
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split
from directrix.measures.base import RankingMeasure

Key = tuple[str | int, ...]
Cells = dict[Key, Any]
ProgressOf = Callable[[str], AbstractContextManager[Progress]]
"""Takes the name of what is counted; its context gives a function that is called after every cell."""


@dataclass(frozen=True)
class Runner:
    """Computes what the file of finished cells does not hold yet."""

    path: Path  # file of finished cells
    jobs: int  # cells at a time; -1 = all cores
    progress: ProgressOf  # see `ProgressOf`

    def cells(self, name: str, cells: Sequence[Cell]) -> Cells:
        """Run cells; ``name`` says what they are, for the progress bar."""
        with self.progress(name) as report:
            return run_cells(cells, self.path, n_jobs=self.jobs, progress=report)

    def cross_validate(
        self,
        name: str,
        splits: Sequence[Split],
        entries: Sequence[Entry],
        measures: Sequence[RankingMeasure | str],
        **options: Any,
    ) -> CrossValidation:
        """Train and test entries on folds; options are those of `directrix.experiments.cross_validate`."""
        with self.progress(f"trainings on {name}") as report:
            return cross_validate(
                splits, entries, measures, path=self.path, n_jobs=self.jobs, progress=report, **options
            )
