"""The runs and judgments of TREC-7, as the four data sets of the experiment.

"basic" and "plain + basic" are in place of those that the authors made of retrieval functions of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.trec.features import RunScores, runs_as_features
from directrix.data.trec.join import join_trec
from directrix.data.trec.runs import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.errors import InputError
from directrix.measures.precision import AP
from directrix.types import Float64Array

ALL, WITHOUT_BEST = "all", "all without the best"
_PREFIXES = {"basic": ("basic-",), "plain + basic": ("basic-", "plain-"), ALL: ("",)}  # of names of runs
_QRELS, _RUNS = "trec7/qrels.trec7.txt", "trec7/runs"
DEPTH = 1000
"""Documents of a run that count, as in the paper."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The data of the experiment."""

    topics: tuple[str, ...]  # in the order of all data sets
    # documents in the union of what the runs retrieved, with the score of each run
    data_sets: dict[str, RunScores]
    # dict of str to dict of str to float64 (n_topics,): for each data set the runs that it is compared with,
    # by falling MAP: name of the file, and average precision of every topic. "all without the best" is
    # compared with all runs, as in the paper.
    single: dict[str, dict[str, Float64Array]]
    digest: str  # SHA-256 of the bytes of all files and their names


def read_runs(folder: Path) -> Runs:
    """Read the runs and judgments of TREC-7.

    Parameters
    ----------
    folder : Path
        Holds ``trec7/qrels.trec7.txt`` and ``trec7/runs``, where the names of runs begin with ``basic-``,
        ``plain-`` and others.

    Returns
    -------
    Runs

    Raises
    ------
    InputError
        If files are missing, or cannot be read.
    """
    paths = _paths(folder)
    qrels = read_trec_qrels(folder / _QRELS)
    runs = [replace(read_trec_run(path), tag=path.name.split(".res")[0]) for path in paths]
    members = {
        name: [run for run in runs if run.tag.startswith(prefixes)] for name, prefixes in _PREFIXES.items()
    }
    found = compared(members, qrels, digest_of([folder / _QRELS, *paths]))
    others = [run for run in runs if run.tag != next(iter(found.single[ALL]))]
    data_sets = {**found.data_sets, WITHOUT_BEST: runs_as_features(others, qrels, depth=DEPTH)}
    for name, scores in data_sets.items():
        if scores.query_ids != found.topics:
            raise InputError(
                f"the runs of the data set {name!r} have {scores.n_queries} topics, all runs together "
                f"{len(found.topics)}; the same topics are needed. Check {folder / _RUNS}."
            )
    return replace(found, data_sets=data_sets, single={**found.single, WITHOUT_BEST: found.single[ALL]})


def compared(members: Mapping[str, Sequence[Run]], qrels: Qrels, digest: str) -> Runs:
    """Join the runs of every data set, of which the last has all, and order them by MAP."""
    data_sets = {name: runs_as_features(chosen, qrels, depth=DEPTH) for name, chosen in members.items()}
    *_, every = members
    topics = data_sets[every].query_ids
    values = {run.tag: _by_topic(run, qrels, topics) for run in members[every]}
    ordered = sorted(values, key=lambda tag: -values[tag].mean())
    single = {
        name: {tag: values[tag] for tag in ordered if tag in {run.tag for run in chosen}}
        for name, chosen in members.items()
    }
    return Runs(topics, data_sets, single, digest)


def average_precision(runs: RunScores, scores: Any) -> Float64Array:
    r"""Average precision of every topic, over all relevant documents of the judgments.

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


def _by_topic(run: Run, qrels: Qrels, topics: tuple[str, ...]) -> Float64Array:
    """Return the average precision of a run; a topic that it lacks counts 0."""
    judged = join_trec(run, qrels, queries="judged")
    values = dict(zip(judged.query_ids, AP(rel=1)(judged.scores, judged.labels, judged.qptr), strict=True))
    return np.array([values[topic] for topic in topics])


def _paths(folder: Path) -> list[Path]:
    paths = sorted((folder / _RUNS).glob("*.res*"))
    missing = [
        str(folder / _RUNS / f"{prefix}*.res.gz")
        for prefix in _PREFIXES["plain + basic"]
        if not any(path.name.startswith(prefix) for path in paths)
    ]
    missing += [] if (folder / _QRELS).is_file() else [str(folder / _QRELS)]
    if missing:
        raise InputError(
            f"{folder}: has no {', no '.join(missing)}; the judgments and runs of TREC-7 are needed. Give "
            "the folder that holds trec7/, e.g. --data data."
        )
    return paths


def digest_of(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of the names and bytes of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{digest.hexdigest()}"
