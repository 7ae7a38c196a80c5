"""``directrix convert``: between data files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.cli.output import remark

if TYPE_CHECKING:
    from directrix.data.queries import Queries


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="LETOR / svmlight, plain or compressed.", show_default=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="LETOR (.txt, also .gz .bz2 .xz) or TREC judgements (.qrels).",
            show_default=False,
        ),
    ],
) -> None:
    """Rewrite a data file: LETOR with or without compression, or its labels as TREC qrels.

    Values keep their bits; comments other than the document id are dropped.
    """
    from directrix.data.letor import read_letor
    from directrix.data.letor_write import replacing, write_letor

    q = read_letor(source)
    if target.suffix == ".qrels":
        with replacing(target) as file:
            file.write(_qrels_lines(q).encode())
    else:
        write_letor(q, target)
    remark(f"saved: {target} ({q.n_docs} rows, {q.n_queries} queries, {q.n_features} features)")


def _qrels_lines(q: Queries) -> str:
    """Four TREC columns: query, 0, document, label; without identifiers rows are numbered, as in runs."""
    names = map(str, q.rows if q.doc_ids is None else q.doc_ids)
    queries = (
        query for query, size in zip(q.query_ids, q.qptr[1:] - q.qptr[:-1], strict=True) for _ in range(size)
    )
    rows = zip(queries, names, q.labels.tolist(), strict=True)
    return "".join(f"{query} 0 {'_'.join(name.split())} {label:g}\n" for query, name, label in rows)
