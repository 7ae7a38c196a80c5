"""What is run, on which data, and what is kept of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from directrix.errors import InputError
from directrix.experiments.cells import Progress, run_cells
from directrix.experiments.crossval import CrossValidation, Split, cross_validate, letor_splits
from directrix.experiments.he2010.coefficients import QUICK_SWEEP, Sweep, apart_cell, fold_cells
from directrix.experiments.he2010.methods import QUICK, Grids, entries

__all__ = ["COLLECTIONS", "Settings", "coefficients", "digest", "read_collections", "train"]

COLLECTIONS = ("OHSUMED", "TD2003", "TD2004")
_MEASURES = ("AP", "nDCG@5", "nDCG@10")
_KEPT = 10  # documents of a test query


@dataclass(frozen=True)
class Settings:
    """What the figures depend on, beside the data.

    Parameters
    ----------
    sweep : Sweep
        Of coefficients.
    grids : Grids
        Of training.
    seed : int
    """

    sweep: Sweep = field(default_factory=Sweep)
    grids: Grids = field(default_factory=Grids)
    seed: int = 0

    @classmethod
    def of(cls, *, quick: bool, seed: int) -> Settings:
        """Those of a run."""
        return cls(QUICK_SWEEP, QUICK, seed) if quick else cls(seed=seed)

    def fixed(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def read_collections(data: Path, n_folds: int) -> dict[str, tuple[Split, ...]]:
    """Those of the paper's three that are there.

    Raises
    ------
    InputError
        If none is.
    """
    found = {
        name: letor_splits(data / "letor" / name)[:n_folds]
        for name in COLLECTIONS
        if (data / "letor" / name / "Fold1").is_dir()
    }
    if not found:
        raise InputError(
            f"{data}: has no letor/OHSUMED/Fold1, nor TD2003 or TD2004; the folds of one of these LETOR 3.0 "
            "collections are needed. Give the folder that holds letor/ as --data."
        )
    return found


def digest(collections: Mapping[str, tuple[Split, ...]]) -> str:
    """Of all that figures depend on in the data."""
    parts = [
        f"{name} {split.name} {split.digest}\n" for name, folds in collections.items() for split in folds
    ]
    return f"sha256:{hashlib.sha256(''.join(parts).encode()).hexdigest()}"


def coefficients(
    collections: Mapping[str, tuple[Split, ...]],
    settings: Settings,
    path: Path,
    *,
    n_jobs: int,
    progress: Progress,
) -> dict[tuple[str | int, ...], Any]:
    """Compute the cells of all coefficients that a file does not hold; see `coefficients.fold_cells`."""
    cells = [apart_cell(settings.sweep, settings.seed)]
    for name, splits in collections.items():
        cells += fold_cells(name, splits, settings.sweep, settings.seed)
    return run_cells(cells, path, n_jobs=n_jobs, progress=progress)


def train(
    collections: Mapping[str, tuple[Split, ...]],
    settings: Settings,
    path: Path,
    *,
    n_jobs: int,
    progress: Progress,
) -> dict[str, CrossValidation]:
    """Train and test all methods on every collection, or what a file does not hold of it."""
    return {
        name: cross_validate(
            splits,
            entries(settings.grids, settings.seed),
            _MEASURES,
            select="AP",
            convention="letor3",
            path=path,
            seed=settings.seed,
            n_jobs=n_jobs,
            progress=progress,
            keep_top=_KEPT,
        )
        for name, splits in collections.items()
    }
