"""Rankings under a tie rule, judgments, and measures prepared for labels, which share one sort.

In: measures, labels and the boundaries of queries. Out: a `Prepared`, which maps any number of scores to one
array per measure, with the value of every query:

>>> from directrix import AP, NDCG
>>> ready = Prepared([NDCG(k=1), AP()], [1.0, 0.0, 1.0], [0, 3])
>>> ready([0.3, 0.2, 0.1]), ready([0.1, 0.2, 0.3])
([array([1.]), array([0.83333333])], [array([1.]), array([0.83333333])])
"""

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
    judgments = np.ascontiguousarray(as_floats(unmasked(values), "labels"))
    if judgments.ndim not in (1, 2) or len(judgments) != qptr[-1]:
        raise InputError(
            f"labels have the shape {judgments.shape} for {qptr[-1]} documents; one number per document is "
            "needed, or one row, with a column for each subtopic."
        )
    if np.isinf(judgments).any():
        row = int(np.argmax(np.isinf(judgments).reshape(len(judgments), -1).any(axis=1)))
        raise InputError(
            f"labels: row {row} is infinite; a label is finite, or NaN for an unjudged document."
        )
    if subtopics_of and judgments.ndim == 1:
        raise InputError(
            f"{subtopics_of} needs judgments by subtopic, but these are one label per document. Give qrels "
            "whose lines read `topic subtopic document judgment`, or labels with one column per subtopic."
        )
    return judgments


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

    # NumPy stores a code point in four bytes, and code points sort as the bytes of UTF-8 do in ``strcmp``.
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


# Scores beyond the range of single precision are tied in trec_eval; see `Prepared`.
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
            judgments = check_judgments(labels, self._qptr, needs)
            self.labels = grades(judgments)
            self._seen = {"judgments": statuses(judgments), "subtopics": judgments}
        else:
            # Labels may be negative only if no measure reads them as grades.
            signed = all(m.adds_gains for m in self._measures)
            self.labels = check_labels(labels, qptr=self._qptr, signed=signed)
        # Each kind of measure finds its input under the name in its field ``sees``.
        self._seen["labels"] = self.labels
        highest = float(self.labels.max(initial=0.0))
        for m in self._measures:
            m.check_labels(highest)
        self._chunks = query_chunks(self._qptr, DOCS_PER_CHUNK)
        # Measures share a sort if they read the same input and their tie rules need no order of their own.
        # The key is the rule that needs one, or "", and the input. The value has the positions of the
        # measures, by tie rule.
        self._sorts: dict[tuple[str, Sees], dict[Ties, list[int]]] = {}
        for i, m in enumerate(self._measures):
            rule = m.tie_rule
            self._sorts.setdefault((rule if rule in ("trec", "ranx") else "", m.sees), {}).setdefault(
                rule, []
            ).append(i)
        # Rows by descending id within each query; None if no measure needs them, or there are no ids.
        self._rows: Int64Array | None = None
        if any(sort_rule == "trec" for sort_rule, _ in self._sorts) and doc_ids is not None:
            self._rows = trec_order(doc_ids, self._qptr)
        # Every chunk has a place for each measure, which one thread fills.
        nothing: list[Any] = [None] * len(self._measures)
        self._prepared = [nothing.copy() for _ in self._chunks[1:]]
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
            from_labels = self._prepared[chunk]
            for (sort_rule, sees), rules in self._sorts.items():
                by_id = sort_rule == "trec"
                chosen = np.ascontiguousarray(checked[lo:hi], dtype=np.float64)
                if by_id:
                    chosen = chosen if self._rows is None else chosen[self._rows[lo:hi] - lo]
                    # trec_eval reads scores in single precision: nearly equal scores are tied there, and so
                    # are all beyond its range. Only -inf itself means that a document was not retrieved.
                    single = np.clip(chosen, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32)
                    chosen = np.where(np.isneginf(chosen), -np.inf, single.astype(np.float64))
                labels = self._read(sees, lo, hi, by_id=by_id)
                if sees == "subtopics":
                    # Such a measure ranks numbers of rows, and looks them up in what its `from_labels`
                    # returned.
                    labels = np.arange(hi - lo, dtype=np.float64)
                if sort_rule == "ranx":
                    rows = ranx_order(chosen, local)
                    chosen, labels = chosen[rows], labels[rows]
                ranking = rank(chosen, labels, local)
                if by_id and self._rows is None:
                    self._check_no_ties(ranking, chosen, int(first))
                for rule, members in rules.items():
                    resolved = ranking.under(rule)
                    for i in members:
                        values[i][first:last] = self._measures[i].values_of(resolved, from_labels[i])

        run_chunks(work, len(self._chunks) - 1)
        return values

    def _read(self, sees: Sees, lo: int, hi: int, *, by_id: bool) -> Float64Array:
        """Return what measures read of a chunk's documents, in the order in which tied ones are ranked."""
        return self._seen[sees][self._rows[lo:hi] if by_id and self._rows is not None else slice(lo, hi)]

    def _check_no_ties(self, ranking: Ranking, scores: Float64Array, first: int) -> None:
        """Raise `IdsNeeded` at the first query of a chunk in which retrieved documents tie."""
        from directrix.measures._kernels.order import group_starts

        starts = np.zeros(len(scores), dtype=np.bool_)
        group_starts(ranking.ends, starts)
        sizes = np.diff(ranking.qptr)
        place = np.arange(len(scores)) - np.repeat(ranking.qptr[:-1], sizes)
        # Within a sorted query, a document is tied if it does not begin a group. Documents that were not
        # retrieved earn nothing in any order.
        tied = ~starts & (place < np.repeat(ranking.retrieved, sizes))
        if tied.any():
            q = int(np.searchsorted(ranking.qptr, np.argmax(tied), side="right")) - 1
            in_query = scores[ranking.qptr[q] : ranking.qptr[q + 1]]
            score, count = np.unique(in_query[in_query > -np.inf], return_counts=True)
            # The error shows the highest tied score, which a reader of the run meets first.
            rows = self._qptr[first + q] + np.flatnonzero(in_query == score[count > 1][-1])
            raise IdsNeeded.of_query(first + q, rows)

    def _prepare_chunk(self, chunk: int) -> None:
        first, last = self._chunks[chunk], self._chunks[chunk + 1]
        lo, hi = self._qptr[first], self._qptr[last]
        local = self._qptr[first : last + 1] - lo
        by_key: dict[Hashable, Any] = {}
        for i, m in enumerate(self._measures):
            key = m.sees, m.label_key
            if key not in by_key:
                by_id = m.sees == "subtopics" and m.tie_rule == "trec"
                by_key[key] = m.from_labels(self._read(m.sees, lo, hi, by_id=by_id), local)
            self._prepared[chunk][i] = by_key[key]


def _checked_scores(scores: Any, labels: Float64Array, qptr: Int64Array) -> FloatArray:
    array = as_array(scores, "scores")
    # NaN fails the comparison with infinity too, so usual scores need only one pass.
    if array.dtype.kind == "f" and array.shape == labels.shape and (not len(array) or array.max() < np.inf):
        return array
    # Anything unusual gets the full check, whose message names the row and the query.
    checked = check_ranking(scores, labels, qptr, allow_infinite=True, signed=True)[0].astype(np.float64)
    if (checked == np.inf).any():
        row = int(np.argmax(checked == np.inf))
        raise InputError(
            f"scores[{row}] is inf; finite scores are needed, or -inf for a document that was not retrieved. "
            f"Find such rows with numpy.flatnonzero(numpy.isposinf(scores))."
        )
    return checked
