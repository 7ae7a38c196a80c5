"""Options for reading data, reading with them, and checks of outputs before the work begins.

A command that reads data takes one of these groups of options. The group returns names of columns, a
`DataFile` or `Queries`::

    def example_command(*, data: DataArgument, reading: TrainingData) -> None:
        queries = reading.read(data)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli.options import Missing, option
from directrix.cli.output import remark
from directrix.data.columns import DOC, LABELS, QUERY, ROLES, ColumnNames, column_list
from directrix.data.file import DataFile
from directrix.data.files import check_replaceable
from directrix.data.formats import named
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.clicks.log import Log
    from directrix.data.queries import Queries
    from directrix.rankers.fitted import FittedModel
    from directrix.rankers.inputs import Weights
    from directrix.types import Array, Float64Array

RECORDED = ("qid", "label", "doc_id")
"""Columns whose names are stored in a model file if the user gave them."""

# A search copies some of the queries, so the features may take this share of the available memory.
_SHARE = 0.4


def _column(key: str) -> Any:
    """Return the option for a column, or for several, by the table of roles."""
    role = ROLES[key]
    return option(
        role.option,
        metavar="NAME,..." if role.is_list else "NAME",
        help=role.help,
    )


MissingOption = Annotated[
    Missing,
    Option(
        help="How to treat the feature values nan and NULL: as an error, as 0, or as missing (nan), for "
        "trees and for `directrix train --scale standard`, log, quantile or minmax."
    ),
]
ModelMissingOption = Annotated[
    Missing | None,
    option(
        "--missing",
        help="How to read the feature values nan and NULL. Default: as in training.",
    ),
]
ByPositionOption = Annotated[
    bool,
    Option(
        "--by-position",
        help="Take features by their position where names or number differ: zeros for those that the data "
        "lack, without those that the model lacks.",
    ),
]


def _several(option_name: str, text: str | None) -> tuple[str, ...] | None:
    """Return the names in the text of an option that names several columns."""
    names = None if text is None else tuple(filter(None, text.split(",")))
    if names == ():
        raise typer.BadParameter(f"{option_name} names no column; type e.g. {option_name} bm25,age.")
    return names


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns of tables."""

    qid_column: Annotated[str | None, _column("qid")] = None
    label_column: Annotated[str | None, _column("label")] = None
    doc_id_column: Annotated[str | None, _column("doc_id")] = None
    feature_columns: Annotated[str | None, _column("features")] = None
    categorical_columns: Annotated[str | None, _column("categorical")] = None
    exclude_columns: Annotated[str | None, _column("excluded")] = None

    def names(self) -> ColumnNames:
        """Return the names that were given."""
        return ColumnNames(
            self.qid_column,
            self.label_column,
            self.doc_id_column,
            _several("--feature-columns", self.feature_columns),
            _several("--categorical-columns", self.categorical_columns),
            _several("--exclude-columns", self.exclude_columns),
        )

    def file(self, path: Path) -> DataFile:
        """Return a data file with these columns."""
        return DataFile(path, self.names())


@dataclass(frozen=True, kw_only=True)
class RunColumns(Columns):
    """Names of the columns of tables, some of which may be runs."""

    score_column: Annotated[str | None, _column("score")] = None

    def names(self) -> ColumnNames:
        """Return the names that were given."""
        return replace(super().names(), score=self.score_column)


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """Names of the columns of a log of clicks."""

    session_column: Annotated[str | None, _column("session")] = None
    query_column: Annotated[str | None, _column("query")] = None
    doc_column: Annotated[str | None, _column("doc")] = None
    position_column: Annotated[str | None, _column("position")] = None
    clicked_column: Annotated[str | None, _column("clicked")] = None
    impressions_column: Annotated[str | None, _column("impressions")] = None
    user_column: Annotated[str | None, _column("user")] = None
    ranker_column: Annotated[str | None, _column("ranker")] = None

    def read(self, path: Path) -> Log:
        """Read a log into memory."""
        from directrix.clicks.log import Log

        return Log.read(path, **{name.removesuffix("_column"): column for name, column in vars(self).items()})

    def features(self, path: Path) -> DataFile:
        """Return a table of features with these columns, which needs no labels."""
        names = ColumnNames(qid=self.query_column, doc_id=self.doc_column, has_labels=False)
        return DataFile(path, names).with_own_columns()


