r"""Oblivious trees: all nodes of a level have the same split.

A tree of depth d has d splits and :math:`2^d` leaves. The split of a level is the one with the highest
decrease of the loss, summed over its nodes l,

.. math:: \sum_l \frac{G_{l,left}^2}{H_{l,left} + \lambda} + \frac{G_{l,right}^2}{H_{l,right} + \lambda}
          - \frac{G_l^2}{H_l + \lambda},

with the sums G of gradients and H of curvatures. Values are in at most 254 bins, missing ones in another.

Sums are of whole numbers: for splits, gradients and curvatures are rounded to 15 bits of the largest of the
tree, and for leaves to as many bits as an exact sum of 64 allows. So a tree has the same bits however its
documents are divided among threads and processes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.models.lightgbm_text import LEFT, NAN
from directrix.models.trees import Trees
from directrix.threads import run_chunks
from directrix.trainers.bins import Bins, shared
from directrix.types import Array, Float64Array

_CELLS_A_CHUNK = 1 << 21
"""Documents times features that a thread counts at a time; trees on fewer are grown by one thread."""
_DOCS_A_CHUNK = 1 << 14
"""Documents that a thread handles at a time where each costs about a nanosecond."""
_LEAST_CURVATURE = 1e-6
"""Least curvature of a document, as a share of the mean: those of queries that cannot improve have none."""
# A threshold that no value exceeds: such a split separates missing values from all others.
_LARGEST = float(np.finfo(np.float64).max)

_Split = tuple[int, int, bool]
"""Feature, the last bin that goes to the left, and whether missing values go there too."""


class _Tree(NamedTuple):
    """An oblivious tree, with its empty leaves."""

    splits: list[_Split]
    gains: list[Array]
    """Gains of the nodes, level by level."""
    starts: Array
    """Where each leaf begins among the documents that the tree was grown on."""
    values: Float64Array
    """Values of the leaves; an empty one has that of its neighbor."""
    counts: Array
    """Number of training documents that get each value."""


class Documents:
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

    def largest(self, grad: Float64Array, curvature: Float64Array) -> tuple[float, float]:
        """Take the gradient and curvature of a tree; return the largest absolute values of both."""
        self._grad, self._curvature = grad, curvature
        return float(np.abs(grad).max()), float(curvature.max())

    def root(self, rows: Array, scales: tuple[float, float], wide: float) -> int:
        """Begin a tree on some documents; return the sum of all curvatures times ``wide``, each rounded."""
        from directrix.trainers._kernels.oblivious import pack, whole_sum

        self._order, self._packed = rows, np.empty(len(rows), np.int64)
        self._starts = np.array([0, len(rows)])
        bounds = _bounds(max(len(rows), len(self._grad)), _DOCS_A_CHUNK)
        sums = np.empty(len(bounds) - 1, np.int64)

        def work(c: int) -> None:
            begin, end = np.minimum(bounds[c : c + 2], len(rows))
            pack(self._grad, self._curvature, rows, scales, begin, end, self._packed)
            begin, end = np.minimum(bounds[c : c + 2], len(self._grad))
            sums[c] = whole_sum(self._curvature, wide, begin, end)

        run_chunks(work, len(sums))
        return int(sums.sum())

    def count(self, features: Array, first: int, last: int, leaves: Array, sums: Array) -> None:
        """Fill the sums of some leaves for ``features[first:last]``; see `count_leaves`."""
        from directrix.trainers._kernels.oblivious import count_leaves

        columns = self.bins.columns
        count_leaves(columns, features, first, last, self._order, self._packed, self._starts, leaves, sums)

    def divide(self, feature: int, cut: int, left: bool) -> Array:  # noqa: FBT001
        """Split every leaf; return the sizes of the new leaves.

        Documents are moved so that each leaf stays in one run, which the next level reads in order.
        """
        from directrix.trainers._kernels.oblivious import count_right, divide

        column, missing = self.bins.columns[feature], self.bins.missing[feature]
        split = column, cut, left, missing, self._order
        pieces, leaf = self._pieces()
        bounds = _bounds(len(pieces), max(1, len(pieces) * _DOCS_A_CHUNK // max(len(self._order), 1)))
        n_right = np.empty(len(pieces), np.int64)
        run_chunks(lambda c: count_right(*split, pieces, *bounds[c : c + 2], n_right), len(bounds) - 1)
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
            divide(*split, self._packed, *place, *bounds[c : c + 2], order, packed)

        run_chunks(work, len(bounds) - 1)
        self._order, self._packed, self._starts = order, packed, starts
        return sizes.ravel()

    def totals(self, floor: float, scales: tuple[float, float]) -> Array:
        """Return the sums of gradients and curvatures of the leaves, each times its scale and rounded."""
        from directrix.trainers._kernels.oblivious import sum_pieces

        pieces, leaf = self._pieces()
        bounds = _bounds(len(pieces), max(1, len(pieces) * _DOCS_A_CHUNK // max(len(self._order), 1)))
        sums = np.empty((len(pieces), 2), np.int64)

        def work(c: int) -> None:
            pulls = self._grad, self._curvature, self._order
            sum_pieces(*pulls, floor, scales, pieces, *bounds[c : c + 2], sums)

        run_chunks(work, len(bounds) - 1)
        totals = np.zeros((len(self._starts) - 1, 2), np.int64)
        np.add.at(totals, leaf, sums)
        return totals

    def _pieces(self) -> tuple[Array, Array]:
        """Runs of ``order`` within a leaf, int64 (n_pieces, 2), and the leaf of each."""
        sizes = np.diff(self._starts)
        n_pieces = -(-sizes // _DOCS_A_CHUNK)
        leaf = np.repeat(np.arange(len(sizes)), n_pieces)
        number = np.arange(len(leaf)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
        begins = self._starts[leaf] + number * _DOCS_A_CHUNK
        return np.column_stack([begins, np.minimum(begins + _DOCS_A_CHUNK, self._starts[leaf + 1])]), leaf

    def add(self, splits: list[_Split], values: Float64Array) -> Array:
        """Add a tree to the scores of all documents; return how many are in each leaf."""
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


def _bounds(n: int, most: int) -> Array:
    """Boundaries of chunks of at most ``most`` of n things."""
    return np.append(np.arange(0, n, most), n)


class ObliviousTrees:
    """Trees that are grown one after another, with the scores of training and validation documents.

    Parameters
    ----------
    settings : Boosting
    documents : Documents
        Those of training.
    valid : Documents, optional
        Those of validation.
    l2 : float
    bag : int
        Number of the ensemble, on which its random numbers depend.
    """

    def __init__(
        self, settings: Any, documents: Documents, valid: Documents | None, l2: float, bag: int
    ) -> None:
        self.settings, self.documents, self.valid = settings, documents, valid
        self.bins = documents.bins
        # Without a penalty, the value of an empty leaf would be 0 / 0.
        self.l2 = max(l2, 1e-10)
        self._rng = np.random.default_rng([settings.seed, bag])
        self._grown: list[_Tree] = []

    def scores(self) -> Float64Array:
        """Return the scores of the training documents."""
        return self.documents.scores.copy()

    def judged(self) -> Float64Array:
        """Return the scores of the validation documents."""
        return np.zeros(0) if self.valid is None else self.valid.scores.copy()

    def add(self, grad: Float64Array, curvature: Float64Array) -> bool:
        """Grow a tree for a Newton step; return whether no split lowers the loss."""
        from directrix.trainers._kernels.oblivious import BITS

        n_docs = len(grad)
        largest = self.documents.largest(grad, curvature)
        rows = self._drawn(n_docs, self.settings.subsample)
        # The sum of all documents has at most 62 bits.
        wide = [_scale(value, 62 - n_docs.bit_length()) for value in largest]
        narrow = _scale(largest[0], BITS), _scale(largest[1], BITS)
        # In units of the mean curvature, l2 counts documents; if no query can improve, all curvatures are 0.
        mean = self.documents.root(rows, narrow, wide[1]) / wide[1] / n_docs or 1.0
        units = 1.0 / narrow[0] / mean, 1.0 / narrow[1] / mean
        splits, gains, sizes = self._split(len(rows), units)
        if not splits:
            return True
        totals = self.documents.totals(_LEAST_CURVATURE * mean, (wide[0], wide[1]))
        nearest = _nearest_filled(sizes)
        g, h = (totals[:, side] / wide[side] / mean for side in (0, 1))
        values = (-self.settings.learning_rate * g / (h + self.l2))[nearest]
        counts = self.documents.add(splits, values)
        if self.valid is not None:
            self.valid.add(splits, values)
        # Documents of an empty leaf count for the leaf that replaces it.
        counts = np.bincount(nearest, counts, len(sizes))
        self._grown.append(_Tree(splits, gains, np.append(0, np.cumsum(sizes)), values, counts))
        return False

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees, without empty leaves."""
        n_features = len(self.bins.cuts)
        if not n_trees:
            return Trees.none(n_features)
        n_leaves: list[int] = []
        nodes: list[tuple[Any, ...]] = []
        leaves: list[tuple[float, float]] = []
        for tree in self._grown[:n_trees]:
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

    def _drawn(self, n: int, share: float) -> Array:
        """Draw a share of the numbers below n, ascending."""
        if share == 1.0:
            return np.arange(n, dtype=np.uint32)
        drawn = self._rng.choice(n, max(1, round(share * n)), replace=False)
        return np.sort(drawn).astype(np.uint32)

    def _split(self, n_docs: int, units: tuple[float, float]) -> tuple[list[_Split], list[Array], Array]:
        """Return the splits of a tree, the gains of its nodes by level, and the sizes of its leaves."""
        from directrix.trainers._kernels.oblivious import split_level

        missing = self.bins.missing
        chosen = self._drawn(len(self.bins.cuts), self.settings.feature_fraction)
        depth = int(self.settings.num_leaves - 1).bit_length()
        n_leaves, n_bins = 1 << (depth - 1), int(missing.max()) + 1
        sums = np.empty((len(chosen), n_leaves, n_bins, 2), np.int64)
        counted = np.empty((len(chosen), max(1, n_leaves // 2), n_bins, 2), np.int64)
        best, cuts, lefts = (np.empty(len(chosen), dtype=kind) for kind in (np.float64, np.int64, bool))
        # Threads share the features, four at a time; small trees are faster on one thread.
        most = max(4, _CELLS_A_CHUNK // max(n_docs, 1) // 4 * 4)
        bounds = _bounds(len(chosen), most)
        splits: list[_Split] = []
        gains: list[Array] = []
        sizes, smaller = np.array([n_docs]), np.empty(0, np.int64)
        while len(splits) < depth:

            def work(c: int) -> None:
                some = chosen, int(bounds[c]), int(bounds[c + 1])
                if splits:
                    self.documents.count(*some, smaller, counted)  # noqa: B023
                else:
                    self.documents.count(*some, np.zeros(1, np.int64), sums)
                level = missing, counted, smaller, units, self.l2  # noqa: B023
                split_level(*some, *level, sums, best, cuts, lefts)

            run_chunks(work, len(bounds) - 1)
            c = int(np.argmax(best))
            if not best[c] > 0.0:
                break
            f, cut, left = int(chosen[c]), int(cuts[c]), bool(lefts[c])
            splits.append((f, cut, left))
            goes_left = np.append(np.arange(missing[f]) <= cut, left)
            in_units = sums[c, : len(sizes), : missing[f] + 1] * np.array(units)
            gains.append(_gains(in_units, goes_left, self.l2))
            sizes = self.documents.divide(f, cut, left)
            smaller = 2 * np.arange(len(sizes) // 2) + (sizes[1::2] < sizes[::2])
        return splits, gains, sizes


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


def _gains(sums: Float64Array, goes_left: Array, l2: float) -> Array:
    """Decrease of the loss in each node of a level, from sums (n_nodes, n_bins, 2)."""
    whole, below = sums.sum(axis=1), sums[:, goes_left].sum(axis=1)
    left, right, before = (side[:, 0] ** 2 / (side[:, 1] + l2) for side in (below, whole - below, whole))
    gains: Array = left + right - before
    return gains


def oblivious_bags(
    settings: Any,
    data: Queries,
    valid: Queries | None,
    starts: tuple[Float64Array, Float64Array],
    l2: float,
    max_bin: int,
) -> list[ObliviousTrees]:
    """Return an ensemble to grow for each of ``settings.n_bags``; ``starts`` are the first scores."""
    kind = ("oblivious", max_bin)
    bins = shared(data.features, kind, lambda: Bins.of(data.features, max_bin))
    of_valid = None
    if valid is not None:
        of_valid = shared(valid.features, (*kind, id(data.features)), lambda: bins.filled(valid.features))
    return [
        ObliviousTrees(
            settings,
            Documents(bins, starts[0]),
            None if of_valid is None else Documents(of_valid, starts[1]),
            l2,
            bag,
        )
        for bag in range(settings.n_bags)
    ]
