"""One block of svmlight text to arrays; what is wrong is noted down, never raised."""

from directrix.data._kernels.numbers import BAD, HARD, INFINITE, MISSING, OK, parse_number, parse_plain
from directrix.kernels import kernel

# why a line cannot be used
LABEL, LABEL_RANGE, NO_QID, QID, QID_AND_GROUPS, FEATURE, INDEX_ZERO, INDEX_ORDER = 1, 2, 3, 4, 5, 6, 7, 8
INDEX_DOUBLE, INDEX_RANGE, VALUE, VALUE_MISSING, VALUE_INFINITE, VALUE_RANGE = 9, 10, 11, 12, 13, 14
LABEL_LARGE = 15

MAX_ERRORS = 21
# places in the array of totals
ROWS, LINES, ENTRIES, ERRORS, HARDS, WIDTH, NARROW, LAST, COMMENTS = 0, 1, 2, 3, 4, 5, 6, 7, 8
N_TOTALS = 9


@kernel
def count(buf):
    """Numbers of newlines and of colons: bounds for the rows and the entries of a block."""
    lines = colons = 0
    for i in range(len(buf)):
        lines += buf[i] == 10
        colons += buf[i] == 58
    return lines, colons


@kernel
def _skip_blank(buf, p):
    while buf[p] == 32 or buf[p] == 9 or buf[p] == 13 or buf[p] == 11 or buf[p] == 12:
        p += 1
    return p


@kernel
def _token_end(buf, p):
    while not (buf[p] == 32 or 9 <= buf[p] <= 13 or buf[p] == 35):
        p += 1
    return p


@kernel
def _line_end(buf, p):
    while buf[p] != 10:
        p += 1
    return p


@kernel
def _parse_integer(buf, p):
    """Value and end of an integer that fits into 64 bits; the end is ``p`` if there is none."""
    start = p
    sign = buf[p]
    if sign == 45 or sign == 43:
        p += 1
    first, value = p, 0
    while 48 <= buf[p] <= 57 and p - first < 18:
        value = value * 10 + (buf[p] - 48)
        p += 1
    if 48 <= buf[p] <= 57:
        digit, limit = buf[p] - 48, 8 if sign == 45 else 7  # of -2^63 and 2^63 - 1 the last one
        if value > 922337203685477580 or (value == 922337203685477580 and digit > limit):
            return 0, start
        value = value * 10 + digit
        p += 1
    if p == first or not (buf[p] == 32 or 9 <= buf[p] <= 13 or buf[p] == 35):
        return 0, start
    return -value if sign == 45 else value, p


@kernel
def _find_docid(buf, p, end):
    """Span of X in ``docid = X``, else of the whole text, of a comment."""
    while p < end and (buf[p] == 32 or 9 <= buf[p] <= 13 or buf[p] == 35):
        p += 1
    while end > p and (buf[end - 1] == 32 or 9 <= buf[end - 1] <= 13):
        end -= 1
    for i in range(p, end - 5):
        is_doc = buf[i] == 100 and buf[i + 1] == 111 and buf[i + 2] == 99
        if is_doc and buf[i + 3] == 105 and buf[i + 4] == 100:
            q = _skip_blank(buf, i + 5)
            if buf[q] == 61:
                q = _skip_blank(buf, q + 1)
                stop = q
                while not (buf[stop] == 32 or 9 <= buf[stop] <= 13):
                    stop += 1
                if stop > q:
                    return q, stop
    return p, end


@kernel
def _note(table, totals, counter, a, b, c, d):
    """Fill the next row of a table, if there is one, and count it."""
    row = totals[counter]
    if row < len(table):
        table[row, 0], table[row, 1], table[row, 2], table[row, 3] = a, b, c, d
    totals[counter] += 1


@kernel
def _parse_qid(buf, p, want_qid):
    """Query, code of what is wrong (or 0), and end of ``qid:ID``, which may be absent if not wanted."""
    if buf[p] == 113 and buf[p + 1] == 105 and buf[p + 2] == 100 and buf[p + 3] == 58:
        qid, end = _parse_integer(buf, p + 4)
        if end == p + 4:
            return 0, QID, _token_end(buf, p)
        return qid, 0 if want_qid else QID_AND_GROUPS, end
    if want_qid:
        return 0, NO_QID, _token_end(buf, p)
    return 0, 0, p


@kernel
def _parse_index(buf, p):
    """Index and the place after its colon; that place is ``p`` if there is no ``index:``."""
    start, index = p, 0
    while 48 <= buf[p] <= 57 and p - start < 11:
        index = index * 10 + (buf[p] - 48)
        p += 1
    if p == start or buf[p] != 58:
        return 0, start
    return index, p + 1


@kernel
def _index_code(index, previous, base):
    if index < base:
        return INDEX_ZERO
    if index <= previous:
        return INDEX_DOUBLE if index == previous else INDEX_ORDER
    return INDEX_RANGE if index - base >= 2147483647 else 0


