"""What a file of an evaluation holds, by its beginning: arguments in the wrong order get one message."""

from __future__ import annotations

import math
from pathlib import Path

from directrix.data.files import open_data, readable
from directrix.data.formats import ARROW, COLUMNS, QRELS
from directrix.data.trec.rows import number
from directrix.errors import InputError

_LINE = 1 << 12  # enough of a line to count its columns
_NAMES = {
    "model": "a model file",
    "scores": "a file of scores",
    "run": "a TREC run",
    "qrels": "TREC qrels",
    "data": "labelled data",
}


def is_model(path: Path) -> bool:
    """Return whether a file begins like JSON; the readers report what cannot be read."""
    try:
        with readable(path), open_data(path) as file:
            start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        return start.startswith((b"{", b"[")) and not COLUMNS.recognises(path)
    except InputError:
        return ".json" in path.suffixes


def check_order(data: Path, rankings: list[Path]) -> None:
    """Refuse rankings in place of labelled data, labelled data among rankings, and rankings of other data.

    Files whose kind is unclear are left to their readers. Raises `InputError` at the first such file.
    """
    kind, kinds = _kind(data), [_kind(path) for path in rankings]
    if kind in ("model", "scores", "run"):
        right = next((path for path, k in zip(rankings, kinds, strict=True) if k in ("data", "qrels")), None)
        order = f"{right or 'DATA'} {data}"
        raise InputError(
            f"{data} is {_NAMES[kind]}; labelled data or qrels come first, then the rankings: {order}."
        )
    for path, other in zip(rankings, kinds, strict=True):
        if other in ("data", "qrels"):
            raise InputError(
                f"{path} is {_NAMES[other]} and not a ranking; after {data} give files of scores, models or "
                "TREC runs."
            )
        if kind == "qrels" and other in ("model", "scores"):
            raise InputError(
                f"{path} is {_NAMES[other]}, but {data} is TREC qrels, which judge TREC runs; write one: "
                "`directrix predict MODEL DATA --run TAG -o FILE.run`."
            )
        if kind == "data" and other == "run":
            raise InputError(
                f"{path} is a TREC run, but {data} is labelled data; runs are judged by qrels; make them: "
                f"`directrix convert {data} FILE.qrels`."
            )


def _kind(path: Path) -> str:
    """Return a key of the names above, or "" for a file whose kind its first line does not show."""
    if is_model(path):
        return "model"
    if any(form.recognises(path) or form.is_named(path) for form in (ARROW, COLUMNS)):
        return "data"
    line = _first_line(path)
    words = line.partition("#")[0].split()
    if words[1:2] and words[1].startswith("qid:"):
        return "data"
    if QRELS.recognises(path):
        return "qrels"
    if len(words) == 1 and line.split() == words and math.isfinite(number(words[0])):
        return "scores"
    return "run" if len(words) == 6 and math.isfinite(number(words[4])) else ""


def _first_line(path: Path) -> str:
    """The first line that is no comment and not blank; "" of a file that cannot be read."""
    try:
        with readable(path), open_data(path) as file:
            while line := file.readline(_LINE):
                text = line.decode("utf-8-sig", "backslashreplace")
                if text.partition("#")[0].strip():
                    return text
    except InputError:
        pass
    return ""
