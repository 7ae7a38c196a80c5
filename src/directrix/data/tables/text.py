"""CSV, TSV and JSON lines as Arrow tables."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from directrix.data.columns import DOC, QUERY
from directrix.data.file import SEPARATORS, DataFile
from directrix.data.files import open_data, readable, stream_blocks, to_number
from directrix.errors import InputError

TO_UTF8 = "Convert the file, e.g. `iconv -f latin1 -t utf-8 OLD > NEW`."
# Bytes that are read together; a line must fit into them.
_BLOCK = 16 << 20
# Brackets within brackets; pyarrow's process ends at some ten thousand.
_DEEPEST = 64
# This includes text without an end, which would be searched again from each of its quotes.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[][{}]")


class _Watched(io.RawIOBase):
    """A stream that notes whether 0x occurs: pyarrow reads 0x1F as an integer, and no other reader does."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._last, self.has_hex = file, b"", False

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        text = self._file.read(size)
        # The 0 may be the last byte of one block, and the x the first one of the next.
        self.has_hex = self.has_hex or b"0x" in (self._last + text).lower()
        self._last = text[-1:]
        return text


def read_columns(pa: Any, file: DataFile) -> Any:
    """Return a file as a table; identifiers are text, which keeps 007, or integers if all are."""
    names, categorical = file.columns, file.columns.categorical or ()
    identifiers = {names.qid, names.doc_id, *QUERY, *DOC}
    if file.text_form == "jsonl":
        with open_data(file.path) as text:
            table = _of_json(pa, file.path, text.read(), identifiers.union(categorical))
        # Lists that are all equally long get this length as their type, as lists of features need.
        for place, field in enumerate(table.schema):
            if pa.types.is_list(field.type):
                lengths = pa.compute.list_value_length(table.column(place)).unique().to_pylist()
                if len(lengths) == 1 and lengths[0]:
                    kind = pa.list_(field.type.value_type, lengths[0])
                    table = table.set_column(place, field.name, table.column(place).cast(kind))
        return table
    ids = [name for name in file.names if name in identifiers]
    types = dict.fromkeys([*ids, *categorical], pa.string())
    table, has_hex = _of_csv(pa, file, types)
    if has_hex and (numbers := [f.name for f in table.schema if pa.types.is_integer(f.type)]):
        table, _ = _of_csv(pa, file, types | dict.fromkeys(numbers, pa.float64()))
    for name in ids:
        place = table.schema.get_field_index(name)
        # Empty text is a missing identifier, and 007 is not written as an integer.
        column = table.column(place)
        column = pa.compute.if_else(pa.compute.equal(column, ""), None, column)
        with suppress(pa.ArrowInvalid):
            numbers = column.cast(pa.int64())
            column = numbers if numbers.cast(pa.string()).equals(column) else column
        table = table.set_column(place, name, column)
    return table


def text_batches(pa: Any, file: DataFile) -> Iterator[Any]:
    """Yield a file as tables, one block of lines after another; columns of these names are text.

    The first block decides the types of the other columns of CSV and TSV.
    """
    import pyarrow.csv

    texts = file.columns.categorical or ()
    if file.text_form == "jsonl":
        with open_data(file.path) as text:
            for block in stream_blocks(text, _BLOCK):
                yield _of_json(pa, file.path, block, texts)
        return
    types = {name: pa.string() for name in file.names if name in texts}
    options = _csv_options(pa, file, types)
    with open_data(file.path) as text, pyarrow.csv.open_csv(text, *options) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _of_json(pa: Any, path: Path, text: bytes, ids: Iterable[Any]) -> Any:
    """Return JSON lines as a table, times as text; `InputError` for identifiers that would be rounded."""
    import pyarrow.json

    _check_objects(path, text)
    # pyarrow makes times of text, and two texts may be one time.
    options = pyarrow.json.ReadOptions(block_size=2 * _BLOCK)
    table = pyarrow.json.read_json(pa.BufferReader(text), options)
    if times := [(field.name, pa.string()) for field in table.schema if pa.types.is_temporal(field.type)]:
        as_text = pyarrow.json.ParseOptions(explicit_schema=pa.schema(times))
        again = pyarrow.json.read_json(pa.BufferReader(text), options, as_text)
        table = again.select(table.column_names)
    for name in {*ids}.intersection(table.column_names):
        if not pa.types.is_floating(table.schema.field(name).type):
            continue
        if (largest := pa.compute.max(pa.compute.abs(table[name])).as_py() or 0.0) >= 2.0**53:
            raise InputError(
                f"{path}: the column {name!r} holds {largest:.0f}, which is rounded; names must be text or "
                "integers of 64 bits. Write them in quotes."
            )
    return table


