"""Rankings to evaluate: score files (one number per line, in the order of the data), models, TREC runs."""

from __future__ import annotations

import lzma
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from directrix.data.blocks import open_compressed
from directrix.data.letor import read_letor
from directrix.data.trec import join_trec, read_trec_qrels, read_trec_run
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.rankers.linear import LinearRanker

__all__ = ["Judgement", "is_model", "is_qrels", "judgements", "read_scores", "score_lines"]

_SHOWN = 20


class Judgement(NamedTuple):
    """A ranking with its labels, as measures take it; fields as in `directrix.data.trec.Judged`."""

    scores: Float64Array
    labels: Float64Array
    qptr: Int64Array
    query_ids: tuple[str, ...]
    doc_ids: Array | None


def read_scores(path: Path, n_docs: int, data: Path) -> Float64Array:
    """Read one score per line.

    Raises
    ------
    InputError
        If the file cannot be read, a line is not one finite number, or their count is not ``n_docs``.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a model file or a file with one score per line.")
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; give a model file or a file with one score per line."
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is not text (byte {error.start}); give a model file or a file with one score per line."
        ) from error
    while lines and not lines[-1].strip():
        lines.pop()
    values = [_number(line) for line in lines]
    bad = [f"{path}:{i + 1}: {lines[i][:40]!r}" for i, value in enumerate(values) if value is None]
    if bad:
        more = f"\n... and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise InputError(
            f"{path}: {len(bad)} lines are not one finite number; each line must be one score, "
            f"in the order of {data}. Write them with `directrix predict MODEL {data} -o scores.txt`.\n"
            + "\n".join(bad[:_SHOWN])
            + more
        )
    if len(values) != n_docs:
        raise InputError(
            f"{path}: holds {len(values)} scores, {data} has {n_docs} rows; there must be one score per row. "
            f"Write them with `directrix predict MODEL {data} -o scores.txt`."
        )
    return np.array(values, dtype=np.float64)


def is_model(path: Path) -> bool:
    """Whether a file begins like JSON; what cannot be read is left to the readers' messages."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
    except OSError:
        return path.suffix == ".json"


def score_lines(scores: Float64Array) -> str:
    """One score per line, with the digits that read back to the same bits."""
    return "".join(f"{score!r}\n" for score in scores.tolist())


def judgements(data: Path, rankings: list[Path]) -> list[Judgement]:
    """Bring every ranking together with the labels of the data file.

    A data file whose first line has 3 or 4 columns and no ``qid:`` holds TREC judgements, its rankings
    are TREC runs; queries that are not in both do not count, as in trec_eval.
    """
    if is_qrels(data):
        qrels = read_trec_qrels(data)
        joined = [join_trec(read_trec_run(path), qrels) for path in rankings]
        return [Judgement(j.scores, j.labels, j.qptr, j.query_ids, j.doc_ids) for j in joined]
    models = {path: _load(path) for path in rankings if is_model(path)}
    q = read_letor(data, n_features=max((m.n_features_in_ for m in models.values()), default=None))
    ids = tuple(map(str, q.query_ids))
    found = []
    for path in rankings:
        model = models.get(path)
        scores = read_scores(path, q.n_docs, data) if model is None else model.predict_queries(q)
        found.append(Judgement(scores, q.labels, q.qptr, ids, q.doc_ids))
    return found


def _load(path: Path) -> LinearRanker:
    from directrix.rankers.model_file import (
        load,  # brings scikit-learn, a second that score files do not need
    )

    return load(path)


def is_qrels(path: Path) -> bool:
    """Whether the first line looks like TREC judgements; what cannot be read is left to the readers."""
    try:
        with open_compressed(path) or path.open("rb") as file:
            words = file.readline(4096).split()
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        return False
    return len(words) in (3, 4) and not any(b":" in word for word in words[1:])


def _number(line: str) -> float | None:
    try:
        value = float(line)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in line else None
