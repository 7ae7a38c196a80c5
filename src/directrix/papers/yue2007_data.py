"""The data of Yue et al. (2007): runs of TREC-7, and runs that are made from collections with documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.data.files import open_data, readable
from directrix.data.grouping import object_array
from directrix.data.trec.features import RunScores, runs_as_features
from directrix.data.trec.join import join_trec
from directrix.data.trec.runs import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.errors import InputError
from directrix.measures.precision import AP
from directrix.text.documents import query_texts
from directrix.text.index import Index
from directrix.types import Float64Array

_ALL, _WITHOUT_BEST = "all", "all without the best"
# The prefixes of the names of runs. "basic" and "plain + basic" are in place of functions of the authors'
# own.
_PREFIXES = {"basic": ("basic-",), "plain + basic": ("basic-", "plain-"), _ALL: ("",)}
_QRELS, _RUNS = "trec7/qrels.trec7.txt", "trec7/runs"
# The number of documents of a run that count, as in the paper.
_DEPTH = 1000

FUNCTIONS = ("cosine", "tf-idf", "bm25", "lm-dirichlet", "lm-jelinek-mercer")
"""The retrieval functions of Section 5.1."""
INDEXES = ("none", "porter", "porter+stop")
"""The three indexes of Section 5.1: plain, stemmed, and stemmed without stop words."""
TEXTS = {
    "Cranfield": ("cranfield/cran.all.1400", "cranfield/cran.qry", "cranfield/cranqrel"),
    "CACM": ("cacm/cacm.all", "cacm/query.text", "cacm/qrels.text"),
    "NPL": ("vaswani/doc-text.trec", "vaswani/query-text.trec", "vaswani/qrels"),
}
"""Test collections with documents, and their files in ``text/``."""


@dataclass(frozen=True, eq=False)
class RunsOfTopics:
    """Data sets on the same topics."""

    # Topics are in the order of all data sets.
    topics: tuple[str, ...]
    # Documents are the union of those that the runs retrieved, each with the score of every run.
    data_sets: dict[str, RunScores]
    # By data set: the runs that it is compared with, by falling MAP. Each has the name of its file, and the
    # average precision of every topic, float64 (n_topics,). "all without the best" is compared with all
    # runs, as in the paper.
    single: dict[str, dict[str, Float64Array]]
    # The SHA-256 of the names and bytes of all files.
    digest: str


def read_runs(folder: Path) -> RunsOfTopics:
    """Read ``trec7/qrels.trec7.txt`` and ``trec7/runs``, whose names begin with "basic-" or another prefix.

    Raises `InputError` if files are missing, or cannot be read.
    """
    paths = sorted((folder / _RUNS).glob("*.res*"))
    missing = [
        str(folder / _RUNS / f"{prefix}*.res.gz")
        for prefix in _PREFIXES["plain + basic"]
        if not any(path.name.startswith(prefix) for path in paths)
    ]
    missing += [] if (folder / _QRELS).is_file() else [str(folder / _QRELS)]
    if missing:
        raise InputError(
            f"{folder}: has no {', no '.join(missing)}; the judgments and runs of TREC-7 are needed. Give "
            "the folder that holds trec7/."
        )
    qrels = read_trec_qrels(folder / _QRELS)
    runs = [replace(read_trec_run(path), tag=path.name.split(".res")[0]) for path in paths]
    members = {
        name: [run for run in runs if run.tag.startswith(prefixes)] for name, prefixes in _PREFIXES.items()
    }
    joined = _joined(members, qrels, [folder / _QRELS, *paths])
    best, *_ = joined.single[_ALL]
    others = runs_as_features([run for run in runs if run.tag != best], qrels, depth=_DEPTH)
    data_sets = {**joined.data_sets, _WITHOUT_BEST: others}
    for name, scores in data_sets.items():
        if scores.query_ids != joined.topics:
            raise InputError(
                f"the runs of the data set {name!r} have {scores.n_queries} topics, all runs together "
                f"{len(joined.topics)}; the same topics are needed. Check {folder / _RUNS}."
            )
    return replace(joined, data_sets=data_sets, single={**joined.single, _WITHOUT_BEST: joined.single[_ALL]})


def _joined(members: Mapping[str, Sequence[Run]], qrels: Qrels, files: Sequence[Path]) -> RunsOfTopics:
    """Join the runs of every data set, of which the last has all, and order them by MAP."""
    data_sets = {name: runs_as_features(chosen, qrels, depth=_DEPTH) for name, chosen in members.items()}
    *_, every = members
    topics = data_sets[every].query_ids
    values = {}
    for run in members[every]:
        # A topic that the run lacks counts 0, because the join has all judged topics.
        pool = join_trec(run, qrels, queries="judged")
        ap = dict(zip(pool.query_ids, AP(rel=1)(pool.scores, pool.labels, pool.qptr), strict=True))
        values[run.tag] = np.array([ap[topic] for topic in topics])
    ordered = sorted(values, key=lambda tag: -values[tag].mean())
    single = {
        name: {tag: values[tag] for tag in ordered if tag in {run.tag for run in chosen}}
        for name, chosen in members.items()
    }
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return RunsOfTopics(topics, data_sets, single, f"sha256:{digest.hexdigest()}")


def ap_of_topics(runs: RunScores, scores: Any) -> Float64Array:
    """Return the average precision of every topic, over all relevant documents of the judgments.

    Relevant documents that no run retrieved count too. A document with a score of -inf was not retrieved, and
    ties count by expectation.
    """
    measure = AP(rel=1)
    earned = measure(scores, runs.labels, runs.qptr) * np.add.reduceat(runs.labels >= 1, runs.qptr[:-1])
    return np.asarray(earned / np.maximum(runs.n_relevant, 1))


class Texts(NamedTuple):
    """A test collection."""

    documents: Path
    queries: dict[str, str]
    qrels: Qrels


def read_texts(folder: Path) -> dict[str, Texts]:
    """Return the collections whose files are in ``text/`` of a folder."""
    collections = {}
    for name, files in TEXTS.items():
        documents, queries, qrels = (folder / "text" / file for file in files)
        if documents.is_file() and queries.is_file() and qrels.is_file():
            texts = query_texts(queries)
            # The judgments of Cranfield number the queries in their order.
            if name == "Cranfield":
                texts = {str(number): text for number, text in enumerate(texts.values(), start=1)}
            collections[name] = Texts(documents, texts, _JUDGMENTS[name](qrels))
    return collections


def _cranfield(path: Path) -> Qrels:
    """Turn code 1, a complete answer, into label 4, and so on.

    Each query also has one judgment -1, which no document explains; it is not relevant.
    """
    read = read_trec_qrels(path)
    is_known = (read.labels >= 1) & (read.labels <= 4)
    return replace(read, labels=np.where(is_known, 5.0 - read.labels, 0.0))


def _cacm(path: Path) -> Qrels:
    """Read lines ``query document 0 0``, which are pairs of a query and a relevant document."""
    pairs: dict[str, dict[str, int]] = {}
    with readable(path), open_data(path) as file:
        for line in file:
            query, doc = (str(int(word)) for word in line.split()[:2])
            pairs.setdefault(query, {})[doc] = 1
    return Qrels.from_frame(pairs)


_JUDGMENTS = {"Cranfield": _cranfield, "CACM": _cacm, "NPL": read_trec_qrels}


def text_runs(folder: Path) -> dict[str, RunsOfTopics]:
    """Return for every collection the runs of all functions on all indexes."""
    return {
        name: _joined(
            {name: list(_base_functions(texts))},
            texts.qrels,
            [folder / "text" / file for file in TEXTS[name]],
        )
        for name, texts in read_texts(folder).items()
    }


def _base_functions(texts: Texts) -> Iterator[Run]:
    """Yield the run of each function on each index: documents that have a term of the query."""
    index = Index.build(texts.documents, analyzers=INDEXES)
    topics = {name: text for name, text in texts.queries.items() if name in texts.qrels.query_ids}
    qptr = np.arange(len(topics) + 1, dtype=np.int64) * index.n_docs
    every = Run("all", tuple(topics), qptr, np.tile(index.doc_ids, len(topics)), np.zeros(int(qptr[-1])))
    columns = [
        f"{name}.{index.whole}.{analyzer}" for analyzer in INDEXES for name in ("coverage", *FUNCTIONS)
    ]
    features = index.features(topics, every, names=columns).features
    for analyzer in INDEXES:
        is_found = features[:, columns.index(f"coverage.{index.whole}.{analyzer}")] > 0.0
        for name in FUNCTIONS:
            scores = features[:, columns.index(f"{name}.{index.whole}.{analyzer}")]
            yield _best(f"{name}.{analyzer}", every, scores, is_found)


def _best(tag: str, every: Run, scores: np.ndarray, is_found: np.ndarray) -> Run:
    """Return the best of the documents that were found, for each query."""
    rows = []
    for first, last in zip(every.qptr[:-1], every.qptr[1:], strict=True):
        retrieved = first + np.flatnonzero(is_found[first:last])
        rows.append(retrieved[np.argsort(-scores[retrieved], kind="stable")[:_DEPTH]])
    chosen = np.concatenate(rows)
    qptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    doc_ids = object_array(every.doc_ids[chosen])
    return Run(tag, every.query_ids, qptr, doc_ids, scores[chosen].astype(np.float64))
