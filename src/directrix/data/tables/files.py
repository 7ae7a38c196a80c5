"""Parquet, Arrow, CSV, TSV and JSON lines as record batches with one layout."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from directrix.data.columns import RECOGNIZED, ColumnNames, roles_of
from directrix.data.files import Stamp, check_stamp, readable
from directrix.data.formats import ARROW, table_files, text_table
from directrix.data.frames import Categories, categories_from
from directrix.data.stored import Extent
from directrix.data.tables.text import header_of, not_a_number, read_columns
from directrix.errors import InputError, MissingExtra


def import_arrow() -> Any:
    """Return the package pyarrow with its modules for both formats, or raise `MissingExtra`."""
    try:
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        purpose = "reading Parquet, Arrow, CSV, TSV and JSON lines, and writing Parquet and Arrow,"
        raise MissingExtra("arrow", purpose) from error
    return pyarrow


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn what is raised where a damaged file is decoded into an `InputError`.

    Everything that opens a file with pyarrow, or looks at its schema or its values, runs within such a block.
    """
    try:
        yield
    except InputError:
        raise
    except (
        import_arrow().ArrowException,
        OSError,
        ValueError,  # text that is no UTF-8, among others
        ArithmeticError,  # a date that Python does not have
        LookupError,
        MemoryError,
        RecursionError,
        SystemError,  # from Python itself, for a text of negative length
        csv.Error,
    ) as error:
        with readable(path), path.open("rb"):
            pass  # an obstacle for files of any format has its own message
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path} cannot be read as a {'CSV, TSV or JSON' if text_table(path) else 'Parquet or Arrow'} "
            f"file: {reason}. A complete file is needed; write or fetch it again."
        ) from error


FEATURE_NAMES, CATEGORIES = b"directrix.feature_names", b"directrix.categories"
"""Keys of the names of features, and of their categories, in the metadata of a schema, as lists in JSON."""

INDEX = re.compile(r"__index_level_\d+__")  # a column in which pandas stores its index


@dataclass(frozen=True)
class Layout:
    """The columns of a data set."""

    names: tuple[str, ...] | None
    """Names of the features; None: they are in a list, and the file does not name them."""
    n_features: int
    """Their number. A damaged file can state any; no more than a batch is made from it."""
    qid: str
    """Column of queries."""
    label: str | None
    """Column of labels."""
    doc_id: str | None
    """Column of documents."""
    lists: str | None
    """The one column that holds all features as lists."""
    dtype: np.dtype[Any]
    """float32 if all features fit into it exactly, else float64."""
    categorical: tuple[str, ...] = ()
    """Columns of features whose values are names of categories."""
    stored: Categories | None = None
    """Names of categories whose places a list holds."""

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        features = (self.names or ()) if self.lists is None else (self.lists,)
        return [*filter(None, (self.qid, self.label, self.doc_id)), *features]


