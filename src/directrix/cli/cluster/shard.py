"""``directrix cluster shard``: a data file as several files of whole queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from directrix.cli.options import argument
from directrix.cli.output import remark
from directrix.cli.reading import TrainingOptions
from directrix.data.formats import inputs
from directrix.errors import amount


def cluster_shard_command(
    *,
    source: Annotated[
        Path, argument(metavar="IN", help=f"{inputs()}; a folder of Parquet files is one data set.")
    ],
    target: Annotated[Path, argument(metavar="OUT", help="Folder to write; it must be empty or not exist.")],
    shards: Annotated[
        int, Option("--shards", min=1, max=512, help="Number of shards, several for each worker.")
    ] = 64,
    reading: TrainingOptions,
) -> None:
    """Write a data file as shards: Arrow files of whole queries with about equally many documents.

    Then `directrix train OUT --valid V --cluster local:4` (or dask://HOST:PORT) trains on the shards. Memory
    use stays small, however large the file.
    """
    from directrix.data.shards.manifest import read_manifest
    from directrix.data.shards.write import write_shards_of

    if target.resolve() == source.resolve():
        raise typer.BadParameter(f"{target} is the input; name another folder for the shards.")
    write_shards_of(source, target, shards, reading.names(), reading.missing.value)
    manifest = read_manifest(target)
    sizes = [shard.documents for shard in manifest.shards]
    remark(
        f"saved: {target} ({len(sizes)} shards of {min(sizes):,} to {max(sizes):,} documents; "
        f"{amount(manifest.n_docs, 'documents')}, {amount(manifest.n_queries, 'queries')}, "
        f"{amount(manifest.n_features, 'features')})"
    )
