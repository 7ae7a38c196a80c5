"""Parse all blocks of a file and assemble their features, without holding them twice."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from directrix.data.files import open_compressed, open_data
from directrix.data.letor.blocks import BLOCK_BYTES, FileBlocks, stream_blocks
from directrix.data.letor.parser import CELLS_PER_ENTRY, Block, BlockParser, zeros
from directrix.data.memory import check_left
from directrix.errors import InputError
from directrix.threads import run_chunks
from directrix.types import Array, Int64Array

_T = TypeVar("_T")
_BATCH = 16  # blocks of a compressed file that are held as text at the same time
_LOOKS = 64  # blocks of a plain file, after which available memory is looked at


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
    compressed = open_compressed(path)
    with contextlib.ExitStack() as stack:
        if compressed is None:
            text = stack.enter_context(FileBlocks(path))
            source: Iterator[bytes] = (text.read(b) for b in range(len(text)))
        else:
            compressed.close()
            source = stream_blocks(stack.enter_context(open_data(path)))
        numbered = enumerate(source)
        while batch := list(itertools.islice(numbered, _BATCH)):
            yield from _each(lambda block: parser.parse(block[1], is_first=block[0] == 0), batch)


def _each(function: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Call a function with every item, on threads."""
    done: dict[int, _T] = {}

    def work(i: int) -> None:
        done[i] = function(items[i])

    run_chunks(work, len(items))
    return [done[i] for i in range(len(items))]


def _parse_plain(
    text: FileBlocks, parser: BlockParser, n_features: int | None
) -> tuple[list[Block], Array | None]:
    if len(text) == 0:
        return [], None
    first = parser.parse(text.read(0), is_first=True)
    dense, starts = None, np.zeros(len(text) + 1, dtype=np.int64)
    if first.dense is not None:
        np.cumsum(_each(lambda b: parser.count_lines(text.read(b)), range(len(text))), out=starts[1:])
        shape = int(starts[-1]), max(first.width, n_features or 0)
        # if it does not fit, CSR may, block by block
        with contextlib.suppress(InputError):
            dense = zeros(parser.path, shape, parser.dtype)

    def parse(b: int) -> Block:
        if b % _LOOKS == 0:
            check_left(parser.path, b * BLOCK_BYTES)
        out = None if dense is None else dense[starts[b] : starts[b + 1]]
        return parser.parse(text.read(b), is_first=b == 0, out=out, place=int(starts[b]))

    return _each(parse, range(len(text))), dense


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
    out = zeros(path, (n_docs, width), dtype)
    run_chunks(lambda b: blocks[b].copy_into(out[starts[b] : starts[b] + sizes[b]]), len(blocks))
    return out


def _close_gaps(dense: Array, blocks: list[Block], starts: Int64Array) -> Array:
    """Move blocks up to close the gaps that lines without data left."""
    for block, start in zip(blocks, starts.tolist(), strict=True):
        n = len(block.labels)
        if block.place is not None and block.place != start:
            dense[start : start + n] = dense[block.place : block.place + n]
    return dense
