"""Oblivious trees on shards: every shard counts its documents, and one split is chosen for all.

In: queries in shards, a loss and bins. Out: what `ObliviousTrees` needs to know of documents:

    thresholds of a sample -> a byte for every value, at its shard
    every tree:  largest gradient and curvature                       3 numbers of a shard
                 sums of the root, and of a child of every node       2 int64 for a feature, leaf and bin
                 sizes and sums of the leaves                         3 int64 for a leaf

Sums are of whole numbers, so trees have the bits of `BinnedDocuments` in memory, for any division of the
documents among shards, processes and threads. A shard keeps its state from one request to the next; a process
that has lost it, or takes over a shard, makes it again from the trees so far, which every request has.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.shards.queries import ShardedQueries
from directrix.data.shards.task import OpenShard, Question, check_code, current_driver
from directrix.data.stored import blocks
from directrix.fingerprint import fingerprint
from directrix.models.trees import Trees
from directrix.objectives.scores import DEAD, ScoreLoss, ScoreObjective
from directrix.trainers.bins import Bins, sample_rows
from directrix.trainers.oblivious import BinnedDocuments, Split, Tree
from directrix.types import Array, Float64Array

_NO_CUT = 255
"""A bin that none exceeds: trees of fewer levels are filled up with such splits."""


@dataclass(frozen=True, eq=False)
class _Preparation:
    """The bins, first scores and, for training, the loss that a shard makes of its file."""

    bins: Bins
    """Thresholds, without documents."""
    scale: Any
    first: Trees
    surrogate: Any = None
    n_queries: int = 0
    """Of all shards."""

    @property
    def _fields(self) -> tuple[Any, ...]:
        bins = self.bins.cuts, self.bins.has_missing
        return bins, self.scale, self.first.to_lightgbm(), self.surrogate, self.n_queries

    @cached_property
    def key(self) -> str:
        """Text that identifies the preparation in any process."""
        return fingerprint(self._fields)

    def state(self, shard: OpenShard) -> _State:
        """Read the features of a shard once, block by block."""
        check_code(self.key, self._fields)
        q = shard.queries(self.scale)
        shape = len(self.bins.cuts), q.n_docs
        if shard.is_held:
            columns: Array = np.empty(shape, np.uint8)
        else:
            # Features without room in memory have bins on disk, in a file without a name that ends with them.
            with tempfile.TemporaryFile() as file:
                columns = np.asarray(np.memmap(file, np.uint8, "w+", shape=shape))
        scores = np.empty(q.n_docs)
        for first, rows in blocks(q.features, q.qptr):
            some = slice(first, first + len(rows))
            columns[:, some] = self.bins.filled(rows).columns
            scores[some] = self.first.predict(rows)
        objective = None
        if self.surrogate is not None:
            objective = ScoreObjective(q, self.surrogate, n_queries=self.n_queries)
        return _State(self.bins._replace(columns=columns), objective, scores)


class _State:
    """A shard between two requests, for each ensemble."""

    def __init__(self, bins: Bins, objective: ScoreObjective | None, scores: Float64Array) -> None:
        self._start, self._objective = (bins, scores), objective
        self._bags: dict[int, _Bag] = {}
        # Two trainings on the same shards may ask at the same time.
        self.lock = threading.Lock()

    def at(self, request: _Request) -> _Bag:
        """Return the documents of an ensemble, with all trees of a request."""
        bag = self._bags.get(request.bag)
        if bag is None or not bag.is_prefix(request.trees):
            bag = self._bags[request.bag] = _Bag(*self._start)
        bag.catch_up(request.trees)
        return bag

    def begun(self, request: _Growth) -> _Bag:
        """Return the documents of an ensemble, with the gradient of the next tree."""
        bag = self.at(request)
        step = len(request.trees), fingerprint((request.surrogate, request.draw, request.is_dead))
        if bag.step != step:
            assert self._objective is not None
            objective = self._objective.of(request.surrogate)
            bag.loss = bag.documents.begin(objective, *request.draw, is_dead=request.is_dead)
            bag.step, bag.root = step, ""
        return bag


class _Bag:
    """The documents of a shard for one ensemble, and how far its trees have grown."""

    def __init__(self, bins: Bins, scores: Float64Array) -> None:
        self.documents = BinnedDocuments(bins, scores)
        self.trees = np.empty((0, 0))
        self.step: Any = None
        self.loss = np.nan, 0.0, 0.0
        # Of the tree that grows: the fingerprint of its root ("" before it), its splits, and the rounded sum
        # of curvatures.
        self.root, self.curvature = "", 0
        self.splits: tuple[Split, ...] = ()

    def is_prefix(self, trees: Array) -> bool:
        """Whether the trees so far are the first of others."""
        return not len(self.trees) or bool(np.array_equal(self.trees, trees[: len(self.trees)]))

    def catch_up(self, trees: Array) -> None:
        """Add the trees that are new to the scores."""
        for tree in trees[len(self.trees) :]:
            self.documents.add(*_unpacked(tree))
        self.trees = trees


@dataclass(frozen=True, eq=False)
class _Request(Question):
    """A request about the documents after some trees, whose answers are joined."""

    preparation: _Preparation
    bag: int
    trees: Array
    """See `_packed`."""

    def answer(self, shard: OpenShard) -> Any:
        """Return the result of a shard, whose state no other request changes meanwhile."""
        state: _State = shard.kept(self.preparation.key, lambda: self.preparation.state(shard))
        with state.lock:
            return self.result(state, shard.number)

    def result(self, state: _State, number: int) -> Any:
        """Return the result of the shard with this number."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Scores(_Request):
    """The scores of all documents."""

    def result(self, state: _State, number: int) -> list[Float64Array]:
        return [state.at(self).documents.scores.copy()]


