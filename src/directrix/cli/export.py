"""``directrix export``: a model in the format of another program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from directrix.cli import options
from directrix.cli.options import Missing
from directrix.cli.output import remark
from directrix.cli.reading import ModelOptions, TrainingData, check_writable, load_model
from directrix.data.files import readable
from directrix.data.formats import inputs
from directrix.errors import InputError
from directrix.parsing import json_of
from directrix.registry import TARGETS


def with_missing_of(engine: str | None, reading: TrainingData) -> TrainingData:
    """Return options that read missing values as an engine reads them, unless ``--missing`` is given."""
    from directrix.export.target import target

    if engine is None or reading.missing is not Missing.error:
        return reading
    chosen = target(engine)
    if chosen.reads_zeros:
        remark(f"note: missing features are read as 0, as in {chosen.title}")
    return replace(reading, missing=Missing.zero if chosen.reads_zeros else Missing.nan)


def export_command(
    *,
    model: options.ModelArgument,
    output: Annotated[Path, options.argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        str,
        Option(
            "--to",
            "--engine",
            metavar="NAME[:VERSION]",
            help=f"One of {', '.join(TARGETS)}; with a version where versions differ, as in opensearch:3.5.",
        ),
    ],
    check: Annotated[
        Path | None,
        options.option(metavar="DATA", help=f"Data whose scores are also compared: {inputs()}."),
    ] = None,
    queries: Annotated[
        Path | None,
        options.option(
            metavar="FILE", help="For elastic: a JSON object with a query of Elasticsearch for each feature."
        ),
    ] = None,
    reading: ModelOptions,
) -> None:
    """Write a model in the format of another program, after verifying its scores.

    The file is read back, by the program itself if it is installed, and its scores are compared with those
    of the model on random rows and on DATA. If they differ by more than rounding, nothing is written.
    """
    from directrix.export.target import target
    from directrix.export.verification import export as write

    with options.usage():
        target(to)
    check_writable(output, model, check, queries)
    by_feature = None if queries is None else _queries(queries)
    ranker = load_model(model, check)
    q = None if check is None else reading.read(ranker.model_, check, model)
    verification = write(ranker, output, to=to, check=q, queries=by_feature)
    remark(f"saved: {output} ({output.stat().st_size:,} bytes)")
    remark(str(verification))
    if verification.note:
        remark(f"note: {verification.note}")


def _queries(path: Path) -> Any:
    """Return the content of a JSON file."""
    with readable(path):
        content = path.read_bytes()
    try:
        return json_of(content)
    except ValueError as error:
        raise InputError(
            f"{path}: is not JSON ({error}); give an object such as "
            '{"title": {"match": {"title": "{{query}}"}}}.'
        ) from None
