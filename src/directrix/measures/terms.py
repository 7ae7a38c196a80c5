"""Terms of a measure: gains of labels, discounts of ranks, normalizers, and their sum.

In: labels and the boundaries of queries. Out: the `Terms` of a measure, from which its value, line search and
surrogates are derived:

>>> from directrix import NDCG
>>> terms = NDCG().terms(np.array([2.0, 0.0, 1.0]), np.array([0, 3]))
>>> terms.worth, terms.discount.round(3), terms.norm.round(3)
(array([3., 0., 1.]), array([1.   , 0.631, 0.5  ]), array([3.631]))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.prepared import Ranking
from directrix.types import Array, Float64Array, Int64Array

Form = Literal["sum", "precision", "first_hit", "cascade", "pairs"]
FORMS: tuple[Form, ...] = ("sum", "precision", "first_hit", "cascade", "pairs")
"""The position of a form is its number in the kernels."""
Between = Callable[[Float64Array], tuple[Float64Array, Float64Array]]
"""Function from real-valued ranks to discounts and their derivatives."""


class Terms(NamedTuple):
    r"""Terms of a measure for some queries; a function passed to `define_measure` returns them.

    The value of a query is :math:`\frac{1}{Z} \sum_i e_i`: the contributions of its documents, divided by the
    normalizer. With the gain w and the discount D, the document at rank p contributes

    - ``"sum"``: :math:`w_i D(p)` (nDCG, precision, RBP);
    - ``"precision"``: :math:`w_i D(p)` times the number of relevant documents down to rank p (AP);
    - ``"first_hit"``: :math:`D(p)` if it is the first relevant document (RR);
    - ``"cascade"``: :math:`D(p)\, w_i` times the probability of not stopping above it (ERR);
    - ``"pairs"``: minus the number of irrelevant documents above it; the value is 1 plus the sum divided by Z
      (ROC area).

    Attributes
    ----------
    worth : float64 (n_docs,)
        >= 0: gain, relevance (0 or 1, for all forms but "sum" and "cascade"), or probability of stopping. A
        document with 0 contributes nothing. With `adds_gains`, gains have any sign.
    discount : float64 (longest,)
        Discounts of the ranks 1, 2, ... of the longest query.
    norm : float64 (n_queries,)
        Z. A query with Z = 0, or without any gain, has the value of an empty query. A function given to
        `define_measure` may omit it; then ``norm=`` there decides.
    cutoff : int64 (n_queries,)
        Number of ranks that count. A function given to `define_measure` may omit it; then it is ``k``.
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


# Every step of a training run asks for the same curve.
@lru_cache(maxsize=8)
def curve_through(discounts: bytes) -> Between:
    """Return a smooth monotone curve through float64 discounts of the ranks 1, 2, ..."""
    from scipy.interpolate import PchipInterpolator

    values = np.frombuffer(discounts)
    curve = PchipInterpolator(np.arange(1.0, len(values) + 1.0), values)
    slope = curve.derivative()
    return lambda ranks: (curve(ranks), slope(ranks))


HIGHEST_EXPONENT = 1000
"""Highest label whose gain 2**label - 1, and sums of such, are floats."""

# The squared gain of this label is 2**512, so sums of squares stay far below 2**1024, the limit of floats.
_HIGHEST_SQUARED = 256

Gain = Literal["exp", "linear"]
Discount = Literal["log2", "letor3", "none", "position"]


def gains(labels: Float64Array, gain: Gain = "exp") -> Float64Array:
    r"""Return the gain of every label.

    ``"exp"``: :math:`2^l - 1` (Burges et al. 2005), `InputError` for a label above 1000, whose gain would be
    infinite; ``"linear"``: :math:`l` (Järvelin & Kekäläinen 2002).

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 2.0, 4.0]))
    array([ 0.,  1.,  3., 15.])
    """
    labels = np.asarray(labels, dtype=np.float64)
    if gain == "linear":
        return labels.copy()
    highest = float(labels.max(initial=0.0))
    if highest > HIGHEST_EXPONENT:
        raise InputError(
            f"the highest label is {highest:g}, whose gain 2**label - 1 is too large for a float; labels up "
            f"to {HIGHEST_EXPONENT} are needed. Map them to grades, e.g. y = numpy.minimum(y, 4)."
        )
    return np.exp2(labels) - 1.0