def _of_csv(pa: Any, file: DataFile, types: dict[Any, Any]) -> tuple[Any, bool]:
    """Return a table, and whether 0x occurs in its text."""
    import pyarrow.csv

    options = _csv_options(pa, file, types)
    try:
        with open_data(file.path) as text:
            watched = _Watched(text)
            return pyarrow.csv.read_csv(watched, *options), watched.has_hex
    except pa.ArrowInvalid:
        # With one thread, pyarrow knows the line that it cannot read.
        options[0].use_threads = False
        with open_data(file.path) as text:
            return pyarrow.csv.read_csv(text, *options), False


def _csv_options(pa: Any, file: DataFile, types: dict[Any, Any]) -> tuple[Any, Any, Any]:
    """Return the options for reading, parsing and conversion."""
    return (
        pa.csv.ReadOptions(block_size=_BLOCK),
        pa.csv.ParseOptions(delimiter=SEPARATORS[file.text_form], newlines_in_values=True),
        pa.csv.ConvertOptions(column_types=types),
    )


def _check_objects(path: Path, text: bytes) -> None:
    """Raise `InputError` for lines that crash pyarrow or are not UTF-8, which it does not check."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        number = text.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{number}: the text is not UTF-8, which is needed. {TO_UTF8}") from None
    for place, line in enumerate(text.split(b"\n"), start=1):
        if line.lstrip()[:1] not in (b"", b"{"):
            raise InputError(
                f"{path}:{place}: {line[:40].decode(errors='replace')!r} is no JSON object; each line reads "
                '{"qid": 1, "label": 0, "bm25": 2.5}.'
            )
        # Few lines have enough brackets for a look at their depth.
        if line.count(b"[") + line.count(b"{") <= _DEEPEST:
            continue
        brackets = _BRACKET.findall(_STRING.sub(b"", line))
        depths = itertools.accumulate(1 if bracket in b"[{" else -1 for bracket in brackets)
        if max(depths, default=0) > _DEEPEST:
            raise InputError(
                f"{path}:{place}: lists or objects are nested more than {_DEEPEST} levels deep; numbers, "
                "texts, and lists of numbers are needed. Leave that column out."
            )


def row_places(path: Path) -> Callable[[int], str]:
    """Return a function from a row to its place for messages: the line of text, or the row, from 0."""
    begins = list[int]()

    def place(row: int) -> str:
        # The lines are looked up at the first problem, because most files have none.
        if not begins:
            if not (form := DataFile(path).text_form):
                return f"{path}: row {row}"
            begins.extend(_begins(path, form))
        return f"{path}:{begins[row]}"

    return place


def _begins(path: Path, form: str) -> Iterator[int]:
    """Yield the line on which each row begins: cells may hold line ends, and empty lines are no rows."""
    with readable(path), open_data(path) as file:
        if form == "jsonl":
            yield from (number for number, line in enumerate(file, start=1) if line.strip())
            return
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", "replace", newline=""), delimiter=SEPARATORS[form])
        begin, is_header = 1, True
        for row in rows:
            if row and not is_header:
                yield begin
            is_header = is_header and not row
            begin = rows.line_num + 1


def not_a_number(column: Any, place: Callable[[int], str]) -> str:
    """Return the first cell of a text column that is not a number, for messages; "" if there is none."""
    cells = enumerate(column.to_pylist())
    bad = next(
        ((row, cell) for row, cell in cells if isinstance(cell, str) and to_number(cell) != to_number(cell)),
        None,
    )
    return "" if bad is None else f", {bad[1][:40]!r} at {place(bad[0])}"
