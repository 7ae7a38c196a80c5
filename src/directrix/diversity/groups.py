"""`exposure` of groups of documents, and `raise_exposure` of one group up to a share."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.checks import as_floats, check_length
from directrix.data.frames import cells_of
from directrix.data.grouping import rows_by_query
from directrix.diversity.rerank import check_depth, check_share, finite_scores, reranked
from directrix.errors import InputError, short_text
from directrix.measures.terms import discounts
from directrix.types import Array, Float64Array, Int64Array


def exposure(
    scores: Any, groups: Any, *, k: int | None = None, qid: Any = None, qptr: Any = None, group: Any = None
) -> dict[Hashable, Float64Array]:
    r"""Return the mean exposure of the documents of each group, by query.

    .. math:: \frac{1}{|G|} \sum_{i \in G} v(r_i), \qquad v(r) = \frac{1}{\log_2(1 + r)}

    Parameters
    ----------
    scores : float (n_docs,)
        Higher is better; equal scores keep the order of the input.
    groups : hashables (n_docs,)
        Group of every document, such as its provider.
    k : int >= 1, optional
        Number of ranks that users see; v is 0 below. Default: all.
    qid, qptr, group
        Queries of the documents, as for `evaluate`.

    Returns
    -------
    dict of float64 (n_queries,)
        Values by group; NaN for a query without its documents. Equal means are demographic parity; means
        proportional to mean relevance are merit-based equality of exposure.

    Raises
    ------
    InputError
        If scores are not finite, or sizes differ.

    References
    ----------
    Singh & Joachims (2018), doi:10.1145/3219819.3220088, section 4.

    Examples
    --------
    >>> exposure([0.9, 0.8, 0.5], ["old", "old", "new"], group=[3])  # (1 + 1/log2(3)) / 2, and 1/log2(4)
    {'old': array([0.81546488]), 'new': array([0.5])}
    """
    s, cells = finite_scores(scores), cells_of(groups)
    check_length(len(cells), len(s), "groups", "scores")
    check_depth(k)
    rows, boundaries, _ = rows_by_query(qid, group, len(s), "scores", qptr)
    means = {name: np.full(len(boundaries) - 1, np.nan) for name in dict.fromkeys(cells)}
    for query, (first, last) in enumerate(pairwise(boundaries)):
        part = rows[first:last]
        seen: dict[Hashable, list[float]] = {}
        for row, value in zip(part[np.argsort(-s[part], kind="stable")], _values(len(part), k), strict=True):
            seen.setdefault(cells[row], []).append(float(value))
        for name, values in seen.items():
            means[name][query] = np.mean(values)
    return means


def raise_exposure(
    scores: Any,
    protected: Any,
    floor: float,
    *,
    k: int | None = None,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
) -> Float64Array:
    r"""Rerank so that a group of documents has at least a share of the exposure, at the least cost.

    .. math:: \sum_{i \in G} v(r_i) \ge \phi \sum_i v(r_i)

    Every document of the group gets the same bonus, the smallest one for the query that satisfies this. So no
    ranking with at least the same exposure of the group has more utility :math:`\sum_i s_i v(r_i)`.

    Parameters
    ----------
    scores : float (n_docs,)
        Utility of showing a document, such as the probability of relevance.
    protected : bools (n_docs,)
        Documents of the group G.
    floor : float in [0, 1]
        The share :math:`\phi`. If the group has too few documents for it, they come first.
    k, qid, qptr, group
        As for `exposure`, which defines v.

    Returns
    -------
    float64 (n_docs,)
        As in `mmr`. If scores tie after the bonus, the group comes first, then the input order decides.

    Raises
    ------
    InputError
        If scores are not finite, sizes differ, or ``floor`` is not in [0, 1].

    Notes
    -----
    O(g (n - g) log n) per query with g of n documents in the group. The exact optimum over random rankings is
    the linear program of the reference; this is its Lagrangian with one multiplier, and one ranking.

    References
    ----------
    Singh & Joachims (2018), doi:10.1145/3219819.3220088, section 3.

    Examples
    --------
    >>> raise_exposure([0.9, 0.8, 0.5], [False, False, True], 0.25, group=[3])  # 0.5 / 2.13 < 0.25
    array([-1., -3., -2.])
    """
    s, in_group = finite_scores(scores), _in_group(protected)
    check_length(len(in_group), len(s), "protected", "scores")
    check_depth(k)
    check_share("floor", floor)

    def order(rows: Int64Array) -> Int64Array:
        by_score = np.argsort(-s[rows], kind="stable")
        is_one = in_group[rows[by_score]]
        ones, others = by_score[is_one], by_score[~is_one]
        lead = s[rows[others]][None, :] - s[rows[ones]][:, None]
        bonuses = np.unique(np.append(lead[lead > 0.0], 0.0))
        values = _values(len(rows), k)

        def places(bonus: float) -> Int64Array:
            found: Int64Array = np.arange(len(ones)) + (lead > bonus).sum(axis=1)
            return found

        def share(bonus: float) -> float:
            return float(values[places(bonus)].sum() / values.sum())

        smallest = bisect_left(bonuses, floor, key=share)
        new = np.empty(len(rows), dtype=np.int64)
        at = places(bonuses[min(smallest, len(bonuses) - 1)])
        new[at] = ones
        new[np.delete(np.arange(len(rows)), at)] = others
        return new

    return reranked(order, s, qid, qptr, group)


def _in_group(protected: Any) -> Array:
    text = next((cell for cell in cells_of(protected) if isinstance(cell, str)), None)
    if text is not None:
        raise InputError(
            f"protected must be one bool per document, got {short_text(text)}; type protected=groups == "
            f"{short_text(text)} for a group, where groups is an array."
        )
    return as_floats(protected, "protected") > 0.0


def _values(n: int, k: int | None) -> Float64Array:
    """Return the exposure of each rank."""
    return np.where(np.arange(n) < (n if k is None else k), discounts(n), 0.0)
