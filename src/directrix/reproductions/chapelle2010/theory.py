"""Statements of sections 5.1 to 5.4 on scores and trainings, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.laws.bounds import (
    generalization_bound,
    smooth_ndcg_bound,
    smooth_ndcg_lipschitz,
    smooth_rescaled,
)
from directrix.measures.dcg import NDCG
from directrix.objectives.objective import linear_objective
from directrix.surrogates.smooth import SmoothNDCG
from directrix.trainers.full_gradients import LBFGS
from directrix.trainers.regression import regression_start
from directrix.types import Float64Array

_LABELS = np.array([2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0])
_INFINITE = 2.0**40
_N_QUERIES = 20


@dataclass(frozen=True)
class Theory:
    """Numbers that show whether the statements hold."""

    # steps, errors, bounds: gap^2 / sigma, where gap is the smallest difference of two scores of a list;
    # means over lists of abs(SmoothNDCG - nDCG) and of its bound
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
    # sigmas of an annealing, and the bound of Theorem 1 on the lead of the expected loss over the training
    # loss, for weights of the length of w0
    gap_sigmas: list[float]
    gaps: list[float]
    # largest distance to w0, over the length of w0, of trainings at sigma = 2^40 from random starts whose
    # distance from w0 is that of 0: Sect. 5.3.
    moved: float
    unregularized: float  # largest difference of SmoothNDCG between these starts
    # largest difference of the losses at (sigma, lambda) of w and at (c^2 sigma, lambda / c^2) of c w, with
    # the penalty towards 0: Sect. 5.4.
    rescaled_value: float
    rescaled_gradient: float
    # own_gradient, rescaled_gradient: largest component of the first gradient at its minimum w, and of the
    # second, times c, at c w
    own_gradient: float


def check_theory(train: Queries, sigmas: Sequence[float], seed: int) -> Theory:
    """Compute all numbers; trainings have the first 20 training queries, ``seed`` is of scores and starts."""
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(len(_LABELS)) + 0.3 * rng.random(len(_LABELS)) for _ in range(20)]
    few = train.take(range(min(_N_QUERIES, train.n_queries)))
    return Theory(
        **_errors(lists),
        scaled_gradient=max(_scaled(scores, c) for scores in lists for c in (0.1, 3.0, 50.0)),
        steepest=max(_steepness(scores, sigma) for scores in lists for sigma in (1e-2, 1.0, 1e2)),
        gap_sigmas=list(sigmas),
        gaps=_gaps(train, sigmas),
        **_at_infinity(few, rng),
        **_rescaled(few),
    )


def _errors(lists: list[Float64Array]) -> dict[str, Any]:
    qptr = np.array([0, len(_LABELS)])
    steps = np.arange(1.0, 25.0)  # gap^2 / sigma
    errors = np.empty((len(lists), len(steps)))
    bounds = np.empty_like(errors)
    for i, scores in enumerate(lists):
        squared = float(np.diff(np.sort(scores)).min()) ** 2
        exact = NDCG()(scores, _LABELS, qptr)[0]
        for j, step in enumerate(steps):
            value = SmoothNDCG(squared / step).value_and_grad(scores, _LABELS, qptr)[0][0]
            errors[i, j] = abs(value - exact)
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
    qptr = np.array([0, len(_LABELS)])
    _, gradient = SmoothNDCG(0.5).value_and_grad(scores, _LABELS, qptr)
    _, longer = SmoothNDCG(0.5 * c**2).value_and_grad(c * scores, _LABELS, qptr)
    return float(np.abs(c * longer - gradient).max() / np.abs(gradient).max())


def _steepness(scores: Float64Array, sigma: float) -> float:
    _, gradient = SmoothNDCG(sigma).value_and_grad(scores, _LABELS, np.array([0, len(_LABELS)]))
    return float(np.abs(gradient).sum()) / smooth_ndcg_lipschitz(len(_LABELS), sigma)


def _gaps(train: Queries, sigmas: Sequence[float]) -> list[float]:
    """Bound of Theorem 1 at each sigma, for weights of the length of the regression start."""
    longest = int(np.diff(train.qptr).max())
    sizes = {
        "norm": float(np.linalg.norm(regression_start(train))),
        "radius": float(np.sqrt(np.asarray(_squares(train.features)).max())),
    }
    return [
        generalization_bound(
            train.n_queries, longest, lipschitz=smooth_ndcg_lipschitz(longest, sigma), **sizes
        )
        for sigma in sigmas
    ]


def _squares(features: Any) -> Any:
    """Squared length of every row, dense or CSR."""
    squared = features.multiply(features) if hasattr(features, "multiply") else np.square(features)
    return squared.sum(axis=1)


def _at_infinity(train: Queries, rng: np.random.Generator) -> dict[str, Any]:
    w0 = regression_start(train)
    length = float(np.linalg.norm(w0))
    surrogate = SmoothNDCG(_INFINITE, 50)
    near = linear_objective(train, surrogate, 1e-3, w0=w0)
    free = linear_objective(train, surrogate, 0.0)
    away = [step * length / np.linalg.norm(step) for step in rng.normal(size=(3, len(w0)))]
    values = [free.value_and_grad(w0 + step)[0] for step in away]
    ends = [LBFGS(max_iter=500, tol=1e-12).minimize(near, w0 + step).params for step in away]
    return {
        "moved": max(float(np.linalg.norm(end - w0)) for end in ends) / length,
        "unregularized": max(values) - min(values),
    }


def _rescaled(train: Queries) -> dict[str, Any]:
    c, sigma, l2 = 3.0, 1.0, 1e-2
    one = linear_objective(train, SmoothNDCG(sigma, 50), l2)
    sigma, l2 = smooth_rescaled(sigma, l2, c)
    other = linear_objective(train, SmoothNDCG(sigma, 50), l2)
    w = LBFGS(max_iter=500).minimize(one, regression_start(train)).params
    points = [w, np.zeros_like(w), regression_start(train)]
    values = [abs(one.value_and_grad(p)[0] - other.value_and_grad(c * p)[0]) for p in points]
    return {
        "rescaled_value": max(values),
        "own_gradient": float(np.abs(one.value_and_grad(w)[1]).max()),
        "rescaled_gradient": float(np.abs(c * other.value_and_grad(c * w)[1]).max()),
    }
