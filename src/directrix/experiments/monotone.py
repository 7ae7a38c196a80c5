"""Tendency correlation with a monotone transformation of the surrogate in place of a factor."""

from __future__ import annotations

import numpy as np

from directrix.types import Float64Array


def transformed(surrogate: Float64Array, measure: Float64Array) -> Float64Array:
    """Return phi(surrogate) for the non-decreasing phi whose changes are closest to those of the measure.

    One linear program: phi at every different value, a level u for every query, and the coefficient t, with
    u <= phi - measure <= u + t for every model and query. Cost: seconds for 100 models and 60 queries; the
    number of unknowns is that of the values.
    """
    import scipy.sparse as sp
    from scipy.optimize import linprog

    values, code = np.unique(surrogate, return_inverse=True)
    n_models, n_queries = measure.shape
    point = code.ravel()
    level = len(values) + np.tile(np.arange(n_queries), n_models)
    row, ones = np.arange(measure.size), np.ones(measure.size)
    last = len(values) + n_queries
    step = np.arange(len(values) - 1)
    rows, columns, entries = (
        [*(row, row), *(row, row, row), *(step, step)],
        [*(level, point), *(point, level, np.full(measure.size, last)), *(step, step + 1)],
        [*(ones, -ones), *(ones, -ones, -ones), *(np.ones(len(step)), -np.ones(len(step)))],
    )
    first = np.repeat([0, measure.size, 2 * measure.size], [2, 3, 2])
    shape = 2 * measure.size + len(step), last + 1
    limits = np.concatenate([-measure.ravel(), measure.ravel(), np.zeros(len(step))])
    places = np.concatenate([at + begin for at, begin in zip(rows, first, strict=True)])
    program = sp.csr_array((np.concatenate(entries), (places, np.concatenate(columns))), shape=shape)
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    # interior points take a third of the time of the simplex method here
    solved = linprog(cost, A_ub=program, b_ub=limits, bounds=(None, None), method="highs-ipm")
    assert solved.status == 0, solved.message  # a constant phi is feasible, and t >= 0 bounds the cost
    phi = np.maximum.accumulate(solved.x[: len(values)])  # rounding may break the order
    return np.asarray(phi[code].reshape(measure.shape))


def largest_fall(surrogate: Float64Array, measure: Float64Array) -> float:
    """Return the most that the measure of a query falls while the surrogate does not; values (n_models,).

    This is the coefficient of the query with a non-decreasing transformation of its own.
    """
    order = np.argsort(surrogate, kind="stable")
    values, b = surrogate[order], measure[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0.0]))
    highest = np.maximum.accumulate(np.maximum.reduceat(b, starts))  # of surrogates up to this one
    return float((highest - np.minimum.reduceat(b, starts)).max())
