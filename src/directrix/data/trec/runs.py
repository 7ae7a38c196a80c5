"""TREC runs and relevance judgments: reading, writing, and conversion from frames.

Files, frames or dicts go in. Runs and judgments come out, as flat arrays grouped by query:

>>> run = Run.from_frame({"401": {"D1": 7.25, "D2": 9.5}}, tag="bm25")
>>> run.query_ids, run.qptr.tolist(), run.scores.tolist()
(('401',), [0, 2], [7.25, 9.5])
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.checks import as_array, as_floats, check_qptr, check_ranking
from directrix.data.file import DataFile
from directrix.data.files import replacing, short_name
from directrix.data.grouping import check_identifiers, identifier_text, object_array
from directrix.data.queries import Queries, need_queries
from directrix.data.trec.documents import Documents, of_frame, read_document_table, read_lines
from directrix.errors import NO_ITEMS, Advice, InputError
from directrix.types import Array, Float64Array, Int64Array


def check_documents(ranking: Any, values: str) -> None:
    """Set the fields of a run or of qrels as checked arrays.

    Raises `InputError` unless they have one length and names can be compared.
    """
    where = type(ranking).__name__
    remedy = f"Type directrix.data.{where}.from_frame(frame)."
    docs = as_array(ranking.doc_ids, "doc_ids")
    # Records of NumPy are not keys of dicts, but tuples are.
    if docs.dtype.kind == "V":
        docs = object_array(docs.tolist())
    numbers = as_floats(getattr(ranking, values), values)
    if docs.ndim != 1 or numbers.shape != docs.shape:
        raise InputError(
            f"{where}: doc_ids have shape {docs.shape}, {values} {numbers.shape}; one of each per "
            f"document is needed. {remedy}"
        )
    qptr = check_qptr(ranking.qptr, len(docs), "doc_ids")
    try:
        queries = tuple(ranking.query_ids)
        # Names are keys of dicts, which sets tell as well.
        different, _ = {*queries}, {*docs.tolist()}
    except NO_ITEMS as error:
        raise InputError(f"{where}: query_ids and doc_ids are lists of names ({error}). {remedy}") from None
    # Each query is there once, so that its documents are together.
    if len(queries) != len(qptr) - 1 or len(different) < len(queries):
        raise InputError(
            f"{where}: {len(queries)} query_ids, {len(different)} of them different, for {len(qptr) - 1} "
            f"queries; each query needs its own. {remedy}"
        )
    check_identifiers([getattr(ranking, "tag", "-")], "run", lambda _: "tag")
    check_identifiers(queries, "query", lambda q: f"{where}, query {q}")
    check_identifiers(docs, "document", f"{where}, row {{}}".format)
    checked = {"query_ids": queries, "qptr": qptr, "doc_ids": docs, values: numbers}
    for name, value in checked.items():
        object.__setattr__(ranking, name, value)


def check_words(names: Iterable[object], what: str) -> None:
    """Raise `InputError` unless each name fits into a column of a run or of qrels."""
    for name in names:
        if str(name).split() != [str(name)]:
            raise InputError(
                f"the {what} {name!r} does not fit into a column of a run or of qrels; identifiers "
                "must not be empty or hold blanks.",
                Advice("rename"),
            )


@dataclass(frozen=True, eq=False)
class Run:
    """Documents that a system retrieved, with scores, in the order of the file.

    Parameters
    ----------
    tag : str
        Name of the system.
    query_ids : tuple of str
        In order of first appearance.
    qptr : int64 (n_queries + 1,)
        Query ``q`` has the documents ``qptr[q] <= i < qptr[q + 1]``.
    doc_ids : object array (n_docs,)
        Identifiers of the documents.
    scores : float64 (n_docs,)
        Higher is better; the ranks in the file do not count, as in trec_eval.

    Examples
    --------
    >>> from directrix import data
    >>> run = data.Run.from_frame(
    ...     {"qid": ["401", "401"], "docno": ["D2", "D1"], "score": [9.5, 7.25]}, tag="bm25"
    ... )
    >>> run.tag, list(run.doc_ids), run.scores
    ('bm25', ['D2', 'D1'], array([9.5 , 7.25]))
    """

    tag: str
    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    scores: Float64Array

    def __post_init__(self) -> None:
        check_documents(self, "scores")

    @classmethod
    def from_scores(cls, q: Queries, scores: Any, tag: str = "directrix") -> Run:
        """Build a run from scores of the documents of ``q``; without `doc_ids`, rows are numbered."""
        need_queries(q, "Run.from_scores")
        scores, _, qptr = check_ranking(scores, q.labels, q.qptr)
        doc_ids = object_array(map(identifier_text, q.rows if q.doc_ids is None else q.doc_ids))
        query_ids = tuple(map(identifier_text, q.query_ids))
        return cls(tag, query_ids, qptr, doc_ids, np.asarray(scores, dtype=np.float64))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        tag: str = "run",
        *,
        qid: Hashable | None = None,
        doc_id: Hashable | None = None,
        score: Hashable | None = None,
    ) -> Run:
        """Build a run from a frame with one row per retrieved document.

        Parameters
        ----------
        frame : frame, or dict
            pandas, polars (also lazy) or pyarrow, in any order of rows; or ``{query: {document: score}}``.
        tag : str
            Name of the system.
        qid, doc_id, score : str or int, optional
            Names of the columns. Default: the first that exists of qid, query_id, q_id, query-id, topic,
            query; of docno, doc_id, docid, corpus-id, document, doc; and of score, sim. So frames of
            PyTerrier, ir_datasets, ir_measures, ranx, BEIR and trec_eval need no names.

        Raises
        ------
        InputError
            If a column is missing, an identifier is missing, a score is not a finite number, or a query has a
            document twice.

        Examples
        --------
        >>> run = Run.from_frame({"qid": [7, 7], "docno": ["a", "b"], "score": [0.2, 0.9]})
        >>> run.query_ids, run.scores
        (('7',), array([0.2, 0.9]))
        """
        names = {"qid": qid, "doc_id": doc_id, "score": score}
        documents = of_frame(frame, "score", "run", names, "directrix.data.Run.from_frame(frame")
        return cls(tag, *documents[:4])


@dataclass(frozen=True, eq=False)
class Qrels:
    """Relevance judgments, in the order of the file.

    Parameters
    ----------
    query_ids, qptr, doc_ids
        As in `Run`.
    labels : float64 (n_docs,)
        Labels as in the file; negative values count as 0. With subtopics, the highest.
    subtopics : float64 (n_docs, n_subtopics), or None
        Judgments by subtopic, numbered in each query as they appear, NaN if absent. None: the file has no
        subtopics.

    Examples
    --------
    >>> from directrix import data
    >>> qrels = data.Qrels.from_frame({"qid": ["401", "401"], "docno": ["D1", "D2"], "label": [1, 0]})
    >>> qrels.of_query(0)
    {'D1': 1.0, 'D2': 0.0}
    """

    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    labels: Float64Array
    subtopics: Float64Array | None = None

    def __post_init__(self) -> None:
        check_documents(self, "labels")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        qid: Hashable | None = None,
        doc_id: Hashable | None = None,
        label: Hashable | None = None,
        subtopic: Hashable | None = None,
    ) -> Qrels:
        """Build judgments from a frame with one row per judged document.

        Parameters
        ----------
        frame : frame, or dict
            As for `Run.from_frame`.
        qid, doc_id, label, subtopic : str or int, optional
            Names of the columns. Defaults as there; for labels the first of label, relevance, rel, grade,
            score; for subtopics, if any, of subtopic, subtopic_id, iteration, iter.

        Raises
        ------
        InputError
            As `Run.from_frame`.

        Examples
        --------
        >>> Qrels.from_frame({"7": {"a": 1, "c": 2}}).of_query(0)
        {'a': 1.0, 'c': 2.0}
        """
        names = {"qid": qid, "doc_id": doc_id, "label": label, "subtopic": subtopic}
        return cls(*of_frame(frame, "label", "qrels", names, "directrix.data.Qrels.from_frame(frame"))

    def of_query(self, q: int) -> dict[str, float]:
        """Return the label of every judged document of query number ``q``."""
        return {name: self.labels[row].item() for name, row in self.rows_of(q).items()}

    def rows_of(self, q: int) -> dict[str, int]:
        """Return the row of every judged document of query number ``q``."""
        first, last = self.qptr[q], self.qptr[q + 1]
        return dict(zip(self.doc_ids[first:last], range(first, last), strict=True))


def read_trec_run(
    path: str | os.PathLike[str],
    *,
    qid: Hashable | None = None,
    doc_id: Hashable | None = None,
    score: Hashable | None = None,
) -> Run:
    r"""Read a run, plain or compressed; every line is ``query Q0 document rank score tag``.

    The lines of a query need not be together. The tag is that of the first line. The file may also be a table
    (CSV, TSV, JSON lines, Parquet, Arrow), whose columns are recognized or named as in `Run.from_frame`; the
    tag is then the name of the file.

    Raises
    ------
    InputError
        If the file cannot be read, or with all lines that have another number of columns, a
        score that is not a finite number, or a document that its query already has.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> _ = path.write_text("401 Q0 D2 1 9.5 bm25\n401 Q0 D1 2 7.25 bm25\n")
    >>> run = dx.read_trec_run(path)
    >>> run.tag, run.scores
    ('bm25', array([9.5 , 7.25]))
    """
    tag, documents = _read(path, "score", "directrix.read_trec_run", qid=qid, doc_id=doc_id, score=score)
    return Run(tag, *documents[:4])


def read_trec_qrels(
    path: str | os.PathLike[str],
    *,
    qid: Hashable | None = None,
    doc_id: Hashable | None = None,
    label: Hashable | None = None,
    subtopic: Hashable | None = None,
) -> Qrels:
    r"""Read judgments; every line is ``query iteration document label`` or ``query document label``.

    The first line determines the number of columns. If the second of four differs within a query, it names a
    subtopic, as in qrels of TREC's diversity tasks; a document may then have one line for each. The file may
    also be a table, as for `read_trec_run`, with columns as in `Qrels.from_frame`.

    Raises
    ------
    InputError
        As `read_trec_run`, for labels.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("401 0 D1 1\n401 0 D2 0\n")
    >>> qrels = dx.read_trec_qrels(path)
    >>> qrels.query_ids, qrels.labels
    (('401',), array([1., 0.]))
    """
    names = {"qid": qid, "doc_id": doc_id, "label": label, "subtopic": subtopic}
    return Qrels(*_read(path, "label", "directrix.read_trec_qrels", **names)[1])


def _read(
    source: str | os.PathLike[str] | DataFile, value: str, call: str, **names: Hashable | None
) -> tuple[str, Documents]:
    """Return the tag of a run, or the name of a table, and the documents of a file."""
    file = source if isinstance(source, DataFile) else DataFile(source)
    if file.is_table:
        return short_name(file.path), read_document_table(file, value, f"{call}(path", names)
    # A name would have no effect on text, and the user would not notice.
    if named := [f"{key}=" for key, name in names.items() if name is not None]:
        raise InputError(
            f"{file} is TREC text, whose columns have no names; leave out {', '.join(named)}, or give CSV, "
            "TSV, JSON lines or Parquet."
        )
    return read_lines(file.path, value)


def write_trec_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, each query by descending score; equal scores keep their order.

    The file appears only when all of it is written; ``.gz``, ``.bz2``, ``.xz`` are compressed.

    Raises
    ------
    InputError
        If an identifier is empty or holds a blank, or the file cannot be written.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.txt")
    >>> dx.data.write_trec_run(dx.data.Run.from_frame({"401": {"D2": 9.5, "D1": 7.25}}, tag="bm25"), path)
    >>> print(path.read_text())
    401 Q0 D2 1 9.5 bm25
    401 Q0 D1 2 7.25 bm25
    """
    with replacing(path) as file:
        file.write(run_text(run).encode())


