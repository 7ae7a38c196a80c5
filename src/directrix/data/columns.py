"""Columns of tables: their names in other tools, and those given by the user.

The names of all columns of a table go in. Out come the roles of its columns:

>>> roles_of(["qid", "grade", "bm25", "clicks"], ColumnNames(excluded=("clicks",)), "the table", "read(")
Roles(qid='qid', label='grade', doc_id=None, features=('bm25',))
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from directrix.errors import NO_ITEMS, Advice, InputError, first_repeated, in_words, short_text


class Role(NamedTuple):
    """A kind of column: its content, the option that names it, and the names by which it is recognized."""

    option: str
    """Empty for a role that no command asks for."""
    holds: str
    """The content in words, for ``--help``."""
    recognized: tuple[str, ...] = ()
    """Names in PyTerrier, ir_datasets, ir_measures, ranx, BEIR and click logs, in the order of search."""
    default: str = ""
    """What is taken if the user names no column, for ``--help``. Default: the recognized names."""
    is_optional: bool = False
    """Whether a table may lack such a column."""

    @property
    def is_list(self) -> bool:
        """Whether the option names several columns."""
        return self.option.endswith("-columns")

    @property
    def help(self) -> str:
        """The help of the option."""
        default = self.default or in_words(self.recognized, "or")
        lacking = ", if there is one" if self.is_optional else ""
        return f"Column{'s' if self.is_list else ''} of {self.holds}. Default: {default}{lacking}."


QUERY = ("qid", "query_id", "q_id", "query-id", "topic", "query")
DOC = ("docno", "doc_id", "docid", "corpus-id", "document", "doc")
SCORES = ("score", "sim")
LABELS = ("label", "relevance", "rel", "grade")
SUBTOPICS = ("subtopic", "subtopic_id", "iteration", "iter")

ROLES = {
    "qid": Role("--qid-column", "queries", QUERY),
    "label": Role("--label-column", "labels", LABELS),
    "doc_id": Role("--doc-id-column", "documents", DOC, is_optional=True),
    "features": Role("--feature-columns", "features, separated by commas", default="all others"),
    "categorical": Role(
        "--categorical-columns",
        "features that are categories, for trees",
        default="those of a dictionary type",
    ),
    "excluded": Role("--exclude-columns", "text, dates and the like, to leave out", default="none"),
    "score": Role("--score-column", "scores of runs", SCORES),
    "weight": Role("--weight-column", "weights of documents, such as inverse propensities", default="none"),
    "query_weight": Role(
        "--query-weight-column", "weights of queries, such as their traffic", default="none"
    ),
    "subtopic": Role("", "subtopics", SUBTOPICS),
    "query": Role("--query-column", "queries", QUERY, "as --qid-column of other commands"),
    "doc": Role("--doc-column", "documents", DOC),
    "session": Role(
        "--session-column", "sessions, or result pages", ("session", "session_id", "search_id", "serp_id")
    ),
    "position": Role("--position-column", "positions, from 1", ("position", "rank", "pos")),
    "clicked": Role(
        "--clicked-column", "clicks, 0 or 1, or their number", ("clicked", "click", "clicks", "is_click")
    ),
    "impressions": Role(
        "--impressions-column", "impressions of counts", ("impressions", "n_impressions", "views")
    ),
    "user": Role("--user-column", "users", ("user", "user_id")),
    "ranker": Role("--ranker-column", "rankers that were served", ("ranker", "system", "variant")),
    "item": Role("--item-column", "items", ("item", "item_id", "product_id")),
    "time": Role("--time-column", "times", ("time", "timestamp")),
    "event": Role(
        "--event-column",
        "kinds of events",
        ("event", "event_type", "action"),
        is_optional=True,
    ),
    "propensity": Role("", "propensities", ("propensity",)),
    "examination": Role("", "probabilities of examination", ("examination",)),
}
"""All roles of columns. Options of the command line and the recognition of columns follow this table."""

INDEX = re.compile(r"(__index_level_\d+__|Unnamed: \d+)?")
"""Names of a column in which pandas stores its index: in Parquet, and in CSV, where reading it names it."""

OPTIONS = {
    key: ROLES[key].option
    for key in ("qid", "label", "doc_id", "features", "categorical", "excluded", "score")
}
"""How a column of `ColumnNames` is named in a shell."""


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns given by the user; None: the first recognized name, for features all other columns."""

    qid: Hashable | None = None
    label: Hashable | None = None
    doc_id: Hashable | None = None
    features: tuple[Hashable, ...] | None = None
    categorical: tuple[Hashable, ...] | None = None
    """Features that are categories, whatever their type."""
    excluded: tuple[Hashable, ...] | None = None
    """Columns that are not features."""
    has_labels: bool = True
    """Whether a column of labels is required; data to score may lack it."""
    score: Hashable | None = None
    """Column of scores, for runs."""

    @classmethod
    def of(cls, qid: Any, label: Any, doc_id: Any, features: Any, categorical: Any = None) -> ColumnNames:
        """Convert the user's arguments, which may name one feature or several."""
        return cls(qid, label, doc_id, _several(features), _several(categorical))

    def __bool__(self) -> bool:
        return any(getattr(self, key) is not None for key in OPTIONS)

    def within(self, columns: Sequence[Any]) -> ColumnNames:
        """Return the names that a table has, because a command names the columns of all its tables."""
        # Names of several columns stay: one that a table lacks is an error.
        absent: dict[str, Any] = {
            key: None for key in OPTIONS if not ROLES[key].is_list and getattr(self, key) not in columns
        }
        return replace(self, **absent)

    def given(self) -> str:
        """Options of the shell that name the columns, for messages."""
        return ", ".join(option for key, option in OPTIONS.items() if getattr(self, key) is not None)


