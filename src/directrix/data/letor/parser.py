"""One block of svmlight text as arrays, with all that is wrong with it."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data._kernels import letor as kernel
from directrix.data.letor.problems import problem_of
from directrix.data.memory import check_room
from directrix.data.problems import Problem
from directrix.data.text import BYTE_ORDER_MARK, fault_of
from directrix.types import Array, Float64Array, Int64Array

CELLS_PER_ENTRY = 8  # above it sparse=None chooses CSR

_HARD_NUMBERS = 4096  # room at first; more is made where it does not suffice
_FLOAT32_LIMIT = 3.4028235677973362e38  # doubles above it round to infinity
_FLOAT64_LIMIT = 1.7976931348623157e308


def zeros(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Return zeros, which take memory only where they are written to, for features of a file.

    Raises `InputError` if they would not fit into memory.
    """
    _check_dense(path, shape, dtype)
    return np.zeros(shape, dtype)


def _check_dense(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    n_lines, width = shape
    check_room(
        n_lines * width * dtype.itemsize,
        f"{path}: {n_lines:,} lines with {width:,} features as dense rows",
        python="Type sparse=True, or use fewer features.",
        shell="Use fewer features, or a machine with more memory.",
    )


def _first(array: Array, n: int) -> Array:
    """Return the first values, without keeping all of an array of which few are used."""
    return array[:n] if 2 * n >= len(array) else array[:n].copy()


@dataclass
class Block:
    """Rows of consecutive lines. ``dense`` or ``csr`` holds the features, until they are released.

    ``place`` is the first row of ``dense`` in the array of the whole file, if it is a part of that.

    ``lines`` are counted from 0 within the block. The highest column + 1 is at most ``width`` in all rows,
    at least ``narrow`` in all rows but the last, and ``last`` in the last one.
    """

    labels: Float64Array
    qids: Int64Array
    lines: Int64Array
    doc_ids: list[str | None] | None
    dense: Array | None
    csr: tuple[Array, Array, Array] | None
    n_lines: int
    n_entries: int
    width: int
    narrow: int
    last: int
    is_terminated: bool
    problems: list[Problem]
    n_problems: int
    place: int | None = None

    def as_csr(self, width: int) -> Any:
        """Features as CSR with ``width`` columns; releases them here."""
        dense, csr, n = self.dense, self.csr, len(self.labels)
        self.dense = self.csr = None
        if csr is not None:
            return sp.csr_array(csr, shape=(n, width))
        part = sp.csr_array(dense)
        part.resize(n, width)
        return part

    def copy_into(self, out: Array) -> None:
        """Copy the features into ``out``, which holds zeros; releases them here."""
        dense, csr = self.dense, self.csr
        self.dense = self.csr = None
        if dense is not None:
            out[:, : dense.shape[1]] = dense[:, : out.shape[1]]
        elif csr is not None:
            values, columns, indptr = csr
            out[np.repeat(np.arange(len(out)), np.diff(indptr)), columns] = values


@dataclass
class BlockParser:
    """Parses blocks of one file, from any number of threads; for the options see `directrix.read_letor`.

    ``sparse=None`` lets each block choose; the file decides when all is known. Either every line must have a
    qid, or none.
    """

    path: Path  # for messages about memory
    dtype: np.dtype[Any]
    missing: str
    index_base: int
    sparse: bool | None
    want_qid: bool
    _width: int = 0  # widest row so far: a guess for the next block, never a result

    @property
    def _limit(self) -> float:
        return _FLOAT32_LIMIT if self.dtype == np.float32 else _FLOAT64_LIMIT

    def count_lines(self, text: bytes) -> int:
        """Return the number of lines, an upper bound of the number of rows."""
        lines, _ = kernel.count(np.frombuffer(text, dtype=np.uint8))
        return int(lines) + (len(text) > 0 and not text.endswith(b"\n"))

    def parse(self, text: bytes, *, is_first: bool, out: Array | None = None, place: int = 0) -> Block:
        """Parse whole lines; only the last line of a file may lack its newline.

        ``out`` (number of lines, width) takes the features if they are dense and not wider.
        """
        if is_first:
            text = text.removeprefix(BYTE_ORDER_MARK)
        is_terminated = text.endswith(b"\n") or not text
        text = text if is_terminated else text + b"\n"
        n_lines, n_colons = kernel.count(np.frombuffer(text, dtype=np.uint8))
        room = min(_HARD_NUMBERS, int(n_lines + n_colons))
        width = self._width if out is None else out.shape[1]
        while True:
            as_csr = self._wants_csr(n_lines * width, n_colons)
            in_place = out is not None and width == out.shape[1] and not as_csr
            dense = out if in_place and out is not None else self._rows(n_lines, 0 if as_csr else width)
            block, hard, totals = self._run(text, dense, n_colons, room, as_csr=as_csr)
            if totals[kernel.HARDS] > room:
                room = int(totals[kernel.HARDS])
            elif not as_csr and block.width > width:
                width = block.width
                self._width = max(self._width, width)
            else:
                break
        block.is_terminated = is_terminated
        block.place = place if in_place else None
        self._finish(block, hard[: totals[kernel.HARDS]], text)
        if (fault := fault_of(text)) is not None:  # instead of what it makes of the lines
            block.problems, block.n_problems = [fault.on(text.count(b"\n", 0, fault.place) + 1)], 1
        return block

    def _wants_csr(self, n_cells: int, n_entries: int) -> bool:
        return self.sparse is True or (self.sparse is None and n_cells > CELLS_PER_ENTRY * n_entries)

    def _rows(self, n_lines: int, width: int) -> Array:
        """Zeros in memory that goes back to the system as soon as they are released."""
        _check_dense(self.path, (n_lines, width), self.dtype)
        memory = mmap.mmap(-1, max(n_lines * width * self.dtype.itemsize, 1))
        return np.frombuffer(memory, self.dtype, n_lines * width).reshape(n_lines, width)

    def _run(
        self, text: bytes, dense: Array, n_colons: int, room: int, *, as_csr: bool
    ) -> tuple[Block, Int64Array, Int64Array]:
        n_lines, width = dense.shape
        labels, qids = np.zeros(n_lines), np.zeros(n_lines, dtype=np.int64)
        lines, spans = np.zeros(n_lines, dtype=np.int64), np.zeros((n_lines, 2), dtype=np.int64)
        n_values = n_colons if as_csr else 0
        columns, values = np.zeros(n_values, dtype=np.int32), np.zeros(n_values, dtype=self.dtype)
        indptr = np.zeros(n_lines + 1 if as_csr else 0, dtype=np.int64)
        hard = np.zeros((room, 4), dtype=np.int64)
        errors = np.zeros((kernel.MAX_ERRORS, 4), dtype=np.int64)
        totals = np.zeros(kernel.N_TOTALS, dtype=np.int64)
        keep_missing = self.missing != "error"
        kernel.parse_block(
            np.frombuffer(text, dtype=np.uint8), self.index_base, self._limit, self.want_qid, keep_missing,
            width, labels, qids, lines, spans, dense, as_csr, columns, values, indptr, hard, errors, totals,
        )  # fmt: skip
        n, n_entries = int(totals[kernel.ROWS]), int(totals[kernel.ENTRIES])
        doc_ids = None
        if totals[kernel.COMMENTS]:
            doc_ids = [text[a:b].decode("utf-8", "replace") if b > a else None for a, b in spans[:n].tolist()]
        n_errors = int(totals[kernel.ERRORS])
        shown = errors[: min(n_errors, kernel.MAX_ERRORS)].tolist()
        block = Block(
            labels=_first(labels, n),
            qids=_first(qids, n),
            lines=_first(lines, n),
            doc_ids=doc_ids,
            dense=None if as_csr else dense[:n],
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
        )
        return block, hard, totals

    def _finish(self, block: Block, hard: Int64Array, text: bytes) -> None:
        """Round the numbers that need big integers, and replace missing values."""
        stored: Any = block.dense if block.csr is None else block.csr[0]
        for row, place, a, b in hard.tolist():
            value = float(text[a:b])
            if row < 0 and not 0.0 <= value <= _FLOAT64_LIMIT:
                code = kernel.LABEL_RANGE if value < 0.0 else kernel.LABEL_LARGE
                self._add(block, code, text, (a, b))
            elif row >= 0 and abs(value) > self._limit:
                begin = len(text[: a - 1].rstrip(b"0123456789"))  # of the index before the colon
                self._add(block, kernel.VALUE_RANGE, text, (begin, b))
            elif block.n_problems:
                continue  # the rows of bad lines were reused for later lines
            elif row < 0:
                block.labels[-1 - row] = value
            else:
                stored[place if block.csr is not None else (row, place)] = value
        if self.missing == "zero":
            stored[np.isnan(stored)] = 0.0

    def _add(self, block: Block, code: int, text: bytes, span: tuple[int, int]) -> None:
        line = text.count(b"\n", 0, span[0]) + 1
        if all(line != problem.line for problem in block.problems):
            block.n_problems += 1
            block.problems.append(problem_of(line, code, text[slice(*span)], self.dtype.name))
