"""Options for reading data, reading with them, and checks of outputs before the work begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from directrix.cli.options import Missing, option
from directrix.cli.show import remark
from directrix.data.columns import DOC, LABELS, QUERY, ColumnNames, column_list
from directrix.data.files import check_replaceable
from directrix.data.formats import content_of, format_of, is_documents_table, named, read_file, text_table
from directrix.errors import InputError, short_text

if TYPE_CHECKING:
    from directrix.clicks.log import Log
    from directrix.data.queries import Queries
    from directrix.rankers.fitted import FittedModel
    from directrix.rankers.inputs import Weights
    from directrix.types import Float64Array

RECORDED = ("qid", "label", "doc_id")
"""Columns whose names are stored in a model file if the user gave them."""

_SHARE = 0.4  # of the available memory: a search copies parts of the queries


def _column(name: str, what: str, default: str) -> Any:
    several = name.endswith("-columns")
    return option(
        name,
        metavar="NAME,..." if several else "NAME",
        help=f"Column{'s' * several} of {what}. Default: {default}",
        rich_help_panel="Columns of CSV, TSV, JSON lines, Parquet and Arrow",
    )


_Qid = Annotated[
    str | None, _column("--qid-column", "queries", "qid, query_id, q_id, query-id, topic or query.")
]
_Label = Annotated[str | None, _column("--label-column", "labels", "label, relevance, rel or grade.")]
_DocId = Annotated[
    str | None,
    _column(
        "--doc-id-column", "documents", "docno, doc_id, docid, corpus-id, document or doc, if there is one."
    ),
]
_Features = Annotated[
    str | None, _column("--feature-columns", "features, separated by commas", "all others.")
]
_Categorical = Annotated[
    str | None,
    _column(
        "--categorical-columns",
        "features that are categories, for trees",
        "those of a dictionary type.",
    ),
]
_Excluded = Annotated[
    str | None, _column("--exclude-columns", "text, dates and the like, to leave out", "none.")
]
_Score = Annotated[str | None, _column("--score-column", "scores of runs", "score or sim.")]
_Weight = Annotated[
    str | None, _column("--weight-column", "weights of documents, such as inverse propensities", "none.")
]
_QueryWeight = Annotated[
    str | None, _column("--query-weight-column", "weights of queries, such as their traffic", "none.")
]
_Missing = Annotated[
    Missing,
    Option(
        help="How to treat the feature values nan and NULL: as an error, as 0, or as missing (nan), for "
        "trees and for `directrix train --scale standard`, log, quantile or minmax."
    ),
]
_ModelMissing = Annotated[
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


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns of tables."""

    qid_column: _Qid = None
    label_column: _Label = None
    doc_id_column: _DocId = None
    feature_columns: _Features = None
    categorical_columns: _Categorical = None
    exclude_columns: _Excluded = None

    def names(self) -> ColumnNames:
        """Return the names that were given."""
        several: dict[str, Any] = {}
        for name in ("feature_columns", "categorical_columns", "exclude_columns"):
            text, given = getattr(self, name), f"--{name.replace('_', '-')}"
            several[name] = None if text is None else tuple(filter(None, text.split(",")))
            if several[name] == ():
                raise typer.BadParameter(f"{given} names no column; type e.g. {given} bm25,age.")
        return ColumnNames(
            self.qid_column,
            self.label_column,
            self.doc_id_column,
            several["feature_columns"],
            several["categorical_columns"],
            several["exclude_columns"],
            score=getattr(self, "score_column", None),
        )


_Session = Annotated[
    str | None, _column("--session-column", "sessions, or result pages", "session or session_id.")
]
_Query = Annotated[str | None, _column("--query-column", "queries", "as --qid-column of other commands.")]
_Doc = Annotated[str | None, _column("--doc-column", "documents", "docno, doc_id, document or doc.")]
_Position = Annotated[str | None, _column("--position-column", "positions, from 1", "position, rank or pos.")]
_Clicked = Annotated[
    str | None, _column("--clicked-column", "clicks, 0 or 1, or their number", "clicked, click or clicks.")
]
_Impressions = Annotated[
    str | None, _column("--impressions-column", "impressions of counts", "impressions or views.")
]
_User = Annotated[str | None, _column("--user-column", "users", "user or user_id.")]
_Ranker = Annotated[
    str | None, _column("--ranker-column", "rankers that were served", "ranker, system or variant.")
]


