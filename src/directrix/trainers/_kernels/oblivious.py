"""Oblivious trees: sums of gradients by leaf and bin, the best split of a level, and documents by leaf.

``bins`` uint8 (n_features, n_docs) holds the number of thresholds below each value; ``missing`` (n_features,)
is the bin of missing values, which follows those of all others. A split (feature, cut, left) sends bins up to
``cut`` to the left, and missing values too if ``left``. Documents lie leaf by leaf: leaf l has
``order[starts[l]]`` to ``order[starts[l + 1] - 1]``, ascending.

Gradients and curvatures are whole numbers, so every sum is exact: it has the same bits in any order of
addition, and for any division of the documents among threads, shards or machines.
"""

import numpy as np

from directrix.kernels import kernel

BITS = 15
"""Bits of a gradient or curvature; docs/decisions/boosting.md has the measurement."""
_ROWS = 2048
"""Documents that are counted for all features in turn, so that their gradients stay in the cache."""
# A sum of this number of documents stays below 2^30 in absolute value, so it fits in half an int64. As many
# documents make a block, which passes for all leaves in turn.
_ROWS_OF_HALF = 1 << (30 - BITS)
_HALF = np.int64(0xFFFFFFFF)
_BLOCK = 512
"""Documents that pass through the levels of a tree together, a number that vectorizes well."""


@kernel
def whole_sum(values, scale, begin, end):
    """Return the sum of values times scale, each rounded to a whole number; int64."""
    total = np.int64(0)
    for i in range(begin, end):
        total += np.int64(np.rint(values[i] * scale))
    return total


@kernel
def pack_pulls(grad, curvature, order, scales, begin, end, packed):
    """Write gradient and curvature of each document of ``order`` as whole numbers into one int64.

    The gradient is in the upper 32 bits, the curvature in the lower ones; a sum of such numbers has the sums
    of both, as long as each fits.
    """
    for r in range(begin, end):
        i = order[r]
        g = np.int64(np.rint(grad[i] * scales[0]))
        h = np.int64(np.rint(curvature[i] * scales[1]))
        packed[r] = (g << 32) + h


@kernel
def _count(bins, features, first, last, rows, pulls, narrow):
    """Add some documents to the sums of a leaf, both sums of a bin in one int64: (last - first, n_bins)."""
    c = first
    # Four features at a time: while one addition waits for memory, the others go on.
    while c + 4 <= last:
        bins0, bins1 = bins[features[c]], bins[features[c + 1]]
        bins2, bins3 = bins[features[c + 2]], bins[features[c + 3]]
        sums0, sums1 = narrow[c - first], narrow[c - first + 1]
        sums2, sums3 = narrow[c - first + 2], narrow[c - first + 3]
        for r in range(len(rows)):
            i, pull = rows[r], pulls[r]
            sums0[bins0[i]] += pull
            sums1[bins1[i]] += pull
            sums2[bins2[i]] += pull
            sums3[bins3[i]] += pull
        c += 4
    while c < last:
        bins0, sums0 = bins[features[c]], narrow[c - first]
        for r in range(len(rows)):
            sums0[bins0[rows[r]]] += pulls[r]
        c += 1


@kernel
def _widen(narrow, first, last, leaf, sums):
    """Move the sums of a leaf to wider ones."""
    for c in range(first, last):
        for b in range(sums.shape[2]):
            # Curvatures are not negative, so they borrow nothing from the upper half.
            sums[c, leaf, b, 0] += narrow[c - first, b] >> 32
            sums[c, leaf, b, 1] += narrow[c - first, b] & _HALF
    narrow[:] = 0


