"""Read LETOR / svmlight text: ``label qid:ID index:value ... # comment``.

A file goes in, plain or compressed. `Queries` come out, or one error with all lines that cannot be used::

    queries = read_letor("train.txt", missing="zero")
    queries.features, queries.labels, queries.query_ids

`parse` turns blocks of lines into arrays. This module checks the file as a whole, and groups its rows.
"""

from __future__ import annotations

import itertools
import os
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from directrix.data.checks import sum_of
from directrix.data.files import (
    Problem,
    open_data,
    path_of,
    raise_line_problems,
    raise_problems,
    readable,
    stream_blocks,
    to_number,
)
from directrix.data.grouping import object_array, run_starts
from directrix.data.letor.parse import Block, BlockParser, assemble, each_block, parse_file
from directrix.data.missing import check_missing
from directrix.data.queries import Queries, rows_as_queries
from directrix.errors import Advice, InputError, amount, warn
from directrix.parameters import whole
from directrix.types import Array, Float64Array, Int64Array

# Columns of a table, each of which takes space in every row.
_MOST_FEATURES = 1 << 16
# Features get the first of these types that holds all values.
_TYPES = np.float32, np.float64


def read_letor(
    path: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    sparse: bool | None = None,
    missing: Literal["error", "zero", "nan"] = "error",
    groups: str | os.PathLike[str] | None = None,
    index_base: Literal[0, 1] = 1,
    n_features: int | None = None,
) -> Queries:
    r"""Read a LETOR / svmlight file, plain or compressed with gzip, bzip2 or xz.

    Every line is ``label qid:ID index:value ... # comment``. Omitted features are 0, empty lines and comments
    are skipped, lines may end in CRLF. The identifier of a document is X of ``# docid = X``, or the comment.

    Parameters
    ----------
    path : path
        A regular file, because it is read more than once: pipes and devices are rejected. Its compression is
        recognized by its first bytes, not its name.
    dtype : float32, float64, or None
        Type of the features. Numbers are rounded correctly to float64, then to this. ``None`` chooses float32
        unless a value is too large for it, such as the 1.79769313486e+308 of Istella.
    sparse : bool, or None
        CSR or dense features; ``None`` chooses CSR if less than one feature in eight is written.
    missing : {"error", "zero", "nan"}
        Meaning of the values ``NULL`` (LETOR 4) and ``nan``. "nan" is for models that support NaN.
    groups : path, or None
        File with the number of lines of each query, one per line, as in LightGBM, without qid. If the first
        line has no qid, ``<path>.query`` or ``<path>.group`` is the default. Queries are numbered from 0.
    index_base : {1, 0}
        The lowest feature index that may occur; it becomes column 0.
    n_features : int, or None
        Number of columns; ``None`` is the highest index in the file.

    Returns
    -------
    Queries
        In the order of the file. `query_ids` are integers; `doc_ids` is ``None`` if no line has a comment.

    Raises
    ------
    InputError
        If the file cannot be read or used: for bad lines (the first 20, then a count), a query whose lines
        are not together, a file without data, or a shorter last line that lacks a newline.

    Warns
    -----
    UserWarning
        If the file may be truncated within its last number, because its last line lacks a newline, or if
        LightGBM or XGBoost would also read weights, positions or scores from a file next to it.

    Notes
    -----
    Compiled code parses blocks of 1 MiB on `get_threads` threads, those of plain files directly into the
    result, whose size is known from the number of lines. Compressed files, and plain ones that are wider than
    their first block, are assembled block by block.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> _ = path.write_text("2 qid:1 1:0.5 2:0.25 # docid = a\n0 qid:1 2:1 # docid = b\n")
    >>> dx.read_letor(path).features.tolist()
    [[0.5, 0.25], [0.0, 1.0]]
    """
    path = path_of(path)
    _check_options(dtype, missing, index_base, n_features)
    with readable(path):
        side = _side_file(path, groups)
        for kind in _TYPES if dtype is None else (dtype,):
            parser = BlockParser(path, np.dtype(kind), missing, index_base, want_qid=side is None)
            blocks, dense = parse_file(path, parser, n_features, sparse=sparse)
            if not any(block.is_beyond for block in blocks):
                break
    qptr, query_ids = check_blocks(path, blocks, side)
    doc_ids = doc_ids_of(blocks) if any(block.doc_ids is not None for block in blocks) else None
    labels = np.concatenate([block.labels for block in blocks])
    features = assemble(parser, blocks, dense, _width(path, blocks, n_features), sparse=sparse)
    return Queries(features, labels, qptr, query_ids, doc_ids, None, np.arange(len(labels)), missing=missing)


