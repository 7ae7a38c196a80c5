r"""Oblivious trees: all nodes of a level have the same split.

A tree of depth d has d splits and :math:`2^d` leaves. The split of a level is the one with the highest
decrease of the loss, summed over its nodes l,

.. math:: \sum_l \frac{G_{l,left}^2}{H_{l,left} + \lambda} + \frac{G_{l,right}^2}{H_{l,right} + \lambda}
          - \frac{G_l^2}{H_l + \lambda},

with the sums G of gradients and H of curvatures. Values are in at most 254 bins, missing ones in another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.models.lightgbm_text import LEFT, NAN
from directrix.models.trees import Trees
from directrix.threads import run_chunks
from directrix.trainers.bins import Bins, shared
from directrix.types import Array, Float64Array

_CELLS_A_CHUNK = 1 << 18
"""Documents times features that a thread counts at a time; trees on fewer are grown by one thread."""
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


class _Leaves(NamedTuple):
    """Documents of a tree in the order of its leaves."""

    order: Array
    """Documents, leaf by leaf, uint32 (n_docs,)."""
    pulls: Array
    """Their gradients and curvatures, float32 (n_docs, 2)."""
    starts: Array
    """Where each leaf begins in ``order``, int64 (n_leaves + 1,)."""


class ObliviousTrees:
    """Trees that are grown one after another, with the scores of training and validation documents.

    Parameters
    ----------
    settings : Boosting
    bins : Bins
        Of the training documents.
    judged : Bins, optional
        Of the validation documents.
    starts : (float64 (n_docs,), float64 (n_judged,))
        First scores.
    l2 : float
    bag : int
        Number of the ensemble, on which its random numbers depend.
    """

    def __init__(
        self,
        settings: Any,
        bins: Bins,
        judged: Bins | None,
        starts: tuple[Float64Array, Float64Array],
        l2: float,
        bag: int,
    ) -> None:
        self.settings, self.bins, self.judged_bins = settings, bins, judged
        # Without a penalty, the value of an empty leaf would be 0 / 0.
        self.l2 = max(l2, 1e-10)
        self._scores, self._judged = (values.copy() for values in starts)
        self._rng = np.random.default_rng([settings.seed, bag])
        self._grown: list[_Tree] = []

    def scores(self) -> Float64Array:
        """Return the scores of the training documents."""
        return self._scores.copy()

    def judged(self) -> Float64Array:
        """Return the scores of the validation documents."""
        return self._judged.copy()

    def add(self, grad: Float64Array, curvature: Float64Array) -> bool:
        """Grow a tree for a Newton step; return whether no split lowers the loss."""
        from directrix.trainers._kernels.oblivious import add_tree, sum_leaves

        order = self._drawn(len(grad), self.settings.subsample)
        pulls = np.empty((len(order), 2), dtype=np.float32)
        pulls[:, 0], pulls[:, 1] = grad[order], curvature[order]
        splits, gains, leaves = self._split(_Leaves(order, pulls, np.array([0, len(order)])))
        if not splits:
            return True
        sizes = np.diff(leaves.starts)
        nearest, totals = _nearest_filled(sizes), np.empty((len(sizes), 2))
        sum_leaves(leaves.pulls, leaves.starts, totals)
        values = (-self.settings.learning_rate * totals[:, 0] / (totals[:, 1] + self.l2))[nearest]
        split = [np.array(column) for column in zip(*splits, strict=True)]
        counts = np.zeros(len(sizes), dtype=np.int64)
        missing = self.bins.missing
        add_tree(self.bins.columns, *split, missing, values, self._scores, counts)
        if self.judged_bins is not None:
            add_tree(self.judged_bins.columns, *split, missing, values, self._judged, np.zeros_like(counts))
        # Documents of an empty leaf count for the leaf that replaces it.
        counts = np.bincount(nearest, counts, len(sizes))
        self._grown.append(_Tree(splits, gains, leaves.starts, values, counts))
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

    def _split(self, leaves: _Leaves) -> tuple[list[_Split], list[Array], _Leaves]:
        """Return the splits of a tree, the gains of its nodes by level, and its leaves."""
        from directrix.trainers._kernels.oblivious import divide, split_level

        bins, l2 = self.bins, self.l2
        chosen = self._drawn(len(bins.cuts), self.settings.feature_fraction)
        depth = int(self.settings.num_leaves - 1).bit_length()
        sums = np.empty((len(chosen), 1 << (depth - 1), int(bins.missing.max()) + 1, 2))
        best, cuts, lefts = (np.empty(len(chosen), dtype=kind) for kind in (np.float64, np.int64, bool))
        # Threads share the features, and small trees are faster on one thread.
        n_chunks = max(1, min(len(chosen), len(leaves.order) * len(chosen) // _CELLS_A_CHUNK))
        bounds = np.linspace(0, len(chosen), n_chunks + 1).astype(np.int64)
        splits: list[_Split] = []
        gains: list[Array] = []
        while len(splits) < depth:

            def work(c: int) -> None:
                level = bins.missing, leaves.order, leaves.starts, leaves.pulls, l2  # noqa: B023
                split_level(bins.columns, chosen, bounds[c], bounds[c + 1], *level, sums, best, cuts, lefts)

            run_chunks(work, n_chunks)
            c = int(np.argmax(best))
            if not best[c] > 0.0:
                break
            f, cut, left = int(chosen[c]), int(cuts[c]), bool(lefts[c])
            splits.append((f, cut, left))
            missing = int(bins.missing[f])
            goes_left = np.append(np.arange(missing) <= cut, left)
            gains.append(_gains(sums[c, : len(leaves.starts) - 1, : missing + 1], goes_left, l2))
            # Documents are moved so that each leaf stays in one run, which the next level reads in order.
            following = _Leaves(
                np.empty_like(leaves.order),
                np.empty_like(leaves.pulls),
                np.empty(2 * len(leaves.starts) - 1, dtype=np.int64),
            )
            divide(bins.columns[f], cut, left, bins.missing[f], *leaves, *following)
            leaves = following
        return splits, gains, leaves


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
    judged: Queries | None,
    starts: tuple[Float64Array, Float64Array],
    l2: float,
    max_bin: int,
) -> list[ObliviousTrees]:
    """Return an ensemble to grow for each of ``settings.n_bags``; see `ObliviousTrees`."""
    kind = ("oblivious", max_bin)
    rows = shared(data.features, kind, lambda: Bins.of(data.features, max_bin))
    theirs = None
    if judged is not None:
        theirs = shared(judged.features, (*kind, id(data.features)), lambda: rows.filled(judged.features))
    return [ObliviousTrees(settings, rows, theirs, starts, l2, bag) for bag in range(settings.n_bags)]
