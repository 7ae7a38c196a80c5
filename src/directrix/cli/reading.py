"""Options for reading data, reading with them, and checks of outputs before the work begins.

A command that reads data takes one of these groups of options. The group returns names of columns, a
`DataFile` or `Queries`::

    def example_command(*, data: DataArgument, reading: TrainingOptions) -> None:
        queries = reading.read(data)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli.options import Missing, option
from directrix.cli.output import remark
from directrix.data.columns import DOC, LABELS, OPTIONS, QUERY, ROLES, ColumnNames, column_list, some_names
from directrix.data.file import DataFile
from directrix.data.files import check_replaceable
from directrix.data.formats import named
from directrix.data.matching import match_data, match_features
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.data.queries import Queries
    from directrix.rankers.fitted import FittedModel
    from directrix.rankers.inputs import Weights
    from directrix.types import Array, Float64Array

RECORDED = ("qid", "label", "doc_id")
"""Columns whose names are stored in a model file if the user gave them."""

# A search copies some of the queries, so the features may take this share of the available memory.
_SHARE = 0.4


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


DATA = ("qid", "label", "doc_id", "features", "categorical", "excluded")
"""Roles of the columns of labeled data, as the keys of `ROLES`."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Options that name columns, and the names that the user gave.

    A command lists the roles in its signature, and `ROLES` has the option and the help of each::

        def example_command(*, columns: Annotated[Columns, ("qid", "label")]) -> None: ...
    """

    texts: Mapping[str, str | None]
    """The text of each option by its role; None if it was not given."""

    def by_role(self) -> dict[str, Any]:
        """Return the names that were given by their roles; for a role of several columns a tuple."""
        names: dict[str, Any] = {key: text for key, text in self.texts.items() if text is not None}
        for key, text in names.items():
            if ROLES[key].is_list:
                names[key] = tuple(filter(None, text.split(",")))
                if not names[key]:
                    name = ROLES[key].option
                    raise typer.BadParameter(f"{name} names no column; type e.g. {name} bm25,age.")
        return names

    def names(self) -> ColumnNames:
        """Return the names that were given."""
        return ColumnNames(**{key: name for key, name in self.by_role().items() if key in OPTIONS})

    def file(self, path: Path) -> DataFile:
        """Return a data file with these columns."""
        return DataFile(path, self.names())


ColumnOptions = Annotated[Columns, DATA]
RunOptions = Annotated[Columns, (*DATA, "score")]
EventOptions = Annotated[Columns, ("user", "item", "time", "event", "session", "categorical")]
LogOptions = Annotated[
    Columns, ("session", "query", "doc", "position", "clicked", "impressions", "user", "ranker")
]


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
        """Return the names of columns of weights, which are not features, as far as they were given."""
        names = ((key, self.texts.get(key)) for key in ("weight", "query_weight"))
        return {key: name for key, name in names if name is not None}

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
        used = {names.qid, names.label, names.doc_id, *QUERY, *DOC, *LABELS, *(names.excluded or ())}
        others = [name for name in file.names if name not in used - categories.keys()]
        match = match_features(others, (*categories,), str(path))
        # One column may hold the list of all features, and columns of other names are taken by position.
        if not match.columns or "features" in match.surplus:
            return names
        if match.lacking:
            raise InputError(match.problem(str(path), "the model"), _BY_POSITION)
        if match.surplus:
            remark(
                f"note: these columns of {path}, not features of the model, are left out: "
                f"{some_names(match.surplus)}"
            )
        chosen = tuple(name for name in categories if categories[name] or name in (names.categorical or ()))
        return replace(names, features=tuple(categories), categorical=chosen or None, excluded=None)

    def read_for(
        self, models: Collection[FittedModel], file: DataFile, *, has_labels: bool = True
    ) -> Queries:
        """Read a file of `with_recorded` for models; see `read_as_trained`."""
        names = replace(self._with_features(file, models), has_labels=has_labels)
        return read_as_trained(file.with_columns(names).queries, models, self.missing)

    def matched(self, q: Queries, saved: FittedModel, path: Path, model: Path) -> Queries:
        """Return the data of ``path`` with the features of the ``model``; see `same_features`."""
        other = f"the model {model}"
        return same_features(q, saved, path, other, by_position=self.by_position)

    def read(self, saved: FittedModel, path: Path, model: Path, *, has_labels: bool = True) -> Queries:
        """Read data for one model, with its features."""
        q = self.read_for([saved], self.with_recorded(self.file(path), [saved]), has_labels=has_labels)
        return self.matched(q, saved, path, model)


TrainingOptions = Annotated[TrainingData, DATA]
WeightedOptions = Annotated[TrainingData, (*DATA, "weight", "query_weight")]
ModelOptions = Annotated[ModelData, DATA]
RankedOptions = Annotated[ModelData, (*DATA, "score")]


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
    q: Queries, trained: Queries | FittedModel, path: Path, other: str, *, by_position: bool
) -> Queries:
    """Return the data of ``path`` with the features of ``other``, a model or other data, in their order.

    A note names columns that are left out. With ``by_position`` names are ignored, and the last columns are
    dropped, or columns of zeros added, until the number is the same.

    Raises `InputError` if names are lacking or, without names, the number differs.
    """
    from directrix.data.queries import take_columns

    names, n_features = trained.feature_names, trained.n_features
    if by_position:
        q = take_columns(q, range(min(q.n_features, n_features)))
        return replace(replace(q, feature_names=None).widened(n_features), feature_names=names)
    match = match_data(q, trained)
    are_named = q.feature_names is not None and names is not None
    if match.lacking or (match.surplus and not are_named):
        zeros = "" if are_named or not match.lacking else _ADDS_ZEROS
        raise InputError(match.problem(str(path), other), _BY_POSITION, *filter(None, [zeros]))
    if are_named:
        if match.surplus:
            remark(f"note: {other} does not use these features of {path}: {some_names(match.surplus)}")
        return take_columns(q, match.columns)
    if names is not None:
        remark(f"note: the features of {path} have no names and are taken by position, those of {other} have")
    return q


_BY_POSITION = "Give data with the same features, or match them by position: --by-position."
_ADDS_ZEROS = "That adds zeros for the last features, which sparse files leave out."


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
