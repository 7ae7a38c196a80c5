"""Figures 1 to 3: the error of a surrogate after every epoch."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.surrogate_error import approximation
from directrix.reproductions.qin2010.methods import OWN
from directrix.reproductions.runner import Runner
from directrix.surrogates.approx import ApproxAP, ApproxKendall, ApproxNDCG, ApproxPrecision, ApproxRR
from directrix.trainers.regression import regression_start
from directrix.trainers.stochastic import SGD
from directrix.types import Float64Array

FIGURES = ("ApproxAP by alpha", "ApproxAP by beta", "ApproxNDCG by alpha")
"""Figures 1, 2 and 3 of the paper."""
FUTURE_FIGURES = tuple(f"{name} by alpha" for name in list(OWN.values())[2:])
"""The same for the measures that it names as future work."""

_BETA, _ALPHA = 10.0, 100.0  # what stays fixed in Figures 1 and 2


@dataclass(frozen=True)
class Study:
    """Parameters of the curves."""

    # of Figures 1 and 3, rising. The paper has three and does not name them.
    alphas: tuple[float, ...] = (10.0, 20.0, 50.0, 100.0, 200.0)
    betas: tuple[float, ...] = (1.0, 10.0, 20.0, 50.0, 100.0)  # of Figure 2, rising
    epochs: int = 200
    rate: float = 0.01

    def surrogates(self, figure: str) -> dict[float, Any]:
        """Return the surrogates of a figure by the parameter that it varies."""
        if figure == "ApproxAP by alpha":
            return {a: ApproxAP(alpha=a, beta=_BETA) for a in self.alphas}
        if figure == "ApproxAP by beta":
            return {b: ApproxAP(alpha=_ALPHA, beta=b) for b in self.betas}
        make: dict[str, Callable[[float], Any]] = {
            "ApproxNDCG": lambda a: ApproxNDCG(alpha=a),
            "ApproxPrecision": lambda a: ApproxPrecision(k=10, alpha=a, beta=_BETA, below=0.0),
            "ApproxNDCG@10": lambda a: ApproxNDCG(alpha=a, k=10, beta=_BETA, below=0.0),
            "ApproxRR": lambda a: ApproxRR(alpha=a, beta=_BETA),
            "ApproxKendall": lambda a: ApproxKendall(alpha=a),
        }
        return {a: make[figure.split()[0]](a) for a in self.alphas}


@dataclass(frozen=True, eq=False)
class Bounded:
    """The queries that a theorem covers, epoch by epoch."""

    covered: Float64Array  # (n_epochs,): their share
    # bound, error: (n_epochs,): mean bound and mean error over them; NaN where there are none
    bound: Float64Array
    error: Float64Array
    broken: int  # number of errors above their bound


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The errors of one training."""

    rho: Float64Array  # (n_epochs,): mean error over the queries after every epoch
    by_query: Float64Array  # (n_queries,): mean error over the epochs; NaN where the measure is undefined
    # by the way the error of the soft ranks is bounded, see `directrix.laws.bounds.bounds_of`;
    # empty if no theorem covers the surrogate
    bounds: Mapping[str, Bounded]
    seconds: float

    def above(self, accuracy: float) -> int | None:
        """Return the epoch from which 1 - rho stays above ``accuracy``; None if the last is not above it."""
        wrong = np.flatnonzero(1.0 - self.rho <= accuracy)
        first = int(wrong[-1]) + 2 if len(wrong) else 1
        return first if first <= len(self.rho) else None


def error_curves(
    train: Mapping[str, Queries],
    study: Study,
    runner: Runner,
    *,
    seed: int,
    other_measures: Container[str] = (),
) -> dict[str, dict[str, dict[float, ErrorCurve]]]:
    """Train every surrogate of every figure on every collection; ``seed`` is of the order of the queries.

    ``other_measures`` are the collections with curves of `FUTURE_FIGURES`. The curves are by collection,
    figure and value of the parameter.
    """
    cells = {}
    figures = {name: FIGURES + FUTURE_FIGURES * (name in other_measures) for name in train}
    for name, q in train.items():
        for figure in figures[name]:
            for surrogate in study.surrogates(figure).values():
                key = ("approximation", name, repr(surrogate))  # Figures 1 and 2 share a training
                cells[key] = Cell(key, _errors, (q, surrogate, study.epochs, study.rate, seed))
    results = runner.cells("error curves", list(cells.values()))
    return {
        name: {
            figure: {
                value: _curve(results["approximation", name, repr(surrogate)])
                for value, surrogate in study.surrogates(figure).items()
            }
            for figure in figures[name]
        }
        for name in train
    }


def _errors(q: Queries, surrogate: Any, epochs: int, rate: float, seed: int) -> dict[str, Any]:
    begun = time.process_time()
    trainer = SGD(learning_rate=rate, epochs=epochs, random_state=seed)
    is_cut = getattr(surrogate, "k", None) is not None  # and has no slope at zero
    errors = approximation(q, surrogate, trainer=trainer, start=regression_start(q) if is_cut else None)
    bounds = {
        kind: {
            "covered": errors.covered(kind).tolist(),
            "bound": _numbers(errors.mean_bound(kind)),
            "error": _numbers(errors.mean_error(kind)),
            "broken": errors.broken(kind),
        }
        for kind in errors.bounds
    }
    return {
        "rho": errors.rho.tolist(),
        "by_query": _numbers(errors.by_query),  # a query whose documents are all alike has no Kendall's tau
        "bounds": bounds,
        "seconds": round(time.process_time() - begun, 2),
    }


def _numbers(values: Float64Array) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]


def _curve(cell: Mapping[str, Any]) -> ErrorCurve:
    bounds = {
        kind: Bounded(  # JSON has null for NaN, which NumPy reads as NaN
            covered=np.array(bound["covered"]),
            bound=np.array(bound["bound"], dtype=np.float64),
            error=np.array(bound["error"], dtype=np.float64),
            broken=bound["broken"],
        )
        for kind, bound in cell["bounds"].items()
    }
    by_query = np.array(cell["by_query"], dtype=np.float64)
    return ErrorCurve(np.array(cell["rho"]), by_query, bounds, cell["seconds"])
