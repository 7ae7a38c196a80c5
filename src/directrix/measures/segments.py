"""Segments of queries, such as navigational and informational ones, to be reported separately."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from directrix.data.checks import is_missing
from directrix.data.frames import cells_of, is_dict
from directrix.errors import InputError, warn
from directrix.types import Int64Array


def segments_of(
    by: Any, query_ids: Sequence[Hashable], qptr: Int64Array, rows: Int64Array | None
) -> dict[Hashable, list[int]]:
    """Return the queries of each segment as positions in ``query_ids``, with segments sorted by name.

    ``by`` is a mapping of query to segment, or one value per row of the input; ``rows`` are the rows of the
    documents, None if the input has none. Raises `InputError` if no query has a segment, or one has two.
    """
    of_query = [*map(by.get, query_ids)] if is_dict(by) else _of_rows(by, query_ids, qptr, rows)
    members: dict[Hashable, list[int]] = {}
    for place, segment in enumerate(of_query):
        if not is_missing(segment):
            members.setdefault(segment, []).append(place)
    if not members:
        hint = f"; its first query is {next(iter(by))!r}" if is_dict(by) and by else ""
        first = query_ids[0] if query_ids else None
        raise InputError(
            f"by has no segment for any of {len(query_ids)} queries, the first of which is {first!r}{hint}. "
            "Give a mapping of query to segment with the same identifiers, of the same type."
        )
    if lacking := len(query_ids) - sum(map(len, members.values())):
        warn(
            f"{lacking} of {len(query_ids)} queries have no segment; they count only in the total.",
            stacklevel=3,
        )
    # Names of different types cannot be compared, so they are sorted by type first.
    return {name: members[name] for name in sorted(members, key=lambda name: (str(type(name)), name))}


def _of_rows(by: Any, query_ids: Sequence[Hashable], qptr: Int64Array, rows: Int64Array | None) -> list[Any]:
    if rows is None:
        raise InputError(
            f"by is a {type(by).__name__}; with run= a mapping of query to segment is needed. Type e.g. "
            "by=dict(zip(frame['query'], frame['segment']))."
        )
    cells = cells_of(by)
    if len(cells) != len(rows):
        raise InputError(
            f"by has {len(cells):,} values for {len(rows):,} scores; one value per row, or a mapping of "
            "query to segment, is needed. For a Series by query, type by=series.to_dict()."
        )
    of_query = []
    for query, low, high in zip(query_ids, qptr[:-1], qptr[1:], strict=True):
        # NaN is not equal to itself, so every missing value becomes None.
        names = dict.fromkeys(None if is_missing(cells[row]) else cells[row] for row in rows[low:high])
        if len(names) > 1:
            first, second, *_ = names
            raise InputError(
                f"by has the segments {first!r} and {second!r} for documents of query {query!r}; each query "
                "must have one. Give a mapping of query to segment."
            )
        of_query.append(next(iter(names), None))
    return of_query
