"""Parse all blocks of a file and assemble their features, without holding them twice."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.files import open_compressed
from directrix.data.letor.blocks import FileBlocks, stream_blocks
from directrix.data.letor.parser import CELLS_PER_ENTRY, Block, BlockParser
from directrix.errors import InputError
from directrix.threads import run_chunks
from directrix.types import Array, Int64Array

_BATCH = 16  # blocks of a compressed file that are held as text at the same time


def parse_file(path: Path, parser: BlockParser, n_features: int | None) -> tuple[list[Block], Array | None]:
    """Parse all blocks of a file, in their order.

    The array, if there is one, holds the features of the blocks with a `place`, from that row on.
    """
    compressed = open_compressed(path)
    if compressed is not None:
        compressed.close()
        return list(each_block(path, parser)), None
    with FileBlocks(path) as text:
        return _parse_plain(text, parser, n_features)


def each_block(path: Path, parser: BlockParser) -> Iterator[Block]:
    """Parse a file from front to back, holding a few blocks at a time."""
    compressed, is_start = open_compressed(path), True
    with contextlib.ExitStack() as stack:
        if compressed is None:
            text = stack.enter_context(FileBlocks(path))
            source: Iterator[bytes] = (text.read(b) for b in range(len(text)))
        else:
            source = stream_blocks(stack.enter_context(compressed))
        while batch := list(itertools.islice(source, _BATCH)):
            yield from _parse_batch(batch, parser, is_start=is_start)
            is_start = False


def _parse_batch(texts: list[bytes], parser: BlockParser, *, is_start: bool) -> list[Block]:
    done: dict[int, Block] = {}

    def work(b: int) -> None:
        done[b] = parser.parse(texts[b], is_first=is_start and b == 0)

    run_chunks(work, len(texts))
    return [done[b] for b in range(len(texts))]


def _parse_plain(
    text: FileBlocks, parser: BlockParser, n_features: int | None
) -> tuple[list[Block], Array | None]:
    if len(text) == 0:
        return [], None
    first = parser.parse(text.read(0), is_first=True)
    dense, starts = None, np.zeros(len(text) + 1, dtype=np.int64)
    if first.dense is not None:
        counts = starts[1:]

        def count(b: int) -> None:
            counts[b] = parser.count_lines(text.read(b))

        run_chunks(count, len(text))
        np.cumsum(counts, out=counts)
        try:
            shape = int(starts[-1]), max(first.width, n_features or 0)
            dense = np.zeros(shape, parser.dtype)  # takes memory only where it is written to
        except (MemoryError, ValueError):
            dense = None  # CSR may still fit, block by block
    done = {0: first}

    def work(b: int) -> None:
        out = None if dense is None else dense[starts[b] : starts[b + 1]]
        done[b] = parser.parse(text.read(b), is_first=b == 0, out=out, place=int(starts[b]))

    run_chunks(work, len(text))
    return [done[b] for b in range(len(text))], dense


def assemble(
    path: Path,
    blocks: list[Block],
    dense: Array | None,
    form: tuple[np.dtype[Any], int],
    *,
    sparse: bool | None,
) -> Any:
    """Return the features of all blocks as one array with the dtype and the width of ``form``."""
    dtype, width = form
    sizes = np.array([len(block.labels) for block in blocks])
    n_docs, n_entries = int(sizes.sum()), sum(block.n_entries for block in blocks)
    if sparse or (sparse is None and n_docs * width > CELLS_PER_ENTRY * n_entries > 0):
        csr = sp.csr_array(sp.vstack([block.as_csr(width) for block in blocks], format="csr"))
        csr.eliminate_zeros()
        return csr
    starts = np.cumsum(sizes) - sizes
    in_place = all(block.place is not None or not len(block.labels) for block in blocks)
    if dense is not None and dense.shape[1] == width and in_place:
        return _close_gaps(dense, blocks, starts)[:n_docs]
    try:
        out = np.zeros((n_docs, width), dtype=dtype)
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"{path}: {n_docs:,} lines with {width:,} features do not fit into memory as a dense array.",
            python="Type sparse=True.",
            shell="A machine with more memory is needed.",
        ) from error

    def copy(b: int) -> None:
        blocks[b].copy_into(out[starts[b] : starts[b] + sizes[b]])

    run_chunks(copy, len(blocks))
    return out


def _close_gaps(dense: Array, blocks: list[Block], starts: Int64Array) -> Array:
    """Move blocks up to close the gaps that lines without data left."""
    for block, start in zip(blocks, starts.tolist(), strict=True):
        n = len(block.labels)
        if block.place is not None and block.place != start:
            dense[start : start + n] = dense[block.place : block.place + n]
    return dense
