"""LETOR text from front to back, part by part, for files that do not fit into memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from directrix.data.files import readable
from directrix.data.grouping import run_starts
from directrix.data.letor.features import each_block
from directrix.data.letor.parser import Block, BlockParser
from directrix.data.letor.read import check_blocks, doc_ids_of, side_file, sizes_of
from directrix.data.parts import StartAgain, rows_as_queries
from directrix.data.queries import Queries
from directrix.errors import InputError

_LOOKED_AT = 16  # blocks of 1 MiB, from which the number of features is guessed
_MOST_FEATURES = 1 << 16


class LetorParts:
    """Rows of a LETOR file with dense float32 features, block by block.

    The first blocks tell how many features there are, and whether lines name documents. Where later lines
    hold more, all of the file is read once, and the next iteration knows it. Path and ``missing`` are as for
    `directrix.read_letor`.
    """

    def __init__(self, path: Path, missing: str) -> None:
        self._path, self._missing = path, missing
        with readable(path):
            self._side = side_file(path)
            first = list(itertools.islice(self._blocks(), _LOOKED_AT))
        self._ends = None if self._side is None else np.cumsum(sizes_of(self._side))
        self._width = max((block.width for block in first), default=0)
        self._has_docs = any(block.doc_ids is not None for block in first)

    def __iter__(self) -> Iterator[Queries]:
        """All rows in order.

        Raises `InputError` at the end, for all that `directrix.read_letor` finds wrong with the file; parts
        after the first bad line are not given. Raises `StartAgain` at the end, if later lines hold more than
        the first ones; the parts from there on are not given.
        """
        expected = width, has_docs = self._width, self._has_docs
        seen: list[Block] = []
        n_docs, is_good = 0, True
        with readable(self._path):
            for block in self._blocks():
                width, has_docs = max(width, block.width), has_docs or block.doc_ids is not None
                self._check_width(width)
                is_good = is_good and not block.n_problems and (width, has_docs) == expected
                if is_good and len(block.labels):
                    yield self._part(block, n_docs)
                n_docs += len(block.labels)
                seen.append(_without_rows(block))
            check_blocks(self._path, seen, self._side)
        if not is_good:
            self._width, self._has_docs = width, has_docs
            raise StartAgain

    def _blocks(self) -> Iterator[Block]:
        parser = BlockParser(
            self._path, np.dtype(np.float32), self._missing, 1, sparse=None, want_qid=self._side is None
        )
        return each_block(self._path, parser)

    def _part(self, block: Block, first: int) -> Queries:
        n = len(block.labels)
        features = np.zeros((n, self._width), dtype=np.float32)
        block.copy_into(features)
        qids = block.qids
        if self._ends is not None:
            qids = np.searchsorted(self._ends, np.arange(first, first + n), side="right")
        return rows_as_queries(
            first, features, block.labels, qids, doc_ids_of([block]) if self._has_docs else None
        )

    def _check_width(self, width: int) -> None:
        if width > _MOST_FEATURES:
            raise InputError(
                f"{self._path}: it has a feature {width}; Parquet and Arrow files hold all features of every "
                f"row, and at most {_MOST_FEATURES:,} are possible. Keep the text, whose zeros take no space."
            )


def _without_rows(block: Block) -> Block:
    """What `check_blocks` needs of a block: a few bytes for each run of one query."""
    starts = run_starts(block.qids)
    return replace(
        block,
        labels=np.broadcast_to(0.0, len(block.labels)),
        qids=block.qids[starts],
        lines=block.lines[starts],
        doc_ids=None,
        dense=None,
        csr=None,
    )
