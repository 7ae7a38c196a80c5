"""The documents of several runs, with a score of each run and the judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.data.grouping import object_array, rows_of
from directrix.data.trec.join import check_magnitude, check_overlap, qrels_of, run_of
from directrix.data.trec.runs import Run
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents that any run retrieved, and judged ones that none did."""

    names: tuple[str, ...]
    """Of the runs."""
    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    labels: Float64Array
    """0 for documents without a judgment, or with a negative one."""
    scores: Float64Array
    """(n_docs, n_runs), NaN where a run did not retrieve the document."""

    @property
    def is_retrieved(self) -> Array:
        """Whether any run retrieved the document."""
        return np.asarray((~np.isnan(self.scores)).any(axis=1))

    def take(self, queries: Int64Array) -> Pool:
        """Return some of the queries."""
        sizes = np.diff(self.qptr)[queries]
        rows = rows_of(self.qptr[:-1][queries], sizes)
        return self._with(tuple(self.query_ids[q] for q in queries), sizes, rows)

    def only(self, is_kept: Array) -> Pool:
        """Return some of the documents."""
        rows = np.flatnonzero(is_kept)
        sizes = np.diff(np.searchsorted(rows, self.qptr))
        return self._with(self.query_ids, sizes, rows)

    def _with(self, query_ids: tuple[str, ...], sizes: Int64Array, rows: Int64Array) -> Pool:
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Pool(self.names, query_ids, qptr, self.doc_ids[rows], self.labels[rows], self.scores[rows])


def runs_of(runs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Run]:
    """Return runs by name: as given, or by their tags.

    Raises `InputError` unless there are 2 to 10 of different names.
    """
    if isinstance(runs, Mapping):
        by_name = {str(name): replace(run_of(run), tag=str(name)) for name, run in runs.items()}
        n = len(runs)
    else:
        read = [run_of(run) for run in runs]
        by_name, n = {run.tag: run for run in read}, len(read)
    if len(by_name) < n:
        raise InputError(
            f"of {n} runs some have the same tag ({', '.join(by_name)}); each needs another name.",
            python='Type dx.fuse({"bm25": run, "dense": other}, ...).',
            shell="Type --name for each.",
        )
    if not 2 <= n <= 10:
        raise InputError(f"{n} run{'s' * (n != 1)} cannot be fused; 2 to 10 are needed. Give each of them.")
    return by_name


def pool_of(runs: Mapping[str, Run], qrels: Any = None) -> Pool:
    """Join runs, and judgments if there are any.

    The queries are those with judgments that a run has, in the order of the judgments; without judgments
    all of the runs, in the order of their first appearance. Raises `InputError` where a run has no query or
    document of the judgments, or a score that float32 does not hold.
    """
    judged = None if qrels is None else qrels_of(qrels)
    for run in runs.values():
        check_magnitude(run)
        if judged is not None:
            check_overlap(run, judged)
    places = [{query: q for q, query in enumerate(run.query_ids)} for run in runs.values()]
    queries = tuple(dict.fromkeys(query for place in places for query in place))
    if judged is not None:
        known = set(queries)
        queries = tuple(query for query in judged.query_ids if query in known)
    in_qrels = {} if judged is None else {query: q for q, query in enumerate(judged.query_ids)}
    docs: list[str] = []
    labels: list[float] = []
    rows: list[list[Float64Array]] = []
    sizes = []
    for query in queries:
        of_runs = [_of_query(run, place.get(query)) for run, place in zip(runs.values(), places, strict=True)]
        of_judged = {} if judged is None else judged.of_query(in_qrels[query])
        # as trec_eval orders equal scores, so that the order of the runs does not matter
        names = sorted({doc for of in (*of_runs, of_judged) for doc in of}, reverse=True)
        docs += names
        labels += [max(of_judged.get(doc, 0.0), 0.0) for doc in names]
        rows.append([np.array([of.get(doc, np.nan) for doc in names]) for of in of_runs])
        sizes.append(len(names))
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    scores = np.stack([np.concatenate(column) for column in zip(*rows, strict=True)], axis=1)
    return Pool(tuple(runs), queries, qptr, object_array(docs), np.array(labels), scores)


def _of_query(run: Run, q: int | None) -> dict[str, float]:
    if q is None:
        return {}
    first, last = run.qptr[q], run.qptr[q + 1]
    return dict(zip(run.doc_ids[first:last], run.scores[first:last].tolist(), strict=True))
