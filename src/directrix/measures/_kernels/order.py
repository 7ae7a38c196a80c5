"""Sort the documents of every query by score, and find the groups of tied scores."""

from __future__ import annotations

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query, sort_space

_COUNTED = 288  # up to this length comparing all pairs, which vectorizes, beats sorting
_INSERTED = 40  # up to this length insertion beats counting digits


@kernel
def _place_by_byte(key, val, other, carried, place, shift, n):
    """Write the pairs, ordered by one byte, to the scratch; False, and nothing, if all agree in it."""
    for digit in range(256):
        place[digit] = 0
    for i in range(n):
        place[np.int64((key[i] >> shift) & np.uint64(255))] += 1
    if place[np.int64((key[0] >> shift) & np.uint64(255))] == n:
        return False
    total = 0
    for digit in range(256):
        here = place[digit]
        place[digit] = total
        total += here
    for i in range(n):
        digit = np.int64((key[i] >> shift) & np.uint64(255))
        other[place[digit]] = key[i]
        carried[place[digit]] = val[i]
        place[digit] += 1
    return True


@kernel
def sort_pairs(key, val, other, carried, n):
    """Sort ``key[:n]`` ascending and stably, in place, with ``val`` along.

    Insertion for short arrays, else by counting, one byte of the key per pass; a byte in which
    all keys agree is only read. ``other`` and ``carried`` are scratch of at least the same
    length. O(n) time.
    """
    if n <= _INSERTED:
        for i in range(1, n):
            k, v = key[i], val[i]
            j = i - 1
            while j >= 0 and key[j] > k:
                key[j + 1] = key[j]
                val[j + 1] = val[j]
                j -= 1
            key[j + 1] = k
            val[j + 1] = v
        return
    place = np.empty(256, np.int64)
    swapped = False
    for byte in range(8):
        if _place_by_byte(key, val, other, carried, place, np.uint64(8 * byte), n):
            key, other, val, carried = other, key, carried, val
            swapped = not swapped
    if swapped:
        for i in range(n):
            other[i] = key[i]
            carried[i] = val[i]


@kernel
def descending_key(bits):
    """Integer (uint64) that ascends where the float64 with these bits descends."""
    sign = np.uint64(1) << np.uint64(63)
    return bits if bits & sign else ~(bits | sign)