@dataclass(frozen=True, kw_only=True)
class EventColumns:
    """Names of the columns of events, and of tables that go with them."""

    user_column: Annotated[str | None, _column("user")] = None
    item_column: Annotated[str | None, _column("item")] = None
    time_column: Annotated[str | None, _column("time")] = None
    event_column: Annotated[str | None, _column("event")] = None
    session_column: Annotated[str | None, _column("session")] = None
    categorical_columns: Annotated[str | None, _column("categorical")] = None

    def names(self) -> dict[str, Any]:
        """Return the arguments of `from_interactions` that name columns."""
        names: dict[str, Any] = {name.removesuffix("_column"): column for name, column in vars(self).items()}
        categorical = _several("--categorical-columns", names.pop("categorical_columns"))
        return names | {"categorical": categorical or ()}


@dataclass(frozen=True, kw_only=True)
class TrainingData(Columns):
    """Options for reading data without a model."""

    missing: MissingOption = Missing.error

    def read(self, path: Path) -> Queries:
        """Read a data file into memory."""
        return self.file(path).queries(self.missing.value)

    def read_or_open(self, file: DataFile, *, stream: bool | None) -> Queries:
        """Read a data file into memory, or open it and leave its features on disk.

        ``stream=None`` leaves the features of a Parquet or Arrow file on disk if they would take more than
        40 % of the available memory. Text, and missing values to replace there, raise an `InputError`.
        """
        from directrix.data.memory import available_memory

        if stream is False or (stream is None and not file.format.is_table):
            return file.queries(self.missing.value)
        available = available_memory()
        # The size is that in the header: a file that is read may have its rows in any order.
        if stream is None and file.tables.n_bytes <= _SHARE * available:
            return file.queries(self.missing.value)
        q = file.open(self.missing.value)
        n_bytes = q.n_docs * q.n_features * q.features.dtype.itemsize
        taken, free = (f"{size / 1e9:.3g} GB" for size in (n_bytes, available))
        remark(f"note: the features stay in {file}: they take {taken}; {free} of memory are available")
        return q


@dataclass(frozen=True, kw_only=True)
class WeightedData(TrainingData):
    """Options for reading training data with weights; columns of weights are not features."""

    weight_column: Annotated[str | None, _column("weight")] = None
    query_weight_column: Annotated[str | None, _column("query_weight")] = None

    def read_weighted(self, path: Path, *, stream: bool | None) -> tuple[Queries, Weights]:
        """Read or open training data, with weights of documents and of queries; None for those not given.

        Those of LETOR text are in a file next to it: one per document, as in LightGBM, or per query, as in
        XGBoost. Raises `InputError` if a column of weights does not exist, a weight is not a number >= 0, or
        the weight of a query differs between its rows.
        """
        from directrix.data.checks import weights_of
        from directrix.data.letor.read import side_weights

        file, names = self.file(path), self._weight_names()
        for key, name in names.items():
            _check_weight(file, ROLES[key].option, name)
        file = self._without_weights(file)
        cells = {key: file.column(name).to_numpy() for key, name in names.items()}
        q = self.read_or_open(file, stream=stream)
        weights: dict[str, Any] = {
            key: weights_of(cells[key], q.n_docs, name, "row")[q.rows] for key, name in names.items()
        }
        if not file.format.has_names:
            weights = dict(zip(("weight", "query_weight"), side_weights(path, q), strict=True))
            for key, what in (("weight", "documents"), ("query_weight", "queries")):
                if weights[key] is not None:
                    remark(f"note: weights of {what}: {path}.weight")
        elif "query_weight" in weights:
            weights["query_weight"] = _by_query(weights["query_weight"], q, path)
        return q, (weights.get("weight"), weights.get("query_weight"))

    def read_validation(self, path: Path, *, stream: bool | None) -> Queries:
        """Read or open data that may lack weights, which are not features."""
        file = self._without_weights(self.file(path))
        return self.read_or_open(file, stream=stream if file.format.is_table else None)

    def _weight_names(self) -> dict[str, str]:
        names = {"weight": self.weight_column, "query_weight": self.query_weight_column}
        return {key: name for key, name in names.items() if name is not None}

    def _without_weights(self, file: DataFile) -> DataFile:
        """Return a file whose columns of weights are not features."""
        weights = [name for name in self._weight_names().values() if name in file.names]
        excluded = (*(file.columns.excluded or ()), *weights)
        return file.with_columns(replace(file.columns, excluded=excluded or None))