@dataclass(frozen=True, eq=False)
class _Counts(_Request):
    """How many documents are in each leaf of a tree."""

    splits: tuple[Split, ...]

    def result(self, state: _State, number: int) -> Array:
        return state.at(self).documents.counts(list(self.splits))


@dataclass(frozen=True, eq=False)
class _Growth(_Request):
    """A request about the tree that grows.

    This one is for the loss, the largest gradient and curvature, and whether a score is not 0: (4,).
    """

    surrogate: Any
    draw: tuple[int, ...]
    is_dead: bool
    """Whether the surrogate has no slope at the start, on all shards together."""

    def result(self, state: _State, number: int) -> Any:
        bag = state.begun(self)
        return np.array([*bag.loss, bag.documents.scores.any()])

    def merge(self, left: Any, right: Any) -> Any:
        return np.append(left[0] + right[0], np.maximum(left[1:], right[1:]))


@dataclass(frozen=True, eq=False)
class _Sums(_Growth):
    """Sums of the documents after some splits: int64, of the root with the sum of all curvatures before."""

    root: tuple[Any, ...]
    """Documents by their numbers over all shards, or None; then as for `BinnedDocuments.root`."""
    starts: tuple[int, ...]
    """Number of the first document of every shard."""
    splits: tuple[Split, ...] = ()
    leaves: Any = None
    """Those to be counted by bin; None if the tree has grown."""
    totals: tuple[Any, ...] = ()
    """Arguments of `BinnedDocuments.totals` then."""

    def result(self, state: _State, number: int) -> Any:
        bag = state.begun(self)
        documents, (rows, features, *scales) = bag.documents, self.root
        root = fingerprint(self.root)
        if bag.root != root or bag.splits != self.splits[: len(bag.splits)]:
            if rows is not None:
                first, last = self.starts[number : number + 2]
                low, high = np.searchsorted(rows, [first, last])
                rows = (rows[low:high] - first).astype(np.uint32)
            # The root is known only once the documents are in it.
            bag.root = ""
            bag.curvature, bag.splits = documents.root(rows, features, *scales), ()
            bag.root = root
        for split in self.splits[len(bag.splits) :]:
            documents.divide([*bag.splits, split])
            bag.splits = (*bag.splits, split)
        if self.leaves is None:
            sizes, totals = documents.totals(*self.totals)
            return np.column_stack([sizes, totals])
        curvature = np.array([] if self.splits else [bag.curvature], np.int64)
        return np.append(curvature, documents.counted(self.leaves))

    def merge(self, left: Any, right: Any) -> Any:
        return left + right


