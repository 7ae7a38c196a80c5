"""Which collections there are, and all that is run on them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from directrix.errors import InputError
from directrix.experiments.cells import Progress
from directrix.experiments.crossval import CrossValidation, Split, cross_validate, letor_splits
from directrix.experiments.qin2010.curves import ErrorCurve, Study, error_curves
from directrix.experiments.qin2010.methods import Grids, entries, measures

__all__ = ["COLLECTIONS", "QUICK", "Collection", "Found", "Settings", "read_collections", "run"]

COLLECTIONS = {
    "TD2003": "the paper's, 50 queries",
    "TD2004": "the paper's, 75 queries",
    "OHSUMED": "the paper's, 106 queries; here in the edition of LETOR 3.0",
    "MQ2008": "not in the paper: in the place of TD2003 and TD2004",
}
"""Folders of ``letor/``, and what they are to the paper."""


@dataclass(frozen=True)
class Settings:
    """What the figures depend on, beside the data.

    Parameters
    ----------
    grids : Grids
        Of the trainings that are compared.
    study : Study
        Of the errors of approximation.
    n_folds : int, optional
        Only so many, for a look; None = all.
    keep_top : int
        Documents of every test query that are kept.
    seed : int
        Of the order of the queries in training.
    """

    grids: Grids = field(default_factory=Grids)
    study: Study = field(default_factory=Study)
    n_folds: int | None = None
    keep_top: int = 10
    seed: int = 0

    def fixed(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)


_FEW: dict[str, Mapping[str, Any]] = {
    "AdaRank.MAP": {"signs": (False,), "rounds": (50,)},
    "AdaRank.NDCG": {"signs": (False,), "rounds": (50,)},
    "SVMmap": {"C": (1.0, 100.0)},
    "SoftRank": {"sigma": (0.1,), "l2": (1e-4,), "max_iter": (30,)},
    "ListNet": {"temperature": (0.3,), "l2": (1e-4, 1e-2)},
    "RankSVM": {"l2": (1e-4, 1e-2), "max_iter": (100,)},
    "ApproxAP, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
    "ApproxNDCG, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
}
QUICK = Settings(
    grids=Grids(40, 0.01, (10.0, 100.0), (10.0, 100.0), (10.0, 100.0, 300.0), _FEW),
    study=Study((10.0, 50.0, 100.0), (1.0, 10.0, 100.0), 40),
    n_folds=2,
)
"""Enough to see the machinery at work."""


@dataclass(frozen=True, eq=False)
class Collection:
    """A LETOR collection.

    Parameters
    ----------
    name : str
        Of its folder.
    splits : tuple of Split
    """

    name: str
    splits: tuple[Split, ...]

    @property
    def digest(self) -> str:
        """Of all that figures depend on."""
        state = hashlib.sha256("".join(split.digest for split in self.splits).encode())
        return f"sha256:{state.hexdigest()}"


@dataclass(frozen=True, eq=False)
class Found:
    """What was found on a collection.

    Parameters
    ----------
    collection : Collection
    compared : CrossValidation
        All rows of the tables.
    curves : mapping of figure and parameter to ErrorCurve
        On the training queries of the first fold.
    """

    collection: Collection
    compared: CrossValidation
    curves: Mapping[str, Mapping[float, ErrorCurve]]

    @property
    def seconds(self) -> float:
        """Time that all trainings took."""
        trainings = sum(self.compared.seconds(entry) for entry in self.compared.entries)
        errors = {id(each): each.seconds for curves in self.curves.values() for each in curves.values()}
        return trainings + sum(errors.values())


def read_collections(data: Path, settings: Settings) -> dict[str, Collection]:
    """Read the collections that a folder has.

    Parameters
    ----------
    data : Path
        Holds ``letor/OHSUMED/Fold1/train.txt`` and so on.
    settings : Settings

    Returns
    -------
    dict
        In the order of `COLLECTIONS`; those that are not there are left out.

    Raises
    ------
    InputError
        If there is none, or one cannot be read.
    """
    there = [name for name in COLLECTIONS if (data / "letor" / name / "Fold1").is_dir()]
    if not there:
        raise InputError(
            f"{data}: has none of letor/{', letor/'.join(COLLECTIONS)} with a folder Fold1; at least one "
            "LETOR collection is needed. Give the folder that holds letor/, e.g. --data DIR."
        )
    return {name: Collection(name, letor_splits(data / "letor" / name)[: settings.n_folds]) for name in there}


def run(
    collections: Mapping[str, Collection],
    settings: Settings,
    path: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: Callable[[str], AbstractContextManager[Progress]],
) -> dict[str, Found]:
    """Run all that a file of cells does not hold yet.

    Parameters
    ----------
    collections : mapping
        From `read_collections`.
    settings : Settings
    path : path
        File of cells.
    n_jobs : int, optional
        Cells at a time.
    progress : callable
        Takes what is counted, gives a context whose value is told of every cell.

    Returns
    -------
    dict of str to Found
        By collection.
    """
    seed = settings.seed
    with progress("error curves") as report:
        train = {name: each.splits[0].train for name, each in collections.items()}
        curves = error_curves(train, settings.study, path, seed=seed, n_jobs=n_jobs, progress=report)
    found = {}
    for name, collection in collections.items():
        with progress(f"trainings on {name}") as report:
            compared = cross_validate(
                collection.splits,
                entries(settings.grids),
                measures(),
                path=path,
                seed=seed,
                n_jobs=n_jobs,
                progress=report,
                keep_top=settings.keep_top,
            )
        found[name] = Found(collection, compared, curves[name])
    return found
