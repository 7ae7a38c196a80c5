"""Parquet and Arrow IPC files, or a folder of them, as one sequence of record batches with one layout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from directrix.data.arrow.columns import Place
from directrix.data.arrow.layout import INDEX, layout_of
from directrix.data.arrow.library import decoding, import_arrow
from directrix.data.arrow.text import header_of, is_columns, read_columns
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.files import Stamp, check_stamp, readable
from directrix.data.formats import ARROW
from directrix.data.stored import Extent
from directrix.errors import InputError

_MAGIC = {b"PAR1": "parquet", b"ARRO": "ipc"}
_BATCH_BYTES = 8 << 20  # of features that are decoded as one batch


def is_arrow(path: Path) -> bool:
    """Return whether a path is a Parquet or Arrow file (by its first bytes), or a folder of them."""
    if path.is_dir():
        return bool(table_files(path))
    try:
        return path.is_file() and _form(path) is not None
    except InputError:
        return False  # the readers say why it cannot be read


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


def table_files(folder: Path) -> list[Path]:
    """Return the Parquet and Arrow files of a folder, in the order of their names."""
    with readable(folder):
        return [p for p in sorted(folder.iterdir()) if ARROW.is_named(p) and p.name[0] not in "._"]


def _paths(path: Path) -> list[Path]:
    if not path.is_dir():
        if _form(path) is None and not is_columns(path):
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
