"""Features that stay in a file, whose rows are read ahead of their use.

A file with its number of rows and columns goes in. Blocks of whole queries come out, one after another::

    features = open_parquet("train.arrow").features
    for first, rows in features.blocks(queries.qptr):
        ...
"""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from directrix.data.checks import has_finite_sum
from directrix.data.files import Stamp, check_stamp, readable
from directrix.data.memory import check_room
from directrix.data.sparse import cell_of, columns_of_entries, entries
from directrix.data.statistics import Moments, block_rows, moments_of
from directrix.errors import Advice, InputError
from directrix.threads import query_chunks
from directrix.types import Array, Int64Array

BLOCK_BYTES = 32 << 20
"""Bytes of features that are read together; at most three blocks are in memory."""
# This number of blocks is read ahead while another one is used.
_AHEAD = 2


def block_bounds(qptr: Int64Array, bytes_per_row: int) -> Int64Array:
    """Split rows into blocks of whole queries, about 32 MiB each; return boundaries (n_blocks + 1,)."""
    return qptr[query_chunks(qptr, max(1, BLOCK_BYTES // max(bytes_per_row, 1)))]


def blocks(X: Any, qptr: Int64Array) -> Iterator[tuple[int, Any]]:
    """Yield (first row, block of whole queries) in memory; features in memory are one block."""
    return X.blocks(qptr) if hasattr(X, "blocks") else iter([(0, X)])


class Flaw(NamedTuple):
    """Features that are NaN, or infinite ones."""

    value: float
    """First value."""
    n: int
    where: str
    """Row of the first, in the arrays that were passed in."""
    column: int


def flaws_of(
    features: Any, qptr: Int64Array, rows: Int64Array, within: Array | None = None
) -> tuple[Flaw, ...]:
    """Return the features that are not finite, ``within`` some columns, without memory if all are finite."""
    flaws: dict[Any, Flaw] = {}
    for first, block in blocks(features, qptr):
        values = entries(block)
        if has_finite_sum(values):
            continue
        for is_bad in (np.isnan, np.isinf):
            bad = np.flatnonzero(is_bad(values))
            if within is not None:
                bad = bad[within[columns_of_entries(block, bad)]]
            if is_bad in flaws:
                flaws[is_bad] = flaws[is_bad]._replace(n=flaws[is_bad].n + len(bad))
            elif len(bad):
                row, column = cell_of(block, bad[0])
                value = float(values.ravel()[bad[0]])
                flaws[is_bad] = Flaw(value, len(bad), f"row {rows[first + row]}", column)
    return tuple(flaws.values())


Extent = tuple[int, Path, int]
"""Consecutive rows of a file: the number of the first one, the file, and the row's byte offset in it."""


@dataclass(frozen=True)
class RawRows:
    """Rows with the same bytes in files as in memory.

    ``name`` is for messages. The extents are in the order of the rows, without gaps. A file whose stamp is
    not among ``stamps`` has changed since it was opened, and is rejected.
    """

    name: str
    extents: tuple[Extent, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    stamps: tuple[Stamp, ...]

    def read(self, first: int, last: int, out: Array) -> None:
        """Read rows, with one system call per extent.

        Raises `InputError` if a file cannot be read, or is not the one that was opened.
        """
        width = self.shape[1] * self.dtype.itemsize
        if width == 0 or first == last:
            return
        target = out.reshape(-1).view(np.uint8).data
        # Extents are consecutive, so each ends where the next one begins.
        starts = [row for row, _, _ in self.extents] + [self.shape[0]]
        at = int(np.searchsorted(starts, first, side="right")) - 1
        row = first
        while row < last:
            end = min(last, starts[at + 1])
            begin, path, offset = self.extents[at]
            offset += (row - begin) * width
            with readable(path), path.open("rb", buffering=0) as file:
                check_stamp(self.stamps, path, os.fstat(file.fileno()))
                unread = target[(row - first) * width : (end - first) * width]
                # The system may read fewer bytes than asked for, and reads none at the end of the file.
                while len(unread):
                    n = os.preadv(file.fileno(), [unread], offset)
                    if n == 0:
                        raise InputError(
                            f"{path} ends within a row; a complete file is needed. Write or fetch it again."
                        )
                    unread, offset = unread[n:], offset + n
            row, at = end, at + 1


@dataclass(frozen=True, eq=False)
class StoredFeatures:
    """The features of `Queries` that are in a file and stay there; made by `directrix.data.open_parquet`.

    It cannot be converted to a matrix; code that can work block by block uses `blocks`.
    """

    source: Any
    """The file: ``name``, ``shape``, ``dtype``, and ``read(first, last, out)``, which fills an array."""
    chosen: Int64Array | None = None
    """Rows of the file that belong to these features; None = all."""
    scale: Callable[[Array, Int64Array], Array] | None = None
    """Function applied to rows of whole queries, and their boundaries, after they are read."""
    qptr: Int64Array | None = None
    """Query boundaries, for a scale."""
    n_columns: int = 1
    """Columns for each feature of the file after a scale."""

    ndim, held = 2, "file"

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and of features."""
        n_docs, n_features = self.source.shape
        return n_docs if self.chosen is None else len(self.chosen), n_features * self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        dtype: np.dtype[Any] = self.source.dtype
        return dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self.refusal("this")

    def astype(self, dtype: Any) -> NoReturn:
        """Reject this, like every use as a matrix."""
        raise self.refusal("this")

    def toarray(self) -> Array:
        """Return all rows in memory."""
        return self.read(0, len(self))

    def refusal(self, what: str) -> InputError:
        """Return the error for work that needs all features in memory."""
        return InputError(
            f"{self.source.name}: its features stay in the file, and {what} needs them in memory. Linear "
            'rankers that gradients train ("lbfgs", "cg", "sgd", "adam") read them block by block.',
            Advice("in-memory-or-part"),
        )

    def __getitem__(self, rows: Any) -> Any:
        """Return rows in memory for a slice, and `StoredFeatures` for an array of positions >= 0."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            return self.read(first, max(first, last))
        positions = None if isinstance(rows, slice | tuple) else np.atleast_1d(rows)
        if positions is None or positions.ndim > 1 or (len(positions) and positions.dtype.kind not in "iu"):
            raise self.refusal("work by columns, masks or steps")
        if self.scale is not None:
            raise self.refusal("a choice of scaled rows")
        chosen = positions.astype(np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(f"rows {chosen.min()} to {chosen.max()} of features with {len(self)}")
        return replace(self, chosen=chosen if self.chosen is None else self.chosen[chosen])

    def scaled(
        self, scale: Callable[[Array, Int64Array], Array], qptr: Int64Array, n_columns: int = 1
    ) -> StoredFeatures:
        """Return the same features, scaled as they are read; whole queries are then read."""
        return replace(self, scale=scale, qptr=qptr, n_columns=n_columns)

    def read(self, first: int, last: int, out: Array | None = None) -> Array:
        """Return the rows first <= i < last, in ``out`` if it is given and there is no scale."""
        if self.scale is None or self.qptr is None:
            return self._read(first, last, out)
        # A scale may need whole queries, so all documents of the first and last ones are read.
        a = int(np.searchsorted(self.qptr, first, side="right")) - 1
        b = max(a, int(np.searchsorted(self.qptr, last)))
        lo, hi = int(self.qptr[a]), int(self.qptr[b])
        rows = self._read(lo, hi, out)
        return self.scale(rows, self.qptr[a : b + 1] - lo)[first - lo : last - lo]

    def _read(self, first: int, last: int, out: Array | None) -> Array:
        n_features = self.source.shape[1]
        if out is None or len(out) < last - first or out.shape[1] != n_features:
            out = self._room_for(last - first, 1)[0]
        if self.chosen is None:
            self.source.read(first, last, out[: last - first])
        elif first < last:
            rows = self.chosen[first:last]
            # Consecutive rows of the file are read together.
            cuts = np.flatnonzero(np.diff(rows) != 1) + 1
            for a, b in itertools.pairwise([0, *cuts.tolist(), len(rows)]):
                self.source.read(int(rows[a]), int(rows[b - 1]) + 1, out[a:b])
        return out[: last - first]

    def _room_for(self, n_rows: int, n_blocks: int, n_columns: int = 0) -> list[Array]:
        """Return arrays for rows in the form of the file, or with another number of columns."""
        shape = (n_rows, n_columns or self.source.shape[1])
        check_room(
            n_blocks * math.prod(shape) * self.dtype.itemsize,
            f"{self.source.name}: {n_rows:,} rows with {shape[1]:,} features",
            Advice("fewer-features"),
        )
        return [np.empty(shape, self.dtype) for _ in range(n_blocks)]

    def moments(self, kind: str) -> Moments:
        """Return the moments of all rows for a kind of scale; the file is read once."""
        return moments_of(kind, self.shape[1], self.spans(itertools.pairwise(block_rows(self))))

    def rows(self, chosen: Int64Array) -> Array:
        """Return some rows, by ascending numbers, in memory; the file is read once."""
        out, bounds = np.empty((len(chosen), self.shape[1]), self.dtype), block_rows(self)
        cuts = np.searchsorted(chosen, bounds)
        for number, rows in enumerate(self.spans(itertools.pairwise(bounds))):
            first, last = cuts[number : number + 2]
            out[first:last] = rows[chosen[first:last] - bounds[number]]
        return out

    def blocks(self, qptr: Int64Array) -> Iterator[tuple[int, Array]]:
        """Yield all rows in order, as (first row, block of whole queries); see `spans`."""
        bounds = block_bounds(qptr, self.shape[1] * self.dtype.itemsize).tolist()
        return zip(bounds, self.spans(itertools.pairwise(bounds)), strict=False)

    def spans(self, spans: Iterable[tuple[int, int]]) -> Iterator[Array]:
        """Yield the rows of each span (first, last); a thread reads ahead while earlier rows are used.

        At most two spans are being read, and one is in use; it is read-only and valid until the next.
        """
        # A few buffers serve all spans: one in use, and those that are read ahead.
        wanted = list(spans)
        most = max((last - first for first, last in wanted), default=0)
        free = deque(self._room_for(most, min(_AHEAD + 1, len(wanted)), self.shape[1]))
        queue = iter(wanted)
        waiting: deque[tuple[Future[Array], Array]] = deque()
        with ThreadPoolExecutor(1, thread_name_prefix="directrix-read") as reader:

            def read_ahead() -> None:
                for first, last in itertools.islice(queue, _AHEAD - len(waiting)):
                    buffer = free.popleft()
                    waiting.append((reader.submit(self.read, first, last, buffer), buffer))

            try:
                read_ahead()
                while waiting:
                    future, buffer = waiting.popleft()
                    rows = future.result().view()
                    rows.flags.writeable = False
                    read_ahead()
                    yield rows
                    free.append(buffer)
            finally:
                # The caller may stop before the end, or fail; then nothing more is read.
                reader.shutdown(cancel_futures=True)
