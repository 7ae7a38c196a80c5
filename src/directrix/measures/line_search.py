"""Exact line search: the point on a line of scores that maximizes a measure.

In: a measure, labels, scores and a direction. Out: a `LinePoint`, with the best position on the line:

>>> point = line_search("nDCG", [2.0, 1.0], [0.0, 1.0], labels=[0.0, 1.0], qptr=[0, 2])
>>> point.t > 1.0, point.value
(True, 1.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from directrix.data.checks import as_array, check_ranking, weights_of
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.measures.prepared import trec_order
from directrix.measures.terms import Groups, empty_state, line_groups, sums_of
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array

Piece: TypeAlias = tuple[float, float, float]
"""Value, and where the piece begins and ends."""

# Highest pieces that are kept: the first may lose its counted value when it is recomputed.
_CANDIDATES = 8
# Number of the highest pieces that are examined first, where there are more.
_MANY = 1 << 10
# Decimals in which two sums of changes must agree to count as equal.
_DIGITS = 12
# Relative width below which an interval may be nothing but rounding.
_NARROW = 1e-12


def widest_of_the_best(lo: Float64Array, hi: Float64Array, value: Float64Array) -> list[Piece]:
    """Return the pieces that may hold the best point, ascending: the highest, the widest of equal ones."""
    if len(value) > _MANY:
        # Rounding and widths are slow on millions of pieces, and only the highest matter.
        high = np.sort(np.argpartition(value, -_MANY)[-_MANY:])
        pieces = _widest(lo[high], hi[high], value[high])
        # All candidates are above whatever was left out, so the others cannot change the result.
        if len(pieces) == _CANDIDATES and pieces[0][0] > value[high].min() + 10.0**-_DIGITS:
            return pieces
    return _widest(lo, hi, value)


def _widest(lo: Float64Array, hi: Float64Array, value: Float64Array) -> list[Piece]:
    value = value.round(_DIGITS)
    with np.errstate(invalid="ignore"):
        width = hi - lo
        wide = np.flatnonzero((width > _NARROW * (np.abs(lo) + np.abs(hi))) | np.isinf(width))
    if len(wide) > _CANDIDATES:
        least = np.partition(value[wide], -_CANDIDATES)[-_CANDIDATES]
        wide = wide[value[wide] >= least]
    wide = wide[np.lexsort((width[wide], value[wide]))[-_CANDIDATES:]]
    return [(float(value[i]), float(lo[i]), float(hi[i])) for i in wide]


def the_best(candidates: list[Piece]) -> list[Piece]:
    """Return the highest pieces, wider ones first."""
    return sorted(candidates, key=lambda c: (c[0], c[2] - c[1]), reverse=True)[:_CANDIDATES]


def points(lo: float, hi: float) -> tuple[float, ...]:
    """Return points to try: at the first, documents may meet without changing the value."""
    if np.isinf(lo) and np.isinf(hi):
        return (0.0, 0.7)
    if np.isinf(lo):
        return (hi - (abs(hi) or 1.0), hi - 1.7 * (abs(hi) or 1.0))
    if np.isinf(hi):
        return (lo + (abs(lo) or 1.0), lo + 1.7 * (abs(lo) or 1.0))
    # The second point, from the golden section, is not a simple fraction of the interval.
    return (lo + 0.5 * (hi - lo), lo + 0.382 * (hi - lo))


# Documents of whole queries that a thread takes at a time.
_DOCS_PER_CHUNK = 1024
# Crossings in memory at a time: with a position and a change for each, 128 MiB.
_CROSSINGS_AT_ONCE = 1 << 23
# A recomputed value that differs by more from the counted one is that of another ranking.
_SAME = 1e-9


class LinePoint(NamedTuple):
    """A point on a line, and how far it can move."""

    t: float
    """Position on the line."""
    value: float
    """Weighted mean of the measure over queries at ``t``."""
    interval: tuple[float, float]
    """The open interval around ``t`` in which no query's value changes; the ends may be infinite."""