@dataclass(frozen=True, kw_only=True)
class LogColumns:
    """Names of the columns of a log of clicks."""

    session_column: _Session = None
    query_column: _Query = None
    doc_column: _Doc = None
    position_column: _Position = None
    clicked_column: _Clicked = None
    impressions_column: _Impressions = None
    user_column: _User = None
    ranker_column: _Ranker = None

    def read(self, path: Path) -> Log:
        """Read a log into memory."""
        from directrix.clicks.log import Log

        return Log.read(path, **{name.removesuffix("_column"): given for name, given in vars(self).items()})

    def of_features(self, path: Path) -> ColumnNames:
        """Return the names of these columns in a table of features, which needs no labels."""
        from directrix.data.tables.files import column_names

        names = ColumnNames(qid=self.query_column, doc_id=self.doc_column, has_labels=False)
        return names.within(column_names(path) if is_documents_table(path) else ())


_Item = Annotated[str | None, _column("--item-column", "items", "item, item_id or product_id.")]
_Time = Annotated[str | None, _column("--time-column", "times", "time or timestamp.")]
_Event = Annotated[
    str | None, _column("--event-column", "kinds of events", "event, event_type or action, if there is one.")
]


@dataclass(frozen=True, kw_only=True)
class EventColumns:
    """Names of the columns of events, and of tables that go with them."""

    user_column: _User = None
    item_column: _Item = None
    time_column: _Time = None
    event_column: _Event = None
    session_column: _Session = None
    categorical_columns: _Categorical = None

    def names(self) -> dict[str, Any]:
        """Return the arguments of `from_interactions` that name columns."""
        names = {name.removesuffix("_column"): given for name, given in vars(self).items()}
        return names | {
            "categorical": tuple(filter(None, (names.pop("categorical_columns") or "").split(",")))
        }


@dataclass(frozen=True, kw_only=True)
class RunColumns(Columns):
    """Names of the columns of tables, some of which may be runs."""

    score_column: _Score = None


@dataclass(frozen=True, kw_only=True)
class TrainingData(Columns):
    """Options for reading data without a model."""

    missing: _Missing = Missing.error

    def read(self, path: Path) -> Queries:
        """Read a data file into memory."""
        return read_file(path, missing=self.missing.value, columns=self.names())

    def read_or_open(self, path: Path, *, stream: bool | None) -> Queries:
        """Read a data file into memory, or open it and leave its features on disk.

        ``stream=None`` leaves the features of a Parquet or Arrow file on disk if they would take more than
        40 % of the available memory. Text, and missing values to replace there, raise an `InputError`.
        """
        from directrix.data.memory import available_memory
        from directrix.data.tables.files import TableFiles
        from directrix.rankers.scoring import missing_values

        if stream is False or (stream is None and not format_of(path).is_table):
            return self.read(path)
        available = available_memory()
        # the size in the header: a file that will be read may have its rows in any order
        if stream is None and TableFiles(path, self.names()).n_bytes <= _SHARE * available:
            return self.read(path)
        q = format_of(path).open(path, self.names())
        n_bytes = q.n_docs * q.n_features * q.features.dtype.itemsize
        if self.missing is Missing.zero and missing_values(q):
            raise InputError(
                "--missing zero cannot replace values of features that stay on disk; replace them first: "
                f"`directrix convert {path} new.arrow --missing zero`."
            )
        taken, free = (f"{size / 1e9:.3g} GB" for size in (n_bytes, available))
        remark(f"note: the features stay in {path}: they take {taken}; {free} of memory are available")
        return replace(q, missing=self.missing.value)


