"""Documents that are tied all along a line of scores, in the order far to the left."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.measures.line_terms import Terms
from directrix.types import Float64Array, Int64Array

__all__ = ["Groups", "grouped"]


class Groups(NamedTuple):
    """Groups of tied documents, by query, ascending u, descending s.

    Parameters
    ----------
    qptr : int64 (n_queries + 1,)
        Groups of every query.
    arrays : tuple
        s, u, size, worth, factor, dptr, as the kernels of the line search take them.
    passed : float64
        For the cascade: the chances to get past the first documents of each group.
    """

    qptr: Int64Array
    arrays: tuple[Any, ...]
    passed: Float64Array


def grouped(
    s: Float64Array,
    u: Float64Array,
    qptr: Int64Array,
    terms: Terms,
    *,
    second: Any = None,
    tied: bool = True,
) -> Groups:
    """Sort the documents of every query, and join those that are tied for every t.

    Parameters
    ----------
    s, u : float64 (n_docs,)
        Scores are s + t u.
    qptr : int64 (n_queries + 1,)
    terms : Terms
        Of the measure.
    second : array (n_docs,), optional
        Order of tied documents; None = input order.
    tied : bool
        Whether tied documents share their places; else each is a group of its own.
    """
    from directrix.measures._kernels.line_search import CASCADE, chances

    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    order = np.lexsort((-s, u, query) if second is None else (second, -s, u, query))
    s, u, worth = s[order], u[order], terms.worth[order]
    first = np.ones(len(s), dtype=bool)
    if tied:
        first[1:] = (s[1:] != s[:-1]) | (u[1:] != u[:-1])
        first[qptr[:-1][np.diff(qptr) > 0]] = True
    gptr = np.append(np.flatnonzero(first), len(s))
    size, factor, passed = np.diff(gptr), worth, np.ones(1)
    dptr = np.zeros(len(gptr), np.int64)
    if terms.family == CASCADE:
        counted = np.repeat(terms.k, np.diff(qptr))[gptr[:-1]]
        dptr = np.append(0, np.cumsum(np.minimum(size, counted) + 1))
        passed = np.empty(dptr[-1])
        chances(worth, gptr, dptr, passed)
        factor = np.log(np.maximum(1.0 - worth, 1e-300))  # finite, so that it can be taken away again
    if len(size) < len(s):
        worth, factor = np.add.reduceat(worth, gptr[:-1]), np.add.reduceat(factor, gptr[:-1])
        s, u = s[gptr[:-1]], u[gptr[:-1]]
    return Groups(np.searchsorted(gptr, qptr), (s, u, size, worth, factor, dptr), passed)
