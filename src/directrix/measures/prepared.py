"""Rankings under a tie rule, judgments, and measures prepared for labels, which share one sort."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.data.checks import as_array, as_floats, check_labels, check_qptr, check_ranking, unmasked
from directrix.errors import NO_ITEMS, Advice, InputError
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, FloatArray, Int64Array

Sees = Literal["labels", "judgments", "subtopics"]
"""Input of a measure for each document: its label; also whether it was judged; its label by subtopic."""

UNJUDGED, POOLED = -2.0, -1.0
"""In `statuses`: a document without a judgment, and one of the pool that is not in its judged sample."""


def check_judgments(values: Any, qptr: Any, subtopics_of: str) -> Float64Array:
    """Return judgments as float64 (n_docs,) or (n_docs, n_subtopics).

    NaN means not judged; below 0, in the pool but not judged. ``subtopics_of`` names a measure that needs the
    second shape, if any, else "".
    """
    judged = np.ascontiguousarray(as_floats(unmasked(values), "labels"))
    if judged.ndim not in (1, 2) or len(judged) != qptr[-1]:
        raise InputError(
            f"labels have the shape {judged.shape} for {qptr[-1]} documents; one number per document is "
            "needed, or one row, with a column for each subtopic."
        )
    if np.isinf(judged).any():
        row = int(np.argmax(np.isinf(judged).reshape(len(judged), -1).any(axis=1)))
        raise InputError(
            f"labels: row {row} is infinite; a label is finite, or NaN for an unjudged document."
        )
    if subtopics_of and judged.ndim == 1:
        raise InputError(
            f"{subtopics_of} needs judgments by subtopic, but these are one label per document. Give qrels "
            "whose lines read `topic subtopic document judgment`, or labels with one column per subtopic."
        )
    return judged


def grades(judged: Float64Array) -> Float64Array:
    """Return the label of each document: the highest over subtopics, 0 if it was not judged."""
    return np.fmax(statuses(judged), 0.0)


def statuses(judged: Float64Array) -> Float64Array:
    """Return the label of each judged document, and `POOLED` or `UNJUDGED` for others."""
    highest = judged if judged.ndim == 1 else np.fmax.reduce(judged, axis=1, initial=np.nan)
    return np.where(np.isnan(highest), UNJUDGED, np.where(highest < 0.0, POOLED, highest))


DOCS_PER_CHUNK = 1 << 15
"""A chunk's scores, labels and ranking fit into the private cache of a core."""

Ties = Literal["expected", "order", "trec", "ranx", "worst"]


class Ranking(NamedTuple):
    """Labels in the order of the ranking, with the groups of tied scores."""

    labels: Float64Array
    """Labels of every query by descending score (n_docs,)."""
    ends: Int64Array
    """At the first document of a tied group: where the group ends (n_docs,).

    Under every rule but ``"expected"`` each document is a group of its own.
    """
    retrieved: Int64Array
    """Documents with a score above -inf; only these can earn anything (n_queries,)."""
    qptr: Int64Array
    """Query boundaries, from 0 (n_queries + 1,)."""

    def under(self, ties: Ties) -> Ranking:
        """Return the ranking under a tie rule, without sorting by score again."""
        from directrix.measures._kernels.order import lowest_first

        if ties == "expected":
            return self
        labels = self.labels
        if ties == "worst":
            labels = np.empty(len(labels))
            lowest_first(self.labels, self.ends, labels)
        return self._replace(labels=labels, ends=np.arange(1, len(labels) + 1))


def rank(scores: Float64Array, labels: Float64Array, qptr: Int64Array, ties: Ties = "expected") -> Ranking:
    """Sort every query by descending score, which is finite, or -inf for a document that was not retrieved.

    Tied documents are one group under ``ties="expected"``, lowest label first under "worst", and otherwise in
    input order: for "trec" and "ranx" the caller must first sort them by `trec_order` or `ranx_order`.

    O(n log n) per query; the arrays are not checked, and ``qptr`` starts at 0.
    """
    from directrix.measures._kernels.order import rank_documents

    ranked = np.empty(len(labels))
    ends = np.empty(len(labels), dtype=np.int64)
    retrieved = np.empty(len(qptr) - 1, dtype=np.int64)
    rank_documents(scores, labels, qptr, ranked, ends, retrieved)
    return Ranking(ranked, ends, retrieved, qptr).under(ties)


def ranx_order(scores: Float64Array, qptr: Int64Array) -> Int64Array:
    """Return the rows of every query in ranx's order, which depends on all its scores; `qptr` from 0."""
    from directrix.measures._kernels.order import rows_of_ranx

    rows = np.empty(len(scores), dtype=np.int64)
    rows_of_ranx(scores, qptr, rows)
    return rows


