"""``directrix convert``: data files from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.cli.files import check_writable, document_names, read_data
from directrix.cli.options import Missing, MissingOption
from directrix.cli.output import remark

if TYPE_CHECKING:
    from directrix.data.queries import Queries

_COMPRESSED = (".gz", ".bz2", ".xz")
_LETOR = ("", ".txt", ".letor", ".dat", ".svm", ".svmlight", ".libsvm")
_QRELS = ".qrels"


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="LETOR / svmlight, plain or compressed; Parquet or Arrow.", show_default=False
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="LETOR (.txt) or TREC qrels (.qrels), compressed if .gz .bz2 .xz follows; .parquet, .arrow, "
            ".feather.",
            show_default=False,
        ),
    ],
    missing: MissingOption = Missing.error,
) -> None:
    """Convert a data file to LETOR text (plain or compressed), Parquet, Arrow, or its labels to TREC qrels.

    Values keep their bits; comments other than the document id are dropped. Conversion from and to Parquet
    and Arrow needs little memory, however large the file.
    """
    from directrix.data.arrow_files import SUFFIXES
    from directrix.data.formats import is_table
    from directrix.data.letor_write import replacing, write_letor

    form = _form(target)
    check_writable(target, source)
    if form in SUFFIXES or (is_table(source) and form != _QRELS):
        from directrix.data.convert import convert_file

        n = convert_file(source, target, missing.value)
        remark(f"saved: {target} ({n.rows} rows, {n.queries} queries, {n.features} features)")
        return
    q = read_data(source, missing)
    if form == _QRELS:
        with replacing(target) as file:
            file.write(_qrels_lines(q).encode())
    else:
        write_letor(q, target)
    remark(f"saved: {target} ({q.n_docs} rows, {q.n_queries} queries, {q.n_features} features)")


def _form(target: Path) -> str:
    """Return the suffix that names the format, without that of the compression."""
    from directrix.data.arrow_files import SUFFIXES

    form = Path(target.stem).suffix if target.suffix in _COMPRESSED else target.suffix
    if form not in (*_LETOR, _QRELS, *SUFFIXES) or (form in SUFFIXES and target.suffix != form):
        raise typer.BadParameter(
            f"{target}: convert does not write the format {form}; name the output *.txt for LETOR or "
            "*.qrels for TREC qrels, followed by .gz, .bz2 or .xz to compress it, or *.parquet, *.arrow or "
            "*.feather, which have a compression of their own."
        )
    return form


def _qrels_lines(q: Queries) -> str:
    """Four TREC columns: query, 0, document, label."""
    queries = (
        query for query, size in zip(q.query_ids, q.qptr[1:] - q.qptr[:-1], strict=True) for _ in range(size)
    )
    rows = zip(queries, document_names(q), q.labels.tolist(), strict=True)
    return "".join(f"{query} 0 {name} {repr(label).removesuffix('.0')}\n" for query, name, label in rows)
