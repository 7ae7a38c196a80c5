"""Everything that is run: cross-validation of the methods, paths of smoothing, mapped features, theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split
from directrix.reproductions.chapelle2010.methods import CHOSEN_BY, MEASURES, entries, kernel_entry
from directrix.reproductions.chapelle2010.paths import PathResult, SmoothingPath, path_cells, path_results
from directrix.reproductions.chapelle2010.settings import Settings
from directrix.reproductions.chapelle2010.theory import Theory, check_theory
from directrix.reproductions.collection import Collection, read_collections
from directrix.reproductions.runner import Runner
from directrix.types import FloatArray

LETOR3 = ("OHSUMED", "TD2003", "TD2004", "HP2003", "HP2004", "NP2003", "NP2004")
"""Collections of the paper."""
COLLECTIONS = (*LETOR3, "MQ2008")
"""These, and one of LETOR 4.0."""
_TOP = 10  # documents of a ranking that are kept
_COMPONENTS = 100  # of the kernel map


@dataclass(frozen=True, eq=False)
class Results:
    """All results."""

    settings: Settings
    collections: Mapping[str, Collection]
    compared: Mapping[str, CrossValidation]  # by collection
    mapped: CrossValidation | None  # SmoothNDCG on mapped features of the first collection
    paths: Mapping[SmoothingPath, PathResult]  # on the first collection
    theory: Theory  # on its first fold

    @property
    def first(self) -> str:
        """The collection on which everything is run."""
        return next(iter(self.compared))


def whole_path(settings: Settings) -> SmoothingPath:
    """Return the annealing of the paper, at the penalty at which others are compared with it."""
    return SmoothingPath(settings.sigma_first, settings.sigma_last, settings.middle, settings.iterations)


def paths_of(settings: Settings) -> list[SmoothingPath]:
    """Return the paths of all penalties, all starts of the annealing, and all smoothings without it."""
    whole = whole_path(settings)
    # without annealing, as many iterations as all rounds together
    iterations = settings.iterations * settings.rounds
    paths = [
        *(replace(whole, l2=l2) for l2 in settings.path_l2),
        *(replace(whole, first=first) for first in settings.starts),
        *(SmoothingPath(sigma, sigma, whole.l2, iterations) for sigma in settings.alone),
    ]
    return list(dict.fromkeys(paths))


def read(data: Path, settings: Settings) -> dict[str, Collection]:
    """Read the collections that are there."""
    return read_collections(data, COLLECTIONS, settings.folds, settings.collections)


def run(collections: Mapping[str, Collection], settings: Settings, runner: Runner) -> Results:
    """Compare the methods on every collection, and run everything else on the first one."""
    first, seed = next(iter(collections.values())), settings.seed
    paths = paths_of(settings)
    cells = path_cells(first.splits, paths, first.name)
    key = ("theory", first.name, first.first.digest[7:19])
    cells.append(Cell(key, _theory, (first.splits[0], whole_path(settings).smoothings, seed)))
    finished = runner.cells("paths of smoothing", cells)
    followed = {path: path_results(first.splits, path, first.name, finished) for path in paths}
    options: dict[str, Any] = {"select": CHOSEN_BY, "convention": "letor3", "keep_top": _TOP, "seed": seed}
    compared = {
        name: runner.cross_validate(
            name, one.splits, entries(settings, is_first=one is first), MEASURES, **options
        )
        for name, one in collections.items()
    }
    mapped = None
    if settings.extensions:
        splits = [_mapped(split, seed) for split in first.splits]
        title = f"mapped features of {first.name}"
        mapped = runner.cross_validate(title, splits, [kernel_entry(settings)], MEASURES, **options)
    return Results(settings, collections, compared, mapped, followed, Theory(**finished[key]))


def seconds(results: Results) -> dict[str, float]:
    """Return the time that all trainings of the tables took."""
    runs = [*results.compared.values(), *([results.mapped] if results.mapped else [])]
    return {"trainings of the tables": sum(one.seconds(entry) for one in runs for entry in one.entries)}


def _theory(split: Split, sigmas: Sequence[float], seed: int) -> dict[str, Any]:
    return asdict(check_theory(split.train, sigmas, seed))


def _mapped(split: Split, seed: int) -> Split:
    """Map features by a Gaussian kernel on a sample of the training rows: kernel PCA of that sample."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    components = min(_COMPONENTS, split.train.n_docs)
    kernel = Nystroem(
        gamma=1.0 / split.train.n_features, n_components=components, random_state=np.random.RandomState(seed)
    )
    features = make_pipeline(StandardScaler(), kernel).fit(_dense(split.train))

    def mapped(q: Queries) -> Queries:
        return replace(q, features=np.ascontiguousarray(features.transform(_dense(q)), dtype=np.float32))

    valid = None if split.valid is None else mapped(split.valid)
    return Split(split.name, mapped(split.train), valid, mapped(split.test))


def _dense(q: Queries) -> FloatArray:
    features: FloatArray = q.features.toarray() if hasattr(q.features, "toarray") else q.features
    return features