@kernel
def count_leaves(bins, features, first, last, order, packed, starts, leaves, sums):
    """Fill the sums of gradients and curvatures by bin, for some features and leaves.

    Documents pass in blocks for all leaves in turn, so that their bins stay in the cache: each leaf has some
    documents in every part of the data.

    Parameters
    ----------
    features : int64 (n_chosen,)     rows of ``bins``
    first, last : int                positions in ``features``
    order : uint32 (n_docs,)
    packed : int64 (n_docs,)         gradient and curvature in the order of ``order``, see `pack_pulls`
    starts : int64                   where each leaf begins in ``order``
    leaves : int64 (n_counted,)
    sums : int64 (n_chosen, at least n_counted, most bins, 2)    out
    """
    n_leaves = len(leaves)
    narrow = np.zeros((n_leaves, last - first, sums.shape[2]), dtype=np.int64)
    at, n_narrow = starts[leaves], np.zeros(n_leaves, dtype=np.int64)
    sums[first:last, :n_leaves] = 0
    for block in range(0, bins.shape[1], _ROWS_OF_HALF):
        block_end = block + _ROWS_OF_HALF
        for k in range(n_leaves):
            # Documents of a leaf are ascending, so those of a block follow one another.
            end, high = at[k], starts[leaves[k] + 1]
            while end < high:
                middle = (end + high) // 2
                if order[middle] < block_end:
                    end = middle + 1
                else:
                    high = middle
            n_narrow[k] += end - at[k]
            if n_narrow[k] > _ROWS_OF_HALF:
                _widen(narrow[k], first, last, k, sums)
                n_narrow[k] = end - at[k]
            for start in range(at[k], end, _ROWS):
                stop = min(start + _ROWS, end)
                _count(bins, features, first, last, order[start:stop], packed[start:stop], narrow[k])
            at[k] = end
    for k in range(n_leaves):
        _widen(narrow[k], first, last, k, sums)


@kernel
def _best_cut(sums, n_leaves, n_bins, units, l2, below, gains):
    """Return the highest gain of a feature, its cut, and whether missing values go left.

    Parameters
    ----------
    sums : int64 (n_leaves, most bins, 2)
    n_bins : int                       bins of values; the next is that of missing ones
    units : (float, float)             values of a sum of 1
    below : float64 (2, most bins)     workspace: sums of the bins up to each
    gains : float64 (most bins,)       workspace
    """
    best, cut, left = -np.inf, -1, False
    any_missing = False
    for leaf in range(n_leaves):
        any_missing |= sums[leaf, n_bins, 1] != 0 or sums[leaf, n_bins, 0] != 0
    for go_left in range(2 if any_missing else 1):
        gains[:n_bins] = 0.0
        total = 0.0
        for leaf in range(n_leaves):
            g, h = np.int64(0), np.int64(0)
            if go_left:
                g, h = sums[leaf, n_bins, 0], sums[leaf, n_bins, 1]
            for b in range(n_bins):
                g += sums[leaf, b, 0]
                h += sums[leaf, b, 1]
                below[0, b] = g
                below[1, b] = h
            if not go_left:
                g += sums[leaf, n_bins, 0]
                h += sums[leaf, n_bins, 1]
            whole_g, whole_h = g * units[0], h * units[1]
            total += whole_g * whole_g / (whole_h + l2)
            for b in range(n_bins):
                left_g, left_h = below[0, b] * units[0], below[1, b] * units[1]
                right_g, right_h = whole_g - left_g, whole_h - left_h
                gains[b] += left_g * left_g / (left_h + l2) + right_g * right_g / (right_h + l2)
        for b in range(n_bins if any_missing and not go_left else n_bins - 1):
            if gains[b] - total > best:
                best, cut, left = gains[b] - total, b, go_left == 1
    return best, cut, left


