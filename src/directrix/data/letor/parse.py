"""Parse LETOR / svmlight text, block by block, into arrays.

A file goes in. Blocks of about 1 MiB of whole lines are parsed on threads, and their rows come out in the
order of the file, with the problems of bad lines::

    parser = BlockParser(path, np.dtype(np.float32), "error", index_base=1, want_qid=True)
    blocks, dense = parse_file(path, parser, n_features=None, sparse=None)
    features = assemble(parser, blocks, dense, width, sparse=None)
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from directrix.data._kernels import letor as kernel
from directrix.data.files import (
    BLOCK_BYTES,
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    TOO_LONG,
    Problem,
    decompressor,
    fault_of,
    open_data,
    raise_problems,
    stream_blocks,
)
from directrix.data.memory import check_left, check_room
from directrix.data.sparse import prefers_csr
from directrix.errors import Advice, InputError
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array, Int64Array


class FileBlocks:
    """Blocks of a plain file, readable in any order and from any thread.

    Block ``b`` holds the lines that start at bytes ``[b * size, (b + 1) * size)``, so the blocks depend only
    on the file, which must be a regular one.
    """

    def __init__(self, path: Path, size: int = BLOCK_BYTES) -> None:
        self._path, self._size = path, size
        self._file = path.open("rb", buffering=0)
        self._bytes = os.fstat(self._file.fileno()).st_size
        self.is_compressed = decompressor(self._read(0, 6)) is not None

    def __len__(self) -> int:
        return -(-self._bytes // self._size)

    def __enter__(self) -> FileBlocks:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, block: int) -> bytes:
        """Return the lines of a block; empty if one line spans the whole block.

        It reads exactly these lines: cutting them out of longer text takes as long as parsing them, because
        the system has to supply memory for each copy.
        """
        begin = self._first_line(block)
        return self._read(begin, self._first_line(block + 1) - begin)

    def _first_line(self, block: int) -> int:
        """Position of the first line that starts in a block, or after it."""
        # A line starts after the newline before the block. Most lines end within 16 KiB.
        offset, length = block * self._size - 1, 1 << 14
        if not 0 <= offset < self._bytes:
            return max(0, min(offset, self._bytes))
        while True:
            text = self._read(offset, length)
            end = text.find(b"\n") + 1
            if end or len(text) < length:
                return offset + (end or len(text))
            if length > LONGEST_LINE:
                begins = range(0, offset, self._size)
                texts = (self._read(begin, min(self._size, offset - begin)) for begin in begins)
                line = 1 + sum(text.count(b"\n") for text in texts)
                raise_problems(self._path, [Problem(line, *TOO_LONG)])
            length *= 2

    def _read(self, offset: int, length: int) -> bytes:
        pieces: list[bytes] = []
        while length > 0 and (piece := os.pread(self._file.fileno(), length, offset)):
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_SHAPE = "Each line reads `label qid:ID index:value ... # comment`."
_NUMBER = "Correct the line or remove it. " + _SHAPE
_ORDER = "Write the indices of each line in increasing order, once each. " + _SHAPE
_LABEL = "the label is {token}; labels are finite and >= 0"

# By the codes of the kernel: what is wrong, and the remedy.
_TEXTS: dict[int, tuple[str, str]] = {
    kernel.LABEL: ("the label is {token}, not a number", _NUMBER),
    kernel.LABEL_RANGE: (_LABEL, "Shift the labels so that the lowest is 0, e.g. -1/1 to 0/1."),
    kernel.LABEL_LARGE: (_LABEL, "Write the highest grade of the scale instead, e.g. 4."),
    kernel.NO_QID: (
        "no qid: {token} follows the label, where `qid:ID` is needed",
        Advice("qid-of-lines"),
    ),
    kernel.QID: ("the query is {token}; files need an integer of 64 bits, e.g. qid:7", "Number the queries."),
    kernel.QID_AND_GROUPS: (
        "{token} names a query, though the queries come from group sizes",
        Advice("qid-or-groups"),
    ),
    kernel.FEATURE: ("{token} is not a feature; `index:value` is needed", _NUMBER),
    kernel.INDEX_ZERO: (
        "the feature index of {token} is below the first one, 1",
        Advice("index-base"),
    ),
    kernel.INDEX_ORDER: ("the feature index of {token} is lower than the one before it", _ORDER),
    kernel.INDEX_DOUBLE: ("the feature index of {token} occurs twice", _ORDER),
    kernel.INDEX_RANGE: (
        "the feature index of {token} is too large; at most 2147483647 is possible",
        _NUMBER,
    ),
    kernel.VALUE: ("the value of {token} is not a number", _NUMBER),
    kernel.VALUE_MISSING: (
        "the value of {token} is missing; a finite number is needed",
        Advice("missing-values"),
    ),
    kernel.VALUE_INFINITE: ("the value of {token} is infinite; a finite number is needed", _NUMBER),
    kernel.VALUE_RANGE: (
        "the value of {token} is too large for {dtype}",
        Advice("rescale"),
    ),
}


def problem_of(line: int, code: int, token: bytes, dtype: str) -> Problem:
    """Return a problem from the kernel's code and the text that it points at."""
    text = token[:60].decode("utf-8", "replace")
    shown = repr(text[:40] + "..." if len(text) > 40 else text) if text else "the end of the line"
    what, remedy = _TEXTS[code]
    return Problem(line, what.format(token=shown, dtype=dtype), remedy)