@dataclass(frozen=True, eq=False)
class _Loss(Question):
    """The loss of given trees: (1,)."""

    scale: Any
    trees: Trees
    surrogate: Any
    n_queries: int
    draw: tuple[int, ...]

    def answer(self, shard: OpenShard) -> Float64Array:
        q = shard.queries(self.scale)
        scores = np.concatenate([self.trees.predict(rows) for _, rows in blocks(q.features, q.qptr)])
        objective = ScoreObjective(q, self.surrogate, n_queries=self.n_queries)
        return np.array([objective.value_grad_curvature(scores, *self.draw)[0]])


@dataclass(frozen=True, eq=False)
class _Sample(Question):
    """The features of some documents, by their numbers over all shards, and which columns miss values."""

    scale: Any
    documents: Array
    starts: tuple[int, ...]

    def answer(self, shard: OpenShard) -> list[tuple[Array, Array]]:
        q, begin = shard.queries(self.scale), self.starts[shard.number]
        answers = []
        for first, rows in blocks(q.features, q.qptr):
            low, high = np.searchsorted(self.documents, [begin + first, begin + first + len(rows)])
            drawn = rows[self.documents[low:high] - begin - first]
            answers.append((drawn, np.isnan(rows).any(axis=0)))
        return answers


def bins_of_shards(q: ShardedQueries, max_bin: int) -> Bins:
    """Return the thresholds of documents in shards: those of the same documents in memory."""
    answers = q.features.ask(_Sample(q.features.scale, sample_rows(q.n_docs), q.manifest.starts))
    drawn, missing = zip(*answers, strict=True)
    return Bins.from_sample(np.concatenate(drawn), np.any(missing, axis=0), max_bin)


class ShardedDocuments:
    """The documents of shards while trees grow on them; it answers like `BinnedDocuments`.

    Parameters
    ----------
    q : ShardedQueries
    bins : Bins
        Thresholds.
    first : Trees
        Trees of the first scores.
    loss : ScoreLoss, optional
        For training documents.
    bag, n_levels : int
        Number of the ensemble; most levels of a tree.
    """

    def __init__(
        self, q: ShardedQueries, bins: Bins, first: Trees, loss: ScoreLoss | None, bag: int, n_levels: int
    ) -> None:
        self._q, self.bins, self._bag, self._n_levels = q, bins, bag, n_levels
        surrogate = None if loss is None else loss.surrogate
        self._preparation = _Preparation(bins, q.features.scale, first, surrogate, q.n_queries)
        # The key is cached with the preparation, so it is computed once here and not in every worker.
        _ = self._preparation.key
        self._trees = np.empty((0, 1 + 3 * n_levels + (1 << n_levels)))
        self._growth: _Growth
        self._root: tuple[Any, ...] = ()
        self._splits: tuple[Split, ...] = ()
        self._counted: Array = np.empty(0, np.int64)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self._q.n_docs

    @property
    def scores(self) -> Float64Array:
        """The scores of all documents."""
        scores: Float64Array = np.concatenate(self._q.features.ask(_Scores(*self._at)))
        return scores

    @property
    def _at(self) -> tuple[_Preparation, int, Array]:
        return self._preparation, self._bag, self._trees

    def begin(self, loss: ScoreLoss, *draw: int) -> tuple[float, float, float]:
        """Let the shards compute the step of a tree; see `BinnedDocuments.begin`."""
        self._growth = _Growth(*self._at, loss.surrogate, draw, is_dead=False)
        value, grad, curvature, any_score = self._q.features.ask(self._growth).tolist()
        # Gradients have the weight of a query in the mean, 1 / n_queries.
        if not any_score and grad * self._q.n_queries <= DEAD and self._q.n_ordered:
            loss.warn_of_dead_start()
            self._growth = replace(self._growth, is_dead=True)
            value, grad, curvature, _ = self._q.features.ask(self._growth).tolist()
        return value, grad, curvature

    def recorded(self, key: Any, grow: Callable[[], Tree | None]) -> Tree | None:
        """Return the tree that ``grow`` returns, or that the file of an interrupted training has."""
        question = "tree", self._q.digest, self._growth, key
        record = current_driver().remembered(question, lambda: _recorded(grow()))
        return _from_record(record)

    def root(self, rows: Array | None, features: Array, scales: tuple[float, float], wide: float) -> int:
        """Begin a tree; see `BinnedDocuments.root`."""
        self._root, self._splits = (rows, features, scales, wide), ()
        answer = self._sums(np.zeros(1, np.int64))
        self._counted = answer[1:].reshape(len(features), 1, -1, 2)
        return int(answer[0])

    def divide(self, splits: list[Split], curvatures: Array | None = None) -> Array:
        """Split every leaf, and count the child with the lower curvature unless this split was the last."""
        self._splits = tuple(splits)
        if curvatures is None:
            return np.empty(0, np.int64)
        smaller = 2 * np.arange(len(curvatures)) + (curvatures[:, 1] < curvatures[:, 0])
        answer = self._sums(smaller)
        self._counted = answer.reshape(len(self._root[1]), len(smaller), -1, 2)
        return smaller

    def count(self, first: int, last: int, leaves: Array, sums: Array) -> None:
        """Copy the sums that the shards counted."""
        sums[first:last, : len(leaves)] = self._counted[first:last]

    def totals(self, floor: float, scales: tuple[float, float]) -> tuple[Array, Array]:
        """Return sizes and sums of the leaves; see `BinnedDocuments.totals`."""
        answer = self._sums(None, (floor, scales))
        return answer[:, 0], answer[:, 1:]

    def _sums(self, leaves: Array | None, totals: tuple[Any, ...] = ()) -> Array:
        now = self._growth
        growth = now.preparation, now.bag, now.trees, now.surrogate, now.draw, now.is_dead
        question = _Sums(*growth, self._root, self._q.manifest.starts, self._splits, leaves, totals)
        answer: Array = self._q.features.ask(question)
        return answer

    def counts(self, splits: list[Split]) -> Array:
        """Return how many documents are in each leaf."""
        counts: Array = self._q.features.ask(_Counts(*self._at, tuple(splits)))
        return counts

    def add(self, splits: list[Split], values: Float64Array) -> None:
        """Add a tree, which the next request takes to the shards."""
        packed = _packed(splits, values, self._n_levels)
        self._trees = np.concatenate([self._trees, packed[None]])

    def loss(self, trees: Trees, loss: ScoreLoss, *draw: int) -> float:
        """Return the loss of given trees."""
        question = _Loss(self._q.features.scale, trees, loss.surrogate, self._q.n_queries, draw)
        return float(self._q.features.ask(question)[0])