@kernel
def split_level(features, first, last, missing, counted, leaves, units, l2, sums, gains, cuts, lefts):
    """Fill the best split of a level for some of the chosen features.

    Parameters
    ----------
    features, first, last, counted    as in `count_leaves`, which fills ``counted``
    leaves : int64                    the child of every node of the last level that was counted; the sums of
                                      the other one are what remains of the node's. At the root: none, and
                                      ``sums`` has been counted.
    units : (float, float)            values of a sum of 1
    l2 : float > 0
    sums : int64 (n_chosen, at least n_leaves, most bins, 2)    those of the last level; out: of this one
    gains : float64 (n_chosen,)             out: decrease of the loss
    cuts, lefts : int64, bool (n_chosen,)   out
    """
    below, workspace = np.empty((2, sums.shape[2])), np.empty(sums.shape[2])
    for c in range(first, last):
        # From the last node on, because children take the places of later nodes.
        for node in range(len(leaves) - 1, -1, -1):
            other = 4 * node + 1 - leaves[node]
            sums[c, other] = sums[c, node] - counted[c, node]
            sums[c, leaves[node]] = counted[c, node]
        n_bins = np.int64(missing[features[c]])
        gains[c], cuts[c], lefts[c] = _best_cut(
            sums[c], max(1, 2 * len(leaves)), n_bins, units, l2, below, workspace
        )


@kernel
def _end_of_right(left, missing):
    """The bin at which bins above the cut cease to go right: that of missing values, or none."""
    return np.int64(missing) if left else np.int64(256)


@kernel
def count_right(column, cut, left, missing, order, pieces, first, last, n_right):
    """Fill the number of documents of some pieces of ``order`` that go right.

    ``pieces`` int64 (n_pieces, 2) are runs of ``order``, each within a leaf; first <= p < last are filled.
    """
    end_of_right = _end_of_right(left, missing)
    for p in range(first, last):
        n = 0
        for r in range(pieces[p, 0], pieces[p, 1]):
            b = np.int64(column[order[r]])
            n += np.int64((b > cut) & (b < end_of_right))
        n_right[p] = n


@kernel
def divide(column, cut, left, missing, order, packed, pieces, places, first, last, new_order, new_packed):
    """Move the documents of some pieces to the leaves of the next level, in which they stay ascending.

    ``places`` int64 (n_pieces, 2) are the positions of the first document of a piece that goes left, and of
    the first that goes right.
    """
    end_of_right = _end_of_right(left, missing)
    for p in range(first, last):
        to_left, to_right = places[p, 0], places[p, 1]
        for r in range(pieces[p, 0], pieces[p, 1]):
            i = order[r]
            b = np.int64(column[i])
            is_right = np.int64((b > cut) & (b < end_of_right))
            place = to_right if is_right else to_left
            new_order[place] = i
            new_packed[place] = packed[r]
            to_right += is_right
            to_left += 1 - is_right


@kernel
def sum_pieces(grad, curvature, order, floor, scales, pieces, first, last, totals):
    """Fill the sums of gradients and curvatures of pieces of ``order``, each rounded, int64 (n_pieces, 2)."""
    for p in range(first, last):
        g, h = np.int64(0), np.int64(0)
        for r in range(pieces[p, 0], pieces[p, 1]):
            i = order[r]
            g += np.int64(np.rint(grad[i] * scales[0]))
            h += np.int64(np.rint(max(curvature[i], floor) * scales[1]))
        totals[p, 0], totals[p, 1] = g, h


@kernel
def add_tree(bins, features, cuts, lefts, missing, values, begin, end, scores, counts):
    """Add a tree to the scores of the documents begin <= i < end, and count those of each leaf.

    Parameters
    ----------
    features, cuts, lefts : int64, int64, bool (depth,)    the splits, from the root
    values : float64 (2^depth,)
    scores : float64 (n_docs,)                             out
    counts : int64 (2^depth,)                              out
    """
    leaves = np.empty(_BLOCK, dtype=np.uint16)
    for start in range(begin, end, _BLOCK):
        n = min(_BLOCK, end - start)
        leaves[:n] = 0
        for level in range(len(features)):
            f, cut = features[level], cuts[level]
            column, end_of_right = bins[f, start : start + n], _end_of_right(lefts[level], missing[f])
            for i in range(n):
                b = np.int64(column[i])
                leaves[i] = 2 * leaves[i] + np.uint16((b > cut) & (b < end_of_right))
        for i in range(n):
            scores[start + i] += values[leaves[i]]
            counts[leaves[i]] += 1
