"""The table of file formats, recognition of the content of files, and conversion.

It holds only text, and loads functions when they are called, so that ``directrix --help`` stays fast.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.files import COMPRESSED, open_data, readable, replacing, to_number, without_compression
from directrix.errors import Advice, InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow"}
_TEXT_TABLES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SEPARATORS = {"tsv": "\t", "csv": ","}
_MODEL = '{"format":'  # the beginning of a model file
_RESPONSE = re.compile(r'"(?:hits|docs)"\s*:\s*\[|"root"\s*:\s*\{')
_FEATURE = re.compile(r"\d+:")
_LINE = 16 << 20  # bytes of a line that are looked at
_BLOCK = 1 << 16  # bytes of a file whose lines decide
_LINES = 200  # of them, for files with short lines


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
    """Results of `content_of` that mean this format, whatever the name of the file."""
    reader: str = ""
    """``(path, *, missing) -> Queries``; with ``columns`` too where they have names."""
    lines: str = ""
    """``(Queries) -> iterable of bytes``: text to write; the queries may be some of those of the file."""
    opener: str = ""
    """``(path) -> Queries`` whose features stay in the file."""
    parts: str = ""
    """``(path, missing) -> iterable of Queries``: consecutive rows, for conversion in bounded memory; the
    last query of a part may continue in the next one. Default: all at once."""
    writer: str = ""
    """``(path) -> context manager`` for a function that takes `Queries`; instead of ``lines``."""
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
        """Return whether a file name has an ending of this format; text may be compressed."""
        return (path if self.is_table else without_compression(path)).suffix in self.suffixes

    def read(self, path: Path, missing: str = "error", columns: ColumnNames = RECOGNIZED) -> Queries:
        """Read all of a file."""
        q: Queries = _load(self.reader)(path, missing=missing, **self.check_names(path, columns))
        return q

    def open(self, path: Path, columns: ColumnNames = RECOGNIZED) -> Queries:
        """Open a table whose features stay in its file.

        Raises `InputError` for text, whose rows have no fixed positions in the file.
        """
        if not self.opener:
            raise InputError(
                f"{path} is text, which must be read into memory; to leave features in a file rewrite it "
                "first, and give the new file.",
                Advice("convert", old=path, new=path.with_suffix(".arrow")),
            )
        q: Queries = _load(self.opener)(path, **self.check_names(path, columns))
        return q

    def read_parts(self, path: Path, missing: str, columns: ColumnNames = RECOGNIZED) -> Iterable[Queries]:
        """Read a file from front to back, without holding all of it if the format allows that."""
        if not self.parts:
            return [self.read(path, missing, columns)]
        parts: Iterable[Queries] = _load(self.parts)(path, missing=missing, **self.check_names(path, columns))
        return parts

    def check_names(self, path: Path, columns: ColumnNames) -> dict[str, ColumnNames]:
        """Return the argument that names columns; raise `InputError` if columns have no names."""
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
    ("parquet", "arrow", "folder"),
    reader="tables.read:read_table",
    opener="tables.read:open_table",
    parts="tables.read:table_parts",
    writer="tables.write:writing",
    has_names=True,
)
COLUMNS = Format(
    "CSV, TSV, JSON lines",
    tuple(_TEXT_TABLES),
    ("csv", "tsv", "jsonl"),
    reader="tables.read:read_table",
    has_names=True,
)
RESPONSES = Format("logged features of engines", (), ("responses",), reader="responses:read_responses")
QRELS = Format("TREC qrels", (".qrels",), ("qrels",), lines="trec.runs:qrels_lines")
LETOR = Format(
    "LETOR / svmlight",
    (".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm", ""),
    ("letor",),
    reader="letor.read:read_letor",
    lines="letor.write:letor_lines",
    parts="letor.read:letor_parts",
)

FORMATS = (RESPONSES, ARROW, COLUMNS, QRELS, LETOR)
"""All formats, in the order in which they are tried for a file; LETOR text comes last."""


def content_of(path: Path) -> str:
    """Return the kind of content of a file or folder by its beginning, whatever its name.

    One of "parquet", "arrow", "folder" (of those two); "csv", "tsv" (a first line of names), "jsonl" (a JSON
    object in the first line), "responses" (of a search engine), "json" (other JSON, such as a model);
    "letor", "run", "qrels", "scores" by the lines of the first block; "" for all others, also for a file that
    cannot be read, for which the reader raises the error.
    """
    try:
        if path.is_dir():
            return "folder" if table_files(path) else ""
        with readable(path):
            with path.open("rb") as raw:
                if form := _MAGIC.get(raw.read(4)):
                    return form
            with open_data(path) as file:
                block = file.read(_BLOCK) + file.readline(_LINE)
    except InputError:
        return ""
    # not `str.splitlines`: blanks and line ends of Unicode belong to identifiers
    lines = [line for line in block.split(b"\n") if line.strip()]
    # a comment is not data, but the names of queries may begin like one
    lines = [line for line in lines if not line.startswith(b"#")] or lines
    texts = [line.removesuffix(b"\r").decode("utf-8", "backslashreplace") for line in lines[:_LINES]]
    try:
        return _content_of_lines(texts)
    except csv.Error:  # a field that is too long, in a table or not
        return ""


def _content_of_lines(lines: list[str]) -> str:
    """Return the content of a file by its first lines; most of them decide, because one may be bad."""
    first = lines[0].strip() if lines else ""
    if first.startswith(("{", "[")):
        is_object = first.startswith("{") and first.endswith("}") and not first.startswith(_MODEL)
        return ("responses" if _RESPONSE.search(first) else "jsonl") if is_object else "json"
    forms = Counter(form for form in map(_content_of_line, lines) if form)
    usual, count = forms.most_common(1)[0] if forms else ("", 0)
    for table, separator in _SEPARATORS.items():
        names, *rows = csv.reader(lines or [""], delimiter=separator)
        if len(names) < 2 or first.startswith("#") or not all(map(_is_name, names)):
            continue
        if _content_of_line(first) and 2 * count > len(lines):
            break
        if not usual or 2 * sum(len(row) == len(names) for row in rows) >= len(rows):
            return table
    return usual if 2 * count >= len(lines) else ""


def _is_name(word: str) -> bool:
    """Whether a word can name a column: it is not a number and has no colon, which features of LETOR have."""
    return bool(word) and word == word.strip() and ":" not in word and math.isnan(to_number(word))


def _content_of_line(line: str) -> str:
    # bytes, since blanks of Unicode belong to identifiers
    words = [word.decode() for word in line.encode().split()]
    features = list(itertools.takewhile(lambda word: not word.startswith("#"), words))[1:]
    if features and (features[0].startswith("qid:") or all(map(_FEATURE.match, features))):
        return "letor"
    if len(words) == 1 and math.isfinite(to_number(words[0])):
        return "scores"
    if len(words) > 4 and words[1] == "Q0":
        return "run"
    if len(words) not in (3, 4, 5, 6) or not _is_value(words[4 if len(words) > 4 else -1]):
        return ""
    if len(words) < 5:
        return "qrels"
    return "run" if len(words) == 6 or _is_value(words[3]) else ""


def _is_value(word: str) -> bool:
    """Whether a word stands where a number does, also one that readers reject, such as 0,5 and inf."""
    try:
        float(word.replace(",", ".", 1))
    except ValueError:
        return False
    return True


def table_files(folder: Path) -> list[Path]:
    """Return the Parquet and Arrow files of a folder, sorted by name."""
    with readable(folder):
        return [p for p in sorted(folder.iterdir()) if ARROW.is_named(p) and p.name[0] not in "._"]


def text_table(path: Path) -> str:
    """Return "csv", "tsv" or "jsonl" by the name of a file, or else by its content; "" for any other."""
    content = content_of(path)
    if content not in ARROW.contents:
        content = _TEXT_TABLES.get(without_compression(path).suffix, content)
    return content if content in COLUMNS.contents else ""


def is_documents_table(path: Path) -> bool:
    """Return whether runs or judgments in this file are a table, not TREC text.

    Files of other tools may be called ``qrels.tsv`` without names of columns.
    """
    return format_of(path) in (ARROW, COLUMNS) and content_of(path) not in ("run", "qrels")


def format_of(path: Path) -> Format:
    """Return the format of a data file by its name or content; LETOR text if neither decides."""
    content = content_of(path)
    return next((f for f in FORMATS if f.reader and (f.is_named(path) or content in f.contents)), LETOR)


def named(path: Path) -> Format | None:
    """Return the format that a file of this name is written in, or None."""
    return next((f for f in FORMATS if f.is_written and f.is_named(path)), None)


def read_file(path: Path, *, missing: str = "error", columns: ColumnNames = RECOGNIZED) -> Queries:
    """Read a data file of any format, or a folder of tables; see `read_letor` and `read_parquet`."""
    return format_of(path).read(path, missing, columns)


def inputs() -> str:
    """Names of the formats that are read, for ``--help``."""
    return ", ".join(f.name for f in reversed(FORMATS) if f.reader)


def outputs() -> str:
    """Names and endings of the formats that are written, for ``--help`` and messages."""
    shown = {f: f"{f.name} ({' '.join(filter(None, f.suffixes))})" for f in reversed(FORMATS) if f.is_written}
    text = ", ".join(shown[f] for f in shown if not f.is_table)
    tables = ", ".join(shown[f] for f in shown if f.is_table)
    return f"{text}, compressed if {' '.join(COMPRESSED)} follows; {tables}"


class Counts(NamedTuple):
    """Counts of converted queries and documents."""

    rows: int
    queries: int
    features: int


def convert_file(
    source: Path, target: Path, missing: str = "error", columns: ColumnNames = RECOGNIZED
) -> Counts:
    """Rewrite a data file, or a folder of Parquet and Arrow files, in the format given by the target's name.

    See `FORMATS` for the endings; any other is LETOR text. ``.gz``, ``.bz2`` and ``.xz`` compress text. The
    file appears only when all of it is written. ``missing``, ``columns`` and the errors are those of
    `read_letor` and `open_parquet`.

    Conversion from and to Parquet and Arrow holds only a few blocks in memory, and reads text twice, once to
    check it and to find its width. Text that becomes other text is read whole, so that sparse features stay
    sparse, as are labels that become judgments. Values keep their bits: features become float32, or stay
    float64 from an Arrow file.
    """
    origin, form = format_of(source), named(target) or LETOR
    in_parts = form.is_table or (origin.is_table and form.reader)
    arguments = source, missing, columns
    parts = origin.read_parts(*arguments) if in_parts else [origin.read(*arguments)]
    rows = queries = features = 0
    last: tuple[object, ...] = ()
    with form.writing(target) as add:
        for part in filter(lambda part: part.n_docs, parts):
            add(part)
            queries += part.n_queries - (part.query_ids[:1] == last)
            rows, features, last = rows + part.n_docs, part.n_features, part.query_ids[-1:]
    return Counts(rows, queries, features)