# Room at first for numbers that the kernel leaves to Python; more is made where it does not suffice.
_HARD_NUMBERS = 4096
# Doubles above this round to an infinite float32.
_FLOAT32_LIMIT = 3.4028235677973362e38
_FLOAT64_LIMIT = 1.7976931348623157e308


def _zeros(path: Path, n_lines: int, width: int, dtype: np.dtype[Any]) -> Array:
    """Return zeros, which take memory only when written to; `InputError` if they would not fit."""
    check_room(
        n_lines * width * dtype.itemsize,
        f"{path}: {n_lines:,} lines with {width:,} features as dense rows",
        Advice("fewer-features-or-sparse"),
    )
    return np.zeros((n_lines, width), dtype)


def _first(array: Array, n: int) -> Array:
    """Return the first values, without keeping an array that is mostly unused."""
    return array[:n] if 2 * n >= len(array) else array[:n].copy()


@dataclass
class Block:
    """Rows of consecutive lines; their features are in ``csr``, unless they were written elsewhere.

    ``lines`` are counted from 0 within the block. The highest column + 1 is at most ``width`` in all rows,
    at least ``narrow`` in all rows but the last, and ``last`` in the last one.
    """

    labels: Float64Array
    qids: Int64Array
    lines: Int64Array
    doc_ids: list[str | None] | None
    csr: tuple[Array, Array, Array] | None
    n_lines: int
    n_entries: int
    width: int
    narrow: int
    last: int
    is_terminated: bool
    problems: list[Problem]
    n_problems: int
    is_beyond: bool
    """Whether the type cannot hold a value."""


