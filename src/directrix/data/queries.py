"""Queries: features and labels of documents, grouped by query, in read-only arrays.

Arrays, frames, or rows of files go in. Out comes the container that all training, scoring and evaluation
take::

    queries = Queries.from_arrays(X, y, qid=qid)
    queries.features, queries.labels, queries.qptr
    queries.take([0, 1])
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from directrix.data.checks import (
    as_array,
    check_form,
    check_labels,
    check_length,
    check_positions,
    check_qptr,
    check_shape,
    frozen,
    weights_of,
)
from directrix.data.columns import ColumnNames
from directrix.data.columns import feature_names as feature_names_of
from directrix.data.frames import (
    Categories,
    arrays_of_queries,
    by_column,
    check_features,
    encoded,
    text_names,
)
from directrix.data.grouping import copied_rows, document_ids, rows_by_query, rows_of, run_starts
from directrix.data.missing import filled
from directrix.data.sparse import arrays_of
from directrix.data.stored import Flaw, blocks, flaws_of
from directrix.errors import Advice, InputError, amount, short_text
from directrix.parameters import whole
from directrix.types import Array, Float64Array, Int64Array, is_sparse

if TYPE_CHECKING:
    # pyright takes nothing else for a property of the protocol `Data`.
    cached_property = property
else:
    from functools import cached_property


@dataclass(frozen=True, eq=False)
class Queries:
    """Features and labels of the documents of many queries, grouped by query.

    Arrays are read-only. Build one with `from_arrays`, which checks everything, or with
    `directrix.read_letor`; the constructor itself checks boundaries and shapes, but not values.

    Parameters
    ----------
    features : float32 or float64 (n_docs, n_features), C-contiguous, or CSR array, or `StoredFeatures`
        Features of every document; all documents of a query are contiguous. Those of
        `directrix.data.open_parquet` stay in their file.
    labels : float64 (n_docs,)
        Relevance labels, >= 0, higher is better; with ``counts`` mean gains, of any sign.
    qptr : int64 (n_queries + 1,)
        Query ``q`` has the rows ``qptr[q] <= i < qptr[q + 1]``.
    query_ids : tuple of hashable, length n_queries
        Identifiers of the queries, in the order of ``qptr``.
    doc_ids : object array (n_docs,), or None
        Identifiers of the documents.
    feature_names : tuple of str, or None
        Names of the columns.
    rows : int64 (n_docs,)
        For each document, its row in the arrays that were passed in.
    categories : tuple, or None
        Names of the categories of each feature, whose positions are its values; None for a number.
    missing : {"error", "zero", "nan"}
        Treatment of missing values, which a ranker stores and applies to the data that it scores.
    counts : float64 (n_docs,), or None
        Number of impressions over which each label is the mean gain; None: labels are judgments. Only
        measures that add up gains can be trained for or evaluated on gains, see
        `directrix.clicks.training_data`.
    """

    features: Any
    labels: Float64Array
    qptr: Int64Array
    query_ids: tuple[Hashable, ...]
    doc_ids: Array | None
    feature_names: tuple[str, ...] | None
    rows: Int64Array
    categories: Categories | None = None
    missing: str = "error"
    counts: Float64Array | None = None

    def __post_init__(self) -> None:
        n_docs, n_features = check_form(self.features)
        object.__setattr__(self, "qptr", check_qptr(self.qptr, n_docs, "rows of features"))
        for name in ("labels", "qptr", "doc_ids", "rows", "counts"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))
        object.__setattr__(self, "features", frozen_features(self.features))
        shapes = dict.fromkeys(("labels", "rows", "doc_ids", "counts"), n_docs)
        shapes["query_ids"] = self.n_queries
        for name, n in (shapes | dict.fromkeys(("feature_names", "categories"), n_features)).items():
            check_shape(getattr(self, name), n, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied object, read-only again: NumPy forgets that flag."""
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __repr__(self) -> str:
        form = f"{self.features.dtype} {getattr(self.features, 'format', '').upper()}".strip()
        form += " in a file" if self.held == "file" else ""
        if self.n_docs == 0:
            return f"{type(self).__name__}(empty, {self.n_features} features {form})"
        sizes = np.diff(self.qptr)
        docs = f"{amount(self.n_docs, 'documents')} ({sizes.min()} to {sizes.max()} per query)"
        kind = "labels" if self.counts is None else "gains"
        labels = f"{kind} {self.labels.min():g} to {self.labels.max():g}"
        size = f"{amount(self.n_queries, 'queries')}, {docs}, {amount(self.n_features, 'features')} {form}"
        return f"{type(self).__name__}({size}, {labels})"

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.qptr[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qptr) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def held(self) -> Literal["memory", "file"]:
        """Location of the features, see `directrix.types.Data`."""
        return getattr(self.features, "held", "memory")

    @cached_property
    def label_counts(self) -> dict[float, int]:
        """Number of documents with each label."""
        values, counts = np.unique(self.labels, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    @cached_property
    def n_ordered(self) -> int:
        """Number of queries with documents of different labels; without any, nothing can be learned."""
        # `reduceat` would give a query without documents the label of the next one.
        first = self.qptr[:-1][np.diff(self.qptr) > 0]
        lowest, highest = (extreme.reduceat(self.labels, first) for extreme in (np.minimum, np.maximum))
        return int((lowest < highest).sum())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of features, labels and boundaries; the same data give the same text."""
        state = hashlib.sha256()
        counts = () if self.counts is None else (self.counts,)
        for values in (*arrays_of(self.features), self.labels, self.qptr, *counts):
            # The type and the shape separate arrays whose bytes are the same.
            state.update(str((values.dtype.str, values.shape)).encode())
            for _, rows in blocks(values, self.qptr):
                state.update(np.ascontiguousarray(rows).data)
        return f"sha256:{state.hexdigest()}"

    @cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        """Features that are not finite."""
        return flaws_of(self.features, self.qptr, self.rows)

    def judged(self) -> Queries:
        """Return labels and queries in memory, for measures: this object."""
        return self

    def scores(self, ranker: Any) -> Float64Array:
        """Return the score of every document by a fitted ranker of any kind."""
        scores: Float64Array = ranker.predict_queries(self)
        return scores

    def scaled(self, scale: Any) -> Queries:
        """Return the same queries with scaled features; a union of scales has more columns than names."""
        if self.held == "file":
            # Features in a file are scaled each time they are read.
            features = self.features.scaled(scale.apply, self.qptr, scale.n_columns)
        else:
            features = scale.apply(self.features, self.qptr)
        return replace(self, features=features, feature_names=None)

    @classmethod
    def from_arrays(  # noqa: PLR0913 - all but the first two are optional and by name
        cls,
        X: Any,
        y: Any,
        *,
        qid: Iterable[Hashable] | None = None,
        group: Any = None,
        doc_ids: Iterable[object] | None = None,
        feature_names: Iterable[str] | None = None,
        missing: Literal["error", "zero", "nan"] = "error",
        counts: Any = None,
    ) -> Queries:
        """Check arrays, group their rows by query, stably, and freeze the result.

        Parameters
        ----------
        X : array, frame, dict of columns or sparse matrix (n_docs, n_features)
            Features, not infinite. float32 and float64 are kept, and other numbers become float64;
            frames (pandas, polars, pyarrow) and dicts give `feature_names` too.
        y : array (n_docs,)
            Labels, finite and >= 0; with ``counts`` gains, finite.
        qid : hashables, length n_docs, or None
            Query of every row, in any order and of any hashable type; ``numpy.zeros(len(y))`` for rows of
            a single query.
        group : integers, or None
            Number of rows of each query, in order; queries are numbered 0, 1, ... . Either ``qid`` or
            ``group`` is needed.
        doc_ids : sequence, length n_docs, or None
            Identifiers of rows.
        feature_names : sequence of str, length n_features, or None
            Unique names of columns.
        missing : {"error", "zero", "nan"}
            Meaning of NaN in X. "nan" keeps it, for trees and for models with a scale that fills it.
        counts : array (n_docs,), or None
            Numbers of impressions >= 0 over which each label is the mean gain.

        Raises
        ------
        InputError
            If anything has the wrong type, length or value; the message names the row.

        Notes
        -----
        Rows that are already grouped are not copied: do not change the arrays afterwards.

        Examples
        --------
        >>> from directrix import Queries
        >>> q = Queries.from_arrays([[0.1], [0.2], [0.3]], [1, 0, 2], qid=["b", "a", "b"])
        >>> q.query_ids, q.qptr, q.labels
        (('b', 'a'), array([0, 2, 3]), array([1., 2., 0.]))
        """
        # Names are read first, because encoding turns a frame with categories into a dict.
        names = text_names(X) or None if feature_names is None else feature_names
        X, by_name = encoded(X)
        categories = by_column(by_name, list(X)) if by_name else None
        features = check_features(X, missing)
        n_docs = int(features.shape[0])
        labels = check_labels(y, signed=counts is not None)
        check_length(len(labels), n_docs, "y (labels)")
        if counts is not None:
            counts = weights_of(counts, n_docs, "counts", "document")
        rows, qptr, query_ids = rows_by_query(qid, group, n_docs)
        docs = None if doc_ids is None else document_ids(doc_ids, n_docs)
        # Rows that are grouped already are not copied.
        if not np.array_equal(rows, np.arange(n_docs)):
            features, labels = features[rows], labels[rows]
            docs, counts = (None if values is None else values[rows] for values in (docs, counts))
        columns = feature_names_of(names, int(features.shape[1]))
        return filled(
            cls(features, labels, qptr, query_ids, docs, columns, rows, categories, missing, counts)
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        qid: Hashable | None = None,
        label: Hashable | None = None,
        doc_id: Hashable | None = None,
        features: Hashable | Iterable[Hashable] | None = None,
        categorical: Hashable | Iterable[Hashable] | None = None,
        missing: Literal["error", "zero", "nan"] = "error",
    ) -> Queries:
        """Build queries from a frame with one row per document, in any order.

        Parameters
        ----------
        frame : frame, or dict of columns
            pandas, polars (also lazy), pyarrow, or any other that narwhals supports.
        qid, label, doc_id : str or int, optional
            Names of columns of queries, labels and documents, if any. Default: the first of qid, query_id,
            q_id, query-id, topic, query; of label, relevance, rel, grade; of docno, doc_id, docid, corpus-id,
            document, doc.
        features : names, optional
            Columns of features, or one column of lists. Default: the column of lists ``features``, as in
            PyTerrier, or all columns that have no other use and none of the names above for queries and
            documents.
        categorical : names, optional
            Features of text or numbers that are categories; columns of a categorical type always are.
        missing : {"error", "zero", "nan"}
            As in `from_arrays`.

        Raises
        ------
        InputError
            If a column is missing (the message has the nearest name) or holds no numbers, or as in
            `from_arrays`.

        Examples
        --------
        >>> from directrix import Queries
        >>> q = Queries.from_frame({"qid": [7, 7], "grade": [0, 1], "bm25": [0.5, 2.0]})
        >>> q.labels, q.feature_names
        (array([0., 1.]), ('bm25',))
        """
        return of_frame(frame, ColumnNames.of(qid, label, doc_id, features, categorical), missing)

    def take(self, queries: Any) -> Queries:
        """Return the given queries (positions, in the order given) as new `Queries`.

        Parameters
        ----------
        queries : integers
            Positions, 0 to ``n_queries - 1``; repetitions are allowed.

        Raises
        ------
        InputError
            If a position is not an integer or out of range.
        """
        chosen = check_positions(queries, self.n_queries)
        sizes = np.diff(self.qptr)[chosen]
        index = rows_of(self.qptr[:-1][chosen], sizes)
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return replace(
            self,
            features=copied_rows(self.features, self.qptr[chosen], qptr),
            labels=self.labels[index],
            qptr=qptr,
            query_ids=tuple(self.query_ids[q] for q in chosen),
            doc_ids=None if self.doc_ids is None else self.doc_ids[index],
            counts=None if self.counts is None else self.counts[index],
            rows=np.arange(len(index)),
        )

    def widened(self, n_features: int) -> Queries:
        """Return the same rows with added columns of zeros, because a sparse file may omit the last ones.

        Parameters
        ----------
        n_features : int
            Number of columns; if it does not change, the same object is returned.

        Raises
        ------
        InputError
            If there are more columns already, they have names, or the features stay in a file.
        """
        more = whole(n_features, "n_features", "widened", least=0) - self.n_features
        if more == 0:
            return self
        named = "" if self.feature_names is None else " with names"
        has = f"the data have {self.n_features} features{named} and {n_features} are needed"
        if more < 0:
            raise InputError(f"{has}; columns can only be added. Give the files of one data set.")
        if self.feature_names is not None:
            raise InputError(
                f"{has}; columns that are missing have no names.",
                Advice("by-position"),
            )
        if self.held == "file":
            raise InputError(
                f"{has}; features that stay in a file get no further columns.",
                Advice("in-memory"),
            )
        # Further columns without entries cost nothing in CSR.
        if is_sparse(self.features):
            features = type(self.features)(arrays_of(self.features), shape=(self.n_docs, n_features))
        else:
            features = np.pad(self.features, ((0, 0), (0, more)))
        return replace(self, features=features)

    def restore(self, per_doc: Array) -> Array:
        """Return values of documents, in the order of these queries, in the order of the input rows.

        Parameters
        ----------
        per_doc : array (n_docs, ...)
            One value, or one row of values, per document.
        """
        per_doc = np.atleast_1d(as_array(per_doc, "per_doc"))
        check_length(len(per_doc), self.n_docs, "per_doc", "documents")
        out = np.empty_like(per_doc)
        out[self.rows] = per_doc
        return out


def of_frame(frame: Any, names: ColumnNames, missing: Any) -> Queries:
    """Return a frame with columns of these names as queries; see `Queries.from_frame`."""
    arrays = arrays_of_queries(frame, names)
    categories = arrays.pop("categories")
    q = Queries.from_arrays(**arrays, missing="nan" if missing == "zero" else missing)
    return filled(replace(q, categories=categories, missing=missing))


def need_queries(value: Any, where: str) -> None:
    """Raise `InputError` unless this is `Queries`; ``where`` is the function that received it."""
    if not isinstance(value, Queries):
        raise InputError(
            f"{where} got {short_text(value)}, a {type(value).__name__}; Queries are needed. Type "
            "directrix.Queries.from_arrays(X, y, qid=qid), or directrix.read_letor(path)."
        )


def need_data(value: Any, where: str) -> None:
    """Raise `InputError` unless this implements `directrix.types.Data`."""
    if not hasattr(value, "held"):
        need_queries(value, where)


def frozen_features(features: Any) -> Any:
    """Return read-only features: an array or CSR; those of a file are unchanged."""
    if hasattr(features, "held") or hasattr(features, "absent"):
        return features
    arrays = [frozen(values, "features") for values in arrays_of(features)]
    if len(arrays) == 1:
        return arrays[0]
    # SciPy's constructor would copy the arrays that it is given, so they are assigned.
    out = type(features)(features.shape, dtype=features.dtype)
    out.data, out.indices, out.indptr = arrays
    return out


def rows_as_queries(
    first: int,
    features: Array,
    labels: Float64Array,
    qids: Array,
    doc_ids: Array | None,
    names: tuple[str, ...] | None = None,
    categories: Categories | None = None,
) -> Queries:
    """Return checked rows that follow ``first`` others in the file; the last query may continue later."""
    starts, n_docs = run_starts(qids), len(labels)
    ids = tuple(qids[starts].tolist())
    qptr, rows = np.append(starts, n_docs), np.arange(first, first + n_docs)
    return Queries(features, labels, qptr, ids, doc_ids, names, rows, categories)


def take_columns(q: Queries, columns: Sequence[int]) -> Queries:
    """Return queries with some columns of the features, in this order; the same object for all of them.

    The features are stored as they were, because another layout of rows or columns gives other bits.
    """
    if (*columns,) == tuple(range(q.n_features)):
        return q
    if q.held == "file":
        raise InputError(
            f"{q.features.source.name}: columns of features that stay in a file cannot be moved or left out; "
            "rewrite the file with the columns of the training data, or read it into memory.",
            Advice("in-memory"),
        )
    features = q.features[:, list(columns)]
    if isinstance(features, np.ndarray):
        features = np.ascontiguousarray(features)
    else:
        features.sort_indices()
    names = q.feature_names and tuple(q.feature_names[column] for column in columns)
    categories = q.categories and tuple(q.categories[column] for column in columns)
    return replace(
        q,
        features=features,
        feature_names=names,
        categories=categories if any(categories or ()) else None,
    )
