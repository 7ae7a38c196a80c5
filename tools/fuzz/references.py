"""Parsers of other tools, which see what was accepted, and the reasons where we accept more than they do."""

from __future__ import annotations

import bz2
import csv as csv_module
import gzip
import io
import json
import lzma
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Rewrite = tuple[re.Pattern[bytes], bytes, str]

_MISSING = re.compile(rb"(?<=:)(?:[nN][uU][lL][lL]|[-+]?[nN][aA][nN])(?=[\s#]|\Z)")

BEYOND: dict[str, Rewrite] = {
    "byte order mark": (
        re.compile(rb"\A\xef\xbb\xbf"),
        b"",
        "Windows writes it before the text; scikit-learn and trec_eval take it as part of the first word",
    ),
    "comments": (
        re.compile(rb"#[^\n]*"),
        b"",
        "comments name documents and are not data; scikit-learn rejects those that are not UTF-8",
    ),
    "query identifiers": (
        re.compile(rb"qid:[^\s#]+"),
        b"",
        "identifiers are any text here and whole numbers in scikit-learn; `Queries` checks them",
    ),
    "missing as zero": (
        _MISSING,
        b"0",
        "LETOR 4 writes NULL; missing='zero' was asked for",
    ),
    "missing as nan": (
        _MISSING,
        b"nan",
        "LETOR 4 writes NULL; missing='nan' was asked for",
    ),
    "carriage return": (
        re.compile(rb"\r\n?"),
        b"\n",
        "older systems end lines so, and no number contains one; NumPy rejects it within a line",
    ),
}
"""What we accept and a reference does not: how the reference gets it, and why we accept it."""


def beyond(data: bytes, *names: str) -> bytes:
    """Rewrite what a reference does not know, for the written reasons."""
    for name in names:
        pattern, replacement, _ = BEYOND[name]
        data = pattern.sub(replacement, data)
    return data


def letor(data: bytes, result: Any) -> str:
    """scikit-learn's ``load_svmlight_file``: the same labels and features, to the last bit."""
    from sklearn.datasets import load_svmlight_file

    q, missing, base = result
    known = () if missing == "error" else (f"missing as {missing}",)
    text = beyond(_plain(data), "byte order mark", "comments", "query identifiers", *known)
    try:
        X, y = load_svmlight_file(
            io.BytesIO(text), zero_based=base == 0, n_features=max(q.n_features, 1), dtype=np.float64
        )
    except (ValueError, OverflowError) as error:
        return f"scikit-learn rejects it: {error}"
    if len(y) != q.n_docs:
        return f"scikit-learn has {len(y)} documents, we {q.n_docs}"
    order = np.asarray(q.rows)
    if not np.array_equal(y[order], q.labels, equal_nan=True):
        return "scikit-learn has other labels"
    if X.shape[1] * q.n_docs > 1 << 20:
        return ""
    ours = q.features.toarray() if hasattr(q.features, "toarray") else q.features
    with np.errstate(over="ignore"):
        theirs = X.toarray()[order][:, : q.n_features].astype(ours.dtype)
    return "" if np.array_equal(ours, theirs, equal_nan=True) else "scikit-learn has other features"


def groups(data: bytes, q: Any) -> str:
    """Whole numbers, as LightGBM's ``.query`` files have them; their sum is the number of rows."""
    words = beyond(_plain(data), "byte order mark").split()
    if not all(re.fullmatch(rb"[0-9]+", word) for word in words):
        return f"{words[:5]} are not all whole numbers"
    same = [int(word) for word in words] == np.diff(q.qptr).tolist()
    return "" if same else f"the file says {words[:5]}, we read {np.diff(q.qptr).tolist()[:5]}"


def run(data: bytes, result: Any) -> str:
    """trec_eval: six words between blanks of ASCII, of which the third and fifth count; no document twice."""
    theirs: dict[str, dict[str, float]] = {}
    for words in _words(data):
        if len(words) != 6 or words[2] in theirs.setdefault(words[0], {}):
            return f"trec_eval rejects {' '.join(words)[:80]!r}"
        theirs[words[0]][words[2]] = float(words[4])
    bounds = zip(result.query_ids, result.qptr, result.qptr[1:], strict=False)
    ours = {q: dict(zip(result.doc_ids[a:b], result.scores[a:b].tolist(), strict=True)) for q, a, b in bounds}
    return "" if ours == theirs else "trec_eval reads other documents or scores"


def qrels(data: bytes, result: Any) -> str:
    """trec_eval's rule: ``query iteration document relevance``; and our three columns, without the second.

    Relevance may be a fraction, as gains of other tools are; trec_eval cuts it to a whole number.
    """
    ours = {query: result.of_query(i) for i, query in enumerate(result.query_ids)}
    theirs: dict[str, dict[str, float]] = {}
    for words in _words(data):
        seen = theirs.setdefault(words[0], {})
        seen[words[-2]] = max(seen.get(words[-2], -math.inf), float(words[-1]))
    return "" if ours == theirs else "trec_eval reads other documents or judgments"


