"""A run and relevance judgments, joined for measures.

A run and judgments go in. Out come scores, labels and query boundaries, which every measure takes::

    judged = join_trec("run.txt", "qrels.txt")
    measure(judged.scores, judged.labels, judged.qptr)

Files that do not belong together are noticed here: by queries, by documents, and by how names are spelled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from directrix.data.columns import column_list
from directrix.data.grouping import identifier_text
from directrix.data.queries import Queries
from directrix.data.trec.pool import join_runs
from directrix.data.trec.runs import Qrels, Run, document_names, read_trec_qrels, read_trec_run
from directrix.errors import InputError, amount, warn
from directrix.types import Array, Float64Array, Int64Array

# Scores beyond this are near the largest float32, 3.4e38, below which "not retrieved" needs a value.
_LARGEST = 1e37
# A smaller share of judged topics is suspicious; some are not judged, as in cross-validation.
_FEW_QUERIES = 0.25
# The same for the documents of the shorter lists: runs of 1,000 documents hold few judged ones.
_FEW_DOCUMENTS = 0.05


def check_overlap(run: Run, other: Qrels | Run) -> None:
    """Compare the identifiers of a run with those of qrels or of another run.

    Raises `InputError` if no query is in both, or if no document is and some differ only in spelling: a
    system may have found nothing that is judged. Warns with counts if few match. O(n_docs).
    """
    # A system may have found nothing at all.
    if isinstance(other, Run) and not other.query_ids:
        return
    name = f"the run {other.tag!r}" if isinstance(other, Run) else "the qrels"
    if not (run.query_ids and other.query_ids):
        empty = name if run.query_ids else f"the run {run.tag!r}"
        raise InputError(f"{empty} must have a query with a document, got none. Check how it was written.")
    in_run, in_other = ({query: q for q, query in enumerate(side.query_ids)} for side in (run, other))
    shared = [query for query in in_run if query in in_other]
    alike = _alike(in_run.keys() - in_other.keys(), in_other.keys() - in_run.keys())
    what = f"{len(shared)} of {len(in_run)} queries of the run {run.tag!r} are in {name}"
    if not shared:
        raise InputError(
            f"{what} ({column_list(run.query_ids, 3)} against {column_list(other.query_ids, 3)}); at least "
            f"one is needed.{alike} Give files of one collection, with the same identifiers."
        )
    if alike or len(shared) < _FEW_QUERIES * len(in_run):
        warn(f"{what}; the others do not count.{alike}", stacklevel=3)
    n_run = n_other = n_both = 0
    for query in shared:
        mine, theirs = _documents(run, in_run[query]), set(_documents(other, in_other[query]))
        n_run, n_other = n_run + len(mine), n_other + len(theirs)
        n_both += len(theirs.intersection(mine))
    if n_both < _FEW_DOCUMENTS * min(n_run, n_other):
        retrieved, others = set(run.doc_ids), set(other.doc_ids)
        alike = _alike(retrieved - others, others - retrieved)
        what = (
            f"{n_both} of {n_run} documents of the run {run.tag!r} are among the {n_other} of {name} for the "
            f"same queries.{alike}"
        )
        if alike and not n_both and not isinstance(other, Run):
            raise InputError(
                f"{what} None would count as relevant; both must write identifiers alike. Give files of one "
                "collection; tables read 007 as the number 7 unless the column is text."
            )
        shown = " against ".join(column_list(dict.fromkeys(side.doc_ids), 3) for side in (run, other))
        warn(f"{what} Check that both are of one collection ({shown}).", stacklevel=3)


def unmatched(name: str, ranked: Iterable[str], judged: Iterable[str]) -> str:
    """Return a note with the numbers of queries of a run and judged queries that do not match, or ""."""
    ranked, judged = set(ranked), set(judged)
    if ranked == judged:
        return ""
    both = len(ranked & judged)
    missing = len(judged) - both
    return (
        f"{both} of {amount(len(ranked), 'queries')} of {name} {'is' if both == 1 else 'are'} judged, and "
        f"{amount(missing, 'judged queries')} {'is' if missing == 1 else 'are'} not in {name}; only those in "
        "both count"
    )


def check_magnitude(run: Run) -> None:
    """Raise `InputError` unless float32 holds all scores, with a value below them for "not retrieved"."""
    fits = np.abs(run.scores) <= _LARGEST
    if not fits.all():
        worst = int(np.argmin(fits))
        raise InputError(
            f"run {run.tag!r}: the score of document {run.doc_ids[worst]!r} is {run.scores[worst]:g}; finite "
            f"scores of at most {_LARGEST:g} are needed, since float32 holds them. Divide the run's scores."
        )


def _documents(side: Qrels | Run, q: int) -> Array:
    documents: Array = side.doc_ids[side.qptr[q] : side.qptr[q + 1]]
    return documents


def _alike(first: Iterable[object], second: Iterable[object]) -> str:
    """Return the number of identifiers without a match that differ only in spelling, in words."""
    by_key = {_key(name): name for name in second}
    pairs = sorted((str(name), str(by_key[_key(name)])) for name in first if _key(name) in by_key)
    if not pairs:
        return ""
    some = " and ".join(pairs[0])
    return f" Identifiers that differ only in leading zeros, capitals or .0: {len(pairs)}, such as {some}."


def _key(name: object) -> str:
    return str(name).strip().casefold().removesuffix(".0").lstrip("0")


@dataclass(frozen=True, eq=False)
class Judged:
    """A run with its judgments, for measures.

    The other fields are as in `Run`; retrieved documents come first, in the order of the run.
    """

    scores: Float64Array
    """Scores of the run; -inf for a judged document that the run did not retrieve. It counts among the
    relevant documents and in the ideal ranking, but gains nothing."""
    labels: Float64Array
    """Judgment, 0 for unjudged documents and negative judgments; with subtopics, the highest."""
    qptr: Int64Array
    query_ids: tuple[str, ...]
    doc_ids: Array
    judgments: Float64Array
    """Judgments as in the qrels, NaN for documents without one: (n_docs,), or (n_docs, n_subtopics) with
    subtopics. They are for measures that need more than labels, such as `Bpref`."""


def join_trec(run: Any, qrels: Any, *, queries: Literal["both", "judged"] | Sequence[str] = "both") -> Judged:
    """Join a run and judgments.

    Parameters
    ----------
    run : Run, path, or frame
        Retrieved documents; a frame as for `Run.from_frame`.
    qrels : Qrels, path, or frame
        Relevance judgments.
    queries : {"both", "judged"} or sequence of str
        "both": queries of the run that have judgments, in the order of the run, as trec_eval
        does; "judged": all queries with judgments, in the order of the judgments, as its
        option ``-c`` does (a query that the run lacks has no retrieved documents). A sequence selects these
        queries, which all need judgments, in this order.

    Returns
    -------
    Judged
        Retrieved documents, then judged ones that were not retrieved, for every query.

    Raises
    ------
    InputError
        If no query is in both, no document of the run is in the judgments and some differ only in spelling,
        or a file or frame cannot be read.

    Warns
    -----
    UserWarning
        If few queries or documents are in both, or some identifiers differ only in leading zeros, capitals
        or a final .0; with the counts.

    Examples
    --------
    >>> from directrix import data
    >>> run, qrels = {"401": {"D1": 0.5, "D2": 0.9}}, {"401": {"D1": 1, "D3": 2}}
    >>> judged = data.join_trec(run, qrels)
    >>> judged.doc_ids, judged.labels, judged.scores  # D3 is relevant, and was not retrieved
    (array(['D1', 'D2', 'D3'], dtype=object), array([1., 0., 2.]), array([ 0.5,  0.9, -inf]))
    """
    run, qrels = run_of(run), qrels_of(qrels)
    # A sequence was chosen from runs and judgments that have been checked.
    if isinstance(queries, str):
        check_overlap(run, qrels)
        in_qrels = set(qrels.query_ids)
        in_both = tuple(query for query in run.query_ids if query in in_qrels)
        queries = in_both if queries == "both" else qrels.query_ids
    pool = join_runs([run], qrels, queries, "run")
    scores = np.where(pool.is_retrieved, pool.scores[:, 0], -np.inf)
    return Judged(scores, pool.labels, pool.qptr, pool.query_ids, pool.doc_ids, pool.judgments)


def labeled(q: Queries, qrels: Any) -> Queries:
    """Return the queries that have judgments, with judgments as labels, 0 for unjudged documents.

    Raises `InputError` if documents have no identifiers, no query is in both, or no document has a judgment.
    """
    judged = qrels_of(qrels)
    if q.doc_ids is None:
        raise InputError(
            "the data have no identifiers of documents, by which judgments are found; give a table with a "
            "column docno, or LETOR text with `#docid = NAME`."
        )
    run = Run.from_scores(q, np.zeros(q.n_docs), "features")
    check_overlap(run, judged)
    number = {query: place for place, query in enumerate(judged.query_ids)}
    kept = q.take([place for place, query in enumerate(run.query_ids) if query in number])
    names, labels = document_names(kept), np.zeros(kept.n_docs)
    ids = map(identifier_text, kept.query_ids)
    for query, (first, last) in zip(ids, pairwise(kept.qptr.tolist()), strict=True):
        judgments = judged.of_query(number[query])
        labels[first:last] = [max(judgments.get(name, 0.0), 0.0) for name in names[first:last]]
    return replace(kept, labels=labels)


def run_of(source: Any) -> Run:
    """Return a run from a `Run`, the path of a file, or a frame as for `Run.from_frame`."""
    if isinstance(source, str | os.PathLike):
        return read_trec_run(source)
    return source if isinstance(source, Run) else Run.from_frame(source)


def qrels_of(source: Any) -> Qrels:
    """Return judgments from `Qrels`, a path, a frame, or a data set of ir_datasets."""
    if hasattr(source, "qrels_iter"):
        rows = [(entry.query_id, entry.doc_id, entry.relevance) for entry in source.qrels_iter()]
        return Qrels.from_frame(dict(zip(("qid", "docno", "label"), zip(*rows, strict=True), strict=False)))
    if isinstance(source, str | os.PathLike):
        return read_trec_qrels(source)
    return source if isinstance(source, Qrels) else Qrels.from_frame(source)
