"""Tendency correlation of surrogates on data, over random linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from directrix.data.checks import as_floats
from directrix.data.missing import check_finite
from directrix.data.queries import Queries, need_queries
from directrix.errors import Advice, InputError
from directrix.experiments.tendency import Tendency, tendency
from directrix.measures.names import measure as parse_measure
from directrix.parameters import positive, whole
from directrix.registry import SURROGATES
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.threads import one_blas_thread
from directrix.types import Float64Array, Int64Array, Measure, Progress, Surrogate

# Scores are held for this number of documents times models at a time.
_DOCS_AT_ONCE = 1 << 20
# This number of rows of features is converted to float64 at a time, to limit the memory.
_ROWS_AT_ONCE = 1 << 15
_ALPHAS, _SIGMAS = (10, 100, 1000, 10000), ("1e-1", "1e-2", "1e-3", "1e-4")
# SmoothRank's sigma divides squares of scores, so its values are the squares of the others.
_SQUARED = ("1e-2", "1e-4", "1e-6", "1e-8")
_LISTED = (
    *(f"ApproxAP(alpha={alpha}, beta=100)" for alpha in _ALPHAS),
    *(f"ApproxAP(alpha=1000, beta={beta})" for beta in (1, 10)),
    *(f"ApproxNDCG(alpha={alpha})" for alpha in _ALPHAS),
    *(f"ApproxPrecision(k=10, alpha={alpha}, beta=100)" for alpha in _ALPHAS),
    *(f"{name}(alpha={alpha}, beta=100)" for name in ("ApproxRR", "ApproxERR") for alpha in _ALPHAS),
    *(f"ApproxKendall(alpha={alpha})" for alpha in _ALPHAS),
    *(f"SoftNDCG(sigma={sigma})" for sigma in _SIGMAS),
    *(f"{name}(sigma={sigma})" for name in ("SmoothNDCG", "SmoothAP") for sigma in _SQUARED),
    *("SVMMap()", "PermuRank()", "SVMRoc()", "SVMMrr()", "SVMNdcg()", "Dorm()", "Dorm(k=10)"),
    *("RankNet()", "RankSVM()", "ListNet()", "XENDCG()", "ListMLE()", "RankCosine()", "Regression()"),
    *("LambdaLoss()", "Gumbel()"),
)
_LEFT_OUT = {
    # These are gradients without a value, so they have no tendency.
    *("Lambda", "YetiRank"),
    # With nDCG, its default measure, it equals ApproxNDCG.
    "ApproxMeasure",
    *(text.partition("(")[0] for text in _LISTED),
}
EVERY_SURROGATE = (*_LISTED, *(f"{name}()" for name in SURROGATES if name not in _LEFT_OUT))
"""The surrogates that have a value, with several values of their parameters, for weights of length 1."""


def surrogate_tendencies(
    surrogates: Sequence[Surrogate | str],
    data: Queries,
    *,
    measure: Measure | str | None = None,
    models: Float64Array | None = None,
    per_query: bool = False,
    transform: Literal["linear", "monotone"] = "linear",
    progress: Progress | None = None,
) -> tuple[Tendency, ...]:
    r"""Compute the tendency correlation of surrogates on data, over linear models.

    Parameters
    ----------
    surrogates : sequence of Surrogate or str
        ``"ApproxAP(alpha=100)"`` is read by `directrix.surrogate`.
    data : Queries
        Dense or CSR features; labels.
    measure : measure or str, optional
        Measure to compare all surrogates with; None = the measure that each one approximates
        (``surrogate.measure``).
    models : float (n_models, n_features), optional
        Weights; None = 100 of `random_models`.
    per_query, transform : optional
        As for `tendency`.
    progress : callable, optional
        Called with the number of finished chunks, their total, and the surrogate.

    Returns
    -------
    tuple of Tendency
        In the order of the surrogates.

    Raises
    ------
    InputError
        If a surrogate has no value (LambdaRank) or no measure, or the models do not match the data.

    Notes
    -----
    At most about a million scores (documents times models) are held at a time. The bits do not depend on the
    number of threads. Cost: a value and gradient of each surrogate for every model.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.data.make_cubic(n_queries=10, docs_per_query=20, n_features=5, seed=0)
    >>> smooth, sharp = surrogate_tendencies(["ApproxNDCG(alpha=1)", "ApproxNDCG(alpha=100)"], q)
    >>> smooth.coefficient > sharp.coefficient
    True
    """
    values, targets = model_values(surrogates, data, measure=measure, models=models, progress=progress)
    return tuple(
        tendency(ours, theirs, per_query=per_query, transform=transform)
        for ours, theirs in zip(values, targets, strict=True)
    )


def model_values(
    surrogates: Sequence[Surrogate | str],
    data: Queries,
    *,
    measure: Measure | str | None = None,
    models: Float64Array | None = None,
    progress: Progress | None = None,
) -> tuple[list[Float64Array], list[Float64Array]]:
    """Return values of surrogates, and of their measures, for linear models; arrays (n_models, n_queries).

    The parameters are those of `surrogate_tendencies`.
    """
    need_queries(data, "surrogate_tendencies")
    check_finite(data, "the data")
    models = random_models(100, data.n_features) if models is None else as_floats(models, "models")
    if models.ndim != 2 or models.shape[1] != data.n_features:
        raise InputError(
            f"models has shape {models.shape}; one row per model and one column for each of the "
            f"{data.n_features} features are needed, e.g. random_models(100, {data.n_features})."
        )
    chosen = [with_value(s) for s in surrogates]
    if isinstance(measure, str):
        measure = parse_measure(measure)
    for surrogate in chosen:
        if measure is None and not hasattr(surrogate, "measure"):
            raise InputError(
                f"{surrogate!r} belongs to no measure; say which to compare with.",
                Advice("measure"),
            )
    targets: list[Any] = [s.measure if measure is None else measure for s in chosen]
    shape = len(models), data.n_queries
    surrogate_values = [np.empty(shape) for _ in chosen]
    measure_values = {target: np.empty(shape) for target in targets}
    step = max(1, _DOCS_AT_ONCE // max(data.n_docs, 1))
    starts = range(0, len(models), step)
    for number, first in enumerate(starts):
        block = slice(first, min(first + step, len(models)))
        ranking = _ranked(models[block], data)
        for target, values in measure_values.items():
            values[block] = target(*ranking).reshape(-1, data.n_queries)
        for i, surrogate in enumerate(chosen):
            if progress is not None:
                progress(number * len(chosen) + i, len(starts) * len(chosen), repr(surrogate))
            surrogate_values[i][block] = surrogate.value_and_grad(*ranking)[0].reshape(-1, data.n_queries)
    return surrogate_values, [measure_values[target] for target in targets]


def random_models(n_models: int, n_features: int, *, norm: float = 1.0, seed: int = 0) -> Float64Array:
    """Return random weights of linear models, uniform on a sphere.

    Parameters
    ----------
    n_models : int >= 2
    n_features : int
    norm : float > 0
        Length of the weights, which is the unit of scores: ``ApproxAP(alpha=100)`` at norm 1 is
        ``ApproxAP(alpha=10)`` at norm 10; SoftRank's sigma grows with the norm, SmoothRank's with its square,
        and structural SVMs differ at every norm. He & Liu (2010) do not state theirs.
    seed : int

    Returns
    -------
    float64 (n_models, n_features)

    Raises
    ------
    InputError
        If there are fewer than 2 models, or the length is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix.experiments import random_models
    >>> np.linalg.norm(random_models(3, n_features=10), axis=1).round(6)
    array([1., 1., 1.])
    """
    # Models are compared in pairs, so there must be two.
    whole(n_models, "n_models", least=2, example=100)
    positive(norm, "norm")
    drawn = np.random.default_rng(seed).standard_normal((n_models, n_features))
    return np.asarray(norm * drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _ranked(models: Float64Array, data: Queries) -> tuple[Float64Array, Float64Array, Int64Array]:
    """Scores, labels and boundaries of the data, repeated for every model."""
    scores = np.empty((len(models), data.n_docs))
    # The last bits of a product depend on how BLAS divides it between threads.
    with one_blas_thread():
        for lo in range(0, data.n_docs, _ROWS_AT_ONCE):
            rows = data.features[lo : lo + _ROWS_AT_ONCE].astype(np.float64)
            scores[:, lo : lo + rows.shape[0]] = (rows @ models.T).T
    sizes = np.tile(np.diff(data.qptr), len(models))
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return scores.ravel(), np.tile(data.labels, len(models)), qptr


def with_value(given: Surrogate | str) -> Any:
    """Return the surrogate; a text is parsed.

    Raises `InputError` if it is a gradient without a function, or not a surrogate.
    """
    surrogate: Any = parse_surrogate(given) if isinstance(given, str) else given
    if "value_free" in surrogate.properties:
        raise InputError(
            f"{surrogate!r} is a gradient without a function: its value is the measure itself, so there is "
            "no tendency to compare. Give a surrogate with a value, e.g. 'ApproxNDCG(alpha=10)'."
        )
    return surrogate
