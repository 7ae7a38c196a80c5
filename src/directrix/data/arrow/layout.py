"""What the columns of an Arrow schema hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.arrow.text import not_a_number
from directrix.data.categories import Categories, categories_from
from directrix.data.columns import ColumnNames, roles_of
from directrix.errors import InputError

FEATURE_NAMES, CATEGORIES = b"directrix.feature_names", b"directrix.categories"
"""Keys of the names of features, and of their categories, in the metadata of a schema, as lists in JSON."""

INDEX = re.compile(r"__index_level_\d+__")  # a column in which pandas stores its index


@dataclass(frozen=True)
class Layout:
    """The columns of a data set."""

    names: tuple[str, ...] | None
    """Names of the features; None: they are in a list, and the file does not name them."""
    n_features: int
    """Their number. A damaged file can state any; no more than a batch is made from it."""
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
    categorical: tuple[str, ...] = ()
    """Columns of features whose values are names of categories."""
    stored: Categories | None = None
    """Names of categories whose places a list holds."""

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        features = (self.names or ()) if self.lists is None else (self.lists,)
        return [*filter(None, (self.qid, self.label, self.doc_id)), *features]


def layout_of(pa: Any, schema: Any, path: Path, names: ColumnNames, cells: Any = None) -> Layout:
    """Return what the columns hold, or raise `InputError`; ``cells`` is the table, of text, for messages."""
    known = [name for name in schema.names if not INDEX.fullmatch(name)]
    roles = roles_of(known, names, str(path), "directrix.data.read_parquet(path")
    for name in filter(None, (roles.qid, roles.doc_id)):
        if pa.types.is_nested(schema.field(name).type):
            raise InputError(
                f"{path}: the column {name!r} is {schema.field(name).type}; an integer or text per row is "
                "needed. Write it as text first."
            )
    if twice := [name for name, times in Counter(roles.features).items() if times > 1]:
        raise InputError(f"{path}: two columns have the name {twice[0]!r}; rename one.")
    places = {"qid": roles.qid, "label": roles.label, "doc_id": roles.doc_id}
    given = roles.features if names.features else ("features",) if "features" in roles.features else ()
    is_list = len(given) == 1 and not _is_number(pa, schema.field(given[0]).type)
    is_list = is_list and (not names.features or pa.types.is_nested(schema.field(given[0]).type))
    numbers = [roles.label] if roles.label else []
    is_category = partial(_is_category, pa, schema, names)
    categorical = () if is_list else tuple(name for name in roles.features if is_category(name))
    for name in numbers if is_list else [*numbers, *roles.features]:
        if name not in categorical:
            _check_number(pa, path, name, schema.field(name).type, cells)
    if not is_list:
        dtype = _dtype(pa, [schema.field(name).type for name in roles.features])
        whole = Layout(roles.features, len(roles.features), lists=None, dtype=dtype, **places)
        return replace(whole, categorical=categorical)
    if others := [name for name in roles.features if name != given[0]]:
        raise InputError(
            f"{path}: there is a column {others[0]!r} next to a list column 'features'; features are in "
            "columns or a list.",
            python=f"Leave it out, e.g. table.drop_columns({others[:1]!r}), or append it to that.",
            shell="Name the one to use: --feature-columns features.",
        )
    kind = schema.field(given[0]).type
    is_fixed = pa.types.is_fixed_size_list(kind) and kind.list_size > 0
    if not is_fixed or not _is_number(pa, kind.value_type):
        raise InputError(
            f"{path}: the column {given[0]!r} is {kind}; a list of numbers of one length is needed. Type "
            "column.cast(pyarrow.list_(pyarrow.float32(), n_features))."
        )
    metadata, n, dtype = schema.metadata or {}, kind.list_size, _dtype(pa, [kind.value_type])
    stored = _stored_names(metadata.get(FEATURE_NAMES), n, path)
    categories = _stored_categories(metadata.get(CATEGORIES), n, path)
    return Layout(stored, n, lists=given[0], dtype=dtype, stored=categories, **places)


def _stored_names(text: bytes | None, n: int, path: Path) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    n_names = len(set(names)) if is_text else 0
    if n_names != n:
        raise InputError(
            f"{path}: its metadata name {n_names} features for lists of {n}; write the file again."
        )
    return tuple(names)


def _stored_categories(text: bytes | None, n: int, path: Path) -> Categories | None:
    if text is None:
        return None
    try:
        return categories_from(json.loads(text), n)
    except (ValueError, RecursionError):
        raise InputError(
            f"{path}: its metadata do not name the categories of {n} features; write the file again."
        ) from None


def _is_category(pa: Any, schema: Any, names: ColumnNames, name: str) -> bool:
    return name in (names.categorical or ()) or pa.types.is_dictionary(schema.field(name).type)


def _is_number(pa: Any, kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _check_number(pa: Any, path: Path, name: str, kind: Any, cells: Any) -> None:
    if not _is_number(pa, kind) and not pa.types.is_null(kind):
        where = "" if cells is None else not_a_number(cells.column(name))
        raise InputError(
            f"{path}: the column {name!r} is {kind}{where}; numbers are needed.",
            python=f"Leave it out: table.drop_columns([{name!r}]); or, for trees, write it as a dictionary: "
            "table.column(name).dictionary_encode().",
            shell=f"If it holds categories, for trees, type --categorical-columns {name}; or name the "
            "columns of features: --feature-columns NAME,... .",
        )


def _dtype(pa: Any, kinds: list[Any]) -> np.dtype[Any]:
    short = {pa.float32(), pa.float16(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_()}
    return np.dtype(np.float32 if all(kind in short for kind in kinds) else np.float64)
