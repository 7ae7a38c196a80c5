"""Columns of tables: their names in other tools, and those given by the user."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from directrix.errors import NO_ITEMS, Advice, InputError, first_repeated, in_words, short_text

QUERY = ("qid", "query_id", "q_id", "query-id", "topic", "query")
DOC = ("docno", "doc_id", "docid", "corpus-id", "document", "doc")
SCORES = ("score", "sim")
LABELS = ("label", "relevance", "rel", "grade")
SUBTOPICS = ("subtopic", "subtopic_id", "iteration", "iter")
KNOWN: dict[str, tuple[str, ...]] = {
    **{"qid": QUERY, "doc_id": DOC, "score": SCORES, "label": LABELS},
    "subtopic": SUBTOPICS,
    **{"query": QUERY, "doc": DOC, "session": ("session", "session_id", "search_id", "serp_id")},
    **{"position": ("position", "rank", "pos"), "clicked": ("clicked", "click", "clicks", "is_click")},
    **{"impressions": ("impressions", "n_impressions", "views"), "user": ("user", "user_id")},
    **{"ranker": ("ranker", "system", "variant"), "time": ("time", "timestamp")},
    **{"item": ("item", "item_id", "product_id"), "event": ("event", "event_type", "action")},
    **{"propensity": ("propensity",), "examination": ("examination",)},
}
"""Names in PyTerrier, ir_datasets, ir_measures, ranx, BEIR and click logs, in the order of search."""

INDEX = re.compile(r"(__index_level_\d+__|Unnamed: \d+)?")
"""Names of a column in which pandas stores its index: in Parquet, and in CSV, where reading it names it."""

OPTIONS = {
    "qid": "--qid-column",
    "label": "--label-column",
    "doc_id": "--doc-id-column",
    "features": "--feature-columns",
    "categorical": "--categorical-columns",
    "excluded": "--exclude-columns",
    "score": "--score-column",
}
"""How a column is named in a shell."""

_SEVERAL = ("features", "categorical", "excluded")


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns given by the user; None: the first of `KNOWN` that exists, and all other columns."""

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

    def within(self, known: Sequence[Any]) -> ColumnNames:
        """Return the names that a table has, because a command names the columns of all its tables."""
        absent: dict[str, Any] = {
            key: None for key in OPTIONS if key not in _SEVERAL and getattr(self, key) not in known
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


def kind_of(known: Sequence[Any], names: ColumnNames) -> str:
    """Return the content of an evaluation's table by its columns: "run", "qrels", "judged run" or "data".

    Scores without labels are a run. Labels of documents alone are qrels; with scores they are a run or qrels,
    depending on the other files. All other tables are data.
    """
    of = names.within(known)
    label, doc_id, score = (
        next((name for name in (getattr(of, key), *KNOWN[key]) if name in known), None)
        for key in ("label", "doc_id", "score")
    )
    if score is not None and label is None:
        return "run"
    used = (label, doc_id, score, of.qid, *QUERY, *DOC, *SUBTOPICS, "rank", *(names.excluded or ()))
    if names.features is not None or label is None or doc_id is None or set(known).difference(used):
        return "data"
    return "qrels" if score in (None, label) else "judged run"


class Roles(NamedTuple):
    """Roles of the columns of a table."""

    qid: Any
    label: Any | None
    doc_id: Any | None
    features: tuple[Any, ...]


def roles_of(known: Sequence[Any], names: ColumnNames, what: str, call: str) -> Roles:
    """Return which columns hold queries, labels, documents and features; all others are features.

    Unused columns with a known name for queries or documents are not features, nor is an index of pandas.

    Parameters
    ----------
    known : names of all columns
    names : ColumnNames
    what, call : str
        The owner of the columns, and the beginning of a call that names them, for messages.
    """
    qid = find(known, "qid", names.qid, what, call)
    label = find(known, "label", names.label, what, call, optional=not names.has_labels)
    doc_id = find(known, "doc_id", names.doc_id, what, call, optional=True)
    if names.features is None:
        excluded = (find(known, "excluded", name, what, call) for name in names.excluded or ())
        used = (qid, label, doc_id, *QUERY, *DOC, *excluded)
        features = tuple(name for name in known if name not in used and not INDEX.fullmatch(str(name)))
    else:
        features = tuple(find(known, "features", name, what, call) for name in names.features)
    for name in names.categorical or ():
        find(features, "categorical", name, what, call)
    return Roles(qid, label, doc_id, features)


def find(
    known: Sequence[Any],
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
    wanted = (candidates or KNOWN[key]) if asked is None else (asked,)
    name = next((name for name in wanted if name in known), None)
    if name is None:
        if optional and asked is None:
            return None
        if not known:
            raise InputError(f"{what} has no columns; a table with a line of names is needed.")
        if len(known) == 1 and (other := next((mark for mark in ";\t|" if mark in str(known[0])), "")):
            raise InputError(
                f"{what}: columns are separated by {other!r}; CSV needs ',' (and decimal points), TSV a tab. "
                "Write it again, e.g. frame.to_csv(path, index=False)."
            )
        near = difflib.get_close_matches(str(asked), list(map(str, known)), n=1, cutoff=0.5)
        raise InputError(
            f"{what}: there is no column {in_words(map(str, wanted), 'or')}; "
            f"{f'did you mean {near[0]!r}? The' if asked is not None and near else 'the'} columns are "
            f"{column_list(known)}.",
            Advice("columns" if key in _SEVERAL else "column", call=call, key=key),
        )
    if (times := list(known).count(name)) > 1:
        raise InputError(
            f"{what}: {times} columns have the name {name!r}; one is needed. Rename or leave out the others."
        )
    return name


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