def _packed(splits: list[Split], values: Float64Array, n_levels: int) -> Float64Array:
    """A tree as numbers: of its levels, their features, cuts and sides, and the values of the leaves."""
    missing = n_levels - len(splits)
    filled = [*splits, *[(0, _NO_CUT, False)] * missing]
    # All documents go left at the splits that fill up, so each leaf has the first of several places.
    return np.concatenate(
        [[n_levels], np.array(filled, dtype=np.float64).T.ravel(), np.repeat(values, 1 << missing)]
    )


def _unpacked(tree: Float64Array) -> tuple[list[Split], Float64Array]:
    n_levels = int(tree[0])
    features, cuts, lefts = tree[1 : 1 + 3 * n_levels].reshape(3, -1)
    splits = [(int(f), int(c), bool(left)) for f, c, left in zip(features, cuts, lefts, strict=True)]
    return splits, tree[1 + 3 * n_levels :]


def _recorded(tree: Tree | None) -> Float64Array:
    """A tree as one array of numbers, for the file of an interrupted training."""
    if tree is None:
        return np.zeros(1)
    fields = [np.ravel(tree.splits), *tree.gains, tree.starts, tree.values, tree.counts]
    return np.concatenate([[len(tree.splits)], *fields]).astype(np.float64)


def _from_record(record: Float64Array) -> Tree | None:
    depth = int(record[0])
    if not depth:
        return None
    n_leaves = 1 << depth
    lengths = [1, 3 * depth, *(1 << level for level in range(depth)), n_leaves + 1, n_leaves, n_leaves]
    _, splits, *gains, starts, values, counts = np.split(record, np.cumsum(lengths)[:-1])
    return Tree(
        [(int(f), int(cut), bool(left)) for f, cut, left in splits.reshape(-1, 3)],
        gains,
        starts.astype(np.int64),
        values,
        counts.astype(np.int64),
    )
