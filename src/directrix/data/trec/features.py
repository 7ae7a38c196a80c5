"""Scores of several runs as features."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from directrix.data.checks import frozen
from directrix.data.files import open_data, path_of, readable, replacing, short_name
from directrix.data.grouping import rows_of
from directrix.data.letor.write import letor_lines, write_letor
from directrix.data.queries import Queries
from directrix.data.trec.join import check_magnitude, check_overlap
from directrix.data.trec.runs import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.errors import InputError
from directrix.parameters import check_choice, whole
from directrix.parsing import json_of
from directrix.schema import check
from directrix.types import Array, Float64Array, Int64Array

Form = Literal["score", "percentile", "minmax"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, eq=False)
class RunScores:
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

    tags: tuple[str, ...]
    labels: Float64Array
    qptr: Int64Array
    query_ids: tuple[str, ...]
    doc_ids: Array
    scores: Array
    n_relevant: Int64Array
    floor: Array
    unjudged: tuple[str, ...] = ()
    unretrieved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "qptr", "doc_ids", "scores", "n_relevant", "floor"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))

    @property
    def n_docs(self) -> int:
        """Number of documents, over all queries."""
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """Number of topics."""
        return len(self.qptr) - 1

    def take(self, queries: Any) -> RunScores:
        """Return the given topics (positions, in the order given), with the same floor.

        Raises
        ------
        InputError
            If a position is not an integer or out of range.
        """
        part = self._as_queries(self.scores).take(queries)
        return replace(
            self,
            labels=part.labels,
            qptr=part.qptr,
            query_ids=tuple(map(str, part.query_ids)),
            doc_ids=np.asarray(part.doc_ids),
            scores=part.features,
            n_relevant=self.n_relevant[np.asarray(queries, dtype=np.int64)],
        )

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
    counts = [np.bincount(place[relevant == kind], minlength=len(values)) for kind in (True, False)]
    mass = np.cumsum(sum(count / count.sum() for count in counts if count.any()))
    mass /= mass[-1]
    middle = values[:-1] + 0.5 * (values[1:] - values[:-1])
    gaps = np.append(np.nextafter(values[0], -np.inf), middle)
    below = np.append(0.0, mass[:-1])  # share of F below each gap
    if len(gaps) > bins:
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
    chosen = tuple(judged.query_ids[q] for q in nonempty)
    left = tuple(unjudged), tuple(topic for topic, q in topics.items() if not places[q])
    labels, qptr, doc_ids, joined, n_relevant = _table(judged, nonempty, places, retrieved)
    floor = np.array([_floor(column) for column in joined.T], dtype=np.float32)
    return RunScores(_names(tags, files), labels, qptr, chosen, doc_ids, joined, n_relevant, floor, *left)


def _table(
    judged: Qrels,
    nonempty: Sequence[int],
    places: list[dict[str, int]],
    retrieved: list[dict[int, tuple[Int64Array, Array]]],
) -> tuple[Array, ...]:
    """Concatenate the topics, with their documents in the order of the identifiers."""
    qptr = np.cumsum([0, *(len(places[q]) for q in nonempty)]).astype(np.int64)
    joined = np.full((int(qptr[-1]), len(retrieved)), np.nan, dtype=np.float32)
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
                joined[row_of[rows], f] = values
    return labels, qptr, doc_ids, joined, n_relevant


def _floor(scores: Array) -> float:
    """Return the smallest score minus a hundredth of the range, or the next lower float32; 0 if no scores."""
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


_FORMAT = "directrix-thresholds/1"
_CONTENT = {
    "format": frozenset({_FORMAT}),
    "form": frozenset(FORMS),
    "runs": [{"run": str, "thresholds": [float]}],
}
"""Form of the file, see `directrix.schema`."""


@dataclass(frozen=True, eq=False)
class RunThresholds:
    """Thresholds of several runs, which give the same columns for other topics.

    Raises `InputError` if the form is unknown, or the thresholds of a run are missing, not finite or not
    ascending.
    """

    form: Form
    """Form of the values, see `RunScores.queries`."""
    tags: tuple[str, ...]
    """Names of the runs, in the order of the columns."""
    values: Sequence[Float64Array]
    """Ascending thresholds of each run."""

    def __post_init__(self) -> None:
        rows = [np.array(row, dtype=np.float64) for row in self.values]
        good = [row.ndim == 1 and np.isfinite(row).all() and (np.diff(row) > 0.0).all() for row in rows]
        if self.form not in FORMS or len(rows) != len(self.tags) or not all(good):
            raise InputError(
                f"RunThresholds: form {self.form!r}, {len(rows)} rows for {len(self.tags)} runs, rows "
                f"{[row for row, is_good in enumerate(good) if not is_good]} are not finite and ascending; "
                f"one of {', '.join(FORMS)} and one ascending row per run are needed. Type "
                "RunThresholds.of(scores)."
            )
        object.__setattr__(self, "values", rows)

    @classmethod
    def of(cls, scores: RunScores, bins: int = 50, form: Form = "score") -> RunThresholds:
        """Return `RunScores.thresholds` of the training topics, at most ``bins`` >= 1 of them per run.

        For the forms with values in [0, 1] they are k / (bins + 1), as in Yue et al. (2007), Section 5.2.1.
        """
        if form == "score":
            return cls(form, scores.tags, scores.thresholds(bins))
        bins = whole(bins, "bins")
        return cls(form, scores.tags, [np.arange(1, bins + 1) / (bins + 1)] * len(scores.tags))

    @property
    def n_features(self) -> int:
        """Number of columns: the total number of thresholds."""
        return sum(map(len, self.values))

    def steps(self, scores: RunScores) -> Array:
        """Return the number of thresholds below each value, int64 (n_docs, n_runs); 0 if not retrieved.

        Raises `InputError` if the runs or their order differ.
        """
        if scores.tags != self.tags:
            raise InputError(
                f"the thresholds are those of the runs {' '.join(self.tags)}, and {' '.join(scores.tags)} "
                "were given; the same runs in the same order are needed."
            )
        x = scores.queries(self.form).features
        steps = [np.searchsorted(row, x[:, f].astype(np.float64)) for f, row in enumerate(self.values)]
        return np.where(np.isnan(scores.scores), 0, np.stack(steps, axis=1))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the thresholds as JSON; numbers read back to the same bits."""
        pairs = zip(self.tags, self.values, strict=True)
        runs = [{"run": tag, "thresholds": row.tolist()} for tag, row in pairs]
        text = json.dumps({"format": _FORMAT, "form": self.form, "runs": runs}, indent=1)
        with replacing(path) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunThresholds:
        """Read a file of `write`; raises `InputError` if it cannot be read or holds something else."""
        with readable(path_of(path)), open_data(path_of(path)) as file:
            text = file.read()
        try:
            content = json_of(text)
            check(content, _CONTENT)
            runs = content["runs"]
            return cls(
                content["form"], tuple(run["run"] for run in runs), [run["thresholds"] for run in runs]
            )
        except ValueError as error:
            raise InputError(
                f"{path} is not a file of thresholds ({str(error).rstrip('.')}); give one "
                "that was written with features of training runs."
            ) from error


