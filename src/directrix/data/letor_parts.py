"""LETOR text from front to back, part by part, for files that do not fit into memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from directrix.data.arrow_stream import Part
from directrix.data.blocks import readable
from directrix.data.letor import check_blocks, side_file, sizes_of
from directrix.data.letor_blocks import Block, BlockParser
from directrix.data.letor_features import each_block
from directrix.errors import InputError
from directrix.types import Array, Int64Array

__all__ = ["TextParts", "Wider"]

_LOOKED_AT = 16  # blocks of 1 MiB, from which the number of features is guessed
_MOST_FEATURES = 1 << 16


class Wider(Exception):
    """Lines further down hold more than the first; the exception says what all of the file holds."""

    def __init__(self, width: int, *, has_docs: bool) -> None:
        super().__init__(width, has_docs)
        self.width, self.has_docs = width, has_docs


class TextParts:
    """Rows of a LETOR file with dense float32 features, block by block.

    Parameters
    ----------
    path : Path
        As for `directrix.read_letor`.
    missing : {"error", "zero", "nan"}

    Attributes
    ----------
    width : int
        Number of features; a guess until `Wider` was raised, or the file read to its end.
    has_docs : bool
        Whether lines have identifiers of documents; likewise.
    """

    def __init__(self, path: Path, missing: str) -> None:
        self._path, self._missing = path, missing
        with readable(path):
            self._side = side_file(path)
            first = list(itertools.islice(self._blocks(), _LOOKED_AT))
        self._ends = None if self._side is None else np.cumsum(sizes_of(self._side))
        self.width = max((block.width for block in first), default=0)
        self.has_docs = any(block.doc_ids is not None for block in first)

    def expect(self, found: Wider) -> None:
        """Take what `Wider` said, for the next time through the file."""
        self.width, self.has_docs = found.width, found.has_docs

    def __iter__(self) -> Iterator[Part]:
        """All rows in order.

        Raises
        ------
        InputError
            At the end, for all that `directrix.read_letor` finds wrong with the file; parts after the first
            bad line are not given.
        Wider
            At the end, if the guess was wrong; no part is given from where that shows.
        """
        seen: list[Block] = []
        n_docs, is_good, width, has_docs = 0, True, self.width, self.has_docs
        with readable(self._path):
            for block in self._blocks():
                width, has_docs = max(width, block.width), has_docs or block.doc_ids is not None
                self._check_width(width)
                is_good = (
                    is_good and not block.n_problems and (width, has_docs) == (self.width, self.has_docs)
                )
                if is_good and len(block.labels):
                    yield self._part(block, n_docs)
                n_docs += len(block.labels)
                seen.append(_without_rows(block))
            check_blocks(self._path, seen, self._side)
        if not is_good:
            raise Wider(width, has_docs=has_docs)

    def _blocks(self) -> Iterator[Block]:
        parser = BlockParser(
            self._path.name, np.dtype(np.float32), self._missing, 1, sparse=None, want_qid=self._side is None
        )
        return each_block(self._path, parser)

    def _part(self, block: Block, before: int) -> Part:
        n = len(block.labels)
        features = np.zeros((n, self.width), dtype=np.float32)
        block.copy_into(features)
        docs = None
        if self.has_docs:
            docs = np.empty(n, dtype=object)
            docs[:] = block.doc_ids or [None] * n
        return Part(features, block.labels, self._qids(block, before), docs)

    def _qids(self, block: Block, before: int) -> Array:
        if self._ends is None:
            return block.qids
        return np.searchsorted(self._ends, np.arange(before, before + len(block.qids)), side="right")

    def _check_width(self, width: int) -> None:
        if width > _MOST_FEATURES:
            raise InputError(
                f"{self._path}: feature {width} occurs; Parquet and Arrow files are written with all "
                f"features of every row, of which there may be {_MOST_FEATURES:,}. Keep the text, whose "
                f"zeros take no room."
            )


def _without_rows(block: Block) -> Block:
    """What `check_blocks` needs of a block, in a few bytes a run of one query."""
    starts: Int64Array = np.flatnonzero(np.append(True, block.qids[1:] != block.qids[:-1]))[: len(block.qids)]
    return replace(
        block,
        labels=np.broadcast_to(0.0, len(block.labels)),
        qids=block.qids[starts],
        lines=block.lines[starts],
        doc_ids=None,
        dense=None,
        csr=None,
    )