def scores(data: bytes, result: Any) -> str:
    """``numpy.loadtxt``: the same numbers."""
    try:
        text = beyond(_plain(data), "byte order mark", "carriage return").decode()
        theirs = np.loadtxt(io.StringIO(text), comments=None, ndmin=1)
    except ValueError as error:
        return f"NumPy rejects it: {error}"
    return "" if np.array_equal(theirs, result) else "NumPy reads other scores"


def csv(data: bytes, q: Any) -> str:
    """The module csv of Python: the same number of rows, and all labels are among its cells."""
    text = _plain(data).decode("utf-8-sig", "replace")
    sign = "\t" if "\t" in text.split("\n")[0] and "," not in text.split("\n")[0] else ","
    rows = [row for row in csv_module.reader(io.StringIO(text, newline=""), delimiter=sign) if row]
    return "" if len(rows) - 1 == q.n_docs else f"csv has {len(rows) - 1} rows, we {q.n_docs}"


def json_lines(data: bytes, q: Any) -> str:
    """The module json of Python, line by line: the same number of rows."""
    decoder, text, at, count = json.JSONDecoder(), _plain(data).decode("utf-8-sig", "replace"), 0, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            _, at = decoder.raw_decode(text, at)
        except ValueError as error:
            return f"json rejects it: {error}"
        count += 1
    return "" if count == q.n_docs else f"json has {count} rows, we {q.n_docs}"


def arrow(data: bytes, q: Any) -> str:
    """pyarrow: the table is valid by ``validate(full=True)``, and has as many rows."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        return f"pyarrow rejects it: {str(error)[:100]}"
    return "" if table.num_rows == q.n_docs else f"pyarrow has {table.num_rows} rows, we {q.n_docs}"


def parquet(data: bytes, q: Any) -> str:
    """pyarrow: as for `arrow`."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        names = {"qid", "label", "docid", "docno", "features", *(q.feature_names or ())}
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
        # a damaged column that is not read does no harm
        table = file.read(columns=[name for name in file.schema_arrow.names if name in names])
        table.validate(full=True)
    except pa.ArrowMemoryError:
        return ""  # it reads pages of a column that we skip
    except (pa.ArrowException, OSError) as error:
        return f"pyarrow rejects it: {str(error)[:100]}"
    return "" if table.num_rows == q.n_docs else f"pyarrow has {table.num_rows} rows, we {q.n_docs}"


def cells(data: bytes, seconds: float) -> str:
    """The module json: the sum of the ``seconds`` of complete lines, of each key the last."""
    read = map(json.loads, data.split(b"\n")[:-1])
    theirs = sum({json.dumps(line["key"]): line["seconds"] for line in read}.values())
    return "" if math.isclose(seconds, theirs) else f"json has {theirs} seconds, we {seconds}"


def model(data: bytes, result: Any) -> str:
    """The module json reads the file, and every score is a number."""
    json.loads(_plain(data).decode("utf-8-sig"))
    _, predicted = result
    finite = predicted is None or np.isfinite(predicted).all()
    return "" if finite else "a score is not finite"


def trees(data: bytes, result: Any) -> str:
    """LightGBM, given the trees as its own text: the same scores, to the last bit."""
    import lightgbm

    ranker, predicted = result
    if (
        predicted is None
        or not hasattr(ranker, "trees_")
        or ranker.trees_.n_trees == 0
        or ranker.scale_ is not None
    ):
        return model(data, result)
    booster = lightgbm.Booster(model_str=ranker.trees_.to_lightgbm(), params={"verbosity": -1})
    n_features = ranker.n_features_in_
    X = np.vstack([np.arange(5.0 * n_features).reshape(5, -1) % 7 - 2.5, np.zeros(n_features)])
    theirs = booster.predict(X, num_threads=1, predict_disable_shape_check=True)
    same = np.array_equal(theirs, predicted, equal_nan=True)
    return model(data, result) if same else f"LightGBM scores {theirs[:3]}, we {predicted[:3]}"


def printed(read: Callable[[str], Any]) -> Callable[[bytes, Any], str]:
    """What was read prints itself as a text that reads the same."""

    def check(data: bytes, result: Any) -> str:
        again = read(repr(result))
        return "" if again == result or repr(again) == repr(result) else f"{again!r} is not {result!r}"

    return check


def _words(data: bytes) -> Iterator[list[str]]:
    """Words of the lines that have some, split at the blanks of ASCII."""
    for line in beyond(_plain(data), "byte order mark").split(b"\n"):
        if words := line.split():
            yield [word.decode("utf-8", "backslashreplace") for word in words]


def _plain(data: bytes) -> bytes:
    """Without the compression that the readers see through, whatever the name says."""
    for magic, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ\x00", lzma)):
        if data.startswith(magic):
            return bytes(module.decompress(data))  # type: ignore[attr-defined]
    return data
