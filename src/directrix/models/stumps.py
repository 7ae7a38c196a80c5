"""An additive model of threshold functions of single features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import as_floats, check_form
from directrix.data.missing import check_cells
from directrix.data.sparse import column_reader
from directrix.errors import NO_ITEMS, InputError
from directrix.models.rows import SparseRows, as_rows
from directrix.parameters import whole
from directrix.types import Array, Float64Array, FloatArray

MOST_FEATURES = 1 << 20
"""A `StumpModel` holds a number for every feature, with or without steps."""


class Stairs(NamedTuple):
    """Rows as numbers of thresholds, which are all that a `StumpModel` uses.

    ``stairs`` holds the number of thresholds below every stored value: unsigned int (n_rows, n_features), or
    (n_nonzero,) for CSR rows. ``ground`` (n_features,) is the number below values that are not stored. The
    others are as in `SparseRows`, with ``indptr`` from 0; ``dtype`` is that of features and scores.
    """

    stairs: Array
    indices: Array | None  # None for dense rows
    indptr: Array | None
    ground: Array | None
    shape: tuple[int, int]
    dtype: Any


class StumpModel:
    r"""Sum of step functions of single features; implements `directrix.types.Model`.

    .. math:: f(x) = \sum_f \sum_t w_{f,t} \, [x_f > \theta_{f,t}]

    Parameters are the steps w, feature by feature in the order of their thresholds: a step function for each
    feature, so scores can depend on a feature in any way, monotone or not.

    Parameters
    ----------
    thresholds : sequence of float sequences
        theta of every feature, ascending; a feature may have none. See `quantile_thresholds`.

    Attributes
    ----------
    values : float64 (n_params,)
        All thresholds.
    ptr : int64 (n_features + 1,)
        Feature ``f`` has the thresholds ``ptr[f] <= p < ptr[f + 1]``.

    Raises
    ------
    InputError
        If thresholds are not finite, or not in ascending order, or there are more than 2^20 features.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix.models import StumpModel
    >>> model = StumpModel([[0.5], [1.0, 2.0]])  # two features with one and two thresholds
    >>> model.n_params, model.forward(np.array([1.0, 0.2, 0.3]), np.array([[0.7, 1.5]]))[0]
    (3, array([1.2]))
    """

    def __init__(self, thresholds: Any) -> None:
        try:
            check_count(len(thresholds))
            rows = [as_floats(row, "thresholds").ravel() for row in thresholds]
        except NO_ITEMS as error:
            raise InputError(f"thresholds: {error}; a list of numbers for each feature is needed.") from None
        self.values = np.concatenate([*rows, np.empty(0)])
        self.ptr = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
        wrong = ~np.isfinite(self.values)
        wrong[1:] |= np.diff(self.values) <= 0.0
        firsts = self.ptr[:-1][np.diff(self.ptr) > 0]
        # The first threshold of a feature follows one of another feature, so only its finiteness counts.
        wrong[firsts] = ~np.isfinite(self.values[firsts])
        if wrong.any():
            f = int(np.searchsorted(self.ptr, np.argmax(wrong), side="right")) - 1
            raise InputError(
                f"thresholds of feature {f + 1} are {rows[f]}; finite numbers in ascending order are needed, "
                "e.g. quantile_thresholds(features, 32)."
            )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.ptr) - 1

    @property
    def n_params(self) -> int:
        """Number of steps."""
        return len(self.values)

    def forward(self, params: Float64Array, X: Any) -> tuple[FloatArray, Any]:
        """Return the scores of the rows.

        Parameters
        ----------
        params : float64 (n_params,)
            The steps.
        X : array (n_rows, n_features), SparseRows or Stairs
            Result of `row_slice`, or of `prepare` for it.

        Returns
        -------
        scores : float (n_rows,)
            Scores in the dtype of the features, summed in float64.
        cache
            Arrays that `backward` needs.

        Notes
        -----
        Unless the rows are prepared, every value takes a binary search in the thresholds, O(n d log T).
        Looking up sums of steps takes O(n d).

        Raises
        ------
        InputError
            If there are not ``n_params`` parameters and ``n_features`` features.
        """
        rows, params = self.prepare(X), as_floats(params, "params")
        if params.shape != (self.n_params,) or rows.shape[1] != self.n_features:
            raise InputError(
                f"params has shape {params.shape} and there are {rows.shape[1]} features; this StumpModel "
                f"has {self.n_params} thresholds of {self.n_features} features: pass params of shape "
                f"({self.n_params},), or make a new model from these features by quantile_thresholds."
            )
        from directrix.models._kernels.stumps import csr_scores, dense_scores, heights

        levels = np.empty(self.n_params + self.n_features)
        heights(np.ascontiguousarray(params, dtype=np.float64), self.ptr, levels)
        scores = np.empty(rows.shape[0], dtype=rows.dtype)
        if rows.indptr is None:
            dense_scores(rows.stairs, self.ptr, levels, scores)
        else:
            csr_scores(*rows[:4], self.ptr, levels, scores)
        return scores, rows

    def backward(self, cache: Any, dscores: FloatArray) -> Float64Array:
        """Return the gradient, float64 (n_params,): for every step the sum of ``dscores`` above it."""
        from directrix.models._kernels.stumps import csr_add, dense_add, sums_above

        rows: Stairs = cache
        mass = np.zeros(self.n_params + self.n_features)
        if rows.indptr is None:
            dense_add(rows.stairs, self.ptr, dscores, mass)
        else:
            csr_add(*rows[:4], self.ptr, dscores, mass)
        grad = np.empty(self.n_params)
        sums_above(mass, self.ptr, grad)
        return grad

    def prepare(self, X: Any) -> Stairs:
        """Return rows in the form that `forward` uses, for rows that are used several times; O(n d log T).

        Parameters
        ----------
        X : array (n_rows, n_features), SparseRows or Stairs

        Returns
        -------
        Stairs
            One byte per value for up to 255 thresholds per feature.
        """
        if isinstance(X, Stairs):
            return X
        X = as_rows(X)
        from directrix.models._kernels.stumps import csr_stairs, dense_stairs

        if not isinstance(X, SparseRows):
            # A value only matters by the number of thresholds below it, which usually fits into a byte.
            stairs = np.empty(X.shape, dtype=self._kind)
            dense_stairs(X, self.values, self.ptr, stairs)
            return Stairs(stairs, None, None, None, X.shape, X.dtype)
        first, last = int(X.indptr[0]), int(X.indptr[-1])
        data, indices = X.data[first:last], X.indices[first:last]
        stairs, ground = (np.empty(n, dtype=self._kind) for n in (len(data), self.n_features))
        csr_stairs(data, indices, self.values, self.ptr, stairs)
        dense_stairs(X.absent[None], self.values, self.ptr, ground[None])
        return Stairs(stairs, indices, X.indptr - X.indptr[0], ground, X.shape, X.dtype)

    def heights(self, params: Float64Array, X: Array) -> Iterator[tuple[int, Float64Array]]:
        """Yield every feature with steps, and its contribution to the score of each row, by NumPy alone."""
        for f in np.flatnonzero(np.diff(self.ptr)).tolist():
            own = slice(self.ptr[f], self.ptr[f + 1])
            steps = np.append(0.0, np.cumsum(params[own]))
            yield f, steps[np.searchsorted(self.values[own], X[:, f])]

    @property
    def _kind(self) -> Any:
        """The smallest type that holds the number of a feature's thresholds."""
        most = int(np.diff(self.ptr).max(initial=0))
        return np.uint8 if most < 1 << 8 else np.uint16 if most < 1 << 16 else np.int64

    def bins(self, X: Any) -> Any:
        """Return the number of thresholds below each value, by feature.

        Parameters
        ----------
        X : array or CSR matrix (n_docs, n_features)

        Returns
        -------
        uint8, uint16 or int64 (n_features, n_docs)
            The smallest type that holds them.
        """
        bins, column = np.empty((self.n_features, X.shape[0]), dtype=self._kind), column_reader(X)
        for f in range(X.shape[1]):
            bins[f] = np.searchsorted(self.values[self.ptr[f] : self.ptr[f + 1]], column(f), side="left")
        return bins


