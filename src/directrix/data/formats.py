"""The one table of file formats: their names, what their content looks like, and who reads and writes them.

It holds text alone, and functions are loaded when they are called, so that ``directrix --help`` stays fast.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrix.data.atomic import replacing
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.files import COMPRESSED, without_compression
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


@dataclass(frozen=True)
class Format:
    """One format of data files.

    Functions are given as ``module:function`` below ``directrix.data``. A text format needs the first two,
    one of them if it is only read or only written; a table, whose features can stay in its file, the others.
    """

    name: str
    """As messages and ``--help`` show it."""
    suffixes: tuple[str, ...]
    """Endings of file names, the usual one first."""
    reader: str = ""
    """``(path, *, missing) -> Queries``; with ``columns`` too where they have names."""
    lines: str = ""
    """``(Queries) -> iterable of bytes``: text to write; the queries may be a part of those of the file."""
    recognizer: str = ""
    """``(path) -> bool``: whether the content of a file, or of a folder, is of this format."""
    opener: str = ""
    """``(path) -> Queries`` with `StoredFeatures`."""
    parts: str = ""
    """``(path, missing) -> iterable of Queries``: consecutive rows, for conversion in bounded memory; the
    last query of a part may continue in the next one. May raise `directrix.data.parts.StartAgain`.
    Default: all at once."""
    writer: str = ""
    """``(path) -> context manager``, which gives a function that takes `Queries`; instead of ``lines``."""
    compressed: bool = True
    """Whether files may be compressed with gzip, bzip2 or xz."""
    has_names: bool = False
    """Whether columns have names: reader, opener and parts also take `ColumnNames`."""

    @property
    def is_written(self) -> bool:
        """Whether files of this format can be written."""
        return bool(self.lines or self.writer)

    @property
    def is_table(self) -> bool:
        """Whether features can stay in the file. A folder of tables is one data set."""
        return bool(self.opener)

    def is_named(self, path: Path) -> bool:
        """Return whether a file name ends like one of this format."""
        return (without_compression(path) if self.compressed else path).suffix in self.suffixes

    def recognizes(self, path: Path) -> bool:
        """Return whether the content of a file or folder has this format."""
        return bool(self.recognizer) and bool(_load(self.recognizer)(path))

    def read(self, path: Path, missing: str = "error", columns: ColumnNames = RECOGNIZED) -> Queries:
        """Read all of a file."""
        q: Queries = _load(self.reader)(path, missing=missing, **self.naming(path, columns))
        return q

    def read_parts(self, path: Path, missing: str, columns: ColumnNames = RECOGNIZED) -> Iterable[Queries]:
        """Read a file from front to back, without holding all of it where the format allows that."""
        if not self.parts:
            return [self.read(path, missing, columns)]
        parts: Iterable[Queries] = _load(self.parts)(path, missing, **self.naming(path, columns))
        return parts

    def naming(self, path: Path, columns: ColumnNames) -> dict[str, ColumnNames]:
        """Return the argument that names columns; `InputError` if there are names, and columns without."""
        if columns and not self.has_names:
            raise InputError(
                f"{path} is {self.name} text, whose columns have no names; leave out {columns.given()}, or "
                "give CSV, TSV, JSON lines or Parquet."
            )
        return {"columns": columns} if self.has_names else {}

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[Callable[[Queries], None]]:
        """Open a file that takes `Queries`, part by part; it appears if the block ends without error."""
        if self.writer:
            with _load(self.writer)(path) as add:
                yield add
        else:
            lines = _load(self.lines)
            with replacing(path) as file:
                yield lambda part: file.writelines(lines(part))


def _load(reference: str) -> Any:
    module, function = reference.split(":")
    return getattr(import_module(f"directrix.data.{module}"), function)


ARROW = Format(
    "Parquet or Arrow",
    (".parquet", ".arrow", ".feather"),
    reader="arrow.read:read_table",
    recognizer="arrow.files:is_arrow",
    opener="arrow.read:open_table",
    parts="arrow.read:table_parts",
    writer="arrow.write:writing",
    compressed=False,
    has_names=True,
)
COLUMNS = Format(
    "CSV, TSV, JSON lines",
    (".csv", ".tsv", ".jsonl", ".ndjson"),
    reader="arrow.read:read_table",
    recognizer="arrow.text:is_columns",
    has_names=True,
)
QRELS = Format("TREC qrels", (".qrels",), lines="trec.qrels:qrels_lines", recognizer="trec.qrels:is_qrels")
LETOR = Format(
    "LETOR / svmlight",
    (".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm", ""),
    reader="letor.read:read_letor",
    lines="letor.write:letor_lines",
    parts="letor.parts:LetorParts",
)

FORMATS = (ARROW, COLUMNS, QRELS, LETOR)
"""Every format, in the order in which a file is compared with them; LETOR text comes last."""


def format_of(path: Path) -> Format:
    """Return the format that a data file has by its name or content; LETOR text if neither says one."""
    return next((f for f in FORMATS if f.reader and (f.is_named(path) or f.recognizes(path))), LETOR)


def named(path: Path) -> Format | None:
    """Return the format that a file of this name is written in, or None."""
    return next((f for f in FORMATS if f.is_written and f.is_named(path)), None)


def read_file(path: Path, *, missing: str = "error", columns: ColumnNames = RECOGNIZED) -> Queries:
    """Read a data file of any format, or a folder of tables; see `read_letor` and `read_parquet`."""
    return format_of(path).read(path, missing, columns)


def open_file(path: Path, *, columns: ColumnNames = RECOGNIZED) -> Queries:
    """Open a table whose features stay in its file; see `open_parquet`.

    Raises `InputError` for text, whose rows have no fixed places in the file.
    """
    form = format_of(path)
    if not form.opener:
        raise InputError(
            f"{path} is text, which must be read into memory; to leave features in a file rewrite it first: "
            f"`directrix convert {path} {path.with_suffix('.arrow')}`, and give the new file."
        )
    q: Queries = _load(form.opener)(path, **form.naming(path, columns))
    return q


def inputs() -> str:
    """Names of the formats that are read, for ``--help``."""
    return ", ".join(f.name for f in reversed(FORMATS) if f.reader)


def outputs() -> str:
    """Names and endings of the formats that are written, for ``--help`` and messages."""
    shown = {f: f"{f.name} ({' '.join(filter(None, f.suffixes))})" for f in reversed(FORMATS) if f.is_written}
    text = ", ".join(shown[f] for f in shown if f.compressed)
    tables = ", ".join(shown[f] for f in shown if not f.compressed)
    return f"{text}, compressed if {' '.join(COMPRESSED)} follows; {tables}"