@kernel
def _value_code(value, kind, limit, keep_missing):
    if kind == BAD:
        return VALUE
    if kind == MISSING:
        return 0 if keep_missing else VALUE_MISSING
    if kind == INFINITE:
        return VALUE_INFINITE
    return VALUE_RANGE if abs(value) > limit else 0


@kernel
def _parse_head(buf, p, row, want_qid, labels, qids, hard, totals):
    """Code of what is wrong with label or query (or 0), its start and end, and the end of both."""
    start = p
    labels[row], p, kind = parse_number(buf, p)
    if kind == HARD:
        _note(hard, totals, HARDS, -1 - row, 0, start, p)
    elif kind != 0:
        return LABEL, start, p, p
    elif labels[row] < 0.0:
        return LABEL_RANGE, start, p, p
    elif labels[row] > 1.7976931348623157e308:
        return LABEL_LARGE, start, p, p
    start = _skip_blank(buf, p)
    qids[row], code, end = _parse_qid(buf, start, want_qid)
    return code, start, end, end


@kernel
def _parse_features(
    buf, p, row, entry, base, limit, keep_missing, width, dense, sparse, columns, values, hard, totals
):
    """Code, start and end of what is wrong with a feature, end of all, number of entries, highest index."""
    previous = base - 1
    while True:
        start = _skip_blank(buf, p)
        if buf[start] == 10 or buf[start] == 35:
            return 0, start, start, start, entry, previous
        index, value, p = parse_plain(buf, start)
        first, kind = start, OK
        if p == start:
            index, first = _parse_index(buf, start)
            if first == start:
                return FEATURE, start, _token_end(buf, start), p, entry, previous
            value, p, kind = parse_number(buf, first)
        code = _index_code(index, previous, base)
        if code != 0:
            return code, start, p, p, entry, previous
        code = _value_code(value, kind, limit, keep_missing)
        previous = index
        column = index - base
        if sparse:
            columns[entry] = column
            values[entry] = value
        elif column < width:
            dense[row, column] = value
        if kind == HARD:
            _note(hard, totals, HARDS, row, entry if sparse else column, first, p)
        entry += 1
        if code != 0:
            return code, start, p, p, entry, previous


@kernel
def parse_block(
    buf, base, limit, want_qid, keep_missing, width, labels, qids, lines, spans, dense, sparse, columns,
    values, indptr, hard, errors, totals,
):  # fmt: skip
    """Parse whole lines of ``buf``, uint8, whose last byte is a newline, which bounds every scan.

    ``base`` is the first valid feature index, ``limit`` the largest magnitude of a feature. ``want_qid`` says
    whether lines must, or must not, have a qid; with ``keep_missing`` NaN and NULL become NaN.

    Filled per row: ``labels``, ``qids``, ``lines`` (the line within the block, from 0) and ``spans`` (start
    and end of the document identifier). Features go to ``dense``, zeros (rows, width), without columns from
    ``width`` on; or, if ``sparse``, to ``columns``, ``values`` and ``indptr``, with room for every colon.
    ``hard`` gets the numbers left to the caller: row (-1 - row for a label), column or entry, start, end;
    ``errors`` the first fault of every bad line: line, code, start, end.

    ``totals`` are at the places above. WIDTH is the largest column + 1, LAST that of the last row, NARROW the
    smallest of all rows but the last. HARDS may exceed the rows of ``hard``: then call again with more.
    """
    p, line, row, entry = 0, -1, 0, 0
    totals[:] = 0
    totals[NARROW] = 2147483647
    if sparse:
        indptr[0] = 0
    while p < len(buf):
        line += 1
        p = _skip_blank(buf, p)
        if buf[p] == 10 or buf[p] == 35:
            p = _line_end(buf, p) + 1
            continue
        code, start, end, p = _parse_head(buf, p, row, want_qid, labels, qids, hard, totals)
        previous = base - 1
        if code == 0:
            code, start, end, p, entry, previous = _parse_features(
                buf, p, row, entry, base, limit, keep_missing, width, dense, sparse, columns, values, hard,
                totals,
            )  # fmt: skip
        if code != 0:
            _note(errors, totals, ERRORS, line, code, start, end)
            p = _line_end(buf, p) + 1
            continue
        comment = p
        p = _line_end(buf, p)
        spans[row, 0], spans[row, 1] = _find_docid(buf, comment, p)
        if spans[row, 1] > spans[row, 0]:
            totals[COMMENTS] += 1
        p += 1
        row_width = previous - base + 1
        totals[WIDTH] = max(totals[WIDTH], row_width)
        if row > 0:
            totals[NARROW] = min(totals[NARROW], totals[LAST])
        totals[LAST] = row_width
        lines[row] = line
        row += 1
        if sparse:
            indptr[row] = entry
    totals[ROWS] = row
    totals[LINES] = line + 1
    totals[ENTRIES] = entry
