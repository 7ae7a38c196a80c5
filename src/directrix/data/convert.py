"""Rewrite a data file in another format, part by part: no more than some blocks are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrix.data.arrow_files import SUFFIXES, ArrowFiles, is_arrow
from directrix.data.arrow_stream import Part, parts_of
from directrix.data.arrow_write import writing
from directrix.data.letor_parts import TextParts, Wider
from directrix.data.letor_write import letor_text, replacing
from directrix.data.options import check_missing
from directrix.data.queries import Queries
from directrix.types import Int64Array

__all__ = ["Counts", "convert_file"]


class Counts(NamedTuple):
    """How much was converted."""

    rows: int
    queries: int
    features: int


def convert_file(source: Path, target: Path, missing: str = "error") -> Counts:
    """Rewrite LETOR text, Parquet or Arrow files as one of these, without holding them in memory.

    Parameters
    ----------
    source : path
        LETOR text, plain or compressed; a Parquet or Arrow file, or a folder of them.
    target : path
        ``.parquet``, ``.arrow``, ``.feather``; anything else is LETOR text, compressed with ``.gz`` ``.bz2``
        ``.xz`` at its end. It appears only when all of it is written.
    missing : {"error", "zero", "nan"}
        What missing features mean, see `read_letor`.

    Raises
    ------
    InputError
        If the source cannot be used, as `read_letor` and `open_parquet` do.

    Notes
    -----
    Values keep their bits: features become float32, or stay float64 where an Arrow file holds them. The width
    of text is known when all of it is read, so text that grows wider after its first 16 MiB is read twice.
    Of text some 20 bytes a run of lines of one query are kept, to see that no query stands in two places.
    """
    check_missing(missing)
    if is_arrow(source):
        files = ArrowFiles(source)
        names = files.layout.names if files.layout.has_names else None
        return _write(parts_of(files, missing), target, has_docs=files.layout.has_docs, names=names)
    parts = TextParts(source, missing)
    while True:
        try:
            return _write(parts, target, has_docs=parts.has_docs, names=None)
        except Wider as found:
            parts.expect(found)


def _write(parts: Iterable[Part], target: Path, *, has_docs: bool, names: tuple[str, ...] | None) -> Counts:
    counted = _Counted(parts)
    if target.suffix in SUFFIXES:
        with writing(target, has_docs=has_docs, names=names) as add:
            for part in counted:
                add(*part)
    else:
        with replacing(target) as file:
            for part in counted:
                for text in letor_text(_as_queries(part), counted.rows - len(part.labels)):
                    file.write(text)
    return Counts(counted.rows, counted.queries, counted.features)


class _Counted:
    """Parts, and how much there was of them."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = parts
        self.rows = self.queries = self.features = 0

    def __iter__(self) -> Iterator[Part]:
        last: list[object] = []
        for part in self._parts:
            ids = part.qids[_starts(part)].tolist()
            self.queries += len(ids) - (ids[:1] == last)
            self.rows, self.features, last = self.rows + len(part.labels), part.features.shape[1], ids[-1:]
            yield part


def _starts(part: Part) -> Int64Array:
    return np.flatnonzero(np.append(True, part.qids[1:] != part.qids[:-1]))


def _as_queries(part: Part) -> Queries:
    """A part as `Queries`; that its last query may go on does not matter to who writes lines."""
    starts, n = _starts(part), len(part.labels)
    ids = tuple(part.qids[starts].tolist())
    return Queries(part.features, part.labels, np.append(starts, n), ids, part.doc_ids, None, np.arange(n))
