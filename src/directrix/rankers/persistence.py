"""Model files: JSON that a person can read, that loading checks, and that never runs anything.

.. code-block:: text

    {"format": "directrix/1",
     "model":    {"type": "linear", "coef": [one weight per feature]}, or of another type,
     "features": {"count": 45, "names": null or [one name per feature],
                  "missing": how missing values count},
     "scale":    null or {the scaling that predict applies first},
     "training": {"measure", "surrogate", "trainer", "seed", "versions", "data", "result"}}

Numbers are written with the shortest text that reads back to the same bits.
"""

from __future__ import annotations

import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import open_compressed, path_of, readable, replacing
from directrix.errors import InputError
from directrix.types import Float64Array

FORMAT = "directrix/1"

PARTS = {"model": "object", "features": "object", "scale": "object or null", "training": "object"}
# JSON of numbers shrinks to a third or a tenth of its size; a small file may hold nothing but zeros
_LARGEST_UNPACKED, _MOST_PER_BYTE = 1 << 24, 20
_LARGE = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")
"""A number that may be beyond all floats has one of these."""
SAVE_AGAIN = "Save the model again with ranker.save(path), or train it again with `directrix train`."


class Saved(ABC):
    """Base of rankers that have a model file."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return what the model file holds, in JSON types."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one JSON file, whole or not at all; `directrix.load` reads it back.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_model_file(path, self.to_json())


def write_model_file(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a model file in one step: a reader sees the old file or the whole new one.

    ``content`` is the file without its ``format`` entry, of JSON types without NaN. An existing file is
    replaced.

    Raises `InputError` if the folder does not exist or cannot be written to, ``path`` is a folder, or a
    number of the model is not finite.
    """
    try:
        text = json.dumps({"format": FORMAT, **content}, indent=1, allow_nan=False) + "\n"
    except ValueError as error:
        raise InputError(
            f"{path}: not written, because the model holds NaN or infinite numbers.",
            python="Scale the features (scale='standard') or lower the learning rate, and train it again.",
            shell="Scale the features (--scale standard) or lower the learning rate, and train it again.",
        ) from error
    with replacing(path) as file:
        file.write(text.encode())


def read_model_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a model file and check its frame: JSON, format, and the five parts.

    Raises `InputError` if the file cannot be read, is not JSON, repeats a key, holds NaN or infinity, is of
    another format or version, or lacks a part.
    """
    content = _parse(path_of(path))
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a JSON {_kind(content)}, not a model. {SAVE_AGAIN}")
    stated = content.get("format")
    if not isinstance(stated, str) or not stated.startswith("directrix/"):
        raise InputError(
            f'{path}: has "format": {stated!r}; a directrix model begins with '
            f'{{"format": "{FORMAT}", ...}}. Give a file that `directrix train` or ranker.save wrote.'
        )
    if stated != FORMAT:
        raise InputError(
            f"{path}: has format {stated!r}, this version of directrix reads {FORMAT!r}. "
            "Update with `pip install -U directrix`, or train the model again here."
        )
    check(path, "the file", content, PARTS)
    return content


def check(path: Any, where: str, part: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    """Check that a part of a model file has its entries, each of its kind; report all at once.

    ``fields`` has the entries that are needed, and their kind: "object", "list", "text", "number", "null",
    "boolean", or several with " or " between them; "absent" if it may be missing. ``path`` and ``where`` name
    file and part in the message. Raises `InputError` if entries are missing or of another kind.
    """
    wrong = [
        f'"{name}" is missing'
        for name, kinds in fields.items()
        if name not in part and "absent" not in kinds.split(" or ")
    ]
    wrong += [
        f'"{name}" is {_kind(part[name])}, must be {kinds}'
        for name, kinds in fields.items()
        if name in part and _kind(part[name]) not in kinds.split(" or ")
    ]
    if wrong:
        raise InputError(f"{path}: {where} cannot be used: {'; '.join(wrong)}. {SAVE_AGAIN}")


@contextmanager
def naming(path: Any, part: str) -> Iterator[None]:
    """Put the file and its part before the message of an `InputError`."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {part}: {error}") from error


def weights(path: Any, name: str, values: list[Any], count: int, *, per: str = "feature") -> Float64Array:
    """Turn a JSON list into ``count`` finite weights, or say which entry is not one."""
    if len(values) != count:
        raise InputError(
            f'{path}: "{name}" holds {len(values)} numbers for {count} {per}s; '
            f"there must be one per {per}. {SAVE_AGAIN}"
        )
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f'{path}: "{name}"[{i}] is {value!r}, must be a finite number. {SAVE_AGAIN}')
    return np.array(values, dtype=np.float64)


def _parse(path: Path) -> Any:
    with readable(path):
        packed = open_compressed(path)
        most = _LARGEST_UNPACKED + _MOST_PER_BYTE * path.stat().st_size
        with packed or path.open("rb") as file:
            content = file.read() if packed is None else file.read(most + 1)
    if packed and len(content) > most:
        raise InputError(
            f"{path}: unpacks to more than {most} bytes, over {_MOST_PER_BYTE} times its size; numbers of a "
            f"model do not, so this is no model. Unpack it and look at it, or give another file."
        )
    # numbers of Python take a third of the time of checked ones
    checks: dict[str, Any] = {"parse_float": _float, "parse_int": _int} if _LARGE.search(content) else {}
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, **checks)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); a model file is "
            f"JSON and may have been cut off or overwritten. {SAVE_AGAIN}"
        ) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: is not a JSON model file ({error}). {SAVE_AGAIN}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} appears twice")
    return entries


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number that a model can hold")


def _float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text[:40])


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _kind(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (dict, "object"), (list, "list"), (str, "text")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "number"