def layout_of(pa: Any, schema: Any, path: Path, names: ColumnNames, cells: Any = None) -> Layout:
    """Return what the columns hold, or raise `InputError`; ``cells`` is the table, of text, for messages."""
    known = [name for name in schema.names if not INDEX.fullmatch(name)]
    roles = roles_of(known, names, str(path), "directrix.data.read_parquet(path")
    for name in filter(None, (roles.qid, roles.doc_id)):
        if pa.types.is_nested(schema.field(name).type):
            raise InputError(
                f"{path}: the column {name!r} is {schema.field(name).type}; an integer or text per row is "
                "needed. Write it as text first."
            )
    if twice := [name for name, times in Counter(roles.features).items() if times > 1]:
        raise InputError(f"{path}: two columns have the name {twice[0]!r}; rename one.")
    places = {"qid": roles.qid, "label": roles.label, "doc_id": roles.doc_id}
    given = roles.features if names.features else ("features",) if "features" in roles.features else ()
    is_list = len(given) == 1 and not _is_number(pa, schema.field(given[0]).type)
    is_list = is_list and (not names.features or pa.types.is_nested(schema.field(given[0]).type))
    numbers = [roles.label] if roles.label else []
    is_category = partial(_is_category, pa, schema, names)
    categorical = () if is_list else tuple(name for name in roles.features if is_category(name))
    for name in numbers if is_list else [*numbers, *roles.features]:
        if name not in categorical:
            _check_number(pa, path, name, schema.field(name).type, cells)
    if not is_list:
        dtype = _dtype(pa, [schema.field(name).type for name in roles.features])
        whole = Layout(roles.features, len(roles.features), lists=None, dtype=dtype, **places)
        return replace(whole, categorical=categorical)
    if others := [name for name in roles.features if name != given[0]]:
        raise InputError(
            f"{path}: there is a column {others[0]!r} next to a list column 'features'; features are in "
            "columns or a list.",
            python=f"Leave it out, e.g. table.drop_columns({others[:1]!r}), or append it to that.",
            shell="Name the one to use: --feature-columns features.",
        )
    kind = schema.field(given[0]).type
    is_fixed = pa.types.is_fixed_size_list(kind) and kind.list_size > 0
    if not is_fixed or not _is_number(pa, kind.value_type):
        raise InputError(
            f"{path}: the column {given[0]!r} is {kind}; a list of numbers of one length is needed. Type "
            "column.cast(pyarrow.list_(pyarrow.float32(), n_features))."
        )
    metadata, n, dtype = schema.metadata or {}, kind.list_size, _dtype(pa, [kind.value_type])
    stored = _stored_names(metadata.get(FEATURE_NAMES), n, path)
    categories = _stored_categories(metadata.get(CATEGORIES), n, path)
    return Layout(stored, n, lists=given[0], dtype=dtype, stored=categories, **places)


def _stored_names(text: bytes | None, n: int, path: Path) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    n_names = len(set(names)) if is_text else 0
    if n_names != n:
        raise InputError(
            f"{path}: its metadata name {n_names} features for lists of {n}; write the file again."
        )
    return tuple(names)


def _stored_categories(text: bytes | None, n: int, path: Path) -> Categories | None:
    if text is None:
        return None
    try:
        return categories_from(json.loads(text), n)
    except (ValueError, RecursionError):
        raise InputError(
            f"{path}: its metadata do not name the categories of {n} features; write the file again."
        ) from None


def _is_category(pa: Any, schema: Any, names: ColumnNames, name: str) -> bool:
    return name in (names.categorical or ()) or pa.types.is_dictionary(schema.field(name).type)