def _several(names: Any) -> tuple[Any, ...] | None:
    if names is None:
        return None
    return (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)


RECOGNIZED = ColumnNames()
"""No name is given."""


def kind_of(columns: Sequence[Any], names: ColumnNames) -> str:
    """Return the content of an evaluation's table by its columns: "run", "qrels", "judged run" or "data".

    Scores without labels are a run. Labels of documents alone are qrels; with scores they are a run or qrels,
    depending on the other files. All other tables are data.
    """
    present = names.within(columns)
    # A name given by the user goes before the recognized ones.
    label, doc_id, score = (
        next((name for name in (getattr(present, key), *ROLES[key].recognized) if name in columns), None)
        for key in ("label", "doc_id", "score")
    )
    if score is not None and label is None:
        return "run"
    # Any column beyond these holds features, so the table is data.
    used = (label, doc_id, score, present.qid, *QUERY, *DOC, *SUBTOPICS, "rank", *(names.excluded or ()))
    if names.features is not None or label is None or doc_id is None or set(columns).difference(used):
        return "data"
    return "qrels" if score in (None, label) else "judged run"


class Roles(NamedTuple):
    """Roles of the columns of a table."""

    qid: Any
    label: Any | None
    doc_id: Any | None
    features: tuple[Any, ...]


def roles_of(columns: Sequence[Any], names: ColumnNames, what: str, call: str) -> Roles:
    """Return which columns hold queries, labels, documents and features; all others are features.

    Unused columns with a known name for queries or documents are not features, nor is an index of pandas.

    Parameters
    ----------
    columns : names of all columns
    names : ColumnNames
    what, call : str
        The owner of the columns, and the beginning of a call that names them, for messages.
    """
    qid = find(columns, "qid", names.qid, what, call)
    label = find(columns, "label", names.label, what, call, optional=not names.has_labels)
    doc_id = find(columns, "doc_id", names.doc_id, what, call, optional=True)
    if names.features is None:
        excluded = (find(columns, "excluded", name, what, call) for name in names.excluded or ())
        # A second column of queries or documents, such as names next to numbers, is not a feature.
        used = (qid, label, doc_id, *QUERY, *DOC, *excluded)
        features = tuple(name for name in columns if name not in used and not INDEX.fullmatch(str(name)))
    else:
        features = tuple(find(columns, "features", name, what, call) for name in names.features)
    for name in names.categorical or ():
        find(features, "categorical", name, what, call)
    return Roles(qid, label, doc_id, features)


