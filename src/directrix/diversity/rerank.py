"""`mmr` and `novelty`: greedy rankings with less repetition.

Scores and categories of documents go in, and scores of the new order come out, which are minus the ranks:

>>> mmr([0.9, 0.8, 0.5], ["red", "red", "blue"], trade_off=0.5, group=[3])
array([-1., -3., -2.])
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.checks import as_floats, check_length, is_empty
from directrix.data.frames import cells_of
from directrix.data.grouping import rows_by_query
from directrix.data.memory import check_room
from directrix.data.missing import check_cells
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Array, Float64Array, Int64Array


def mmr(
    scores: Any,
    documents: Any,
    *,
    trade_off: float = 0.7,
    k: int | None = None,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
) -> Float64Array:
    r"""Rerank by maximal marginal relevance.

    .. math:: \lambda \, s_i - (1 - \lambda) \max_{j \text{ above}} \cos(v_i, v_j)

    Each rank goes to the document with the largest value, the first to the highest score.

    Parameters
    ----------
    scores : float (n_docs,)
        Relevance s on a scale that compares with a cosine, such as calibrated probabilities.
    documents : array (n_docs, n_dimensions), or one hashable per document
        Vectors v, or categories with similarity 1 within a category and 0 otherwise. A missing or empty
        category is similar to none.
    trade_off : float in [0, 1]
        :math:`\lambda`: 1 keeps the order of the scores.
    k : int >= 1, optional
        Number of ranks to fill; the other documents follow by score. Default: all.
    qid, qptr, group
        Queries of the documents, as for `evaluate`.

    Returns
    -------
    float64 (n_docs,)
        Scores of the new order, minus the ranks: for `evaluate`, runs and sorting. Equal values keep the
        order of the input.

    Raises
    ------
    InputError
        If scores are not finite, sizes differ, or ``trade_off`` is not in [0, 1].

    Notes
    -----
    O(k n d) per query of n documents and d dimensions.

    References
    ----------
    Carbonell & Goldstein (1998), doi:10.1145/290941.291025, section 2.

    Examples
    --------
    >>> mmr([0.9, 0.8, 0.5], ["red", "red", "blue"], trade_off=0.5, group=[3])
    array([-1., -3., -2.])
    """
    s = finite_scores(scores)
    vectors = _documents(documents, len(s))
    check_depth(k)
    check_share("trade_off", trade_off)

    def order(rows: Int64Array) -> list[int]:
        v = vectors(rows)
        # Rows are divided by their largest entry first, because squares may overflow or become 0.
        size = np.abs(v).max(axis=1, initial=0.0, keepdims=True)
        v = v / np.where(size > 0.0, size, 1.0)
        length = np.linalg.norm(v, axis=1, keepdims=True)
        unit = v / np.where(length > 0.0, length, 1.0)
        relevance, similarity = trade_off * s[rows], np.full(len(rows), -np.inf)

        def values(last: int | None) -> Float64Array:
            if last is None:
                return s[rows]
            # Only the similarity to the last chosen document is new.
            np.maximum(similarity, unit @ unit[last], out=similarity)
            return relevance - (1.0 - trade_off) * similarity

        return _greedy(s[rows], k, values)

    return reranked(order, s, qid, qptr, group)


def novelty(  # noqa: PLR0913 - the queries are one argument in three forms
    probabilities: Any,
    categories: Any,
    *,
    alpha: float = 0.5,
    trade_off: float = 0.0,
    k: int | None = None,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
) -> Float64Array:
    r"""Rerank greedily for alpha-nDCG, with probabilities in place of judgments.

    .. math:: p_i \Big(\lambda + (1 - \lambda)
              \sum_c m_{ic} \prod_{j \text{ above}} (1 - \alpha p_j m_{jc})\Big)

    Each rank goes to the document with the largest value. For probabilities of 0 and 1 and
    :math:`\lambda = 0` this is the ideal ranking by which `AlphaNDCG` divides; for
    :math:`\alpha = 1` it is xQuAD with equally likely categories.

    Parameters
    ----------
    probabilities : float (n_docs,)
        Probability p of relevance, in [0, 1]: see ``ranker.calibrate``.
    categories : array (n_docs, n_categories) in [0, 1], or one hashable per document
        Membership m in categories (a document may have several), or one category per document.
    alpha : float in [0, 1]
        Penalty on repetition, as for `AlphaNDCG`.
    trade_off : float in [0, 1]
        :math:`\lambda`: 1 keeps the order of the probabilities.
    k, qid, qptr, group
        As for `mmr`.

    Returns
    -------
    float64 (n_docs,)
        As in `mmr`.

    Raises
    ------
    InputError
        As in `mmr`, or if a probability or membership is not in [0, 1].

    Notes
    -----
    O(k n c) per query. Before every cut-off, the ranking has at least 1 - 1/e of the best expected gain.

    References
    ----------
    Clarke et al. (2008), doi:10.1145/1390334.1390446, section 3.3; Santos, Macdonald & Ounis (2010),
    doi:10.1145/1772690.1772780.

    Examples
    --------
    >>> novelty([0.9, 0.8, 0.5], ["red", "red", "blue"], group=[3])  # .8 (1 - .5 * .9) < .5
    array([-1., -3., -2.])
    """
    p = finite_scores(probabilities)
    members = _documents(categories, len(p), "categories")
    check_depth(k)
    for name, share in (("alpha", alpha), ("trade_off", trade_off), ("probabilities", p)):
        check_share(name, share)

    def order(rows: Int64Array) -> list[int]:
        m = members(rows)
        check_share("categories", m)
        worth = np.ones(m.shape[1])

        def values(last: int | None) -> Float64Array:
            if last is not None:
                # Each relevant document lowers what further ones of its categories are worth.
                np.multiply(worth, 1.0 - alpha * p[rows[last]] * m[last], out=worth)
            gains: Float64Array = p[rows] * (trade_off + (1.0 - trade_off) * (m @ worth))
            return gains

        return _greedy(p[rows], k, values)

    return reranked(order, p, qid, qptr, group)


def reranked(
    order: Callable[[Int64Array], Any], scores: Float64Array, qid: Any, qptr: Any, group: Any
) -> Float64Array:
    """Return minus the ranks; ``order`` returns the positions of a query's rows in their new order."""
    rows, boundaries, _ = rows_by_query(qid, group, len(scores), "scores", qptr)
    new = np.empty(len(scores))
    for first, last in pairwise(boundaries):
        documents = rows[first:last]
        new[documents[order(documents)]] = -np.arange(1.0, len(documents) + 1.0)
    return new