class LineSearch:
    """`line_search` on many lines of scores of the same documents, with the same arguments and errors."""

    def __init__(
        self,
        measure: RankingMeasure | str,
        labels: Any,
        qptr: Any,
        *,
        query_weight: Any = None,
        doc_ids: Any = None,
        is_ranked: Any = None,
    ) -> None:
        """Prepare the search; documents not in ``is_ranked`` have no scores, and are not retrieved."""
        self.measure = parse_measure(measure)
        no_scores = np.zeros(as_array(labels, "labels").size)
        _, labels, qptr = check_ranking(no_scores, labels, qptr, signed=self.measure.adds_gains)
        self._exact = self.measure.prepare(labels, qptr, doc_ids=doc_ids)
        terms = self.measure.terms(labels, qptr)
        assert self.measure.form is not None, "a measure without a form has no terms"
        sums = sums_of(self.measure.form, terms, qptr, self.measure.empty_value)
        self._rows = np.flatnonzero(np.ones(len(labels), bool) if is_ranked is None else is_ranked)
        self._unranked, self._labels = np.full(len(labels), -np.inf), labels[self._rows]
        self._qptr: Int64Array = np.searchsorted(self._rows, qptr).astype(np.int64)
        cutoff = np.minimum(sums.cutoff, np.diff(self._qptr))
        self._sums = sums._replace(worth=sums.worth[self._rows], cutoff=cutoff)
        if self.measure.tie_rule == "ranx":
            raise InputError(
                f'{self.measure!r}: the order of tied documents under ties="ranx" depends on all scores of a '
                'query, so no line search can follow it; use ties="expected" or "order".'
            )
        rows = trec_order(doc_ids, qptr) if self.measure.tie_rule == "trec" else None
        self._place = None if rows is None else np.argsort(rows)[self._rows]
        n_queries = len(self._qptr) - 1
        weight = weights_of(query_weight, n_queries, "query_weight", "query")
        # The constant of a query is NaN if the measure skips it.
        weight = np.where(np.isnan(self._sums.constant), 0.0, weight)
        if not weight.sum() > 0.0:
            raise InputError(
                f"{self.measure.name} is defined for none of the {n_queries} queries, so no point is best; "
                "at least one query needs documents of different labels."
            )
        self._weight = weight / weight.sum()
        self._chunks = query_chunks(self._qptr, _DOCS_PER_CHUNK)

    def value(self, scores: Any) -> float:
        """Return the weighted mean of the measure over queries."""
        every = self._unranked.copy()
        every[self._rows] = scores
        values = self._exact(every)[0]
        return float(self._weight @ np.where(self._weight > 0.0, values, 0.0))

    def best(self, scores: Any, direction: Any, within: tuple[float, float] = (-np.inf, np.inf)) -> LinePoint:
        """Return the best point of ``scores + t * direction``; see `line_search`."""
        return self._best_in(scores, direction, (within,))[0]

    def best_within(self, scores: Any, direction: Any, reaches: Sequence[float]) -> tuple[LinePoint, ...]:
        """Return the best point with abs(t) <= reach, for each of several reaches > 0, in one sweep.

        Intervals end at the reach.
        """
        return self._best_in(scores, direction, [(-reach, reach) for reach in reaches])

    def _best_in(
        self, scores: Any, direction: Any, ranges: Sequence[tuple[float, float]]
    ) -> tuple[LinePoint, ...]:
        s, u = self._line(scores, direction)
        left, value = -np.inf, 0.0
        candidates: list[list[Piece]] = [[] for _ in ranges]
        # Only crossings within the ranges are listed: runs that agree on most pairs cross mostly elsewhere.
        within = min(low for low, _ in ranges), max(high for _, high in ranges)
        for t, values in chain(self._pieces(s, u, within), [(np.array([np.inf]), np.zeros(1))]):
            ends, levels = np.append(left, t), np.append(value, values)
            for pieces, (lowest, highest) in zip(candidates, ranges, strict=True):
                inside = ends.clip(lowest, highest)
                pieces += widest_of_the_best(inside[:-1], inside[1:], levels[:-1])
            left, value = float(ends[-1]), float(levels[-1])
        return tuple(self._best_of(s, u, pieces) for pieces in candidates)

    def _best_of(self, s: Float64Array, u: Float64Array, candidates: list[Piece]) -> LinePoint:
        """The first candidate, from the highest, whose value is what was counted; else the highest seen."""
        best = LinePoint(0.0, -np.inf, (0.0, 0.0))
        for counted, lo, hi in the_best(candidates):
            for point in points(lo, hi):
                with np.errstate(over="ignore", invalid="ignore"):
                    moved = s + point * u
                if not np.isfinite(moved).all():
                    continue
                reached = self.value(moved)
                if abs(reached - counted) <= _SAME:
                    return LinePoint(point, reached, (lo, hi))
                if reached > best.value:
                    best = LinePoint(point, reached, (lo, hi))
        return best

    def pieces(self, scores: Any, direction: Any) -> tuple[Float64Array, Float64Array]:
        """Return the mean of the measure all along the line.

        Returns
        -------
        t : float64 (n_changes,)
            Points at which the value of a query changes, ascending; several queries may change at one t.
        value : float64 (n_changes + 1,)
            Values before the first change, and after each.
        """
        blocks = list(self._pieces(*self._line(scores, direction)))
        return np.concatenate([t for t, _ in blocks])[1:], np.concatenate([v for _, v in blocks])

    def _line(self, scores: Any, direction: Any) -> tuple[Float64Array, Float64Array]:
        s, _, _ = check_ranking(scores, self._labels, self._qptr, signed=True)
        u, _, _ = check_ranking(direction, self._labels, self._qptr, signed=True)
        return s.astype(np.float64), u.astype(np.float64)

    def _pieces(
        self, s: Float64Array, u: Float64Array, within: tuple[float, float] = (-np.inf, np.inf)
    ) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Changes inside two limits and the values after them, window by window; the first is the limit."""
        from directrix.measures._kernels.line_search import begin, count_crossings, sweep

        sums, groups = self._sums, self._groups(s, u)
        spec = (sums.cutoff, sums.table, groups.passed)
        n_queries = len(self._qptr) - 1
        state = empty_state(groups)
        earned, scale = np.empty(n_queries), sums.scale * self._weight
        form, left = sums.form, float(within[0])
        self._run(lambda a, b: begin(form, groups.qptr, a, b, spec, groups.arrays, left, state, earned))
        value = float(self._weight @ np.nan_to_num(sums.constant) + scale @ earned)
        yield np.array([left]), np.array([value])
        edges = self._windows(groups, within)
        for lower, upper in pairwise(edges):
            # Crossings are counted before they are written, so that every query has its own place and threads
            # need no lock.
            count, window = np.empty(n_queries, np.int64), (float(lower), float(upper))
            self._run(
                lambda a, b, w=window, c=count: count_crossings(groups.qptr, a, b, groups.arrays, *w, c)
            )
            place = np.append(0, np.cumsum(count))
            t, change = np.empty(place[-1]), np.empty(place[-1])
            self._run(
                lambda a, b, w=window, c=count, p=place, out=(t, change): sweep(
                    form, groups.qptr, a, b, spec, scale, groups.arrays, state, w, p, *out, c
                )
            )
            # A query changes its value at some of its crossings only; the places of the others are left out.
            used = np.arange(place[-1]) < np.repeat(place[:-1] + count, np.diff(place))
            t, change = t[used], change[used]
            # The crossings of each query are sorted already, and a stable sort is fast on sorted runs.
            order = np.argsort(t, kind="stable")
            values = value + np.cumsum(change[order])
            yield t[order], values
            value = float(values[-1]) if len(values) else value

    def _run(self, kernel: Any) -> None:
        run_chunks(lambda c: kernel(int(self._chunks[c]), int(self._chunks[c + 1])), len(self._chunks) - 1)

    def _groups(self, s: Float64Array, u: Float64Array) -> Groups:
        rule = self.measure.tie_rule
        second = self._labels if rule == "worst" else self._place
        return line_groups(s, u, self._qptr, self._sums, second=second, tied=rule == "expected")

    def _windows(self, groups: Groups, within: tuple[float, float]) -> Float64Array:
        """Ends of ranges of t with a bounded number of crossings each, estimated from random pairs."""
        s, u, _, worth, _, _ = groups.arrays
        n = np.diff(groups.qptr)
        # A swap matters only if one of the two documents earns something, so those pairs are counted.
        earning = np.add.reduceat(np.append(worth != 0.0, False), groups.qptr[:-1]) * (n > 0)
        wanted = int(np.ceil((earning * n).sum() / _CROSSINGS_AT_ONCE))
        if wanted <= 1:
            return np.array(within)
        # The seed is fixed, so that the windows depend on the data alone.
        rng = np.random.default_rng(0)
        query = rng.choice(len(n), 256 * wanted, p=earning * n / (earning * n).sum())
        a, b = (groups.qptr[query] + (rng.random(len(query)) * n[query]).astype(np.int64) for _ in range(2))
        a, b = a[u[a] != u[b]], b[u[a] != u[b]]
        met = (s[a] - s[b]) / (u[b] - u[a])
        inside = met[(met > within[0]) & (met < within[1])]
        wanted = int(np.ceil(wanted * len(inside) / max(len(met), 1)))
        # Quantiles of the sampled crossings leave about as many crossings in each window.
        inner = np.quantile(inside, np.arange(1, wanted) / wanted) if wanted > 1 else []
        return np.unique(np.concatenate([within[:1], inner, within[1:]]))


def line_search(  # noqa: PLR0913
    measure: RankingMeasure | str,
    scores: Any,
    direction: Any,
    labels: Any,
    qptr: Any,
    *,
    query_weight: Any = None,
    doc_ids: Any = None,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> LinePoint:
    r"""Find the t that maximizes the measure of ``scores + t * direction``, exactly.

    .. math:: \max_t \; \frac{\sum_q v_q M_q(s + t u)}{\sum_q v_q}

    Along a line, two documents swap once, at :math:`t = (s_i - s_j)/(u_j - u_i)`. The measure is constant
    between such points, and the search examines all of them.

    Parameters
    ----------
    measure : measure or str
        A measure that is a sum over documents: any except interpolated precision and Kendall's tau.
    scores : float (n_docs,)
        s, finite.
    direction : float (n_docs,)
        u, finite: for a linear model and its weight f, the column of feature f.
    labels : float (n_docs,)
        Grades, >= 0.
    qptr : int64 (n_queries + 1,)
        Query boundaries.
    query_weight : float (n_queries,), optional
        v_q >= 0; queries that the measure skips have no weight.
    doc_ids : sequence of str (n_docs,), optional
        Needed by ``ties="trec"`` only.
    within : (float, float)
        Limits of t, the first below the second.

    Returns
    -------
    LinePoint
        ``t``, ``value``, ``interval``. Of several intervals with the best value the widest is returned, with
        t in its middle; if one end is infinite, t lies beyond the other end x by :math:`|x|` (1 if x = 0).
        ``value`` is the measure, recomputed at t.

    Raises
    ------
    InputError
        If the arrays do not fit together, the measure is not such a sum or skips all queries, or ``within``
        is not an interval.

    Notes
    -----
    Ties count only between scores that tie all along the line. The search skips single points where several
    documents meet, and intervals narrower than rounding.

    For R_q documents with a gain out of n_q, :math:`m = \sum_q R_q n_q` swaps are sorted, query by query, and
    each costs O(1): O(m log m) time. Beyond 8 million swaps, the line is searched in consecutive windows, so
    memory stays bounded.

    The idea is Och's (2003, Section 4, for error rates of translations), doi:10.3115/1075096.1075117.

    Examples
    --------
    >>> scores, feature = [3.0, 2.0, 1.0], [0.0, 0.0, 1.0]
    >>> line_search("nDCG", scores, feature, labels=[0.0, 1.0, 2.0], qptr=[0, 3])
    LinePoint(t=4.0, value=0.96..., interval=(2.0, inf))
    """
    try:
        low, high = map(float, within)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise InputError(
            f"within={within!r}: two limits of t are needed, the first below the second, e.g. "
            "within=(0.0, numpy.inf)."
        )
    search = LineSearch(measure, labels, qptr, query_weight=query_weight, doc_ids=doc_ids)
    return search.best(scores, direction, (low, high))
