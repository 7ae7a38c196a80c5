"""Write a data set as shards: Arrow files of whole queries, and their manifest.

A data set of any kind goes in. A folder comes out, with about the same number of documents in every file::

    write_shards("train.parquet", "shards", n_shards=64)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import heapq
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.columns import ColumnNames, column_list, roles_of
from directrix.data.file import DataFile
from directrix.data.files import path_of
from directrix.data.frames import check_features, is_frame
from directrix.data.missing import MISSING, check_finite, check_missing, stated
from directrix.data.queries import Queries, need_queries, of_frame
from directrix.data.shards.manifest import Manifest, Shard, file_of
from directrix.data.statistics import Moments, moments_of
from directrix.data.tables.read import open_parquet, read_parquet
from directrix.data.tables.write import write_parquet, writing
from directrix.errors import InputError, short_text
from directrix.parameters import whole
from directrix.threads import run_chunks

# Files that are open at once.
_MOST_SHARDS = 512
# Bytes of features that wait to be written, of all shards together.
_BUFFERS = 512 << 20
# The least and the largest number of these bytes for one shard.
_LEAST, _MOST = 1 << 20, 16 << 20


def write_shards(  # noqa: PLR0913
    data: Any,
    folder: str | os.PathLike[str],
    n_shards: int = 64,
    *,
    qid: Hashable | None = None,
    label: Hashable | None = None,
    doc_id: Hashable | None = None,
    features: Any = None,
    missing: str = "error",
) -> Path:
    """Write a data set as shards of whole queries, with about equal numbers of documents.

    Every query goes to the shard with the fewest documents so far, the first of equals. So the shards depend
    only on the rows and their order, not on their partitions.

    Parameters
    ----------
    data : Queries, path, frame or Dask frame, or list of Queries
        A file of data of any format, or a folder of Parquet files, which are read in parts; a frame
        for `Queries.from_frame`; or a Dask frame with any partitions, whose rows are grouped by query. Each
        entry of a list, which may be empty, becomes one shard.
    folder : path
        A folder that does not exist yet or is empty. It appears when all of it is written.
    n_shards : int >= 1 and <= 512
        Number of shards; if it exceeds the number of queries, some are empty. A few shards per worker balance
        the work. Not for a list.
    qid, label, doc_id, features : optional
        Names of columns, as in `Queries.from_frame`.
    missing : {"error", "zero", "nan"}
        Meaning of missing values, which the manifest keeps. For `Queries` that state one, theirs.

    Returns
    -------
    Path
        The folder: ``shard-000.arrow``, ... and ``shards.json``, which holds SHA-256, sizes and counts of
        every file, a histogram of the labels, and the moments of every feature.

    Raises
    ------
    InputError
        If data cannot be read, a query is in two entries of a list, or the folder is not empty.
    MissingExtra
        If pyarrow is not installed.

    Notes
    -----
    It needs memory for a block of the data, at most 512 MiB of buffers, one entry for each query, and for a
    Dask frame one partition, then one shard. Files are read twice more for statistics and digests.

    Examples
    --------
    >>> import directrix as dx, json, pathlib, tempfile
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> folder = dx.write_shards(q, pathlib.Path(tempfile.mkdtemp(), "shards"), n_shards=3)
    >>> [shard["documents"] for shard in json.loads((folder / "shards.json").read_text())["shards"]]
    [70, 70, 60]
    """
    names = ColumnNames.of(qid, label, doc_id, features)
    return write_shards_of(data, path_of(folder), n_shards, names, missing)


def write_shards_of(data: Any, target: Path, n_shards: int, names: ColumnNames, missing: str) -> Path:
    """Write shards; see `write_shards`."""
    check_missing(missing)
    is_list = isinstance(data, list | tuple)
    n_shards = len(data) if is_list else whole(n_shards, "n_shards", "write_shards")
    if n_shards > _MOST_SHARDS:
        raise InputError(f"n_shards={n_shards}: at most {_MOST_SHARDS}, whose files are open at once.")
    if not n_shards:
        raise InputError("write_shards got an empty list; one entry of Queries for each shard is needed.")
    with _folder(target) as folder:
        router = Router(folder, n_shards)
        with contextlib.ExitStack() as stack:
            if is_list:
                for number, entry in enumerate(data):
                    need_queries(entry, f"entry {number} of the list for write_shards")
                    for block in blocks_of(entry, missing):
                        router.add(stack, block, number=number)
            else:
                # The rows of a query may be in several partitions, so its size is counted first.
                sizes = sizes_of_queries(data, names) if is_partitioned(data) else None
                for block in _blocks(data, names, missing):
                    router.add(stack, block, sizes)
        router.gather()
        stated = (part.missing for part in (data if is_list else [data]) if isinstance(part, Queries))
        router.manifest(target, max([missing, *stated], key=MISSING.index)).write(folder)
    return target


@contextlib.contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Create a folder that gets its name only if the block ends without error."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists already; remove it, or name a folder that does not.")
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        unfinished.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}. Name another folder.") from error
    try:
        yield unfinished
        if target.exists():
            target.rmdir()
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _blocks(data: Any, names: ColumnNames, missing: str) -> Iterable[Queries]:
    """Return data as consecutive blocks of rows; the last query of a block may continue in the next."""
    if isinstance(data, Queries):
        return blocks_of(data, missing)
    if isinstance(data, str | os.PathLike):
        return DataFile(data, names).blocks(missing)
    if is_partitioned(data):
        return (of_frame(rows, names, missing) for rows in partitions(data))
    if is_frame(data):
        return [of_frame(data, names, missing)]
    raise InputError(
        f"write_shards got {short_text(data)}, a {type(data).__name__}; Queries, a list of them, a path or a "
        "frame is needed. Type directrix.Queries.from_arrays(X, y, qid=qid)."
    )


def blocks_of(q: Queries, missing: str) -> Iterator[Queries]:
    """Queries, those whose features are in a file block by block; ``missing`` is for values without one."""
    q = stated(q, missing)
    if q.held == "memory":
        check_finite(q, "the data", allow_missing=True)
        yield q
        return
    for first, rows in q.features.blocks(q.qptr):
        last = first + len(rows)
        a, b = np.searchsorted(q.qptr, [first, last])
        check_features(rows, q.missing)
        # Rows that are written later must not be overwritten by the next block.
        yield Queries(
            rows.copy(),
            q.labels[first:last],
            q.qptr[a : b + 1] - first,
            q.query_ids[a:b],
            None if q.doc_ids is None else q.doc_ids[first:last],
            q.feature_names,
            np.arange(first, last),
            q.categories,
        )


class Router:
    """Sends queries to shards, and remembers the shard of each."""

    def __init__(self, folder: Path, n_shards: int) -> None:
        self.folder, self.n_shards = folder, n_shards
        self._place: dict[Hashable, int] = {}
        self._loads = [(0, number) for number in range(n_shards)]
        self._writers: dict[int, Callable[[Queries], None]] = {}
        self._scattered: set[int] = set()
        self._last: Hashable = None
        self._form: Queries | None = None

    def path(self, number: int) -> Path:
        """File of a shard."""
        return self.folder / file_of(number)

    def add(
        self,
        stack: contextlib.ExitStack,
        block: Queries,
        sizes: dict[Hashable, int] | None = None,
        number: int | None = None,
    ) -> None:
        """Send queries to shards, or all to one.

        ``sizes`` are those of all queries, if the rows of a query may be in several blocks.
        """
        if not block.n_docs:
            self._form = self._form or block
            return
        lengths = np.diff(block.qptr).tolist()
        places = [
            self._place_of(query, length if sizes is None else sizes[query], number)
            for query, length in zip(block.query_ids, lengths, strict=True)
        ]
        for place in sorted(set(places)):
            wanted = np.flatnonzero(np.array(places) == place)
            self._write(stack, place, block if len(wanted) == block.n_queries else block.take(wanted))
        self._last = block.query_ids[-1]

    def _place_of(self, query: Hashable, n_docs: int, number: int | None) -> int:
        if query not in self._place:
            # The heap gives the shard with the fewest documents, and of equals the first.
            if number is None:
                load, number = heapq.heappop(self._loads)
                heapq.heappush(self._loads, (load + n_docs, number))
            self._place[query] = number
            return number
        place = self._place[query]
        if number not in (None, place):
            raise InputError(
                f"query {query!r} is in shards {place} and {number}; all documents of a query must be in "
                "one. Give the data as one, which is then cut between queries."
            )
        # A query that comes back after others has its rows in several places of its shard.
        if number is None and query != self._last:
            self._scattered.add(place)
        return place

    def _write(self, stack: contextlib.ExitStack, number: int, q: Queries) -> None:
        if q.categories is not None and any(names is not None for names in q.categories):
            raise InputError(
                "the data have columns of categories, and shards hold numbers: trees, which split by "
                "categories, are not trained on shards. Leave them out, or give each category a column of 0 "
                "and 1, e.g. pandas.get_dummies(frame)."
            )
        if self._form is None or not self._form.n_docs:
            self._form = q
        mine, theirs = (
            (rows.n_features, rows.features.dtype, rows.feature_names) for rows in (self._form, q)
        )
        if mine != theirs:
            first, second = (
                f"{n:,} features {dtype}" + ("" if names is None else f" ({column_list(names)})")
                for n, dtype, names in (mine, theirs)
            )
            raise InputError(
                f"parts of the data have {first} and {second}; all must have the same features, by the same "
                "names. Compare how they were written."
            )
        if number not in self._writers:
            size = min(_MOST, max(_LEAST, _BUFFERS // self.n_shards))
            self._writers[number] = stack.enter_context(writing(self.path(number), group_bytes=size))
        self._writers[number](q)

    def gather(self) -> None:
        """Group the rows of each query in shards where they are scattered."""
        for number in sorted(self._scattered):
            write_parquet(read_parquet(self.path(number), missing="nan"), self.path(number))

    def manifest(self, target: Path, missing: str) -> Manifest:
        """Return the manifest, by reading the shards."""
        if self._form is None or not self._writers:
            raise InputError(f"{target} was not written: there are no rows. Give at least one document.")
        facts: list[Any] = [None] * self.n_shards

        def look(number: int) -> None:
            path = self.path(number)
            # A shard without queries has no file.
            if not path.exists():
                return
            q = open_parquet(path)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            shard = Shard(path.name, digest, path.stat().st_size, q.n_queries, q.n_docs)
            moments = moments_of("standard", q.n_features, (rows for _, rows in q.features.blocks(q.qptr)))
            facts[number] = shard, q.label_counts, moments, q.n_ordered

        run_chunks(look, self.n_shards)
        _, labels, of_shards, ordered = zip(*(fact for fact in facts if fact is not None), strict=True)
        moments: Moments = functools.reduce(Moments.combine, of_shards)
        # A feature without any value has an infinite minimum and maximum.
        has_values = moments.number > 0
        if not all(np.isfinite(row[has_values]).all() for row in moments):
            raise InputError(
                f"{target} was not written: features are infinite, or too large for squares of them. Clip "
                "them, e.g. numpy.clip(X, -1e30, 1e30)."
            )
        return Manifest(
            tuple(Shard("", "", 0, 0, 0) if fact is None else fact[0] for fact in facts),
            self._form.n_features,
            self._form.features.dtype.name,
            dict(sum(map(Counter, labels), Counter())),
            sum(ordered),
            moments,
            self._form.feature_names,
            missing,
        )


def is_partitioned(data: Any) -> bool:
    """Whether this is a Dask frame; the check does not import Dask."""
    return hasattr(data, "npartitions") and hasattr(data, "get_partition")


def partitions(data: Any) -> Iterator[Any]:
    """Yield the rows of one partition after another, in memory."""
    for number in range(data.npartitions):
        rows = data.get_partition(number).compute()
        if len(rows):
            yield rows


def sizes_of_queries(data: Any, names: ColumnNames) -> dict[Hashable, int]:
    """Return the number of rows of every query; one pass over their column."""
    columns = [str(name) for name in data.columns]
    qid = roles_of(columns, names, "the frame", "directrix.write_shards(frame, folder").qid
    sizes: dict[Hashable, int] = {}
    for number in range(data.npartitions):
        column = data[qid].get_partition(number).compute()
        if column.isna().any():
            raise InputError(
                f"the frame: partition {number} has rows without a query in the column {qid!r}; every row "
                f"needs one. Leave them out: frame.dropna(subset=[{qid!r}])."
            )
        for query, count in column.value_counts(sort=False).items():
            # A category may have no rows.
            if count:
                sizes[query] = sizes.get(query, 0) + int(count)
    return sizes
