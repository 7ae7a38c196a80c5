"""``directrix shard``: a data set as Arrow files of whole queries, for more than one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from directrix.cli import options
from directrix.cli.output import remark
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.formats import inputs


def shard(
    source: Annotated[
        Path, options.argument(metavar="IN", help=f"{inputs()}; a folder of Parquet files is one data set.")
    ],
    target: Annotated[
        Path, options.argument(metavar="OUT", help="Folder to write; it does not exist yet, or is empty.")
    ],
    shards: Annotated[
        int, Option("--shards", min=1, max=512, help="Number of shards, several for each worker.")
    ] = 64,
    missing: options.MissingOption = options.Missing.error,
    columns: ColumnNames = RECOGNIZED,
) -> None:
    """Write a data file as shards: Arrow files of whole queries with about equally many documents.

    Then `directrix train OUT --valid V --cluster local:4`, or dask://HOST:PORT, trains where the shards are.
    Memory stays small, however large the file.
    """
    from directrix.data.shards.manifest import read_manifest
    from directrix.data.shards.write import write_shards_of

    if target.resolve() == source.resolve():
        raise typer.BadParameter(f"{target} is the input; name another folder for the shards.")
    write_shards_of(source, target, shards, columns, missing.value)
    manifest = read_manifest(target)
    sizes = [one.documents for one in manifest.shards]
    remark(
        f"saved: {target} ({len(sizes)} shards of {min(sizes):,} to {max(sizes):,} documents; "
        f"{manifest.n_docs:,} documents, {manifest.n_queries:,} queries, {manifest.n_features:,} features)"
    )
