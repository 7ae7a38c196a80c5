"""Rankings to evaluate: score files (one number per line, in the order of the data), models, runs.

Files are recognized by their first line, so arguments in the wrong order give a clear message.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.cli.output import remark
from directrix.cli.reading import RankedOptions
from directrix.data.checks import check_unrepeated
from directrix.data.columns import OPTIONS, ROLES, SCORES, ColumnNames, find
from directrix.data.file import DataFile
from directrix.data.files import Problem, open_data, raise_problems, readable, short_name, to_number
from directrix.data.formats import QRELS
from directrix.data.grouping import identifier_text
from directrix.data.shards.context import is_on_cluster
from directrix.data.trec.join import Judged, join_trec, unmatched
from directrix.data.trec.runs import Qrels, Run, document_names
from directrix.errors import InputError
from directrix.rankers.model_file import read_model
from directrix.types import Float64Array

# `str.splitlines` also ends lines at control characters.
_LINE_END = re.compile(r"\r\n|\r|\n")

_NAMES = {
    "model": "a model file",
    "scores": "a file of scores",
    "run": "a run",
    "judged run": "a run",
    "qrels": "qrels",
    "data": "labeled data",
}


class JudgedRanking(NamedTuple):
    """A ranking with its labels: the queries, and the arguments of `directrix.evaluate`."""

    name: str
    """Short name, which no other ranking has."""
    query_ids: tuple[str, ...]
    arrays: dict[str, Any]
    ranked: frozenset[str]
    """The queries that the ranking itself has; additional queries of other rankings are empty here."""

    @property
    def judged(self) -> Judged:
        """The ranking as a run with its judgments; ``doc_ids`` are None if the data have none."""
        run: Judged | None = self.arrays.get("run")
        return run or Judged(**self.arrays, query_ids=self.query_ids, judgments=self.arrays["labels"])


Topics = Literal["own", "any", "common", "judged"]
"""Judged topics on which a TREC run is evaluated: its own, those of any or of all runs, or all."""


def read_scores(path: Path, n_docs: int, data: Path) -> Float64Array:
    """Read a file with one score per line, plain or compressed with gzip, bzip2 or xz.

    Raises `InputError` if the file cannot be read, a line is not one finite number, or the number of lines is
    not ``n_docs``.
    """
    with readable(path), open_data(path) as file:
        content = file.read()
    try:
        lines = _LINE_END.split(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: is not text (byte {error.start}); give a model file or a file with one score per line."
        ) from error
    while lines and not lines[-1].strip():
        lines.pop()
    values = [_number(line) for line in lines]
    remedy = f"Write scores with `directrix predict MODEL {data} -o scores.txt`."
    bad = [
        Problem(
            i + 1, f"{lines[i][:40]!r} is not one finite number", f"Each line must hold one score. {remedy}"
        )
        for i, value in enumerate(values)
        if value is None
    ]
    raise_problems(path, bad)
    if len(values) != n_docs:
        raise InputError(
            f"{path} has {len(values)} scores, {data} has {n_docs} rows; one score per row is needed. "
            + remedy
        )
    return np.array(values, dtype=np.float64)


def judged_rankings(
    data: Path,
    rankings: list[Path],
    reading: RankedOptions,
    names: list[str] | None = None,
    topics: Topics = "own",
) -> list[JudgedRanking]:
    """Join every ranking with the labels of the data file.

    If the data file contains qrels, the rankings are runs. Queries without judgments do not count, as in
    trec_eval; ``topics`` selects the judged topics that do. ``names`` are the user's names of the rankings.
    """
    file, others = reading.file(data), [DataFile(path) for path in rankings]
    # Models come first: the columns that they record tell which columns of the data are features.
    models = {other.path: read_model(other.path) for other in others if other.is_model}
    file = reading.with_recorded(file, models.values())
    others = [other.with_columns(file.columns) for other in others]
    if (trec := read_trec([file, *others])) is not None:
        if reading.missing is not None or reading.by_position:
            option = "--by-position" if reading.by_position else "--missing"
            raise InputError(f"{option}: runs and qrels have no features; leave it out.")
        qrels, runs = trec
        return _judged_runs(system_names(rankings, names, [run.tag for run in runs]), runs, qrels, topics)
    if topics == "judged":
        raise InputError("--all-judged is for runs, which may lack queries of the qrels; leave it out.")
    shards = None
    if is_on_cluster():
        from directrix.data.shards.queries import open_shards

        shards = open_shards(data)
    q = reading.read_for(models.values(), file) if shards is None else shards.judged()
    check_unrepeated(q, str(data))
    ids = tuple(map(identifier_text, q.query_ids))
    doc_ids = None if q.doc_ids is None else np.array(document_names(q), dtype=object)
    judged = []
    for name, path in zip(system_names(rankings, names), rankings, strict=True):
        if path in models:
            if shards is not None:
                scores = shards.scores(models[path])
            else:
                scores = models[path].predict_queries(reading.matched(q, models[path], data, path))
        else:
            scores = read_scores(path, q.n_docs, data)[q.rows]
        arrays = {"scores": scores, "labels": q.labels, "qptr": q.qptr, "doc_ids": doc_ids}
        judged.append(JudgedRanking(name, ids, arrays, frozenset(ids)))
    return judged


def read_trec(files: list[DataFile]) -> tuple[Qrels, list[Run]] | None:
    """Read qrels and runs, text or tables; return None if the first file is labeled data."""
    columns, (data, *rankings) = files[0].columns, with_own_columns(files)
    return _read([data, *rankings], columns) if _are_qrels(data, rankings, columns) else None


def read_qrels_and_runs(qrels: Path, runs: list[Path], columns: ColumnNames) -> tuple[Qrels, list[Run]]:
    """Read qrels and runs, from text or tables."""
    return _read(with_own_columns([DataFile(path, columns) for path in (qrels, *runs)]), columns)


def _read(files: list[DataFile], columns: ColumnNames) -> tuple[Qrels, list[Run]]:
    check_no_features(files, columns)
    data, *rankings = files
    qrels = read_qrels(data)
    if data.is_table and data.kind == "run" and (qrels.labels % 1.0).any():
        raise InputError(
            f"{data} is a run, whose scores are not integers as labels are; qrels come first, then the "
            f"rankings: QRELS {data}."
        )
    return qrels, [ranking.run() for ranking in rankings]


def read_rankings(runs: list[Path], columns: ColumnNames) -> list[Run]:
    """Read runs, text or tables."""
    files = with_own_columns([DataFile(path, columns) for path in runs])
    check_no_features(files, columns)
    return [file.run() for file in files]


def read_qrels(file: DataFile) -> Qrels:
    """Read judgments; a note says how negative ones count."""
    qrels: Qrels = file.qrels()
    if n_negative := int((qrels.labels < 0.0).sum()):
        remark(
            f"note: {n_negative:,} of {len(qrels.labels):,} labels of {file} are negative (down to "
            f"{qrels.labels.min():g}); they count as 0, judged and not relevant"
        )
    return qrels


def check_no_features(files: list[DataFile], columns: ColumnNames) -> None:
    """Raise `InputError` if options name features, or columns although no file of documents is a table."""
    if not any(file.is_table for file in files):
        QRELS.check_names(files[0].path, columns)
    if columns.features is not None:
        raise InputError("--feature-columns: runs and qrels have no features; leave it out.")


def check_system_names(given: list[str] | None, files: list[Path]) -> None:
    """Raise `InputError` if ``--name`` is given without a different name for each ranking."""
    repeated = next((name for name in given or () if (given or ()).count(name) > 1), None)
    if given and (len(given) != len(files) or repeated):
        what = f"{repeated!r} is given twice" if repeated else f"{len(given)} for {len(files)} rankings"
        example = " ".join(f"--name {name}" for name in map(short_name, files))
        raise InputError(f"--name: {what}; each ranking needs a name, in their order: {example}.")


def system_names(files: list[Path], given: list[str] | None, tags: list[str] | None = None) -> list[str]:
    """Return a short name for every ranking: the given name, else the run tag, else the file name.

    Equal names get the file name as a suffix, or the path if the file names are equal too.
    """
    if given:
        return given
    names = [short_name(file) for file in files] if tags is None else tags
    for longer in (lambda file: file.name, str):
        names = [
            (longer(file) if tags is None else f"{tag} ({longer(file)})") if names.count(name) > 1 else name
            for file, name, tag in zip(files, names, tags or names, strict=True)
        ]
    return names


def _judged_runs(names: list[str], runs: list[Run], qrels: Qrels, topics: Topics) -> list[JudgedRanking]:
    # Joining rejects runs of other topics.
    joined = [join_trec(run, qrels) for run in runs]
    ranked = [frozenset(j.query_ids) for j in joined]
    if topics == "judged":
        joined = [join_trec(run, qrels, queries=qrels.query_ids) for run in runs]
    elif topics == "own":
        for name, run in zip(names, runs, strict=True):
            note_unmatched(name, [run], qrels.query_ids, _ALL_JUDGED)
    else:
        note_unmatched("the runs", runs, qrels.query_ids, _ALL_JUDGED)
        every = dict.fromkeys(query for j in joined for query in j.query_ids)
        shared = frozenset.intersection(*ranked)
        chosen = [query for query in every if topics == "any" or query in shared]
        if not chosen:
            raise InputError(
                "no topic is in all runs; leave out --common-queries to count missing topics as empty "
                "rankings."
            )
        joined = [join_trec(run, qrels, queries=chosen) for run in runs]
    return [
        JudgedRanking(name, j.query_ids, {"run": j}, queries)
        for name, j, queries in zip(names, joined, ranked, strict=True)
    ]


_ALL_JUDGED = "; --all-judged counts the others as empty rankings"


def note_unmatched(name: str, runs: Iterable[Run], judged: Collection[str], remedy: str = "") -> None:
    """Print how many queries of the runs are not judged, and how many judged queries no run has."""
    ranked = {query for run in runs for query in run.query_ids}
    if text := unmatched(name, ranked, judged):
        remark(f"note: {text}{'' if ranked.issuperset(judged) else remedy}")


def _number(line: str) -> float | None:
    value = to_number(line.strip(" \t"))
    return value if math.isfinite(value) else None


def with_own_columns(files: list[DataFile]) -> list[DataFile]:
    """Return files with those of their columns, which options name for all of them, that each one has.

    Raises `InputError` if there are tables, but none has a column that the user named.
    """
    tables = [file for file in files if file.is_table]
    for key in OPTIONS if tables else ():
        name = None if ROLES[key].is_list else getattr(files[0].columns, key)
        if name is not None and not any(name in table.names for table in tables):
            # The column is missing in every table, so `find` raises an error that names one of them.
            table = tables[-1 if key == "score" else 0]
            find(table.names, key, name, str(table), "")
    return [file.with_own_columns() for file in files]


def _are_qrels(data: DataFile, rankings: list[DataFile], columns: ColumnNames) -> bool:
    """Return whether the first file is qrels, which judge runs; else it is labeled data.

    A table of labels is qrels if a ranking is a run: its columns may leave that open. Files whose kind is
    unclear are left to their readers. Raises `InputError` at the first ranking in place of labeled data,
    labeled data among rankings, or ranking of other data.
    """
    kind = data.kind
    # Where one column name means the labels of judgments and the scores of runs, runs have no labels.
    if columns.label in (columns.score, *SCORES):
        rankings = [ranking.with_columns(replace(ranking.columns, label=None)) for ranking in rankings]
    kinds = [ranking.kind for ranking in rankings]
    # Judgments of ranx and BEIR call labels scores, so they look like a run. Text of no kind gets its message
    # from the reader of qrels.
    if {*kinds} <= {"run", "judged run"} and (kind == "" or (kind == "run" and data.is_table)):
        return True
    if kind in ("model", "scores", "run"):
        right = next((r for r, kind in zip(rankings, kinds, strict=True) if kind in ("data", "qrels")), None)
        order = f"{right or 'DATA'} {data}"
        raise InputError(
            f"{data} is {_NAMES[kind]}; labeled data or qrels come first, then the rankings: {order}."
        )
    if data.is_table:
        kind = "qrels" if {"run", "judged run"}.intersection(kinds) else "data"
    for ranking, other in zip(rankings, kinds, strict=True):
        # Text that looks like qrels may be a ranking of MS MARCO; its reader says what a run needs.
        if ranking.is_table or not kind == other == "qrels":
            _check_ranking(ranking, other, data, kind)
    return kind == "qrels"


def _check_ranking(ranking: DataFile, kind: str, data: DataFile, kind_of_data: str) -> None:
    """Raise `InputError` if a file of this kind is no ranking, or a ranking of other data."""
    if kind in ("data", "qrels"):
        # A table without labels lacks only the scores of a run, which `find` reports.
        names, columns = ranking.names if ranking.is_table else [], ranking.columns
        if names and find(names, "label", columns.label, str(ranking), "", optional=True) is None:
            find(names, "score", columns.score, str(ranking), "")
        raise InputError(
            f"{ranking} is {_NAMES[kind]} and not a ranking; after {data} give files of scores, models or "
            "runs."
        )
    if kind_of_data == "qrels" and kind in ("model", "scores"):
        raise InputError(
            f"{ranking} is {_NAMES[kind]}, but {data} is qrels, which judge runs; write one: "
            "`directrix predict MODEL DATA --run TAG -o FILE.run`."
        )
    if kind_of_data == "data" and kind == "run":
        raise InputError(
            f"{ranking} is a run, but {data} is labeled data. Runs need qrels; write them with "
            f"`directrix convert {data} FILE.qrels`."
        )
