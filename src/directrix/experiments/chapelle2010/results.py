"""All of it run: cross-validation of the methods, paths of smoothing, mapped features, theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell, Progress, run_cells
from directrix.experiments.chapelle2010.paths import PathResult, SmoothingPath, path_cells, path_results
from directrix.experiments.chapelle2010.plan import MEASURES, Plan
from directrix.experiments.chapelle2010.theory import Theory, check_theory
from directrix.experiments.crossval import CrossValidation, Split, cross_validate, letor_splits
from directrix.experiments.splits import StoredSplit, stored, write_folds
from directrix.types import FloatArray

__all__ = ["Results", "paths_of", "read", "run", "whole_path"]

_TOP = 10  # documents of a ranking that are kept
_COMPONENTS = 100


@dataclass(frozen=True, eq=False)
class Results:
    """What was found.

    Parameters
    ----------
    splits : mapping of str to tuple of Split
        Of each collection.
    compared : mapping of str to CrossValidation
        The same.
    mapped : CrossValidation or None
        SmoothNDCG on mapped features of the first collection.
    paths : mapping of SmoothingPath to PathResult
        On the first collection.
    theory : Theory
        On its first fold.
    """

    splits: Mapping[str, tuple[Split, ...]]
    compared: Mapping[str, CrossValidation]
    mapped: CrossValidation | None
    paths: Mapping[SmoothingPath, PathResult]
    theory: Theory

    @property
    def first(self) -> str:
        """The collection on which everything is run."""
        return next(iter(self.compared))


def whole_path(plan: Plan) -> SmoothingPath:
    """The annealing of the paper, at the penalty at which others are compared with it."""
    return SmoothingPath(plan.sigma_first, plan.sigma_last, plan.middle, plan.iterations)


def paths_of(plan: Plan) -> list[SmoothingPath]:
    """Penalties, starts of the annealing, and smoothings without it."""
    ends = {"last": plan.sigma_last, "iterations": plan.iterations}
    by_l2 = [SmoothingPath(plan.sigma_first, l2=l2, **ends) for l2 in plan.path_l2]  # type: ignore[arg-type]
    by_start = [SmoothingPath(first, l2=plan.middle, **ends) for first in plan.starts]  # type: ignore[arg-type]
    # as many iterations as all rounds together
    alone = [SmoothingPath(sigma, sigma, plan.middle, plan.iterations * plan.rounds) for sigma in plan.alone]
    return list(dict.fromkeys([*by_l2, *by_start, *alone]))


def read(data: Path, names: Sequence[str], plan: Plan) -> dict[str, tuple[Split, ...]]:
    """Folds of the collections."""
    return {name: letor_splits(data / "letor" / name)[: plan.folds] for name in names}


def run(
    splits: Mapping[str, tuple[Split, ...]],
    plan: Plan,
    path: Path,
    *,
    seed: int,
    n_jobs: int,
    progress: Progress | None = None,
) -> Results:
    """Run what is left.

    Parameters
    ----------
    splits : mapping of str to tuple of Split
        Folds of each collection, of `read`.
    plan : Plan
    path : Path
        File of finished cells.
    seed : int
    n_jobs : int
        Trainings at a time.
    progress : callable, optional

    Returns
    -------
    Results
    """
    options = {"path": path, "seed": seed, "n_jobs": n_jobs, "progress": progress}
    first = next(iter(splits))
    paths = paths_of(plan)
    with stored(splits[first], path.parent) as folds:
        cells = path_cells(folds, paths, first)
        cells.append(Cell(("theory", first, folds[0].split.digest[7:19]), _theory, (folds[0], seed)))
        share = partial(write_folds, folds)
        done = run_cells(cells, path, n_jobs=n_jobs, progress=progress, share=share)
        followed = {each: path_results(folds, each, first, done) for each in paths}
    same: dict[str, Any] = {"select": plan.chosen_by, "convention": "letor3", "keep_top": _TOP, **options}
    compared, mapped = {}, None
    for name, each in splits.items():
        compared[name] = cross_validate(each, plan.entries(is_first=name == first), MEASURES, **same)
        if plan.extensions and mapped is None:  # of the first
            mapped = cross_validate(
                [_mapped(split, seed) for split in each], [plan.kernel_entry()], MEASURES, **same
            )
    theory = Theory(**done[cells[-1].key])
    return Results(splits, compared, mapped, followed, theory)


def _theory(fold: StoredSplit, seed: int) -> dict[str, Any]:
    return check_theory(fold.split.train, seed).to_dict()


def _mapped(split: Split, seed: int) -> Split:
    """Features mapped by a Gaussian kernel on a sample of the training rows: kernel PCA of that sample."""
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
