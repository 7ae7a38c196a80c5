"""``directrix convert``: between data files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directrix.cli.files import Missing, MissingOption, check_writable
from directrix.cli.output import remark
from directrix.data.formats import inputs, named, outputs


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help=f"{inputs()}; text plain or compressed.", show_default=False),
    ],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help=f"{outputs()}.", show_default=False),
    ],
    missing: MissingOption = Missing.error,
) -> None:
    """Rewrite a data file in another format, or its labels as TREC judgements.

    Values keep their bits; comments other than the document id are dropped. From and to Parquet and Arrow
    it takes little memory, however large the file.
    """
    from directrix.data.convert import convert_file

    if named(target) is None:
        raise typer.BadParameter(
            f"{target}: its ending says no format that convert writes; these are {outputs()}. Rename it."
        )
    check_writable(target, source)
    n = convert_file(source, target, missing.value)
    remark(f"saved: {target} ({n.rows} rows, {n.queries} queries, {n.features} features)")