def _check_weight(file: DataFile, option_name: str, column: str) -> None:
    """Raise `InputError` if a file does not have a column of weights."""
    if not file.format.has_names:
        raise InputError(
            f"{file} is {file.format.name} text, whose columns have no names; leave out {option_name}, or "
            "give CSV, TSV, JSON lines or Parquet."
        )
    if column not in file.names:
        raise InputError(
            f"{file}: there is no column {column}; the columns are {column_list(file.names)}. Type "
            f"{option_name} NAME."
        )


def _by_query(weights: Array, q: Queries, path: Path) -> Float64Array:
    """Return the weight of each query, which all its rows have; `InputError` if two rows differ."""
    import numpy as np

    by_query: Float64Array = weights[q.qptr[:-1]]
    if len(other := np.flatnonzero(weights != np.repeat(by_query, np.diff(q.qptr)))):
        query = int(np.searchsorted(q.qptr, other[0], side="right")) - 1
        raise InputError(
            f"{path}: query {q.query_ids[query]} has the weights {by_query[query]:g} and "
            f"{weights[other[0]]:g}; the weight of a query must be the same in all its rows. For weights of "
            "documents type --weight-column."
        )
    return by_query


def read_as_trained(
    read: Callable[[str], Queries], models: Collection[FittedModel], missing: Missing | None
) -> Queries:
    """Read data by a function of the meaning of missing values, which is that of the models' training.

    ``missing`` applies only to models whose training data had to be complete; a note says so.
    """
    rules = {Missing(saved.missing) for saved in models}
    if missing is None:
        # "error" before "nan" before "zero"; without a model nothing uses the features
        how = min(rules, default=Missing.nan)
    elif missing is Missing.error:
        how = missing
    else:
        how = min(rules - {Missing.error}, default=missing)
        if rules - {missing}:
            trained = ", ".join(sorted(rules))
            rest = "" if how is missing else f", not {missing.value}"
            remark(
                f"note: the model was trained with --missing {trained}; this is --missing {how.value}{rest}"
            )
    q = read(how.value)
    # that of the model is no decision about features that were never missing in its training
    return q if missing is how or how is Missing.zero else replace(q, missing=Missing.error.value)


