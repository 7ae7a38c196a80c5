"""The table of file formats: how files are named, and what reads and writes them.

`directrix.data.file` recognizes the format of a file by this table. The table holds only text, and loads
functions when they are called, so that ``directrix --help`` stays fast.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrix.data.columns import ColumnNames
from directrix.data.files import COMPRESSED, replacing, without_compression
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

TEXT_TABLES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""Forms of tables of text, by the endings of their names."""


@dataclass(frozen=True)
class Format:
    """One format of data files.

    Functions are given as ``module:function`` below ``directrix.data``. A text format needs ``reader`` and
    ``lines``, or one of them if it is only read or only written. A table, whose features can stay in its
    file, needs the others.
    """

    name: str
    """Name in messages and ``--help``."""
    suffixes: tuple[str, ...]
    """Endings of file names, the usual one first."""
    contents: tuple[str, ...] = ()
    """Values of `DataFile.content` that mean this format, whatever the name of the file."""
    reader: str = ""
    """``(path, *, missing) -> Queries``."""
    lines: str = ""
    """``(Queries) -> iterable of bytes``: text to write; the queries may be some of those of the file."""
    opener: str = ""
    """``(path) -> Queries`` whose features stay in the file."""
    blocks: str = ""
    """``(path, *, missing) -> iterable of Queries``: consecutive rows, for conversion in bounded memory; the
    last query of a block may continue in the next one. Default: all at once."""
    writer: str = ""
    """``(path) -> context manager`` for a function that takes `Queries`; instead of ``lines``."""
    has_names: bool = False
    """Whether columns have names: reader, opener and parts take a `DataFile`, not a path."""

    @property
    def is_written(self) -> bool:
        """Whether files of this format can be written."""
        return bool(self.lines or self.writer)

    @property
    def is_table(self) -> bool:
        """Whether features can stay in the file. A folder of tables is one data set."""
        return bool(self.opener)

    def is_named(self, path: Path) -> bool:
        """Return whether a file name has an ending of this format; text may be compressed."""
        # Tables are compressed within their files.
        return (path if self.is_table else without_compression(path)).suffix in self.suffixes

    def check_names(self, path: Path, columns: ColumnNames) -> None:
        """Raise `InputError` if columns are named whose names this format does not hold."""
        if columns and not self.has_names:
            raise InputError(
                f"{path} is {self.name} text, whose columns have no names; leave out {columns.given()}, or "
                "give CSV, TSV, JSON lines or Parquet."
            )

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[Callable[[Queries], None]]:
        """Open a file that takes `Queries`, block by block; it appears if the block ends without error."""
        # A table has a writer of its own, and text is any number of lines.
        if self.writer:
            with load_reader(self.writer)(path) as add:
                yield add
        else:
            lines = load_reader(self.lines)
            with replacing(path) as file:
                yield lambda block: file.writelines(lines(block))


def load_reader(reference: str) -> Any:
    """Return a function that is given as ``module:function`` below ``directrix.data``."""
    module, function = reference.split(":")
    return getattr(import_module(f"directrix.data.{module}"), function)


ARROW = Format(
    "Parquet or Arrow",
    (".parquet", ".arrow", ".feather"),
    ("parquet", "arrow", "folder"),
    reader="tables.read:read_table",
    opener="tables.read:open_table",
    blocks="tables.read:table_blocks",
    writer="tables.write:writing",
    has_names=True,
)
COLUMNS = Format(
    "CSV, TSV, JSON lines",
    tuple(TEXT_TABLES),
    ("csv", "tsv", "jsonl"),
    reader="tables.read:read_table",
    has_names=True,
)
# Responses have no ending of their own, and are recognized by their content.
RESPONSES = Format("logged features of engines", (), ("responses",), reader="responses:read_responses")
# Judgments are read as `Qrels` and not as data, so data are only written in this format.
QRELS = Format("TREC qrels", (".qrels",), ("qrels",), lines="trec.runs:qrels_lines")
# A name without an ending is LETOR text too.
LETOR = Format(
    "LETOR / svmlight",
    (".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm", ""),
    ("letor",),
    reader="letor.read:read_letor",
    lines="letor.write:letor_lines",
    blocks="letor.read:letor_blocks",
)

FORMATS = (RESPONSES, ARROW, COLUMNS, QRELS, LETOR)
"""All formats, in the order in which they are tried for a file; LETOR text comes last."""


def named(path: Path) -> Format | None:
    """Return the format that a file of this name is written in, or None."""
    return next((f for f in FORMATS if f.is_written and f.is_named(path)), None)


def inputs() -> str:
    """Names of the formats that are read, for ``--help``."""
    return ", ".join(f.name for f in reversed(FORMATS) if f.reader)


def outputs() -> str:
    """Names and endings of the formats that are written, for ``--help`` and messages."""
    shown = {f: f"{f.name} ({' '.join(filter(None, f.suffixes))})" for f in reversed(FORMATS) if f.is_written}
    text = ", ".join(shown[f] for f in shown if not f.is_table)
    tables = ", ".join(shown[f] for f in shown if f.is_table)
    return f"{text}, compressed if {' '.join(COMPRESSED)} follows; {tables}"
