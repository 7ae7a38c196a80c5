"""Parquet, Arrow, CSV, TSV and JSON lines as record batches with one layout.

The files of one data set go in. Out come the roles of their columns, and their rows in batches::

    files = DataFile("train.parquet").tables
    files.layout.names, files.n_rows
    for path, row, start, batch in files.batches(["qid", "label"]):
        ...
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.columns import INDEX, ColumnNames, find, roles_of
from directrix.data.file import SEPARATORS, DataFile
from directrix.data.files import Stamp, check_stamp, readable
from directrix.data.frames import Categories, categories_from
from directrix.data.stored import Extent
from directrix.data.tables.text import (
    TO_UTF8,
    not_a_number,
    read_columns,
    row_places,
    text_batches,
)
from directrix.errors import Advice, InputError, MissingExtra
from directrix.parsing import json_of


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
    """Turn errors of decoding a damaged file into an `InputError`.

    All code that opens a file with pyarrow, or reads its schema or values, runs within such a block.
    """
    # The import is not where the error is caught, because nothing can be imported while Python ends.
    arrow = import_arrow()
    # Text that is no UTF-8 raises a ValueError, a date that Python does not have an ArithmeticError, and a
    # text of negative length a SystemError, from Python itself.
    damages = (arrow.ArrowException, OSError, ValueError, ArithmeticError, LookupError, MemoryError)
    try:
        yield
    except InputError:
        raise
    except (*damages, RecursionError, SystemError, csv.Error) as error:
        # An obstacle for files of any format has its own message.
        with readable(path), path.open("rb"):
            pass
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        # pyarrow counts rows. These are not lines, because a cell may hold several.
        reason = re.sub(r"Row #(\d+)", r"row \1 (the names are row 1)", reason)
        remedy = "A complete file is needed; write or fetch it again."
        form = DataFile(path).text_form
        if form and re.search("utf-?8", reason, re.IGNORECASE):
            remedy = TO_UTF8
        elif "changed from" in reason:
            remedy = "A column has one type: write its values as numbers or as text, in quotes."
        raise InputError(
            f"{path} cannot be read as a {'CSV, TSV or JSON' if form else 'Parquet or Arrow'} "
            f"file: {reason}. {remedy}"
        ) from error


FEATURE_NAMES, CATEGORIES = b"directrix.feature_names", b"directrix.categories"
"""Keys of the names of features, and of their categories, in the metadata of a schema, as lists in JSON."""

SAMPLED = b"directrix.sampled_negatives"
"""Key in this metadata of lists with only a sample of the other items."""

_CALL = "directrix.data.read_parquet(path"


@dataclass(frozen=True)
class Layout:
    """The columns of a data set."""

    names: tuple[str, ...] | None
    """Names of the features; None: they are in a list, and the file does not name them."""
    n_features: int
    """Their number. A damaged file can state any number, which allocates at most one batch."""
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
    """Names of categories whose positions a list holds."""
    width: int = 0
    """Length of the lists; 0 without lists."""
    chosen: tuple[int, ...] | None = None
    """Positions of the features in the lists; None: all."""


def layout_of(schema: Any, path: Path, names: ColumnNames, cells: Any = None) -> Layout:
    """Return the roles of columns, or raise `InputError`; ``cells`` is the table, of text, for messages."""
    known = [name for name in schema.names if not INDEX.fullmatch(name)]
    asked = (names.features or ()) + (names.excluded or ())
    if FEATURE_NAMES in (schema.metadata or {}) and not set(asked) <= {*known}:
        return _chosen_of_list(schema, path, names, known)
    roles = roles_of(known, names, str(path), _CALL)
    kinds = {name: schema.field(name).type for name in filter(None, roles[:3])}
    _check_once(path, roles.features)
    kinds |= {name: schema.field(name).type for name in roles.features}
    types = import_arrow().types
    for name in filter(None, (roles.qid, roles.doc_id)):
        if types.is_nested(kinds[name]):
            raise InputError(
                f"{path}: the column {name!r} is {kinds[name]}; an integer or text per row is needed. Write "
                "it as text first."
            )
    # One column may hold all features: the one that the user named, or else one called "features".
    lists = roles.features if names.features else ("features",) if "features" in roles.features else ()
    is_list = len(lists) == 1 and not _is_number(kinds[lists[0]])
    is_list = is_list and (not names.features or types.is_nested(kinds[lists[0]]))
    categorical = tuple(
        name
        for name in roles.features
        if not is_list and (name in (names.categorical or ()) or types.is_dictionary(kinds[name]))
    )
    used = (name for name in (roles.label, *(() if is_list else roles.features)) if name not in categorical)
    _check_numbers(path, {name: kinds[name] for name in filter(None, used)}, roles.label, cells)
    others = roles.qid, roles.label, roles.doc_id
    if not is_list:
        dtype = _dtype([kinds[name] for name in roles.features])
        return Layout(roles.features, len(roles.features), *others, None, dtype, categorical)
    if columns := [name for name in roles.features if name != lists[0]]:
        raise InputError(
            f"{path}: there is a column {columns[0]!r} next to a list column 'features'; features are in "
            "columns or a list.",
            Advice("list-column", columns=columns[:1]),
        )
    kind = kinds[lists[0]]
    if not types.is_fixed_size_list(kind) or kind.list_size <= 0 or not _is_number(kind.value_type):
        raise InputError(
            f"{path}: the column {lists[0]!r} is {kind}; a list of numbers of one length is needed. Type "
            "column.cast(pyarrow.list_(pyarrow.float32(), n_features))."
        )
    n, metadata = kind.list_size, schema.metadata or {}
    try:
        in_file = _names_from(json_of(metadata[FEATURE_NAMES]), n) if FEATURE_NAMES in metadata else None
        categories = categories_from(json_of(metadata[CATEGORIES]), n) if CATEGORIES in metadata else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: its metadata do not fit its features ({error}); write it again.") from None
    return Layout(in_file, n, *others, lists[0], _dtype([kind.value_type]), stored=categories, width=n)


def _chosen_of_list(schema: Any, path: Path, names: ColumnNames, names_of_columns: list[str]) -> Layout:
    """Return a layout with the features of a list that are asked for, or not excluded, by their names."""
    columns = tuple(name for name in names.excluded or () if name in names_of_columns)
    layout = layout_of(schema, path, replace(names, features=None, excluded=columns or None))
    in_list, call = layout.names or (), (str(path), _CALL)
    if names.features:
        chosen = tuple(find(in_list, "features", name, *call) for name in names.features)
    else:
        others = [name for name in names.excluded or () if name not in columns]
        excluded = {find(in_list, "excluded", name, *call) for name in others}
        chosen = tuple(name for name in in_list if name not in excluded)
    _check_once(path, chosen)
    places = tuple(map(in_list.index, chosen))
    stored = layout.stored and tuple(layout.stored[place] for place in places)
    stored = stored if any(stored or ()) else None
    return replace(layout, names=chosen, n_features=len(chosen), stored=stored, chosen=places)


def _check_once(path: Path, features: tuple[str, ...]) -> None:
    if twice := [name for name, times in Counter(features).items() if times > 1]:
        raise InputError(f"{path}: two columns have the name {twice[0]!r}; rename one.")


def _names_from(listed: Any, n_features: int) -> tuple[str, ...]:
    names = categories_from([listed], 1)[0] or ()
    if len(names) != n_features:
        raise ValueError(f"{len(names)} names for lists of {n_features}")
    return names


def _is_number(kind: Any) -> bool:
    types = import_arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _check_numbers(path: Path, kinds: dict[str, Any], label: str | None, cells: Any) -> None:
    """Raise one `InputError` for all columns that hold no numbers, by their types."""
    types = import_arrow().types
    others = {name: kind for name, kind in kinds.items() if not (_is_number(kind) or types.is_null(kind))}
    if not others:
        return
    place = row_places(path)
    shown = ", ".join(
        f"{name!r} ({kind}{'' if cells is None else not_a_number(cells.column(name), place)})"
        for name, kind in others.items()
    )
    if label in others:
        raise InputError(
            f"{path}: labels and features must be numbers, got {shown}. Write labels as grades, e.g. 0 to 4.",
            Advice("label-column"),
        )
    # Text with a value for every other document is not a category, nor is a date.
    categories = [
        name
        for name, kind in others.items()
        if not types.is_temporal(kind)
        and (cells is None or len(cells.column(name).unique()) <= max(20, cells.num_rows // 10))
    ]
    advice = Advice("exclude-columns", columns=list(others))
    if categories:
        advice = Advice("keep-categories", columns=list(others), categories=categories)
    raise InputError(f"{path}: features must be numbers, got {shown}.", advice)


def _dtype(kinds: list[Any]) -> np.dtype[Any]:
    short = ("float", "halffloat", "int8", "uint8", "int16", "uint16", "bool")
    return np.dtype(np.float32 if all(str(kind) in short for kind in kinds) else np.float64)


# Bytes of features that are decoded as one batch.
_BATCH_BYTES = 8 << 20
# Rows of a batch of a table that is read as a whole.
_BATCH_ROWS = 1 << 16


class _Parquet:
    """A Parquet file: its schema, number of rows and batches."""

    cells = None

    def __init__(self, path: Path) -> None:
        self._path = path
        # With pre_buffer, the default, pyarrow would hold the compressed data of all groups of rows at once.
        self._file = import_arrow().parquet.ParquetFile(path, pre_buffer=False)
        self.schema, self.n_rows = self._file.schema_arrow, self._file.metadata.num_rows

    def __reduce__(self) -> tuple[Any, ...]:
        # An open file stays in its process, so another process opens it again.
        return _Parquet, (self._path,)

    def batches(self, columns: list[str] | None, first: int, at_once: int) -> Iterator[tuple[int, Any]]:
        """Yield batches with their first rows; groups of rows before ``first`` are skipped."""
        file = self._file
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        ends = np.cumsum(sizes, dtype=np.int64)
        groups = np.flatnonzero(ends > first)
        row = int(ends[groups[0]] - sizes[groups[0]])
        for batch in file.iter_batches(at_once, row_groups=groups.tolist(), columns=columns):
            yield row, _sound(batch)
            row += batch.num_rows


class _Ipc:
    """An Arrow IPC file."""

    cells = None

    def __init__(self, path: Path) -> None:
        self._path = path
        ipc = import_arrow().ipc
        with import_arrow().memory_map(os.fspath(path)) as mapped:
            self.schema = ipc.open_file(mapped).schema
            narrow = ipc.open_file(mapped, options=ipc.IpcReadOptions(included_fields=[0]))
            self.n_rows = sum(_sound(narrow.get_batch(b)).num_rows for b in range(narrow.num_record_batches))

    def batches(self, columns: list[str], first: int, at_once: int) -> Iterator[tuple[int, Any]]:
        """Yield batches with their first rows; batches before ``first`` are skipped."""
        number, row, n_batches, ipc = 0, 0, 1, import_arrow().ipc
        while number < n_batches:
            # The file is mapped again for each batch, because pages that were read count as memory.
            with import_arrow().memory_map(os.fspath(self._path)) as mapped:
                names = ipc.open_file(mapped).schema.names
                options = ipc.IpcReadOptions(included_fields=sorted(map(names.index, columns)))
                reader = ipc.open_file(mapped, options=options)
                n_batches = reader.num_record_batches
                batch = reader.get_batch(number)
            if row + batch.num_rows > first:
                _sound(batch)
                for start in range(0, batch.num_rows, at_once):
                    yield row + start, batch.slice(start, at_once)
            row, number = row + batch.num_rows, number + 1


class _Text:
    """CSV, TSV or JSON lines, read as a whole."""

    def __init__(self, file: DataFile) -> None:
        self.cells = read_columns(import_arrow(), file)
        self.schema, self.n_rows = self.cells.schema, self.cells.num_rows

    def batches(self, columns: list[str], first: int, at_once: int) -> Iterator[tuple[int, Any]]:
        """Yield batches with their first rows."""
        row = 0
        for batch in self.cells.select(columns).combine_chunks().to_batches(at_once):
            yield row, batch
            row += batch.num_rows


FORMS: dict[str, Any] = {"parquet": _Parquet, "arrow": _Ipc}


def table_rows(file: DataFile) -> Any:
    """Return the rows of one file; see `DataFile.rows`."""
    form = FORMS.get(file.content)
    return _Text(file) if form is None else form(file.path)


def schema_names(file: DataFile) -> list[str]:
    """Return the names of the columns of a Parquet or Arrow file, or of the first one of a folder."""
    first = file.members[0]
    with decoding(first.path):
        names: list[str] = first.rows.schema.names
        return names


def has_sampled_negatives(file: DataFile) -> bool:
    """Return whether a file was written from lists with sampled negatives, see `SAMPLED`."""
    return file.content in FORMS and SAMPLED in (file.rows.schema.metadata or {})


def table_of(file: DataFile, names: list[str] | None = None) -> Any:
    """Read columns (by default all) of a table, or of a folder of tables, into memory."""
    pa, tables = import_arrow(), []
    for member in file.members:
        with decoding(member.path):
            rows = member.rows
            chosen = rows.schema.names if names is None else names
            batches = [batch for _, batch in rows.batches(chosen, 0, _BATCH_ROWS)]
            schema = pa.schema([rows.schema.field(name) for name in chosen])
            tables.append(pa.Table.from_batches(batches, schema))
    with decoding(file.path):
        return pa.concat_tables(tables)


def table_batches(file: DataFile) -> Iterator[Any]:
    """Yield the rows of a table, or of a folder of tables, as Arrow tables of some thousand rows."""
    for member in file.members:
        with decoding(member.path):
            if member.text_form:
                for table in text_batches(import_arrow(), member):
                    # This raises an error for names that are not UTF-8.
                    _ = table.column_names
                    yield table
                continue
            for _, batch in member.rows.batches(member.rows.schema.names, 0, _BATCH_ROWS):
                yield import_arrow().Table.from_batches([batch])


class TableFiles:
    """The files of one data set for `directrix.data.read_parquet`; only columns and sizes are read.

    Raises `InputError` if a file does not exist, is damaged, or lacks required columns.
    """

    def __init__(self, file: DataFile) -> None:
        self.path, members, names = file.path, file.members, file.columns
        self.paths = [member.path for member in members]
        stats = [p.stat() for p in self.paths]
        self.stamps: tuple[Stamp, ...] = tuple(
            (p, s.st_size, s.st_mtime_ns) for p, s in zip(self.paths, stats, strict=True)
        )
        self._files, layouts = [], []
        for member in members:
            with decoding(member.path):
                # A missing column is an error before the rows are read.
                if member.text_form in SEPARATORS:
                    roles_of(member.names, names, str(member), _CALL)
                rows = member.rows
                # A damaged header may hold any number.
                if rows.n_rows < 0:
                    raise ValueError(f"its header says that it has {rows.n_rows:,} rows")
                self._files.append(rows)
                layouts.append(layout_of(rows.schema, member.path, names, rows.cells))
        # All files of a folder are one table, so they must agree.
        self.layout = layouts[0]
        for member, layout in zip(members, layouts, strict=True):
            if layout != self.layout:
                raise InputError(
                    f"{member} has other columns, or columns of other types, than {self.paths[0]}; all files "
                    "of a folder must have the same. Write them again, or give one file."
                )
        self.sizes: list[int] = [content.n_rows for content in self._files]
        self.n_rows: int = sum(self.sizes)
        if not self.n_rows:
            raise InputError(
                f"{file} has no rows; at least one document is needed. Check how it was written."
            )

    @property
    def n_bytes(self) -> int:
        """Bytes that all features take in memory."""
        return self.n_rows * self.layout.n_features * self.layout.dtype.itemsize

    def batches(self, columns: list[str], first: int = 0) -> Iterator[tuple[Path, int, int, Any]]:
        """Yield record batches of these columns in order, with the file, its first row there, and overall.

        Batches that end before the row ``first`` (of all files together) may be skipped.
        """
        # The other columns of a row take some bytes too, for which 64 is the least.
        per_row = max((self.layout.width or self.layout.n_features) * self.layout.dtype.itemsize, 64)
        before = 0
        for path, content in zip(self.paths, self._files, strict=True):
            size, begin = content.n_rows, max(first - before, 0)
            if begin < size:
                end = 0
                with decoding(path):
                    check_stamp(self.stamps, path, path.stat())
                    for row, batch in content.batches(columns, begin, max(256, _BATCH_BYTES // per_row)):
                        end = row + batch.num_rows
                        # More rows than the header says are an error, which is raised below, before they are
                        # used.
                        if end > size:
                            break
                        yield path, row, before + row, batch
                    if end != size:
                        raise ValueError(f"its header says {size:,} rows, and its data have {end:,}")
            before += size

    def extents(self) -> tuple[Extent, ...] | None:
        """Return the positions of the features' bytes in the files; None if they differ from those in memory.

        They are equal in Arrow IPC files without compression, with one list column without nulls, if all of
        its features are chosen.
        """
        extents, before, pa = [], 0, import_arrow()
        for path, rows in zip(self.paths, self._files, strict=True):
            if self.layout.lists is None or self.layout.chosen is not None or not isinstance(rows, _Ipc):
                return None
            floats = pa.float32(), pa.float64()
            with decoding(path), pa.memory_map(os.fspath(path)) as mapped:
                begin, end = mapped.read_buffer(8).address, mapped.size()
                reader = pa.ipc.open_file(mapped)
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
                    extents.append((row, path, offset))
                    row += len(column)
            before += rows.n_rows
        return tuple(extents)


def _sound(batch: Any) -> Any:
    """Return a batch whose offsets, lengths and text are valid: pyarrow follows them unchecked."""
    batch.validate(full=True)
    return batch
