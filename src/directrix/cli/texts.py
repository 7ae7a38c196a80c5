"""What the commands on text share: options, runs in tables, and runs to write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrix.cli import options
from directrix.cli.output import echo, remark
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.trec.runs import Run

IndexArgument = Annotated[Path, options.argument(metavar="INDEX", help="Written by `directrix index`.")]
QueriesArgument = Annotated[
    Path,
    options.argument(
        metavar="QUERIES",
        help="Queries: JSON lines, CSV, TSV, Parquet, TREC topics (<top>) or SMART text (.I 1).",
    ),
]
CandidatesOption = Annotated[
    Path,
    options.without_default("--run", metavar="RUN", help="Candidates: a TREC run, or a table of documents."),
]
WithOption = Annotated[
    list[Path] | None,
    options.without_default(
        "--with",
        metavar="RUN",
        help="Scores of another system as features: a TREC run, or a table each of whose columns of numbers "
        "is one. Repeatable.",
    ),
]
QueryFieldOption = Annotated[
    str | None,
    options.without_default(
        help="Field of a query to search for. Default: query, text, title or question, whichever is there."
    ),
]
IdColumnOption = Annotated[
    str | None,
    options.without_default(
        metavar="NAME", help="Name of the identifier. Default: a known one, as qid, _id or id."
    ),
]
RunOutputOption = Annotated[
    Path | None,
    options.without_default(
        "--output", "-o", help="File to write: a TREC run, or JSON lines (.jsonl). Default: standard output."
    ),
]


def other_runs(paths: list[Path] | None) -> list[Run]:
    """Read the runs of ``--with``; a table gives one for each of its columns of numbers."""
    from directrix.data.formats import is_documents_table
    from directrix.data.trec.runs import read_trec_run

    runs = []
    for path in paths or ():
        runs += _columns_of(path) if is_documents_table(path) else [read_trec_run(path)]
    return runs


def _columns_of(path: Path) -> list[Run]:
    """Return each column of numbers of a table as a run of its name, without rows that lack a value."""
    import pyarrow.types as types

    from directrix.data.columns import DOC, QUERY
    from directrix.data.tables.files import table_of
    from directrix.data.trec.runs import Run

    table = table_of(path)
    names = [
        field.name
        for field in table.schema
        if field.name not in (*QUERY, *DOC, "rank")
        and (types.is_floating(field.type) or types.is_integer(field.type))
    ]
    if not names:
        raise InputError(
            f"{path} has no column of numbers that is not an identifier or a rank; there are "
            f"{', '.join(table.column_names)}. Give a table with a column of scores."
        )
    return [Run.from_frame(table.filter(table[name].is_valid()), tag=name, score=name) for name in names]


def write_run(run: Run, output: Path | None) -> None:
    """Write a run as TREC text, or as JSON lines if the name of the file says so; None: standard output."""
    from directrix.data.files import replacing, without_compression
    from directrix.data.trec.runs import run_text

    is_json = output is not None and without_compression(output).suffix in (".jsonl", ".ndjson")
    text = _json_lines(run) if is_json else run_text(run)
    if output is None:
        echo(text, nl=False, exact=True)
        return
    with replacing(output) as file:
        file.write(text.encode())
    remark(f"saved: {output} ({len(run.doc_ids)} documents of {len(run.query_ids)} queries)")


def _json_lines(run: Run) -> str:
    import numpy as np

    lines = []
    for q, query in enumerate(run.query_ids):
        scores, names = (part[run.qptr[q] : run.qptr[q + 1]] for part in (run.scores, run.doc_ids))
        for rank, i in enumerate(np.argsort(-scores, kind="stable"), start=1):
            row: dict[str, Any] = {
                "qid": query,
                "docno": str(names[i]),
                "rank": rank,
                "score": float(scores[i]),
            }
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def tagged(run: Run, tag: str) -> Run:
    """Return a run with the tag of the user, which must be one word."""
    if tag.split() != [tag]:
        raise typer.BadParameter(f"--tag {tag!r}: a tag is one word, e.g. --tag bm25.")
    return replace(run, tag=tag)
