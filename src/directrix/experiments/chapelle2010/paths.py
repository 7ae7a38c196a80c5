"""Training at falling smoothings, what every round is worth (Fig. 2), and training without annealing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.splits import StoredSplit
from directrix.measures.names import measure
from directrix.objectives.build import linear_objective
from directrix.surrogates.smooth import SmoothNDCG
from directrix.trainers.anneal import Anneal
from directrix.trainers.cg import CG
from directrix.trainers.lbfgs import LBFGS
from directrix.trainers.regression import regression_start
from directrix.types import Float64Array, Int64Array, Objective, Result, Step

__all__ = ["PathResult", "SmoothingPath", "path_cells", "path_results"]

_Callback = Callable[[Step], bool | None] | None
_K = 50
_FURTHER = 200
_MEASURE = f"nDCG@{_K}"


@dataclass(frozen=True)
class SmoothingPath:
    """One way to the end.

    Parameters
    ----------
    first, last : float
        Smoothings; equal = no annealing.
    l2 : float
        Of the penalty towards the regression start.
    iterations : int
        Of conjugate gradients in a round.
    """

    first: float
    last: float
    l2: float
    iterations: int


@dataclass(frozen=True, eq=False)
class PathResult:
    """A path on all folds; round 0 is the start.

    Parameters
    ----------
    sigmas : float64 (n_rounds,)
        Smoothing of each round after the start.
    surrogate : float64 (n_folds, n_rounds + 1)
        SmoothNDCG@50 of the training queries at the last smoothing, less the penalty: what was maximised.
    train, valid : float64 (n_folds, n_rounds + 1)
        nDCG@50, means over queries.
    test : float64 (n_rounds + 1, n_test_queries)
        nDCG@50 of every test query, fold after fold.
    fold_of : int64 (n_test_queries,)
        Number of each test query's fold.
    further : float64 (n_folds,)
        What another optimiser, L-BFGS, makes of the objective from the end of the path.
    statuses : dict of str to int
        How many rounds ended so.
    evaluations : int
        Of value and gradient.
    """

    sigmas: Float64Array
    surrogate: Float64Array
    train: Float64Array
    valid: Float64Array
    test: Float64Array
    fold_of: Int64Array
    further: Float64Array
    statuses: dict[str, int]
    evaluations: int

    @property
    def chosen(self) -> Int64Array:
        """The round that validation queries prefer, of every fold; the last one without such queries."""
        if np.isnan(self.valid).any():
            return np.full(len(self.valid), len(self.sigmas), dtype=np.int64)
        return np.asarray(self.valid.argmax(axis=1), dtype=np.int64)

    @property
    def test_of_chosen(self) -> Float64Array:
        """nDCG@50 of every test query, with the round that validation chose."""
        rounds = self.chosen[self.fold_of]
        return np.asarray(self.test[rounds, np.arange(self.test.shape[1])])


@dataclass
class _Watched:
    """A trainer that keeps how its trainings ended, which `Anneal` tells of the last one alone."""

    trainer: CG
    ends: list[str] = field(default_factory=list)

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        result = self.trainer.minimise(objective, start, callback=callback)
        self.ends.append(result.status)
        return result


def follow(fold: StoredSplit, path: SmoothingPath) -> dict[str, Any]:
    """Train along a path on one fold; JSON."""
    split = fold.split
    w0 = regression_start(split.train)
    goal = linear_objective(split.train, SmoothNDCG(path.last, _K), path.l2, w0=w0)
    rows: list[dict[str, Any]] = []

    def watch(step: Step) -> None:
        rows.append(
            {
                "surrogate": -goal.value_and_grad(step.params)[0],
                "train": float(_values(split.train, step.params).mean()),
                "valid": None if split.valid is None else float(_values(split.valid, step.params).mean()),
                "test": _values(split.test, step.params).tolist(),
            }
        )

    trainer = _Watched(CG(max_iter=path.iterations))
    result = Anneal(trainer, start=path.first, stop=path.last).minimise(goal, w0, callback=watch)
    further = -LBFGS(max_iter=_FURTHER).minimise(goal, result.params).value
    return {
        "rows": rows,
        "ends": trainer.ends,
        "evaluations": result.counts["evaluations"],
        "further": further,
    }


def path_cells(folds: Sequence[StoredSplit], paths: Sequence[SmoothingPath], name: str) -> list[Cell]:
    """All paths on all folds of a collection."""
    return [Cell(_key(name, path, fold), follow, (fold, path)) for path in paths for fold in folds]


def path_results(
    folds: Sequence[StoredSplit], path: SmoothingPath, name: str, results: Mapping[tuple[str | int, ...], Any]
) -> PathResult:
    """One path, of what `run_cells` gave."""
    found = [results[_key(name, path, fold)] for fold in folds]

    def column(what: str) -> Float64Array:
        rows = [[np.nan if row[what] is None else row[what] for row in each["rows"]] for each in found]
        return np.array(rows, dtype=np.float64)

    sizes = [len(each["rows"][0]["test"]) for each in found]
    ends = [end for each in found for end in each["ends"]]
    return PathResult(
        sigmas=np.array(Anneal(CG(), start=path.first, stop=path.last).smoothings),
        surrogate=column("surrogate"),
        train=column("train"),
        valid=column("valid"),
        test=np.concatenate([[row["test"] for row in each["rows"]] for each in found], axis=1),
        fold_of=np.repeat(np.arange(len(found)), sizes),
        further=np.array([each["further"] for each in found]),
        statuses={end: ends.count(end) for end in dict.fromkeys(ends)},
        evaluations=sum(each["evaluations"] for each in found),
    )


def _values(q: Queries, params: Float64Array) -> Float64Array:
    scores = np.asarray(q.features @ params.astype(q.features.dtype), dtype=np.float64)
    return measure(_MEASURE)(scores, q.labels, q.qptr)


def _key(name: str, path: SmoothingPath, fold: StoredSplit) -> tuple[str | int, ...]:
    settings = f"{path.first:g} {path.last:g} {path.l2:g} {path.iterations}"
    return ("smoothing", name, settings, fold.split.name, fold.split.digest[7:19])
