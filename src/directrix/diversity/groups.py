"""`exposure` of groups of documents, and `raise_exposure` of one group up to a share.

Scores and groups go in. Means by group come out, or scores of an order in which a group has its share:

>>> exposure([0.9, 0.8], ["old", "new"], group=[2])
{'old': array([1.]), 'new': array([0.63092975])}
"""

from __future__ import annotations

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

# Ranks times documents of the group up to which partial rankings are compared; larger queries keep the
# relaxed solution.
_STATES = 1 << 22
# Numbers of partial rankings: those kept over all ranks, the fewest at each rank, and those of a first try.
_KEPT, _FEWEST, _FIRST = 1 << 19, 1 << 10, 1 << 6
# Utilities that differ by less than this share of the range of scores are equal.
_EQUAL = 1e-12


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
        documents = rows[first:last]
        ranked = documents[np.argsort(-s[documents], kind="stable")]
        seen: dict[Hashable, list[float]] = {}
        for row, value in zip(ranked, _values(len(ranked), k), strict=True):
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

    No ranking that satisfies this has more utility :math:`\sum_i s_i v(r_i)`; see the Notes on long lists.

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
        As in `mmr`. Documents below k are in the order of their scores, then of the input.

    Raises
    ------
    InputError
        If scores are not finite, sizes differ, or ``floor`` is not in [0, 1].

    Notes
    -----
    The search compares partial rankings rank by rank. It drops those that another one dominates, and those
    that the bound of a Lagrangian relaxation excludes. It keeps 2^19 / n of them per rank (1,024 or more),
    which was enough for all lists of up to 20 documents that were tried, and is then exact. Otherwise, or
    with more than 2^22 ranks times documents of the group, the utility misses the optimum by at most
    b (e - f). Here b is the smallest bonus for all documents of the group that reaches the floor f, and e the
    exposure with this bonus; their product is small in long lists. O(n 2^19) per query.

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
        values = _values(len(rows), k)[:k]
        by_score = np.argsort(-s[rows], kind="stable")
        is_one = in_group[rows[by_score]]
        ones, others = by_score[is_one], by_score[~is_one]
        scaled = s[rows] / 2.0 - s[rows].min(initial=0.0) / 2.0
        scaled /= scaled.max(initial=0.0) or 1.0
        places = _best_places(scaled[ones], scaled[others], values, floor * values.sum() * (1.0 - 1e-12))
        top = np.empty(len(values), dtype=np.int64)
        is_place = np.isin(np.arange(len(top)), places)
        top[is_place], top[~is_place] = ones[: len(places)], others[: len(top) - len(places)]
        return np.append(top, by_score[~np.isin(by_score, top)])

    return reranked(order, s, qid, qptr, group)


def _best_places(ones: Float64Array, others: Float64Array, values: Float64Array, need: float) -> Int64Array:
    """Return the group's places; scores are descending, in [0, 1]. See the Notes of `raise_exposure`."""
    depth, n_ones = len(values), len(ones)

    def with_bonus(bonus: float) -> Int64Array:
        at = np.arange(n_ones) + np.searchsorted(-others, -(ones + bonus))
        return np.asarray(at[at < depth])

    low, bonus = 0.0, 0.0 if values[with_bonus(0.0)].sum() >= need else 1.0
    if bonus == 0.0 or values[:n_ones].sum() < need:
        return with_bonus(bonus)
    # The bisection ends at the smallest bonus that reaches the exposure, to the precision of float64.
    for _ in range(50):
        middle = (low + bonus) / 2.0
        low, bonus = (low, middle) if values[with_bonus(middle)].sum() >= need else (middle, bonus)
    places = with_bonus(bonus)
    if depth * n_ones > _STATES:
        return places
    # Indices beyond the last document get documents that no ranking would choose.
    ones, others = (np.append(side, np.full(depth + 1, -np.inf)) for side in (ones, others))
    rest = _relaxed(ones + bonus, others, values, n_ones)
    best, reach = rest[0, 0] - bonus * values[places].sum(), np.append(0.0, np.cumsum(values))
    # The first try is cheap, and a good ranking from it lets the bound prune the second.
    for limit in (_FIRST, max(_FEWEST, _KEPT // depth)):
        # A partial ranking has a number of documents of the group, their exposure, and the utility of all
        # its documents.
        used, exposed, earned, parents = np.zeros(1, np.int64), np.zeros(1), np.zeros(1), []
        for rank, value in enumerate(values):
            earned = np.append(earned + value * ones[used], earned + value * others[rank - used])
            used, exposed = np.append(used + 1, used), np.append(exposed + value, exposed)
            last = np.minimum(rank + 1 + n_ones - used, depth).clip(rank + 1)
            # A ranking can reach this exposure if the rest of the group comes next.
            most = exposed + reach[last] - reach[rank + 1]
            bound = earned + rest[rank + 1, used] - bonus * (need - exposed)
            kept = np.flatnonzero((most >= need) & (bound > best + _EQUAL))
            kept = kept[np.lexsort((-earned[kept], -exposed[kept], used[kept]))]
            order = np.argsort(np.argsort(earned[kept], kind="stable")) + used[kept] * len(kept)
            # A ranking is kept only if it has more utility than all rankings with more exposure.
            kept = kept[np.append(-1, np.maximum.accumulate(order))[:-1] < order]
            kept = kept[np.argsort(-bound[kept], kind="stable")[:limit]]
            parents.append(kept)
            used, exposed, earned = used[kept], exposed[kept], earned[kept]
        if len(used):
            # The parents of the best ranking lead from its last rank to its first.
            best, at, chosen = earned.max(), int(np.argmax(earned)), []
            for rank in range(depth - 1, -1, -1):
                n_before = len(parents[rank - 1]) if rank else 1
                chosen += [rank] * int(parents[rank][at] < n_before)
                at = int(parents[rank][at] % n_before)
            places = np.array(chosen[::-1], dtype=np.int64)
    return places


def _relaxed(ones: Float64Array, others: Float64Array, values: Float64Array, n_ones: int) -> Float64Array:
    """Return the most utility from each rank on, by the group's documents above (depth + 1, n_ones + 2)."""
    best = np.full((len(values) + 1, n_ones + 2), -np.inf)
    best[-1, :-1] = 0.0
    for rank in range(len(values) - 1, -1, -1):
        used = np.arange(min(rank, n_ones) + 1)
        of_one = values[rank] * ones[used] + best[rank + 1, used + 1]
        best[rank, used] = np.maximum(of_one, values[rank] * others[rank - used] + best[rank + 1, used])
    return best


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
