"""Words, tests and values of trees; `directrix.models.plans` explains them."""

from directrix.kernels import kernel

RIGHT, ZEROS = 1, 2
"""Bits of the side of missing values: they go right; zeros are missing, too."""
BITS, TABLE, WALK = 0, 1, 2
"""Kinds of words."""
STEP = 3
"""Number of tests that are evaluated together; words have a multiple of it."""
LEAVES = 32
"""Number of leaves in a word of bits."""
MOST_WORDS = 8
"""Largest number of words of a tree; documents walk down trees that have more leaves."""
MOST_TESTS = 10
"""Largest number of tests of a table."""


@kernel
def _number_tests(first, n, column, threshold, most, number, chosen):
    """Number the distinct tests of n splits; return how many there are, or most + 1 if more than that."""
    count = 0
    for s in range(first, first + n):
        d = 0
        while d < count and (column[chosen[d]] != column[s] or threshold[chosen[d]] != threshold[s]):
            d += 1
        if d == count:
            if count == most:
                return most + 1
            chosen[count] = s
            count += 1
        number[s - first] = d
    return count


@kernel
def _number_leaves(first, n, left, right, size, begin, middle, order):
    """Number the leaves from left to right: begin[s] <= number < middle[s] to the left of split s."""
    for s in range(n - 1, -1, -1):  # children come after their parents
        to_left, to_right = left[first + s], right[first + s]
        middle[s] = 1 if to_left < 0 else size[to_left]
        size[s] = middle[s] + (1 if to_right < 0 else size[to_right])
    begin[0] = order[0] = 0
    for s in range(n):
        middle[s] += begin[s]
        for child, at in ((left[first + s], begin[s]), (right[first + s], middle[s])):
            if child < 0:
                order[-1 - child] = at
            else:
                begin[child] = at


@kernel
def _bits_of_word(word, n, begin, middle, number, gathered):
    """Gather for every test the leaves of a word that it excludes: those to the left of its splits."""
    for d in range(n):
        gathered[d] = 0
    for s in range(n):
        low, high = max(begin[s] - LEAVES * word, 0), min(middle[s] - LEAVES * word, LEAVES)
        if low < high:
            gathered[number[s]] |= (1 << high) - (1 << low)


@kernel
def _fill_table(first, leaves, number, left, right, leaf):
    """Find the leaf of every combination of outcomes, of which bit d is that of test d."""
    for outcomes in range(len(leaf)):
        node = 0
        while node >= 0:
            goes_right = outcomes >> number[node] & 1
            node = right[first + node] if goes_right else left[first + node]
        leaf[outcomes] = leaves - 1 - node


@kernel
def _list_nodes(first, leaves, left, right, nodes, test, mask, leaf):
    """List nodes level by level; the mask is the place of the first of two children, or that of a leaf."""
    nodes[0], end = 0 if len(leaf) > 1 else -1, 1
    for place in range(len(leaf)):
        node = nodes[place]
        if node < 0:
            mask[place], leaf[place] = place, leaves - 1 - node
        else:
            test[place], mask[place], leaf[place] = first + node + 1, end, leaves
            nodes[end], nodes[end + 1] = left[first + node], right[first + node]
            end += 2


@kernel
def plan_trees(
    split_ptr, column, threshold, left, right, most_words, room,
    word_ptr, value_ptr, kind, base, test_ptr, test, mask, leaf,
):  # fmt: skip
    """Fill words, tests and values of all trees; the last of ``word_ptr`` and so on are their numbers.

    Parameters
    ----------
    split_ptr, left, right : as in `directrix.models.trees.Trees`
    column, threshold : (n_splits,)   equal for equal tests
    most_words : int                  documents walk down trees of more words
    room : int64 (8, 2 n_splits + 1)   for the largest tree
    word_ptr, value_ptr : int64 (n_trees + 1,)
    kind, base : (most words,)        ``base`` is the position of the first value
    test_ptr : int64 (most words + 1,)
    test : int64 (most tests,)        1 + the split that has the test; filled with 0: none
    mask : uint32 (most tests,)       filled with 0
    leaf : int64 (most values,)       leaf of every value, numbered across all trees
    """
    number, chosen, size, begin = room[0], room[1], room[2], room[3]
    middle, order, gathered, nodes = room[4], room[5], room[6], room[7]
    w = s = v = 0
    for t in range(len(split_ptr) - 1):
        first, leaves = split_ptr[t], split_ptr[t] + t
        n = split_ptr[t + 1] - first
        n_words = n // LEAVES + 1
        word_ptr[t], value_ptr[t] = w, v
        limit = n if n_words <= most_words else MOST_TESTS
        count = _number_tests(first, n, column, threshold, limit, number, chosen)
        if n_words > 1 and count <= MOST_TESTS:
            kind[w], base[w], test_ptr[w] = TABLE, v, s
            for d in range(count):
                test[s + d], mask[s + d] = chosen[d] + 1, 1 << d
            _fill_table(first, leaves, number, left, right, leaf[v : v + (1 << count)])
            w, s, v = w + 1, s + count + -count % STEP, v + (1 << count)
        elif n_words <= most_words:
            _number_leaves(first, n, left, right, size, begin, middle, order)
            for i in range(n + 1):
                leaf[v + order[i]] = leaves + i
            for word in range(n_words - 1, -1, -1):  # the first word that has a leaf left comes last
                kind[w], base[w], test_ptr[w] = BITS, v + LEAVES * word, s
                _bits_of_word(word, n, begin, middle, number, gathered)
                for d in range(count):
                    if gathered[d]:
                        test[s], mask[s] = chosen[d] + 1, gathered[d]
                        s += 1
                w, s = w + 1, s + -(s - test_ptr[w]) % STEP
            v += n + 1
        else:
            kind[w], base[w], test_ptr[w] = WALK, v, s
            m = 2 * n + 1
            _list_nodes(first, leaves, left, right, nodes, test[s:], mask[s:], leaf[v : v + m])
            w, s, v = w + 1, s + m, v + m
    word_ptr[-1], value_ptr[-1], test_ptr[w] = w, v, s
