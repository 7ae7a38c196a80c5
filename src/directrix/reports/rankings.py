"""Rankings that a reader can inspect, made from scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from directrix.data.queries import Queries
from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.splits import Split
from directrix.reports.report import PerQuery

_Top = Sequence[Sequence[tuple[int, float]]]
_Shown = tuple[tuple[tuple[str, int, float], ...], ...]


def shown_rankings(tests: Sequence[Queries], top: _Top) -> _Shown:
    """Return identifier, label and score of the first documents of every query, for `PerQuery.rankings`.

    ``top`` has their row in the query and their score, for every query of all parts; see
    `CrossValidation.top`. Documents without identifiers are named by their row in the part, from 1.
    """
    starts = [(part, int(low)) for part in tests for low in part.qptr[:-1]]
    return tuple(
        tuple((_name(part, low + row), int(part.labels[low + row]), float(score)) for row, score in top_rows)
        for (part, low), top_rows in zip(starts, top, strict=True)
    )


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


def _name(q: Queries, row: int) -> str:
    return f"row {row + 1}" if q.doc_ids is None else str(q.doc_ids[row])
