"""Rankings that a reader can inspect, made from scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.experiments.crossval import top_of
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split
from directrix.reports.report import PerQuery
from directrix.types import Float64Array, FloatArray

# This number of documents of a ranking is shown.
_TOP = 10
# Rankings are stored for at most this number of queries, to limit the size of a page.
_QUERIES = 1000
_Top = Sequence[Sequence[tuple[int, float]]]
_Shown = tuple[tuple[tuple[str, int, float], ...], ...]


def shown_rankings(tests: Sequence[Any], top: _Top) -> _Shown:
    """Return identifier, label and score of the first documents of every query, for `PerQuery.rankings`.

    ``top`` has their row in the query and their score, for every query of all parts; see
    `CrossValidation.top`. Documents without identifiers are named by their row in the part, from 1.
    """
    starts = [(test, int(low)) for test in tests for low in test.qptr[:-1]]
    return tuple(
        tuple((_name(test, low + row), int(test.labels[low + row]), float(score)) for row, score in top_rows)
        for (test, low), top_rows in zip(starts, top, strict=True)
    )


def top_rankings(
    systems: Mapping[str, tuple[FloatArray, Any]], values: Iterable[Float64Array]
) -> dict[str, _Shown]:
    """Return the first documents by system, on the 1,000 queries on which values of systems differ most."""
    table = np.nan_to_num(np.array(list(values)))
    shown = set(np.argsort(-np.ptp(table, axis=0), kind="stable")[:_QUERIES].tolist())
    rankings = {}
    for name, (scores, data) in systems.items():
        top = enumerate(top_of(scores, data, _TOP))
        kept = [[(row, score) for row, score in rows if score > -np.inf and i in shown] for i, rows in top]
        rankings[name] = shown_rankings([data], kept)
    return rankings


def compared_by_query(
    name: str,
    result: CrossValidation,
    splits: Sequence[Split],
    entries: Sequence[str],
    measures: Mapping[str, str],
) -> tuple[PerQuery, ...]:
    """Return values and rankings of entries on all test queries, one part for every measure.

    ``measures`` have the names used on the page; the cross-validation was made with ``keep_top``.
    """
    tests = [split.test for split in splits]
    rankings = {entry: shown_rankings(tests, result.top(entry)) for entry in entries}
    query_ids = tuple(map(str, result.query_ids))
    return tuple(
        PerQuery(
            name, title, query_ids, {entry: result.values(entry, measure) for entry in entries}, rankings
        )
        for measure, title in measures.items()
    )


def _name(q: Any, row: int) -> str:
    return f"row {row + 1}" if q.doc_ids is None else str(q.doc_ids[row])