def run_text(run: Run) -> str:
    """Return the lines of a run; see `write_trec_run`."""
    for what, names in [("tag", [run.tag]), ("query", run.query_ids), ("document", run.doc_ids)]:
        check_words(names, what)
    lines = []
    for q, query in enumerate(run.query_ids):
        first, last = run.qptr[q], run.qptr[q + 1]
        scores, names = run.scores[first:last].tolist(), run.doc_ids[first:last]
        for rank, i in enumerate(np.argsort(-run.scores[first:last], kind="stable"), start=1):
            # The text of `repr` reads back to the same bits.
            lines.append(f"{query} Q0 {names[i]} {rank} {scores[i]!r} {run.tag}\n")
    return "".join(lines)


def qrels_lines(q: Queries) -> Iterator[bytes]:
    """Yield four columns for every document: query, 0, document, label."""
    ids = list(map(identifier_text, q.query_ids))
    check_words(ids, "query")
    queries = itertools.chain.from_iterable(map(itertools.repeat, ids, np.diff(q.qptr).tolist()))
    for query, name, label in zip(queries, document_names(q), q.labels.tolist(), strict=True):
        # Whole labels are written as integers, as in qrels.
        yield f"{query} 0 {name} {repr(label).removesuffix('.0')}\n".encode()


def document_names(q: Queries) -> list[str]:
    """Return one word for every document, the same in runs and judgments.

    Blanks in an identifier become ``_``; a document without one is named by its row, from 0: ``7``, or
    ``row7`` if others have identifiers.
    """
    rows = q.rows.tolist()
    if q.doc_ids is None:
        return [str(row) for row in rows]
    names = zip(q.doc_ids, rows, strict=True)
    return [f"row{row}" if name is None else "_".join(identifier_text(name).split()) for name, row in names]
