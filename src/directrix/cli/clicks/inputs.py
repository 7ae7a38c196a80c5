"""Logs and propensities that the commands of the group ``clicks`` read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli import options
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.clicks.log import Log


LogArgument = Annotated[
    Path,
    options.argument(
        metavar="LOG",
        help="Click log with one row per shown document, or with counts: CSV, TSV, JSON lines, Parquet, "
        "Arrow, or a folder of the last two.",
    ),
]
ModelOption = Annotated[str, Option(help="Click model: GCTR, RCTR, DCTR, PBM, UBM, CM, DCM, SDBN or DBN.")]
PropensitiesOption = Annotated[
    str | None,
    options.option(
        metavar="P1,P2,...",
        help="Probabilities of examination from position 1, or alpha and beta of trust bias as A1,A2,.../B1,"
        "B2,...; or the file of `directrix clicks propensities -f json`. Default: the column examination of "
        "the log, or else an estimate from the log.",
    ),
]
ClipOption = Annotated[float, Option(min=1e-9, max=1.0, help="Lowest propensity of clipped.")]


def digest_of(log: Log) -> str:
    """Return a hash of the impressions of a log, which does not depend on its clicks."""
    cells = log.aggregate()
    state = hashlib.sha256("\0".join((*log.pairs.query_ids, *log.pairs.doc_ids)).encode(errors="replace"))
    for counts in (cells.pair, cells.position, cells.impressions):
        state.update(counts.tobytes())
    return f"sha256:{state.hexdigest()}"


def propensities_of(text: str | None) -> Any:
    """Return estimated propensities, numbers by position, or alpha and beta."""
    import numpy as np

    from directrix.clicks.position_bias import Propensities

    if text is None:
        return None
    # Numbers are tried first, since a long list is no name of a file, and asking for it may be an error.
    try:
        rows = [[float(value) for value in row.split(",")] for row in text.split("/")]
    except ValueError:
        rows = []
        if os.path.isfile(text):
            try:
                document = json.loads(Path(text).read_text(encoding="utf-8"))
                keys = ("theta", "interval", "beta", "beta_interval")
                arrays = {key: np.array(document[key], np.float64) for key in keys}
                return Propensities(**document | arrays)
            except (ValueError, LookupError, TypeError):
                raise InputError(
                    f"{text} holds no propensities; write it with `directrix clicks propensities LOG -f "
                    "json`."
                ) from None
    if len(rows) not in (1, 2) or len({len(row) for row in rows}) != 1:
        raise typer.BadParameter(
            f"--propensities {short_text(text)}: neither a file nor numbers by position, e.g. 1,0.7,0.5."
        )
    return rows[0] if len(rows) == 1 else rows
