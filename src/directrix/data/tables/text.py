"""CSV, TSV and JSON lines as Arrow tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from directrix.data.columns import KNOWN, ColumnNames
from directrix.data.files import open_data, readable, stream_blocks, to_number
from directrix.data.formats import text_table
from directrix.errors import InputError

_SIGNS = {"csv": ",", "tsv": "\t"}
_BLOCK = 16 << 20  # bytes read together; a line must fit into it
_DEEPEST = 64  # brackets within brackets; pyarrow's process ends at some ten thousand
# this includes text without an end, which would be searched again from each of its quotes
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[][{}]")


def header_of(path: Path) -> list[str]:
    """Return the names in the first line, or in the first object of JSON lines."""
    with readable(path), open_data(path) as file:
        line = "\n"
        while line and not line.strip():
            line = file.readline(_BLOCK).decode("utf-8", "backslashreplace")
    if sign := _SIGNS.get(text_table(path)):
        return next(csv.reader(io.StringIO(line), delimiter=sign), [])
    with suppress(ValueError):
        return list(json.loads(line))
    return []  # what reads the file says what is wrong


def read_columns(pa: Any, path: Path, names: ColumnNames) -> Any:
    """Return a file as a table; identifiers are text, which keeps 007, or integers if all are."""
    known = {names.qid, names.doc_id, *KNOWN["qid"], *KNOWN["doc_id"]}
    if text_table(path) == "jsonl":
        with open_data(path) as file:
            table = _of_json(pa, path, file.read())
        for name in known.intersection(table.column_names):
            _check_exact(path, name, table.column(name))
        return _fixed(pa, table)
    ids = [name for name in header_of(path) if name in known]
    types = dict.fromkeys([*ids, *(names.categorical or ())], pa.string())
    table = _of_csv(pa, path, types)
    if numbers := [f.name for f in table.schema if pa.types.is_integer(f.type)]:
        with open_data(path) as file:
            has_hex = any(b"0x" in block.lower() for block in stream_blocks(file))
        if has_hex:  # an integer for pyarrow, and for no other reader here; no float
            table = _of_csv(pa, path, types | dict.fromkeys(numbers, pa.float64()))
    for name in ids:
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, _integers(pa, table.column(place)))
    return table


def text_batches(pa: Any, path: Path, names: ColumnNames) -> Iterator[Any]:
    """Yield a file as tables, one block of lines after another; columns of these names are text.

    The first block decides the types of the other columns of CSV and TSV.
    """
    import pyarrow.csv

    if text_table(path) == "jsonl":
        with open_data(path) as file:
            for block in stream_blocks(file, _BLOCK):
                yield _of_json(pa, path, block)
        return
    types = {name: pa.string() for name in header_of(path) if name in (names.categorical or ())}
    with open_data(path) as file, pyarrow.csv.open_csv(file, *_csv_options(pa, path, types)) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _of_json(pa: Any, path: Path, text: bytes) -> Any:
    """Return JSON lines as a table; text that looks like a time, of which pyarrow would make one, stays text."""
    import pyarrow.json

    objects, options = _objects(path, text), pyarrow.json.ReadOptions(block_size=2 * _BLOCK)
    table = pyarrow.json.read_json(pa.BufferReader(objects), options)
    times = pa.schema([(f.name, pa.string()) for f in table.schema if pa.types.is_temporal(f.type)])
    if not len(times):
        return table
    as_text = pyarrow.json.ParseOptions(explicit_schema=times)
    return pyarrow.json.read_json(pa.BufferReader(objects), options, as_text).select(table.column_names)


def _check_exact(path: Path, name: str, column: Any) -> None:
    """Raise `InputError` if identifiers are integers that a float, which pyarrow makes of them, cannot hold."""
    if str(column.type) != "double":
        return
    for row, cell in enumerate(column.to_pylist()):
        if cell is not None and abs(cell) >= 2.0**53:
            raise InputError(
                f"{row_places(path)(row)}: the identifier {cell:.0f} in the column {name!r} is rounded, since it "
                "is not an integer of 64 bits; text is needed. Write it in quotes."
            )


def _of_csv(pa: Any, path: Path, types: dict[Any, Any]) -> Any:
    import pyarrow.csv

    try:
        with open_data(path) as file:
            return pyarrow.csv.read_csv(file, *_csv_options(pa, path, types))
    except pa.ArrowInvalid:  # only one thread knows the line that it cannot read
        options = _csv_options(pa, path, types)
        options[0].use_threads = False
        with open_data(path) as file:
            return pyarrow.csv.read_csv(file, *options)


def _csv_options(pa: Any, path: Path, types: dict[Any, Any]) -> tuple[Any, Any, Any]:
    """Return the options for reading, parsing and conversion."""
    return (
        pa.csv.ReadOptions(block_size=_BLOCK),
        pa.csv.ParseOptions(delimiter=_SIGNS[text_table(path)], newlines_in_values=True),
        pa.csv.ConvertOptions(column_types=types),
    )


def _objects(path: Path, text: bytes) -> bytes:
    """Return JSON lines; `InputError` for content that crashes pyarrow: a `null`, or deeply nested lists."""
    for place, line in enumerate(text.split(b"\n"), start=1):
        if line.lstrip()[:1] not in (b"", b"{"):
            raise InputError(
                f"{path}:{place}: {line[:40].decode(errors='replace')!r} is no JSON object; each line reads "
                '{"qid": 1, "label": 0, "bm25": 2.5}.'
            )
        if line.count(b"[") + line.count(b"{") > _DEEPEST and _is_deep(line):
            raise InputError(
                f"{path}:{place}: lists or objects are nested more than {_DEEPEST} levels deep; numbers, "
                "texts, and lists of numbers are needed. Leave that column out."
            )
    return text


def row_places(path: Path) -> Callable[[int], str]:
    """Return a function from a row to its place for messages: the line of text, or the row, from 0."""
    form, begins = text_table(path), list[int]()

    def place(row: int) -> str:
        if not form:
            return f"{path}: row {row}"
        if not begins:  # most files have no problems
            begins.extend(_begins(path, form))
        return f"{path}:{begins[row]}"

    return place


def _begins(path: Path, form: str) -> Iterator[int]:
    """Yield the line on which each row begins: cells may hold line ends, and empty lines are no rows."""
    with readable(path), open_data(path) as file:
        if form == "jsonl":
            yield from (number for number, line in enumerate(file, start=1) if line.strip())
            return
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", "replace", newline=""), delimiter=_SIGNS[form])
        begin, is_header = 1, True
        for row in rows:
            if row and not is_header:
                yield begin
            is_header = is_header and not row
            begin = rows.line_num + 1


def _is_deep(line: bytes) -> bool:
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", line)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _DEEPEST:
            return True
    return False


def _fixed(pa: Any, table: Any) -> Any:
    """Return a table whose lists have a fixed length if all are equally long."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            lengths = pa.compute.list_value_length(table.column(place)).unique().to_pylist()
            if len(lengths) == 1 and lengths[0]:
                kind = pa.list_(field.type.value_type, lengths[0])
                table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _integers(pa: Any, column: Any) -> Any:
    """Return text as integers if all are written as such; empty text is missing."""
    column = pa.compute.if_else(pa.compute.equal(column, ""), None, column)
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return numbers if numbers.cast(pa.string()).equals(column) else column


def not_a_number(column: Any, place: Callable[[int], str]) -> str:
    """Return the first cell of a text column that is not a number, for messages; "" if there is none."""
    cells = enumerate(column.to_pylist())
    bad = next(
        ((row, cell) for row, cell in cells if isinstance(cell, str) and to_number(cell) != to_number(cell)),
        None,
    )
    return "" if bad is None else f", {bad[1][:40]!r} at {place(bad[0])}"
