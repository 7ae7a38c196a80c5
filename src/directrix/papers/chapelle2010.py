"""Chapelle and Wu (2010): SmoothRank against baselines, its smoothing, cut-off and theory, on LETOR."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.crossval import Entry
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split
from directrix.laws.bounds import (
    generalization_bound,
    smooth_ndcg_bound,
    smooth_ndcg_lipschitz,
)
from directrix.measures.dcg import NDCG
from directrix.measures.names import measure
from directrix.objectives.objective import linear_objective
from directrix.papers.paper import Experiment, Results
from directrix.papers.workspace import Cells, Collection, Compared, Workspace, read_collections
from directrix.surrogates.smooth import SmoothNDCG
from directrix.trainers.full_gradients import CG, LBFGS
from directrix.trainers.regression import regression_start
from directrix.trainers.wrappers import Anneal
from directrix.types import Float64Array, FloatArray, Int64Array, Objective, Result, Step

LETOR3 = ("OHSUMED", "TD2003", "TD2004", "HP2003", "HP2004", "NP2003", "NP2004")
"""Collections of the paper; MQ2008 is added."""
LINEAR = "SmoothNDCG"
LISTWISE = ("SVMMap", "ListNet", "AdaRank-NDCG", "AdaRank-MAP")
"""Methods that the paper calls listwise."""
CURVE = "the mean of nDCG@1 to nDCG@10"
"""The curve of a method in the paper's figures as one number."""
CHOSEN_BY = measure("nDCG@50")
"""As in the paper; ties count by expectation, because LETOR's script rewards the order of the file."""
_NDCG = tuple(f"nDCG@{k}" for k in range(1, 11))
# The paper's figures show these measures, by the rules of LETOR 3.0's script.
_MEASURES = (*_NDCG, "AP")
# Validation chooses the settings of these methods by AP, and those of all others by `CHOSEN_BY`.
_BY_AP = ("SmoothAP", "SVMMap", "AdaRank-MAP", "RankBoost", "FRank")
_TRUNCATED = f"{LINEAR}, k = "
# The number of documents to keep of a ranking.
_TOP = 10
# The number of documents that count in training and in `CHOSEN_BY`.
_K = 50
# The maximum number of iterations of the other optimizer.
_FURTHER = 200


@dataclass(frozen=True)
class SmoothingPath:
    """Sequence of smoothings of a training run."""

    # The smoothing falls from the first value to the last. Equal values mean that there is no annealing.
    first: float
    last: float
    # The weight of the penalty towards the regression start.
    l2: float
    # Iterations of conjugate gradients in a round.
    iterations: int

    @property
    def smoothings(self) -> list[float]:
        """Smoothing of every round."""
        return Anneal(CG(), start=self.first, stop=self.last).smoothings

    def cell(self, name: str, fold: Split) -> Cell:
        """Return the training run on a fold of a collection."""
        values = f"{self.first:g} {self.last:g} {self.l2:g} {self.iterations}"
        key = ("smoothing", name, values, fold.name, fold.digest[7:19])
        return Cell(key, _follow, (fold, self))


@dataclass(frozen=True, eq=False)
class PathResult:
    """Values of a path on all folds; round 0 is the start."""

    # The smoothing of each round after the start, float64 (n_rounds,).
    sigmas: Float64Array
    # The objective, float64 (n_folds, n_rounds + 1): SmoothNDCG@50 of the training queries at the last
    # smoothing, minus the penalty.
    surrogate: Float64Array
    # The means of nDCG@50 over the queries, float64 (n_folds, n_rounds + 1).
    train: Float64Array
    valid: Float64Array
    # nDCG@50 of every test query, fold after fold, float64 (n_rounds + 1, n_test_queries).
    test: Float64Array
    # The number of each test query's fold, int64 (n_test_queries,).
    fold_of: Int64Array
    # The objective after another optimizer, L-BFGS, has started from the end of the path; float64
    # (n_folds,).
    further: Float64Array
    # The number of rounds by the status of their training.
    statuses: dict[str, int]

    @property
    def chosen(self) -> Int64Array:
        """The round that validation queries choose, for every fold; the last one without such queries."""
        if np.isnan(self.valid).any():
            return np.full(len(self.valid), len(self.sigmas), dtype=np.int64)
        return np.asarray(self.valid.argmax(axis=1), dtype=np.int64)

    def on_test(self, rounds: Int64Array) -> Float64Array:
        """nDCG@50 of every test query, with one round for each fold."""
        return np.asarray(self.test[rounds[self.fold_of], np.arange(self.test.shape[1])])


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


def _follow(split: Split, path: SmoothingPath) -> dict[str, Any]:
    """Train along a path on one fold; JSON."""
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
    return {"rows": rows, "ends": trainer.ends, "further": further}


