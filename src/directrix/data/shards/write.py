"""Write a data set as shards: Arrow files of whole queries, and their manifest."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from directrix.data.checks import check_missing
from directrix.data.columns import ColumnNames
from directrix.data.files import path_of
from directrix.data.formats import format_of
from directrix.data.frames import is_dict, is_frame
from directrix.data.queries import Queries
from directrix.data.shards.frames import is_partitioned, partitions, sizes_of_queries
from directrix.data.shards.router import Router, blocks_of
from directrix.errors import InputError, short_text
from directrix.parameters import whole

_MOST_SHARDS = 512  # files that are open at once


def write_shards(  # noqa: PLR0913
    data: Any,
    folder: str | os.PathLike[str],
    n_shards: int = 64,
    *,
    qid: Hashable | None = None,
    label: Hashable | None = None,
    doc_id: Hashable | None = None,
    features: Any = None,
    missing: str = "error",
) -> Path:
    """Write a data set as shards, of whole queries and about equal numbers of documents.

    Every query goes to the shard that has the fewest documents so far, the first of equals. So the shards
    depend on the rows and their order alone, and not on how they were partitioned.

    Parameters
    ----------
    data : Queries, path, frame or Dask frame, or list of Queries
        A file that `directrix convert` reads, or a folder of Parquet files, part by part; a frame as
        `Queries.from_frame` takes it; a Dask frame with any partitions, whose rows are brought together
        query by query. Of a list each entry, which may be empty, becomes one shard.
    folder : path
        A folder that does not exist yet, or is empty. It appears when all of it is written.
    n_shards : int >= 1 and <= 512
        Number of shards; more than there are queries leaves some empty. A few for each worker that will ever
        be used let work be shared evenly. Not for a list.
    qid, label, doc_id, features : optional
        Names of columns, as in `Queries.from_frame`.
    missing : {"error", "zero", "nan"}
        What becomes of missing values.

    Returns
    -------
    Path
        The folder: ``shard-000.arrow``, ... and ``shards.json``, which holds SHA-256, sizes and counts of
        every file, a histogram of the labels, and the moments of every feature.

    Raises
    ------
    InputError
        If data cannot be read, a query is in two entries of a list, or the folder is not empty.
    MissingExtra
        Without pyarrow.

    Notes
    -----
    Memory: a block of the data, at most 512 MiB of buffers, one entry for each query, and for a Dask frame
    one partition, then one shard. Files are read twice more for statistics and digests.

    Examples
    --------
    >>> import directrix as dx, json, pathlib, tempfile
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> folder = dx.write_shards(q, pathlib.Path(tempfile.mkdtemp(), "shards"), n_shards=3)
    >>> [shard["documents"] for shard in json.loads((folder / "shards.json").read_text())["shards"]]
    [70, 70, 60]
    """
    names = ColumnNames.of(qid, label, doc_id, features)
    return write_shards_of(data, path_of(folder), n_shards, names, missing)


def write_shards_of(data: Any, target: Path, n_shards: int, names: ColumnNames, missing: str) -> Path:
    """Write shards; see `write_shards`."""
    check_missing(missing)
    is_list = isinstance(data, list | tuple)
    n_shards = len(data) if is_list else whole(n_shards, "n_shards", "write_shards")
    if n_shards > _MOST_SHARDS:
        raise InputError(f"n_shards={n_shards}: at most {_MOST_SHARDS}, whose files are open at once.")
    if not n_shards:
        raise InputError("write_shards got an empty list; one entry of Queries for each shard is needed.")
    with _folder(target) as folder:
        router = Router(folder, n_shards)
        with contextlib.ExitStack() as stack:
            if is_list:
                router.route_each(stack, data)
            else:
                sizes = sizes_of_queries(data, names) if is_partitioned(data) else None
                router.route(stack, _parts(data, names, missing), sizes)
        router.gather()
        router.manifest(target).write(folder)
    return target


@contextlib.contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Make a folder that gets its name only if the block ends without error."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists already; remove it, or name a folder that does not.")
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        unfinished.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}. Name another folder.") from error
    try:
        yield unfinished
        if target.exists():
            target.rmdir()
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _parts(data: Any, names: ColumnNames, missing: str) -> Iterable[Queries]:
    """Return data as consecutive parts, whose last query may continue in the next."""
    if isinstance(data, Queries):
        return blocks_of(data)
    if isinstance(data, str | os.PathLike):
        path = path_of(data)
        return format_of(path).read_parts(path, missing, names)
    if is_partitioned(data):
        return (Queries.from_frame(part, **_settings(names, missing)) for part in partitions(data))
    if is_dict(data) or is_frame(data):
        return [Queries.from_frame(data, **_settings(names, missing))]
    raise InputError(
        f"write_shards got {short_text(data)}, a {type(data).__name__}; Queries, a list of them, a path or a "
        "frame is needed. Type directrix.Queries.from_arrays(X, y, qid=qid)."
    )


def _settings(names: ColumnNames, missing: str) -> dict[str, Any]:
    """Arguments of `Queries.from_frame`."""
    return {
        "missing": missing,
        "qid": names.qid,
        "label": names.label,
        "doc_id": names.doc_id,
        "features": names.features,
    }