def _is_number(pa: Any, kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _check_number(pa: Any, path: Path, name: str, kind: Any, cells: Any) -> None:
    if not _is_number(pa, kind) and not pa.types.is_null(kind):
        where = "" if cells is None else not_a_number(cells.column(name))
        raise InputError(
            f"{path}: the column {name!r} is {kind}{where}; numbers are needed.",
            python=f"Leave it out: table.drop_columns([{name!r}]); or, for trees, write it as a dictionary: "
            "table.column(name).dictionary_encode().",
            shell=f"If it holds categories, for trees, type --categorical-columns {name}; or name the "
            "columns of features: --feature-columns NAME,... .",
        )


def _dtype(pa: Any, kinds: list[Any]) -> np.dtype[Any]:
    short = {pa.float32(), pa.float16(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_()}
    return np.dtype(np.float32 if all(kind in short for kind in kinds) else np.float64)


_MAGIC = {b"PAR1": "parquet", b"ARRO": "ipc"}
_BATCH_BYTES = 8 << 20  # of features that are decoded as one batch


def _form(path: Path) -> str | None:
    with readable(path), path.open("rb") as file:
        return _MAGIC.get(file.read(4))


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a table; of JSON lines those of the first object."""
    with decoding(path):
        file = _paths(path)[0]
        form = _form(file)
        if form is None:
            return header_of(file)
        pa = import_arrow()
        if form == "parquet":
            names = pa.parquet.read_schema(file).names
        else:
            with pa.memory_map(os.fspath(file)) as mapped:
                names = pa.ipc.open_file(mapped).schema.names
        return [name for name in names if not INDEX.fullmatch(name)]


def table_of(path: Path, names: ColumnNames = RECOGNIZED) -> Any:
    """Read all columns of a table, or of a folder of them, into memory."""
    pa = import_arrow()
    tables = []
    for file in _paths(path):
        with decoding(file):
            form = _form(file)
            if form is None:
                tables.append(read_columns(pa, file, names))
            elif form == "parquet":
                tables.append(pa.parquet.ParquetFile(file).read())
            else:
                with pa.memory_map(os.fspath(file)) as mapped:
                    tables.append(pa.ipc.open_file(mapped).read_all())
    with decoding(path):
        table = pa.concat_tables(tables)
        table.validate(full=True)
        return table


class Place(NamedTuple):
    """Where a batch comes from: its file, and its first row in the file."""

    path: Path
    row: int

    def of(self, row: int, column: str) -> str:
        """Name a cell of the batch, for messages."""
        return f"{self.path}: row {self.row + row}, column {column!r}"


class ArrowFiles:
    """The files that `directrix.data.read_parquet` takes as one data set; only columns and sizes are read.

    Raises `InputError` if a file does not exist, is damaged, or has other columns than are needed.
    """

    def __init__(self, path: Path, names: ColumnNames = RECOGNIZED) -> None:
        self.path, self._names = path, names
        self.paths = _paths(path)
        stats = [p.stat() for p in self.paths]
        self.stamps: tuple[Stamp, ...] = tuple(
            (p, s.st_size, s.st_mtime_ns) for p, s in zip(self.paths, stats, strict=True)
        )
        self.sizes: list[int] = []
        layouts = []
        for file in self.paths:
            with decoding(file):
                schema, n_rows, cells = self._schema_and_size(file)
                if n_rows < 0:
                    raise ValueError(f"its header says that it has {n_rows:,} rows")
                layouts.append(layout_of(self._pa, schema, file, names, cells))
            self.sizes.append(n_rows)
        self.layout = layouts[0]
        for file, layout in zip(self.paths, layouts, strict=True):
            if layout != self.layout:
                raise InputError(
                    f"{file} has other columns, or columns of other types, than {self.paths[0]}; all files "
                    "of a folder must have the same. Write them again, or give one file."
                )
        if not self.n_rows:
            raise InputError(
                f"{path} has no rows; at least one document is needed. Check how it was written."
            )

    @property
    def _pa(self) -> Any:
        return import_arrow()  # a module cannot be pickled

    @property
    def n_rows(self) -> int:
        """Number of documents in all files."""
        return sum(self.sizes)

    @property
    def n_bytes(self) -> int:
        """Bytes that all features take in memory."""
        return self.n_rows * self.layout.n_features * self.layout.dtype.itemsize

    def batches(self, columns: list[str] | None = None, first: int = 0) -> Iterator[tuple[Place, Any]]:
        """Record batches in order, each with its place; only the given columns, None = all of the layout.

        Batches that end before the row ``first`` (of all files together) may be left out.
        """
        wanted = self.layout.columns if columns is None else columns
        per_row = max(self.layout.n_features * self.layout.dtype.itemsize, 64)
        for path, size in zip(self.paths, self.sizes, strict=True):
            if first < size:
                read, end = self._BATCHES[_form(path)], 0
                with decoding(path):
                    check_stamp(self.stamps, path, path.stat())
                    for row, batch in read(
                        self, path, wanted, max(first, 0), max(256, _BATCH_BYTES // per_row)
                    ):
                        end = row + batch.num_rows
                        if end > size:
                            break
                        yield Place(path, row), batch
                    if end != size:
                        raise ValueError(f"its header says {size:,} rows, and its data have {end:,}")
            first -= size

    def extents(self) -> tuple[Extent, ...] | None:
        """Return where the bytes of features are in the files; None if they differ from those in memory.

        They are the same in Arrow IPC files without compression, with one list column without nulls.
        """
        extents, before = [], 0
        for path, size in zip(self.paths, self.sizes, strict=True):
            if self.layout.lists is None or _form(path) != "ipc":
                return None
            floats = self._pa.float32(), self._pa.float64()
            with decoding(path), self._pa.memory_map(os.fspath(path)) as mapped:
                begin, end = mapped.read_buffer(8).address, mapped.size()
                reader = self._pa.ipc.open_file(mapped)
                row = before
                for number in range(reader.num_record_batches):
                    column = _sound(reader.get_batch(number)).column(self.layout.lists)
                    values = column.flatten()
                    if not len(column):
                        continue
                    width = values.type.bit_width // 8
                    offset = values.buffers()[1].address - begin + values.offset * width
                    is_plain = 0 <= offset <= end - len(values) * width and values.type in floats
                    if not is_plain or column.null_count or values.null_count:
                        return None
                    extents.append(Extent(row, path, offset))
                    row += len(column)
            before += size
        return tuple(extents)

    def _schema_and_size(self, path: Path) -> tuple[Any, int, Any]:
        """Columns of a file, their number of rows, and the table of a file of text."""
        if (form := _form(path)) is None:
            self._text = read_columns(self._pa, path, self._names)
            return self._text.schema, self._text.num_rows, self._text
        if form == "parquet":
            with self._pa.parquet.ParquetFile(path) as file:
                return file.schema_arrow, file.metadata.num_rows, None
        with self._pa.memory_map(os.fspath(path)) as mapped:
            reader = self._pa.ipc.open_file(mapped)
            options = self._pa.ipc.IpcReadOptions(included_fields=[0])
            narrow = self._pa.ipc.open_file(mapped, options=options)
            sizes = (_sound(narrow.get_batch(b)).num_rows for b in range(narrow.num_record_batches))
            return reader.schema, sum(sizes), None

    def _text_batches(self, path: Path, columns: list[str], first: int, at_once: int) -> Iterator[Any]:
        row = 0
        for batch in self._text.select(columns).combine_chunks().to_batches(at_once):
            yield row, batch
            row += batch.num_rows

    def _parquet_batches(self, path: Path, columns: list[str], first: int, at_once: int) -> Iterator[Any]:
        # pre_buffer, the default, would hold the compressed data of all groups of rows at once
        with self._pa.parquet.ParquetFile(path, pre_buffer=False) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            ends = np.cumsum(sizes, dtype=np.int64)
            groups = np.flatnonzero(ends > first)
            row = int(ends[groups[0]] - sizes[groups[0]])
            for batch in file.iter_batches(at_once, row_groups=groups.tolist(), columns=columns):
                yield row, _sound(batch)
                row += batch.num_rows

    def _ipc_batches(self, path: Path, columns: list[str], first: int, at_once: int) -> Iterator[Any]:
        number, row, n_batches = 0, 0, 1
        while number < n_batches:
            # mapped again for each batch, since pages that were read count as memory
            with self._pa.memory_map(os.fspath(path)) as mapped:
                names = self._pa.ipc.open_file(mapped).schema.names
                options = self._pa.ipc.IpcReadOptions(included_fields=sorted(map(names.index, columns)))
                reader = self._pa.ipc.open_file(mapped, options=options)
                n_batches = reader.num_record_batches
                batch = reader.get_batch(number)
            if row + batch.num_rows > first:
                _sound(batch)
                for start in range(0, batch.num_rows, at_once):
                    yield row + start, batch.slice(start, at_once)
            row, number = row + batch.num_rows, number + 1

    _BATCHES: ClassVar = {"parquet": _parquet_batches, "ipc": _ipc_batches, None: _text_batches}


def _sound(batch: Any) -> Any:
    """Return a batch whose offsets, lengths and text are valid: pyarrow follows them unchecked."""
    batch.validate(full=True)
    return batch


def _paths(path: Path) -> list[Path]:
    if not path.is_dir():
        if _form(path) is None and not text_table(path):
            remedy = (
                "If it is an Arrow stream or Feather version 1, write it again: "
                "pyarrow.feather.write_feather(table, path)."
                if ARROW.is_named(path)
                else f"LETOR text is read by read_letor(path); `directrix convert {path.name} "
                f"{path.stem}.arrow` rewrites it."
            )
            raise InputError(
                f"{path} is neither a Parquet nor an Arrow IPC file (Feather version 2), by its first bytes. "
                f"{remedy}"
            )
        return [path]
    files = table_files(path)
    if not files:
        raise InputError(
            f"{path} is a folder without *.parquet, *.arrow or *.feather; give the folder of a data set, or "
            f"one file, e.g. {path / 'train.parquet'}."
        )
    for file in files:
        if file.is_dir() or _form(file) is None:
            raise InputError(f"{file} is not a Parquet or Arrow file; remove it from the folder {path}.")
    return files
