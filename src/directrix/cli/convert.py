"""``directrix convert``: between data files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.cli.files import Missing, MissingOption, check_writable, document_names, read_data
from directrix.cli.output import remark

if TYPE_CHECKING:
    from directrix.data.queries import Queries

_COMPRESSED = (".gz", ".bz2", ".xz")
_LETOR = ("", ".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm")
_QRELS = ".qrels"


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="LETOR / svmlight, plain or compressed.", show_default=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="LETOR (.txt) or TREC judgements (.qrels), compressed with .gz .bz2 .xz at the end.",
            show_default=False,
        ),
    ],
    missing: MissingOption = Missing.error,
) -> None:
    """Rewrite a data file: LETOR with or without compression, or its labels as TREC qrels.

    Values keep their bits; comments other than the document id are dropped.
    """
    from directrix.data.letor_write import replacing, write_letor

    form = _form(target)
    check_writable(target, source)
    q = read_data(source, missing)
    if form == _QRELS:
        with replacing(target) as file:
            file.write(_qrels_lines(q).encode())
    else:
        write_letor(q, target)
    remark(f"saved: {target} ({q.n_docs} rows, {q.n_queries} queries, {q.n_features} features)")


def _form(target: Path) -> str:
    """The suffix that says what to write, without that of the compression."""
    form = Path(target.stem).suffix if target.suffix in _COMPRESSED else target.suffix
    if form not in (*_LETOR, _QRELS):
        raise typer.BadParameter(
            f"{target}: {form} is no format that convert writes; name the output *.txt for LETOR or "
            "*.qrels for TREC judgements, with .gz, .bz2 or .xz behind it to compress."
        )
    return form


def _qrels_lines(q: Queries) -> str:
    """Four TREC columns: query, 0, document, label."""
    queries = (
        query for query, size in zip(q.query_ids, q.qptr[1:] - q.qptr[:-1], strict=True) for _ in range(size)
    )
    rows = zip(queries, document_names(q), q.labels.tolist(), strict=True)
    return "".join(f"{query} 0 {name} {repr(label).removesuffix('.0')}\n" for query, name, label in rows)
