"""Events and candidates as arrays, and their groups into lists, each with its decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import check_labels
from directrix.data.grouping import object_array
from directrix.data.interactions.tables import DAY, Reader, iso, moment, place_in
from directrix.errors import Advice, InputError, short_text, warn
from directrix.types import Array, Float64Array, Int64Array


class EventTable(NamedTuple):
    """Events in the order of time, with the numbers of users, items, sessions and kinds."""

    times: Float64Array
    users: Int64Array
    items: Int64Array
    keys: Int64Array
    """Sessions for lists by session, else users."""
    kinds: Int64Array
    kind_names: tuple[str, ...]
    grades: Float64Array


class CandidateTable(NamedTuple):
    """A table of candidates: of lists, or a catalog."""

    items: Int64Array
    times: Float64Array | None
    keys: Int64Array | None
    """Sessions or users; None for a catalog."""
    users: Int64Array | None
    sessions: Int64Array | None


class Decisions(NamedTuple):
    """Lists in the order of their decisions."""

    ids: Array
    users: Int64Array
    """-1 = not known."""
    times: Float64Array
    """Decisions."""
    of_event: Int64Array
    """List in which an event is a label, or -1, (n_events,)."""
    of_candidate: Int64Array
    """List of each row of a table of candidates of lists, else empty."""


def read_events(reader: Reader, events: Any, by: str, grades: Mapping[Any, float]) -> EventTable:
    """Read the events; see `directrix.data.from_interactions`."""
    columns = reader.columns(events, "events")
    times, items = reader.times(columns, "events"), reader.number(columns, "item", "events")
    keys = users = reader.number(columns, "session" if by == "session" else "user", "events")
    if by == "session":
        if reader.find(columns, "user", "events", optional=True) is None:
            # Without a column of users, sessions have the history.
            reader.numbers["user"] = reader.numbers["session"]
        else:
            users = reader.number(columns, "user", "events")
    if reader.find(columns, "event", "events", optional=True) is None:
        kinds, grade = np.zeros_like(items), np.ones(1)
        kind_names: tuple[str, ...] = ("events",)
    else:
        if not isinstance(grades, Mapping):
            raise InputError(f"grades={short_text(grades)}: a label by kind is needed: {{'click': 1, ...}}.")
        numbers = reader.numbers["event"]
        numbers.add(object_array(grades), "grades, entry {}".format)
        kind_names = numbers.names
        grade = check_labels([*grades.values()], place=lambda i: f"grades[{kind_names[i]!r}]")
        kinds = reader.number(columns, "event", "events")
        # Kinds with a grade have the first numbers, and kinds that only events have follow.
        if len(numbers.names) > len(grade):
            unknown = [repr(name) for name in numbers.names[len(grade) :]]
            raise InputError(
                f"events, row {int(np.argmax(kinds >= len(grade)))}: no grade is given for the kind of event "
                f"{', '.join(unknown[:10])}; those with a grade are {', '.join(kind_names)}. Drop "
                "these rows, or grade them.",
                Advice("grade", kind=unknown[0]),
            )
    order = np.argsort(times, kind="stable")
    _warn_of_repeated(times, keys, items, kinds)
    users, items, keys, kinds = (numbers[order] for numbers in (users, items, keys, kinds))
    return EventTable(times[order], users, items, keys, kinds, kind_names, grade[kinds])


def _warn_of_repeated(*columns: Array) -> None:
    """Warn if events are alike in all of these columns."""
    order = np.lexsort(columns)
    is_same = np.logical_and.reduce([np.diff(column[order]) == 0 for column in columns])
    if is_same.any():
        warn(
            f"{int(is_same.sum()):,} of {len(order):,} events repeat an earlier one, with the same user or "
            f"session, item, kind and time (the first in row {int(order[1:][is_same].min())}). Features of "
            "history and sampling by popularity count each of them; labels do not change. Drop them if they "
            "were logged twice.",
            stacklevel=5,
        )


def read_candidates(reader: Reader, candidates: Any, by: str) -> CandidateTable:
    """Read the candidates of lists, or a catalog; see `directrix.data.from_interactions`."""
    what, key = "candidates", "session" if by == "session" else "user"
    columns = reader.columns(candidates, what)
    keys, users, sessions = (
        reader.number(columns, name, what)
        if reader.find(columns, name, what, optional=True) is not None
        else None
        for name in (key, "user", "session")
    )
    needs_time = by == "day" and keys is not None
    has_time = reader.find(columns, "time", what, optional=not needs_time) is not None
    times = reader.times(columns, what) if has_time else None
    items = reader.number(columns, "item", what)
    return CandidateTable(items, times, keys, users, sessions)


def lists_of(
    reader: Reader, log: EventTable, table: CandidateTable | None, by: str, decision: Any
) -> Decisions:
    """Group the events, or the candidates of lists, and determine the decision of each list."""
    rows: Any = table if table is not None and table.keys is not None else None
    keys = [log.keys] if rows is None else [log.keys, rows.keys]
    # Lists have the identifiers of the tables, integers if all of them are.
    names = object_array(reader.numbers["session" if by == "session" else "user"].identifiers)
    if by == "day":
        # A key then stands for a user and a day.
        tables = (log, rows)[: len(keys)]
        days = [np.floor(table.times / DAY).astype(np.int64) for table in tables]
        first, last = min(day.min() for day in days), max(day.max() for day in days)
        n_days = int(last - first) + 1
        keys = [key * n_days + (day - first) for key, day in zip(keys, days, strict=True)]
    # If candidates belong to lists, they make the lists; otherwise the events do.
    list_keys = np.unique(keys[-1])
    place, exists = place_in(list_keys, keys[0])
    of_event = np.where(exists, place, -1)
    of_candidate = np.empty(0, np.int64) if rows is None else np.searchsorted(list_keys, keys[1])
    owners = list_keys // n_days if by == "day" else list_keys
    labels = names[owners]
    if by == "day":
        dates = (list_keys % n_days + first).astype("datetime64[D]").astype(str).tolist()
        labels = object_array(map("{}/{}".format, labels, dates))
    if rows is not None and rows.sessions is not None:
        sessions = reader.numbers["session"].names
        _one_per_list(rows.sessions, of_candidate, labels, "session", sessions.__getitem__)
    if rows is not None and rows.times is not None:
        times = _one_per_list(rows.times, of_candidate, labels, "time", iso)
        if decision is not None and (other := times != moment(decision, "decision")).any():
            raise InputError(
                f"decision={decision!r}, and the candidates of {labels[np.argmax(other)]!r} have the time "
                f"{iso(times[np.argmax(other)])}; a list has one decision. Leave out one of them."
            )
    else:
        times = _times_of_events(log, of_event, labels, by, decision)
    has_users = reader.numbers["user"] is not reader.numbers["session"] or (rows and rows.users is not None)
    # Without a column of users, sessions stand for them.
    users = owners
    if by == "session" and has_users:
        users = _users_of_sessions(log, rows, of_event, of_candidate, labels)
    # An event before the decision of its list is history, and no label.
    of_event[log.times < times[of_event]] = -1
    order = np.argsort(times, kind="stable")
    # A user without an event from the decision on has no label.
    if rows is None:
        order = order[np.isin(order, of_event)]
    # Events that are in no list have the number -1, and take the last entry.
    number = np.full(len(list_keys) + 1, -1)
    number[order] = np.arange(len(order))
    return Decisions(labels[order], users[order], times[order], number[of_event], number[of_candidate])


def _one_per_list(values: Array, list_of_row: Int64Array, labels: Array, what: str, text: Any) -> Array:
    """Return the value of each list; `InputError` if its candidates have different ones."""
    first = np.empty(len(labels), dtype=values.dtype)
    first[list_of_row[::-1]] = values[::-1]
    if (other := values != first[list_of_row]).any():
        row = int(np.argmax(other))
        raise InputError(
            f"candidates, row {row}: the {what} is {text(values[row])}, that of another candidate of "
            f"{labels[list_of_row[row]]!r} is {text(first[list_of_row[row]])} (rows: "
            f"{int(other.sum()):,}); a list has one decision.",
            Advice("by-session"),
        )
    return first


def _times_of_events(
    log: EventTable, list_of_event: Int64Array, labels: Array, by: str, decision: Any
) -> Float64Array:
    """Return the given decision, or the first event of a session or day, or the last event of a user."""
    if decision is not None:
        if by != "user":
            raise InputError(f"a decision for all queries needs by='user', got by={by!r}; leave it out.")
        return np.full(len(labels), moment(decision, "decision"))
    times = np.full(len(labels), np.nan)
    inside = np.flatnonzero(list_of_event >= 0)[:: 1 if by == "user" else -1]
    # Of several assignments to one list the last one stays.
    times[list_of_event[inside]] = log.times[inside]
    if (bad := np.isnan(times)).any():
        raise InputError(
            f"candidates: {labels[np.argmax(bad)]!r} has no event, so its decision is not known (so have "
            f"{int(bad.sum()) - 1:,} more); add a column of times."
        )
    return times


def _users_of_sessions(
    log: EventTable,
    rows: CandidateTable | None,
    of_event: Int64Array,
    of_candidate: Int64Array,
    labels: Array,
) -> Int64Array:
    """Return the user of each session, -1 if no row has one; `InputError` if a session has two."""
    users, places, row_users = np.full(len(labels), -1), of_event, log.users
    if rows is not None and rows.users is not None:
        places, row_users = np.append(places, of_candidate), np.append(row_users, rows.users)
    places, row_users = places[places >= 0], row_users[places >= 0]
    users[places[::-1]] = row_users[::-1]
    if (other := users[places] != row_users).any():
        raise InputError(
            f"session {labels[places[np.argmax(other)]]!r} has two users; it needs one. Give each user "
            "separate sessions."
        )
    return users