def _values(q: Queries, params: Float64Array) -> Float64Array:
    scores = np.asarray(q.features @ params.astype(q.features.dtype), dtype=np.float64)
    return CHOSEN_BY(scores, q.labels, q.qptr)


def path_result(path: SmoothingPath, results: Sequence[Any]) -> PathResult:
    """Return the results of a path from its finished cells, one for each fold."""

    # JSON has null for NaN. NumPy reads it as NaN again.
    def by_fold(key: str) -> Float64Array:
        return np.array([[row[key] for row in fold["rows"]] for fold in results], dtype=np.float64)

    sizes = [len(fold["rows"][0]["test"]) for fold in results]
    return PathResult(
        sigmas=np.array(path.smoothings),
        surrogate=by_fold("surrogate"),
        train=by_fold("train"),
        valid=by_fold("valid"),
        test=np.concatenate([[row["test"] for row in fold["rows"]] for fold in results], axis=1),
        fold_of=np.repeat(np.arange(len(results)), sizes),
        further=np.array([fold["further"] for fold in results]),
        statuses=dict(Counter(end for fold in results for end in fold["ends"])),
    )


@dataclass(frozen=True)
class Chapelle2010(Experiment):
    """Methods with their grids, paths of smoothing and theory."""

    letor: ClassVar[Sequence[str]] = (*LETOR3, "MQ2008")

    # The methods that SmoothNDCG is compared with.
    baselines: tuple[str, ...] = (
        *("SmoothAP", "SoftNDCG", "RankSVM", "Regression", "SVMMap", "ListNet", "AdaRank-NDCG"),
        *("AdaRank-MAP", "RankBoost", "FRank", "CoordinateAscent"),
    )
    # The grid of SmoothNDCG and SmoothAP: weights of the penalty towards the regression start.
    l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    # The annealing begins and ends at these smoothings.
    sigma_first: float = 64.0
    sigma_last: float = 1 / 64
    # Iterations of conjugate gradients in a round.
    iterations: int = 50
    # The cut-offs k to train with, where None counts all documents.
    truncations: tuple[int | None, ...] = (1, 3, 5, 10, 20, None)
    # The penalties of the paths of smoothing.
    path_l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    # The number of collections to run. None runs all that the data folder holds.
    collections: int | None = None
    # The number of folds of each collection, where None keeps all.
    folds: int | None = None

    @property
    def rounds(self) -> int:
        """Rounds of an annealing, sigma halved from one to the next."""
        return round(math.log2(self.sigma_first / self.sigma_last)) + 1

    @property
    def middle(self) -> float:
        """The penalty of the annealing that the table shows."""
        return self.path_l2[len(self.path_l2) // 3]

    @property
    def whole_path(self) -> SmoothingPath:
        """The annealing of the paper at this penalty."""
        return SmoothingPath(self.sigma_first, self.sigma_last, self.middle, self.iterations)

    @property
    def at_once(self) -> SmoothingPath:
        """A training run at the last smoothing only, with as many iterations as all rounds together."""
        return SmoothingPath(self.sigma_last, self.sigma_last, self.middle, self.iterations * self.rounds)

    @property
    def paths(self) -> list[SmoothingPath]:
        """The annealing with every penalty, and training at once."""
        return [*(replace(self.whole_path, l2=l2) for l2 in self.path_l2), self.at_once]

    def entries(self, *, is_first: bool) -> list[Entry]:
        """Return the rows of the tables; for the first collection, also other cut-offs."""
        annealed = {
            "sigma_first": self.sigma_first,
            "sigma_last": self.sigma_last,
            "cg_iter": self.iterations,
        }
        grid = {"l2": self.l2}
        rows = [Entry(LINEAR, LINEAR, annealed, grid)]
        for name in self.baselines:
            fixed, tried = (annealed, grid) if name == "SmoothAP" else ({}, None)
            rows.append(Entry(name, name, fixed, tried, measure("AP") if name in _BY_AP else None))
        if is_first:
            for k in self.truncations:
                name = f"{_TRUNCATED}{'all' if k is None else k}"
                rows.append(Entry(name, LINEAR, {**annealed, "k": k}, grid))
        return rows

    def read(self, data: Path) -> dict[str, Collection]:
        """Read the collections in the data folder."""
        return read_collections(data, self.letor, self.folds, self.collections)

    def run(self, data: Mapping[str, Collection], work: Workspace) -> SmoothedResults:
        """Compare the methods on every collection, and run everything else on the first one."""
        first = next(iter(data.values()))
        paths = {path: [path.cell(first.name, split) for split in first.splits] for path in self.paths}
        key = ("theory", first.name, first.first.digest[7:19])
        theory = Cell(key, _theory, (first.splits[0], self.whole_path.smoothings, self.seed))
        cells = [*chain.from_iterable(paths.values()), theory]
        done: Cells = work.cells("paths of smoothing", cells)
        options: dict[str, Any] = {"select": CHOSEN_BY, "convention": "letor3", "keep_top": _TOP}
        options["seed"] = self.seed
        compared = {}
        for name, collection in data.items():
            rows = self.entries(is_first=collection is first)
            cross_validation = work.cross_validate(name, collection.splits, rows, _MEASURES, **options)
            compared[name] = Compared(collection, cross_validation)
        followed = {path: path_result(path, [done[cell.key] for cell in run]) for path, run in paths.items()}
        return SmoothedResults(self, compared, followed, Theory(**done[key]))


@dataclass(frozen=True, eq=False)
class SmoothedResults(Results[Chapelle2010, Compared]):
    """All results; except for ``collections``, they are on the first collection."""

    paths: Mapping[SmoothingPath, PathResult]
    # The theory is computed on the first fold.
    theory: Theory

    @property
    def first(self) -> Compared:
        """The collection on which everything is run."""
        return next(iter(self.collections.values()))


QUICK = Chapelle2010(
    baselines=("RankSVM", "Regression", "ListNet", "AdaRank-NDCG"),
    l2=(1e-3,),
    sigma_first=16.0,
    sigma_last=1 / 16,
    iterations=10,
    truncations=(1, 10),
    path_l2=(1e-3,),
    collections=1,
    folds=2,
)


# the methods that are compared


def rivals(compared: CrossValidation) -> tuple[str, ...]:
    """Return the baselines among the entries."""
    return tuple(name for name in compared.entries if not name.startswith(LINEAR))


def truncations(compared: CrossValidation) -> dict[str, str]:
    """Return entries by the cut-off that they were trained with, as text; 50 is the usual one."""
    rows = {name.removeprefix(_TRUNCATED): name for name in compared.entries if name.startswith(_TRUNCATED)}
    rows["50"] = LINEAR
    return {k: rows[k] for k in sorted(rows, key=lambda k: math.inf if k == "all" else int(k))}


def curve(compared: CrossValidation, entry: str) -> Float64Array:
    """Return `CURVE` of every test query."""
    return np.asarray(np.mean([compared.values(entry, measure) for measure in _NDCG], axis=0))


# the statements of Sections 5.1 to 5.4 on scores and trainings, as numbers

# The lists of the theory have these labels, and random scores.
_LABELS = np.array([2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0])
_QPTR = np.array([0, len(_LABELS)])
# The ranking hardly counts at this smoothing, so it stands for an infinite one.
_INFINITE = 2.0**40
# The trainings of the theory use at most this number of queries.
_N_QUERIES = 20


@dataclass(frozen=True)
class Theory:
    """Numbers that show whether the statements of the theory hold."""

    # Values of gap^2 / sigma, where gap is the smallest difference of two scores of a list. The errors are
    # means over lists of abs(SmoothNDCG - nDCG), and the bounds are means of its bound.
    steps: list[float]
    errors: list[float]
    bounds: list[float]
    # Whether no error is above its bound.
    is_bounded: bool
    # The slope of -log(error) over gap^2 / sigma from 16 to 24, the smallest of the lists. By Sect. 5.1 it
    # is 1 or more.
    rate: float
    # The largest relative difference of gradient(c s, c^2 sigma) and gradient(s, sigma) / c. If it is 0, the
    # largest gradient grows as 1 / sqrt(sigma), see Sect. 5.2.
    scaled_gradient: float
    # The largest sum of a gradient's magnitudes over its bound of Sect. 5.2.
    steepest: float
    # The bound of Theorem 1 at each sigma of an annealing, for weights of the length of w0.
    gaps: list[float]
    # Trainings at sigma = 2^40 start at random weights, as far from w0 as 0 is. This is their largest final
    # distance to w0 over the length of w0, see Sect. 5.3.
    moved: float
    # The largest difference of SmoothNDCG between these starts.
    unregularized: float
    # The largest difference of the losses at (sigma, lambda) of w and at (c^2 sigma, lambda / c^2) of c w,
    # with the penalty towards 0, see Sect. 5.4.
    rescaled_value: float
    # The largest component of the first gradient at its minimum w, and of the second, times c, at c w.
    own_gradient: float
    rescaled_gradient: float


def check_theory(train: Queries, sigmas: Sequence[float], seed: int) -> Theory:
    """Compute all numbers on the first 20 training queries; ``seed`` is for scores and starts."""
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(len(_LABELS)) + 0.3 * rng.random(len(_LABELS)) for _ in range(20)]
    few = train.take(range(min(_N_QUERIES, train.n_queries)))
    scaled, steepness = [], []
    for scores in lists:
        gradient = _smooth(scores, 0.5)[1]
        for c in (0.1, 3.0, 50.0):
            difference = c * _smooth(c * scores, 0.5 * c**2)[1] - gradient
            scaled.append(float(np.abs(difference).max() / np.abs(gradient).max()))
        for sigma in (1e-2, 1.0, 1e2):
            total = float(np.abs(_smooth(scores, sigma)[1]).sum())
            steepness.append(total / smooth_ndcg_lipschitz(len(_LABELS), sigma))
    return Theory(
        **_errors(lists),
        scaled_gradient=max(scaled),
        steepest=max(steepness),
        gaps=_gaps(train, sigmas),
        **_at_infinity(few, rng),
        **_rescaled(few),
    )


