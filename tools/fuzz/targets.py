"""The table of what is fuzzed: what it takes, how that is mutated, what is called, what it must equal."""

from __future__ import annotations

import contextlib
import json
import tempfile
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx
from tools.fuzz import arrays, references, seeds, shards
from tools.fuzz.mutators import (
    Mutator,
    compressed,
    of_archive,
    of_binary,
    of_json,
    of_json_lines,
    of_lines,
    of_text,
)

Result = Any


@dataclass(frozen=True)
class Target:
    """One door of the package, through which input of strangers comes."""

    part: str
    """readers, models, texts or arrays: a row of the summary."""
    seeds: Callable[[], Sequence[bytes]]
    mutate: Mutator
    call: Callable[[Any], Result]
    """Takes the path of a file with the input if there is a suffix, else the bytes; raises if it rejects."""
    suffix: str | None = None
    check: Callable[[bytes, Result], str] = lambda data, result: ""
    """Compares what was accepted with a reference; "" or what differs."""
    weight: int = 1
    """Share of the inputs."""


def _options(path: Path, *choices: Sequence[Any]) -> list[Any]:
    """Options that depend on the content alone, so that an input can be repeated from its file."""
    number, chosen = zlib.crc32(path.read_bytes()), []
    for choice in choices:
        number, at = divmod(number, len(choice))
        chosen.append(choice[at])
    return chosen


def _used(q: Any) -> Any:
    """Queries as their readers promise them, and one kernel that trusts their pointers."""
    assert q.qptr[0] == 0
    assert q.qptr[-1] == len(q.labels) == q.features.shape[0]
    assert (np.diff(q.qptr) >= 0).all()
    dx.RR()(np.zeros(q.n_docs), q.labels, q.qptr)
    if q.n_docs and q.n_features:
        q.take([0]).features[:2]
    return q


def _letor(path: Path) -> Any:
    missing, sparse, dtype, base = _options(
        path, ("error", "nan", "zero"), (None, None, True, False), (np.float32, np.float64), (1, 1, 1, 0)
    )
    q = dx.read_letor(path, missing=missing, sparse=sparse, dtype=dtype, index_base=base)
    return _used(q), missing, base


def _letor_parts(path: Path) -> list[Any]:
    from directrix.data.letor.read import letor_blocks

    return [_used(block) for block in letor_blocks(path, missing="nan")]


@cache
def _beside(folder: Path) -> Path:
    data = folder / "without-queries.txt"
    data.write_bytes(seeds.plain())
    return data


def _groups(path: Path) -> Any:
    return _used(dx.read_letor(_beside(path.parent), groups=path))


def _any_format(path: Path) -> Any:
    from directrix.data.file import DataFile

    return _used(DataFile(path).queries("nan"))


def _judged(path: Path) -> Any:
    qrels = dx.read_trec_qrels(path)
    run = dx.data.Run("x", qrels.query_ids, qrels.qptr, qrels.doc_ids, np.zeros(len(qrels.doc_ids)))
    dx.evaluate(["AP", "JudgedRate"], run=run, qrels=qrels)
    return qrels


def _run(path: Path) -> Any:
    run = dx.read_trec_run(path)
    qrels = dx.data.Qrels(run.query_ids, run.qptr, run.doc_ids, np.ones(len(run.doc_ids)))
    dx.evaluate(["AP", "nDCG@10"], run=run, qrels=qrels)
    return run


def _scores(path: Path) -> Any:
    from directrix.cli.rankings import read_scores

    return read_scores(path, 5, Path("data.txt"))


def _table(path: Path) -> Any:
    (missing,) = _options(path, ("error", "nan", "zero"))
    return _used(dx.data.read_parquet(path, missing=missing))


def _opened(path: Path) -> Any:
    q = dx.data.open_parquet(path)
    q.features[0 : q.n_docs]
    return _used(q)


def _cells(path: Path) -> Any:
    from directrix.experiments.cells import run_cells, total_seconds

    run_cells([], path)
    return total_seconds(path)


