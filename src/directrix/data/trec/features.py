"""Scores of several runs as features.

Runs and judgments go in. Out comes a table with one column per run and one row per retrieved document, as
`Queries` in several forms::

    scores = runs_as_features(["bm25.gz", "lm.gz"], "qrels.txt")
    queries = scores.queries("percentile")
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from directrix.data.checks import check_positions
from directrix.data.files import short_name
from directrix.data.queries import Queries
from directrix.data.trec.join import check_magnitude, check_overlap
from directrix.data.trec.pool import Pool, join_runs
from directrix.data.trec.runs import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.errors import InputError
from directrix.parameters import check_choice, whole
from directrix.types import Array, Float64Array, Int64Array

Form = Literal["score", "percentile", "minmax"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunScores(Pool):
    r"""Scores of several runs for the same topics: one column per run, one row per retrieved document.

    It is made by `runs_as_features`. A `StumpModel` of `thresholds` on `queries` is the feature map of
    Yue et al. (2007), Section 4.2, without storing its columns:

    .. math:: \phi(x, d) = \bigl( [f(d \mid x) > k] : f \in F,\; k \in K_f \bigr)

    Parameters
    ----------
    tags : tuple of str (n_runs,)
        Name of each run.
    labels : float64 (n_docs,)
        Judgments; unjudged documents and negative judgments are 0.
    judgments : float64 (n_docs,)
        The same, NaN for unjudged documents.
    qptr : int64 (n_queries + 1,)
        Query ``q`` has the rows ``qptr[q] <= i < qptr[q + 1]``.
    query_ids : tuple of str (n_queries,)
        Topics, in the order of the judgments.
    doc_ids : object array (n_docs,)
        Identifiers, ascending within a query, so that the order of the runs does not matter.
    scores : float32 (n_docs, n_runs)
        NaN if the run did not retrieve the document within the depth.
    n_relevant : int64 (n_queries,)
        Number of documents judged relevant (label > 0), retrieved or not: the divisor of AP.
    floor : float32 (n_runs,)
        The value that means "not retrieved" in the form "score". It is below all scores of the run, including
        topics that `take` excluded, so it means the same in training and test.
    unjudged, unretrieved : tuple of str
        Excluded topics: those in a run without judgments, and those judged but in no run.
    """

    n_relevant: Int64Array
    floor: Array
    unjudged: tuple[str, ...] = ()
    unretrieved: tuple[str, ...] = ()

    def take(self, queries: Any) -> RunScores:
        """Return the given topics (positions, in the order given), with the same floor.

        Raises
        ------
        InputError
            If a position is not an integer or out of range.
        """
        positions = check_positions(queries, self.n_queries)
        return replace(super().take(positions), n_relevant=self.n_relevant[positions])

    def queries(self, form: Form = "score") -> Queries:
        r"""Return the runs as features, one column per run.

        ================  ==========================================================  ============
        form              value of a document that the run retrieved for the query    not retrieved
        ================  ==========================================================  ============
        ``"score"``       s, float32                                                  ``floor``
        ``"percentile"``  :math:`|\{j : s_j \le s\}| / m`, float64, in (0, 1]          0
        ``"minmax"``      :math:`(s - \min_j s_j) / (\max_j s_j - \min_j s_j)`,       -1
                          float64, in [0, 1]; 1 if all are equal
        ================  ==========================================================  ============

        over the m documents j that the run retrieved for the query.

        Parameters
        ----------
        form : {"score", "percentile", "minmax"}
            The last two are the transforms of SVMacc3 and SVMacc4 of Yue et al. (2007), Section
            5.2.1; they are float64, so that k/m meets a threshold k/m exactly. The scale "query-percentile"
            counts documents with lower scores instead, so it begins at 0, which means "not retrieved" here.

        Raises
        ------
        InputError
            If the form is unknown.

        Notes
        -----
        O(n_docs n_runs), times a logarithm for "percentile".
        """
        check_choice(form, "form", FORMS)
        if form == "score":
            return self._as_queries(np.where(np.isnan(self.scores), self.floor, self.scores))
        features = np.full(self.scores.shape, 0.0 if form == "percentile" else -1.0)
        for first, last in zip(self.qptr[:-1].tolist(), self.qptr[1:].tolist(), strict=True):
            for f in range(len(self.tags)):
                s = self.scores[first:last, f].astype(np.float64)
                retrieved = np.flatnonzero(~np.isnan(s))
                if len(retrieved):
                    features[first + retrieved, f] = _FORM_OF[form](s[retrieved])
        return self._as_queries(features)

    def thresholds(self, bins: int = 50) -> list[Float64Array]:
        r"""Return thresholds of every run, which are denser near its relevant documents.

        Let :math:`F = \frac12 F_+ + \frac12 F_-` be the distribution of the scores of the relevant and the
        irrelevant documents that the run retrieved for these topics. Thresholds lie between the values
        nearest to the quantiles of F at 1/bins, 2/bins, .... One more is below all of them: its [f > k] says
        whether the document was retrieved at all.

        Parameters
        ----------
        bins : int >= 1
            Maximum number of thresholds per run; fewer where scores repeat.

        Returns
        -------
        list of float64 (n <= bins,)
            One ascending array per run, below its largest score: no document exceeds a higher threshold.
            Documents that were not retrieved exceed none. The array is empty for a run that retrieved nothing
            here.

        Raises
        ------
        InputError
            If ``bins`` is not an integer >= 1.

        Notes
        -----
        Relevant documents make up half of F, however few they are. Quantiles of all scores would lie among
        the thousands of irrelevant documents, and evenly spaced values where there are hardly any documents.
        Yue et al. (2007), Section 4.2, only say "reasonably spaced and capture the sensitive region". No
        score equals a threshold: scores are float32, and thresholds lie halfway between two of them.

        It uses judgments, so call it on the training topics alone, ``scores.take(training).thresholds()``.
        O(n log n) per run.
        """
        bins = whole(bins, "bins")
        return [_sensitive(self.scores[:, f], self.labels > 0.0, bins) for f in range(len(self.tags))]

    def _as_queries(self, features: Array) -> Queries:
        rows = np.arange(self.n_docs)
        return Queries(features, self.labels, self.qptr, self.query_ids, self.doc_ids, self.tags, rows)


def min_max(s: Float64Array) -> Float64Array:
    """Return scores from 0 to 1, or 1 if all are equal."""
    low, high = float(s.min()), float(s.max())
    return (s - low) / (high - low) if high > low else np.ones(len(s))


_FORM_OF = {"percentile": lambda s: np.searchsorted(np.sort(s), s, side="right") / len(s), "minmax": min_max}


def _sensitive(scores: Array, relevant: Array, bins: int) -> Float64Array:
    """Thresholds of one run: below the smallest score, and in the gaps nearest to the quantiles of F."""
    retrieved = ~np.isnan(scores)
    values, place = np.unique(scores[retrieved].astype(np.float64), return_inverse=True)
    relevant = relevant[retrieved]
    if not len(values):
        return np.empty(0)
    # Relevant and irrelevant documents have half of the mass each, unless there are none of one kind.
    counts = [np.bincount(place[relevant == kind], minlength=len(values)) for kind in (True, False)]
    mass = np.cumsum(sum(count / count.sum() for count in counts if count.any()))
    mass /= mass[-1]
    middle = values[:-1] + 0.5 * (values[1:] - values[:-1])
    gaps = np.append(np.nextafter(values[0], -np.inf), middle)
    # The share of F below each gap.
    below = np.append(0.0, mass[:-1])
    if len(gaps) > bins:
        # Each wanted share takes the nearer of the gaps on both sides of it; a gap may serve several.
        wanted = np.arange(bins) / bins
        after = np.clip(np.searchsorted(below, wanted), 1, len(gaps) - 1)
        nearer = np.where(wanted - below[after - 1] <= below[after] - wanted, after - 1, after)
        gaps = gaps[np.unique(nearer)]
    return gaps


def runs_as_features(
    runs: Iterable[Run | str | os.PathLike[str]], qrels: Qrels | str | os.PathLike[str], depth: int = 1000
) -> RunScores:
    """Join the runs of several systems into one table of scores with judgments.

    The documents of a topic are the union of the runs' top ``depth``. Documents are ordered by descending
    score and, for equal scores, by descending identifier, as in trec_eval.

    Parameters
    ----------
    runs : Runs or paths of run files, at least one
        A run that lacks a topic retrieved nothing for it. Runs are named by their tags; if two tags are
        equal, all are named by their files, ``runs/a.res.gz`` as ``a``.
    qrels : Qrels or path
        Judgments. Topics without judgments, and topics that no run has, are excluded.
    depth : int >= 1
        Number of documents of a run that count for each topic.

    Raises
    ------
    InputError
        If a file cannot be read, a run and the judgments have no topic or document in common, two runs have
        the same name, or a score does not fit into float32.

    Notes
    -----
    Only the top ``depth`` documents of each run are held in memory. Reading takes most of the time.

    Examples
    --------
    >>> from directrix.data import runs_as_features
    >>> scores = runs_as_features(["bm25.gz", "lm.gz"], "qrels")  # doctest: +SKIP
    >>> train = scores.take(range(10))  # doctest: +SKIP
    >>> model = StumpModel(train.thresholds(50))  # doctest: +SKIP
    """
    depth = whole(depth, "depth")
    judgments = qrels if isinstance(qrels, Qrels) else read_trec_qrels(qrels)
    tops, files = [], []
    for source in [runs] if isinstance(runs, Run | str | os.PathLike) else runs:
        run = source if isinstance(source, Run) else read_trec_run(source)
        files.append(run.tag if isinstance(source, Run) else short_name(Path(source)))
        check_magnitude(run)
        check_overlap(run, judgments)
        tops.append(_top(run, depth))
    if not tops:
        raise InputError("there are no runs; at least one is needed, e.g. runs_as_features([run], qrels).")
    retrieved = dict.fromkeys(topic for run in tops for topic in run.query_ids)
    topics = [topic for topic in judgments.query_ids if topic in retrieved]
    everything = join_runs(tops, judgments, topics)
    relevant = np.add.reduceat(everything.labels > 0.0, everything.qptr[:-1], dtype=np.int64)
    pool = everything.only(everything.is_retrieved)
    scores = pool.scores.astype(np.float32)
    tags = [run.tag for run in tops]
    names = tags if len(set(tags)) == len(tags) else files
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"two runs are called {twice!r}; columns need different names. Give each run once, and files "
            "with different names; for runs in memory type dataclasses.replace(run, tag='other')."
        )
    in_pool = set(topics)
    return RunScores(
        **(vars(pool) | {"tags": tuple(names), "scores": scores}),
        n_relevant=relevant,
        floor=np.array([_floor(column) for column in scores.T], dtype=np.float32),
        unjudged=tuple(topic for topic in retrieved if topic not in in_pool),
        unretrieved=tuple(topic for topic in judgments.query_ids if topic not in in_pool),
    )


def _floor(scores: Array) -> float:
    """Return the smallest score minus a hundredth of the range, or the next lower float32; 0 if no scores."""
    s = scores[~np.isnan(scores)]
    if not len(s):
        return 0.0
    low, high = s.min(), s.max()
    return min(float(low) - 0.01 * (float(high) - float(low)), float(np.nextafter(low, np.float32(-np.inf))))


def _top(run: Run, depth: int) -> Run:
    """The first documents of every topic, as trec_eval orders them."""
    # Most runs have no more documents than the depth.
    if len(run.doc_ids) == 0 or np.diff(run.qptr).max() <= depth:
        return run
    rows = []
    for first, last in pairwise(run.qptr.tolist()):
        chosen = np.arange(first, last)
        if len(chosen) > depth:
            # Sorting by descending name, then stably by score, gives trec_eval's order.
            by_name = np.array(sorted(chosen.tolist(), key=run.doc_ids.__getitem__, reverse=True))
            chosen = by_name[np.argsort(-run.scores[by_name], kind="stable")[:depth]]
        rows.append(chosen)
    kept = np.concatenate(rows)
    qptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return replace(run, qptr=qptr, doc_ids=run.doc_ids[kept], scores=run.scores[kept])
