"""Dask frames as partitions: rows of a query may be in any of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from directrix.data.columns import ColumnNames, roles_of
from directrix.errors import InputError


def is_partitioned(data: Any) -> bool:
    """Whether this is a Dask frame; Dask is not imported to say no."""
    return hasattr(data, "npartitions") and hasattr(data, "get_partition")


def partitions(data: Any) -> Iterator[Any]:
    """Rows of one partition after another, in memory."""
    for number in range(data.npartitions):
        part = data.get_partition(number).compute()
        if len(part):
            yield part


def sizes_of_queries(data: Any, names: ColumnNames) -> dict[Hashable, int]:
    """Return the number of rows of every query; one pass over their column."""
    known = [str(name) for name in data.columns]
    qid = roles_of(known, names, "the frame", "directrix.write_shards(frame, folder").qid
    sizes: dict[Hashable, int] = {}
    for number in range(data.npartitions):
        column = data[qid].get_partition(number).compute()
        if column.isna().any():
            raise InputError(
                f"the frame: partition {number} has rows without a query in the column {qid!r}; every row "
                f"needs one. Leave them out: frame.dropna(subset=[{qid!r}])."
            )
        for query, count in column.value_counts(sort=False).items():
            if count:  # a category may have no rows
                sizes[query] = sizes.get(query, 0) + int(count)
    return sizes
