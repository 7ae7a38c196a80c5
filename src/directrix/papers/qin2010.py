"""Qin, Liu and Li (2010), Section 6: ApproxAP and ApproxNDCG by Algorithm 1, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.crossval import Entry
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.surrogate_error import approximation
from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import RR
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import KendallTau
from directrix.measures.precision import AP, Precision
from directrix.papers.paper import Experiment, Results
from directrix.papers.workspace import Collection, Compared, Workspace, read_collections
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxKendall, ApproxNDCG, ApproxPrecision, ApproxRR
from directrix.tables import json_value
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Continuation
from directrix.types import Float64Array

COLLECTIONS = {
    "TD2003": "the paper's, 50 queries",
    "TD2004": "the paper's, 75 queries",
    "OHSUMED": "the paper's, 106 queries; here in the edition of LETOR 3.0",
    "MQ2008": "not in the paper: it replaces TD2003 and TD2004",
}
"""Folders of ``letor/``, and what they are to the paper."""
PUBLISHED_METHODS = ("ApproxAP", "ApproxNDCG", "AdaRank.MAP", "AdaRank.NDCG", "SVMmap", "SoftRank")
"""Rows of the paper's tables; the other rows are ours."""


def ndcg_at(k: int | None) -> NDCG:
    """NDCG@k with the discount of LETOR's script, as in the published values."""
    return NDCG(k=k, discount="letor3")


_SOURCE = "Qin, Liu & Li (2010), Algorithm 1, doi:10.1007/s10791-009-9124-x"
# The values where they are not varied, as in Figures 1 and 2.
_BETA, _ALPHA = 10.0, 100.0
# The paper's truncation at rank 10.
_CUT = {"k": 10, "beta": _BETA}
_SURROGATES: dict[str, tuple[RankingMeasure, type[Any], dict[str, Any]]] = {
    "ApproxAP": (AP(), ApproxAP, {"beta": _BETA}),
    "ApproxNDCG": (ndcg_at(None), ApproxNDCG, {}),
    "ApproxNDCG@10": (ndcg_at(10), ApproxNDCG, _CUT),
    "ApproxPrecision": (Precision(k=10), ApproxPrecision, _CUT),
    "ApproxRR": (RR(), ApproxRR, {"beta": _BETA}),
    "ApproxKendall": (KendallTau(), ApproxKendall, {}),
}
"""The measure of each surrogate, and its parameters but for alpha."""
OWN = {measure.name: name for name, (measure, *_) in _SURROGATES.items()}
"""Measures with the surrogate that approximates them; all but the first two are future work of the paper."""
MAP, NDCG_ALL, NDCG_10 = list(OWN)[:3]
NDCG_EQ_5 = NDCG().name
"""NDCG@n with the discount of Eq. 5."""
SHORT = {
    **dict(zip(OWN, ("MAP", "NDCG@n", "NDCG@10", "P@10", "RR", "Kendall's tau"), strict=True)),
    **{ndcg_at(k).name: f"NDCG@{k}" for k in range(1, 11)},
    NDCG_EQ_5: "NDCG@n of Eq. 5",
}
"""Measures as tables write them."""
FIGURES = ("ApproxAP by alpha", "ApproxAP by beta", "ApproxNDCG by alpha")
"""Figures 1, 2 and 3 of the paper."""


@dataclass(frozen=True)
class Grids:
    """Settings that validation chooses among."""

    # Algorithm 1 calls these T and eta.
    epochs: int = 200
    rate: float = 0.01
    # The grids of ApproxAP and ApproxNDCG (Sect. 6.3 and 6.4). All surrogates of Section 7 have the first
    # one, too.
    ap_alpha: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0)
    ap_beta: tuple[float, ...] = (1.0, 10.0, 20.0, 50.0, 100.0)
    ndcg_alpha: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0)
    # The grids of further entries by name. An entry that is not in here has the library's grid.
    others: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """Parameters of the error curves."""

    # The paper does not name its three values. Values ascend, so that every step should lower the error.
    alphas: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0, 200.0)
    # The values of Figure 2.
    betas: tuple[float, ...] = (1.0, 10.0, 20.0, 50.0, 100.0)
    epochs: int = 200
    rate: float = 0.01

    def surrogates(self, figure: str) -> dict[float, Any]:
        """Return the surrogates of a figure by the parameter that it varies."""
        name, _, varied = figure.split()
        _, surrogate, fixed = _SURROGATES[name]
        fixed = {"alpha": _ALPHA, **fixed}
        return {
            v: surrogate(**{**fixed, varied: v}) for v in (self.betas if varied == "beta" else self.alphas)
        }