def _greedy(scores: Float64Array, k: int | None, values: Callable[[int | None], Float64Array]) -> list[int]:
    """Fill places with the largest of ``values``, given the last chosen one; the others follow by score."""
    left = np.ones(len(scores), dtype=bool)
    chosen: list[int] = []
    for _ in range(len(scores) if k is None else min(k, len(scores))):
        chosen.append(int(np.argmax(np.where(left, values(chosen[-1] if chosen else None), -np.inf))))
        left[chosen[-1]] = False
    return [*chosen, *(i for i in np.argsort(-scores, kind="stable").tolist() if left[i])]


def finite_scores(scores: Any) -> Float64Array:
    """Return scores as float64; raise `InputError` unless they are one finite number per document."""
    values: Float64Array = as_floats(scores, "scores").astype(np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("scores must be one finite number per document.")
    return values


def check_share(name: str, values: Any) -> None:
    """Raise `InputError` unless values are from 0 to 1."""
    if not ((np.asarray(values) >= 0.0) & (np.asarray(values) <= 1.0)).all():
        shown = f"values from {np.min(values):g} to {np.max(values):g}" if np.ndim(values) else f"{values!r}"
        raise InputError(f"{name} must be from 0 to 1, got {shown}.")


def check_depth(k: int | None) -> None:
    """Raise `InputError` unless a number of places is an integer >= 1, or None."""
    if k is not None:
        whole(k, "k")


def _documents(values: Any, n: int, name: str = "documents") -> Callable[[Int64Array], Array]:
    """Return a function from rows to their vectors: one-hot for a category, zeros for none."""
    try:
        is_matrix = np.ndim(values) == 2
        numbers: dict[Any, int] = {}
        codes = [
            -1 if is_empty(cell) else numbers.setdefault(cell, len(numbers))
            for cell in ([] if is_matrix else cells_of(values))
        ]
    except (TypeError, ValueError):
        # The values are not hashable, or are rows of different lengths.
        raise InputError(
            f"{name} must be an array (n_docs, n_dimensions), or one category per document that is text, a "
            "number or otherwise hashable."
        ) from None
    table = as_floats(values, name, "a row of numbers per document") if is_matrix else np.array(codes)
    check_length(len(table), n, name, "scores")
    if is_matrix:
        check_cells(table, None, (), "row {}".format)
        return lambda rows: table[rows].astype(np.float64)

    def one_hot(rows: Int64Array) -> Float64Array:
        # A missing category has the code -1, which equals none of these columns.
        columns = np.unique(np.maximum(table[rows], 0))
        what = f"{len(rows):,} documents of a query with {len(columns):,} different {name}"
        check_room(32 * len(rows) * len(columns), what, "Rerank only the first hundreds.")
        return np.asarray(table[rows][:, None] == columns, dtype=np.float64)

    return one_hot
