"""Read the arrays of a log from tables: columns by name, identifiers as numbers, sessions or counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from directrix.clicks.sessions import Cells, Pairs, Sessions
from directrix.data.checks import as_floats
from directrix.data.columns import ROLES, ColumnNames, column_list, find
from directrix.data.file import DataFile
from directrix.data.frames import array_of, columns_of
from directrix.data.grouping import object_array, run_starts
from directrix.data.identifiers import Numbering
from directrix.errors import Advice, InputError, short_text
from directrix.types import Array, Float64Array

_Content = tuple[Pairs, Sessions | Cells]
# Largest position that fits into an int16, in which positions are held.
_LAST = 2**15 - 1
_FIX = "Correct or drop such rows"
_COLUMNS = (*("query", "doc", "position", "clicked"), *("session", "impressions"))
# Columns of identifiers, with the word that messages use for each.
_KINDS = {"query": "query", "doc": "document", "session": "session", "user": "user", "ranker": "ranker"}
_OF_ROWS = ("propensity", "examination")
_OF_SESSIONS = ("user", "ranker", "time", *_OF_ROWS)


def log_of_frame(frame: Any, names: Mapping[str, Hashable | None]) -> _Content:
    """Return the content of a frame; ``names`` are the columns that the user gave. See `Log.from_frame`."""
    return _log_of([frame], names, "the frame", "directrix.clicks.Log.from_frame(frame", aggregate=False)


def read_log(given: Any, names: Mapping[str, Hashable | None], *, aggregate: bool) -> _Content:
    """Read a log from a file or a folder of files, in chunks; see `Log.read`."""
    from directrix.data.tables.files import table_batches

    if unknown := set(names) - {*_COLUMNS, *_OF_SESSIONS}:
        raise InputError(
            f"Log.read got {', '.join(sorted(unknown))}; the columns of a log are "
            f"{', '.join((*_COLUMNS, *_OF_SESSIONS))}. Type e.g. Log.read(path, query=NAME)."
        )
    ids = {
        name
        for key in ("query", "doc", "session", "user", "ranker")
        for name in (names.get(key), *ROLES[key].recognized)
    }
    # Identifiers are read as text, so that 007 does not become 7.
    texts = ColumnNames(categorical=tuple(ids - {None}))
    call = "directrix.clicks.Log.read(path"
    file = DataFile(given, texts)
    return _log_of(table_batches(file), names, str(file), call, aggregate=aggregate)


def _log_of(
    frames: Iterable[Any], names: Mapping[str, Hashable | None], what: str, call: str, *, aggregate: bool
) -> _Content:
    numbers = {key: Numbering(kind) for key, kind in _KINDS.items()}
    rows: list[dict[str, Array]] = []
    n_rows = 0
    for frame in frames:
        columns = _columns(frame, names, what, call, aggregate=aggregate)
        checked = _checked(columns, numbers, partial(_place, what, n_rows))
        n_rows += len(checked["query"])
        rows.append(checked)
        if len({frozenset(chunk) for chunk in rows}) > 1:
            raise InputError(f"{what}: the parts have different columns; write it again.")
        n_new = sum(len(chunk["query"]) for chunk in rows[1:])
        # Counts are summed whenever the rows since the last sum exceed its cells, so that memory stays small.
        if "session" not in checked and n_new > len(rows[0]["query"]):
            rows = _merged(rows)
    if not n_rows or not any(chunk["impressions"].any() for chunk in rows):
        raise InputError(f"{what} has no impressions; a log needs one or more. Check how it was written.")
    rows = rows if "session" in rows[0] else _merged(rows)
    joined = {key: np.concatenate([chunk[key] for chunk in rows]) for key in rows[0]}
    query_ids, docs = numbers["query"].names, object_array(numbers["doc"].names)
    keys, pair = np.unique(joined["query"].astype(np.int64) * len(docs) + joined["doc"], return_inverse=True)
    qptr = np.searchsorted(keys // len(docs), np.arange(len(query_ids) + 1)).astype(np.int64)
    pairs = Pairs(query_ids, qptr, docs[keys % len(docs)])
    if "session" not in joined:
        position = joined["position"].astype(np.int64)
        return pairs, Cells(pair, position, joined["impressions"], joined["clicked"])
    return pairs, _sessions(joined, pair, numbers, partial(_place, what, 0))


def _place(what: str, first: int, row: int) -> str:
    return f"{what}, row {first + row}"


def _columns(
    frame: Any, names: Mapping[str, Hashable | None], what: str, call: str, *, aggregate: bool
) -> dict[str, Any]:
    """Return the columns of a frame by what they hold; those of sessions only if the log has sessions."""
    needed = "a frame or dict with columns of queries, documents, positions and clicks is needed"
    by_name, columns = columns_of(frame, what, needed), {}
    missing = [
        key for key in _COLUMNS[:4] if names.get(key) is None and not {*ROLES[key].recognized} & {*by_name}
    ]
    if len(missing) > 1 < len(by_name):
        raise InputError(
            f"{what}: there are no columns of {', '.join(missing)}; the columns are {column_list(by_name)}.",
            Advice(
                "log-columns", call=f"{call}, {', '.join(f'{key}=NAME' for key in missing)}", keys=missing
            ),
        )
    for key in (*_COLUMNS, *_OF_SESSIONS):
        is_optional = key not in _COLUMNS[:4]
        name = find([*by_name], key, names.get(key), what, call, optional=is_optional)
        if name is not None:
            columns[key] = by_name[name]
    if aggregate or "impressions" in columns or "session" not in columns:
        columns = {key: columns[key] for key in (*_COLUMNS[:4], "impressions") if key in columns}
    return columns


def _checked(
    columns: Mapping[str, Any], numbers: Mapping[str, Numbering], place: Callable[[int], str]
) -> dict[str, Array]:
    """Return the columns of a frame as checked arrays; `InputError` for the first value of no use."""
    arrays: dict[str, Array] = {}
    for key, column in columns.items():
        if key in numbers:
            arrays[key] = numbers[key].add(column, place)
        elif key == "time":
            arrays[key] = array_of(column)
        else:
            arrays[key] = _numbers(array_of(column), key, place)
        if arrays[key].shape != arrays["query"].shape:
            raise InputError(
                f"{place(0)}: the column of {key} has {arrays[key].size} rows, that of queries "
                f"{len(arrays['query'])}; each needs one per row."
            )
    position, clicked = arrays["position"], arrays["clicked"]
    fix = f"Add 1 to all if they count from 0, else {_FIX.lower()}" if (position == 0).any() else _FIX
    needed = f"an integer from 1 to {_LAST:,}"
    _require(_is_whole(position, 1, _LAST), position, "position", needed, place, fix)
    impressions = arrays.setdefault("impressions", np.ones(len(position)))
    _require(
        _is_whole(impressions, 0, 2.0**53), impressions, "number of impressions", "an integer >= 0", place
    )
    if "impressions" in columns:
        good = _is_whole(clicked, 0, impressions)
        _require(good, clicked, "number of clicks", "an integer from 0 to that of impressions", place)
    else:
        _require((clicked == 0) | (clicked == 1), clicked, "click", "0 or 1", place)
    for key in [key for key in _OF_ROWS if key in arrays]:
        p = arrays[key]
        _require((p > 0.0) & (p <= 1.0), p, key, "in (0, 1]", place)
    types = {"query": np.int32, "doc": np.int32, "session": np.int64, "position": np.int16}
    types |= {"user": np.int32, "ranker": np.int32, "clicked": np.int64, "impressions": np.int64}
    return {key: array.astype(types.get(key, array.dtype), copy=False) for key, array in arrays.items()}


def _numbers(column: Any, key: str, place: Callable[[int], str]) -> Float64Array:
    try:
        return as_floats(column, key)
    except InputError:
        text = next((str(value) for value in column.flat if isinstance(value, str)), column.dtype)
        raise InputError(
            f"{place(0)}: the column of {key} holds {short_text(text)}; numbers are needed. Convert it."
        ) from None


def _is_whole(values: Float64Array, least: float, most: Any) -> Array:
    return np.asarray((values >= least) & (values <= most) & (values == np.floor(values)))


def _require(
    good: Array, values: Array, what: str, needed: str, place: Callable[[int], str], fix: str = _FIX
) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"{place(row)}: the {what} is {values[row]:g}; it must be {needed}. {fix}: "
            f"{int((~good).sum()):,} of the {len(good):,} that were read together."
        )


def _merged(rows: list[dict[str, Array]]) -> list[dict[str, Array]]:
    """Return one chunk with the sums of rows of the same query, document and position, in this order."""
    joined = {key: np.concatenate([chunk[key] for chunk in rows]) for key in rows[0]}
    keys = [joined[key] for key in ("query", "doc", "position")]
    order = np.lexsort(keys[::-1])
    order = order[joined["impressions"][order] > 0]
    keys = [key[order] for key in keys]
    is_first = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = np.flatnonzero(np.append(True, is_first))[: len(order)]
    for key, values in zip(("query", "doc", "position"), keys, strict=True):
        joined[key] = values[starts]
    for key in ("impressions", "clicked"):
        joined[key] = np.add.reduceat(joined[key][order], starts) if len(order) else joined[key][:0]
    return [joined]


def _sessions(
    rows: Mapping[str, Array], pair: Array, numbers: Mapping[str, Numbering], place: Callable[[int], str]
) -> Sessions:
    """Group rows by query, session and position; `InputError` if a session is not one result page."""
    names, width = numbers["session"].names, _LAST + 1
    _, first, session = np.unique(rows["session"], return_index=True, return_inverse=True)
    # Sessions get new numbers by which they are grouped by query.
    by_query = np.argsort(rows["query"][first], kind="stable")
    number = np.empty(len(names), dtype=np.int64)
    number[by_query] = np.arange(len(names))
    keys = number[session] * width + rows["position"]
    order = np.arange(len(keys)) if (keys[1:] > keys[:-1]).all() else np.argsort(keys, kind="stable")
    session, position, pair = keys[order] // width, rows["position"][order], pair[order]
    starts = run_starts(session)

    def reject(row: Any, other: Any, what: str, fix: str = "Correct the rows") -> None:
        before, after = sorted((int(order[row]), int(order[other])))
        raise InputError(
            f"{place(after)}: session {names[by_query[session[row]]]} has {what} at {place(before)}; "
            "a session is one result page, with one query, user and ranker, and each document and position "
            f"once. {fix}, or give each result page its own session identifier."
        )

    # Neighboring rows of a session tell, because all its rows are next to each other now.
    for key in ("query", "user", "ranker"):
        if key in rows and len(other := np.flatnonzero(np.diff(rows[key][order]) * (np.diff(session) == 0))):
            reject(other[0], other[0] + 1, f"another {key} than")
    if len(same := np.flatnonzero(np.diff(keys[order]) == 0)):
        is_repeated = pair[same] == pair[same + 1]
        if (n := int(is_repeated.sum())) > 0:
            same, fix = same[is_repeated], f"Drop repeated rows, {n:,} here"
            reject(same[0], same[0] + 1, "the same document and position as", fix)
        reject(same[0], same[0] + 1, "the same position as", "Let positions of page 2 follow those of page 1")
    # Sorted by document within sessions, equal documents are neighbors too.
    by_pair = np.argsort(session * (int(pair.max()) + 1) + pair, kind="stable")
    if len(same := np.flatnonzero((np.diff(pair[by_pair]) == 0) & (np.diff(session[by_pair]) == 0))):
        reject(by_pair[same[0]], by_pair[same[0] + 1], "the same document as")
    optional = {key: rows[key][order][starts] for key in ("user", "ranker", "time") if key in rows}
    optional |= {key: rows[key][order] for key in _OF_ROWS if key in rows}
    return Sessions(
        np.append(starts, len(order)).astype(np.int64),
        rows["query"][order][starts],
        pair.astype(np.int32),
        position,
        rows["clicked"][order].astype(bool),
        object_array(names)[by_query],
        rankers=numbers["ranker"].names,
        **optional,
    )