@dataclass(frozen=True, kw_only=True)
class WeightedData(TrainingData):
    """Options for reading training data with weights; columns of weights are not features."""

    weight_column: _Weight = None
    query_weight_column: _QueryWeight = None

    def names(self) -> ColumnNames:
        """Return the names that were given; columns of weights are excluded."""
        names = super().names()
        of_weights = tuple(filter(None, (self.weight_column, self.query_weight_column)))
        return replace(names, excluded=(*(names.excluded or ()), *of_weights)) if of_weights else names

    def weighs(self, path: Path, *, optional: bool) -> WeightedData:
        """Return these options for a file; `InputError` if its columns have no names, or it lacks a weight.

        With ``optional``, data that are not for training may lack weights.
        """
        of = {"weight_column": self.weight_column, "query_weight_column": self.query_weight_column}
        options = {name: f"--{name.replace('_', '-')}" for name, column in of.items() if column is not None}
        if not options:
            return self
        has_names = format_of(path).has_names
        if not has_names and not optional:
            raise InputError(
                f"{path} is {format_of(path).name} text, whose columns have no names; leave out "
                f"{', '.join(options.values())}, or give CSV, TSV, JSON lines or Parquet."
            )
        known = _columns_of(path) if has_names else []
        lacks = {name: of[name] for name in options if of[name] not in known}
        if lacks and not optional:
            name, column = next(iter(lacks.items()))
            raise InputError(
                f"{path}: there is no column {column}; the columns are {column_list(known)}. Type "
                f"{options[name]} NAME."
            )
        kept = {name: None if name in lacks else column for name, column in of.items()}
        return replace(self, **kept)  # type: ignore[arg-type]  # these are two of the fields

    def weights(self, path: Path, q: Queries) -> Weights:
        """Return weights of the documents and of the queries; None for those without a column.

        Those of LETOR text are in a file next to it: one per document, as in LightGBM, or per query, as in
        XGBoost. Raises `InputError` if a weight is not a number >= 0, or the weight of a query differs
        between its rows.
        """
        if not format_of(path).has_names:
            from directrix.data.letor.read import side_weights

            weights = side_weights(path, q)
            for what, given in zip(("documents", "queries"), weights, strict=True):
                if given is not None:
                    remark(f"note: weights of {what}: {path}.weight")
            return weights
        return self._of_documents(path, q, self.weight_column), self._of_queries(path, q)

    def _of_documents(self, path: Path, q: Queries, column: str | None) -> Float64Array | None:
        from directrix.data.checks import weights_of
        from directrix.data.tables.files import table_of

        if column is None:
            return None
        values = table_of(path, columns=[column]).column(column).to_numpy()
        return weights_of(values, q.n_docs, column, "row")[q.rows]

    def _of_queries(self, path: Path, q: Queries) -> Float64Array | None:
        import numpy as np

        weights = self._of_documents(path, q, self.query_weight_column)
        if weights is None:
            return None
        of_query = weights[q.qptr[:-1]]
        if len(other := np.flatnonzero(weights != np.repeat(of_query, np.diff(q.qptr)))):
            query = int(np.searchsorted(q.qptr, other[0], side="right")) - 1
            raise InputError(
                f"{path}: query {q.query_ids[query]} has the weights {of_query[query]:g} and "
                f"{weights[other[0]]:g}; the weight of a query must be the same in all its rows. For weights "
                "of documents type --weight-column."
            )
        return of_query


