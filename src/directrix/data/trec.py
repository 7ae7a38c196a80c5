"""TREC runs and relevance judgements, and the two joined for measuring."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.letor_write import replacing
from directrix.data.queries import Queries
from directrix.data.trec_rows import column, grouped, read_rows
from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

__all__ = [
    "Judged",
    "Qrels",
    "Run",
    "join_trec",
    "read_trec_qrels",
    "read_trec_run",
    "some_of",
    "write_trec_run",
]


@dataclass(frozen=True, eq=False)
class Run:
    """What a system retrieved: documents with scores, in the order of the file.

    Parameters
    ----------
    tag : str
        Name of the system.
    query_ids : tuple of str
        In order of first appearance.
    qptr : int64 (n_queries + 1,)
        Query ``q`` owns ``qptr[q] <= i < qptr[q + 1]``.
    doc_ids : object array (n_docs,)
        Identifiers of the documents.
    scores : float64 (n_docs,)
        Higher is better; the ranks of the file do not count, as in trec_eval.
    """

    tag: str
    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    scores: Float64Array

    @classmethod
    def from_scores(cls, q: Queries, scores: Any, tag: str = "directrix") -> Run:
        """Build a run from scores of the documents of ``q``; without `doc_ids` rows are numbered."""
        scores, _, qptr = check_ranking(scores, q.labels, q.qptr)
        names = [str(row) for row in q.rows] if q.doc_ids is None else [str(name) for name in q.doc_ids]
        doc_ids = np.array(names, dtype=object)
        return cls(tag, tuple(map(str, q.query_ids)), qptr, doc_ids, np.asarray(scores, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Qrels:
    """Relevance judgements, in the order of the file.

    Parameters
    ----------
    query_ids, qptr, doc_ids
        As in `Run`.
    labels : float64 (n_docs,)
        As in the file, where negative values occur; they count as 0.
    """

    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    labels: Float64Array


@dataclass(frozen=True, eq=False)
class Judged:
    """A run with its judgements, as measures take it.

    Parameters
    ----------
    scores : float64 (n_docs,)
        Of the run; -inf for a judged document that the run did not retrieve. It counts among
        the relevant documents and in the ideal ranking, and earns nothing.
    labels : float64 (n_docs,)
        Judgement, 0 for unjudged documents and for negative judgements.
    qptr, query_ids, doc_ids
        As in `Run`; retrieved documents come first, in the order of the run.
    """

    scores: Float64Array
    labels: Float64Array
    qptr: Int64Array
    query_ids: tuple[str, ...]
    doc_ids: Array


def read_trec_run(path: str | os.PathLike[str]) -> Run:
    """Read a run: ``query Q0 document rank score tag`` a line; gzip, bzip2, xz too.

    Lines of a query may stand anywhere. The tag is that of the first line.

    Raises
    ------
    InputError
        If the file cannot be read, or with all lines that have another number of columns, a
        score that is no finite number, or a document that its query already has.
    """
    path = Path(path)
    shape = "Each line reads `query Q0 document rank score tag`."
    rows = read_rows(path, lambda words: 6, (2, 4), shape)
    values = column(path, rows, "score", shape)
    query_ids, qptr, doc_ids, order = grouped(path, rows)
    return Run(rows.first[5], query_ids, qptr, doc_ids, values[order])


def read_trec_qrels(path: str | os.PathLike[str]) -> Qrels:
    """Read judgements: ``query iteration document label`` or ``query document label`` a line.

    The first line tells how many columns there are.

    Raises
    ------
    InputError
        As `read_trec_run`, for labels.
    """
    path = Path(path)
    shape = "Each line reads `query iteration document label`, or `query document label`."
    rows = read_rows(path, lambda words: 3 if len(words) == 3 else 4, (-2, -1), shape)
    values = column(path, rows, "label", shape)
    query_ids, qptr, doc_ids, order = grouped(path, rows)
    return Qrels(query_ids, qptr, doc_ids, values[order])


def write_trec_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, each query by falling score; equal scores keep their order.

    The file appears only when all of it is written; ``.gz``, ``.bz2``, ``.xz`` are compressed.

    Raises
    ------
    InputError
        If an identifier is empty or holds a blank, or the file cannot be written.
    """
    for what, names in [("tag", [run.tag]), ("query", run.query_ids), ("document", run.doc_ids)]:
        for name in names:
            if len(str(name).split()) != 1 or str(name) != str(name).strip():
                raise InputError(
                    f"the {what} {name!r} does not fit into a column of {path}; identifiers must not be "
                    "empty nor hold blanks. Rename it, e.g. name.replace(' ', '_')."
                )
    with replacing(path) as file:
        for q, query in enumerate(run.query_ids):
            first, last = run.qptr[q], run.qptr[q + 1]
            scores, names = run.scores[first:last].tolist(), run.doc_ids[first:last]
            for rank, i in enumerate(np.argsort(-run.scores[first:last], kind="stable"), start=1):
                file.write(f"{query} Q0 {names[i]} {rank} {scores[i]!r} {run.tag}\n".encode())


def join_trec(run: Run, qrels: Qrels, *, queries: Literal["both", "judged"] = "both") -> Judged:
    """Bring a run and judgements together.

    Parameters
    ----------
    run, qrels
        What was retrieved, and what is relevant.
    queries : {"both", "judged"}
        "both": queries of the run that have judgements, in the order of the run, as trec_eval
        does; "judged": all queries with judgements, in the order of the judgements, as its
        option ``-c`` does (a query that the run lacks has no retrieved documents).

    Returns
    -------
    Judged
        Retrieved documents, then judged ones that were not retrieved, for every query.

    Raises
    ------
    InputError
        If no query is in both.
    """
    in_run = {query: q for q, query in enumerate(run.query_ids)}
    in_qrels = {query: q for q, query in enumerate(qrels.query_ids)}
    if not in_run.keys() & in_qrels.keys():
        raise InputError(
            f"no query is in both the run (queries {some_of(run.query_ids)}) and the judgements "
            f"({some_of(qrels.query_ids)}); at least one is needed. Check that they belong to one collection."
        )
    chosen = [query for query in run.query_ids if query in in_qrels] if queries == "both" else qrels.query_ids
    scores, labels, docs, sizes = [], [], [], []
    for query in chosen:
        q = in_qrels[query]
        first, last = qrels.qptr[q], qrels.qptr[q + 1]
        known = dict(zip(qrels.doc_ids[first:last], qrels.labels[first:last].tolist(), strict=True))
        first, last = (run.qptr[in_run[query]], run.qptr[in_run[query] + 1]) if query in in_run else (0, 0)
        names = list(run.doc_ids[first:last])
        labels += [known.pop(name, 0.0) for name in names]
        labels += known.values()
        docs += [*names, *known]
        scores += [run.scores[first:last], np.full(len(known), -np.inf)]
        sizes.append(len(names) + len(known))
    doc_ids = np.empty(len(docs), dtype=object)
    doc_ids[:] = docs
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Judged(np.concatenate(scores), np.maximum(labels, 0.0), qptr, tuple(chosen), doc_ids)


def some_of(names: tuple[str, ...]) -> str:
    """The first identifiers, for messages."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
