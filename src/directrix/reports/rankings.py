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
    """Identifier, label and score of the first documents of every query.

    Parameters
    ----------
    tests : sequence of Queries
        The parts, in order.
    top : sequence of sequence of (int, float)
        Row in the query and score of the first documents, for every query of all parts; see
        `CrossValidation.top`.

    Returns
    -------
    tuple
        For `PerQuery.rankings`. Documents without identifiers are named by their row in the part, from 1.
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

    Parameters
    ----------
    name : str
        Name of the data.
    result : CrossValidation
        Made with ``keep_top``.
    splits : sequence of Split
        The folds of the cross-validation.
    entries : sequence of str
    measures : mapping of str to str
        Measure to its name on the page.
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
