"""Test collections with documents, and retrieval functions on several indexes of them as base functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrix.data.files import open_data, readable
from directrix.data.grouping import object_array
from directrix.data.trec.runs import Qrels, Run, read_trec_qrels
from directrix.reproductions.yue2007.runs import DEPTH, Runs, compared, digest_of
from directrix.text.documents import query_texts
from directrix.text.index import Index

FUNCTIONS = ("cosine", "tf-idf", "bm25", "lm-dirichlet", "lm-jelinek-mercer")
"""Those of Section 5.1."""

INDEXES = ("none", "porter", "porter+stop")
"""The three indexes of Section 5.1: plain, stemmed, and stemmed without stop words."""

COLLECTIONS = {"Cranfield": "cranfield", "CACM": "cacm", "NPL": "vaswani"}
"""Their folders in ``text/``."""

_FILES = {
    "Cranfield": ("cranfield/cran.all.1400", "cranfield/cran.qry", "cranfield/cranqrel"),
    "CACM": ("cacm/cacm.all", "cacm/query.text", "cacm/qrels.text"),
    "NPL": ("vaswani/doc-text.trec", "vaswani/query-text.trec", "vaswani/qrels"),
}


class Texts(NamedTuple):
    """A test collection."""

    documents: Path
    queries: dict[str, str]
    qrels: Qrels


def read_texts(folder: Path) -> dict[str, Texts]:
    """Return the collections whose files are in ``text/`` of a folder: Cranfield, CACM, NPL."""
    found = {}
    for name, files in _FILES.items():
        paths = [folder / "text" / file for file in files]
        if all(path.is_file() for path in paths):
            documents, queries, qrels = paths
            found[name] = _READERS[name](documents, query_texts(queries), qrels)
    return found


def _cranfield(documents: Path, queries: dict[str, str], qrels: Path) -> Texts:
    """Number the queries as the judgments do; code 1, a complete answer, becomes label 4, and so on.

    Each query also has one judgment -1, which no document explains; it is not relevant.
    """
    read = read_trec_qrels(qrels)
    is_known = (read.labels >= 1) & (read.labels <= 4)
    numbered = {str(number): text for number, text in enumerate(queries.values(), start=1)}
    return Texts(documents, numbered, replace(read, labels=np.where(is_known, 5.0 - read.labels, 0.0)))


def _cacm(documents: Path, queries: dict[str, str], qrels: Path) -> Texts:
    """Read lines ``query document 0 0``, which are pairs of a query and a relevant document."""
    pairs: dict[str, dict[str, int]] = {}
    with readable(qrels), open_data(qrels) as file:
        for line in file:
            query, doc = (str(int(word)) for word in line.split()[:2])
            pairs.setdefault(query, {})[doc] = 1
    return Texts(documents, queries, Qrels.from_frame(pairs))


def _npl(documents: Path, queries: dict[str, str], qrels: Path) -> Texts:
    return Texts(documents, queries, read_trec_qrels(qrels))


_READERS = {"Cranfield": _cranfield, "CACM": _cacm, "NPL": _npl}


def text_runs(folder: Path) -> dict[str, Runs]:
    """Return for every collection the runs of all functions on all indexes."""
    return {
        name: compared(
            {name: list(base_functions(texts))},
            texts.qrels,
            digest_of([folder / "text" / file for file in _FILES[name]]),
        )
        for name, texts in read_texts(folder).items()
    }


def base_functions(texts: Texts) -> Iterator[Run]:
    """Yield the run of each function on each index: documents that have a term of the query."""
    index = Index.build(texts.documents, analyzers=INDEXES)
    judged = {name: text for name, text in texts.queries.items() if name in texts.qrels.query_ids}
    qptr = np.arange(len(judged) + 1, dtype=np.int64) * index.n_docs
    every = Run("all", tuple(judged), qptr, np.tile(index.doc_ids, len(judged)), np.zeros(int(qptr[-1])))
    columns = [
        f"{what}.{index.whole}.{analyzer}" for analyzer in INDEXES for what in ("coverage", *FUNCTIONS)
    ]
    features = index.features(judged, every, names=columns).features
    for analyzer in INDEXES:
        is_found = features[:, columns.index(f"coverage.{index.whole}.{analyzer}")] > 0.0
        for function in FUNCTIONS:
            scores = features[:, columns.index(f"{function}.{index.whole}.{analyzer}")]
            yield _best(f"{function}.{analyzer}", every, scores, is_found)


def _best(tag: str, every: Run, scores: np.ndarray, is_found: np.ndarray) -> Run:
    """Return the best of the documents that were found, for each query."""
    rows = []
    for first, last in zip(every.qptr[:-1], every.qptr[1:], strict=True):
        found = first + np.flatnonzero(is_found[first:last])
        rows.append(found[np.argsort(-scores[found], kind="stable")[:DEPTH]])
    chosen = np.concatenate(rows)
    qptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    doc_ids = object_array(every.doc_ids[chosen])
    return Run(tag, every.query_ids, qptr, doc_ids, scores[chosen].astype(np.float64))
