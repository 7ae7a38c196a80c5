"""Labeled queries from a table of events: groups, labels, candidates, and features at a decision.

A table of events goes in, such as clicks and purchases, with tables of features and of candidates if there
are any. Out come `Queries` in the order of time, each with what was known at its decision::

    q = from_interactions(events, by="session", candidates=impressions, item_features=items)
    train, test = q.split("2026-03-01")
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from directrix.data.checks import check_positions, frozen, generator
from directrix.data.columns import feature_names
from directrix.data.grouping import object_array, rows_of, run_starts
from directrix.data.interactions.candidates import CandidateRows, Catalog, of_lists, popular, uniform
from directrix.data.interactions.history import History, history_names
from directrix.data.interactions.lists import (
    CandidateTable,
    Decisions,
    EventTable,
    lists_of,
    read_candidates,
    read_events,
)
from directrix.data.interactions.tables import FeatureTable, Reader, iso, moment, place_in
from directrix.data.memory import check_room
from directrix.data.missing import check_cells, check_missing, filled
from directrix.data.queries import Queries
from directrix.errors import Advice, InputError, warn
from directrix.parameters import check_choice, whole
from directrix.types import Array, Float64Array

# The labels of the usual kinds of events in shops, if the user gives none.
GRADES = {"view": 0, "click": 1, "cart": 2, "purchase": 3}


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Queries):
    """Result of `from_interactions`: `Queries` in the order of their decisions.

    Parameters
    ----------
    times : float64 (n_queries,)
        Decision of each query, in seconds: all features and candidates are from before it.
    ends : float64 (n_queries,)
        Time of the last event in a label of the query.
    users : object array (n_queries,)
        User of each query.
    sampling : float64 (n_docs,)
        Probability with which each document is a candidate of its query: 1 if it has an event or all
        candidates are used, less for a sampled negative.
    """

    times: Float64Array = field(kw_only=True)
    ends: Float64Array = field(kw_only=True)
    users: Array = field(kw_only=True)
    sampling: Float64Array = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("times", "ends", "users", "sampling"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))

    def take(self, queries: Any) -> Interactions:
        """Return the given queries (positions, in the order given), see `Queries.take`."""
        chosen = check_positions(queries, self.n_queries)
        rows = rows_of(self.qptr[:-1][chosen], np.diff(self.qptr)[chosen])
        of_queries: Any = {name: getattr(self, name)[chosen] for name in ("times", "ends", "users")}
        taken = cast("Interactions", super().take(chosen))
        return replace(taken, **of_queries, sampling=self.sampling[rows])

    def restore(self, per_doc: Any) -> Any:
        """Raise `InputError`, because the rows belong to no table. Join by ``query_ids`` and ``doc_ids``."""
        raise InputError(
            "these queries have rows of no table, so there is no order to restore. Join by user and item: "
            "type pandas.DataFrame({'user': numpy.repeat(q.users, numpy.diff(q.qptr)), 'item': q.doc_ids, "
            "'score': scores})."
        )

    def split(self, at: Any) -> tuple[Interactions, Interactions]:
        """Split by time: queries that end before a time, and queries with a decision at or after it.

        Queries with a decision before ``at`` and a label from after it are in neither part: they would leak
        test data into training. A warning counts them, and the labels that are lost with them.

        Parameters
        ----------
        at : number, date or str
            In the form of the times of the events.
        """
        return self._split(moment(at, "at"), np.inf)

    def _split(self, at: float, until: float) -> tuple[Interactions, Interactions]:
        # Training queries have all their labels before the time, and test queries are decided from it on.
        sides = self.ends < at, (self.times >= at) & (self.times < until)
        for chosen, which in zip(sides, ("before", "from"), strict=True):
            if not chosen.any():
                raise InputError(
                    f"no query is {which} {iso(at)}: the decisions are from {iso(self.times[0])} to "
                    f"{iso(self.times[-1])}. Give a time between."
                )
        # Late purchases make queries that are on both sides of a time, so labels of the others are biased.
        before = self.times < at
        if n := int((before & (self.ends >= at)).sum()):
            relevant = np.add.reduceat(self.labels > 0.0, self.qptr[:-1], dtype=np.int64)
            lost = int(relevant[before & (self.ends >= at)].sum())
            warn(
                f"{n:,} of {int(before.sum()):,} queries before {iso(at)} have a label from after it and are "
                f"in neither part, with {lost:,} of {int(relevant[before].sum()):,} items with a label above "
                "0. So late labels, such as purchases, are too rare in the last queries before it. Leave "
                "these out too.",
                stacklevel=3,
            )
        return self.take(np.flatnonzero(sides[0])), self.take(np.flatnonzero(sides[1]))

    def rolling(self, k: int = 5) -> Iterator[tuple[Interactions, Interactions]]:
        """Yield k pairs of training and test queries, each split by time as in `split`.

        The queries, in the order of their decisions, are divided into k + 1 parts of equal size; part i is
        the test part for training on all queries that end before it.
        """
        n_periods = whole(k, "k") + 1
        if n_periods > len(np.unique(self.times)):
            raise InputError(f"k={k} needs {n_periods} different decisions; there are fewer. Type e.g. k=1.")
        # The last test part has no end.
        cuts = [*self.times[np.arange(1, n_periods) * self.n_queries // n_periods], np.inf]
        return (self._split(at, until) for at, until in itertools.pairwise(cuts))

    def leave_last_out(self) -> tuple[Interactions, Interactions]:
        """Hold out the last query of each user as test queries; a user's only query is for training.

        Training queries of other users may be later than a test query, as in most papers on recommendation;
        `split` separates by time.
        """
        # Queries are in the order of time, so the largest position is the last query of a user.
        _, user = np.unique(self.users.astype(str), return_inverse=True)
        last = np.zeros(int(user.max(initial=0)) + 1, dtype=np.int64)
        np.maximum.at(last, user, np.arange(self.n_queries))
        test = last[user] == np.arange(self.n_queries)
        test &= np.bincount(user)[user] > 1
        if not test.any():
            raise InputError("no user has two queries, so no last query can be held out; split by time.")
        return self.take(np.flatnonzero(~test)), self.take(np.flatnonzero(test))


def from_interactions(  # noqa: PLR0913 - all but the first are by name
    events: Any,
    *,
    user: Hashable | None = None,
    item: Hashable | None = None,
    time: Hashable | None = None,
    event: Hashable | None = None,
    session: Hashable | None = None,
    by: Literal["user", "session", "day"] = "day",
    grades: Mapping[Any, float] | None = None,
    decision: Any = None,
    candidates: Any = None,
    negatives: int | None = None,
    sampling: Literal["uniform", "popularity"] = "uniform",
    user_features: Any = None,
    item_features: Any = None,
    pair_features: Any = None,
    categorical: Iterable[Hashable] = (),
    history: bool = True,
    missing: Literal["error", "zero", "nan"] = "error",
    seed: int = 0,
) -> Interactions:
    """Build queries from events; labels are from the decision on, candidates and features from before it.

    Parameters
    ----------
    events : frame, dict of columns, or path of CSV, TSV, JSON lines, Parquet or Arrow
        One row per event.
    user, item, time, event, session : str or int, optional
        Columns. Default: the first known name, e.g. user_id. Times are seconds, dates or ISO 8601 text.
    by : {"session", "user", "day"}
        Unit of a query: a session, a user, or a user and a day, which begins at midnight UTC. For another
        time zone, give times in it without their zone.
    grades : mapping, optional
        Label of each kind of event; the highest one counts. Default: view 0, click 1, cart 2, purchase 3.
    decision : number, date or str, optional
        Decision time for ``by="user"``. Default: that in ``candidates``, else the user's last event.
    candidates : frame, dict or path, optional
        Items of each query, with its session or user and its decision as a time; or the catalog, with the
        times from which items exist. Default: items with an event before the decision.
    negatives, seed : int, optional
        Number of items without an event to sample for each query (default: all), and the seed.
    sampling : {"uniform", "popularity"}
        Sample items uniformly, or from earlier events with replacement, keeping each item once.
    user_features, item_features, pair_features : frame, dict or path, optional
        With times, the last row before the decision is used; it is an error if the only row is later.
    categorical : names
        Features that are categories although their type is not categorical.
    history : bool
        Add log(1 + number) of events before the decision by kind, and 1 / (1 + days since the last).
    missing : {"error", "zero", "nan"}
        Value of features without a row in a table; see `Queries.from_arrays`.

    Returns
    -------
    Interactions
        Only queries with candidates. Other items with events have no row, so no measure counts them.
        Identifiers are integers if the tables hold integers, else text. Warnings count relevant items that
        are no candidates; items whose events follow those of an earlier list, such as a purchase on a later
        day; and events that repeat an earlier one.

    Raises
    ------
    InputError
        If a value cannot be used, or a table of features is from after a decision.

    Examples
    --------
    >>> q = from_interactions({"user": list("abab"), "item": list("xyyx"), "time": [1, 2, 8, 9]}, by="user")
    >>> q.query_ids, list(q.doc_ids), q.labels  # the last event of each user, with what precedes it
    (('a', 'b'), ['x', 'y', 'x', 'y'], array([0., 1., 1., 0.]))
    """
    check_missing(missing)
    check_choice(by, "by", ("user", "session", "day"))
    check_choice(sampling, "sampling", ("uniform", "popularity"))
    reader = Reader(dict(user=user, item=item, time=time, event=event, session=session), categorical)
    sample = negatives, sampling, generator(seed)
    lists, past, pool = _lists(reader, events, candidates, by, grades, decision, sample)
    tables = dict(user_features=user_features, item_features=item_features, pair_features=pair_features)
    return _joined(reader, lists, past, pool, tables, missing, history=history)


def _lists(
    reader: Reader,
    events: Any,
    candidates: Any,
    by: str,
    grades: Mapping[Any, float] | None,
    decision: Any,
    sample: tuple[int | None, str, np.random.Generator],
) -> tuple[Decisions, History, CandidateRows]:
    """Return the lists of a table of events, the events before them, and their candidates."""
    log = read_events(reader, events, by, GRADES if grades is None else grades)
    table = None if candidates is None else read_candidates(reader, candidates, by)
    lists = lists_of(reader, log, table, by, decision)
    past = History(log, len(reader.numbers["item"].names), lists.times)
    positive, lowest = _positive(log, lists, past.n_items)
    if table is not None and table.keys is not None:
        _warn_of_unlisted(log, table, lists, past.n_items)
    # With one decision for all, each user has one list, which cannot follow another.
    elif decision is None:
        _warn_of_late(positive, lowest, lists, past)
    return lists, past, _pool(table, lists, past, positive, *sample)


def _check_categorical(reader: Reader, tables: list[FeatureTable]) -> None:
    names = [name for table in tables for name in table.names]
    for name in reader.categorical:
        if str(name) not in names:
            raise InputError(
                f"no table has a feature {name!r}, which should be categorical; the features are "
                f"{', '.join(names) or 'those of history alone'}. Correct the name, or leave it out."
            )


def _joined(
    reader: Reader,
    lists: Decisions,
    past: History,
    pool: CandidateRows,
    sources: Mapping[str, Any],
    missing: Literal["error", "zero", "nan"],
    *,
    history: bool,
) -> Interactions:
    """Return the candidates with their features, from ``past`` and tables, as queries."""
    tables = [reader.features(source, what) for what, source in sources.items() if source is not None]
    _check_categorical(reader, tables)
    log, columns = past.log, list[tuple[str, tuple[str, ...] | None]]()
    columns += [(name, None) for name in history_names(log.kind_names) if history]
    for table in tables:
        columns += zip(table.names, table.categories, strict=True)
    if not columns:
        raise InputError("there is no feature: give tables of features, or leave out history=False.")
    names, categories = feature_names([name for name, _ in columns], len(columns)), [c for _, c in columns]
    features = _features(reader, past if history else None, lists, pool, tables, len(columns), missing)
    starts = run_starts(pool.of)
    list_of_query = pool.of[starts]
    items, users = (object_array([*reader.numbers[key].identifiers, None]) for key in ("item", "user"))
    check_cells(
        features,
        "nan" if missing == "zero" else missing,
        names or (),
        lambda row: f"user {users[lists.users[pool.of[row]]]!r}, item {items[pool.item[row]]!r}",
    )
    ends = lists.times.copy()
    has_label = lists.of_event >= 0
    # Events are in the order of time, and of several assignments to one list the last one stays.
    ends[lists.of_event[has_label]] = log.times[has_label]
    q = Interactions(
        features,
        pool.grade,
        np.append(starts, len(pool.of)).astype(np.int64),
        tuple(lists.ids[list_of_query]),
        items[pool.item],
        names,
        np.arange(len(pool.of)),
        tuple(categories) if any(categories) else None,
        missing,
        times=lists.times[list_of_query],
        ends=ends[list_of_query],
        users=users[lists.users[list_of_query]],
        sampling=pool.probability,
    )
    return filled(q)


def _positive(log: EventTable, lists: Decisions, n_items: int) -> tuple[CandidateRows, Float64Array]:
    """Return the items with events in each list with their highest grades, and their lowest grades."""
    has_label = np.flatnonzero(lists.of_event >= 0)
    pairs, grades = lists.of_event[has_label] * n_items + log.items[has_label], log.grades[has_label]
    # Of several events of an item in a list, the one with the highest grade comes first.
    order = np.lexsort((-grades, pairs))
    starts = run_starts(pairs[order])
    ends = np.append(starts, len(order))[1:] - 1
    pairs = pairs[order[starts]]
    # The first event of each pair has its highest grade, and the last one its lowest.
    positive = CandidateRows(pairs // n_items, pairs % n_items, grades[order[starts]], np.ones(len(pairs)))
    return positive, grades[order[ends]]


def _pool(
    table: CandidateTable | None,
    lists: Decisions,
    past: History,
    positive: CandidateRows,
    negatives: int | None,
    sampling: str,
    rng: np.random.Generator,
) -> CandidateRows:
    """Return the candidates of all lists with their grades, sorted by list."""
    m, n_items = None if negatives is None else whole(negatives, "negatives"), past.n_items
    if table is not None and table.keys is not None:
        if sampling == "popularity":
            raise InputError(
                "sampling by popularity draws from a catalog, and each list has its own candidates. Leave it "
                "out."
            )
        pool = of_lists(np.unique(lists.of_candidate * n_items + table.items), positive, n_items, m, rng)
        why = "are not among the candidates of their query"
        effect = "they say how well the candidates are ordered, not what they lack."
    else:
        catalog = Catalog(_since(past.log, table, n_items))
        sizes = catalog.sizes(lists.times)
        is_there = catalog.place[positive.item] < sizes[positive.of]
        why = "had no event" if table is None else "are not in the catalog"
        why += " before the decision of their query"
        effect = "new items look worse than they are. Give a table of all items as candidates, with "
        effect += "the times from which they exist."
        kept = positive.take(np.flatnonzero(is_there))
        if m is None:
            n = int(sizes.sum())
            check_room(40 * n, f"{n:,} candidates", Advice("negatives"))
        if sampling == "popularity":
            if m is None:
                raise InputError(
                    "sampling by popularity needs a number of draws.",
                    Advice("negatives"),
                )
            drawn = popular(kept, catalog, sizes, past, m, rng)
        else:
            drawn = uniform(kept, catalog, sizes, m, rng)
        pool = CandidateRows._make(map(np.append, kept, drawn))
        # The order within a list must not tell the positives from the negatives.
        pool = pool.take(np.argsort(pool.of * n_items + pool.item))
    n_relevant, n_kept = (int((rows.grade > 0.0).sum()) for rows in (positive, pool))
    if n_kept < n_relevant:
        warn(
            f"{n_relevant - n_kept:,} of {n_relevant:,} items with a label above 0 {why} and have no row. "
            f"Measures of these queries do not count them: {effect}",
            stacklevel=4,
        )
    if not len(pool.of):
        raise InputError(
            "no list has a candidate: none is known before the decisions. Give more events, or candidates."
        )
    return pool


def _warn_of_late(positive: CandidateRows, lowest: Float64Array, lists: Decisions, past: History) -> None:
    """Warn of lists that only follow earlier ones; ``lowest`` is the lowest grade of an item in its list."""
    # An event is late if the user had one of a lower grade with the item before, such as a click before a
    # purchase.
    is_late = past.lowest_grades(positive.of, lists.users[positive.of], positive.item) < lowest
    others = np.bincount(positive.of[~is_late], minlength=len(lists.times))
    if alone := int((np.bincount(positive.of, minlength=len(others)) > others)[others == 0].sum()):
        warn(
            f"{alone:,} of {len(others):,} lists hold only later steps, such as a purchase, of items whose "
            "first steps are in an earlier list of the user. No user saw such a list, and a ranker that "
            f"repeats earlier events looks better on it than it is. {int(is_late.sum()):,} of "
            f"{int((positive.grade > 0.0).sum()):,} items with a label above 0 are such steps. Give these "
            "events the time, or session, of the list that showed the item.",
            stacklevel=4,
        )


def _warn_of_unlisted(log: EventTable, table: CandidateTable, lists: Decisions, n_items: int) -> None:
    """Warn of events that follow a list with the item, and are in none, such as a purchase on a later day."""
    order = np.argsort(lists.times[lists.of_candidate], kind="stable")
    list_of_row = lists.of_candidate[order]
    listed, first = np.unique(lists.users[list_of_row] * n_items + table.items[order], return_index=True)
    is_relevant = log.grades > 0.0
    events = np.flatnonzero(is_relevant & (lists.of_event < 0))
    place, is_listed = place_in(listed, log.users[events] * n_items + log.items[events])
    late = is_listed & (log.times[events] >= lists.times[list_of_row[first[place]]])
    if late.any():
        warn(
            f"{int(late.sum()):,} of {int(is_relevant.sum()):,} events with a label above 0 follow a list of "
            "their user with the item and are in no list, such as a purchase on a later day. They do not "
            "count. Give them the time, or session, of that list.",
            stacklevel=4,
        )


def _since(log: EventTable, table: CandidateTable | None, n_items: int) -> Float64Array:
    """Return the time after which each item can be a candidate, inf = never."""
    since = np.full(n_items, np.inf)
    if table is None:
        # An item is known from its first event, which is the last one in reverse.
        since[log.items[::-1]] = log.times[::-1]
    else:
        np.minimum.at(since, table.items, -np.inf if table.times is None else table.times)
    return since


def _features(
    reader: Reader,
    past: History | None,
    lists: Decisions,
    pool: CandidateRows,
    tables: list[FeatureTable],
    n_features: int,
    missing: str,
) -> Array:
    """Return the features of all candidates, (n_docs, n_features)."""
    # Counts of events need float32 alone; a table in float64 keeps its bits.
    dtype = np.result_type(np.float32, *(table.matrix.dtype for table in tables))
    check_room(
        len(pool.of) * n_features * dtype.itemsize,
        f"{n_features} features of {len(pool.of):,} candidates",
        "Give fewer negatives, or fewer events.",
    )
    out = np.empty((len(pool.of), n_features), dtype=dtype)
    codes = {"user": lists.users[pool.of], "item": pool.item}
    # The columns of the history come before those of the tables.
    column = n_features - sum(len(table.names) for table in tables)
    if past is not None:
        past.fill(out[:, :column], pool.of, *codes.values())
    for table in tables:
        width = len(table.names)
        asked = {key: codes[key] for key in table.keys}
        has_row = table.join(out[:, column : column + width], [*asked.values()], lists.times[pool.of])
        if missing == "error" and not has_row.all():
            row = int(np.argmin(has_row))
            key = " and ".join(
                f"{key} {(*reader.numbers[key].names, None)[code[row]]!r}" for key, code in asked.items()
            )
            raise InputError(
                f"{table.what}: no row of {key} is from before the decision at "
                f"{iso(lists.times[pool.of[row]])} (candidates without one: "
                f"{int((~has_row).sum()):,} of {len(has_row):,}).",
                Advice("missing-values"),
            )
        column += width
    return out
