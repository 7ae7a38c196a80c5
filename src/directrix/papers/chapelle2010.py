"""Chapelle and Wu (2010): SmoothRank against baselines, its smoothing, cut-off and theory, on LETOR."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
_MEASURES = (*_NDCG, "AP")  # of the paper's figures, by the rules of LETOR 3.0's script
_BY_AP = ("SmoothAP", "SVMMap", "AdaRank-MAP", "RankBoost", "FRank")
_TRUNCATED = f"{LINEAR}, k = "
_TOP = 10  # documents of a ranking that are kept
_K = 50  # documents that count, in training and in CHOSEN_BY
_FURTHER = 200  # iterations of the other optimizer


@dataclass(frozen=True)
class SmoothingPath:
    """Sequence of smoothings of a training run."""

    # smoothings; equal = no annealing
    first: float
    last: float
    l2: float  # of the penalty towards the regression start
    iterations: int  # of conjugate gradients in a round

    @property
    def smoothings(self) -> list[float]:
        """Smoothing of every round."""
        return Anneal(CG(), start=self.first, stop=self.last).smoothings

    def cell(self, name: str, fold: Split) -> Cell:
        """Return the training run on a fold of a collection."""
        settings = f"{self.first:g} {self.last:g} {self.l2:g} {self.iterations}"
        key = ("smoothing", name, settings, fold.name, fold.digest[7:19])
        return Cell(key, _follow, (fold, self))


@dataclass(frozen=True, eq=False)
class PathResult:
    """Values of a path on all folds; round 0 is the start."""

    sigmas: Float64Array  # (n_rounds,): smoothing of each round after the start
    # (n_folds, n_rounds + 1): SmoothNDCG@50 of the training queries at the last smoothing, minus the penalty:
    # the objective
    surrogate: Float64Array
    # (n_folds, n_rounds + 1): nDCG@50, means over queries
    train: Float64Array
    valid: Float64Array
    test: Float64Array  # (n_rounds + 1, n_test_queries): nDCG@50 of every test query, fold after fold
    fold_of: Int64Array  # (n_test_queries,): number of each test query's fold
    # (n_folds,): the objective after L-BFGS, another optimizer, has started from the end of the path
    further: Float64Array
    statuses: dict[str, int]  # number of rounds by the status of their training

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

    def by_fold(key: str) -> Float64Array:  # JSON has null for NaN, which NumPy reads as NaN
        return np.array([[row[key] for row in one["rows"]] for one in results], dtype=np.float64)

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
    )


@dataclass(frozen=True)
class Chapelle2010(Experiment):
    """Methods with their grids, paths of smoothing and theory."""

    letor: ClassVar[Sequence[str]] = (*LETOR3, "MQ2008")

    # methods that SmoothNDCG is compared with
    baselines: tuple[str, ...] = (
        *("SmoothAP", "SoftNDCG", "RankSVM", "Regression", "SVMMap", "ListNet", "AdaRank-NDCG"),
        *("AdaRank-MAP", "RankBoost", "FRank", "CoordinateAscent"),
    )
    # of SmoothNDCG and SmoothAP: weights of the penalty towards the regression start
    l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    # ends of the annealing
    sigma_first: float = 64.0
    sigma_last: float = 1 / 64
    iterations: int = 50  # of conjugate gradients in a round
    truncations: tuple[int | None, ...] = (1, 3, 5, 10, 20, None)  # cut-offs k to train with
    path_l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)  # penalties of the paths of smoothing
    collections: int | None = None  # number of collections to run; None = all that the data folder holds
    folds: int | None = None  # number of folds of each; None = all

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
        cells = [*(cell for of in paths.values() for cell in of), theory]
        done: Cells = work.cells("paths of smoothing", cells)
        options: dict[str, Any] = {"select": CHOSEN_BY, "convention": "letor3", "keep_top": _TOP}
        options["seed"] = self.seed
        compared = {}
        for name, one in data.items():
            rows = self.entries(is_first=one is first)
            compared[name] = Compared(one, work.cross_validate(name, one.splits, rows, _MEASURES, **options))
        followed = {path: path_result(path, [done[cell.key] for cell in of]) for path, of in paths.items()}
        return SmoothedResults(self, compared, followed, Theory(**done[key]))


@dataclass(frozen=True, eq=False)
class SmoothedResults(Results[Chapelle2010, Compared]):
    """All results; except for ``collections``, they are on the first collection."""

    paths: Mapping[SmoothingPath, PathResult]
    theory: Theory  # on its first fold

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

_LABELS = np.array([2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0])
_QPTR = np.array([0, len(_LABELS)])
_INFINITE = 2.0**40
_N_QUERIES = 20


@dataclass(frozen=True)
class Theory:
    """Numbers that show whether the statements of the theory hold."""

    # gap^2 / sigma, where gap is the smallest difference of two scores of a list; means over lists of
    # abs(SmoothNDCG - nDCG) and of its bound
    steps: list[float]
    errors: list[float]
    bounds: list[float]
    is_bounded: bool  # whether no error is above its bound
    # slope of -log(error) over gap^2 / sigma from 16 to 24, smallest of the lists: 1 or more by Sect. 5.1.
    rate: float
    # largest difference of gradient(c s, c^2 sigma) and gradient(s, sigma) / c, relative: then the largest
    # gradient grows as 1 / sqrt(sigma), Sect. 5.2.
    scaled_gradient: float
    # largest sum of a gradient's magnitudes over its bound of Sect. 5.2
    steepest: float
    # bound of Theorem 1 at each sigma of an annealing, for weights of the length of w0
    gaps: list[float]
    # largest distance to w0, over the length of w0, of trainings at sigma = 2^40 from random starts whose
    # distance from w0 is that of 0: Sect. 5.3.
    moved: float
    unregularized: float  # largest difference of SmoothNDCG between these starts
    # largest difference of the losses at (sigma, lambda) of w and at (c^2 sigma, lambda / c^2) of c w, with
    # the penalty towards 0: Sect. 5.4.
    rescaled_value: float
    # largest component of the first gradient at its minimum w, and of the second, times c, at c w
    own_gradient: float
    rescaled_gradient: float


def check_theory(train: Queries, sigmas: Sequence[float], seed: int) -> Theory:
    """Compute all numbers on the first 20 training queries; ``seed`` is for scores and starts."""
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(len(_LABELS)) + 0.3 * rng.random(len(_LABELS)) for _ in range(20)]
    few = train.take(range(min(_N_QUERIES, train.n_queries)))
    return Theory(
        **_errors(lists),
        scaled_gradient=max(_scaled(scores, c) for scores in lists for c in (0.1, 3.0, 50.0)),
        steepest=max(_steepness(scores, sigma) for scores in lists for sigma in (1e-2, 1.0, 1e2)),
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
    steps = np.arange(1.0, 25.0)  # gap^2 / sigma
    errors = np.empty((len(lists), len(steps)))
    bounds = np.empty_like(errors)
    for i, scores in enumerate(lists):
        squared = float(np.diff(np.sort(scores)).min()) ** 2
        exact = NDCG()(scores, _LABELS, _QPTR)[0]
        for j, step in enumerate(steps):
            errors[i, j] = abs(_smooth(scores, squared / step)[0] - exact)
            bounds[i, j] = smooth_ndcg_bound(scores, _LABELS, squared / step)
    tail = steps >= 16.0
    slopes = [np.polyfit(steps[tail], np.log(each[tail]), 1)[0] for each in errors]
    return {
        "steps": steps.tolist(),
        "errors": errors.mean(axis=0).tolist(),
        "bounds": bounds.mean(axis=0).tolist(),
        "is_bounded": bool((errors <= bounds).all()),
        "rate": float(-np.max(slopes)),
    }


def _scaled(scores: Float64Array, c: float) -> float:
    (_, gradient), (_, longer) = _smooth(scores, 0.5), _smooth(c * scores, 0.5 * c**2)
    return float(np.abs(c * longer - gradient).max() / np.abs(gradient).max())


def _steepness(scores: Float64Array, sigma: float) -> float:
    _, gradient = _smooth(scores, sigma)
    return float(np.abs(gradient).sum()) / smooth_ndcg_lipschitz(len(_LABELS), sigma)


def _gaps(train: Queries, sigmas: Sequence[float]) -> list[float]:
    """Bound of Theorem 1 at each sigma, for weights of the length of the regression start."""
    longest = int(np.diff(train.qptr).max())
    x: Any = train.features  # dense or CSR
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
    one = linear_objective(train, SmoothNDCG(sigma, _K), l2)
    sigma, l2 = smooth_rescaled(sigma, l2, c)
    other = linear_objective(train, SmoothNDCG(sigma, _K), l2)
    w = LBFGS(max_iter=500).minimize(one, regression_start(train)).params
    points = [w, np.zeros_like(w), regression_start(train)]
    values = [abs(one.value_and_grad(p)[0] - other.value_and_grad(c * p)[0]) for p in points]
    return {
        "rescaled_value": max(values),
        "own_gradient": float(np.abs(one.value_and_grad(w)[1]).max()),
        "rescaled_gradient": float(np.abs(c * other.value_and_grad(c * w)[1]).max()),
    }