@dataclass(frozen=True, kw_only=True)
class ModelData(Columns):
    """Options for reading data for trained models."""

    missing: _ModelMissing = None
    by_position: ByPositionOption = False

    def names_for(self, models: Iterable[FittedModel], path: Path) -> ColumnNames:
        """Return the column names; for a table, names that are not given are those of the training data."""
        names, trained = self.names(), [saved.training["data"].get("columns", {}) for saved in models]
        if any(trained) and format_of(path).has_names:
            known = _columns_of(path)
            for key, name in (pair for columns in trained for pair in columns.items()):
                if key in RECORDED and name in known and getattr(names, key) is None:
                    names = replace(names, **{key: name})
        return names

    def _with_features(self, names: ColumnNames, models: Collection[FittedModel], path: Path) -> ColumnNames:
        """Add the features of models, by name, that a table has; a note names its other columns."""
        is_open = names.features is None and not self.by_position and format_of(path).has_names
        if not is_open or any(saved.feature_names is None for saved in models):
            return names
        categories = {
            name: kind is not None
            for saved in models
            for name, kind in zip(
                saved.feature_names or (), saved.categories or (None,) * saved.n_features, strict=True
            )
        }
        known = _columns_of(path)
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

    def read_for(self, models: Collection[FittedModel], path: Path, *, has_labels: bool = True) -> Queries:
        """Read data for models, with missing values treated as in training.

        ``--missing`` applies only to models whose training data had to be complete; a note says so.
        """
        rules = {Missing(saved.missing) for saved in models}
        if self.missing is None:
            # "error" before "nan" before "zero"; without a model nothing uses the features
            how = min(rules, default=Missing.nan)
        elif self.missing is Missing.error:
            how = self.missing
        else:
            how = min(rules - {Missing.error}, default=self.missing)
            if rules - {self.missing}:
                trained = ", ".join(sorted(rules))
                rest = "" if how is self.missing else f", not {self.missing.value}"
                remark(
                    f"note: the model was trained with --missing {trained}; this is --missing "
                    f"{how.value}{rest}"
                )
        names = self._with_features(self.names_for(models, path), models, path)
        q = read_file(path, missing=how.value, columns=replace(names, has_labels=has_labels))
        # that of the model is no decision about features that were never missing in its training
        return q if self.missing is how or how is Missing.zero else replace(q, missing=Missing.error.value)

    def matched(self, q: Queries, saved: FittedModel, path: Path, model: Path) -> Queries:
        """Return the data of ``path`` with the features of the ``model``; see `same_features`."""
        other = f"the model {model}"
        return same_features(
            q, saved.n_features, saved.feature_names, path, other, by_position=self.by_position
        )

    def read(self, saved: FittedModel, path: Path, model: Path, *, has_labels: bool = True) -> Queries:
        """Read data for one model, with its features."""
        return self.matched(self.read_for([saved], path, has_labels=has_labels), saved, path, model)


@dataclass(frozen=True, kw_only=True)
class RankedData(ModelData, RunColumns):
    """Options for reading the data on which rankings are evaluated."""


def check_model(path: Path, data: Path | None) -> None:
    """Raise `InputError` if the file given as the model is data."""
    if (content := content_of(path)) not in ("json", "jsonl", ""):
        is_swapped = data is not None and is_model(data)
        remedy = f"Swap them: {data} {path}" if is_swapped else "Give a file that `directrix train` wrote"
        raise InputError(f"the model must be a model file, got {path}, which holds {content}. {remedy}.")


def load_model(path: Path, data: Path | None) -> Any:
    """Load the model that a command applies to data."""
    from directrix.rankers.loading import load

    check_model(path, data)
    return load(path)


def is_model(path: Path) -> bool:
    """Return whether a file begins like JSON; the readers report unreadable files."""
    return content_of(path) == "json" or (".json" in path.suffixes and not path.is_file())


def _columns_of(path: Path) -> list[str]:
    from directrix.data.tables.files import column_names

    return column_names(path)


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
    from directrix.data.tables.files import column_names
    from directrix.data.tables.text import header_of

    # of text the first line, which may be no names and needs no pyarrow
    known = header_of(path) if text_table(path) else column_names(path) if is_documents_table(path) else []
    if (query := next((name for name in QUERY if name in known), None)) is not None:
        return _classes_of_table(path, known, query)
    of_query: dict[str, str] = {}
    problems = []
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
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


def _classes_of_table(path: Path, known: list[str], query: str) -> dict[str, str]:
    from directrix.data.checks import is_empty
    from directrix.data.grouping import identifier_text
    from directrix.data.tables.files import table_of

    others = [name for name in known if name != query]
    named = [name for name in ("segment", "class") if name in others] or others
    if len(named) != 1:
        found = column_list(others) or "none"
        raise InputError(f"{path}: one column other than {query!r} is needed, got {found}. Name it segment.")
    table = table_of(path, ColumnNames(categorical=tuple(named)))
    of_query: dict[str, str] = {}
    for key, value in zip(*(table.column(name).to_pylist() for name in (query, *named)), strict=True):
        if is_empty(value):
            continue
        query, segment = identifier_text(key), identifier_text(value)
        if of_query.setdefault(query, segment) != segment:
            raise InputError(
                f"{path}: query {query} has the segments {of_query[query]} and {segment}; each query has one."
            )
    return of_query


def some(names: Iterable[object]) -> str:
    """Return up to three names as text for messages, and the number of the others."""
    texts = [repr(str(name)) for name in names]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
