"""Training at falling smoothings, the values after every round (Fig. 2), and training without annealing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.splits import StoredSplit
from directrix.objectives.objective import linear_objective
from directrix.reproductions.chapelle2010.methods import CHOSEN_BY
from directrix.reproductions.runner import Cells, Key
from directrix.surrogates.smooth import SmoothNDCG
from directrix.trainers.full_gradients import CG, LBFGS
from directrix.trainers.regression import regression_start
from directrix.trainers.wrappers import Anneal
from directrix.types import Float64Array, Int64Array, Objective, Result, Step

_K = 50  # documents that count, in training and in CHOSEN_BY
_FURTHER = 200  # iterations of the other optimizer


@dataclass(frozen=True)
class SmoothingPath:
    """How a training smooths."""

    # first, last: smoothings; equal = no annealing
    first: float
    last: float
    l2: float  # of the penalty towards the regression start
    iterations: int  # of conjugate gradients in a round

    @property
    def smoothings(self) -> list[float]:
        """Smoothing of every round."""
        return Anneal(CG(), start=self.first, stop=self.last).smoothings


@dataclass(frozen=True, eq=False)
class PathResult:
    """Values of a path on all folds; round 0 is the start."""

    sigmas: Float64Array  # (n_rounds,): smoothing of each round after the start
    # (n_folds, n_rounds + 1): SmoothNDCG@50 of the training queries at the last smoothing, minus the penalty:
    # the objective
    surrogate: Float64Array
    # train, valid: (n_folds, n_rounds + 1): nDCG@50, means over queries
    train: Float64Array
    valid: Float64Array
    test: Float64Array  # (n_rounds + 1, n_test_queries): nDCG@50 of every test query, fold after fold
    fold_of: Int64Array  # (n_test_queries,): number of each test query's fold
    # (n_folds,): the objective after L-BFGS, another optimizer, has started from the end of the path
    further: Float64Array
    statuses: dict[str, int]  # number of rounds by the status of their training
    evaluations: int  # number of evaluations of value and gradient

    @property
    def chosen(self) -> Int64Array:
        """The round that validation queries prefer, of every fold; the last one without such queries."""
        if np.isnan(self.valid).any():
            return np.full(len(self.valid), len(self.sigmas), dtype=np.int64)
        return np.asarray(self.valid.argmax(axis=1), dtype=np.int64)

    @property
    def chosen_on_test(self) -> Float64Array:
        """nDCG@50 of every test query, with the round that validation chose."""
        return self.on_test(self.chosen)

    def on_test(self, rounds: Int64Array) -> Float64Array:
        """nDCG@50 of every test query, with one round for each fold."""
        return np.asarray(self.test[rounds[self.fold_of], np.arange(self.test.shape[1])])

    def stopped(self, gaps: Sequence[float]) -> Int64Array:
        """The round with the smallest bound on the expected loss: 1 less training nDCG@50, and the gap."""
        bounds = 1.0 - self.train[:, 1:] + np.asarray(gaps)
        return np.asarray(1 + bounds.argmin(axis=1), dtype=np.int64)


@dataclass
class _Watched:
    """A trainer that keeps the status of every training; `Anneal` returns that of the last one alone."""

    trainer: CG
    ends: list[str] = field(default_factory=list)

    def minimize(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        result = self.trainer.minimize(objective, start, callback=callback)
        self.ends.append(result.status)
        return result


def _follow(fold: StoredSplit, path: SmoothingPath) -> dict[str, Any]:
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
    result = Anneal(trainer, start=path.first, stop=path.last).minimize(goal, w0, callback=watch)
    further = -LBFGS(max_iter=_FURTHER).minimize(goal, result.params).value
    return {
        "rows": rows,
        "ends": trainer.ends,
        "evaluations": result.counts["evaluations"],
        "further": further,
    }


def path_cells(folds: Sequence[StoredSplit], paths: Sequence[SmoothingPath], name: str) -> list[Cell]:
    """Return all paths on all folds of a collection."""
    return [Cell(_key(name, path, fold), _follow, (fold, path)) for path in paths for fold in folds]


def path_results(folds: Sequence[StoredSplit], path: SmoothingPath, name: str, finished: Cells) -> PathResult:
    """Return the results of a path from finished cells."""
    results = [finished[_key(name, path, fold)] for fold in folds]

    def by_fold(key: str) -> Float64Array:
        rows = [[np.nan if row[key] is None else row[key] for row in one["rows"]] for one in results]
        return np.array(rows, dtype=np.float64)

    sizes = [len(one["rows"][0]["test"]) for one in results]
    return PathResult(
        sigmas=np.array(path.smoothings),
        surrogate=by_fold("surrogate"),
        train=by_fold("train"),
        valid=by_fold("valid"),
        test=np.concatenate([[row["test"] for row in one["rows"]] for one in results], axis=1),
        fold_of=np.repeat(np.arange(len(results)), sizes),
        further=np.array([one["further"] for one in results]),
        statuses=dict(Counter(end for one in results for end in one["ends"])),
        evaluations=sum(one["evaluations"] for one in results),
    )


def _values(q: Queries, params: Float64Array) -> Float64Array:
    scores = np.asarray(q.features @ params.astype(q.features.dtype), dtype=np.float64)
    return CHOSEN_BY(scores, q.labels, q.qptr)


def _key(name: str, path: SmoothingPath, fold: StoredSplit) -> Key:
    settings = f"{path.first:g} {path.last:g} {path.l2:g} {path.iterations}"
    return ("smoothing", name, settings, fold.split.name, fold.split.digest[7:19])