def gains_of(q: Any) -> Float64Array:
    """Return the gain of every document of `Queries`: its label if labels are gains, else by `gains`."""
    return gains(q.labels, "exp" if q.counts is None else "linear")


def check_squared_gains(labels: Float64Array) -> None:
    """Raise `InputError` for a label above 256: the square of its exponential gain would not be a float."""
    highest = float(labels.max(initial=0.0))
    if highest > _HIGHEST_SQUARED:
        raise InputError(
            f"the highest label is {highest:g}, and squares of its gain 2**label - 1 are too large for a "
            f"float; labels up to {_HIGHEST_SQUARED} are needed. Map them, e.g. y = numpy.minimum(y, 4)."
        )


def discounts(n: int, discount: Discount = "log2") -> Float64Array:
    r"""Return the discounts of ranks 1..n, read-only.

    ``"log2"``: :math:`D(p) = 1/\log_2(1 + p)`. ``"letor3"``: :math:`D(1) = 1` and :math:`D(p) = 1/\log_2 p`
    from 2 on (so D(2) = 1 too), as in the script Eval-Score-3.0 of LETOR 3.0 and in Järvelin & Kekäläinen
    (2002). ``"none"``: 1. ``"position"``: minus the rank.

    Examples
    --------
    >>> discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    >>> discounts(4, "letor3")
    array([1.        , 1.        , 0.63092975, 0.5       ])
    """
    # Tables grow by doubling, so that lists of many lengths share a few of them.
    return _table(max(64, 1 << (n - 1).bit_length()), discount)[:n]


def reciprocal_ranks(n: int) -> Float64Array:
    """One over the ranks 1..n."""
    return 1.0 / np.arange(1.0, n + 1.0)


@lru_cache(maxsize=32)
def _table(n: int, discount: Discount) -> Float64Array:
    rank = np.arange(1, n + 1, dtype=np.float64)
    if discount == "none":
        table = np.ones(n)
    elif discount == "position":
        table = -rank
    elif discount == "letor3":
        # The logarithm of rank 1 is 0, so the script gives rank 1 the discount of rank 2.
        rank[0] = 2.0
        table = 1.0 / np.log2(rank)
    else:
        table = 1.0 / np.log2(1.0 + rank)
    table.flags.writeable = False
    return table


class Sums(NamedTuple):
    """A measure of query q: ``constant[q] + scale[q]`` times the sum over its documents."""

    form: int
    """Form of the sum, see `directrix.measures._kernels.line_search`."""
    worth: Float64Array
    cutoff: Int64Array
    table: Float64Array
    """Sums of the discounts of the first ranks (longest + 1,)."""
    scale: Float64Array
    constant: Float64Array
    """NaN: the measure skips the query (n_queries,)."""


def sums_of(form: Form, terms: Terms, qptr: Int64Array, empty_value: float) -> Sums:
    """Return the terms in the form that kernels use; ``empty_value`` is that of a query without gains."""
    # Gains may have any sign, so only their magnitudes show that a query has none.
    is_empty = (query_sums(np.abs(terms.worth), qptr) <= 0.0) | (terms.norm <= 0.0)
    scale = np.divide(1.0, terms.norm, out=np.zeros(len(qptr) - 1), where=~is_empty)
    constant = np.where(is_empty, empty_value, 1.0 if form == "pairs" else 0.0)
    # With partial sums, a kernel gets the discounts of all ranks of a tied group from two entries.
    table = np.append(0.0, np.cumsum(terms.discount))
    return Sums(FORMS.index(form), terms.worth, terms.cutoff, table, scale, constant)


