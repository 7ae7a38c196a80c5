r"""Oblivious trees: all nodes of a level have the same split.

A tree of depth d has d splits and :math:`2^d` leaves. The split of a level is the one with the highest
decrease of the loss, summed over its nodes l,

.. math:: \sum_l \frac{G_{l,left}^2}{H_{l,left} + \lambda} + \frac{G_{l,right}^2}{H_{l,right} + \lambda}
          - \frac{G_l^2}{H_l + \lambda},

with the sums G of gradients and H of curvatures. Values are in at most 254 bins, missing ones in another.

In: bins, scores, and the gradient and curvature of every document. Out: `Trees`.

Sums are of whole numbers: for splits, gradients and curvatures are rounded to 15 bits of the largest of the
tree, and for leaves to as many bits as an exact sum of 64 allows. So a tree has the same bits however its
documents are divided among threads and processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from directrix.models.lightgbm_text import LEFT, NAN
from directrix.models.trees import Trees
from directrix.objectives.scores import LEAST_CURVATURE, ScoreObjective
from directrix.threads import run_chunks
from directrix.trainers.bins import Bins
from directrix.types import Array, Float64Array

_CELLS_A_CHUNK = 1 << 18
"""Documents times features that a thread counts at a time; trees on fewer are grown by one thread."""
_DOCS_A_CHUNK = 1 << 15
"""Documents that a thread handles at a time where each costs about a nanosecond."""
# A threshold that no value exceeds: such a split separates missing values from all others.
_LARGEST = float(np.finfo(np.float64).max)

Split = tuple[int, int, bool]
"""Feature, the last bin that goes to the left, and whether missing values go there too."""


class Tree(NamedTuple):
    """An oblivious tree, with its empty leaves."""

    splits: list[Split]
    gains: list[Array]
    """Gains of the nodes, level by level."""
    starts: Array
    """Where each leaf begins among the documents that the tree was grown on."""
    values: Float64Array
    """Values of the leaves; an empty one has that of its neighbor."""
    counts: Array
    """Number of training documents that get each value."""


class BinnedDocuments:
    """The documents of one process while a tree grows on them, in the order of its leaves.

    Parameters
    ----------
    bins : Bins
    scores : float64 (n_docs,)
        First scores.
    """

    def __init__(self, bins: Bins, scores: Float64Array) -> None:
        self.bins, self.scores = bins, scores.copy()
        self._order = self._packed = self._starts = np.empty(0, np.int64)
        self._grad = self._curvature = np.empty(0)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.scores)

    def begin(
        self, objective: ScoreObjective, *draw: int, is_dead: bool | None = None
    ) -> tuple[float, float, float]:
        """Compute loss, gradient and curvature; return the loss, and the largest absolute values of both."""
        step = objective.value_grad_curvature(self.scores, *draw, is_dead=is_dead)
        loss, self._grad, self._curvature = step
        return loss, float(np.abs(self._grad).max()), float(self._curvature.max())

    def root(self, rows: Array | None, features: Array, scales: tuple[float, float], wide: float) -> int:
        """Begin a tree on some documents, or all, and some features.

        Return the sum of the curvatures of all documents times ``wide``, each rounded.
        """
        from directrix.trainers._kernels.oblivious import pack_pulls, whole_sum

        if rows is None:
            rows = np.arange(self.n_docs, dtype=np.uint32)
        self._order, self._packed, self._features = rows, np.empty(len(rows), np.int64), features
        self._starts = np.array([0, len(rows)])
        bounds = _bounds(max(len(rows), len(self._grad)), _DOCS_A_CHUNK)
        sums = np.empty(len(bounds) - 1, np.int64)

        def work(c: int) -> None:
            begin, end = np.minimum(bounds[c : c + 2], len(rows))
            pack_pulls(self._grad, self._curvature, rows, scales, begin, end, self._packed)
            begin, end = np.minimum(bounds[c : c + 2], len(self._grad))
            sums[c] = whole_sum(self._curvature, wide, begin, end)

        run_chunks(work, len(sums))
        return int(sums.sum())

    def count(self, first: int, last: int, leaves: Array, sums: Array) -> None:
        """Fill the sums of some leaves, for features of the tree from ``first`` on; see `count_leaves`."""
        from directrix.trainers._kernels.oblivious import count_leaves

        data = self.bins.columns, self._features, first, last, self._order, self._packed, self._starts
        count_leaves(*data, leaves, sums)

    def counted(self, leaves: Array) -> Array:
        """Return the sums of some leaves for all features of the tree, counted on all threads."""
        shape = len(self._features), len(leaves), int(self.bins.missing.max()) + 1, 2
        sums = np.empty(shape, np.int64)
        bounds = feature_chunks(len(self._features), len(self._order))
        run_chunks(lambda c: self.count(int(bounds[c]), int(bounds[c + 1]), leaves, sums), len(bounds) - 1)
        return sums

    def divide(self, splits: list[Split], curvatures: Array | None = None) -> Array:
        """Split every leaf by the last split; return its child with fewer documents, to be counted next.

        On shards, where the numbers of documents are not at hand, ``curvatures`` of the children choose.

        Documents are moved so that each leaf stays in one run, which the next level reads in order.
        """
        from directrix.trainers._kernels.oblivious import count_right, divide

        feature, cut, left = splits[-1]
        rule = self.bins.columns[feature], cut, left, self.bins.missing[feature], self._order
        pieces, leaf, bounds = self._pieces()
        n_right = np.empty(len(pieces), np.int64)
        run_chunks(lambda c: count_right(*rule, pieces, *bounds[c : c + 2], n_right), len(bounds) - 1)
        n_left = pieces[:, 1] - pieces[:, 0] - n_right
        sizes = np.zeros((len(self._starts) - 1, 2), np.int64)
        np.add.at(sizes, leaf, np.column_stack([n_left, n_right]))
        starts = np.append(0, np.cumsum(sizes))
        # Pieces of a leaf keep their order on both sides, so a piece begins where those before it end.
        places = np.empty((len(pieces), 2), np.int64)
        for side, n in enumerate((n_left, n_right)):
            before = np.cumsum(n) - n
            first_of_leaf = np.searchsorted(leaf, leaf, side="left")
            places[:, side] = starts[2 * leaf + side] + before - before[first_of_leaf]
        order, packed = np.empty_like(self._order), np.empty_like(self._packed)
        place = pieces, places

        def work(c: int) -> None:
            divide(*rule, self._packed, *place, *bounds[c : c + 2], order, packed)

        run_chunks(work, len(bounds) - 1)
        self._order, self._packed, self._starts = order, packed, starts
        return 2 * np.arange(len(sizes)) + (sizes[:, 1] < sizes[:, 0])

    def totals(self, floor: float, scales: tuple[float, float]) -> tuple[Array, Array]:
        """Return the sizes of the leaves, and the sums of their gradients and curvatures.

        Gradients and curvatures, at least ``floor``, are multiplied by their scales and rounded.
        """
        from directrix.trainers._kernels.oblivious import sum_pieces

        pieces, leaf, bounds = self._pieces()
        sums = np.empty((len(pieces), 2), np.int64)

        def work(c: int) -> None:
            pulls = self._grad, self._curvature, self._order
            sum_pieces(*pulls, floor, scales, pieces, *bounds[c : c + 2], sums)

        run_chunks(work, len(bounds) - 1)
        totals = np.zeros((len(self._starts) - 1, 2), np.int64)
        np.add.at(totals, leaf, sums)
        return np.diff(self._starts), totals

    def _pieces(self) -> tuple[Array, Array, Array]:
        """Runs of ``order`` within a leaf, int64 (n_pieces, 2), their leaves, and chunks of them."""
        sizes = np.diff(self._starts)
        n_pieces = -(-sizes // _DOCS_A_CHUNK)
        leaf = np.repeat(np.arange(len(sizes)), n_pieces)
        number = np.arange(len(leaf)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
        begins = self._starts[leaf] + number * _DOCS_A_CHUNK
        pieces = np.column_stack([begins, np.minimum(begins + _DOCS_A_CHUNK, self._starts[leaf + 1])])
        most = max(1, len(pieces) * _DOCS_A_CHUNK // max(len(self._order), 1))
        return pieces, leaf, _bounds(len(pieces), most)

    def recorded(self, key: Any, grow: Callable[[], Tree | None]) -> Tree | None:
        """Return the tree that ``grow`` returns; only training on shards has a file of earlier ones."""
        return grow()

    def counts(self, splits: list[Split]) -> Array:
        """Return how many of all documents are in each leaf."""
        return self._added(splits, np.zeros(1 << len(splits)))

    def add(self, splits: list[Split], values: Float64Array) -> None:
        """Add a tree to the scores of all documents."""
        self._added(splits, values)

    def _added(self, splits: list[Split], values: Float64Array) -> Array:
        from directrix.trainers._kernels.oblivious import add_tree

        split = [np.array(column) for column in zip(*splits, strict=True)]
        bounds = _bounds(len(self.scores), _DOCS_A_CHUNK)
        counts = np.zeros((len(bounds) - 1, len(values)), np.int64)
        tree = self.bins.columns, *split, self.bins.missing, values

        def work(c: int) -> None:
            add_tree(*tree, *bounds[c : c + 2], self.scores, counts[c])

        run_chunks(work, len(counts))
        total: Array = counts.sum(axis=0)
        return total


def _bounds(n: int, most: int, unit: int = 1) -> Array:
    """Boundaries of chunks of n things: equal ones of at most ``most``, in multiples of a unit."""
    n_units, units = -(-n // unit), max(1, most // unit)
    n_chunks = -(-n_units // units)
    return np.minimum(np.arange(n_chunks + 1) * n_units // max(n_chunks, 1) * unit, n)


class ObliviousTrees:
    """Trees that are grown one after another, with the scores of training and validation documents.

    Parameters
    ----------
    settings : Boosting
    documents : BinnedDocuments
        Those of training.
    valid : BinnedDocuments, optional
        Those of validation.
    l2 : float
    bag : int
        Number of the ensemble, on which its random numbers depend.
    """

    def __init__(self, settings: Any, documents: Any, valid: Any, l2: float, bag: int) -> None:
        self.settings, self.documents, self.valid = settings, documents, valid
        self.bins = documents.bins
        # Without a penalty, the value of an empty leaf would be 0 / 0.
        self.l2 = max(l2, 1e-10)
        self._rng = np.random.default_rng([settings.seed, bag])
        self._largest = 0.0, 0.0
        # Trees with the number of their step: where the drawn features have no split, a step has no tree.
        self._n_steps, self._grown = 0, list[tuple[int, Tree]]()

    def scores(self) -> Float64Array:
        """Return the scores of the training documents."""
        scores: Float64Array = self.documents.scores
        return scores.copy()

    def judged(self) -> Float64Array:
        """Return the scores of the validation documents."""
        scores: Float64Array = self.valid.scores
        return scores.copy()

    def begin(self, objective: Any, *draw: int) -> tuple[float, float, float]:
        """Compute the Newton step of a tree; return the loss, and the largest gradient and curvature."""
        loss, *largest = self.documents.begin(objective, *draw)
        self._largest = largest[0], largest[1]
        return loss, *self._largest

    def add(self) -> bool:
        """Grow a tree; return whether no split lowers the loss."""
        rows = self._drawn(self.documents.n_docs, self.settings.subsample)
        drawn = self._drawn(len(self.bins.cuts), self.settings.feature_fraction)
        chosen = np.arange(len(self.bins.cuts)) if drawn is None else drawn.astype(np.int64)
        settings = self.settings.learning_rate, self.settings.num_leaves, self.l2
        tree = self.documents.recorded((settings, rows, chosen), lambda: self._tree(rows, chosen))
        self._n_steps += 1
        if tree is None:
            # Other documents or features may have a split.
            return rows is None and drawn is None
        self.documents.add(tree.splits, tree.values)
        if self.valid is not None:
            self.valid.add(tree.splits, tree.values)
        self._grown.append((self._n_steps, tree))
        return False

    def _tree(self, rows: Array | None, chosen: Array) -> Tree | None:
        """Return a tree on some documents (all, if None) and features, or None if no split helps."""
        from directrix.trainers._kernels.oblivious import BITS

        n_docs = self.documents.n_docs
        # The sum of all documents has at most 62 bits.
        (g, h), n_bits = self._largest, 62 - n_docs.bit_length()
        wide, narrow = (_scale(g, n_bits), _scale(h, n_bits)), (_scale(g, BITS), _scale(h, BITS))
        # In units of the mean curvature, l2 counts documents; if no query can improve, all curvatures are 0.
        mean = self.documents.root(rows, chosen, narrow, wide[1]) / wide[1] / n_docs or 1.0
        units = 1.0 / narrow[0] / mean, 1.0 / narrow[1] / mean
        splits, gains = self._split(n_docs if rows is None else len(rows), chosen, units)
        if not splits:
            return None
        sizes, totals = self.documents.totals(LEAST_CURVATURE * mean, wide)
        nearest = _nearest_filled(sizes)
        pull, bend = (totals[:, side] / wide[side] / mean for side in (0, 1))
        values = (-self.settings.learning_rate * pull / (bend + self.l2))[nearest]
        counts = sizes if rows is None else self.documents.counts(splits)
        # Documents of an empty leaf count for the leaf that replaces it.
        counts = np.bincount(nearest, counts, len(sizes))
        return Tree(splits, gains, np.append(0, np.cumsum(sizes)), values, counts)

    def trees(self, n_steps: int) -> Trees:
        """Return the trees of the first steps, without empty leaves."""
        n_features = len(self.bins.cuts)
        kept_trees = [tree for step, tree in self._grown if step <= n_steps]
        if not kept_trees:
            return Trees.none(n_features)
        n_leaves: list[int] = []
        nodes: list[tuple[Any, ...]] = []
        leaves: list[tuple[float, float]] = []
        for tree in kept_trees:
            kept, filled = _pruned(tree.starts.tolist())
            n_leaves.append(len(filled))
            leaves += [(tree.values[leaf], tree.counts[leaf]) for leaf in filled]
            tests = [self._test(*split) for split in tree.splits]
            nodes += [(*tests[level], *ends, tree.gains[level][node]) for level, node, *ends in kept]
        kinds = (np.int32, np.float64, np.uint8, np.int32, np.int32, np.float64)
        columns: Any = zip(*nodes, strict=True) if nodes else [()] * len(kinds)
        feature, threshold, decision, left, right, gain = map(np.array, columns, kinds)
        values, counts = np.array(leaves).T
        sizes, counts = np.array(n_leaves, dtype=np.int64), counts.astype(np.uint32)
        return Trees(n_features, sizes, feature, threshold, decision, left, right, gain, values, counts)

    def _test(self, f: int, cut: int, left: bool) -> tuple[int, float, int]:  # noqa: FBT001
        """Feature, threshold and decision of a split, as in `Trees`."""
        cuts = self.bins.cuts[f]
        decision = (NAN | (LEFT if left else 0)) if self.bins.has_missing[f] else 0
        return f, float(cuts[cut]) if cut < len(cuts) else _LARGEST, decision

    def _drawn(self, n: int, share: float) -> Array | None:
        """Draw a share of the numbers below n, ascending; None if all."""
        if share == 1.0:
            return None
        drawn = self._rng.choice(n, max(1, round(share * n)), replace=False)
        return np.sort(drawn).astype(np.uint32)

    def _split(
        self, n_docs: int, chosen: Array, units: tuple[float, float]
    ) -> tuple[list[Split], list[Array]]:
        """Return the splits of a tree, and the gains of its nodes by level."""
        from directrix.trainers._kernels.oblivious import split_level

        missing = self.bins.missing
        depth = int(self.settings.num_leaves - 1).bit_length()
        n_leaves, n_bins = 1 << (depth - 1), int(missing.max()) + 1
        sums = np.empty((len(chosen), n_leaves, n_bins, 2), np.int64)
        counted = np.empty((len(chosen), max(1, n_leaves // 2), n_bins, 2), np.int64)
        best, cuts, lefts = (np.empty(len(chosen), dtype=kind) for kind in (np.float64, np.int64, bool))
        bounds = feature_chunks(len(chosen), n_docs)
        splits: list[Split] = []
        gains: list[Array] = []
        smaller = np.empty(0, np.int64)
        while True:

            def work(c: int) -> None:
                first, last = int(bounds[c]), int(bounds[c + 1])
                if splits:
                    self.documents.count(first, last, smaller, counted)  # noqa: B023
                else:
                    self.documents.count(first, last, np.zeros(1, np.int64), sums)
                level = missing, counted, smaller, units, self.l2  # noqa: B023
                split_level(chosen, first, last, *level, sums, best, cuts, lefts)

            run_chunks(work, len(bounds) - 1)
            c = int(np.argmax(best))
            if not best[c] > 0.0:
                return splits, gains
            f, cut, left = int(chosen[c]), int(cuts[c]), bool(lefts[c])
            in_units = sums[c, : 1 << len(splits), : missing[f] + 1] * np.array(units)
            goes_left = np.append(np.arange(missing[f]) <= cut, left)
            splits.append((f, cut, left))
            gain, curvatures = _gains(in_units, goes_left, self.l2)
            gains.append(gain)
            smaller = self.documents.divide(splits, None if len(splits) == depth else curvatures)
            if len(splits) == depth:
                return splits, gains


def feature_chunks(n_features: int, n_docs: int) -> Array:
    """Boundaries of the features that a thread counts at a time; small trees are faster on one thread."""
    # Features are counted four at a time, and eight share a reading of the gradients.
    return _bounds(n_features, max(8, _CELLS_A_CHUNK // max(n_docs, 1)), unit=4)


def _scale(largest: float, bits: int) -> float:
    """The power of two by which values up to ``largest`` have at most this number of bits."""
    # Near the ends of the range of floats, a few bits less keep the scale and its inverse finite.
    return math.ldexp(1.0, min(max(bits - math.frexp(largest)[1], -1000), 1000))


def _nearest_filled(sizes: Array) -> Array:
    """The leaf that documents of each leaf reach if empty nodes are left out: itself if it is not empty."""
    nearest, width = np.arange(len(sizes)), 1
    while width < len(sizes):
        pairs = nearest.reshape(-1, 2, width)
        is_empty = sizes.reshape(-1, 2, width).sum(axis=2) == 0
        # Where one side of a node is empty, its leaves lead to the leaves of the other side.
        for side in (0, 1):
            alone = is_empty[:, side]
            pairs[alone, side] = pairs[alone, 1 - side]
        width *= 2
    return nearest


def _pruned(starts: list[int]) -> tuple[list[tuple[int, int, int, int]], list[int]]:
    """The nodes (level, number, left, right) of a tree without empty ones, and its leaves."""
    depth = (len(starts) - 1).bit_length() - 1
    kept: list[tuple[int, int, int, int]] = []
    filled: list[int] = []

    def walk(level: int, node: int) -> int:
        while level < depth:
            first, middle, last = (starts[(2 * node + i) << (depth - level - 1)] for i in range(3))
            # A node with an empty side is left out: its documents pass on to the other side.
            if first < middle < last:
                place = len(kept)
                # The node gets its place before its children, and its numbers after them.
                kept.append((0, 0, 0, 0))
                kept[place] = level, node, walk(level + 1, 2 * node), walk(level + 1, 2 * node + 1)
                return place
            level, node = level + 1, 2 * node + (first == middle)
        filled.append(node)
        # As in LightGBM's trees, a child with a negative number is a leaf; the first is -1.
        return -len(filled)

    walk(0, 0)
    return kept, filled


def _gains(sums: Float64Array, goes_left: Array, l2: float) -> tuple[Array, Array]:
    """Decrease of the loss in each node of a level, and curvatures of its children (n_nodes, 2).

    ``sums`` are (n_nodes, n_bins, 2).
    """
    whole, left = sums.sum(axis=1), sums[:, goes_left].sum(axis=1)
    right = whole - left
    terms = [side[:, 0] ** 2 / (side[:, 1] + l2) for side in (left, right, whole)]
    return terms[0] + terms[1] - terms[2], np.column_stack([left[:, 1], right[:, 1]])
