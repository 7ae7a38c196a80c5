"""Indexes, queries, candidates and runs that the commands of the group ``text`` read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from directrix.cli import options
from directrix.cli.output import remark
from directrix.data.file import DataFile
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.trec.runs import Run


IndexArgument = Annotated[Path, options.argument(metavar="INDEX", help="Written by `directrix text index`.")]
QueriesArgument = Annotated[
    Path,
    options.argument(
        metavar="QUERIES",
        help="Queries: JSON lines, CSV, TSV, Parquet, TREC topics (<top>) or SMART text (.I 1).",
    ),
]
CandidatesOption = Annotated[
    Path,
    options.option("--run", metavar="RUN", help="Candidates: a TREC run, or a table of documents."),
]
OtherRunsOption = Annotated[
    list[Path] | None,
    options.option(
        "--with",
        metavar="RUN",
        help="Scores of another system as features: a TREC run, or a table with a feature per numeric "
        "column. Documents that a run lacks get its lowest score of the query; empty cells, and rows that a "
        "table lacks, are missing values. Repeatable.",
    ),
]
QueryFieldOption = Annotated[
    str | None,
    options.option(
        help="Field of a query to search for. Default: query, text, title or question, whichever is there."
    ),
]
IdColumnOption = Annotated[
    str | None,
    options.option(
        metavar="NAME", help="Name of the identifier. Default: a known one, such as qid, _id or id."
    ),
]


def other_runs(paths: list[Path] | None, candidates: Run) -> list[Run]:
    """Read the runs of ``--with``; a table gives one for each of its columns of numbers."""
    runs: list[Run] = []
    for file in map(DataFile, paths or ()):
        runs += _columns_of(file, candidates) if file.is_table else [file.run()]
    return runs


def _columns_of(file: DataFile, candidates: Run) -> list[Run]:
    """Return columns of numbers as runs by name; empty cells and rows that candidates lack stay missing."""
    import numpy as np
    import pyarrow.types as types

    from directrix.data.columns import DOC, QUERY, SCORES, column_list, find
    from directrix.data.files import short_name
    from directrix.data.tables.text import row_places
    from directrix.data.trec.documents import of_frame
    from directrix.data.trec.join import check_overlap
    from directrix.data.trec.runs import Run

    path, table = file.path, file.table()
    names = [
        field.name
        for field in table.schema
        if field.name not in (*QUERY, *DOC, "rank")
        and (types.is_floating(field.type) or types.is_integer(field.type))
    ]
    if not names:
        raise InputError(
            f"{path} has no column of numbers other than identifiers and ranks; it has "
            f"{', '.join(table.column_names)}. Give a table with a column of scores."
        )
    keys = {key: find(table.column_names, key, None, str(path), "") for key in ("qid", "doc_id")}
    if others := [name for name in table.column_names if name not in (*names, *keys.values(), "rank")]:
        words = "no features are made of columns that are not numbers"
        remark(f"note: {path}: {words}: {column_list(others)}")
    # In place of scores, the run gets the numbers of the rows, by which each column is then looked up.
    rows = {key: table[name].to_pylist() for key, name in keys.items()} | {"score": range(table.num_rows)}
    call, named_so = "directrix.data.Run.from_frame(frame", {key: key for key in rows}
    documents = of_frame(rows, "score", str(path), named_so, call, row_places(path))
    in_table = Run(short_name(path), *documents[:4])
    check_overlap(candidates, in_table)
    rows_of_table = in_table.scores.astype(np.int64)
    place = dict(zip(_keys(in_table), rows_of_table, strict=True))
    aligned = np.array([place.get(key, -1) for key in _keys(candidates)], dtype=np.int64)
    runs = []
    for name in names:
        values = np.append(table[name].to_numpy().astype(np.float64), np.nan)
        # A column of scores ranks the documents of its table; any other is a feature of the candidates.
        documents_of, place_of = (in_table, rows_of_table) if name in SCORES else (candidates, aligned)
        runs.append(replace(documents_of, tag=name, scores=values[place_of]))
    return runs


def _keys(run: Run) -> Iterator[tuple[str, str]]:
    """Yield query and document of every row."""
    for query, (first, last) in zip(run.query_ids, pairwise(run.qptr.tolist()), strict=True):
        yield from ((query, doc) for doc in run.doc_ids[first:last])
