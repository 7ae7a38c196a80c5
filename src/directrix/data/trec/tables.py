"""Runs and judgments in tables: CSV, TSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from pathlib import Path

from directrix.data.columns import ColumnNames
from directrix.data.files import open_data, readable
from directrix.data.formats import ARROW, COLUMNS
from directrix.data.trec.frames import Documents, documents_of
from directrix.data.trec.rows import number
from directrix.errors import InputError

_LINE = 1 << 12  # enough of a line to count its columns


def is_table(path: Path) -> bool:
    """Return whether a file is a table by its content or name, and does not begin like a run or qrels.

    Files of other tools are called ``qrels.tsv`` and have no names of columns.
    """
    if ARROW.recognizes(path) or ARROW.is_named(path):
        return True
    return (COLUMNS.recognizes(path) or COLUMNS.is_named(path)) and shape(first_line(path)) == ""


def shape(line: str) -> str:
    """Return "run" or "qrels" for a line of such text, "" for any other."""
    words = list(itertools.takewhile(lambda word: not word.startswith(b"#"), line.encode().split()))
    if len(words) not in (3, 4, 6) or words[1].startswith(b"qid:"):
        return ""
    value = number(words[4 if len(words) == 6 else -1].decode())
    return ("run" if len(words) == 6 else "qrels") * math.isfinite(value)


def first_line(path: Path) -> str:
    """The first line that is no comment and not blank; "" of a file that cannot be read."""
    try:
        with readable(path), open_data(path) as file:
            while line := file.readline(_LINE):
                text = line.decode("utf-8", "backslashreplace")
                if text.partition("#")[0].strip():
                    return text
    except InputError:
        pass
    return ""


def read_documents_of_table(path: Path, value: str, call: str, **names: Hashable | None) -> Documents:
    """Read a table whose columns have these names; ``value`` is that of `documents_of`."""
    from directrix.data.arrow.files import table_of

    given = ColumnNames(qid=names["qid"], doc_id=names["doc_id"])
    return documents_of(table_of(path, given), value, str(path), names, call)


def refuse_names(path: Path, **names: Hashable | None) -> None:
    """Raise `InputError` if a user names columns of text of TREC."""
    if given := [key for key, name in names.items() if name is not None]:
        leave = ", ".join(f"{key}=" for key in given)
        raise InputError(
            f"{path} is TREC text, whose columns have no names; leave out {leave}, or "
            "give CSV, TSV, JSON lines or Parquet."
        )
