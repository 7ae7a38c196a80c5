"""`ShardedQueries`: training data in shards, which receive requests and are never read whole.

A folder of shards goes in. Out comes an object with the facts of its manifest. Everything else is a request
to the shards, which the processes of a cluster answer where the files are::

    data = open_shards("shards")
    data.n_docs, data.label_counts
    data.scores(ranker)
"""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from directrix.data.file import table_files
from directrix.data.files import path_of
from directrix.data.queries import Queries
from directrix.data.shards.manifest import Manifest, read_manifest
from directrix.data.shards.task import OpenShard, Question, Task, current_driver
from directrix.data.statistics import Moments, moments_of
from directrix.data.stored import Flaw
from directrix.data.tables.read import open_parquet
from directrix.errors import Advice, InputError
from directrix.types import Array, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class ShardedFeatures:
    """The features of shards: their form, and their scaling when they are read."""

    folder: Path
    manifest: Manifest
    scale: Any = None
    n_columns: int = 1
    """Columns for each feature of the files after the scale."""

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and of features."""
        return self.manifest.n_docs, self.manifest.n_features * self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return np.dtype(self.manifest.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self.refusal("this")

    def refusal(self, what: str) -> InputError:
        """Return the error for work that needs all features in one place."""
        return InputError(
            f"{self.folder}: its features are in shards, and {what} needs them in one place. LinearRanker, "
            "MLPRanker and BoostedRanker are trained where the shards are.",
            Advice("one-table"),
        )

    def ask(self, question: Question) -> Any:
        """Return the merged result of all shards."""
        manifest = self.manifest
        task = Task(os.fspath(self.folder), manifest.shards, manifest.form, manifest.present, question)
        return current_driver().ask(task)

    def moments(self, kind: str) -> Moments:
        """Return the moments of all documents from the manifest, or for "log" by a pass over the shards."""
        moments: Moments = self.ask(_MomentsOf(kind)) if kind == "log" else self.manifest.moments
        return moments

    def rows(self, documents: Int64Array) -> Array:
        """Return the features of some documents, ascending numbers over all shards, in memory."""
        # Documents are numbered in the order of the shards.
        rows: list[Array] = self.ask(_RowsOf(documents, self.manifest.starts))
        return np.concatenate(rows)


@dataclass(frozen=True, eq=False)
class ShardedQueries:
    """Documents of many queries in shards; made by `open_shards`.

    It knows the content of the manifest; for anything else it sends requests to the shards through the
    current `directrix.cluster`.
    """

    features: ShardedFeatures
    feature_names: tuple[str, ...] | None

    held: ClassVar[Literal["shards"]] = "shards"
    categories = None  # shards hold numbers

    def __repr__(self) -> str:
        manifest = self.manifest
        return (
            f"ShardedQueries({manifest.n_queries:,} queries, {manifest.n_docs:,} documents, "
            f"{self.n_features:,} features {manifest.dtype}, {len(manifest.shards):,} shards)"
        )

    @property
    def manifest(self) -> Manifest:
        """The description of the shards."""
        return self.features.manifest

    @property
    def missing(self) -> str:
        """How missing values were read when the shards were written."""
        return self.manifest.missing

    @property
    def labels(self) -> NoReturn:
        """Reject: labels are in the shards, and trainers that use them need all of them."""
        raise self.features.refusal("this trainer")

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self.manifest.n_docs

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.manifest.n_queries

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.shape[1]

    def scaled(self, scale: Any) -> ShardedQueries:
        """Return the same queries, scaled where they are read; a union has more columns than names."""
        features = replace(self.features, scale=scale, n_columns=scale.n_columns)
        return replace(self, features=features, feature_names=None)

    def scores(self, ranker: Any) -> Float64Array:
        """Return the score of every document, in the order of the shards, by a fitted ranker of any kind.

        The ranker is sent to the shards, and the features of one shard at a time are in memory. Raises
        `InputError` as ``predict_queries`` does.
        """
        scores: Float64Array = np.concatenate(self.features.ask(_ScoresBy(ranker, self.missing)))
        return scores

    def judged(self) -> Queries:
        """Return labels and queries in memory; the features stay in the files.

        Raises `InputError` if the files differ from those of the manifest, or a query is in two shards.
        """
        folder = self.features.folder
        # Another file in the folder would be read as further rows.
        files = {shard.file for shard in self.manifest.shards if shard.file}
        if others := sorted(path.name for path in table_files(folder) if path.name not in files):
            raise InputError(
                f"{folder} has the file {others[0]}, which its manifest does not list; a folder of shards "
                "holds nothing else. Move it, or write the shards again."
            )
        q = open_parquet(folder)
        if (q.n_docs, q.n_queries) != (self.n_docs, self.n_queries):
            raise InputError(
                f"{folder} has {q.n_docs:,} documents in {q.n_queries:,} queries, not {self.n_docs:,} in "
                f"{self.n_queries:,} as its manifest says. Write the shards again."
            )
        return replace(q, missing=self.missing)

    def verify(self) -> None:
        """Compare files with their SHA-256 in the manifest; `InputError` for the first that differs."""
        self.features.ask(_Verification())

    @property
    def digest(self) -> str:
        """SHA-256 of the digests of the files."""
        return self.manifest.digest

    @property
    def n_ordered(self) -> int:
        """Number of queries with documents of different labels."""
        return self.manifest.n_ordered

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """Missing features; ``column`` is the one with most missing values."""
        # Infinite features were rejected when the shards were written.
        gaps = self.manifest.gaps
        return (Flaw(math.nan, int(gaps.sum()), "a row", int(gaps.argmax())),) if gaps.any() else ()

    @cached_property
    def label_counts(self) -> dict[float, int]:
        """Number of documents with each label; `InputError` if the manifest differs from the shards."""
        # Labels in the manifest decide how a model is trained, so they are compared with the files once.
        counted = self.features.ask(_LabelsOf())
        if counted != self.manifest.labels:
            stated, of_shards = (
                ", ".join(f"{label:g} ({count:,})" for label, count in sorted(labels.items())[:5])
                for labels in (self.manifest.labels, counted)
            )
            raise InputError(
                f"{self.features.folder}: the manifest states the labels {stated}, and the shards have "
                f"{of_shards}. Write the shards again."
            )
        return self.manifest.labels


def open_shards(folder: str | os.PathLike[str] | ShardedQueries) -> ShardedQueries:
    """Open a folder of shards, as `directrix.write_shards` makes it; only the manifest is read.

    Parameters
    ----------
    folder : path
        All workers need it at the same path.

    Raises
    ------
    InputError
        If it has no manifest, or a damaged one. Files are checked when they are first read.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> folder = dx.write_shards(q, pathlib.Path(tempfile.mkdtemp(), "shards"), n_shards=4)
    >>> dx.data.open_shards(folder)
    ShardedQueries(20 queries, 200 documents, 4 features float64, 4 shards)
    """
    if isinstance(folder, ShardedQueries):
        return folder
    path = path_of(folder).absolute()
    manifest = read_manifest(path)
    return ShardedQueries(ShardedFeatures(path, manifest), manifest.feature_names)


@dataclass(frozen=True)
class _MomentsOf(Question):
    kind: str

    def answer(self, shard: OpenShard) -> Moments:
        q = shard.stored
        return moments_of(self.kind, q.n_features, (rows for _, rows in q.features.blocks(q.qptr)))

    def merge(self, left: Moments, right: Moments) -> Moments:
        return left.combine(right)


@dataclass(frozen=True, eq=False)
class _RowsOf(Question):
    documents: Int64Array
    starts: tuple[int, ...]

    def answer(self, shard: OpenShard) -> list[Array]:
        first, last = self.starts[shard.number : shard.number + 2]
        low, high = np.searchsorted(self.documents, [first, last])
        return [shard.stored.features.rows(self.documents[low:high] - first)]


@dataclass(frozen=True, eq=False)
class _ScoresBy(Question):
    ranker: Any
    missing: str

    def answer(self, shard: OpenShard) -> list[Float64Array]:
        q = replace(shard.queries(in_memory=True), missing=self.missing)
        return [self.ranker.predict_queries(q)]


@dataclass(frozen=True)
class _LabelsOf(Question):
    def answer(self, shard: OpenShard) -> Counter[float]:
        return Counter(shard.stored.label_counts)


@dataclass(frozen=True)
class _Verification(Question):
    def answer(self, shard: OpenShard) -> int:
        shard.check_file()
        return 1
