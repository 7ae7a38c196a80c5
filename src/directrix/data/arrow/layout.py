"""What the columns of an Arrow schema hold."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrix.errors import InputError

FEATURE_NAMES = b"directrix.feature_names"
"""Key of the names of features in the metadata of a schema, as a list in JSON."""

_INDEX = re.compile(r"__index_level_\d+__")  # a column in which pandas stores its index


@dataclass(frozen=True)
class Layout:
    """The columns of a data set."""

    names: tuple[str, ...]
    """Names of the features, or their numbers from 0 if the file does not name them."""
    is_list: bool
    """Whether one column ``features`` holds them all as lists."""
    has_names: bool
    """Whether the file names them."""
    has_docs: bool
    """Whether there is a column ``docid``."""
    dtype: np.dtype[Any]
    """float32 if all features fit into it exactly, else float64."""

    @property
    def given_names(self) -> tuple[str, ...] | None:
        """Names of the features if the file names them."""
        return self.names if self.has_names else None

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        features = ["features"] if self.is_list else list(self.names)
        return ["qid", "label", *["docid"] * self.has_docs, *features]


def layout_of(pa: Any, schema: Any, path: Path) -> Layout:
    """Return what the columns hold, or raise `InputError`."""
    names = schema.names
    for name in ("qid", "label"):
        if names.count(name) != 1:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise InputError(
                f"{path}: the columns are {shown}; one named {name!r} is needed (and label, qid, docid if "
                "there are identifiers, features). Rename it, e.g. table.rename_columns({'query': 'qid'})."
            )
    _check_number(pa, path, "label", schema.field("label").type)
    _check_ids(pa, path, schema)
    others = [n for n in names if n not in ("qid", "label", "docid", "features") and not _INDEX.fullmatch(n)]
    is_list = "features" in names and not _is_number(pa, schema.field("features").type)
    if not is_list:
        columns = [n for n in names if n in others or n == "features"]
        if len(set(columns)) < len(columns):
            raise InputError(
                f"{path}: two columns have the same name; rename one of {', '.join(columns[:8])}."
            )
        for name in columns:
            _check_number(pa, path, name, schema.field(name).type)
        dtype = _dtype(pa, [schema.field(name).type for name in columns])
        return Layout(tuple(columns), is_list=False, has_names=True, has_docs="docid" in names, dtype=dtype)
    if others:
        raise InputError(
            f"{path}: there is a column {others[0]!r} besides a list column 'features'; features are in "
            f"columns or a list. Leave it out, e.g. table.drop_columns({others[:1]!r}), or append it to that."
        )
    kind = schema.field("features").type
    if not pa.types.is_fixed_size_list(kind) or not _is_number(pa, kind.value_type):
        raise InputError(
            f"{path}: the column 'features' is {kind}; a list of numbers of one length is needed. Type "
            "column.cast(pyarrow.list_(pyarrow.float32(), n_features))."
        )
    stored = (schema.metadata or {}).get(FEATURE_NAMES)
    given = _stored_names(stored, kind.list_size, path)
    features = given or tuple(map(str, range(kind.list_size)))
    has_names, dtype = given is not None, _dtype(pa, [kind.value_type])
    return Layout(features, is_list=True, has_names=has_names, has_docs="docid" in names, dtype=dtype)


def _check_ids(pa: Any, path: Path, schema: Any) -> None:
    for name in ("qid", "docid"):
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: {schema.names.count(name)} columns are named {name!r}; rename one.")
        if name in schema.names and pa.types.is_nested(schema.field(name).type):
            raise InputError(
                f"{path}: the column {name!r} is {schema.field(name).type}; an integer or text per row is "
                "needed. Write it as text first."
            )


def _stored_names(text: bytes | None, n: int, path: Path) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        names = tuple(str(name) for name in json.loads(text))
    except (ValueError, TypeError):
        names = ()
    if len(set(names)) != n:
        raise InputError(
            f"{path}: its metadata name {len(set(names))} features for lists of {n}; write the file again."
        )
    return names


def _is_number(pa: Any, kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _check_number(pa: Any, path: Path, name: str, kind: Any) -> None:
    if not _is_number(pa, kind):
        raise InputError(
            f"{path}: the column {name!r} is {kind}; numbers are needed. Encode it, or leave it out: "
            f"table.drop_columns([{name!r}])."
        )


def _dtype(pa: Any, kinds: list[Any]) -> np.dtype[Any]:
    short = {pa.float32(), pa.float16(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_()}
    return np.dtype(np.float32 if all(kind in short for kind in kinds) else np.float64)