def trec_order(doc_ids: Any, qptr: Int64Array) -> Int64Array:
    """Return rows that sort the document ids of every query in descending order.

    A stable sort by score afterwards breaks ties as trec_eval does (``strcmp``, descending). Identifiers that
    are not strings are compared as text. Raises `InputError` unless there is one for each document.
    """
    if doc_ids is None:
        raise InputError(
            'ties="trec" breaks ties by document id, but no ids were given; pass doc_ids=, '
            'or use another rule, e.g. ties="expected".'
        )
    ids = _texts(doc_ids)
    if len(ids) != qptr[-1]:
        raise InputError(
            f"doc_ids has {len(ids)} entries but there are {qptr[-1]} documents; "
            "pass one id for each score, in the same order."
        )
    from directrix.measures._kernels.order import ids_descending

    letters = ids.view(np.uint32).reshape(len(ids), ids.dtype.itemsize // 4)
    rows = np.empty(len(ids), dtype=np.int64)
    chunks = query_chunks(qptr, DOCS_PER_CHUNK)

    def work(chunk: int) -> None:
        ids_descending(letters, qptr, chunks[chunk], chunks[chunk + 1], rows)

    run_chunks(work, len(chunks) - 1)
    return rows


def _texts(doc_ids: Any) -> Array:
    """Identifiers as an array of text in the machine's byte order: one code point in each four bytes."""
    if not isinstance(doc_ids, np.ndarray) or doc_ids.dtype.kind != "U" or doc_ids.ndim != 1:
        try:
            doc_ids = np.array([str(i) for i in doc_ids], dtype=np.str_)
        except NO_ITEMS as error:
            raise InputError(f"doc_ids: {error}; one identifier for each document is needed.") from None
    return np.ascontiguousarray(doc_ids, dtype=doc_ids.dtype.newbyteorder("="))


_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class IdsNeeded(InputError):
    """Documents of a query tie, and the identifiers that would order them were not given."""

    query: int
    """Number of the query."""
    rows: Int64Array
    """Its first group of tied documents (n_tied,)."""

    @classmethod
    def of_query(cls, query: int, rows: Int64Array, name: Hashable = None) -> IdsNeeded:
        """Return the error; its message calls the query ``name``."""
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        error = cls(
            f"query {query if name is None else name}: the documents in rows {shown} have the same score in "
            'single precision; ties="trec" orders them by their ids, but no ids were given.',
            Advice("doc-ids"),
        )
        error.query, error.rows = query, rows
        return error


class Prepared:
    """Measures with everything that depends on the labels alone precomputed.

    Labels are numbers >= 0, or of any sign for measures with `adds_gains`. If one of the measures reads
    judgments, a label is NaN if the document was not judged, and below 0 if it was only in the pool; there
    may be one column per subtopic.

    The measures (`directrix.measures.RankingMeasure`) share one sort, except those that break ties by
    document id or as ranx does. Only ``ties="trec"`` uses ``doc_ids``, and only if documents of a query tie.
    """

    def __init__(self, measures: Sequence[Any], labels: Any, qptr: Any, doc_ids: Any = None) -> None:
        self._measures = tuple(measures)
        labels = labels if np.ma.isMaskedArray(labels) else as_array(labels, "labels")
        by_subtopic = labels.ndim == 2
        self._qptr = check_qptr(qptr, len(labels) if by_subtopic else labels.size, "labels")
        self._seen: dict[Sees, Float64Array] = {}
        """Input of the measures of each kind, by document."""
        if by_subtopic or any(m.sees != "labels" for m in self._measures):
            needs = next((m.name for m in self._measures if m.sees == "subtopics"), "")
            judged = check_judgments(labels, self._qptr, needs)
            self.labels = grades(judged)
            self._seen = {"judgments": statuses(judged), "subtopics": judged}
        else:
            signed = all(m.adds_gains for m in self._measures)
            self.labels = check_labels(labels, qptr=self._qptr, signed=signed)
        self._seen["labels"] = self.labels
        highest = float(self.labels.max(initial=0.0))
        for m in self._measures:
            m.check_labels(highest)
        self._chunks = query_chunks(self._qptr, DOCS_PER_CHUNK)
        # the rule if it has a sort of its own, and what is read; rule; measures
        self._sorts: dict[tuple[str, Sees], dict[Ties, list[int]]] = {}
        for i, m in enumerate(self._measures):
            rule = m.tie_rule
            self._sorts.setdefault((rule if rule in ("trec", "ranx") else "", m.sees), {}).setdefault(
                rule, []
            ).append(i)
        self._rows: Int64Array | None = None  # in the order of the ids
        if any(own == "trec" for own, _ in self._sorts) and doc_ids is not None:
            self._rows = trec_order(doc_ids, self._qptr)
        nothing: list[Any] = [None] * len(self._measures)
        self._parts = [nothing.copy() for _ in self._chunks[1:]]
        run_chunks(self._prepare_chunk, len(self._chunks) - 1)

    def __call__(self, scores: Any) -> list[Float64Array]:
        """Return the value of every query under every measure.

        Parameters
        ----------
        scores : float (n_docs,)
            Higher is better; -inf = not retrieved.

        Returns
        -------
        list of float64 (n_queries,)
            One array per measure, NaN where it skips the query.

        Raises
        ------
        InputError
            If there is not one score for each label, a score is NaN or +inf, or tied documents need ids that
            were not given.
        """
        checked = _checked_scores(scores, self.labels, self._qptr)
        values = [np.empty(len(self._qptr) - 1) for _ in self._measures]

        def work(chunk: int) -> None:
            first, last = self._chunks[chunk], self._chunks[chunk + 1]
            lo, hi = self._qptr[first], self._qptr[last]
            local = self._qptr[first : last + 1] - lo
            parts = self._parts[chunk]
            for (own, sees), rules in self._sorts.items():
                by_id = own == "trec"
                if by_id:
                    chosen = self._in_single(checked, lo, hi)
                else:
                    chosen = np.ascontiguousarray(checked[lo:hi], dtype=np.float64)
                labels = self._read(sees, lo, hi, by_id=by_id)
                if sees == "subtopics":
                    labels = np.arange(hi - lo, dtype=np.float64)  # the rows of what `from_labels` got
                if own == "ranx":
                    rows = ranx_order(chosen, local)
                    chosen, labels = chosen[rows], labels[rows]
                ranking = rank(chosen, labels, local)
                if by_id and self._rows is None:
                    self._check_no_ties(ranking, chosen, int(first))
                for rule, members in rules.items():
                    resolved = ranking.under(rule)
                    for i in members:
                        values[i][first:last] = self._measures[i].values_of(resolved, parts[i])

        run_chunks(work, len(self._chunks) - 1)
        return values

    def _read(self, sees: Sees, lo: int, hi: int, *, by_id: bool) -> Float64Array:
        """Return what measures read of a chunk's documents, in the order in which tied ones are ranked."""
        return self._seen[sees][self._rows[lo:hi] if by_id and self._rows is not None else slice(lo, hi)]

    def _in_single(self, scores: FloatArray, lo: int, hi: int) -> Float64Array:
        rows = np.arange(lo, hi) if self._rows is None else self._rows[lo:hi]
        chosen = scores[rows].astype(np.float64, copy=False)  # float16 does not reach those bounds
        # trec_eval reads scores as single precision: nearly equal ones are tied there, and those beyond
        # its range are; only -inf itself means that a document was not retrieved
        single = np.clip(chosen, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32).astype(np.float64)
        single[np.isneginf(chosen)] = -np.inf
        return single

    def _check_no_ties(self, ranking: Ranking, scores: Float64Array, first: int) -> None:
        """Raise `IdsNeeded` at the first query of a chunk in which retrieved documents tie."""
        from directrix.measures._kernels.order import group_starts

        starts = np.zeros(len(scores), dtype=np.bool_)
        group_starts(ranking.ends, starts)
        sizes = np.diff(ranking.qptr)
        place = np.arange(len(scores)) - np.repeat(ranking.qptr[:-1], sizes)
        tied = ~starts & (place < np.repeat(ranking.retrieved, sizes))
        if tied.any():
            q = int(np.searchsorted(ranking.qptr, np.argmax(tied), side="right")) - 1
            in_query = scores[ranking.qptr[q] : ranking.qptr[q + 1]]
            score, count = np.unique(in_query[in_query > -np.inf], return_counts=True)
            rows = self._qptr[first + q] + np.flatnonzero(in_query == score[count > 1][-1])
            raise IdsNeeded.of_query(first + q, rows)

    def _prepare_chunk(self, chunk: int) -> None:
        first, last = self._chunks[chunk], self._chunks[chunk + 1]
        lo, hi = self._qptr[first], self._qptr[last]
        local = self._qptr[first : last + 1] - lo
        known: dict[Hashable, Any] = {}
        for i, m in enumerate(self._measures):
            key = m.sees, m.label_key
            if key not in known:
                by_id = m.sees == "subtopics" and m.tie_rule == "trec"
                known[key] = m.from_labels(self._read(m.sees, lo, hi, by_id=by_id), local)
            self._parts[chunk][i] = known[key]


def _checked_scores(scores: Any, labels: Float64Array, qptr: Int64Array) -> FloatArray:
    given = as_array(scores, "scores")
    if given.dtype.kind == "f" and given.shape == labels.shape and (not len(given) or given.max() < np.inf):
        return given
    # anything unusual gets the full check, whose message names the row and the query
    checked = check_ranking(scores, labels, qptr, allow_infinite=True, signed=True)[0].astype(np.float64)
    if (checked == np.inf).any():
        row = int(np.argmax(checked == np.inf))
        raise InputError(
            f"scores[{row}] is inf; finite scores are needed, or -inf for a document that was not retrieved. "
            f"Find such rows with numpy.flatnonzero(numpy.isposinf(scores))."
        )
    return checked
