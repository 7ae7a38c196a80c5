"""``directrix convert``: data files from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directrix.cli import options
from directrix.cli.files import check_writable
from directrix.cli.output import remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import inputs, named, outputs


def convert(
    source: Annotated[Path, options.argument(metavar="IN", help=f"{inputs()}; text plain or compressed.")],
    target: Annotated[Path, options.argument(metavar="OUT", help=f"{outputs()}.")],
    missing: options.MissingOption = options.Missing.error,
    columns: ColumnNames = RECOGNIZED,
) -> None:
    """Convert a data file to another format, or its labels to TREC qrels.

    Values keep their bits; comments other than the document id are dropped. Conversion from and to Parquet
    and Arrow needs little memory, however large the file.
    """
    from directrix.data.formats import convert_file

    if named(target) is None:
        raise typer.BadParameter(
            f"{target}: convert does not write a format with this ending; it writes {outputs()}. Choose one."
        )
    check_writable(target, source)
    n = convert_file(source, target, missing.value, columns)
    remark(f"saved: {target} ({n.rows} rows, {n.queries} queries, {n.features} features)")
