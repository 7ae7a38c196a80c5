"""The door for data: a file of any format, or a folder of tables, and what its beginning says.

A path goes in, with the names of columns that the user gave. `Queries`, runs, judgments, or single columns
come out::

    file = DataFile("train.csv", ColumnNames(qid="session"))
    file.content, file.format.name, file.names
    queries = file.queries(missing="nan")

This module recognizes the content of files, and nothing else does. It reads the beginning of a file once and
loads readers when they are called, so that ``directrix --help`` stays fast.
"""

from __future__ import annotations

import copy
import csv
import io
import itertools
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrix.data.columns import INDEX, RECOGNIZED, ColumnNames, kind_of
from directrix.data.files import checked_text, path_of, readable, to_number, without_compression
from directrix.data.formats import ARROW, COLUMNS, FORMATS, LETOR, TEXT_TABLES, Format, load_reader, named
from directrix.errors import Advice, InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

SEPARATORS = {"tsv": "\t", "csv": ","}
"""What separates the cells of a row, by the form of a table of text."""

_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow"}
# A model file begins with these characters.
_MODEL = '{"format":'
# Responses of search engines have one of these keys: hits or docs with a list, or root with an object.
_RESPONSE = re.compile(r'"(?:hits|docs)"\s*:\s*\[|"root"\s*:\s*\{')
# A feature in LETOR text is `index:value`.
_FEATURE = re.compile(r"\d+:")
# 64 KiB are some hundred rows of data, of which a few may be damaged without a change of the decision.
_BLOCK = 1 << 16
# Files with short lines have thousands in a block; the first ones decide as well, in less time.
_LINES = 200
# A line may be longer than the block, for example a response of a search engine. Longer ones are no data.
_LINE = 16 << 20


