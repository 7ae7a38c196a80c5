"""Regression on the gains: a loss that is a sum over documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from directrix.measures.terms import check_squared_gains, gains, query_sums
from directrix.surrogates.base import LossSurrogate
from directrix.types import Float64Array, FloatArray, Int64Array


@dataclass(frozen=True)
class Regression(LossSurrogate):
    r"""Minus the weighted squared error of scores as predictions of gains.

    .. math:: -\sum_i u_i (s_i - b - (2^{l_i} - 1))^2

    where the weights u of the relevant (l > 0) and of the irrelevant documents of a query each add up to 1/2,
    or to 1 if all documents are of one kind.

    Parameters
    ----------
    intercept : bool
        True: b is the query's own best intercept, so that only differences within the query are
        predicted, and a shift of its scores does not change the loss. False: b = 0, plain regression,
        for a model that has an intercept of its own.

    Notes
    -----
    Convex as a loss, O(n) per query. At most 0. Document weights are factors on u, which balances the
    classes of every query; `regression_start` balances them over the whole data set and is solved at once.

    References
    ----------
    Cossock & Zhang (2006), doi:10.1007/11776420_44 (regression for ranking); Chapelle & Wu (2010),
    Section 4 (reweighted classes), doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.Regression().value_and_grad(*query)[0].round(4)
    array([-1.7819])
    """

    compiled: ClassVar[str] = "pointwise.regression_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document")
    intercept: bool = True

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex; shift_invariant with intercepts."""
        always = frozenset({"smooth", "convex"})
        return always | {"shift_invariant"} if self.intercept else always

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array, Float64Array]:
        """Gains and weights of the documents.

        Raises
        ------
        InputError
            If a label is above 256: squares of its gain would overflow.
        """
        check_squared_gains(labels)
        relevant = labels > 0.0
        sizes = np.diff(qptr)
        n_relevant = np.repeat(query_sums(relevant.astype(np.float64), qptr), sizes)
        same_class = np.where(relevant, n_relevant, np.repeat(sizes, sizes) - n_relevant)
        share = np.where((n_relevant > 0.0) & (n_relevant < np.repeat(sizes, sizes)), 0.5, 1.0)
        weight = share / same_class
        return gains(labels), weight if doc_weight is None else weight * doc_weight

    def settings(self) -> tuple[Any, ...]:
        """Whether queries have intercepts."""
        return (self.intercept,)

    def curvature(
        self,
        scores: FloatArray,
        prepared: tuple[Float64Array, Float64Array],
        qptr: Int64Array,
        grad: FloatArray,
    ) -> Float64Array:
        """2 u, the diagonal of the second derivatives (an upper bound of it with an intercept)."""
        return 2.0 * prepared[1]
