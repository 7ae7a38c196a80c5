"""What a file of an evaluation holds, by its beginning: arguments in the wrong order get one message."""

from __future__ import annotations

from pathlib import Path

from directrix.data.columns import OPTIONS, ColumnNames, find, kind_of
from directrix.data.formats import content_of, is_documents_table
from directrix.errors import InputError

_NAMES = {
    "model": "a model file",
    "scores": "a file of scores",
    "run": "a run",
    "judged run": "a run",
    "qrels": "qrels",
    "data": "labeled data",
}


def is_model(path: Path) -> bool:
    """Return whether a file begins like JSON; the readers report what cannot be read."""
    content = content_of(path)
    return content == "json" or (".json" in path.suffixes and not path.is_file())


def tables_of(paths: list[Path], columns: ColumnNames) -> dict[Path, list[str]]:
    """Return the names of columns of those files that are tables.

    Raises `InputError` if there are tables, none of which has a column that the user named.
    """
    from directrix.data.tables.files import column_names

    tables = {path: column_names(path) for path in paths if is_documents_table(path)}
    for key in OPTIONS if tables else ():
        name = None if key in ("features", "categorical") else getattr(columns, key)
        if name is not None and not any(name in known for known in tables.values()):
            path, known = list(tables.items())[-1 if key == "score" else 0]
            find(known, key, name, str(path), "")  # raises
    return tables


def are_qrels(data: Path, rankings: list[Path], tables: dict[Path, list[str]], columns: ColumnNames) -> bool:
    """Return whether the first file is qrels, which judge runs; else it is labeled data.

    A table of labels is qrels if a ranking is a run: its columns may leave that open. Files whose kind is
    unclear are left to their readers. Raises `InputError` at the first ranking in place of labeled data,
    labeled data among rankings, or ranking of other data.
    """
    kind, *kinds = (
        kind_of(tables[path], columns) if path in tables else _kind(path) for path in (data, *rankings)
    )
    if kind in ("model", "scores", "run"):
        right = next((path for path, k in zip(rankings, kinds, strict=True) if k in ("data", "qrels")), None)
        order = f"{right or 'DATA'} {data}"
        raise InputError(
            f"{data} is {_NAMES[kind]}; labeled data or qrels come first, then the rankings: {order}."
        )
    if data in tables:
        kind = "qrels" if {"run", "judged run"}.intersection(kinds) else "data"
    for path, other in zip(rankings, kinds, strict=True):
        if other in ("data", "qrels"):
            raise InputError(
                f"{path} is {_NAMES[other]} and not a ranking; after {data} give files of scores, models or "
                "runs."
            )
        if kind == "qrels" and other in ("model", "scores"):
            raise InputError(
                f"{path} is {_NAMES[other]}, but {data} is qrels, which judge runs; write one: "
                "`directrix predict MODEL DATA --run TAG -o FILE.run`."
            )
        if kind == "data" and other == "run":
            raise InputError(
                f"{path} is a run, but {data} is labeled data; runs are judged by qrels; make them: "
                f"`directrix convert {data} FILE.qrels`."
            )
    return kind == "qrels"


def _kind(path: Path) -> str:
    """Return a key of the names above, or "" for a file whose kind its first line does not show."""
    content = "json" if is_model(path) else content_of(path)
    return content if content in _NAMES else {"json": "model", "letor": "data"}.get(content, "")
