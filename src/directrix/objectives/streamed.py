"""The objective of a linear ranker whose features stay in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from directrix.data.grouping import rows_of
from directrix.data.queries import Queries
from directrix.data.stored import BLOCK_BYTES, block_bounds
from directrix.objectives.linear import LinearObjective
from directrix.objectives.parts import Part
from directrix.threads import one_blas_thread, run_chunks
from directrix.types import Array, Float64Array, Int64Array

__all__ = ["StreamedObjective"]


class StreamedObjective(LinearObjective):
    """`LinearObjective` of `Queries` whose features are `StoredFeatures`; made by `linear_objective`.

    Features pass through memory in blocks of about 32 MiB: while all threads work on one block, another one
    reads the next two. Labels, weights and what the surrogate makes of them are kept.

    Notes
    -----
    A full gradient has the same bits as in memory: its parts are the same, and so is the order of their sums.

    An epoch of SGD goes through the queries in an order that can be read: the blocks in the order of their
    first query in the given one, the queries of a block in the given order (`reading_order`). For a random
    order that is: blocks in random order, queries of a block in random order.
    """

    def _each(self, parts: Any, params: Float64Array) -> list[tuple[float, Float64Array]]:
        results: list[tuple[float, Float64Array]] = [(0.0, params)] * len(parts)
        groups = list(self._groups(parts))
        spans = [(parts[a].rows.first, parts[b - 1].rows.last) for a, b in groups]
        for (begin, end), rows in zip(groups, self.queries.features.spans(spans), strict=True):
            here, before = parts[begin:end], parts[begin].rows.first

            def work(
                p: int, here: Any = here, before: int = before, begin: int = begin, rows: Array = rows
            ) -> None:
                span = here[p].rows
                part = here[p]._replace(rows=rows[span.first - before : span.last - before])
                results[begin + p] = self._part_value_and_grad(part, params)

            run_chunks(work, len(here))
        return results

    def _groups(self, parts: list[Part]) -> Iterator[tuple[int, int]]:
        """Runs of parts that lie one after another in the file and fill a block."""
        most = BLOCK_BYTES // max(self.queries.n_features * self.queries.features.itemsize, 1)
        begin = 0
        for p in range(1, len(parts) + 1):
            if p < len(parts) and parts[p].rows.last - parts[begin].rows.first <= most:
                continue
            yield begin, p
            begin = p

    def value_and_grad(
        self, params: Float64Array, queries: Int64Array | None = None
    ) -> tuple[float, Float64Array]:
        """Loss and gradient; see `Objective.value_and_grad`. Some queries are read one by one."""
        if queries is None:
            return super().value_and_grad(params)
        params, wanted = self._check_params(params), np.asarray(self._data.checked(queries), dtype=np.int64)
        qptr, features = self.queries.qptr, self.queries.features
        rows = np.concatenate([features.read(int(qptr[q]), int(qptr[q + 1])) for q in wanted])
        batch = np.arange(len(wanted))  # the way that memory takes, too: its sums have the same bits
        return self._in_memory(wanted, rows).value_and_grad(params, batch)

    def reading_order(self, order: Int64Array) -> Int64Array:
        """Return the same queries in the order in which an epoch goes through them."""
        _, first, which = np.unique(self._block_of(order), return_index=True, return_inverse=True)
        turn: Int64Array = order[np.argsort(first[which], kind="stable")]
        return turn

    def sgd_epoch(self, params: Float64Array, order: Int64Array, rate: float, batch: int = 1) -> float:
        """One epoch of Algorithm 1 in `reading_order`; a batch lies in one block."""
        return self._block_by_block(
            params, order, batch, lambda block, here: block.sgd_epoch(params, here, rate, batch)
        )

    def epoch(
        self, params: Float64Array, order: Int64Array, batch: int, step: Callable[[Float64Array], None]
    ) -> float:
        """Hand one batch after another to ``step``; see `Objective.epoch`.

        Queries are used in `reading_order`, and a batch lies in one block: its last one may be shorter.
        """
        return self._block_by_block(
            params, order, batch, lambda block, here: block.epoch(params, here, batch, step)
        )

    def _block_by_block(
        self,
        params: Float64Array,
        order: Int64Array,
        batch: int,
        epoch: Callable[[LinearObjective, Int64Array], float],
    ) -> float:
        """Mean of what the epochs of the blocks return, each with the weight of its queries."""
        loss, order = 0.0, self._checked_order(params, order, batch)
        for here, queries, rows in self._blocks_of(order):
            loss += epoch(self._in_memory(queries, rows), here - queries[0]) * len(here)
        return loss / len(order)

    @cached_property
    def _starts(self) -> Int64Array:
        """Query boundaries of the blocks, (n_blocks + 1,)."""
        q = self.queries
        bounds = block_bounds(q.qptr, q.n_features * q.features.itemsize)
        starts: Int64Array = np.append(np.searchsorted(q.qptr, bounds[:-1]), q.n_queries)
        return starts

    def _block_of(self, queries: Int64Array) -> Int64Array:
        block: Int64Array = np.searchsorted(self._starts, queries, side="right") - 1
        return block

    def _checked_order(self, params: Float64Array, order: Any, batch: Any) -> Int64Array:
        self._check_epoch(params, batch)
        return self.reading_order(np.asarray(self._data.checked(order), dtype=np.int64))

    def _blocks_of(self, order: Int64Array) -> Iterator[tuple[Int64Array, Int64Array, Array]]:
        """For every run of ``order`` within one block: that run, all queries of the block, its features."""
        block = self._block_of(order)
        cuts = np.flatnonzero(np.diff(block)) + 1
        bounds = [(int(self._starts[b]), int(self._starts[b + 1])) for b in block[np.append(0, cuts)]]
        qptr = self.queries.qptr
        read = self.queries.features.spans([(int(qptr[a]), int(qptr[b])) for a, b in bounds])
        return zip(np.split(order, cuts), (np.arange(a, b) for a, b in bounds), read, strict=True)

    def _in_memory(self, queries: Int64Array, rows: Array) -> LinearObjective:
        """The objective of some queries, whose features are ``rows``, with their weights in here."""
        q = self.queries
        sizes = np.diff(q.qptr)[queries]
        docs = rows_of(q.qptr[queries], sizes)
        qptr, ids = np.append(0, np.cumsum(sizes)), tuple(range(len(queries)))
        part = LinearObjective.__new__(LinearObjective)  # its constructor would bring weights to a mean of 1
        part.__dict__.update(self.__dict__)
        part.queries = Queries(rows, q.labels[docs], qptr, ids, None, None, np.arange(len(docs)))
        part._query_weight = self._query_weight[queries]
        part._doc_weight = None if self._doc_weight is None else self._doc_weight[docs]
        part._data = part._cut()
        return part

    def held(self, params: Float64Array) -> Self:
        """Refused: what is held are the scores of all documents at once."""
        raise self.queries.features.refusal("holding a surrogate (Dorm with CuttingPlane)")

    def scores(self, params: Float64Array) -> Any:
        """The model's scores of all documents, float (n_docs,); one read of the file."""
        params, q = self._check_params(params), self.queries
        with one_blas_thread():
            return np.concatenate(
                [self.model.forward(params, rows)[0] for _, rows in q.features.blocks(q.qptr)]
            )
