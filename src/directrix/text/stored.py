"""Indexes as files: an archive without compression, with texts as JSON and numbers as they are in memory."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from directrix.data.files import path_of, readable, replacing
from directrix.data.grouping import object_array
from directrix.errors import InputError
from directrix.text.corpus import Corpus
from directrix.text.terms import Tokens
from directrix.types import Array

_FORMAT = "directrix-index/1"
_IDS, _OFFSETS = "<i4", "<i8"
_DAMAGE = (
    *(zipfile.BadZipFile, KeyError, TypeError, ValueError, OverflowError, EOFError, RecursionError),
    RuntimeError,  # of zipfile, for entries that are encrypted or of unknown kinds
)


def write_index(index: Corpus, path: str | os.PathLike[str]) -> None:
    """Write an index; the file appears only when all of it is written."""
    header = {
        "format": _FORMAT,
        "fields": list(index.fields),
        "analyzers": index.analyzers,
        "stop_words": index.stop_words,
    }
    texts = {"header": header, "doc_ids": index.doc_ids.tolist(), "words": index.words}
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in texts.items():
            archive.writestr(_entry(f"{name}.json"), json.dumps(value))
        for number, field in enumerate(index.fields.values()):
            archive.writestr(_entry(f"ids_{number}"), field.ids.astype(_IDS).tobytes())
            archive.writestr(_entry(f"offsets_{number}"), field.offsets.astype(_OFFSETS).tobytes())


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry with the same time always: the same index has the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def read_index(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of `Index`.

    Raises `InputError` if the file cannot be read, is no index, or its parts do not fit together.
    """
    path = path_of(path)
    with readable(path), path.open("rb") as file:
        if file.read(2) != b"PK":
            raise InputError(
                f"{path} is no index; a file of `directrix index DOCS -o FILE` is needed. Type that first."
            )
        try:
            return _parts(zipfile.ZipFile(file), path.stat().st_size)
        except _DAMAGE as error:
            raise InputError(
                f"{path} is no index, or is damaged ({error}); build it again with `directrix index DOCS -o "
                f"{path}`."
            ) from None


def _parts(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
        raise ValueError("its parts are compressed")
    if sum(entry.file_size for entry in archive.infolist()) > size:
        # they overlap, and would take more memory than the file has bytes
        raise ValueError("its parts are larger than the file")
    header = _json(archive, "header")
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT}")
    names = _texts(header["fields"])
    doc_ids, words = _texts(_json(archive, "doc_ids")), _texts(_json(archive, "words"))
    fields = {}
    for number, name in enumerate(names):
        ids, offsets = (
            _array(archive, f"ids_{number}", _IDS),
            _array(archive, f"offsets_{number}", _OFFSETS),
        )
        fits = len(offsets) == len(doc_ids) + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
        if not (fits and (offsets[1:] >= offsets[:-1]).all() and ids.min(initial=0) >= 0):
            raise ValueError(f"the offsets of field {name} do not fit its words")
        if ids.max(initial=-1) >= len(words):
            raise ValueError(f"field {name} has a word without a text")
        fields[name] = Tokens(ids, offsets)
    if not fields or len(fields) < len(names) or len(set(doc_ids)) < len(doc_ids):
        raise ValueError("fields or identifiers are repeated or missing")
    return {
        "doc_ids": object_array(doc_ids),
        "words": tuple(words),
        "fields": fields,
        "analyzers": tuple(_texts(header["analyzers"])),
        "stop_words": tuple(_texts(header["stop_words"])),
    }


def _json(archive: zipfile.ZipFile, name: str) -> Any:
    return json.loads(archive.read(f"{name}.json"))


def _array(archive: zipfile.ZipFile, name: str, dtype: str) -> Array:
    """Return numbers that can be written to: kernels are compiled for those."""
    return np.frombuffer(archive.read(name), dtype=dtype).astype(dtype[1:])


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of texts is something else")
    return values
