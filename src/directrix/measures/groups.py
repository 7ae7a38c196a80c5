"""Groups of tied documents, and what they earn: all that the terms of a measure need to be computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.measures.order import Ranking
from directrix.measures.terms import FORMS, Form, Terms, query_sums
from directrix.types import Array, Float64Array, Int64Array


class Sums(NamedTuple):
    """A measure of query q: ``constant[q] + scale[q]`` times what its documents earn."""

    form: int
    """How a document earns, see `directrix.measures._kernels.line_search`."""
    worth: Float64Array
    cutoff: Int64Array
    table: Float64Array
    """Sums of the discounts of the first ranks (longest + 1,)."""
    scale: Float64Array
    constant: Float64Array
    """NaN: the measure skips the query (n_queries,)."""


def sums_of(form: Form, terms: Terms, qptr: Int64Array, fill: float) -> Sums:
    """Return the terms as the kernels take them; ``fill`` is the value of an empty query."""
    is_empty = (query_sums(terms.worth, qptr) <= 0.0) | (terms.norm <= 0.0)
    scale = np.divide(1.0, terms.norm, out=np.zeros(len(qptr) - 1), where=~is_empty)
    constant = np.where(is_empty, fill, 1.0 if form == "pairs" else 0.0)
    table = np.append(0.0, np.cumsum(terms.discount))
    return Sums(FORMS.index(form), terms.worth, terms.cutoff, table, scale, constant)


class Groups(NamedTuple):
    """Groups of tied documents of every query, in some order."""

    qptr: Int64Array
    """Groups of every query (n_queries + 1,)."""
    arrays: tuple[Any, ...]
    """s, u, size, worth, factor, dptr, as the kernels of the line search take them."""
    passed: Float64Array
    """For the cascade: the chances to get past the first documents of each group."""


def _grouped(
    first: Array, worth: Float64Array, qptr: Int64Array, sums: Sums, s: Float64Array, u: Float64Array
) -> Groups:
    """Join documents that stand next to each other; ``first`` says where a group begins."""
    from directrix.measures._kernels.line_search import CASCADE, chances

    gptr = np.append(np.flatnonzero(first), len(worth))
    size, factor, passed = np.diff(gptr), worth, np.ones(1)
    dptr = np.zeros(len(gptr), np.int64)
    if sums.form == CASCADE:
        counted = np.repeat(sums.cutoff, np.diff(qptr))[gptr[:-1]]
        dptr = np.append(0, np.cumsum(np.minimum(size, counted) + 1))
        passed = np.empty(dptr[-1])
        chances(worth, gptr, dptr, passed)
        factor = np.log(np.maximum(1.0 - worth, 1e-300))  # finite, so that it can be taken away again
    if len(size) < len(worth):
        worth, factor = np.add.reduceat(worth, gptr[:-1]), np.add.reduceat(factor, gptr[:-1])
        s, u = s[gptr[:-1]], u[gptr[:-1]]
    return Groups(np.searchsorted(gptr, qptr), (s, u, size, worth, factor, dptr), passed)


def line_groups(
    s: Float64Array,
    u: Float64Array,
    qptr: Int64Array,
    sums: Sums,
    *,
    second: Any = None,
    tied: bool = True,
) -> Groups:
    """Sort the documents of every query far to the left of a line, and join those tied for every t.

    Scores are s + t u, and groups come by ascending u, then descending s. Documents that tie come in the
    order of ``second``, or of the input; if they are ``tied`` they share their ranks, otherwise each is a
    group.
    """
    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    order = np.lexsort((-s, u, query) if second is None else (second, -s, u, query))
    s, u = s[order], u[order]
    first = np.ones(len(s), dtype=bool)
    if tied:
        first[1:] = (s[1:] != s[:-1]) | (u[1:] != u[:-1])
        first[qptr[:-1][np.diff(qptr) > 0]] = True
    return _grouped(first, sums.worth[order], qptr, sums, s, u)


def empty_state(groups: Groups) -> tuple[Int64Array, Float64Array, Float64Array]:
    """Return room for what the kernels know of every group: documents and worth above it, what it earns."""
    n = len(groups.arrays[0])
    return np.empty(n, np.int64), np.empty(n), np.empty(n)


def value_of(form: Form, terms: Terms, ranking: Ranking, fill: float) -> Float64Array:
    """Value of every query of a ranking, from terms of its labels in the order of the ranking."""
    from directrix.measures._kernels.line_search import begin
    from directrix.measures._kernels.order import group_starts

    qptr = ranking.qptr
    sums = sums_of(form, terms, qptr, fill)
    sums = sums._replace(cutoff=np.minimum(sums.cutoff, ranking.retrieved))
    first = np.zeros(len(sums.worth), dtype=np.bool_)
    group_starts(ranking.ends, first)
    groups = _grouped(first, sums.worth, qptr, sums, sums.worth, sums.worth)
    state = empty_state(groups)
    earned = np.empty(len(qptr) - 1)
    spec = sums.cutoff, sums.table, groups.passed
    begin(sums.form, groups.qptr, 0, len(earned), spec, groups.arrays, -np.inf, state, earned)
    return sums.constant + sums.scale * earned