class Groups(NamedTuple):
    """Groups of tied documents of every query, in some order."""

    qptr: Int64Array
    """Groups of every query (n_queries + 1,)."""
    arrays: tuple[Any, ...]
    """s, u, size, worth, factor, dptr, as the kernels of the line search take them."""
    passed: Float64Array
    """For the cascade: the probabilities of reading past the first documents of each group."""


def _grouped(
    first: Array, worth: Float64Array, qptr: Int64Array, sums: Sums, s: Float64Array, u: Float64Array
) -> Groups:
    """Join documents that stand next to each other; ``first`` says where a group begins."""
    from directrix.measures._kernels.line_search import CASCADE, chances

    gptr = np.append(np.flatnonzero(first), len(worth))
    size, factor, passed = np.diff(gptr), worth, np.ones(1)
    dptr = np.zeros(len(gptr), np.int64)
    if sums.form == CASCADE:
        # The kernel needs the chance to get past the first 0, 1, ... documents of each group. Places past the
        # cut-off are not needed.
        counted = np.repeat(sums.cutoff, np.diff(qptr))[gptr[:-1]]
        dptr = np.append(0, np.cumsum(np.minimum(size, counted) + 1))
        passed = np.empty(dptr[-1])
        chances(worth, gptr, dptr, passed)
        # The logarithm stays finite, so that a group which moves can be taken away from a sum again.
        factor = np.log(np.maximum(1.0 - worth, 1e-300))
    # Only if documents tie is there anything to add up.
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
    """Sort the documents of every query at the left end of a line, and join those tied for every t.

    Scores are s + t u, and groups are sorted by ascending u, then descending s. Tied documents are in the
    order of ``second``, or of the input; with ``tied`` they share their ranks, otherwise each is a group.
    """
    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    # At the left end, t is minus infinity, so the lowest u has the highest score; s decides between equal u.
    order = np.lexsort((-s, u, query) if second is None else (second, -s, u, query))
    s, u = s[order], u[order]
    first = np.ones(len(s), dtype=bool)
    if tied:
        first[1:] = (s[1:] != s[:-1]) | (u[1:] != u[:-1])
        # A group never joins documents of two queries.
        first[qptr[:-1][np.diff(qptr) > 0]] = True
    return _grouped(first, sums.worth[order], qptr, sums, s, u)


def empty_state(groups: Groups) -> tuple[Int64Array, Float64Array, Float64Array]:
    """Return arrays for the kernels' state of every group: documents and gains above it, its contribution."""
    n = len(groups.arrays[0])
    return np.empty(n, np.int64), np.empty(n), np.empty(n)


def value_of(form: Form, terms: Terms, ranking: Ranking, empty_value: float) -> Float64Array:
    """Return the value of every query of a ranking, from terms of its labels in the same order."""
    from directrix.measures._kernels.line_search import begin
    from directrix.measures._kernels.order import group_starts

    qptr = ranking.qptr
    sums = sums_of(form, terms, qptr, empty_value)
    # Documents that were not retrieved come last, so a lower cut-off excludes them.
    sums = sums._replace(cutoff=np.minimum(sums.cutoff, ranking.retrieved))
    first = np.zeros(len(sums.worth), dtype=np.bool_)
    group_starts(ranking.ends, first)
    groups = _grouped(first, sums.worth, qptr, sums, sums.worth, sums.worth)
    state = empty_state(groups)
    earned = np.empty(len(qptr) - 1)
    spec = sums.cutoff, sums.table, groups.passed
    # The line search begins with the values of one ranking, and this is all that is needed here. At minus
    # infinity the kernel reads no scores, so it ranks by the gains.
    begin(sums.form, groups.qptr, 0, len(earned), spec, groups.arrays, -np.inf, state, earned)
    return sums.constant + sums.scale * earned
