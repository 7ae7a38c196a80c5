"""Counterfactual estimates from randomized lists: of a whole list, its prefixes, or its positions."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from directrix.clicks.log import Log
from directrix.clicks.sessions import Pairs, Sessions
from directrix.data.grouping import run_starts
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

SLATES = ("whole-list", "independent", "reward-interaction", "pseudo-inverse")
# Largest number of documents times positions of one query, because its matrix of this size is inverted.
_LARGEST = 2000


class Slates(NamedTuple):
    """Rows of sessions at the first k positions, by query, session and position."""

    query: Int64Array
    """Number of the query of each row."""
    session: Int64Array
    pair: Int64Array
    position: Int64Array
    click: Array
    propensity: Array | None
    """Probability of the document at its position after those above it; None: observed frequencies."""
    n_queries: int
    k: int

    @property
    def sessions(self) -> Float64Array:
        """Number of sessions of each query."""
        first = run_starts(self.session)
        return np.bincount(self.query[first], minlength=self.n_queries).astype(np.float64)


def slates_of(log: Log, place: Int64Array, pairs: Pairs, sessions: Float64Array, k: int) -> Slates | None:
    """Return the sessions of queries that count, with candidates in place of pairs; others are last."""
    if not isinstance(log.content, Sessions) or k > log.n_positions:
        return None
    of_log = np.full(len(log.pairs), len(pairs), dtype=np.int64)
    of_log[place[place >= 0]] = np.flatnonzero(place >= 0)
    of_query = pairs.queries(log.pairs.query_ids)
    rows = log.content
    query = of_query[rows.query[rows.session]]
    kept = np.flatnonzero((query >= 0) & (np.append(sessions, 0.0)[query] > 0.0) & (rows.position <= k))
    kept = kept[np.argsort(query[kept], kind="stable")]
    propensity = None if rows.propensity is None else rows.propensity[kept]
    columns: Any = (query, rows.session, of_log[rows.pair], rows.position.astype(np.int64), rows.click)
    query, session, doc, position, click = (column[kept] for column in columns)
    return Slates(query, session, doc, position, click, propensity, len(sessions), k)


def slate_factors(kind: str, slates: Slates, rank: Int64Array) -> Float64Array:
    r"""Return the factor of the click of every row, whose mean over sessions estimates clicks of a ranking.

    With m_k = 1 if position k of the session has the same document as in the ranking, else 0:

    - "whole-list": prod_j m_j / P(list), on all clicks of the session.
    - "reward-interaction": prod_{j <= k} m_j / P(first k): a click depends on the documents above
      (McInerney et al. 2020).
    - "independent": m_k / P(document at k): a click depends on its document and position (Li et al. 2018).
    - "pseudo-inverse": 1_ranking' Gamma^+ 1_list on all clicks of the session, 1 the places of a list, Gamma
      the mean of 1_list 1_list' of the query: the sum of the clicks is a sum over places (Swaminathan et al.
      2017).

    P is the fraction of the query's sessions or, in the first two, the product of the log's own propensities
    if it has them.

    Parameters
    ----------
    kind : str
    slates : Slates
    rank : int64 (n_pairs,)
        Rank of each pair in the ranking, 0 for none.

    Raises
    ------
    InputError
        If a query has too many documents for "pseudo-inverse".
    """
    match = rank[slates.pair] == slates.position
    if kind == "independent":
        return np.where(match, _inverse_share(slates, slates.pair * (slates.k + 1) + slates.position), 0.0)
    if kind == "pseudo-inverse":
        return _pseudo_inverse(slates, match)
    # The other two need, for each row, whether its list agrees with the ranking down to this row.
    firsts = run_starts(slates.session)
    lengths = np.diff(firsts, append=len(match))
    misses = np.cumsum(~match)
    is_prefix = misses == np.repeat(misses[firsts] - ~match[firsts], lengths)
    if slates.propensity is None:
        key = (slates.query * (slates.k + 1) + slates.position) * 2 + is_prefix
        factors = np.where(is_prefix, _inverse_share(slates, key), 0.0)
    else:
        logs = np.cumsum(np.log(slates.propensity))
        start = logs[firsts] - np.log(slates.propensity[firsts])
        factors = np.where(is_prefix, np.exp(np.repeat(start, lengths) - logs), 0.0)
    if kind == "whole-list":
        factors = np.repeat(factors[firsts + lengths - 1], lengths)
    return factors


def _inverse_share(slates: Slates, key: Int64Array) -> Float64Array:
    """Sessions of the query of each row over the number of rows with its key."""
    _, of_row, counts = np.unique(key, return_inverse=True, return_counts=True)
    return slates.sessions[slates.query] / counts[of_row]


def _pseudo_inverse(slates: Slates, match: Array) -> Float64Array:
    place = slates.pair * (slates.k + 1) + slates.position
    factors = np.zeros(len(place))
    bounds = np.append(run_starts(slates.query), len(place))
    for first, last in itertools.pairwise(bounds):
        rows = slice(first, last)
        places, number = np.unique(place[rows], return_inverse=True)
        if len(places) > _LARGEST:
            raise InputError(
                f"a query has {len(places):,} places of documents; 'pseudo-inverse' takes {_LARGEST:,}. Type "
                "estimators=['independent'], or a smaller k."
            )
        session = np.unique(slates.session[rows], return_inverse=True)[1]
        shape = session.max() + 1, len(places)
        lists = scipy.sparse.csr_array((np.ones(len(number)), (session, number)), shape)
        wanted = np.zeros(len(places))
        wanted[number[match[rows]]] = 1.0
        # Gamma tells how often two places are in the same list. Each list fills every position, so the rows
        # of Gamma are dependent, and it has only a pseudo-inverse.
        gamma = (lists.T @ lists).toarray() / shape[0]
        factors[rows] = (lists @ (np.linalg.pinv(gamma, rcond=1e-10, hermitian=True) @ wanted))[session]
    return factors
