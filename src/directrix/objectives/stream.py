"""Parts of queries whose features remain in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrix.data.grouping import rows_of
from directrix.data.queries import Queries
from directrix.data.stored import BLOCK_BYTES, block_bounds
from directrix.objectives.source import Gradient, InParts, Memory, Part
from directrix.threads import one_blas_thread, run_chunks
from directrix.types import Array, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Stream(InParts):
    """Queries whose features are `StoredFeatures`, for linear models.

    Features pass through memory in blocks of about 32 MiB: while all threads work on one block, another
    thread reads the next two. Labels, weights and what the surrogate prepares of them are kept.

    Notes
    -----
    A full gradient has the same bits as in memory: its parts are the same, and so is the order of their sums.

    An epoch visits the queries in an order that can be read (`reading_order`): blocks in the given order of
    their first queries, and the queries of a block in the given order. For a random order, both the blocks
    and the queries of a block are in random order. A batch lies in one block, so the last one of a block may
    be shorter.
    """

    def _rows(self, first: int, last: int) -> slice:
        # The rows are yet to be read.
        return slice(first, last)

    def gradients(self, work: Callable[[Part], Gradient], parts: Sequence[Part]) -> list[Gradient]:
        """Return ``work(part)`` for every part, block by block."""
        results: list[Any] = [None] * len(parts)
        groups = list(self._groups(parts))
        spans = [(parts[a].rows.start, parts[b - 1].rows.stop) for a, b in groups]
        for (begin, end), rows in zip(groups, self.queries.features.spans(spans), strict=True):
            # Defaults bind the block of this iteration, because threads call the function.
            def run(p: int, begin: int = begin, rows: Array = rows) -> None:
                part, offset = parts[begin + p], parts[begin].rows.start
                part_rows = rows[part.rows.start - offset : part.rows.stop - offset]
                results[begin + p] = work(part._replace(rows=part_rows))

            run_chunks(run, end - begin)
        return results

    def _groups(self, parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
        """Runs of parts that lie one after another in the file and fill a block."""
        # Rows whose features fill a block.
        most = BLOCK_BYTES // max(self.queries.n_features * self.queries.features.dtype.itemsize, 1)
        begin = 0
        for p in range(1, len(parts) + 1):
            if p < len(parts) and parts[p].rows.stop - parts[begin].rows.start <= most:
                continue
            yield begin, p
            begin = p

    def in_memory(self, queries: Int64Array) -> tuple[Memory, Int64Array]:
        """Read the features of some queries, one by one."""
        qptr, features = self.queries.qptr, self.queries.features
        rows = np.concatenate([features.read(int(qptr[q]), int(qptr[q + 1])) for q in queries])
        return self._memory(queries, rows), np.arange(len(queries))

    def epoch(self, order: Int64Array, steps: Callable[[Memory, Int64Array], float]) -> float:
        """Return the mean loss of ``steps`` over the blocks, each with the weight of its queries."""
        order = self.reading_order(order)
        block = self._block_of(order)
        # Each run of the order within one block is trained on while the features of that block are in memory.
        cuts = np.flatnonzero(np.diff(block)) + 1
        bounds = [(int(self._starts[b]), int(self._starts[b + 1])) for b in block[np.append(0, cuts)]]
        qptr, loss = self.queries.qptr, 0.0
        read = self.queries.features.spans([(int(qptr[a]), int(qptr[b])) for a, b in bounds])
        for run, (first, last), rows in zip(np.split(order, cuts), bounds, read, strict=True):
            loss += steps(self._memory(np.arange(first, last), rows), run - first) * len(run)
        return loss / len(order)

    def reading_order(self, order: Int64Array) -> Int64Array:
        """Return the same queries in the order in which an epoch visits them."""
        # Blocks are visited in the order in which their first queries come in the order that was given.
        _, first, which = np.unique(self._block_of(order), return_index=True, return_inverse=True)
        # A stable sort keeps the given order within each block.
        turn: Int64Array = order[np.argsort(first[which], kind="stable")]
        return turn

    @cached_property
    def _starts(self) -> Int64Array:
        """Query boundaries of the blocks, (n_blocks + 1,)."""
        q = self.queries
        bounds = block_bounds(q.qptr, q.n_features * q.features.dtype.itemsize)
        # Blocks end at boundaries of queries, so each boundary of rows is found among them.
        starts: Int64Array = np.append(np.searchsorted(q.qptr, bounds[:-1]), q.n_queries)
        return starts

    def _block_of(self, queries: Int64Array) -> Int64Array:
        block: Int64Array = np.searchsorted(self._starts, queries, side="right") - 1
        return block

    def _memory(self, queries: Int64Array, rows: Array) -> Memory:
        """Some queries, whose features are ``rows``, in memory; their weights keep the mean of all."""
        q = self.queries
        sizes = np.diff(q.qptr)[queries]
        docs = rows_of(q.qptr[queries], sizes)
        qptr, ids = np.append(0, np.cumsum(sizes)), tuple(range(len(queries)))
        some = Queries(rows, q.labels[docs], qptr, ids, None, None, np.arange(len(docs)))
        doc_weight = None if self.doc_weight is None else self.doc_weight[docs]
        return Memory.cut(some, self.surrogate, self.model, self.query_weight[queries], doc_weight)

    def convexified(self, params: Float64Array) -> Self:
        """Reject: it needs the scores of all documents at once."""
        raise self.queries.features.refusal("convexifying a surrogate (Dorm with CuttingPlane)")

    def scores(self, params: Float64Array) -> Any:
        """Return the model's scores of all documents, float (n_docs,); reads the file once."""
        with one_blas_thread():
            blocks = self.queries.features.blocks(self.queries.qptr)
            return np.concatenate([self.model.forward(params, rows)[0] for _, rows in blocks])


LOCAL: dict[str, type[InParts]] = {"memory": Memory, "file": Stream}
"""Sources in this process, by `Data.held`."""