def _model(path: Path) -> Any:
    ranker = dx.load(path)
    if ranker.n_features_in_ > 1000:
        return ranker, None
    X = np.vstack(
        [np.arange(5.0 * ranker.n_features_in_).reshape(5, -1) % 7 - 2.5, np.zeros(ranker.n_features_in_)]
    )
    with contextlib.suppress(dx.InputError):  # of categories
        dx.load_scorer(path).rank(X)
    if ranker.calibration_ is not None:
        ranker.predict_probability(X)
    return ranker, ranker.predict(X)


@cache
def _scorer() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        path.write_bytes(seeds.with_categories())
        return dx.load_scorer(path)


def _rows(data: bytes) -> Any:
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise dx.InputError(f"the rows are not JSON ({type(error).__name__}).") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of categories
        return _scorer().predict(rows)


def _text(read: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda data: read(data.decode("utf-8", "surrogateescape"))


def _of_file(text: str) -> Any:
    from directrix.measures.names import texts_of_a_file

    with texts_of_a_file():
        return dx.measure(text)


def _trainer(text: str) -> Any:
    from directrix.rankers.named_trainers import trainer_from

    return trainer_from(text)


def _scale(text: str) -> Any:
    return dx.data.fit_scale(text, np.eye(3))


def _subtext(text: str) -> Any:
    return dx.LinearRanker(text).fit(np.eye(3), [0, 1, 0]) if len(text) < 200 else dx.surrogate(text)


def _settings(text: str) -> Any:
    from directrix.cli.options import parse_settings

    return parse_settings(text.split("\n"), {"random_state": "--seed"})


def _encoded(*values: str) -> Callable[[], list[bytes]]:
    return lambda: [value.encode() for value in values]


def _names(values: Callable[[], Any]) -> Callable[[], list[bytes]]:
    return lambda: [str(getattr(value, "name", value)).encode() for value in values()]


def _index(path: Path) -> Any:
    from directrix.text import Index

    index = Index.load(path)
    query, run = {"q": "wings in a slipstream"}, {"q": dict.fromkeys(list(index.doc_ids), 1.0)}
    with contextlib.suppress(dx.InputError):  # no document has a word of the query
        str(index.candidates(query))
    repr(index).encode()  # names that a terminal can show
    return index.features(query, run) if index.n_docs else index


def _documents(path: Path) -> Any:
    from directrix.text.documents import iter_documents

    return list(iter_documents(path))


def _responses(path: Path) -> Any:
    return _used(dx.data.read_responses(path, missing="nan"))


def _log(path: Path) -> Any:
    (name,) = _options(path, ("PBM", "UBM", "CM", "DCM", "SDBN", "DBN", "GCTR", "RCTR", "DCTR"))
    log = dx.clicks.Log.read(path)
    cells = log.aggregate()
    assert (cells.clicks <= cells.impressions).all()
    assert np.isfinite(dx.clicks.model(name, max_iter=3).fit(log).attraction_).all()
    dx.clicks.propensities(log, n_resamples=20)
    return log


def _events(path: Path) -> Any:
    by, negatives = _options(path, ("day", "user", "session"), (None, 2))
    q = dx.data.from_interactions(path, by=by, negatives=negatives)
    assert (np.diff(q.times) >= 0.0).all()
    assert (q.ends >= q.times).all()
    return _used(q)


FILES = {
    "letor": Target("readers", seeds.letor, of_lines, _letor, ".txt", references.letor, 4),
    "letor-compressed": Target("readers", seeds.letor, compressed(of_lines), _letor, ".txt.gz", weight=2),
    "letor-parts": Target("readers", seeds.letor, of_lines, _letor_parts, ".txt"),
    "groups": Target("readers", seeds.groups, of_lines, _groups, ".query", references.groups),
    "run": Target("readers", seeds.run, of_lines, _run, ".run", references.run, 2),
    "qrels": Target("readers", seeds.qrels, of_lines, _judged, ".qrels", references.qrels, 2),
    "scores": Target("readers", seeds.scores, of_lines, _scores, ".scores", references.scores),
    "csv": Target("readers", seeds.csv, of_lines, _table, ".csv", references.csv, 2),
    "json-lines": Target(
        "readers", seeds.json_lines, of_json_lines, _table, ".jsonl", references.json_lines, 2
    ),
    "arrow": Target("readers", seeds.arrow, of_binary, _table, ".arrow", references.arrow, 3),
    "arrow-opened": Target("readers", seeds.arrow, of_binary, _opened, ".arrow", weight=2),
    "parquet": Target("readers", seeds.parquet, of_binary, _table, ".parquet", references.parquet, 2),
    "any-format": Target(
        "readers",
        lambda: [*seeds.letor(), *seeds.csv(), *seeds.json_lines(), *seeds.qrels()],
        of_lines,
        _any_format,
        "",
    ),
    "log": Target("readers", seeds.log, of_lines, _log, ""),
    "events": Target("readers", seeds.events, of_lines, _events, ""),
    "documents": Target("readers", seeds.documents, of_lines, _documents, ""),
    "index": Target("readers", seeds.index, of_archive, _index, ".index", weight=2),
    "responses": Target("readers", seeds.responses, of_json_lines, _responses, ".jsonl", weight=2),
    "manifest": Target("readers", shards.manifest, shards.of_manifest, shards.open_manifest, ".json"),
    "answers": Target("readers", shards.answers, shards.of_answers, shards.resume, ".answers"),
    "cells": Target("readers", seeds.cells, of_json_lines, _cells, ".jsonl", references.cells),
    "linear": Target("models", seeds.linear, of_json, _model, ".json", references.model),
    "network": Target("models", seeds.network, of_json, _model, ".json", references.model),
    "stumps": Target("models", seeds.stumps, of_json, _model, ".json", references.model),
    "trees": Target("models", seeds.trees, of_json, _model, ".json", references.trees, 4),
    "ensemble": Target("models", seeds.ensemble, of_json, _model, ".json", references.model, 2),
    "calibrated": Target("models", seeds.calibrated, of_json, _model, ".json", references.model),
    "oblivious": Target("models", seeds.oblivious, of_json, _model, ".json", references.trees, 2),
    "rows": Target("models", seeds.rows, of_json, _rows),
}
TEXTS = {
    "measure": Target(
        "texts", seeds.measures, of_text, _text(dx.measure), check=references.printed(dx.measure), weight=3
    ),
    "measure-of-file": Target("texts", seeds.measures, of_text, _text(_of_file)),
    "surrogate": Target(
        "texts",
        seeds.surrogates,
        of_text,
        _text(dx.surrogate),
        check=references.printed(dx.surrogate),
        weight=2,
    ),
    "surrogate-fit": Target("texts", seeds.surrogates, of_text, _text(_subtext)),
    "method": Target("texts", _names(dx.methods), of_text, _text(dx.method)),
    "convention": Target("texts", _names(dx.measures.conventions), of_text, _text(dx.convention)),
    "scale": Target(
        "texts", _encoded("standard", "raw+log", "query-percentile", "quantile"), of_text, _text(_scale)
    ),
    "trainer": Target("texts", seeds.trainers, of_text, _text(_trainer)),
    "settings": Target(
        "texts", _encoded("alpha=50", "k=None\nl2=1e-4", "hidden=(10, 5)"), of_text, _text(_settings)
    ),
}
ARRAYS = {
    name: Target("arrays", lambda: [b""], arrays.mutate, arrays.caller(name), weight=2)
    for name in arrays.GROUPS
}
TARGETS = FILES | TEXTS | ARRAYS


def target_of(name: str) -> Target:
    """Return a target by name; that of the harness's own test runs its input, and is never fuzzed."""
    return TARGETS.get(name) or Target("self", lambda: [b"pass"], of_text, exec)