def check_count(count: int) -> None:
    """Raise `InputError` if there are more features than a `StumpModel` takes."""
    if count > MOST_FEATURES:
        raise InputError(
            f"there are {count} features; a model of stumps takes at most {MOST_FEATURES}. Leave out "
            "features, or use a linear model."
        )


def quantile_thresholds(X: Any, n_thresholds: int = 32) -> list[Float64Array]:
    """Return thresholds between the values of every feature, with about equal numbers of rows between them.

    Parameters
    ----------
    X : array or CSR matrix (n_docs, n_features)
        Features.
    n_thresholds : int >= 1
        Maximum number per feature; features with few distinct values get one between any two neighbors.

    Returns
    -------
    list of float64 (n <= n_thresholds,)
        One array per feature, ascending; empty for a constant feature.

    Raises
    ------
    InputError
        If ``n_thresholds`` is not an integer >= 1, or there are more than 2^20 features.

    Examples
    --------
    >>> quantile_thresholds(np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0]]), 8)
    [array([0.5, 2.5]), array([], dtype=float64)]
    """
    n_thresholds = whole(n_thresholds, "n_thresholds", example=32)
    check_form(X)
    check_cells(X, None, (), "row {}".format)
    check_count(X.shape[1])
    column = column_reader(X)
    return [_between(np.sort(column(f)), n_thresholds) for f in range(X.shape[1])]


def _between(x: Float64Array, n_thresholds: int) -> Float64Array:
    """Middles of the gaps nearest to the quantiles; the last position before a gap marks it."""
    gaps = np.flatnonzero(np.diff(x) > 0.0)
    if len(gaps) > n_thresholds:
        # Positions of the quantiles in the sorted values; each takes the nearest gap, and several may share
        # one.
        wanted = np.arange(1, n_thresholds + 1) * (len(x) / (n_thresholds + 1)) - 1.0
        after = np.clip(np.searchsorted(gaps, wanted), 0, len(gaps) - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.where(np.abs(gaps[before] - wanted) <= np.abs(gaps[after] - wanted), before, after)
        gaps = gaps[np.unique(nearer)]
    return middles(x[gaps], x[gaps + 1])


def middles(low: Float64Array, high: Float64Array) -> Float64Array:
    """Return thresholds between values: low <= threshold < high."""
    with np.errstate(over="ignore"):  # of values near the largest number, the lower one is the threshold
        middle = low + 0.5 * (high - low)
    # of two neighboring floats the middle may be the upper one, which must stay above the threshold
    return np.where(middle < high, middle, low)
