"""The regression start: a linear ranker that predicts gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from directrix.data.checks import weights_of
from directrix.data.queries import Queries, need_queries
from directrix.data.shards.queries import ShardedQueries
from directrix.data.shards.task import OpenShard, Question
from directrix.data.sparse import deviations
from directrix.errors import InputError
from directrix.measures.terms import check_squared_gains, gains, gains_of
from directrix.parameters import number
from directrix.threads import one_blas_thread, run_chunks
from directrix.types import Float64Array, is_sparse


def regression_start(queries: Any, *, ridge: float = 1.0, sample_weight: Any = None) -> Float64Array:
    r"""Return the weights of a ridge regression on the gains, with reweighted classes.

    .. math:: \min_{w, b} \sum_i u_i (w \cdot x_i + b - g_i)^2 + \rho \lVert w \rVert^2

    with :math:`g = 2^l - 1` and weights u such that relevant (l > 0) and irrelevant documents
    have the same total weight, n/2 each. If labels are gains of impressions, g is the label and u the number
    of impressions.

    Parameters
    ----------
    queries : Queries, or those of `directrix.data.open_shards`
        Training data.
    ridge : float > 0
        rho.
    sample_weight : float (n_docs,), or None
        Further factors on u; not for shards.

    Returns
    -------
    float64 (n_features,)
        w; the intercept, which does not change a ranking, is dropped.

    Raises
    ------
    InputError
        If a label is above 256, whose gain squared would overflow; if sums of squares of the features
        overflow; or if the ridge or the weights are not valid.

    Notes
    -----
    Dense features take O(n d^2) time and O(d^2) memory, by the normal equations over blocks of rows, or by
    scikit-learn's ``Ridge`` if there are fewer rows than features. Sparse features give the same weights up
    to rounding, by normal equations up to 4,096 features, and iteratively beyond. Directions of dense
    features whose spread is below rounding get no weight. The bits do not depend on the number of threads.
    Without ``sample_weight`` the result is cached for each `Queries` object, whose arrays never change, so a
    search computes it once.

    References
    ----------
    Chapelle & Wu (2010), Section 4 (the start of SmoothRank), doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> start = dx.trainers.regression_start(q)
    >>> float(dx.evaluate("nDCG", q.features @ start, q.labels, qptr=q.qptr)["nDCG"]) > 0.9
    True
    """
    ridge = float(number(ridge, "ridge", "regression_start", above=0.0, example=1.0))
    if getattr(queries, "held", "") == "shards":
        return _of_shards(queries, ridge)
    need_queries(queries, "regression_start")
    if queries.counts is None:
        check_squared_gains(queries.labels)
    if sample_weight is not None:
        return _fitted(queries, ridge, sample_weight)
    by_ridge = _STARTS.setdefault(queries, {})
    if ridge not in by_ridge:
        by_ridge[ridge] = _fitted(queries, ridge, None)
    return by_ridge[ridge].copy()


_ROWS, _AT_ONCE = 2048, 32
"""Rows whose products one thread computes, and how many such sums wait to be added in order."""
_WIDEST = 4096
"""Most sparse features that get an exact solution: their products take 128 MiB."""
_STARTS: WeakKeyDictionary[Queries, dict[float, Float64Array]] = WeakKeyDictionary()


def _fitted(queries: Queries, ridge: float, sample_weight: Any) -> Float64Array:
    n, n_relevant = queries.n_docs, int((queries.labels > 0.0).sum())
    weight = weights_of(sample_weight, n, "sample_weight", "document")
    if queries.counts is not None:
        weight = weight * queries.counts
    elif 0 < n_relevant < n:
        weight = weight * _class_weights(queries.labels, _halves(n, n_relevant))
    X, gain = queries.features, gains_of(queries)
    is_packed = is_sparse(X)
    with one_blas_thread():
        if is_packed:
            X = _near_zero(X)
            if X.shape[1] <= _WIDEST:
                return _of_products(_sparse_products(X, gain, weight), ridge)
        elif n >= X.shape[1]:
            moments = _moments(X, gain, weight)
            # Sums of blocks differ in the last bits from those of NumPy, which adds in pairs; here NumPy's
            # are used.
            moments[:2] = weight.sum(), weight @ gain
            center, middle = moments[2:] / moments[0], moments[1] / moments[0]
            return _of_products(_products(X, gain, weight, center, middle), ridge)
        from sklearn.linear_model import Ridge

        # With fewer rows than features, or very many sparse features, products of all pairs of features would
        # take too much memory.
        iterative = {"solver": "sparse_cg", "tol": 1e-12} if is_packed else {"solver": "cholesky"}
        model = Ridge(alpha=ridge, **iterative)
        model.fit(X.astype(np.float64), gain, sample_weight=weight)
    return np.asarray(model.coef_, dtype=np.float64)


def _halves(n: int, n_relevant: int) -> tuple[float, float]:
    """Weights of an irrelevant and of a relevant document: both kinds weigh n/2 in total."""
    if not 0 < n_relevant < n:
        return 1.0, 1.0
    return 0.5 * n / (n - n_relevant), 0.5 * n / n_relevant


def _class_weights(labels: Float64Array, halves: tuple[float, float]) -> Float64Array:
    return np.where(labels > 0.0, halves[1], halves[0])


def _moments(X: Any, gain: Float64Array, weight: Float64Array) -> Float64Array:
    """Sums of the weights, of weighted gains and of weighted features, (2 + n_features,)."""

    def sums_of(rows: slice) -> Float64Array:
        u = weight[rows]
        moment: Float64Array = np.append([u.sum(), u @ gain[rows]], u @ X[rows].astype(np.float64))
        return moment

    return _summed(sums_of, len(X))


def _products(
    X: Any, gain: Float64Array, weight: Float64Array, center: Float64Array, middle: float
) -> Float64Array:
    """Weighted products of features with features, and with gains in the last row, about the means."""

    def sums_of(rows: slice) -> Float64Array:
        # Sums that overflow are rejected in `_of_products`.
        with np.errstate(over="ignore", invalid="ignore"):
            Z = X[rows] - center
            U = Z * weight[rows, None]
            return np.vstack([U.T @ Z, (gain[rows] - middle) @ U])

    return _summed(sums_of, len(X))


# Sums that overflow are rejected in `_of_products`.
@np.errstate(over="ignore", invalid="ignore")
def _near_zero(X: Any) -> Any:
    """Return sparse features minus a constant of each column, which the intercept absorbs: float64 CSR.

    It is the value of absent entries; without any, the mean, which may be far above the deviation.
    """
    X = deviations(X)
    is_full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    X.data -= np.where(is_full, X.mean(axis=0), 0.0)[X.indices]
    return X


def _sparse_products(X: Any, gain: Float64Array, weight: Float64Array) -> Float64Array:
    """Return the result of `_products` for CSR features, without the centered matrix, which is dense."""
    # Sums that overflow are rejected in `_of_products`.
    with np.errstate(over="ignore", invalid="ignore"):
        U, total = X.multiply(weight[:, None]).tocsr(), weight.sum()
        mean = X.T @ weight / total
        products = (X.T @ U).toarray() - total * np.outer(mean, mean)
        return np.vstack([products, U.T @ (gain - weight @ gain / total)])


def _of_products(sums: Float64Array, ridge: float) -> Float64Array:
    """The solution of the normal equations."""
    if not np.isfinite(sums).all():
        raise InputError(
            "squares of the features are too large for floats.",
            "Train with the scale 'standard'.",
        )
    return _solved(sums[:-1] + ridge * np.eye(sums.shape[1]), sums[-1])


@dataclass(frozen=True, eq=False)
class _Sums(Question):
    """The sums of one shard: moments, or products about the means that these give."""

    scale: Any
    halves: tuple[float, float]
    moments: Float64Array | None = None

    def answer(self, shard: OpenShard) -> Float64Array:
        q = shard.queries(self.scale)
        terms = q.features, gains(q.labels), _class_weights(q.labels, self.halves)
        with one_blas_thread():
            if self.moments is None:
                return _moments(*terms)
            total, gain, *sums = self.moments.tolist()
            return _products(*terms, np.array(sums) / total, gain / total)


def _of_shards(queries: ShardedQueries, ridge: float) -> Float64Array:
    """Weights from two requests to the shards."""
    labels = queries.manifest.labels
    check_squared_gains(np.array(list(labels)))
    halves = _halves(queries.n_docs, sum(count for label, count in labels.items() if label > 0.0))
    question = _Sums(queries.features.scale, halves)
    moments = queries.features.ask(question)
    return _of_products(queries.features.ask(replace(question, moments=moments)), ridge)


def _solved(A: Float64Array, b: Float64Array) -> Float64Array:
    """Solution of a positive definite system, without directions that are only rounding."""
    if not len(b):
        return b
    from scipy.linalg import eigh
    from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

    # With a diagonal of 1, the units of the features do not affect the condition.
    scale = 1.0 / np.sqrt(A.diagonal())
    A, b = A * scale[:, None] * scale, b * scale
    factor, failed = dpotrf(A)
    rounding = float(np.finfo(np.float64).eps)
    # A matrix whose condition is at rounding has directions that are nothing but rounding: those of tiny
    # eigenvalues.
    if not failed and dpocon(factor, np.abs(A).sum(axis=0).max())[0] > rounding:
        solution: Float64Array = dpotrs(factor, b)[0]
    else:
        values, vectors = eigh(A)
        is_large = values > len(b) * rounding * values[-1]
        solution = vectors[:, is_large] @ ((b @ vectors[:, is_large]) / values[is_large])
    return solution * scale


def _summed(sums_of: Callable[[slice], Float64Array], n: int) -> Float64Array:
    """Sum over blocks of rows, on threads but in order: the same bits for any number of threads."""
    total: Any = 0.0
    # A wave of blocks is computed on threads, then added in order, so memory stays bounded.
    for wave in range(0, n, _AT_ONCE * _ROWS):
        starts = range(wave, min(wave + _AT_ONCE * _ROWS, n), _ROWS)
        summands: list[Any] = [None] * len(starts)

        def work(c: int, starts: range = starts, summands: list[Any] = summands) -> None:
            summands[c] = sums_of(slice(starts[c], min(starts[c] + _ROWS, n)))

        run_chunks(work, len(starts))
        for summand in summands:
            total = total + summand
    result: Float64Array = total
    return result