@dataclass(frozen=True, kw_only=True)
class ModelData(Columns):
    """Options for reading data for trained models."""

    missing: ModelMissingOption = None
    by_position: ByPositionOption = False

    def with_recorded(self, file: DataFile, models: Iterable[FittedModel]) -> DataFile:
        """Return a file that is read with the columns of the training data where the user named none."""
        names = file.columns
        for columns in (saved.training["data"].get("columns", {}) for saved in models):
            for key, name in columns.items():
                if key in RECORDED and getattr(names, key) is None and name in file.names:
                    names = replace(names, **{key: name})
        return file.with_columns(names)

    def _with_features(self, file: DataFile, models: Collection[FittedModel]) -> ColumnNames:
        """Add the features of models, by name, that a table has; a note names its other columns."""
        names, path = file.columns, file.path
        is_open = names.features is None and not self.by_position and file.format.has_names
        if not is_open or any(saved.feature_names is None for saved in models):
            return names
        categories = {
            name: kind is not None
            for saved in models
            for name, kind in zip(
                saved.feature_names or (), saved.categories or (None,) * saved.n_features, strict=True
            )
        }
        known = file.names
        features = tuple(name for name in categories if name in known)
        if not features or "features" in set(known) - set(categories):  # a list, or columns of other names
            return names
        used = (names.qid, names.label, names.doc_id, *QUERY, *DOC, *LABELS, *categories)
        surplus = [name for name in known if name not in (*used, *(names.excluded or ()))]
        _check_lacking([name for name in categories if name not in known], surplus, path, "the model")
        if surplus:
            remark(f"note: these columns of {path}, not features of the model, are left out: {some(surplus)}")
        chosen = tuple(name for name in features if categories[name] or name in (names.categorical or ()))
        return replace(names, features=features, categorical=chosen or None, excluded=None)

    def read_for(
        self, models: Collection[FittedModel], file: DataFile, *, has_labels: bool = True
    ) -> Queries:
        """Read a file of `with_recorded` for models; see `read_as_trained`."""
        names = replace(self._with_features(file, models), has_labels=has_labels)
        return read_as_trained(file.with_columns(names).queries, models, self.missing)

    def matched(self, q: Queries, saved: FittedModel, path: Path, model: Path) -> Queries:
        """Return the data of ``path`` with the features of the ``model``; see `same_features`."""
        other = f"the model {model}"
        return same_features(
            q, saved.n_features, saved.feature_names, path, other, by_position=self.by_position
        )

    def read(self, saved: FittedModel, path: Path, model: Path, *, has_labels: bool = True) -> Queries:
        """Read data for one model, with its features."""
        q = self.read_for([saved], self.with_recorded(self.file(path), [saved]), has_labels=has_labels)
        return self.matched(q, saved, path, model)


@dataclass(frozen=True, kw_only=True)
class RankedData(ModelData, RunColumns):
    """Options for reading the data on which rankings are evaluated."""


def check_model(path: Path, data: Path | None) -> None:
    """Raise `InputError` if the file given as the model is data."""
    if (content := DataFile(path).content) not in ("json", "jsonl", ""):
        is_swapped = data is not None and DataFile(data).is_model
        remedy = f"Swap them: {data} {path}" if is_swapped else "Give a file that `directrix train` wrote"
        raise InputError(f"the model must be a model file, got {path}, which holds {content}. {remedy}.")


def load_model(path: Path, data: Path | None) -> Any:
    """Load the model that a command applies to data."""
    from directrix.rankers.loading import load

    check_model(path, data)
    return load(path)


def check_writable(path: Path | None, *inputs: Path | None) -> None:
    """Reject an output that cannot be written, or that is also an input, before the work begins.

    If ``path`` is None, there is no output. Raises `InputError` if ``path`` is a folder or read-only, its
    folder does not exist or is not writable, or it is one of ``inputs`` or in one of them.
    """
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; type `mkdir -p {path.parent}` first.")
    check_replaceable(path)
    form = named(path)
    for source in filter(None, inputs):
        is_read_with = source.is_dir() and source.samefile(path.absolute().parent)
        if form is not None and form.is_table and is_read_with:
            raise InputError(
                f"{path} is in the folder {source}, whose files are read together, so it would become or "
                f"replace one of them; write it elsewhere, e.g. {source.absolute().parent / path.name}."
            )
        if path.is_file() and source.exists() and source.samefile(path):
            raise InputError(
                f"{path} is the same file as the input {source}, which would be lost; give another name for "
                f"the output, e.g. {path.with_name('new-' + path.name)}."
            )


def same_features(
    q: Queries, n_features: int, names: Iterable[object] | None, path: Path, other: str, *, by_position: bool
) -> Queries:
    """Return the data of ``path`` with the features of ``other``: the same number, and names if it has any.

    Columns are put into the order of ``names``. With ``by_position`` names are ignored, and the last columns
    are dropped, or columns of zeros added, until the number is the same.

    Raises `InputError` if names or number differ.
    """
    names = None if names is None else tuple(map(str, names))
    if by_position:
        if q.n_features > n_features:
            q = _taken(q, range(n_features), None)
        return replace(replace(q, feature_names=None).widened(n_features), feature_names=names)
    if names is not None and q.feature_names is not None:
        more = [name for name in q.feature_names if name not in names]
        _check_lacking([name for name in names if name not in q.feature_names], more, path, other)
        if more:
            remark(f"note: {other} does not use these features of {path}: {some(more)}")
        if q.feature_names == names:
            return q
        place = {name: column for column, name in enumerate(q.feature_names)}
        return _taken(q, [place[name] for name in names], names)
    if q.n_features != n_features:
        raise InputError(
            f"{path} has {q.n_features} features, {other} has {n_features}"
            f"{'' if names is None else f' ({some(names)})'}; both must have the same ones. {_BY_POSITION}"
            + " That adds zeros for the last features, which sparse files leave out."
            * (q.n_features < n_features)
        )
    if names is not None:
        remark(f"note: the features of {path} have no names and are taken by position, those of {other} have")
    return q