def check_blocks(path: Path, blocks: list[Block], side: Path | None) -> tuple[Int64Array, tuple[int, ...]]:
    """Raise `InputError` for all errors of a file as a whole; return its queries.

    Features are not used. If only errors matter, the first row of each run of one query suffices.
    """
    # Problems and rows have lines within their block.
    before = list(itertools.accumulate((block.n_lines for block in blocks[:-1]), initial=0))
    problems = [
        problem._replace(line=n + problem.line)
        for n, block in zip(before, blocks, strict=False)
        for problem in block.problems
    ]
    raise_line_problems(path, problems, sum(block.n_problems for block in blocks))
    if not any(len(block.labels) for block in blocks):
        raise InputError(
            f"{path} has no data; at least one line `label qid:ID index:value ...` is needed. "
            "Check that the file was written completely."
        )
    _check_last_line(path, blocks)
    if side is not None:
        return _queries_from_sizes(path, side, blocks)
    qids = np.concatenate([block.qids for block in blocks])
    starts = run_starts(qids)
    query_ids = qids[starts].tolist()
    if len(set(query_ids)) < len(query_ids):
        lines = np.concatenate([block.lines + n + 1 for block, n in zip(blocks, before, strict=True)])[starts]
        remedy = (
            f"The lines of a query must be together: sort the file by query, e.g. `sort -s -t: -k2,2n "
            f"{path.name}`, or give the later lines another number."
        )
        first_line: dict[int, int] = {}
        problems = []
        for qid, line in zip(query_ids, lines.tolist(), strict=True):
            first = first_line.setdefault(qid, line)
            if first != line:
                what = (
                    f"query {qid} starts again; its lines began at {path}:{first} and were followed by others"
                )
                problems.append(Problem(line, what, remedy))
        raise_problems(path, problems)
    return np.append(starts, len(qids)), tuple(query_ids)


def doc_ids_of(blocks: list[Block]) -> Array:
    """Return the identifiers of the documents, None for rows without one."""
    return object_array(itertools.chain.from_iterable(b.doc_ids or [None] * len(b.labels) for b in blocks))


def _check_options(
    dtype: npt.DTypeLike | None, missing: str, index_base: int, n_features: int | None
) -> None:
    try:
        is_known = dtype is None or np.dtype(dtype) in (np.dtype(np.float32), np.dtype(np.float64))
    except TypeError:
        # It is not the name of any type.
        is_known = False
    if not is_known:
        raise InputError(f"dtype={dtype!r}: features are float32 or float64; type dtype=numpy.float32.")
    check_missing(missing)
    if index_base not in (0, 1):
        raise InputError(f"index_base={index_base!r}; feature indices start at 1 or at 0.")
    if n_features is not None:
        whole(n_features, "n_features", least=0)


def _side_file(path: Path, groups: str | os.PathLike[str] | None = None) -> Path | None:
    """Return ``groups``, or the file of sizes next to data without qid; warn of other such files."""
    for ending, what in _NEIGHBORS.items():
        if path.with_name(side := path.name + ending).is_file():
            warn(
                f"{path} is read without the {what} in {side}.",
                advice=Advice("side-files"),
                stacklevel=3,
            )
    if groups is not None:
        return Path(groups)
    candidates = (path.with_name(path.name + ending) for ending in (".query", ".group"))
    side_file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if side_file is None:
        return None
    with open_data(path) as file:
        for line in file:
            words = line.split(b"#")[0].split()
            if words:
                return None if any(word.startswith(b"qid:") for word in words[1:2]) else side_file
    return side_file


_NEIGHBORS = {".weight": "weights", ".position": "positions", ".init": "scores", ".base_margin": "scores"}
"""What LightGBM and XGBoost read from files next to data, by the endings that follow the name."""


def side_weights(path: Path, q: Queries) -> tuple[Float64Array | None, Float64Array | None]:
    """Return the numbers in ``<path>.weight`` as weights of documents or queries, None without the file."""
    side = path.with_name(path.name + ".weight")
    if not side.is_file():
        return None, None
    with readable(side), open_data(side) as file:
        lines = [line.decode("utf-8", "replace").strip() for line in file]
    weights = np.array([to_number(line) for line in lines])
    bad = np.flatnonzero(~((weights >= 0.0) & (weights < np.inf))).tolist()
    problems = (f"the weight is {lines[row][:40]!r}; a finite number >= 0 is needed" for row in bad)
    fix = "Write one weight per line of data, or per query."
    raise_problems(side, [Problem(row + 1, text, fix) for row, text in zip(bad, problems, strict=True)])
    if len(weights) not in (q.n_docs, q.n_queries):
        raise InputError(
            f"{side} has {len(weights):,} weights for {amount(q.n_docs, 'documents')} and "
            f"{amount(q.n_queries, 'queries')}; one of each is needed. Remove the file if it is of other "
            "data."
        )
    return (weights, None) if len(weights) == q.n_docs else (None, weights)


