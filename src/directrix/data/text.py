"""What every text file must be: UTF-8 or ASCII, in lines of bounded length that end in LF or CRLF."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, Any, NamedTuple

from directrix.data.memory import check_left
from directrix.data.problems import Problem, raise_problems

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some editors write before text in UTF-8; readers leave it out."""

LONGEST_LINE = 256 << 20  # bytes: longer ones come from files that are no text, or that attack

_BLOCK = 1 << 16
_LOOKS = 64 << 20  # bytes of content, after which available memory is looked at

_RETURN = re.compile(rb"\r(?!\n)")


class Fault(NamedTuple):
    """The first byte of some text that makes it unusable."""

    place: int
    what: str
    remedy: str

    def on(self, line: int) -> Problem:
        """Return it as what is wrong with a line."""
        return Problem(line, self.what, self.remedy)


def fault_of(text: bytes) -> Fault | None:
    """Return the first byte that no text holds: a NUL, or a carriage return within a line."""
    if (place := text.find(b"\0")) >= 0:
        return Fault(
            place,
            "a NUL byte; text in UTF-8 is needed",
            "If the file is in UTF-16, as Excel and PowerShell write it, type "
            "`iconv -f UTF-16 -t UTF-8 FILE > NEW`, and give the new file. If not, it is damaged or no text.",
        )
    if b"\r" in text and text.count(b"\r") > text.count(b"\r\n") and (match := _RETURN.search(text)):
        return Fault(
            match.start(),
            "a carriage return within the line; lines end with a line feed",
            r"Type `tr '\r' '\n' < FILE > NEW`, and give the new file.",
        )
    return None


def too_long() -> Fault:
    """Return the fault of a line that is longer than `LONGEST_LINE`."""
    return Fault(
        0,
        f"a line of more than {LONGEST_LINE >> 20} MiB; one line per document is needed",
        "Check that the file is text with line ends.",
    )


class CheckedText(io.RawIOBase):
    """Text of a file, plain or decompressed, without byte-order mark.

    Reading raises `InputError` where it is no text, where a line has no end, and where memory is nearly used
    up.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._n_read = self._line_bytes = 0
        self._line = 1
        self._ends_in_return = False
        if (start := file.read(len(BYTE_ORDER_MARK))) != BYTE_ORDER_MARK:
            self._pending = start
        else:
            self._pending = b""

    @classmethod
    def buffered(cls, path: Path, file: IO[bytes]) -> IO[bytes]:
        """Return a file that reads in blocks."""
        return io.BufferedReader(cls(path, file), _BLOCK)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with checked text."""
        text = self._pending or self._file.read(len(buffer))
        self._pending = b""
        buffer[: len(text)] = text
        self._check(text)
        return len(text)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def _check(self, text: bytes) -> None:
        if self._n_read // _LOOKS != (self._n_read + len(text)) // _LOOKS:
            check_left(self._path, self._n_read)
        self._n_read += len(text)
        # a carriage return at the end is decided with the text that follows
        whole = b"\r" * self._ends_in_return + text
        self._ends_in_return = whole.endswith(b"\r") and len(text) > 0
        fault = fault_of(whole[:-1] if self._ends_in_return else whole)
        begin = text.rfind(b"\n") + 1
        self._line_bytes = len(text) - begin if begin else self._line_bytes + len(text)
        if fault is None and self._line_bytes > LONGEST_LINE:
            fault = too_long()
        if fault is not None:
            line = self._line + whole.count(b"\n", 0, fault.place)
            raise_problems(self._path, [fault.on(line)])
        self._line += text.count(b"\n")