def find(
    columns: Sequence[Any],
    key: str,
    asked: Hashable | None,
    what: str,
    call: str,
    *,
    candidates: tuple[str, ...] = (),
    optional: bool = False,
) -> Any:
    """Return the name of the requested column, or the first candidate that exists.

    Raises `InputError` if there is none, with all columns and the nearest one, or if two have the name.
    """
    wanted = (candidates or ROLES[key].recognized) if asked is None else (asked,)
    name = next((name for name in wanted if name in columns), None)
    if name is None:
        if optional and asked is None:
            return None
        if not columns:
            raise InputError(f"{what} has no columns; a table with a line of names is needed.")
        # A table with one column whose name contains another separator was written with that separator.
        if len(columns) == 1 and (other := next((mark for mark in ";\t|" if mark in str(columns[0])), "")):
            raise InputError(
                f"{what}: columns are separated by {other!r}; CSV needs ',' (and decimal points), TSV a tab. "
                "Write it again, e.g. frame.to_csv(path, index=False)."
            )
        near = "" if asked is None else nearest(asked, columns)
        raise InputError(
            f"{what}: there is no column {in_words(map(str, wanted), 'or')}; "
            f"{f'did you mean {near!r}? The' if near else 'the'} columns are {column_list(columns)}.",
            Advice("columns" if ROLES[key].is_list else "column", call=call, key=key),
        )
    # Frames of pandas, and files, may repeat a name.
    check_unique([other for other in columns if other == name], what)
    return name


def nearest(name: Any, known: Iterable[Any]) -> str:
    """Return the name most like another one, in any case of the letters; empty if none is like it."""
    names = {str(other).casefold(): str(other) for other in known}
    # 0.5 is the least similarity of a suggestion, on difflib's scale from 0 to 1.
    near = difflib.get_close_matches(str(name).casefold(), names, n=1, cutoff=0.5)
    return names[near[0]] if near else ""


def check_unique(names: Sequence[Any], what: str) -> None:
    """Raise `InputError` if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = first_repeated(names)
        raise InputError(
            f"{what}: {names.count(twice)} columns have the name {twice!r}; one is needed. Rename or leave "
            "out the others."
        )


def feature_names(names: Iterable[object] | None, n_features: int) -> tuple[str, ...] | None:
    """Return the names of features as text; `InputError` unless there is a unique one for each."""
    if names is None:
        return None
    try:
        texts = tuple(map(str, names))
    except NO_ITEMS:
        raise InputError(
            f"feature_names={short_text(names)}: a list with one name per column is needed. Leave it out to "
            "number them."
        ) from None
    if len(texts) != n_features:
        raise InputError(
            f"feature_names has {len(texts)} names for {n_features} columns of X; one per column is needed. "
            "Leave it out to number them."
        )
    check_names(texts, "feature_names")
    if len(set(texts)) < len(texts):
        twice = first_repeated(texts)
        first = texts.index(twice)
        raise InputError(
            f"feature_names: {twice!r} names columns {first} and {texts.index(twice, first + 1)}; each name "
            "may occur once. Rename one, or leave out feature_names to number them."
        )
    return texts


def check_names(names: Iterable[str], what: str) -> None:
    """Raise `InputError` for a name with half of a character, which no file and no terminal can hold."""
    for name in names:
        # Few names are not ASCII, so most are not searched letter by letter.
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise InputError(
                f"{what}: {short_text(name)} has half of a character (a lone surrogate). Rename it."
            )


def feature_label(column: int, names: Sequence[Any] | None = None) -> str:
    """Return a feature's label for messages: its name, or without names its number from 1."""
    return repr(names[column]) if names else f"feature {column + 1}"


def column_list(names: Iterable[Any], most: int = 20) -> str:
    """Return names, for example of columns, as text: the first ones and the count of the others."""
    texts = [str(name) or "''" for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def some_names(names: Iterable[object]) -> str:
    """Return up to three names as text for messages, and the number of the others."""
    texts = [repr(str(name)) for name in names]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