@dataclass(frozen=True)
class BlockParser:
    """Parses blocks of one file, from any number of threads; for the options see `directrix.read_letor`.

    All lines must have a qid, or none.
    """

    path: Path
    """The file, for messages about memory."""
    dtype: np.dtype[Any]
    missing: str
    index_base: int
    want_qid: bool

    @property
    def _limit(self) -> float:
        return _FLOAT32_LIMIT if self.dtype == np.float32 else _FLOAT64_LIMIT

    def parse(self, text: bytes, *, is_first: bool, out: Array | None = None) -> Block:
        """Parse whole lines; only the last line of a file may lack its newline.

        ``out``, zeros (number of lines, width), receives the features of its columns; without it they become
        CSR.
        """
        if is_first:
            text = text.removeprefix(BYTE_ORDER_MARK)
        is_terminated = text.endswith(b"\n") or not text
        text = text if is_terminated else text + b"\n"
        dense, n_entries, room = out, -1, _HARD_NUMBERS
        if dense is None:
            n_lines, n_entries = kernel.count(np.frombuffer(text, dtype=np.uint8))
            dense = np.zeros((n_lines, 0), self.dtype)
        # The block is parsed again if it has more hard numbers than there is room for.
        while True:
            block, hard, totals = self._run(text, dense, n_entries, room)
            if totals[kernel.HARDS] <= room:
                break
            room = int(totals[kernel.HARDS])
        block.is_terminated = is_terminated
        self._finish(block, dense, hard[: totals[kernel.HARDS]], text)
        # A NUL, or a carriage return within a line, has its own message instead of those on its lines.
        if (fault := fault_of(text)) is not None:
            place, *what = fault
            block.problems, block.n_problems = [Problem(text.count(b"\n", 0, place) + 1, *what)], 1
        return block

    def _run(
        self, text: bytes, dense: Array, n_entries: int, room: int
    ) -> tuple[Block, Int64Array, Int64Array]:
        """Parse into ``dense``, or with ``n_entries`` >= 0 into CSR with that capacity."""
        n_lines, as_csr = len(dense), n_entries >= 0
        labels, qids = np.zeros(n_lines), np.zeros(n_lines, dtype=np.int64)
        lines, spans = np.zeros(n_lines, dtype=np.int64), np.zeros((n_lines, 2), dtype=np.int64)
        n_values = max(n_entries, 0)
        columns, values = np.zeros(n_values, dtype=np.int32), np.zeros(n_values, dtype=self.dtype)
        indptr = np.zeros(n_lines + 1 if as_csr else 0, dtype=np.int64)
        # These are rows, places and spans of numbers, of which the kernel mostly writes a few.
        hard = np.empty((room, 4), dtype=np.int64)
        errors = np.zeros((kernel.MAX_ERRORS, 4), dtype=np.int64)
        totals = np.zeros(kernel.N_TOTALS, dtype=np.int64)
        kernel.parse_block(
            np.frombuffer(text, dtype=np.uint8), self.index_base, self._limit, self.want_qid,
            self.missing != "error", dense.shape[1], labels, qids, lines, spans, dense, as_csr, columns,
            values, indptr, hard, errors, totals,
        )  # fmt: skip
        n, n_entries = int(totals[kernel.ROWS]), int(totals[kernel.ENTRIES])
        doc_ids = None
        if totals[kernel.COMMENTS]:
            doc_ids = [
                text[a:b].decode("utf-8", "backslashreplace") if b > a else None
                for a, b in spans[:n].tolist()
            ]
        n_errors = int(totals[kernel.ERRORS])
        shown = errors[: min(n_errors, kernel.MAX_ERRORS)].tolist()
        block = Block(
            labels=_first(labels, n),
            qids=_first(qids, n),
            lines=_first(lines, n),
            doc_ids=doc_ids,
            csr=(_first(values, n_entries), _first(columns, n_entries), _first(indptr, n + 1))
            if as_csr
            else None,
            n_lines=int(totals[kernel.LINES]),
            n_entries=n_entries,
            width=int(totals[kernel.WIDTH]),
            narrow=int(totals[kernel.NARROW]),
            last=int(totals[kernel.LAST]),
            is_terminated=True,
            problems=[problem_of(line + 1, code, text[a:b], self.dtype.name) for line, code, a, b in shown],
            n_problems=n_errors,
            is_beyond=any(code == kernel.VALUE_RANGE for _, code, *_ in shown),
        )
        return block, hard, totals

    def _finish(self, block: Block, dense: Array, hard: Int64Array, text: bytes) -> None:
        """Round the numbers that need big integers, and replace missing values."""
        for row, place, a, b in hard.tolist():
            value = float(text[a:b])
            if row < 0 and not 0.0 <= value <= _FLOAT64_LIMIT:
                code = kernel.LABEL_RANGE if value < 0.0 else kernel.LABEL_LARGE
                self._add(block, code, text, (a, b))
            elif row >= 0 and abs(value) > self._limit:
                # The message shows the index before the colon, too.
                begin = len(text[: a - 1].rstrip(b"0123456789"))
                self._add(block, kernel.VALUE_RANGE, text, (begin, b))
            elif block.n_problems:
                # The rows of bad lines were reused for later lines.
                continue
            elif row < 0:
                block.labels[-1 - row] = value
            elif block.csr is not None:
                block.csr[0][place] = value
            elif place < dense.shape[1]:
                dense[row, place] = value
        if self.missing == "zero":
            stored = dense if block.csr is None else block.csr[0]
            stored[np.isnan(stored)] = 0.0

    def _add(self, block: Block, code: int, text: bytes, span: tuple[int, int]) -> None:
        block.is_beyond |= code == kernel.VALUE_RANGE
        line = text.count(b"\n", 0, span[0]) + 1
        if all(line != problem.line for problem in block.problems):
            block.n_problems += 1
            block.problems.append(problem_of(line, code, text[slice(*span)], self.dtype.name))


_T = TypeVar("_T")
# Blocks of a file that are held as text at the same time.
_BATCH = 16
# Available memory is looked at after this number of blocks of a plain file.
_LOOKS = 64


