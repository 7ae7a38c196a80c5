"""Scores of boosted trees, for blocks of documents that take the same steps together.

The features of a block are copied into columns, one document next to another, in which missing values and
categories have become numbers: every split is a comparison of a column with a threshold. `plans` brings trees
into the form that is used here, and explains it.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from directrix.kernels import kernel
from directrix.models._kernels.plans import RIGHT, STEP, TABLE, WALK, ZEROS

NEARLY_ZERO = np.float64(np.float32(1e-35))
"""What LightGBM takes for zero."""

# Documents of a block, and those that are read together: loops of a fixed length become vector instructions.
_WIDE, _NARROW, _ROWS = 128, 32, 16
_ALL = np.uint32(0xFFFFFFFF)


@intrinsic
def _lowest(typing_context, bits):
    """Position of the lowest bit that is set; 32 if none is."""

    def codegen(context, builder, signature, given):
        word, flag = given[0].type, ir.IntType(1)
        kind = ir.FunctionType(word, [word, flag])
        count = cgutils.get_or_insert_function(builder.module, kind, f"llvm.cttz.i{word.width}")
        return builder.call(count, [given[0], ir.Constant(flag, 0)])

    return bits(bits), codegen


@kernel(forceinline=True)
def _fill(X, begin, end, features, plan, tile, width):
    """Fill the columns (n_columns, width) that splits test from the rows begin <= i < end of X."""
    number, last = X.dtype.type, np.uint64(end - 1)
    # Rows that are a power of two apart push each other out of the cache, so a few are read at a time.
    for g in range(0, width, _ROWS):
        for c in range(len(plan.source)):
            f = features[plan.source[c]]
            for i in range(min(_ROWS, width)):
                at = np.uint64(g) + np.uint64(i)
                tile[c, at] = X[min(np.uint64(begin) + at, last), f]
    for c in range(len(plan.source)):
        far = number(np.inf) if plan.side[c] & RIGHT else number(-np.inf)
        least = number(NEARLY_ZERO) if plan.side[c] & ZEROS else number(-1.0)
        for i in range(width):
            value = tile[c, i]
            tile[c, i] = value if abs(value) > least else far
    for c in range(len(plan.source), len(tile)):
        for i in range(width):
            tile[c, i] = number(1.0)
    for g in range(len(plan.coded)):
        f = features[plan.coded[g]]
        for i in range(end - begin):
            value = X[begin + i, f]
            if not -1.0 < value < 2147483648.0:  # cut to whole numbers, those below 0 are none
                continue
            category, low, high = np.int64(value), plan.code_ptr[g], plan.code_ptr[g + 1]
            while low < high:
                middle = (low + high) // 2
                if plan.category[middle] < category:
                    low = middle + 1
                else:
                    high = middle
            if low < plan.code_ptr[g + 1] and plan.category[low] == category:
                for e in range(plan.member_ptr[low], plan.member_ptr[low + 1]):
                    tile[plan.member[e], i] = number(0.0)


@kernel
def _walk(tile, first, plan, threshold, place, width):
    """Walk down a tree whose nodes begin at ``first``; leaves lead to themselves."""
    for i in range(width):
        place[i] = 0
    moves = True
    while moves:
        moves = False
        for i in range(width):
            s = np.uint64(first) + np.uint64(place[i])
            child = plan.mask[s] + np.uint32(tile[np.uint64(plan.column[s]), i] > threshold[s])
            moves |= child != place[i]
            place[i] = child


@kernel(forceinline=True)
def _block(tile, plan, threshold, known, moved, begin, end, out, width):
    """Score the documents begin <= i < end, which have columns."""
    bits, place, total = np.empty(width, np.uint32), np.zeros(width, np.uint32), np.zeros(width)
    for t in range(len(plan.word_ptr) - 1):
        start = np.uint32(plan.value_ptr[t])
        if len(moved) > 0 and not moved[t]:
            for i in range(end - begin):
                place[i] = start + known[t, begin + i]
        else:
            for w in range(plan.word_ptr[t], plan.word_ptr[t + 1]):
                first, base = plan.test_ptr[w], np.uint32(plan.base[w])
                if plan.kind[w] == WALK:
                    _walk(tile, first, plan, threshold, place, width)
                    for i in range(width):
                        place[i] += base
                    continue
                for i in range(width):
                    bits[i] = 0
                for s in range(first, plan.test_ptr[w + 1], STEP):
                    c0, c1, c2 = plan.column[s], plan.column[s + 1], plan.column[s + 2]
                    v0, v1, v2 = threshold[s], threshold[s + 1], threshold[s + 2]
                    m0, m1, m2 = plan.mask[s], plan.mask[s + 1], plan.mask[s + 2]
                    for i in range(width):
                        b0 = m0 if tile[c0, i] > v0 else np.uint32(0)
                        b1 = m1 if tile[c1, i] > v1 else np.uint32(0)
                        b2 = m2 if tile[c2, i] > v2 else np.uint32(0)
                        bits[i] |= b0 | b1 | b2
                if plan.kind[w] == TABLE:
                    for i in range(width):
                        place[i] = base + bits[i]
                else:
                    for i in range(width):
                        place[i] = base + _lowest(~bits[i]) if bits[i] != _ALL else place[i]
            if len(known) > 0 and len(moved) == 0:
                for i in range(end - begin):
                    known[t, begin + i] = place[i] - start
        for i in range(width):
            total[i] += plan.value[place[i]]
    for i in range(end - begin):
        out[begin + i] = total[i]


@kernel
def add_trees(X, features, plan, threshold, known, moved, row, is_few, out):
    """Fill the score of every row of X (n_rows, n_features); sums are float64, tree by tree.

    Parameters
    ----------
    X : float (n_rows, n_features)
    features : int32 (n_used,)       columns of X that the plan uses
    plan : `directrix.models.plans.TreePlan`
    threshold : float (n_tests,)     of the tests of the plan, in the type of X
    known : int (n_trees, n)         place of every row among the values of a tree, or (0, 0)
    moved : bool (n_trees,)          trees that are not known; of length 0: none is, and known is filled
    row : int                        position of the first row of X in known and out
    is_few : bool                    whether rows are scored one by one
    out : float64
    """
    wide = np.empty((plan.n_columns, _WIDE), X.dtype)
    narrow, single = np.empty((plan.n_columns, _NARROW), X.dtype), np.empty((plan.n_columns, 1), X.dtype)
    begin = 0
    while begin < len(X):
        # The lengths are constants of each call, for which the compiler makes code of its own.
        if len(X) - begin > _NARROW and not is_few:
            end = min(begin + _WIDE, len(X))
            _fill(X, begin, end, features, plan, wide, _WIDE)
            _block(wide, plan, threshold, known, moved, row + begin, row + end, out, _WIDE)
        elif not is_few:
            end = len(X)
            _fill(X, begin, end, features, plan, narrow, _NARROW)
            _block(narrow, plan, threshold, known, moved, row + begin, row + end, out, _NARROW)
        else:
            end = begin + 1
            _fill(X, begin, end, features, plan, single, 1)
            _block(single, plan, threshold, known, moved, row + begin, row + end, out, 1)
        begin = end


@kernel
def dense_rows(data, indices, indptr, place, rows):
    """Write the stored entries of CSR rows, of the columns that have a place, into rows (n_rows, n_used)."""
    for i in range(len(rows)):
        for e in range(indptr[i], indptr[i + 1]):
            column = place[indices[e]]
            if column >= 0:
                rows[i, column] = data[e]
