r"""Tendency correlation (He & Liu 2010): largest difference between changes of surrogate and measure.

Values of several models on several queries go in, and the coefficient comes out. 0 means that the surrogate
moves as the measure does:

>>> tendency([[0.0], [2.0], [4.0]], [[0.0], [0.5], [1.0]]).coefficient
0.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import InputError
from directrix.types import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Tendency:
    """Result of `tendency`.

    Parameters
    ----------
    coefficient : float
        eps*, in units of the measure: 0 = the surrogate moves as the measure does, up to a positive factor.
    k : float
        The factor that attains it, in units of the measure per unit of the surrogate; 0 = no positive factor
        is better than ignoring the surrogate. NaN with ``transform="monotone"``.
    query : int
        Position of the query with the largest disagreement.
    models : (int, int)
        The two models with the largest disagreement.
    by_query : float64 (n_queries,)
        Largest disagreement over pairs of models on each query, at this k; NaN where the measure is
        undefined.
    separate : float64 (n_queries,), or None
        Coefficient of each query with its own best factor, or transformation, at most ``by_query``; only with
        ``per_query=True``.
    transformed : float64 (n_models, n_queries), or None
        Transformed values of the surrogate, NaN where the measure is undefined; only with
        ``transform="monotone"``.
    """

    coefficient: float
    k: float
    query: int
    models: tuple[int, int]
    by_query: Float64Array
    separate: Float64Array | None = None
    transformed: Float64Array | None = None


def tendency(
    surrogate_values: Any,
    measure_values: Any,
    *,
    per_query: bool = False,
    transform: Literal["linear", "monotone"] = "linear",
) -> Tendency:
    r"""Compute the tendency correlation coefficient of a surrogate and a measure.

    .. math:: \varepsilon^* = \min_{k \ge 0}\ \max_{q, i, j}\
              \bigl| k\,(\tilde F_{iq} - \tilde F_{jq}) - (F_{iq} - F_{jq}) \bigr|
              = \min_{k \ge 0}\ \max_q\ \operatorname*{range}_i\,(k \tilde F_{iq} - F_{iq})

    over queries q and models i, j. The smaller, the stronger the correlation. It is at most the largest range
    of the measure on a query (k = 0), and the unit and the zero of the surrogate do not change it.

    With ``transform="monotone"``, k times the surrogate is replaced by any non-decreasing function of it, the
    same for all queries. This coefficient is at most the other, and at least the largest fall of the measure
    of a query between two models when the surrogate does not prefer the first.

    Parameters
    ----------
    surrogate_values : float (n_models, n_queries)
        Values of every model on every query; at least 2 models.
    measure_values : float (n_models, n_queries)
        The same for the measure. A query with NaN for all models is left out.
    per_query : bool
        Also compute the coefficient of each query alone.
    transform : {"linear", "monotone"}
        Transformations allowed for the surrogate.

    Returns
    -------
    Tendency

    Raises
    ------
    InputError
        If the arrays differ in shape or cannot be compared, or there is no such transformation.

    Notes
    -----
    The maximum is a convex, piecewise linear function of k, with a line for each pair of models and query. It
    is minimized exactly (docs/decisions/structural.md): about ten steps of O(n_models n_queries). "monotone"
    is a linear program with an unknown for every value, solved to 1e-6: seconds for 100 models and 60
    queries.

    References
    ----------
    He & Liu (2010), Tendency correlation analysis for direct optimization of evaluation measures in
    information retrieval, Information Retrieval 13, Sect. 4.1 and 6.2; "monotone" is its future work, Sect.
    7.

    Examples
    --------
    Three models, one query. The surrogate rises like the measure from the first model to the second, but not
    to the third:

    >>> result = tendency([[0.0], [2.0], [2.0]], [[0.0], [1.0], [1.5]])
    >>> result.coefficient, result.models
    (0.5, (1, 2))

    No factor makes the square of the measure change like the measure, but its root does:

    >>> squares, values = [[0.0], [0.25], [1.0]], [[0.0], [0.5], [1.0]]
    >>> [round(tendency(squares, values, transform=t).coefficient, 6) + 0.0 for t in ("linear", "monotone")]
    [0.25, 0.0]
    """
    if transform not in ("linear", "monotone"):
        raise InputError(
            f"transform={transform!r}: there is no such transformation; type 'linear' or 'monotone'."
        )
    surrogate, measure = _checked(surrogate_values, measure_values)
    has_value = np.flatnonzero(~np.isnan(measure[0]))
    if not len(has_value):
        raise InputError(
            "measure_values are all NaN: the measure is undefined on every query; it must be defined on at "
            "least one, e.g. one with a relevant document."
        )
    return _compared(surrogate, measure, has_value, per_query=per_query, is_monotone=transform == "monotone")


def _compared(
    surrogate: Float64Array,
    measure: Float64Array,
    has_value: Int64Array,
    *,
    per_query: bool,
    is_monotone: bool,
) -> Tendency:
    """Compute the coefficient on the queries on which the measure has a value."""
    # Ranges do not change when a constant is subtracted; near 0 differences keep their last digits.
    a, b = surrogate[:, has_value] - surrogate[0, has_value], measure[:, has_value] - measure[0, has_value]
    by_query, separate, phi = np.full(measure.shape[1], np.nan), None, None
    if is_monotone:
        # Only the order of the surrogates counts here, and subtracting a constant may round it away.
        a = surrogate[:, has_value]
        phi = np.full(measure.shape, np.nan)
        phi[:, has_value] = _transformed(a, b)
        k, heights = np.nan, phi[:, has_value] - b
        line = _line(heights, a, b)
    else:
        k, line = _best(a, b)
        heights = k * a - b
    by_query[has_value] = np.ptp(heights, axis=0)
    if per_query:
        separate = np.full(measure.shape[1], np.nan)
        # A query alone has a factor, or a transformation, of its own.
        separate[has_value] = [
            _largest_fall(ours, theirs)
            if is_monotone
            else np.ptp(_best(ours[:, None], theirs[:, None])[0] * ours - theirs)
            for ours, theirs in zip(a.T, b.T, strict=True)
        ]
    query = int(has_value[line.query])
    return Tendency(float(by_query[query]), k, query, (line.upper, line.lower), by_query, separate, phi)


def _transformed(surrogate: Float64Array, measure: Float64Array) -> Float64Array:
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
    # The blocks of rows are u <= phi - measure, phi - measure <= u + t, and that phi does not decrease.
    first = np.repeat([0, measure.size, 2 * measure.size], [2, 3, 2])
    shape = 2 * measure.size + len(step), last + 1
    limits = np.concatenate([-measure.ravel(), measure.ravel(), np.zeros(len(step))])
    places = np.concatenate([at + begin for at, begin in zip(rows, first, strict=True)])
    program = sp.csr_array((np.concatenate(entries), (places, np.concatenate(columns))), shape=shape)
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    # Interior points take a third of the time of the simplex method here.
    solved = linprog(cost, A_ub=program, b_ub=limits, bounds=(None, None), method="highs-ipm")
    # A solution exists: a constant phi is feasible, and t >= 0 bounds the cost.
    assert solved.status == 0, solved.message
    # The solver meets constraints up to rounding, so the order is restored exactly.
    phi = np.maximum.accumulate(solved.x[: len(values)])
    return np.asarray(phi[code].reshape(measure.shape))


def _largest_fall(surrogate: Float64Array, measure: Float64Array) -> float:
    """Return the most that the measure of a query falls while the surrogate does not; values (n_models,).

    This is the coefficient of the query with a non-decreasing transformation of its own.
    """
    order = np.argsort(surrogate, kind="stable")
    values, b = surrogate[order], measure[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0.0]))
    # For each surrogate value, this is the highest measure among models whose surrogate is not larger.
    highest = np.maximum.accumulate(np.maximum.reduceat(b, starts))
    return float((highest - np.minimum.reduceat(b, starts)).max())


class _Line(NamedTuple):
    """Height ``at_zero + slope k`` of a pair of models on a query."""

    at_zero: float
    slope: float
    query: int
    upper: int
    lower: int

    def at(self, k: float) -> float:
        return self.at_zero + self.slope * k


def _best(a: Float64Array, b: Float64Array) -> tuple[float, _Line]:
    """The k >= 0 with the lowest highest line, and a line that attains it there."""
    left, k_left = _line(-b, a, b), 0.0
    # The envelope rises from the beginning, so its minimum is at k = 0.
    if left.slope >= 0.0:
        return 0.0, left
    # For very large k the heights are dominated by the surrogate, so its range alone selects the highest
    # line.
    right, k_right = _line(a, a, b), np.inf
    while True:
        # The upper envelope of the lines is convex. Its minimum lies between a falling and a rising line,
        # near where they cross.
        k = (left.at_zero - right.at_zero) / (right.slope - left.slope)
        line = _line(k * a - b, a, b)
        # In exact arithmetic the second test is enough. With k inside the bracket the loop is sure to end.
        if not k_left < k < k_right or line in (left, right) or line.at(k) <= left.at(k) or not line.slope:
            return k, line
        if line.slope < 0.0:
            left, k_left = line, k
        else:
            right, k_right = line, k


def _line(heights: Float64Array, a: Float64Array, b: Float64Array) -> _Line:
    """The line of the two models whose heights are furthest apart on any query."""
    q = int(np.ptp(heights, axis=0).argmax())
    upper, lower = int(heights[:, q].argmax()), int(heights[:, q].argmin())
    return _Line(float(b[lower, q] - b[upper, q]), float(a[upper, q] - a[lower, q]), q, upper, lower)


def _checked(surrogate_values: Any, measure_values: Any) -> tuple[Float64Array, Float64Array]:
    surrogate = as_floats(surrogate_values, "surrogate_values", "one row per model")
    measure = as_floats(measure_values, "measure_values", "one row per model")
    if surrogate.ndim != 2 or surrogate.shape != measure.shape or len(surrogate) < 2 or not surrogate.size:
        raise InputError(
            f"surrogate_values has shape {surrogate.shape}, measure_values {measure.shape}; both need "
            "(n_models, n_queries) with at least 2 models and 1 query, one row per model."
        )
    undefined = np.isnan(measure)
    bad = ~np.isfinite(surrogate) & ~undefined.all(axis=0), undefined != undefined.all(axis=0)
    for name, values, wrong in (
        ("surrogate_values", surrogate, bad[0]),
        ("measure_values", measure, bad[1] | np.isinf(measure)),
    ):
        if wrong.any():
            model, query = (int(i[0]) for i in np.nonzero(wrong))
            raise InputError(
                f"{name}[{model}, {query}] is {values[model, query]}; finite numbers are needed (a query "
                "for which the measure is undefined has NaN for all models). Leave out that query, or that "
                "model."
            )
    return surrogate, measure
