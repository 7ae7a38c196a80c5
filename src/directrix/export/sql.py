"""One SELECT for PostgreSQL, SQLite and DuckDB; missing features are NULL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.export.expressions import Language, float_text
from directrix.export.formula import Formula
from directrix.export.target import ExportTarget
from directrix.export.trees import TreeSplit, nested, nodes_of
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array


class _Case(NamedTuple):
    """A tree as the branches of a CASE: how deep its cases are nested, and its last value."""

    depth: int
    branches: list[str]
    otherwise: str

    @property
    def text(self) -> str:
        """The expression."""
        return (
            f"CASE {' '.join(self.branches)} ELSE {self.otherwise} END" if self.branches else self.otherwise
        )


# SQLite takes this number of columns in a result.
_MOST_COLUMNS = 2000
# The alias of the table that every SELECT reads.
_BEFORE = "t"


def quoted(name: str) -> str:
    """Return a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Sql(Language):
    """Expressions with the same meaning in all three databases."""

    # A condition that is NULL chooses the second value, in all three databases.
    CHOICE = "CASE WHEN {} THEN {} ELSE {} END"
    MISSING = "{} IS NULL"
    LOG = "ln({})"

    def feature(self, number: int) -> str:
        """Return a column of the table, as a number: SQLite's columns may hold text."""
        column = self.column(self.formula.name(number))
        return column if self._names(number) else f"CAST({column} AS double precision)"

    def column(self, name: str) -> str:
        """Return a column of the previous table; SQLite would read an unknown bare name as text."""
        return f"{_BEFORE}.{quoted(name)}"

    def number(self, value: float) -> str:
        """Return a constant of double precision."""
        return float_text(value)

    def trees(self, model: Trees) -> list[str]:
        """Return trees whose deeper side comes last in one CASE, because SQLite nests at most 20 of them."""

        def leaf(value: float) -> _Case:
            return _Case(0, [], self.number(value))

        def split(branch: TreeSplit, left: _Case, right: _Case) -> _Case:
            # The deeper side continues the list of branches, so that only the other one is nested.
            is_left_first = left.depth <= right.depth
            first, last = (left, right) if is_left_first else (right, left)
            case = f"WHEN {self._goes(branch, left=is_left_first)} THEN {first.text}"
            return _Case(max(first.depth + 1, last.depth), [case, *last.branches], last.otherwise)

        return [case.text for case in nested(nodes_of(model), leaf, split)]

    def _goes(self, split: TreeSplit, *, left: bool) -> str:
        """Return a comparison, or a list of categories, by name if they have names."""
        column = self.feature(split.feature)
        if split.categories is not None:
            words = list(map(str, split.categories))
            if (names := self._names(split.feature)) is not None:
                texts = (names[code] for code in split.categories if code < len(names))
                words = ["'" + name.replace("'", "''") + "'" for name in texts]
            listed = f"IN ({', '.join(words)})"
            return f"{column} {listed}" if left else f"({column} NOT {listed} OR {column} IS NULL)"
        missing = f" OR {column} IS NULL" if split.missing_left == left else ""
        return f"{column} {'<=' if left else '>'} {self.number(split.threshold)}{missing}"

    def _names(self, feature: int) -> tuple[str, ...] | None:
        """Return the names of the categories of a feature; None for a number."""
        return None if self.formula.categories is None else self.formula.categories[feature]


def _write(formula: Formula) -> bytes:
    """Return a SELECT of all columns of the table ``features``, ``score``, and calibrated ``probability``."""
    _check_names(formula)
    _check_width(len(formula.used))
    language = Sql(formula)
    steps, last = language.score()
    name = "score"
    if formula.calibration is not None:
        steps.append({name: last})
        last = language.probability(formula.calibration, language.column(name))
        name = "probability"
    _check_width(len(formula.used) + sum(map(len, steps)))
    table, layers = "features", []
    for number, step in enumerate(steps, start=1):
        columns = ",\n".join(f"{text} AS {quoted(name)}" for name, text in step.items())
        select = f"SELECT *,\n{columns}\nFROM {table} AS {_BEFORE}"
        # Otherwise a database may repeat the text of a layer wherever a later layer uses it.
        layers.append(f"directrix_{number} AS MATERIALIZED (\n{select})")
        table = f"directrix_{number}"
    before = "WITH " + ",\n".join(layers) + "\n" if layers else ""
    head = "-- the score of each row of the table features; a missing feature is NULL\n"
    return f"{head}{before}SELECT *,\n{last} AS {name}\nFROM {table} AS {_BEFORE}\n".encode()


def _check_names(formula: Formula) -> None:
    """Raise `InputError` for names that cannot be columns of one table with the score."""
    taken = {"score": "score"}
    if formula.calibration is not None:
        taken["probability"] = "probability"
    for name in map(formula.name, formula.used):
        if "\0" in name:
            raise InputError(f"the name of the feature {name!r} has a NUL, which SQL cannot hold; rename it.")
        if (other := taken.get(name.lower())) is not None:
            raise InputError(
                f"the feature {name!r} and the column {other!r} are one to SQL, which has no upper and lower "
                "case and calls the results score and probability; rename the feature, or choose python."
            )
        taken[name.lower()] = name


def _check_width(n_columns: int) -> None:
    if n_columns >= _MOST_COLUMNS:
        raise InputError(
            f"this SELECT has {n_columns + 1:,} columns with the score, and SQLite takes {_MOST_COLUMNS:,}; "
            "choose python or onnx, or train with fewer features."
        )


def sql_table(formula: Formula, X: Array) -> tuple[list[str], list[list[Any]]]:
    """Return names and rows of a table of the features that are used: NULL for NaN, categories by name."""
    used = formula.used or [0]
    columns: list[list[Any]] = []
    for f in used:
        values: list[Any] = [None if np.isnan(x) else x for x in X[:, f].tolist()]
        categories = None if formula.categories is None else formula.categories[f]
        if categories is not None:
            values = [
                None if x is None else categories[int(x)] if 0 <= x < len(categories) else "" for x in values
            ]
        columns.append(values)
    return [formula.name(f) for f in used], [list(row) for row in zip(*columns, strict=True)]


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by SQLite."""
    names, rows = sql_table(formula, X)
    columns = ", ".join(map(quoted, names))
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute(f"CREATE TABLE features ({columns})")
            database.executemany(f"INSERT INTO features VALUES ({', '.join('?' * len(names))})", rows)
            results = database.execute(content.decode()).fetchall()
        except sqlite3.Error as error:
            raise InputError(
                f"SQLite cannot run this SELECT: {error}; choose python, onnx or lightgbm, or train a "
                "smaller model."
            ) from None
    scores = [row[-1] if formula.calibration is None else row[-2:] for row in results]
    return np.array(scores, dtype=np.float64)


TARGET = ExportTarget(
    "SQL", _write, _read, f"SQLite {sqlite3.sqlite_version}", takes_categories=True, keeps_calibration=True
)
