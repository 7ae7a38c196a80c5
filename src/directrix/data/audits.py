"""Facts to check before training: the audit behind the doctor of the command line.

Some data go in by name, such as those for training and for the test. Facts of each and of each pair come
out, and notes on those that deserve attention::

    audit({"train": train, "test": test}).remarks()
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from directrix.data.checks import repeated_documents
from directrix.data.columns import column_list
from directrix.data.grouping import run_starts
from directrix.data.matching import match_data
from directrix.data.queries import Queries, need_queries, take_columns
from directrix.data.sparse import column_reader, dense
from directrix.errors import Advice, InputError, amount
from directrix.types import Array

# Rows are hashed in blocks of this number, so that copies of their features stay small.
_ROWS = 8192
# The notes show at most this number of shared query identifiers.
_SHOWN = 5
# By chance, a feature has the order of 20 pairs of labels once in half a million times.
_STEPS = 20


@dataclass(frozen=True)
class FileAudit:
    """Facts of one file; features are named, or counted from 1 if they have no names."""

    name: str
    n_docs: int
    n_queries: int
    n_features: int
    difference: str
    """How the features differ from those of the first file; empty if they do not."""
    docs_per_query: tuple[int, float, int]
    """Smallest, mean, largest."""
    labels: dict[str, int]
    """Number of documents with each label."""
    queries_without_relevant: int
    """Queries whose labels are all 0: most measures cannot distinguish rankings of them."""
    queries_all_relevant: int
    """Queries whose labels are all 1 or more: AP and some other measures are 1 for any ranking of them."""
    queries_with_one_label: int
    """Queries whose labels are all the same: nothing can be learned from them."""
    constant_features: tuple[int | str, ...]
    """Features with one value in all documents, or missing in all."""
    duplicate_features: tuple[tuple[int | str, int | str], ...]
    """(feature, earlier feature with the same values), except constant ones."""
    perfect_features: tuple[int | str, ...]
    """Features that order the documents of every query by their labels, in at least `_STEPS` steps."""
    missing_values: int
    duplicate_rows: int
    """Rows with the same features as an earlier row of their query."""
    repeated_documents: int
    """Rows with the same document as an earlier row of their query."""


@dataclass(frozen=True)
class Overlap:
    """Queries and rows that two files share."""

    first: str
    second: str
    queries: int
    """Query identifiers in both."""
    query_examples: tuple[str, ...]
    rows: int
    """Rows of the second file whose features occur in the first."""


@dataclass(frozen=True)
class Audit:
    """Facts of some files, and of each pair of them."""

    files: tuple[FileAudit, ...]
    overlaps: tuple[Overlap, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts, and the `remarks`, in JSON types."""
        # A round trip through JSON turns tuples into lists.
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {**content, "remarks": self.remarks()}

    def remarks(self) -> list[str]:
        """Return notes on what deserves attention, the most important first."""
        out = []
        for pair in self.overlaps:
            if pair.queries:
                some = ", ".join(pair.query_examples)
                out.append(
                    f"{pair.first} and {pair.second} share {pair.queries} query identifiers ({some}): if "
                    "they are the same queries, neither file is a test of a model trained on the other."
                )
            if pair.rows:
                out.append(
                    f"{pair.rows} rows of {pair.second} have the same features as a row of {pair.first}."
                )
        for file in self.files:
            out += _remarks(file)
        return out


def audit(files: Mapping[str, Queries]) -> Audit:
    """Collect facts about files of queries.

    Parameters
    ----------
    files : mapping of str to Queries
        The data by name; the names are printed.

    Returns
    -------
    Audit
        Sizes, labels, constant and duplicate features and rows, missing values, and overlaps of each pair of
        files.

    Notes
    -----
    O(n_docs n_features) time; rows and columns are compared in blocks by 64-bit hashes of their values, so
    the features are not copied.

    Examples
    --------
    >>> import directrix as dx
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> dx.data.audit({"train": q, "test": q.take([0, 1])}).remarks()
    ['train and test share 2 query identifiers (0, 1): ...', '20 rows of test have the same features ...']
    """
    facts, hashes = [], {}
    if not isinstance(files, Mapping):
        raise InputError(f"audit got a {type(files).__name__}; type audit({{'train': q}}), names to Queries.")
    original = next(iter(files.items()), None)
    for name, q in files.items():
        need_queries(q, "audit")
        difference = ""
        if original is not None and q is not original[1]:
            match = match_data(q, original[1])
            if match.lacking or match.surplus:
                difference = match.problem(name, original[0])
            else:
                # Rows of two files are compared by hashes, which depend on the order of the columns.
                q = take_columns(q, match.columns)
        fact, hashes[name] = _look(name, q, difference)
        facts.append(fact)
    overlaps = []
    for (first, a), (second, b) in combinations(files.items(), 2):
        first_ids = frozenset(a.query_ids)
        shared = [str(qid) for qid in b.query_ids if qid in first_ids]
        rows = 0
        if a.n_features == b.n_features:
            # The method is "sort" because the other, a table, overflows in NumPy 2.0 where hashes are
            # close.
            rows = int(np.isin(hashes[second], hashes[first], kind="sort").sum())
        overlaps.append(Overlap(first, second, len(shared), tuple(shared[:_SHOWN]), rows))
    return Audit(tuple(facts), tuple(overlaps))


