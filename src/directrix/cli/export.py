"""``directrix export``: a model in the format of another program."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.files import check_writable, features_for, read_for
from directrix.cli.output import remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import inputs
from directrix.registry import TARGETS

To = StrEnum("To", list(TARGETS))  # type: ignore[misc]  # the names are in one place
"""Targets, as the command line offers them."""


def export(
    model: options.ModelArgument,
    output: Annotated[Path, options.argument(metavar="OUT", help="File to write.")],
    to: Annotated[To, Option(metavar="FORMAT", help=f"One of {', '.join(TARGETS)}.")],
    check: Annotated[
        Path | None,
        options.without_default(metavar="DATA", help=f"Data whose scores are compared, too: {inputs()}."),
    ] = None,
    missing: options.ModelMissingOption = None,
    columns: ColumnNames = RECOGNIZED,
    by_position: options.ByPositionOption = False,
) -> None:
    """Write a model in the format of another program, once its scores there are verified.

    The file is read back, by the program itself where it is installed, and its scores are compared with those
    of the model on drawn rows and on DATA. If they differ by more than rounding, nothing is written.
    """
    from directrix.export.verification import export as write
    from directrix.rankers.loading import load

    check_writable(output, model, check)
    ranker = load(model)
    q = None if check is None else read_for([ranker], check, missing, columns)
    if q is not None and check is not None:
        q = features_for(q, ranker, check, model, by_position=by_position)
    found = write(ranker, output, to=to.value, check=q)
    remark(f"saved: {output} ({output.stat().st_size:,} bytes)")
    remark(str(found))
    if found.note:
        remark(f"note: {found.note}")
