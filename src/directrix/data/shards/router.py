"""Send queries to shards, and describe what the shards then hold."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.frames import check_features
from directrix.data.queries import Queries
from directrix.data.shards.manifest import Manifest, Shard
from directrix.data.statistics import moments_of
from directrix.data.stored import StoredFeatures
from directrix.data.tables.read import open_parquet, read_parquet
from directrix.data.tables.write import write_parquet, writing
from directrix.errors import InputError, short_text
from directrix.threads import run_chunks

_BUFFERS = 512 << 20  # bytes of features that wait to be written, of all shards together
_LEAST, _MOST = 1 << 20, 16 << 20  # of one shard


def blocks_of(q: Queries) -> Iterator[Queries]:
    """Queries whose features are in a file, block by block."""
    if not isinstance(q.features, StoredFeatures):
        yield q
        return
    for first, rows in q.features.blocks(q.qptr):
        last = first + len(rows)
        a, b = np.searchsorted(q.qptr, [first, last])
        check_features(rows, "nan")
        # what is written later must not be overwritten by the next block
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
    """Sends queries to shards, and remembers where each went."""

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
        return self.folder / f"shard-{number:03d}.arrow"

    def route(
        self, stack: contextlib.ExitStack, parts: Iterable[Queries], sizes: dict[Hashable, int] | None
    ) -> None:
        """Send parts to shards; ``sizes`` are those of all queries, if a query may be in any of the parts."""
        for part in parts:
            if not part.n_docs:
                continue
            lengths = np.diff(part.qptr).tolist()
            places = [
                self._place_of(query, length if sizes is None else sizes[query])
                for query, length in zip(part.query_ids, lengths, strict=True)
            ]
            for number in sorted(set(places)):
                wanted = np.flatnonzero(np.array(places) == number)
                self._add(stack, number, part if len(wanted) == part.n_queries else part.take(wanted))
            self._last = part.query_ids[-1]

    def _place_of(self, query: Hashable, n_docs: int) -> int:
        if query in self._place:
            place = self._place[query]
            if query != self._last:
                self._scattered.add(place)
            return place
        load, number = heapq.heappop(self._loads)
        heapq.heappush(self._loads, (load + n_docs, number))
        self._place[query] = number
        return number

    def route_each(self, stack: contextlib.ExitStack, parts: Sequence[Any]) -> None:
        """Make a shard of each part."""
        for number, part in enumerate(parts):
            if not isinstance(part, Queries):
                raise InputError(
                    f"entry {number} of the list for write_shards is {short_text(part)}, a "
                    f"{type(part).__name__}; Queries are needed."
                )
            for query in part.query_ids:
                if (other := self._place.setdefault(query, number)) != number:
                    raise InputError(
                        f"query {query!r} is in shards {other} and {number}; all documents of a query "
                        "must be in one. Give the data as one, which is then cut between queries."
                    )
            for block in blocks_of(part):
                if block.n_docs:
                    self._add(stack, number, block)
                elif self._form is None:
                    self._form = block

    def _add(self, stack: contextlib.ExitStack, number: int, q: Queries) -> None:
        if q.categories is not None and any(names is not None for names in q.categories):
            raise InputError(
                "the data have columns of categories, and shards hold numbers: trees, which split by "
                "categories, are not trained on shards. Leave them out, or give each category a column of 0 "
                "and 1, e.g. pandas.get_dummies(frame)."
            )
        if self._form is None or not self._form.n_docs:
            self._form = q
        mine, theirs = _form_of(self._form), _form_of(q)
        if mine != theirs:
            raise InputError(
                f"parts of the data have {mine} and {theirs}; all must have the same features. Compare how "
                "they were written."
            )
        if number not in self._writers:
            size = min(_MOST, max(_LEAST, _BUFFERS // self.n_shards))
            self._writers[number] = stack.enter_context(writing(self.path(number), group_bytes=size))
        self._writers[number](q)

    def gather(self) -> None:
        """Bring the rows of each query together, in shards where they are not."""
        for number in sorted(self._scattered):
            write_parquet(read_parquet(self.path(number), missing="nan"), self.path(number))

    def manifest(self, target: Path) -> Manifest:
        """Return what is in the shards, by reading them."""
        if self._form is None or not self._writers:
            raise InputError(f"{target} was not written: there are no rows. Give at least one document.")
        facts: list[Any] = [None] * self.n_shards

        def look(number: int) -> None:
            facts[number] = _facts(self.path(number))

        run_chunks(look, self.n_shards)
        known = [fact for fact in facts if fact is not None]
        moments, labels = known[0][2], dict[float, int]()
        for _, _, other, _ in known[1:]:
            moments = moments.and_those_of(other)
        for _, counts, _, _ in known:
            for level, count in counts.items():
                labels[level] = labels.get(level, 0) + count
        known_values = moments.number > 0
        if not all(np.isfinite(row[known_values]).all() for row in moments):
            raise InputError(
                f"{target} was not written: features are infinite, or too large for squares of them. Clip "
                "them, e.g. numpy.clip(X, -1e30, 1e30)."
            )
        return Manifest(
            tuple(Shard("", "", 0, 0, 0) if fact is None else fact[0] for fact in facts),
            self._form.n_features,
            self._form.features.dtype.name,
            labels,
            sum(ordered for _, _, _, ordered in known),
            moments,
            self._form.feature_names,
        )


def _form_of(q: Queries) -> str:
    names = "" if q.feature_names is None else f" ({', '.join(q.feature_names[:3])}, ...)"
    return f"{q.n_features:,} features {q.features.dtype}{names}"


def _facts(path: Path) -> Any:
    """What the manifest says of one file; None if it was not written."""
    if not path.exists():
        return None
    q = open_parquet(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    shard = Shard(path.name, digest, path.stat().st_size, q.n_queries, q.n_docs)
    values, counts = np.unique(q.labels, return_counts=True)
    begins = q.qptr[:-1]
    ordered = np.minimum.reduceat(q.labels, begins) < np.maximum.reduceat(q.labels, begins)
    moments = moments_of("standard", q.n_features, (rows for _, rows in q.features.blocks(q.qptr)))
    return shard, dict(zip(values.tolist(), counts.tolist(), strict=True)), moments, int(ordered.sum())
