"""The folder of a reproduction, the computations in it, and the collections that it reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directrix.errors import InputError
from directrix.experiments.cells import Cell, run_cells
from directrix.experiments.crossval import Entry, cross_validate
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split, letor_splits
from directrix.measures.base import RankingMeasure
from directrix.reports.folder import open_folder
from directrix.reports.rankings import compared_by_query
from directrix.reports.report import PerQuery
from directrix.types import Progress

# LETOR has this number of folds.
_FOLDS = 5

Cells = dict[Any, Any]
"""Results by the key of their cell, a tuple."""


@dataclass(frozen=True)
class Workspace:
    """The folder of one reproduction; it computes missing results."""

    # The name of the paper, e.g. "qin2010".
    name: str
    # The folder of the data, with `letor/` and `trec7/`.
    data: Path
    # The folder for tables, figures, pages and finished cells.
    folder: Path
    # A quick run has few settings and trials. It shows that everything works, and gives no results.
    quick: bool
    seed: int
    # The number of cells that run at a time, -1 for all cores.
    jobs: int
    # The shell command that makes the same report.
    command: str
    # The versions of packages, as JSON.
    installation: Mapping[str, Any]
    # It takes the name of what is counted. Its context gives a function that is called after every cell.
    progress: Callable[[str], AbstractContextManager[Progress]]
    # The number of random splits, for papers that have some.
    trials: int | None = None

    @property
    def path(self) -> Path:
        """File of finished cells."""
        return self.folder / "cells.jsonl"

    def open(self, fixed: Mapping[str, Any], **free: Any) -> dict[str, Any]:
        """Create the folder, or resume the run in it, and return the record of the run for the `Report`.

        ``fixed`` is JSON: all that results depend on (settings, hashes of the data), to which the version of
        directrix is added; ``free`` are settings that may differ when the run is resumed. Raises
        `InputError` if the folder holds a run of other settings.
        """
        fixed = {**fixed, "quick": self.quick, "directrix": self.installation["directrix"]}
        record = {"name": self.name, "fixed": fixed, **free, "installation": dict(self.installation)}
        open_folder(self.folder, record)
        return record

    def cells(self, name: str, cells: Sequence[Cell]) -> Cells:
        """Run cells; ``name`` describes them in the progress bar."""
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


@dataclass(frozen=True, eq=False)
class Collection:
    """Queries in folds."""

    name: str
    splits: tuple[Split, ...]
    # The least relevant label.
    rel: int = 1

    @property
    def first(self) -> Split:
        """The first fold."""
        return self.splits[0]

    @property
    def digest(self) -> str:
        """SHA-256 of all data that results depend on."""
        state = hashlib.sha256("".join(split.digest for split in self.splits).encode())
        return f"sha256:{state.hexdigest()}"


@dataclass(frozen=True, eq=False)
class Compared:
    """A collection, and the cross-validation of methods on it."""

    collection: Collection
    compared: CrossValidation

    @property
    def has_all_folds(self) -> bool:
        """Whether these are the five folds of LETOR, the only ones to compare with published means."""
        return len(self.compared.folds) == _FOLDS

    def by_query(self, entries: Iterable[str], measures: Mapping[str, str]) -> tuple[PerQuery, ...]:
        """Return values and rankings of some entries on all test queries, see `compared_by_query`."""
        name, splits = self.collection.name, self.collection.splits
        return compared_by_query(name, self.compared, splits, tuple(entries), measures)


def available(data: Path, names: Iterable[str]) -> list[str]:
    """Return the names of the collections that a data folder holds."""
    return [name for name in names if (data / "letor" / name / "Fold1").is_dir()]


def read_collections(
    data: Path, names: Iterable[str], n_folds: int | None = None, n_collections: int | None = None
) -> dict[str, Collection]:
    """Read the collections that ``letor/`` in a data folder holds, in the order of ``names``.

    At most ``n_collections`` are read, and ``n_folds`` of each are kept; None = all. Raises `InputError` if
    the folder holds none of them, or one cannot be read.
    """
    names = list(names)
    present = available(data, names)[:n_collections]
    if not present:
        raise InputError(
            f"{data}: has none of letor/{', letor/'.join(names)} with a folder Fold1; at least one of these "
            "LETOR collections is needed. Give the folder that holds letor/."
        )
    return {name: Collection(name, letor_splits(data / "letor" / name)[:n_folds]) for name in present}


def absent(names: Iterable[str], present: Container[str]) -> dict[str, str | None]:
    """Return what each collection lacks that was not read; None for the others."""
    return {
        name: None if name in present else f"`letor/{name}/Fold1` is not in the data folder."
        for name in names
    }
