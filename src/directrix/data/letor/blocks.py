"""A text file, plain or compressed, as blocks of whole lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from directrix.data.problems import raise_problems
from directrix.data.text import LONGEST_LINE, too_long

BLOCK_BYTES = 1 << 20  # fits the second-level cache together with what is parsed from it


class FileBlocks:
    """Blocks of a plain file, readable in any order and from any thread.

    Block ``b`` holds the lines that start at bytes ``[b * size, (b + 1) * size)``; so the
    blocks depend on the file, which must be a regular one, alone.
    """

    def __init__(self, path: Path, size: int = BLOCK_BYTES) -> None:
        self._path, self._size = path, size
        self._file = path.open("rb", buffering=0)
        self._bytes = os.fstat(self._file.fileno()).st_size

    def __len__(self) -> int:
        return -(-self._bytes // self._size)

    def __enter__(self) -> FileBlocks:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, block: int) -> bytes:
        """Return the lines of a block; empty if a line runs across the whole of it."""
        begin, end = block * self._size, (block + 1) * self._size
        before = min(block, 1)  # one byte more: a line starts here only after a newline
        text = self._read(begin - before, self._size + before)
        start = text.find(b"\n") + 1 if before else 0
        if before and (start == 0 or start > self._size):
            return b""
        if not text.endswith(b"\n"):
            text += self._rest_of_line(end)
        return text[start:] if start else text

    def _rest_of_line(self, offset: int) -> bytes:
        length = 1 << 14
        while True:
            text = self._read(offset, length)
            end = text.find(b"\n") + 1
            if end or len(text) < length:
                return text[:end] if end else text
            if length > LONGEST_LINE:
                raise_problems(self._path, [too_long().on(self._line_of(offset))])
            length *= 2

    def _line_of(self, offset: int) -> int:
        parts = (self._read(begin, min(self._size, offset - begin)) for begin in range(0, offset, self._size))
        return 1 + sum(part.count(b"\n") for part in parts)

    def _read(self, offset: int, length: int) -> bytes:
        parts: list[bytes] = []
        while length > 0 and (part := os.pread(self._file.fileno(), length, offset)):
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def stream_blocks(file: IO[bytes], size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Cut a stream into blocks of whole lines, of about ``size`` bytes each."""
    pending: list[bytes] = []
    while text := file.read(size):
        newline = text.rfind(b"\n") + 1
        if newline == 0:
            pending.append(text)
            continue
        yield b"".join([*pending, text[:newline]])
        pending = [text[newline:]]
    if last := b"".join(pending):
        yield last