_BY_POSITION = "Give data with the same features, or match them by position: --by-position."


def _check_lacking(lacks: list[str], more: list[str], path: Path, other: str) -> None:
    if lacks:
        also = f" and also has {some(more)}" if more else ""
        raise InputError(
            f"{path} does not have the features of {other}: it lacks {some(lacks)}{also}. {_BY_POSITION}"
        )


def _taken(q: Queries, columns: Sequence[int], names: tuple[str, ...] | None) -> Queries:
    """Return data with some columns of the features, stored as they were: another layout has other bits."""
    import numpy as np

    if q.held == "file":
        raise InputError(
            f"{q.features.source.name}: columns of features that stay in a file cannot be moved or left out; "
            "type --no-stream, or rewrite the file with the columns of the training data."
        )
    features = q.features[:, list(columns)]
    if isinstance(features, np.ndarray):
        features = np.ascontiguousarray(features)
    else:
        features.sort_indices()
    categories = None if q.categories is None else tuple(q.categories[column] for column in columns)
    kept = categories if any(categories or ()) else None
    return replace(q, features=features, feature_names=names, categories=kept)


def query_classes(path: Path) -> dict[str, str]:
    """Read the segment of every query from a table, or from lines of a query and its segment.

    The segments of a table are in the column "segment" or "class", or in the only column other than that of
    the queries. The two parts of a line are separated by a tab, a comma or blanks.
    """
    from directrix.data.files import Problem, open_data, raise_problems, readable

    table = DataFile(path)
    if (query := next((name for name in QUERY if name in table.names), None)) is not None:
        return _classes_of_table(table, query)
    of_query: dict[str, str] = {}
    problems = []
    with readable(path), open_data(path) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8-sig", "backslashreplace").strip()
            if not text:
                continue
            separator = next((mark for mark in "\t," if mark in text), None)
            query, *rest = (field.strip() for field in text.split(separator, 1))
            if not rest or not rest[0]:
                problem = f"{short_text(text)} is not a query and its segment"
                problems.append(Problem(number, problem, "Write e.g. 301 navigational."))
            elif of_query.setdefault(query, rest[0]) != rest[0]:
                problem = f"query {query} has the segment {of_query[query]} above"
                problems.append(Problem(number, problem, "Each query has one segment."))
    raise_problems(path, problems)
    return of_query


def _classes_of_table(file: DataFile, query: str) -> dict[str, str]:
    from directrix.data.checks import is_empty
    from directrix.data.grouping import identifier_text

    others = [name for name in file.names if name != query]
    named = [name for name in ("segment", "class") if name in others] or others
    if len(named) != 1:
        found = column_list(others) or "none"
        raise InputError(f"{file}: one column other than {query!r} is needed, got {found}. Name it segment.")
    table = file.with_columns(ColumnNames(categorical=tuple(named))).table()
    of_query: dict[str, str] = {}
    for key, value in zip(*(table.column(name).to_pylist() for name in (query, *named)), strict=True):
        if is_empty(value):
            continue
        query, segment = identifier_text(key), identifier_text(value)
        if of_query.setdefault(query, segment) != segment:
            raise InputError(
                f"{file}: query {query} has the segments {of_query[query]} and {segment}; each query has one."
            )
    return of_query


def some(names: Iterable[object]) -> str:
    """Return up to three names as text for messages, and the number of the others."""
    texts = [repr(str(name)) for name in names]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