def _theory(split: Split, sigmas: Sequence[float], seed: int) -> dict[str, Any]:
    return asdict(check_theory(split.train, sigmas, seed))


def _smooth(scores: Float64Array, sigma: float) -> tuple[float, FloatArray]:
    """Return SmoothNDCG of a list and its gradient."""
    values, grad = SmoothNDCG(sigma).value_and_grad(scores, _LABELS, _QPTR)
    return float(values[0]), grad


def _errors(lists: list[Float64Array]) -> dict[str, Any]:
    # These are the values of gap^2 / sigma.
    steps = np.arange(1.0, 25.0)
    errors = np.empty((len(lists), len(steps)))
    bounds = np.empty_like(errors)
    for i, scores in enumerate(lists):
        squared = float(np.diff(np.sort(scores)).min()) ** 2
        exact = NDCG()(scores, _LABELS, _QPTR)[0]
        for j, step in enumerate(steps):
            errors[i, j] = abs(_smooth(scores, squared / step)[0] - exact)
            bounds[i, j] = smooth_ndcg_bound(scores, _LABELS, squared / step)
    tail = steps >= 16.0
    slopes = [np.polyfit(steps[tail], np.log(row[tail]), 1)[0] for row in errors]
    return {
        "steps": steps.tolist(),
        "errors": errors.mean(axis=0).tolist(),
        "bounds": bounds.mean(axis=0).tolist(),
        "is_bounded": bool((errors <= bounds).all()),
        "rate": float(-np.max(slopes)),
    }


