"""Runs as features: what several systems retrieved for the same topics, joined with judgments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from directrix.data.files import short_name
from directrix.data.trec.files import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.data.trec.overlap import check_magnitude, check_overlap
from directrix.data.trec.scores import RunScores
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Array, Int64Array


def runs_as_features(
    runs: Iterable[Run | str | os.PathLike[str]], qrels: Qrels | str | os.PathLike[str], depth: int = 1000
) -> RunScores:
    """Join the runs of several systems into one table of scores with judgments.

    The documents of a topic are the union of the runs' top ``depth``. Documents are ordered by falling score
    and, where scores are equal, by falling identifier, as trec_eval does.

    Parameters
    ----------
    runs : Runs or paths of run files, at least one
        A run that lacks a topic retrieved nothing for it. Runs are named by their tags; if two tags
        are equal, all runs are named by their files, ``runs/a.res.gz`` as ``a``.
    qrels : Qrels or path
        Judgments. Topics without judgments, and topics that no run has, are left out.
    depth : int >= 1
        Number of documents of a run that count, per topic.

    Raises
    ------
    InputError
        If a file cannot be read, a run and the judgments have no topic or document in common, two runs have
        the same name, or a score does not fit into float32.

    Notes
    -----
    Of the runs already read, only the top ``depth`` documents are held. Most of the time is spent reading.

    Examples
    --------
    >>> from directrix.data import runs_as_features
    >>> scores = runs_as_features(["bm25.gz", "lm.gz"], "qrels")  # doctest: +SKIP
    >>> train = scores.take(range(10))  # doctest: +SKIP
    >>> model = StumpModel(train.thresholds(50))  # doctest: +SKIP
    """
    depth = whole(depth, "depth")
    judged = qrels if isinstance(qrels, Qrels) else read_trec_qrels(qrels)
    topics = {topic: q for q, topic in enumerate(judged.query_ids)}
    places: list[dict[str, int]] = [{} for _ in topics]  # for every topic: the row of each document so far
    retrieved: list[dict[int, tuple[Int64Array, Array]]] = []  # for every run, by topic: rows and scores
    tags, files, unjudged = [], [], dict[str, None]()
    for given in [runs] if isinstance(runs, Run | str | os.PathLike) else runs:
        run = given if isinstance(given, Run) else read_trec_run(given)
        tags.append(run.tag)
        files.append(run.tag if isinstance(given, Run) else short_name(Path(given)))
        retrieved.append({})
        check_magnitude(run)
        check_overlap(run, judged)
        for position, topic in enumerate(run.query_ids):
            if topic in topics:
                names, scores = _top(run, position, depth)
                place = places[topics[topic]]
                rows = np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)
                retrieved[-1][topics[topic]] = rows, scores
            else:
                unjudged[topic] = None
    nonempty = [q for q in range(len(topics)) if places[q]]
    if not tags:
        raise InputError("there are no runs; at least one is needed, e.g. runs_as_features([run], qrels).")
    unretrieved = tuple(topic for topic, q in topics.items() if not places[q])
    return _table(_names(tags, files), judged, nonempty, places, retrieved, tuple(unjudged), unretrieved)


def _table(
    tags: tuple[str, ...],
    judged: Qrels,
    nonempty: Sequence[int],
    places: list[dict[str, int]],
    retrieved: list[dict[int, tuple[Int64Array, Array]]],
    unjudged: tuple[str, ...],
    unretrieved: tuple[str, ...],
) -> RunScores:
    """Concatenate the topics, with their documents in the order of the identifiers."""
    qptr = np.cumsum([0, *(len(places[q]) for q in nonempty)]).astype(np.int64)
    scores = np.full((int(qptr[-1]), len(tags)), np.nan, dtype=np.float32)
    labels, n_relevant = np.zeros(int(qptr[-1])), np.zeros(len(nonempty), dtype=np.int64)
    doc_ids = np.empty(int(qptr[-1]), dtype=object)
    for i, q in enumerate(nonempty):
        names = sorted(places[q])
        row_of = np.empty(len(names), dtype=np.int64)
        row_of[[places[q][name] for name in names]] = np.arange(qptr[i], qptr[i + 1])
        doc_ids[qptr[i] : qptr[i + 1]] = names
        known = judged.of_query(q)
        labels[qptr[i] : qptr[i + 1]] = [max(known.get(name, 0.0), 0.0) for name in names]
        n_relevant[i] = np.count_nonzero(judged.labels[judged.qptr[q] : judged.qptr[q + 1]] > 0.0)
        for f, by_topic in enumerate(retrieved):
            if q in by_topic:
                rows, values = by_topic[q]
                scores[row_of[rows], f] = values
    topics = tuple(judged.query_ids[q] for q in nonempty)
    floor = np.array([_floor(scores[:, f]) for f in range(len(tags))], dtype=np.float32)
    return RunScores(tags, labels, qptr, topics, doc_ids, scores, n_relevant, floor, unjudged, unretrieved)


def _floor(scores: Array) -> float:
    """The smallest score minus a hundredth of the range, or the next lower float32; 0 without any score."""
    s = scores[~np.isnan(scores)]
    if not len(s):
        return 0.0
    low, high = s.min(), s.max()
    return min(float(low) - 0.01 * (float(high) - float(low)), float(np.nextafter(low, np.float32(-np.inf))))


def _top(run: Run, position: int, depth: int) -> tuple[Array, Array]:
    """The first documents of a topic, as trec_eval orders them, with their scores in float32."""
    first, last = run.qptr[position], run.qptr[position + 1]
    names, scores = run.doc_ids[first:last], run.scores[first:last]
    if len(names) > depth:
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__, reverse=True))
        chosen = by_name[np.argsort(-scores[by_name], kind="stable")[:depth]]
        names, scores = names[chosen], scores[chosen]
    return names, scores.astype(np.float32)


def _names(tags: list[str], files: list[str]) -> tuple[str, ...]:
    """Tags if they are all different, else names of the files."""
    for names in (tags, files):
        if len(set(names)) == len(names):
            return tuple(names)
    twice = next(name for name in files if files.count(name) > 1)
    raise InputError(
        f"two runs are called {twice!r}; columns need different names. Give each run once, and files with "
        "different names; for runs in memory type dataclasses.replace(run, tag='other')."
    )