def _look(name: str, q: Queries, difference: str) -> tuple[FileAudit, Array]:
    sizes = np.diff(q.qptr)
    docs_per_query = (int(sizes.min()), float(sizes.mean()), int(sizes.max())) if len(sizes) else (0, 0.0, 0)
    highest = np.maximum.reduceat(q.labels, q.qptr[:-1]) if q.n_queries else np.empty(0)
    lowest = np.minimum.reduceat(q.labels, q.qptr[:-1]) if q.n_queries else np.empty(0)
    rows, columns, low, high, missing = _hashes(q)
    # If some values are missing and the others equal, absence may still distinguish documents.
    is_constant = np.where(missing > 0, missing == q.n_docs, low == high)
    # The first column with each hash is the original, and later ones are its duplicates.
    first_with: dict[int, int] = {}
    varying = [column for column in range(q.n_features) if not is_constant[column]]
    firsts = [first_with.setdefault(int(columns[column]), column) for column in varying]
    duplicates = [(a, b) for a, b in zip(varying, firsts, strict=True) if a != b]
    named = q.feature_names or range(1, q.n_features + 1)
    in_query = _mix(rows, np.repeat(np.arange(q.n_queries), sizes))
    fact = FileAudit(
        name=name,
        n_docs=q.n_docs,
        n_queries=q.n_queries,
        n_features=q.n_features,
        difference=difference,
        docs_per_query=docs_per_query,
        labels={f"{value:g}": count for value, count in q.label_counts.items()},
        queries_without_relevant=int((highest == 0).sum()),
        queries_all_relevant=int((lowest >= 1).sum()),
        queries_with_one_label=int((highest == lowest).sum()),
        constant_features=tuple(named[column] for column in np.flatnonzero(is_constant)),
        duplicate_features=tuple((named[a], named[b]) for a, b in duplicates),
        perfect_features=tuple(named[column] for column in _perfect(q, varying)),
        missing_values=int(missing.sum()),
        duplicate_rows=len(rows) - len(np.unique(in_query)) if q.n_features else 0,
        repeated_documents=sum(1 for _ in repeated_documents(q)),
    )
    return fact, rows


def _perfect(q: Queries, columns: Sequence[int]) -> list[int]:
    """Return the columns whose values rise, or fall, with every step of the label within every query."""
    query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    grades, grade = np.unique(q.labels, return_inverse=True)
    # A level is a query and a grade, so rows sorted by it form runs of one label within one query.
    level = query * len(grades) + grade
    order = np.argsort(level, kind="stable")
    starts = run_starts(level[order])
    # A step leads from one level to the next one of the same query.
    steps = np.flatnonzero(np.diff(query[order][starts]) == 0)
    if len(steps) < _STEPS:
        return []
    read, perfect = column_reader(q.features), []
    for column in columns:
        values = read(column)[order]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        if (high[steps] < low[steps + 1]).all() or (low[steps] > high[steps + 1]).all():
            perfect.append(column)
    return perfect


def _hashes(q: Queries) -> tuple[Array, Array, Array, Array, Array]:
    """Hash of every row and column; smallest and largest value and number of NaN of every column."""
    rows = np.zeros(q.n_docs, dtype=np.uint64)
    columns = np.zeros(q.n_features, dtype=np.uint64)
    low, high = np.full(q.n_features, np.inf), np.full(q.n_features, -np.inf)
    missing = np.zeros(q.n_features, dtype=np.int64)
    numbers = np.arange(q.n_features)
    for first in range(0, q.n_docs, _ROWS):
        block = dense(q.features[first : first + _ROWS])
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        missing += np.isnan(block).sum(axis=0)
        # Adding 0.0 makes -0.0 the same as 0.0.
        bits = (block.astype(np.float64) + 0.0).view(np.uint64)
        # Sums of mixed hashes depend on the place of each value but not on the order of summation, so
        # blocks can be added.
        rows[first : first + len(block)] = _mix(bits, numbers[None, :]).sum(axis=1, dtype=np.uint64)
        columns += _mix(bits, np.arange(first, first + len(block))[:, None]).sum(axis=0, dtype=np.uint64)
    return rows, columns, low, high, missing


def _mix(bits: Array, place: Array) -> Array:
    """64-bit hash of values at places (the finalizer of SplitMix64)."""
    x = bits + (place.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = x ^ (x >> np.uint64(31))
    return mixed


def _remarks(file: FileAudit) -> list[str]:
    out: list[str] = [file.difference] if file.difference else []
    if file.missing_values:
        out.append(Advice("doctor-missing", file=f"{file.name}: {file.missing_values} values are missing."))
    if file.queries_with_one_label == file.n_queries:
        out.append(f"{file.name}: in every query all labels are the same, so nothing can be learned from it.")
    elif file.queries_without_relevant:
        out.append(
            f"{file.name}: {file.queries_without_relevant} of {file.n_queries} queries have no relevant "
            "document; tools differ in how they count them (the convention's `empty`)."
        )
    if file.perfect_features:
        out.append(
            f"{file.name}: features in the order of the labels in every query: "
            f"{column_list(file.perfect_features, 10)}; leave out what is known only when the label is."
        )
    if file.queries_all_relevant and file.queries_with_one_label < file.n_queries:
        out.append(
            f"{file.name}: {file.queries_all_relevant} of {file.n_queries} queries have no irrelevant "
            "document; AP and other measures of binary labels are 1 for any ranking of them."
        )
    if file.repeated_documents:
        out.append(
            f"{file.name}: {amount(file.repeated_documents, 'rows')} with a document that an earlier row of "
            "the query has; training rejects them. Remove them, or name another column of documents."
        )
    if file.constant_features:
        out.append(f"{file.name}: constant features: {column_list(file.constant_features, 10)}.")
    if file.duplicate_features:
        pairs = column_list([f"{b} = {a}" for b, a in file.duplicate_features], 10)
        out.append(f"{file.name}: features with the same values: {pairs}.")
    if file.duplicate_rows:
        out.append(
            f"{file.name}: {file.duplicate_rows} rows repeat the features of an earlier row of their query."
        )
    return out
