"""LETOR collections that a reproduction runs on, and those that are missing."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from directrix.errors import InputError
from directrix.experiments.splits import Split, letor_splits


@dataclass(frozen=True, eq=False)
class Collection:
    """Queries in folds.

    Parameters
    ----------
    name : str
    splits : tuple of Split
    """

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
    """Read the collections that a data folder holds.

    Parameters
    ----------
    data : Path
        Holds ``letor/OHSUMED/Fold1/train.txt`` and so on.
    names : iterable of str
        Folders in ``letor/`` to look for.
    n_folds : int, optional
        Number of folds to keep of each collection; None = all.
    n_collections : int, optional
        Number of collections to read; None = all.

    Returns
    -------
    dict of str to Collection
        In the order of ``names``.

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


def missing_data(parts: Mapping[str, str], present: Container[str]) -> tuple[tuple[str, str], ...]:
    """Name the parts of a paper that lack their data.

    Parameters
    ----------
    parts : mapping of str to str
        For each collection the part of the paper that needs it.
    present : container of str
        Collections that were read.

    Returns
    -------
    tuple of (str, str)
        Each part with the reason, for `Report.missing`.
    """
    return tuple(
        (
            part,
            f"`letor/{name}/Fold1` is not in the data folder. Add it, and run the command with another "
            "folder for the results.",
        )
        for name, part in parts.items()
        if name not in present
    )
