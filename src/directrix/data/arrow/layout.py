"""What the columns of an Arrow schema hold."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.arrow.text import not_a_number
from directrix.data.columns import ColumnNames, roles_of
from directrix.errors import InputError

FEATURE_NAMES = b"directrix.feature_names"
"""Key of the names of features in the metadata of a schema, as a list in JSON."""

_INDEX = re.compile(r"__index_level_\d+__")  # a column in which pandas stores its index


@dataclass(frozen=True)
class Layout:
    """The columns of a data set."""

    names: tuple[str, ...]
    """Names of the features, or their numbers from 0 if the file does not name them."""
    has_names: bool
    """Whether the file names them."""
    qid: str
    """Column of queries."""
    label: str | None
    """Column of labels."""
    doc_id: str | None
    """Column of documents."""
    lists: str | None
    """The one column that holds all features as lists."""
    dtype: np.dtype[Any]
    """float32 if all features fit into it exactly, else float64."""

    @property
    def given_names(self) -> tuple[str, ...] | None:
        """Names of the features if the file names them."""
        return self.names if self.has_names else None

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        features = list(self.names) if self.lists is None else [self.lists]
        return [*filter(None, (self.qid, self.label, self.doc_id)), *features]


def layout_of(pa: Any, schema: Any, path: Path, names: ColumnNames, cells: Any = None) -> Layout:
    """Return what the columns hold, or raise `InputError`; ``cells`` is the table, of text, for messages."""
    known = [name for name in schema.names if not _INDEX.fullmatch(name)]
    roles = roles_of(known, names, str(path), "directrix.data.read_parquet(path")
    for name in filter(None, (roles.qid, roles.doc_id)):
        if pa.types.is_nested(schema.field(name).type):
            raise InputError(
                f"{path}: the column {name!r} is {schema.field(name).type}; an integer or text per row is "
                "needed. Write it as text first."
            )
    places = {"qid": roles.qid, "label": roles.label, "doc_id": roles.doc_id}
    given = roles.features if names.features else ("features",) if "features" in roles.features else ()
    is_list = len(given) == 1 and not _is_number(pa, schema.field(given[0]).type)
    is_list = is_list and (not names.features or pa.types.is_nested(schema.field(given[0]).type))
    numbers = [roles.label] if roles.label else []
    for name in numbers if is_list else [*numbers, *roles.features]:
        if roles.features.count(name) > 1:
            raise InputError(f"{path}: two columns have the name {name!r}; rename one.")
        _check_number(pa, path, name, schema.field(name).type, cells)
    if not is_list:
        dtype = _dtype(pa, [schema.field(name).type for name in roles.features])
        return Layout(roles.features, has_names=True, lists=None, dtype=dtype, **places)
    if others := [name for name in roles.features if name != given[0]]:
        raise InputError(
            f"{path}: there is a column {others[0]!r} besides a list column 'features'; features are in "
            "columns or a list.",
            python=f"Leave it out, e.g. table.drop_columns({others[:1]!r}), or append it to that.",
            shell="Name the one to use: --feature-columns features.",
        )
    kind = schema.field(given[0]).type
    if not pa.types.is_fixed_size_list(kind) or not _is_number(pa, kind.value_type):
        raise InputError(
            f"{path}: the column {given[0]!r} is {kind}; a list of numbers of one length is needed. Type "
            "column.cast(pyarrow.list_(pyarrow.float32(), n_features))."
        )
    stored = _stored_names((schema.metadata or {}).get(FEATURE_NAMES), kind.list_size, path)
    features = stored or tuple(map(str, range(kind.list_size)))
    dtype = _dtype(pa, [kind.value_type])
    return Layout(features, has_names=stored is not None, lists=given[0], dtype=dtype, **places)


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


def _check_number(pa: Any, path: Path, name: str, kind: Any, cells: Any) -> None:
    if pa.types.is_dictionary(kind):
        raise InputError(f"{path}: the column {name!r} holds categories")
    if not _is_number(pa, kind) and not pa.types.is_null(kind):
        where = "" if cells is None else not_a_number(cells.column(name))
        raise InputError(
            f"{path}: the column {name!r} is {kind}{where}; numbers are needed.",
            python=f"Encode it, or leave it out: table.drop_columns([{name!r}]).",
            shell="Encode or remove it, or name the columns of features: --feature-columns NAME,... .",
        )


def _dtype(pa: Any, kinds: list[Any]) -> np.dtype[Any]:
    short = {pa.float32(), pa.float16(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_()}
    return np.dtype(np.float32 if all(kind in short for kind in kinds) else np.float64)
