"""Features of candidates from the events before each decision."""

from __future__ import annotations

import numpy as np

from directrix.data.interactions.lists import EventTable
from directrix.data.interactions.tables import DAY, place_in
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array, Int64Array

# Candidates whose features are computed together, so that what is looked up stays in the caches.
_ROWS = 1 << 16


class Spans:
    """Events by a key, such as the item, each in the order of time.

    Parameters
    ----------
    keys : int64 (n_events,)
        Key of each event, in the order of time.
    """

    def __init__(self, keys: Int64Array) -> None:
        self.order = np.argsort(keys, kind="stable")
        self.known, starts, self.sizes = np.unique(keys[self.order], return_index=True, return_counts=True)
        self._starts = starts.astype(np.int64)
        self._width = len(keys) + 1
        self._moments = keys[self.order] * self._width + self.order

    def spans(self, keys: Int64Array, n_before: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the start and end in `order` of each key's events before a moment.

        A moment is given as the number of events before it.
        """
        place, is_known = place_in(self.known, keys)
        first = self._starts[place]
        end = first.copy()
        end[is_known] = np.searchsorted(self._moments, keys[is_known] * self._width + n_before[is_known])
        return first, end


class History:
    """Events in the order of time, and the number of events before the decision of each list.

    The features are log(1 + number) for each kind of event, by item and by user and item, and 1 / (1 + days
    since the last event of user and item), 0 without one. Those of an unknown user are NaN.

    Parameters
    ----------
    log : EventTable
    n_items : int
    decisions : float64 (n_lists,)
    """

    def __init__(self, log: EventTable, n_items: int, decisions: Float64Array) -> None:
        self.log, self.n_items, self.decisions = log, n_items, decisions
        self.n_before = np.searchsorted(log.times, decisions).astype(np.int64)
        self.of_item = Spans(log.items)
        self.of_pair = Spans(log.users * n_items + log.items)

    def lowest_grades(self, list_of_row: Int64Array, users: Int64Array, items: Int64Array) -> Float64Array:
        """Return the lowest grade of the events of user and item before each list, inf without one."""
        grades, rank = np.unique(self.log.grades[self.of_pair.order], return_inverse=True)
        # Ranks are lower from one pair to the next, so that each pair's running minimum begins again.
        below = np.repeat(np.arange(len(self.of_pair.known)), self.of_pair.sizes) * len(grades)
        lowest = np.minimum.accumulate(rank - below) + below
        first, end = self.of_pair.spans(users * self.n_items + items, self.n_before[list_of_row])
        return np.where(end > first, grades[lowest[np.maximum(end - 1, 0)]], np.inf)

    def fill(self, out: Array, list_of_row: Int64Array, users: Int64Array, items: Int64Array) -> None:
        """Fill the columns of `history_names` for each candidate from the events before its list."""
        log, n_kinds = self.log, len(self.log.kind_names)
        indexes = self.of_item, self.of_pair
        counts = [
            [np.append(0, np.cumsum(log.kinds[index.order] == kind)) for kind in range(n_kinds)]
            for index in indexes
        ]

        def work(chunk: int) -> None:
            rows = slice(chunk * _ROWS, (chunk + 1) * _ROWS)
            cells, item, before = out[rows], items[rows], self.n_before[list_of_row[rows]]
            keys = item, users[rows] * self.n_items + item
            for key_kind in range(2):
                first, end = indexes[key_kind].spans(keys[key_kind], before)
                for kind, count in enumerate(counts[key_kind]):
                    cells[:, key_kind * n_kinds + kind] = np.log1p(
                        count[end] - count[first], dtype=np.float32
                    )
            last = log.times[self.of_pair.order[np.maximum(end - 1, 0)]]
            age = self.decisions[list_of_row[rows]] - np.where(end > first, last, -np.inf)
            cells[:, 2 * n_kinds] = 1.0 / (1.0 + age / DAY)
            # Nothing is known of an unknown user.
            cells[users[rows] < 0, n_kinds:] = np.nan

        run_chunks(work, -(-len(list_of_row) // _ROWS))


def history_names(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the features of `History.fill`."""
    return (
        *(f"item_{kind}" for kind in kinds),
        *(f"user_item_{kind}" for kind in kinds),
        "user_item_recency",
    )