def write_runs(
    scores: RunScores,
    path: str | os.PathLike[str],
    thresholds: RunThresholds | None = None,
    form: Form = "score",
) -> None:
    """Write runs as LETOR text: their values in ``form``, or 1 for each threshold that they exceed.

    Topics become query identifiers, and documents become comments. With thresholds, whose form is used,
    feature ``p`` is 1 if the value exceeds the p-th of them, counted over all runs; zeros are omitted. Raises
    `InputError` if a topic is not an integer, which the format requires, or as in `write_letor`.
    """
    topics = integer_topics(scores.query_ids)
    if thresholds is None:
        write_letor(replace(scores.queries(form), query_ids=tuple(topics)), path)
        return
    from scipy.sparse import csr_array

    starts = np.cumsum([0, *map(len, thresholds.values)])
    with replacing(path) as file:
        for q, topic in enumerate(topics):
            part = scores.take([q])
            steps = thresholds.steps(part)
            ones = rows_of(np.tile(starts[:-1], part.n_docs), steps.ravel())
            entries = np.ones(len(ones), np.float32), ones, np.append(0, np.cumsum(steps.sum(axis=1)))
            features = csr_array(entries, shape=(part.n_docs, int(starts[-1])))
            rows = replace(part.queries(), features=features, feature_names=None, query_ids=(topic,))
            file.writelines(letor_lines(rows))


def integer_topics(topics: Sequence[Hashable]) -> list[int]:
    """Return topics as the integers that LETOR text requires; `InputError` if they are not integers."""
    try:
        numbers = [int(str(topic)) for topic in topics]
    except ValueError:
        numbers = []
    if len(set(numbers)) < len(topics) or not all(-(2**63) <= number < 2**63 for number in numbers):
        raise InputError(
            f"the topics ({', '.join(map(str, topics[:3]))}, ...) are not all different integers of 64 bits, "
            "which files of this format need; rename the topics in runs and judgments to numbers."
        )
    return numbers
