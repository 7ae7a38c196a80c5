"""Rewrite a data file in another format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import LETOR, Format, format_of, named
from directrix.data.options import check_missing
from directrix.data.parts import StartAgain
from directrix.data.queries import Queries


class Counts(NamedTuple):
    """How much was converted."""

    rows: int
    queries: int
    features: int


def convert_file(
    source: Path, target: Path, missing: str = "error", columns: ColumnNames = RECOGNIZED
) -> Counts:
    """Rewrite a data file, or a folder of Parquet and Arrow files, in the format that the target's name says.

    See `FORMATS` for the endings; any other is LETOR text. ``.gz``, ``.bz2`` and ``.xz`` compress text. The
    file appears only when all of it is written. ``missing`` and ``columns`` mean the same, and errors are
    raised, as by `read_letor` and `open_parquet`.

    From and to Parquet and Arrow no more than a few blocks are in memory. Text that becomes other text is
    read whole, so that sparse features stay sparse; so are labels that become judgments.

    Values keep their bits: features become float32, or stay float64 where an Arrow file holds them. The width
    of text is known when all of it is read, so text that grows wider after its first 16 MiB is read twice.
    For each run of lines of one query some 20 bytes are kept, to see that no query is in two places.
    """
    check_missing(missing)
    origin, form = format_of(source), named(target) or LETOR
    in_parts = form.is_table or (origin.is_table and form.reader)
    arguments = source, missing, columns
    parts = origin.read_parts(*arguments) if in_parts else [origin.read(*arguments)]
    while True:
        try:
            return _write(parts, target, form)
        except StartAgain:
            continue


def _write(parts: Iterable[Queries], target: Path, form: Format) -> Counts:
    rows = queries = features = 0
    last: tuple[object, ...] = ()
    with form.writing(target) as add:
        for part in filter(lambda part: part.n_docs, parts):
            add(part)
            queries += part.n_queries - (part.query_ids[:1] == last)
            rows, features, last = rows + part.n_docs, part.n_features, part.query_ids[-1:]
    return Counts(rows, queries, features)