@kernel
def _rank_by_sorting(scores, labels, key, other, carried, ranked, size):
    """Fill ``ranked`` and, at the first place of every tied group, its ``size``."""
    n = len(scores)
    bits = (scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0: they are tied
    for i in range(n):
        key[i] = descending_key(bits[i])
        ranked[i] = labels[i]
    sort_pairs(key, ranked, other, carried, n)
    start = 0
    for i in range(1, n + 1):
        if i == n or key[i] != key[start]:
            size[start] = i - start
            start = i


@kernel
def _place(above, label, ranked, size):
    """Put a document behind the ``above`` better ones and the tied ones that came before it."""
    ranked[above + size[above]] = label
    size[above] += 1


@kernel
def _rank_by_counting(scores, labels, ranked, size):
    """Do the same by counting, for every document, the better ones: n^2 comparisons, no branches.

    The counts of one document stay in registers, which is fastest for float64. Surrogates rank float32 more
    often, for which `directrix.surrogates._kernels.sorting.descending_order`, with counts of 32 bits in
    memory, takes half the time; for float64 it takes half as long again.
    """
    n = len(scores)
    for i in range(n):
        size[i] = 0
    blocks = n - n % 4
    for i in range(0, blocks, 4):  # four at a time share each load
        a, b, c, d = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
        above_a, above_b, above_c, above_d = 0, 0, 0, 0
        for j in range(n):
            s = scores[j]
            above_a += s > a
            above_b += s > b
            above_c += s > c
            above_d += s > d
        _place(above_a, labels[i], ranked, size)
        _place(above_b, labels[i + 1], ranked, size)
        _place(above_c, labels[i + 2], ranked, size)
        _place(above_d, labels[i + 3], ranked, size)
    for i in range(blocks, n):
        above = 0
        for j in range(n):
            above += scores[j] > scores[i]
        _place(above, labels[i], ranked, size)


@kernel
def rank_documents(scores, labels, qptr, ranked, ends, retrieved):
    """Put the labels of every query into the order of the ranking, tied documents in input order.

    Parameters
    ----------
    scores : float64 (n_docs,)        finite or -inf; -inf = not retrieved
    labels : float64 (n_docs,)        grades, >= 0
    qptr : int64 (n_queries + 1,)     query boundaries, ``qptr[0] == 0``
    ranked : float64 (n_docs,)        out; labels by descending score, stable
    ends : int64 (n_docs,)            out; ``ends[i]`` = end of the tied group that starts at i
    retrieved : int64 (n_queries,)    out; documents with a score above -inf

    Notes
    -----
    O(n_q) per query beyond 288 documents, below that n_q^2 comparisons, which are faster.
    Raises nothing, the caller has checked the arrays.
    """
    longest = longest_query(qptr, 0, len(qptr) - 1)
    key, _, other, carried = sort_space(longest)
    size = np.empty(longest, np.int64)
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        val = ranked[lo:hi]
        if n <= _COUNTED:
            _rank_by_counting(scores[lo:hi], labels[lo:hi], val, size)
        else:
            _rank_by_sorting(scores[lo:hi], labels[lo:hi], key, other, carried, val, size)
        missing = 0
        for i in range(lo, hi):
            missing += scores[i] == -np.inf
        retrieved[q] = n - missing
        start = 0
        while start < n:
            ends[lo + start] = lo + start + size[start]
            start += size[start]


@kernel
def rows_of_ranx(scores, qptr, rows):
    """Fill ``rows`` with the documents of every query as ranx orders them, those not retrieved last.

    Parameters
    ----------
    scores : float64 (n_docs,)        finite or -inf; -inf = not retrieved
    qptr : int64 (n_queries + 1,)     query boundaries, ``qptr[0] == 0``
    rows : int64 (n_docs,)            out; the document at each place

    Notes
    -----
    ranx sorts the negated scores of what was retrieved by Numba's ``argsort``, a quicksort that leaves tied
    documents in input order up to 15 documents, and beyond that in an order of its own. O(n log n).
    """
    found = np.empty(longest_query(qptr, 0, len(qptr) - 1), np.int64)
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        n = 0
        for i in range(lo, hi):
            if scores[i] > -np.inf:
                found[n] = i
                n += 1
        place = np.argsort(-scores[found[:n]])
        for i in range(n):
            rows[lo + i] = found[place[i]]
        for i in range(lo, hi):
            if scores[i] == -np.inf:
                rows[lo + n] = i
                n += 1


@kernel
def group_starts(ends, first):
    """Mark the first document of each tied group of a ranking."""
    i = 0
    while i < len(ends):
        first[i] = True
        i = ends[i]


@kernel
def lowest_first(ranked, ends, out):
    """Copy a ranking with the labels of every tied group from low to high."""
    longest = 0
    i = 0
    while i < len(ranked):
        longest = max(longest, ends[i] - i)
        i = ends[i]
    key, val, other, carried = sort_space(longest)
    bits = (ranked + 0.0).view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    i = 0
    while i < len(ranked):
        end = ends[i]
        for j in range(i, end):
            # integers in the order of the numbers, of which those of unjudged documents are negative
            key[j - i] = ~bits[j] if bits[j] >= sign else bits[j] | sign
            val[j - i] = ranked[j]
        sort_pairs(key, val, other, carried, end - i)
        for j in range(i, end):
            out[j] = val[j - i]
        i = end


@kernel
def ids_descending(letters, qptr, first, last, rows):
    """Fill ``rows`` for the queries ``first <= q < last``: within each, identifiers descend, stably.

    Parameters
    ----------
    letters : uint32 (n_docs, width)   code points of every identifier, 0 behind its end
    rows : int64 (n_docs,)             out; the document at each place

    Notes
    -----
    From the last letters to the first, three per key: a stable sort by each leaves the order of all.
    """
    width = letters.shape[1]
    key, place, other, carried = sort_space(longest_query(qptr, first, last))
    for q in range(first, last):
        lo = qptr[q]
        n = qptr[q + 1] - lo
        for i in range(n):
            place[i] = i
        for part in range((width + 2) // 3 - 1, -1, -1):
            differ = False
            for i in range(n):
                word = np.uint64(0)
                for column in range(3 * part, 3 * part + 3):
                    letter = letters[lo + np.int64(place[i]), column] if column < width else np.uint32(0)
                    word = (word << np.uint64(21)) | np.uint64(letter)
                key[i] = ~word
                differ |= key[i] != key[0]
            if differ:
                sort_pairs(key, place, other, carried, n)
        for i in range(n):
            rows[lo + i] = lo + np.int64(place[i])
