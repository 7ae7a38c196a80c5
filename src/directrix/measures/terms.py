"""The terms of a measure: how documents earn, what each is worth, what a rank counts, and the norm."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.types import Float64Array, Int64Array

Form = Literal["sum", "precision", "first_hit", "cascade", "pairs"]
FORMS: tuple[Form, ...] = ("sum", "precision", "first_hit", "cascade", "pairs")
"""The position of a form is its number in the kernels."""
Between = Callable[[Float64Array], tuple[Float64Array, Float64Array]]
"""From ranks that need not be whole to discounts and their derivatives."""


class Terms(NamedTuple):
    r"""What a measure is made of, for some queries; made by a function passed to `define_measure`.

    The value of a query is :math:`\frac{1}{Z} \sum_i e_i`: what its documents earn, over the norm. With
    the worth w and the discount D, the document at rank p earns

    - ``"sum"``: :math:`w_i D(p)` (nDCG, precision, RBP);
    - ``"precision"``: :math:`w_i D(p)` times the number of relevant documents down to rank p (AP);
    - ``"first_hit"``: :math:`D(p)` if it is the first relevant document (RR);
    - ``"cascade"``: :math:`D(p)\, w_i` times the chance to get past all documents above (ERR);
    - ``"pairs"``: minus the number of irrelevant documents above it, and the value is 1 plus that sum over
      the norm (ROC area).

    Parameters
    ----------
    worth : float64 (n_docs,)
        >= 0: gain, relevance (0 or 1, for all forms but "sum" and "cascade"), or chance to stop. A document
        of worth 0 earns nothing.
    discount : float64 (longest,)
        Of the ranks 1, 2, ... of the longest query.
    norm : float64 (n_queries,)
        Z. A query in which it is 0, or in which no document is worth anything, has the value of an empty
        query. A function given to `define_measure` may leave it out: then ``norm=`` there decides.
    cutoff : int64 (n_queries,)
        Number of ranks that count. A function given to `define_measure` may leave it out: then it is ``k``.
    """

    worth: Float64Array
    discount: Float64Array
    norm: Any = None
    cutoff: Any = None


def query_sums(per_doc: Float64Array, qptr: Int64Array) -> Float64Array:
    """Sum over the documents of every query; 0 for a query without documents."""
    sums = np.zeros(len(qptr) - 1)
    filled = np.diff(qptr) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(per_doc, qptr[:-1][filled])
    return sums


def over_queries(per_doc: Float64Array, norm: Float64Array, qptr: Int64Array) -> Float64Array:
    """Divide by the norm of each document's query; 0 where the norm is 0."""
    inverse: Float64Array = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0.0)
    return per_doc * np.repeat(inverse, np.diff(qptr))


@lru_cache(maxsize=8)  # every step of a training asks for the same
def curve_through(discounts: bytes) -> Between:
    """Return a smooth monotone curve through float64 discounts of the ranks 1, 2, ..."""
    from scipy.interpolate import PchipInterpolator

    values = np.frombuffer(discounts)
    curve = PchipInterpolator(np.arange(1.0, len(values) + 1.0), values)
    slope = curve.derivative()
    return lambda ranks: (curve(ranks), slope(ranks))