class DataFile:
    """A data file of any format, or a folder of tables that are one data set.

    Nothing is read before it is asked for. Then the beginning is read once, and a table is opened once.

    Parameters
    ----------
    path : path
        Of a file, plain or compressed, or of a folder of Parquet and Arrow files.
    columns : ColumnNames
        Names of columns that the user gave.
    """

    def __init__(self, path: str | os.PathLike[str], columns: ColumnNames = RECOGNIZED) -> None:
        self.path, self.columns = path_of(path), columns

    def __str__(self) -> str:
        return str(self.path)

    def with_columns(self, columns: ColumnNames) -> DataFile:
        """Return the same file with other names of columns; its beginning is not read again."""
        other = copy.copy(self)
        other.columns = columns
        other._release()
        return other

    def with_own_columns(self) -> DataFile:
        """Return the same file with those of the names that it has; see `ColumnNames.within`."""
        return self.with_columns(self.columns.within(self.names if self.is_table else ()))

    def _release(self) -> None:
        """Forget the rows of text, which are as large as the features, and the layout of the columns."""
        for name in ("tables", "members", "rows") if self.text_form else ("tables",):
            vars(self).pop(name, None)

    @cached_property
    def _beginning(self) -> bytes:
        """The first block of text, decompressed, with the rest of its last line; of a table four bytes."""
        with readable(self.path), self.path.open("rb") as raw:
            # A Parquet or Arrow file is binary, so its bytes are not checked as text.
            if (magic := raw.peek(4)[:4]) in _MAGIC:
                return magic
            with checked_text(self.path, raw) as text:
                return text.read(_BLOCK) + text.readline(_LINE)

    @cached_property
    def content(self) -> str:
        """The kind of content by the beginning, whatever the name of the file.

        One of "parquet", "arrow", "folder" (of those two); "csv", "tsv" (a first line of names), "jsonl" (a
        JSON object in the first line), "responses" (of a search engine), "json" (other JSON, such as a
        model); "letor", "run", "qrels", "scores" by the lines of the first block; "" for all others, also for
        a file that cannot be read, for which the reader raises the error.
        """
        try:
            if self.path.is_dir():
                return "folder" if table_files(self.path) else ""
            block = self._beginning
        except InputError:
            return ""
        if form := _MAGIC.get(block):
            return form
        # `str.splitlines` would split at line ends of Unicode, which belong to identifiers.
        lines = [line for line in block.split(b"\n") if line.strip()]
        # A comment is not data, but the names of queries may begin like one, so all lines count
        # if all begin so.
        lines = [line for line in lines if not line.startswith(b"#")] or lines
        texts = [line.removesuffix(b"\r").decode("utf-8", "backslashreplace") for line in lines[:_LINES]]
        try:
            return _content_of_lines(texts)
        except csv.Error:
            # A field is too long, in a table or not.
            return ""

    @cached_property
    def format(self) -> Format:
        """The format by the name or the content of the file; LETOR text if neither decides."""
        is_one = (f for f in FORMATS if f.reader and (f.is_named(self.path) or self.content in f.contents))
        return next(is_one, LETOR)

    @cached_property
    def text_form(self) -> str:
        """The form of a table of text: "csv", "tsv" or "jsonl", by the name or else the content; or ""."""
        form = self.content
        if form not in ARROW.contents:
            form = TEXT_TABLES.get(without_compression(self.path).suffix, form)
        return form if form in COLUMNS.contents else ""

    @property
    def is_table(self) -> bool:
        """Whether this is a table with names of columns, and not TREC text.

        Files of other tools may be called ``qrels.tsv`` without names of columns.
        """
        return self.format.has_names and self.content not in ("run", "qrels")

    @property
    def is_model(self) -> bool:
        """Whether this begins like a model file; one that does not exist is recognized by its name."""
        return self.content == "json" or (".json" in self.path.suffixes and not self.path.is_file())

    @property
    def kind(self) -> str:
        """The part in an evaluation: "model", "scores", "run", "judged run", "qrels" or "data"; or "".

        A table is recognized by its columns (`kind_of`), all else by its content.
        """
        if self.is_table:
            return kind_of(self.names, self.columns)
        content = "json" if self.is_model else self.content
        kinds = {"json": "model", "letor": "data", "scores": "scores", "run": "run", "qrels": "qrels"}
        return kinds.get(content, "")

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, of JSON lines those of the first object; none if they have none."""
        names: list[str] = []
        if self.text_form:
            lines = (line.decode("utf-8", "backslashreplace") for line in self._beginning.split(b"\n"))
            line = next(filter(str.strip, lines), "")
            if separator := SEPARATORS.get(self.text_form):
                names = next(csv.reader(io.StringIO(line), delimiter=separator), [])
            else:
                # If the line is damaged, the reader of the file raises the error that says what is wrong.
                with suppress(ValueError, RecursionError):
                    names = list(json.loads(line))
        elif self.format.has_names:
            names = load_reader("tables.files:schema_names")(self)
        return [name for name in names if not INDEX.fullmatch(name)]

    @cached_property
    def members(self) -> list[DataFile]:
        """The files of a table: this one, or those of the folder. Raises `InputError` if one is no table."""
        if not self.path.is_dir():
            if self.content in ARROW.contents or self.text_form:
                return [self]
            # An obstacle for files of any format has its own message.
            with readable(self.path), self.path.open("rb"):
                pass
            remedy = (
                "If it is an Arrow stream or Feather version 1, write it again: "
                "pyarrow.feather.write_feather(table, path)."
                if ARROW.is_named(self.path)
                else Advice("read-letor", name=self.path.name, stem=self.path.stem)
            )
            raise InputError(
                f"{self} is neither a Parquet nor an Arrow IPC file (Feather version 2), by its first bytes.",
                remedy,
            )
        members = [DataFile(path) for path in table_files(self.path)]
        if not members:
            raise InputError(
                f"{self} is a folder without *.parquet, *.arrow or *.feather; give the folder of a data set, "
                f"or one file, e.g. {self.path / 'train.parquet'}."
            )
        for member in members:
            if member.content not in ("parquet", "arrow"):
                raise InputError(
                    f"{member} is not a Parquet or Arrow file; remove it from the folder {self}."
                )
        return members

    @cached_property
    def rows(self) -> Any:
        """The schema and the batches of one table, which is opened or, if it is text, read."""
        return load_reader("tables.files:table_rows")(self)

    @cached_property
    def tables(self) -> Any:
        """The `TableFiles` of a table: the roles of its columns, and the rows of its files."""
        return load_reader("tables.files:TableFiles")(self)

    def queries(self, missing: str = "error") -> Queries:
        """Read all into memory; see `read_letor` and `read_parquet`. Columns are to be read before."""
        queries: Queries = self._read(self.format.reader, missing=missing)
        self._release()
        return queries

    def open(self, missing: str = "error") -> Queries:
        """Open a table whose features stay in the file.

        Raises `InputError` for text, whose rows have no fixed positions in the file.
        """
        if not self.format.opener:
            raise InputError(
                f"{self} is text, which must be read into memory; to leave features in a file rewrite it "
                "first, and give the new file.",
                Advice("convert", old=self, new=self.path.with_suffix(".arrow")),
            )
        queries: Queries = self._read(self.format.opener, missing=missing)
        return queries

    def blocks(self, missing: str) -> Iterable[Queries]:
        """Read from front to back, without holding all rows if the format allows that."""
        if not self.format.blocks:
            return [self.queries(missing)]
        blocks: Iterable[Queries] = self._read(self.format.blocks, missing=missing)
        return blocks

    def _read(self, reader: str, **options: Any) -> Any:
        self.format.check_names(self.path, self.columns)
        return load_reader(reader)(self if self.format.has_names else self.path, **options)

    def run(self) -> Any:
        """Read a `Run`: TREC text, or a table with these names of columns."""
        return load_reader("trec.runs:read_trec_run")(self, **self._documents("score"))

    def qrels(self) -> Any:
        """Read `Qrels`: TREC text, or a table with these names of columns."""
        return load_reader("trec.runs:read_trec_qrels")(self, **self._documents("label"))

    def _documents(self, value: str) -> dict[str, Any]:
        """Return the columns of documents and of their values; TREC text has no names of columns."""
        return {key: getattr(self.columns, key) for key in ("qid", "doc_id", value)}

    def table(self, names: list[str] | None = None) -> Any:
        """Read columns (by default all) of a table into an Arrow table."""
        return load_reader("tables.files:table_of")(self, names)

    def column(self, name: str) -> Any:
        """Return one column of a table in Arrow, in the order of the rows."""
        return self.table([name]).column(name)


def table_files(folder: Path) -> list[Path]:
    """Return the Parquet and Arrow files of a folder, sorted by name."""
    with readable(folder):
        return [
            path for path in sorted(folder.iterdir()) if ARROW.is_named(path) and path.name[0] not in "._"
        ]


def _content_of_lines(lines: list[str]) -> str:
    """Return the content of a file by its first lines; most of them decide, because one may be bad."""
    first = lines[0].strip() if lines else ""
    if first.startswith(("{", "[")):
        is_object = first.startswith("{") and first.endswith("}") and not first.startswith(_MODEL)
        return ("responses" if _RESPONSE.search(first) else "jsonl") if is_object else "json"
    # Every line votes for a format, and the most frequent vote wins.
    forms = Counter(form for form in map(_content_of_line, lines) if form)
    usual, count = forms.most_common(1)[0] if forms else ("", 0)
    for table, separator in SEPARATORS.items():
        names, *rows = csv.reader(lines or [""], delimiter=separator)
        # A column is not named by a number, nor with a colon, which features of LETOR have.
        are_names = all(
            name and name == name.strip() and ":" not in name and math.isnan(to_number(name))
            for name in names
        )
        if len(names) < 2 or first.startswith("#") or not are_names:
            continue
        # A first line that is data, like most others, is no header: text with separators is still LETOR
        # or TREC text.
        if _content_of_line(first) and 2 * count > len(lines):
            break
        if not usual or 2 * sum(len(row) == len(names) for row in rows) >= len(rows):
            return table
    return usual if 2 * count >= len(lines) else ""


def _content_of_line(line: str) -> str:
    # `bytes.split` is used, since blanks of Unicode belong to identifiers.
    words = [word.decode() for word in line.encode().split()]
    features = list(itertools.takewhile(lambda word: not word.startswith("#"), words))[1:]
    if features and (features[0].startswith("qid:") or all(map(_FEATURE.match, features))):
        return "letor"
    if len(words) == 1 and math.isfinite(to_number(words[0])):
        return "scores"
    # A run has the lines `topic Q0 document rank score tag`, and judgments `topic iteration document
    # label`.
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


def convert_file(
    source: Path, target: Path, missing: str = "error", columns: ColumnNames = RECOGNIZED
) -> tuple[int, int, int]:
    """Rewrite a data file, or a folder of Parquet and Arrow files, in the format given by the target's name.

    Return the numbers of rows, queries and features.

    See `FORMATS` for the endings; any other is LETOR text. ``.gz``, ``.bz2`` and ``.xz`` compress text. The
    file appears only when all of it is written. ``missing``, ``columns`` and the errors are those of
    `read_letor` and `open_parquet`.

    Conversion from and to Parquet and Arrow holds only a few blocks in memory, and reads text twice, once to
    check it and to find its width. Text that becomes other text is read whole, so that sparse features stay
    sparse, as are labels that become judgments. Values keep their bits: features become float32, or stay
    float64 from an Arrow file.
    """
    file, form = DataFile(source, columns), named(target) or LETOR
    in_blocks = form.is_table or (file.format.is_table and form.reader)
    blocks = file.blocks(missing) if in_blocks else [file.queries(missing)]
    rows = queries = features = 0
    last: tuple[object, ...] = ()
    with form.writing(target) as add:
        for block in filter(lambda block: block.n_docs, blocks):
            add(block)
            # A query that continues from the last block counts once.
            queries += block.n_queries - (block.query_ids[:1] == last)
            rows, features, last = rows + block.n_docs, block.n_features, block.query_ids[-1:]
    return rows, queries, features