def _gaps(train: Queries, sigmas: Sequence[float]) -> list[float]:
    """Bound of Theorem 1 at each sigma, for weights of the length of the regression start."""
    longest = int(np.diff(train.qptr).max())
    # The features are a dense array or a CSR matrix.
    x: Any = train.features
    squares = (x.multiply(x) if hasattr(x, "multiply") else np.square(x)).sum(axis=1)
    sizes = {
        "norm": float(np.linalg.norm(regression_start(train))),
        "radius": float(np.sqrt(np.asarray(squares).max())),
    }
    return [
        generalization_bound(
            train.n_queries, longest, lipschitz=smooth_ndcg_lipschitz(longest, sigma), **sizes
        )
        for sigma in sigmas
    ]


def _at_infinity(train: Queries, rng: np.random.Generator) -> dict[str, Any]:
    w0 = regression_start(train)
    length = float(np.linalg.norm(w0))
    surrogate = SmoothNDCG(_INFINITE, _K)
    near = linear_objective(train, surrogate, 1e-3, w0=w0)
    free = linear_objective(train, surrogate, 0.0)
    away = [step * length / np.linalg.norm(step) for step in rng.normal(size=(3, len(w0)))]
    values = [free.value_and_grad(w0 + step)[0] for step in away]
    ends = [LBFGS(max_iter=500, tol=1e-12).minimize(near, w0 + step).params for step in away]
    return {
        "moved": max(float(np.linalg.norm(end - w0)) for end in ends) / length,
        "unregularized": max(values) - min(values),
    }


def smooth_rescaled(sigma: float, l2: float, scale: float) -> tuple[float, float]:
    """Return smoothing and penalty of the same problem for weights ``scale`` times as long (Section 5.4)."""
    return sigma * scale**2, l2 / scale**2


def _rescaled(train: Queries) -> dict[str, Any]:
    c, sigma, l2 = 3.0, 1.0, 1e-2
    original = linear_objective(train, SmoothNDCG(sigma, _K), l2)
    sigma, l2 = smooth_rescaled(sigma, l2, c)
    rescaled = linear_objective(train, SmoothNDCG(sigma, _K), l2)
    w = LBFGS(max_iter=500).minimize(original, regression_start(train)).params
    points = [w, np.zeros_like(w), regression_start(train)]
    values = [abs(original.value_and_grad(p)[0] - rescaled.value_and_grad(c * p)[0]) for p in points]
    return {
        "rescaled_value": max(values),
        "own_gradient": float(np.abs(original.value_and_grad(w)[1]).max()),
        "rescaled_gradient": float(np.abs(c * rescaled.value_and_grad(c * w)[1]).max()),
    }
