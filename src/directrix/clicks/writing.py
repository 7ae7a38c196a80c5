"""Write a log of clicks as a table, one row per document that was shown."""

from __future__ import annotations

import os

import numpy as np

from directrix.clicks.log import Log
from directrix.data.files import path_of, replacing
from directrix.data.tables.files import import_arrow
from directrix.errors import InputError

ENDINGS = (".parquet", ".csv")
"""Endings of files that `write_log` writes."""


def write_log(log: Log, path: str | os.PathLike[str]) -> None:
    """Write the sessions of a log as Parquet or CSV, with the columns that `Log.read` recognizes.

    Identifiers of sessions, users and rankers are written if the log has them; sessions without identifiers
    are numbered. The file appears only when all of it is written.

    Raises
    ------
    InputError
        If the log has only counts, or the file name has another ending.
    MissingExtra
        Without pyarrow.
    """
    target, sessions = path_of(path), log.sessions
    if target.suffix not in ENDINGS:
        raise InputError(f"{target}: logs are written as Parquet or CSV; name it {target.stem}.parquet.")
    pa = import_arrow()

    # Arrow repeats names by their numbers, which takes less memory than a list of texts.
    def named(names: object, numbers: object) -> object:
        texts = pa.array(list(map(str, names)), pa.string())  # type: ignore[call-overload]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), texts).dictionary_decode()

    session = sessions.session
    ids = np.arange(len(sessions.query)) if sessions.ids is None else sessions.ids
    columns = {
        "session": named(ids, session),
        "query": named(log.pairs.query_ids, sessions.query[session]),
        "doc": named(log.pairs.doc_ids, sessions.pair),
        "position": pa.array(sessions.position),
        "clicked": pa.array(sessions.click.astype(np.int8)),
    }
    if sessions.ranker is not None:
        columns["ranker"] = named(sessions.rankers, sessions.ranker[session])
    if sessions.user is not None:
        columns["user"] = pa.array(sessions.user[session])
    table = pa.table(columns)
    with replacing(target) as file:
        if target.suffix == ".parquet":
            pa.parquet.write_table(table, file)
        else:
            import pyarrow.csv

            pyarrow.csv.write_csv(table, file)
