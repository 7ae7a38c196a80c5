"""Candidates of each group: listed items, or negatives sampled from a catalog, with probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directrix.data.grouping import rows_of, run_starts
from directrix.data.interactions.history import History
from directrix.data.memory import check_room
from directrix.errors import Advice
from directrix.types import Array, Float64Array, Int64Array

# Numbers that are drawn together, so that the arrays of a block of groups stay small.
_CELLS = 1 << 22


class CandidateRows(NamedTuple):
    """Candidates of all groups, sorted by list."""

    of: Int64Array
    """List of each row."""
    item: Int64Array
    grade: Float64Array
    probability: Float64Array
    """Probability with which each row is a candidate of its list."""

    def take(self, rows: Array) -> CandidateRows:
        """Return some of the rows."""
        return CandidateRows._make(column[rows] for column in self)


def of_lists(
    pairs: Int64Array, positive: CandidateRows, n_items: int, m: int | None, rng: np.random.Generator
) -> CandidateRows:
    """Return the items listed for each group; of those without an event, a sample of at most m.

    ``pairs`` are sorted, each ``group * n_items + item`` once.
    """
    positive_pairs = positive.of * n_items + positive.item
    _, at, where = np.intersect1d(pairs, positive_pairs, assume_unique=True, return_indices=True)
    pool = CandidateRows(pairs // n_items, pairs % n_items, np.zeros(len(pairs)), np.ones(len(pairs)))
    pool.grade[at] = positive.grade[where]
    if m is None:
        return pool
    # Items with an event always stay, and some of the others are drawn.
    is_kept = np.zeros(len(pairs), dtype=bool)
    is_kept[at] = True
    other = np.flatnonzero(~is_kept)
    starts = run_starts(pool.of[other])
    sizes = np.diff(starts, append=len(other))
    groups, rank = _drawn(sizes, m, rng)
    pool.probability[other] = np.repeat(np.minimum(1.0, m / sizes), sizes)
    is_kept[other[starts[groups] + rank]] = True
    return pool.take(np.flatnonzero(is_kept))


class Catalog:
    """Items in the order in which they become available.

    Parameters
    ----------
    since : float64 (n_items,)
        Time after which each item can be a candidate, inf = never.
    """

    def __init__(self, since: Float64Array) -> None:
        self.order = np.argsort(since, kind="stable")
        self.place = np.empty(len(since), dtype=np.int64)
        self.place[self.order] = np.arange(len(since))
        self._times = since[self.order]

    def sizes(self, decisions: Float64Array) -> Int64Array:
        """Return the number of items that are available before each decision."""
        return np.searchsorted(self._times, decisions).astype(np.int64)


def uniform(
    positive: CandidateRows, catalog: Catalog, sizes: Int64Array, m: int | None, rng: np.random.Generator
) -> CandidateRows:
    """Return m negatives per group, sampled from the catalog without replacement; None: all of them.

    The probability of each is min(1, m / number of available items without an event in the group).
    """
    n_groups = len(sizes)
    by_place = np.lexsort((catalog.place[positive.item], positive.of))
    group, place = positive.of[by_place], catalog.place[positive.item[by_place]]
    counts = np.bincount(group, minlength=n_groups)
    first = np.cumsum(counts) - counts
    left = sizes - counts
    if m is None:
        groups, rank = np.repeat(np.arange(n_groups), left), rows_of(np.zeros_like(left), left)
    else:
        groups, rank = _drawn(left, m, rng)
    # A negative is the rank-th of the remaining items, so its place is shifted by the number of positives
    # before it.
    width = len(catalog.order) + 1
    gaps = group * width + place - (np.arange(len(group)) - first[group])
    moved = rank + np.searchsorted(gaps, groups * width + rank, side="right") - first[groups]
    probability = np.ones(len(groups)) if m is None else np.minimum(1.0, m / np.maximum(left, 1))[groups]
    return CandidateRows(groups, catalog.order[moved], np.zeros(len(groups)), probability)


def popular(
    positive: CandidateRows,
    catalog: Catalog,
    sizes: Int64Array,
    history: History,
    m: int,
    rng: np.random.Generator,
) -> CandidateRows:
    """Return the items of m events sampled with replacement before each decision; each item occurs once.

    The probability is 1 - (1 - p)^m, where p is the share of the item among these events. Items with an event
    in the group, and unavailable items, are excluded.
    """
    n_before, n_items = history.n_before, len(catalog.order)
    check_room(40 * m * len(n_before), f"{m:,} draws for {len(n_before):,} lists", Advice("negatives"))
    groups = np.repeat(np.flatnonzero(n_before), m)
    drawn = history.log.items[rng.integers(0, n_before[groups])]
    pairs = np.setdiff1d(groups * n_items + drawn, positive.of * n_items + positive.item)
    group, item = pairs // n_items, pairs % n_items
    is_there = catalog.place[item] < sizes[group]
    group, item = group[is_there], item[is_there]
    first, end = history.of_item.spans(item, n_before[group])
    share = (end - first) / n_before[group]
    return CandidateRows(group, item, np.zeros(len(group)), 1.0 - (1.0 - share) ** m)


def _drawn(sizes: Int64Array, m: int, rng: np.random.Generator) -> tuple[Int64Array, Int64Array]:
    """Sample min(m, size) different numbers below the size of each group; return groups and numbers.

    Floyd's algorithm (Bentley & Floyd 1987), for many groups at once.
    """
    groups, numbers = [], []
    m = min(m, int(sizes.max(initial=0)))
    total = int(np.minimum(sizes, m).sum())
    check_room(40 * total, f"{total:,} candidates", Advice("negatives"))
    at_once = max(_CELLS // max(m, 1), 1)
    for low in range(0, len(sizes), at_once):
        size = sizes[low : low + at_once]
        n = np.minimum(size, m)
        chosen = np.full((len(size), m), -1, dtype=np.int64)
        for j in range(int(n.max(initial=0))):
            top = size - n + j
            number = rng.integers(0, np.maximum(top, 0) + 1)
            is_taken = (chosen[:, :j] == number[:, None]).any(axis=1)
            chosen[:, j] = np.where(is_taken, top, number)
        row, column = np.nonzero(np.arange(m) < n[:, None])
        groups.append(row + low)
        numbers.append(chosen[row, column])
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *groups]), np.concatenate([empty, *numbers])
