"""LETOR collections that a reproduction runs on, and what is compared on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from directrix.errors import InputError
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split, letor_splits
from directrix.reports.rankings import compared_by_query
from directrix.reports.report import PerQuery

_FOLDS = 5  # of LETOR


@dataclass(frozen=True, eq=False)
class Collection:
    """Queries in folds."""

    name: str
    splits: tuple[Split, ...]

    @property
    def first(self) -> Split:
        """The first fold."""
        return self.splits[0]

    @property
    def digest(self) -> str:
        """SHA-256 of all data that results depend on."""
        state = hashlib.sha256("".join(split.digest for split in self.splits).encode())
        return f"sha256:{state.hexdigest()}"


def available(data: Path, names: Iterable[str]) -> list[str]:
    """Return the names of the collections that a data folder holds."""
    return [name for name in names if (data / "letor" / name / "Fold1").is_dir()]


def read_collections(
    data: Path, names: Iterable[str], n_folds: int | None = None, n_collections: int | None = None
) -> dict[str, Collection]:
    """Read the collections that a data folder holds, in the order of ``names``.

    Parameters
    ----------
    data : Path
        Holds ``letor/OHSUMED/Fold1/train.txt`` and so on.
    names : iterable of str
        Folders in ``letor/`` to look for.
    n_folds, n_collections : int, optional
        Number of folds to keep of each collection, and of collections to read; None = all.

    Raises
    ------
    InputError
        If the folder holds none of them, or one cannot be read.
    """
    names = list(names)
    present = available(data, names)[:n_collections]
    if not present:
        raise InputError(
            f"{data}: has none of letor/{', letor/'.join(names)} with a folder Fold1; at least one of these "
            "LETOR collections is needed. Give the folder that holds letor/, e.g. --data DIR."
        )
    return {name: Collection(name, letor_splits(data / "letor" / name)[:n_folds]) for name in present}


def absent(names: Iterable[str], present: Container[str]) -> dict[str, str | None]:
    """Say of every collection that was not read what is needed; None for the others."""
    return {
        name: None
        if name in present
        else f"`letor/{name}/Fold1` is not in the data folder. Add it, and run the command with another "
        "folder for the results."
        for name in names
    }


def has_all_folds(compared: CrossValidation) -> bool:
    """Return whether these are the five folds of LETOR: published means are compared with no others."""
    return len(compared.folds) == _FOLDS


@dataclass(frozen=True, eq=False)
class Compared:
    """A collection, and the cross-validation of methods on it."""

    collection: Collection
    compared: CrossValidation

    @property
    def seconds(self) -> float:
        """The time that all trainings took."""
        return sum(map(self.compared.seconds, self.compared.entries))


def by_query(
    collections: Iterable[Compared],
    entries: Callable[[CrossValidation], Sequence[str]],
    measures: Mapping[str, str],
) -> tuple[PerQuery, ...]:
    """Return values and rankings of some entries on all test queries, see `compared_by_query`."""
    return tuple(
        part
        for one in collections
        for part in compared_by_query(
            one.collection.name, one.compared, one.collection.splits, entries(one.compared), measures
        )
    )
