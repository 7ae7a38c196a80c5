"""The runs and judgements, as the four data sets of the experiment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.data.trec.features import runs_as_features
from directrix.data.trec.files import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.data.trec.join import join_trec
from directrix.data.trec.scores import RunScores
from directrix.errors import InputError
from directrix.measures.precision import AP
from directrix.types import Float64Array

__all__ = [
    "ALL",
    "COLUMNS",
    "WITHOUT_BEST",
    "BaseFunction",
    "Collection",
    "average_precision",
    "read_collection",
]

COLUMNS = {  # name of a data set, and how the names of its runs begin
    "basic": ("basic-",),
    "plain + basic": ("plain-", "basic-"),
    "all": ("",),
}
ALL, WITHOUT_BEST = "all", "all without the best"
_QRELS, _RUNS = "trec7/qrels.trec7.txt", "trec7/runs"
_DEPTH = 1000  # documents of a run that count, as in the paper


class BaseFunction(NamedTuple):
    """One run by itself.

    Parameters
    ----------
    name : str
        Of its file.
    values : float64 (n_topics,)
        Its average precision.
    """

    name: str
    values: Float64Array


@dataclass(frozen=True, eq=False)
class Collection:
    """The data of the experiment.

    Parameters
    ----------
    topics : tuple of str
        In the order of all data sets.
    columns : dict of str to RunScores
        The data sets: documents in the union of what the runs retrieved, with the score of each run.
    base : dict of str to tuple of BaseFunction
        The runs that each data set is compared with, by falling MAP. Of "all without the best" they are all
        the runs, as in the paper.
    digest : str
        Of the bytes of all files and their names.
    """

    topics: tuple[str, ...]
    columns: dict[str, RunScores]
    base: dict[str, tuple[BaseFunction, ...]]
    digest: str


def read_collection(folder: Path) -> Collection:
    """Read the runs and judgements of TREC-7.

    Parameters
    ----------
    folder : Path
        Holds ``trec7/qrels.trec7.txt`` and ``trec7/runs``, where the names of runs begin with ``basic-``,
        ``plain-`` and others.

    Returns
    -------
    Collection

    Raises
    ------
    InputError
        If files are missing, or cannot be read.
    """
    paths = _paths(folder)
    qrels = read_trec_qrels(folder / _QRELS)
    runs = [replace(read_trec_run(path), tag=path.name.split(".res")[0]) for path in paths]
    members = {
        column: [run for run in runs if run.tag.startswith(starts)] for column, starts in COLUMNS.items()
    }
    columns = {column: runs_as_features(chosen, qrels, depth=_DEPTH) for column, chosen in members.items()}
    topics = columns[ALL].query_ids
    functions = {run.tag: _base_function(run, qrels, topics) for run in runs}
    base = {column: _ordered([functions[run.tag] for run in chosen]) for column, chosen in members.items()}
    others = [run for run in runs if run.tag != base[ALL][0].name]
    columns[WITHOUT_BEST] = runs_as_features(others, qrels, depth=_DEPTH)
    base[WITHOUT_BEST] = base[ALL]
    for column, scores in columns.items():
        if scores.query_ids != topics:
            raise InputError(
                f"the runs of the data set {column!r} have {scores.n_queries} topics, all runs together "
                f"{len(topics)}; the same topics are needed. Check {folder / _RUNS}."
            )
    return Collection(topics, columns, base, _digest([folder / _QRELS, *paths]))


def average_precision(runs: RunScores, scores: Any) -> Float64Array:
    r"""Average precision of every topic, over all relevant documents of the judgements.

    .. math:: \mathrm{AP} = \frac{1}{R}\sum_{i:\,r_i=1} \mathrm{P@}\pi(i)

    Parameters
    ----------
    runs : RunScores
        Documents with labels; ``n_relevant`` is R, which counts documents that no run retrieved: they
        earn nothing.
    scores : float (n_docs,)
        Higher is better, -inf = not retrieved, ties by expectation.

    Returns
    -------
    float64 (n_topics,)
    """
    measure = AP(rel=1)
    earned = measure(scores, runs.labels, runs.qptr) * np.add.reduceat(runs.labels >= 1, runs.qptr[:-1])
    return np.asarray(earned / np.maximum(runs.n_relevant, 1))


def _base_function(run: Run, qrels: Qrels, topics: tuple[str, ...]) -> BaseFunction:
    """The run by itself; a topic that it lacks counts 0."""
    judged = join_trec(run, qrels, queries="judged")
    values = dict(zip(judged.query_ids, AP(rel=1)(judged.scores, judged.labels, judged.qptr), strict=True))
    return BaseFunction(run.tag, np.array([values[topic] for topic in topics]))


def _ordered(functions: Sequence[BaseFunction]) -> tuple[BaseFunction, ...]:
    return tuple(sorted(functions, key=lambda function: -function.values.mean()))


def _paths(folder: Path) -> list[Path]:
    paths = sorted((folder / _RUNS).glob("*.res*"))
    wanted = {start: any(path.name.startswith(start) for path in paths) for start in ("basic-", "plain-")}
    missing = [str(folder / _RUNS / f"{start}*.res.gz") for start, there in wanted.items() if not there]
    missing += [] if (folder / _QRELS).is_file() else [str(folder / _QRELS)]
    if missing:
        raise InputError(
            f"{folder}: has no {', no '.join(missing)}; the judgements and runs of TREC-7 are needed. Give "
            "the folder that holds trec7/, e.g. --data data."
        )
    return paths


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