class Bounded(NamedTuple):
    """The queries, of all epochs, that a theorem covers."""

    share: float
    # The means of the bounds and of the errors over these queries. They are None if there are no such
    # queries.
    bound: float | None
    error: float | None
    # The number of errors above their bound.
    broken: int


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The errors of one training."""

    # The mean error over the queries after every epoch, float64 (n_epochs,).
    rho: Float64Array
    # The mean error over the epochs, float64 (n_queries,). It is NaN where the measure is undefined.
    by_query: Float64Array
    # The keys say how the error of the soft ranks is bounded, see `directrix.laws.bounds.bounds_of`. There
    # are none if no theorem covers the surrogate.
    bounds: Mapping[str, Bounded]

    def above(self, accuracy: float) -> int | None:
        """Return the epoch from which 1 - rho stays above ``accuracy``; None if the last is not above it."""
        wrong = np.flatnonzero(1.0 - self.rho <= accuracy)
        first = int(wrong[-1]) + 2 if len(wrong) else 1
        return first if first <= len(self.rho) else None


Curves = Mapping[str, Mapping[float, ErrorCurve]]
"""By figure and value of its parameter."""


@dataclass(frozen=True, eq=False)
class Approximated(Compared):
    """Results on one collection: ``compared`` has all rows of the tables."""

    # The errors on the training queries of the first fold.
    curves: Curves
    # The surrogates of Section 7 with the measures that they approximate. None means that they are not
    # studied on this collection.
    by_measure: CrossValidation | None = None


@dataclass(frozen=True)
class Qin2010(Experiment):
    """Training runs to compare, and errors of approximation; the seed is for the order of the queries."""

    letor: ClassVar[Sequence[str]] = tuple(COLLECTIONS)

    grids: Grids = field(default_factory=Grids)
    study: Study = field(default_factory=Study)
    # The number of folds of a quick run. None keeps all.
    n_folds: int | None = None
    # The number of documents to keep of the ranking of a test query.
    keep_top: int = 10
    # The measures of Section 7 are studied on these collections. They double the time of a collection.
    other_measures: tuple[str, ...] = ("OHSUMED",)

    def read(self, data: Path) -> dict[str, Collection]:
        """Read the collections in the data folder."""
        return read_collections(data, self.letor, self.n_folds)

    def run(self, data: Mapping[str, Collection], work: Workspace) -> Results[Qin2010, Approximated]:
        """Train for the curves and for the tables, on every collection."""
        curves = self._curves(data.values(), work)
        measures = [AP(), *(ndcg_at(k) for k in range(1, 11)), ndcg_at(None), NDCG()]
        results = {}
        for name, collection in data.items():
            compared = work.cross_validate(
                name, collection.splits, self.entries(), measures, seed=self.seed, keep_top=self.keep_top
            )
            by_measure = None
            if name in self.other_measures:
                others = self.surrogates_of_measures()
                by_measure = work.cross_validate(
                    f"{name}, other measures", collection.splits, others, list(OWN), seed=self.seed
                )
            results[name] = Approximated(collection, compared, curves[name], by_measure)
        return Results(self, results)

    def entries(self) -> list[Entry]:
        """Return the rows of the tables: the method, its grid, and the measure that chooses.

        ApproxAP and ApproxNDCG keep the epoch with the best validation score. The paper says only that its
        baselines were tuned by LETOR's rule, on validation queries; their grids here are the library's.
        """
        grids, by_map, by_ndcg = self.grids, AP(), ndcg_at(None)
        of_ap = {"alpha": grids.ap_alpha, "beta": grids.ap_beta}
        rows: list[tuple[str, Method | str, RankingMeasure]] = [
            ("ApproxAP", _algorithm_1(ApproxAP, grids, of_ap), by_map),
            ("ApproxNDCG", _algorithm_1(ApproxNDCG, grids, {"alpha": grids.ndcg_alpha}), by_ndcg),
            ("AdaRank.MAP", "AdaRank-MAP", by_map),
            ("AdaRank.NDCG", "AdaRank-NDCG", by_ndcg),
            ("SVMmap", "SVMMap", by_map),
            ("SoftRank", "SoftNDCG", by_ndcg),
            ("ListNet", "ListNet", by_map),
            ("RankSVM", "RankSVM", by_map),
            ("ApproxAP, L-BFGS", "ApproxAP", by_map),
            ("ApproxNDCG, L-BFGS", "ApproxNDCG", by_ndcg),
        ]
        return [Entry(name, method, grid=grids.others.get(name), measure=by) for name, method, by in rows]

    def surrogates_of_measures(self) -> list[Entry]:
        """Return the surrogate of every measure of `OWN`, all with the same grid and chosen by this measure.

        All start at a regression, since the paper's truncations have no slope at equal scores.
        """
        return [
            Entry(
                name,
                _algorithm_1(
                    surrogate, self.grids, {"alpha": self.grids.ap_alpha}, start="regression", **fixed
                ),
                measure=measure,
            )
            for name, (measure, surrogate, fixed) in _SURROGATES.items()
        ]

    def _curves(self, collections: Iterable[Collection], work: Workspace) -> dict[str, Curves]:
        """Train every surrogate of every figure on every collection."""
        surrogates = {figure: self.study.surrogates(figure) for figure in FIGURES}

        def key(name: str, surrogate: Any) -> tuple[str, str, str]:
            return "approximation", name, repr(surrogate)

        # Cells are collected by their keys, because Figures 1 and 2 share a training.
        cells = {}
        for collection in collections:
            for surrogate in chain.from_iterable(by.values() for by in surrogates.values()):
                name, arguments = key(collection.name, surrogate), (collection.first.train, surrogate)
                cells[name] = Cell(name, _errors, (*arguments, self.study, self.seed))
        results = work.cells("error curves", list(cells.values()))
        return {
            collection.name: {
                figure: {value: _curve(results[key(collection.name, s)]) for value, s in by.items()}
                for figure, by in surrogates.items()
            }
            for collection in collections
        }


def _errors(q: Queries, surrogate: Any, study: Study, seed: int) -> Any:
    trainer = SGD(learning_rate=study.rate, epochs=study.epochs, random_state=seed)
    errors = approximation(q, surrogate, trainer=trainer)
    bounds = {
        kind: {
            "covered": errors.covered(kind),
            "bound": errors.mean_bound(kind),
            "error": errors.mean_error(kind),
            "broken": errors.broken(kind),
        }
        for kind in errors.bounds
    }
    return json_value({"rho": errors.rho, "by_query": errors.by_query, "bounds": bounds})


def _curve(cell: Mapping[str, Any]) -> ErrorCurve:
    # JSON has null for NaN. NumPy reads it as NaN again.
    def array(values: Any) -> Float64Array:
        return np.array(values, dtype=np.float64)

    def bounded(raw: Mapping[str, Any]) -> Bounded:
        covered = array(raw["covered"])
        weights = covered / covered.sum() if covered.any() else None
        bound, error = (
            None if weights is None else float(np.nansum(weights * array(raw[key])))
            for key in ("bound", "error")
        )
        return Bounded(float(covered.mean()), bound, error, raw["broken"])

    bounds = {kind: bounded(raw) for kind, raw in cell["bounds"].items()}
    return ErrorCurve(array(cell["rho"]), array(cell["by_query"]), bounds)


def _in_one_stage(learning_rate: float = 0.01, epochs: int = 200) -> Continuation:
    return Continuation(SGD(learning_rate=learning_rate, epochs=epochs), shares=())


def _algorithm_1(
    surrogate: type[Any], grids: Grids, grid: Mapping[str, tuple[float, ...]], **fixed: Any
) -> Method:
    return Method(
        name=surrogate.__name__,
        surrogate=surrogate,
        trainer=_in_one_stage if "k" in fixed else SGD,
        source=_SOURCE,
        cost="one step per query: O(R n) pairs, only those inside the sigmoid's band",
        use_when="the paper's own training",
        grid=grid,
        fixed={"learning_rate": grids.rate, "epochs": grids.epochs, "start": "zero", **fixed},
        from_measure=("rel",) if surrogate in (ApproxAP, ApproxPrecision, ApproxRR) else (),
        keeps_best=True,
        selection="AP" if surrogate is ApproxAP else "nDCG",
    )


QUICK = Qin2010(
    grids=Grids(
        epochs=40,
        ap_alpha=(10.0, 100.0),
        ap_beta=(10.0, 100.0),
        ndcg_alpha=(10.0, 100.0, 300.0),
        others={
            "AdaRank.MAP": {"signs": (False,), "rounds": (50,)},
            "AdaRank.NDCG": {"signs": (False,), "rounds": (50,)},
            "SVMmap": {"C": (1.0, 100.0)},
            "SoftRank": {"sigma": (0.1,), "l2": (1e-4,), "max_iter": (30,)},
            "ListNet": {"temperature": (0.3,), "l2": (1e-4, 1e-2)},
            "RankSVM": {"l2": (1e-4, 1e-2), "max_iter": (100,)},
            "ApproxAP, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
            "ApproxNDCG, L-BFGS": {"alpha": (10.0,), "l2": (1e-3,), "max_iter": (50,)},
        },
    ),
    study=Study((10.0, 50.0, 100.0), (1.0, 10.0, 100.0), 40),
    n_folds=2,
)