def _check_last_line(path: Path, blocks: list[Block]) -> None:
    """Reject a file that ends in the middle of a line, as far as that is detectable."""
    if all(block.is_terminated for block in blocks):
        return
    # The widths of all rows but the last one show whether that one ends early.
    filled = [block for block in blocks if len(block.labels)]
    width = max(block.width for block in filled)
    last = filled[-1]
    others = [min(block.narrow, block.last) for block in filled[:-1]] + [last.narrow] * (len(last.labels) > 1)
    line = sum(block.n_lines for block in blocks)
    if others and min(others) == width > last.last:
        what = f", after feature {last.last}; every other line has {width}"
    elif end := _missing_end(path):
        what = f": its last line lacks the {end} that every other line has"
    else:
        if end is not None:
            warn(
                f"{path}:{line}: the last line has no newline, so the file may be cut off within its last "
                f"number. If it is complete, add one: `echo >> {path.name}`.",
                stacklevel=4,
            )
        return
    remedy = "Fetch or write the file again; if it is complete, add a newline at its end: "
    raise_problems(
        path, [Problem(line, f"the file ends within a line{what}", f"{remedy}`echo >> {path.name}`.")]
    )


def _missing_end(path: Path) -> str | None:
    """Return the ending that only the last row lacks, "" if there is none; None if its number is complete."""
    # Each mark of a row has a bit for a comment, and one for blanks before the end of the line.
    marks = bytearray()
    with open_data(path) as file:
        for line in file:
            if line.split(b"#")[0].strip():
                marks.append((b"#" in line) + 2 * line.rstrip(b"\r\n").endswith((b" ", b"\t")))
    # Ends that each row has, except the last one, were cut off with the rest of it.
    *others, last = marks
    missing = ~last if others else 0
    for mark in others:
        missing &= mark
    return "comment" if missing & 1 else "space at the end" if missing else None if last else ""


def _width(path: Path, blocks: list[Block], n_features: int | None) -> int:
    width = max(block.width for block in blocks)
    if n_features is not None and width > n_features:
        raise InputError(
            f"{path}: feature {width} occurs, but n_features={n_features}; "
            f"type n_features={width}, or leave it out."
        )
    return width if n_features is None else n_features


def _queries_from_sizes(path: Path, side: Path, blocks: list[Block]) -> tuple[Int64Array, tuple[int, ...]]:
    """Return the queries of a file, from another one with the number of lines of each."""
    sizes = array("q")
    with readable(side), open_data(side) as file:
        for words in map(bytes.split, stream_blocks(file)):
            bad = (i for i, word in enumerate(words) if not word.isdigit() or len(word) > 17 or not int(word))
            if (place := next(bad, None)) is not None:
                shown = repr(words[place][:40].decode("utf-8", errors="replace"))
                raise InputError(
                    f"{side}: size {len(sizes) + place + 1} is {shown}; the number of lines of a query is an "
                    "integer >= 1. Write one size per line."
                )
            sizes.extend(map(int, words))
    n_docs = sum(len(block.labels) for block in blocks)
    if (total := sum_of(np.array(sizes, dtype=np.int64))) != n_docs:
        raise InputError(
            f"{side}: the {len(sizes):,} sizes add up to {total:,}, but {path} has {n_docs:,} lines "
            "of data; both must agree.",
            Advice("sizes-of-file"),
        )
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), tuple(range(len(sizes)))


def letor_blocks(path: Path, *, missing: str) -> Iterator[Queries]:
    """Yield the rows of a file, dense, as `Queries` block by block; the file is read twice.

    The first pass finds the number of features, and raises the errors of `read_letor`. It keeps a few bytes
    for each run of one query.
    """
    check_missing(missing)
    with readable(path):
        side = _side_file(path)
        for dtype in _TYPES:
            parser = BlockParser(path, np.dtype(dtype), missing, 1, want_qid=side is None)
            without_rows, width, has_docs, is_beyond = list[Block](), 0, False, False
            for block in each_block(path, parser):
                width, has_docs = max(width, block.width), has_docs or block.doc_ids is not None
                if width > _MOST_FEATURES:
                    raise InputError(
                        f"{path}: it has a feature {width}; Parquet and Arrow files hold all features of "
                        f"every row, and at most {_MOST_FEATURES:,} are possible. Keep the text, whose zeros "
                        "take no space."
                    )
                is_beyond |= block.is_beyond
                without_rows.append(_without_rows(block))
            if not is_beyond:
                break
        qptr, _ = check_blocks(path, without_rows, side)
        first = 0
        for block, features in each_block(path, parser, width):
            if block.width > width or block.n_problems:
                raise InputError(f"{path} changed while it was converted. Convert it again.")
            n, qids = len(block.labels), block.qids
            if side is not None:
                # Without qid in the lines, a row belongs to the query whose boundaries enclose it.
                qids = np.searchsorted(qptr[1:], np.arange(first, first + n), side="right")
            docs = doc_ids_of([block]) if has_docs else None
            yield rows_as_queries(first, features, block.labels, qids, docs)
            first += n


def _without_rows(block: Block) -> Block:
    """Return the data that `check_blocks` needs from a block: a few bytes for each run of one query."""
    starts = run_starts(block.qids)
    return replace(
        block,
        labels=np.broadcast_to(0.0, len(block.labels)),
        qids=block.qids[starts],
        lines=block.lines[starts],
        doc_ids=None,
        csr=None,
    )