def parse_file(
    path: Path, parser: BlockParser, n_features: int | None, *, sparse: bool | None
) -> tuple[list[Block], Array | None]:
    """Parse all blocks of a file, in their order.

    The array, if any, holds the features of a plain file whose first block has the widest row.
    """
    with FileBlocks(path) as text:
        if text.is_compressed:
            return list(each_block(path, parser)), None

        def parse(b: int, out: Array | None = None) -> Block:
            if b % _LOOKS == 0:
                check_left(path, b * BLOCK_BYTES)
            return parser.parse(text.read(b), is_first=b == 0, out=out)

        def parse_rows(width: int) -> tuple[list[Block], Array] | None:
            """Parse into the rows of an array; None if it does not fit into memory, or is too narrow."""
            counts = _each(lambda b: _n_lines(text.read(b)), numbers)
            starts = np.cumsum([0, *counts]).tolist()
            try:
                dense = _zeros(path, starts[-1], width, parser.dtype)
            except InputError:
                return None
            blocks = _each(lambda b: parse(b, dense[starts[b] : starts[b + 1]]), numbers)
            # A row of a later block may be wider, and would lack its last columns.
            is_wide = max(block.width for block in blocks) <= width
            return (blocks, _without_gaps(dense, blocks, starts)) if is_wide else None

        # The first block says how wide the rows are, and whether they are sparse. Dense rows are then
        # parsed into one array, so that they are not copied from blocks.
        numbers = range(len(text))
        first = parse(0) if numbers else None
        done = None
        if first is not None and not _is_thin(len(first.labels), first.width, first.n_entries, sparse=sparse):
            done = parse_rows(max(first.width, n_features or 0))
        return done or (_each(parse, numbers), None)


def _n_lines(text: bytes) -> int:
    """Return the number of lines, an upper bound of the number of rows."""
    lines, _ = kernel.count(np.frombuffer(text, dtype=np.uint8))
    return int(lines) + (len(text) > 0 and not text.endswith(b"\n"))


def _is_thin(n_docs: int, width: int, n_entries: int, *, sparse: bool | None) -> bool:
    """Return whether features become CSR."""
    return prefers_csr(n_docs, width, n_entries) if sparse is None else sparse


def _without_gaps(dense: Array, blocks: list[Block], starts: list[int]) -> Array:
    """Move blocks up to close the gaps that lines without data left."""
    end = 0
    for block, start in zip(blocks, starts, strict=False):
        n = len(block.labels)
        if start != end:
            dense[end : end + n] = dense[start : start + n]
        end += n
    return dense[:end]


def each_block(path: Path, parser: BlockParser, width: int | None = None) -> Iterator[Any]:
    """Parse a file from front to back, holding a few blocks at a time.

    With a ``width``, yield pairs: a block, and its features as dense rows.
    """
    with contextlib.ExitStack() as stack:
        text = stack.enter_context(FileBlocks(path))
        source: Iterator[bytes] = (text.read(b) for b in range(len(text)))
        if text.is_compressed:
            source = stream_blocks(stack.enter_context(open_data(path)))

        def parse(numbered: tuple[int, bytes]) -> Any:
            number, lines = numbered
            if width is None:
                return parser.parse(lines, is_first=number == 0)
            out = np.zeros((_n_lines(lines), width), parser.dtype)
            block = parser.parse(lines, is_first=number == 0, out=out)
            return block, out[: len(block.labels)]

        numbered = enumerate(source)
        while batch := list(itertools.islice(numbered, _BATCH)):
            yield from _each(parse, batch)


def _each(function: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Call a function with every item, on threads."""
    done: dict[int, _T] = {}

    def work(i: int) -> None:
        done[i] = function(items[i])

    run_chunks(work, len(items))
    return [done[i] for i in range(len(items))]


def assemble(
    parser: BlockParser, blocks: list[Block], dense: Array | None, width: int, *, sparse: bool | None
) -> Any:
    """Return the features of all blocks as one array with this width."""
    sizes = [len(block.labels) for block in blocks]
    starts = np.cumsum([0, *sizes]).tolist()
    is_thin = _is_thin(starts[-1], width, sum(block.n_entries for block in blocks), sparse=sparse)
    if dense is not None and not is_thin:
        return dense
    if is_thin:
        # The import is not at the top, because dense features need not wait for it.
        from scipy.sparse import csr_array, vstack

        if dense is not None:
            return csr_array(dense)
        matrices = [csr_array(block.csr, shape=(n, width)) for block, n in zip(blocks, sizes, strict=True)]
        csr = csr_array(vstack(matrices, format="csr"))
        csr.eliminate_zeros()
        return csr
    out = _zeros(parser.path, starts[-1], width, parser.dtype)

    def place(b: int) -> None:
        values, columns, indptr = blocks[b].csr or (out[:0, 0],) * 3
        out[starts[b] + np.repeat(np.arange(sizes[b]), np.diff(indptr)), columns] = values
        # The entries of a block are released as soon as they are in the rows.
        blocks[b].csr = None

    run_chunks(place, len(blocks))
    return out
