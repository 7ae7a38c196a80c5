"""Scores of several runs for the same topics, in the forms in which they are features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from directrix.data.frozen import frozen
from directrix.data.queries import Queries
from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Array, Float64Array, Int64Array

Form = Literal["score", "percentile", "minmax"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, eq=False)
class RunScores:
    r"""Scores of several runs for the same topics: one column per run, one row per retrieved document.

    Result of `runs_as_features`. A `StumpModel` of `thresholds` on `queries` is the
    feature map of Yue et al. (2007), Section 4.2, without its columns ever being stored:

    .. math:: \phi(x, d) = \bigl( [f(d \mid x) > k] : f \in F,\; k \in K_f \bigr)

    Parameters
    ----------
    tags : tuple of str (n_runs,)
        Name of each run.
    labels : float64 (n_docs,)
        Judgments; unjudged documents and negative judgments are 0.
    qptr : int64 (n_queries + 1,)
        Query ``q`` owns rows ``qptr[q] <= i < qptr[q + 1]``.
    query_ids : tuple of str (n_queries,)
        Topics, in the order of the judgments.
    doc_ids : object array (n_docs,)
        Identifiers, ascending within a query, so that the order of the runs does not matter.
    scores : float32 (n_docs, n_runs)
        NaN where the run did not retrieve the document within the depth.
    n_relevant : int64 (n_queries,)
        Documents judged relevant (label > 0), retrieved or not: what AP divides by.
    floor : float32 (n_runs,)
        The value that means "not retrieved" in the form "score". It is below all scores of the run, also
        those of topics that `take` left out, so that it means the same in training and test.
    unjudged, unretrieved : tuple of str
        Topics that were left out: those in a run without judgments, and those judged but in no run.

    Raises
    ------
    InputError
        If the parts do not fit together.
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
        check_ranking(np.zeros(len(self.labels)), self.labels, self.qptr)
        n_docs, n_queries, n_runs = len(self.labels), len(self.qptr) - 1, len(self.tags)
        shapes = (array.shape for array in (self.scores, self.floor, self.n_relevant))
        given = (len(self.doc_ids), len(self.query_ids), *shapes)
        needed = (n_docs, n_queries, (n_docs, n_runs), (n_runs,), (n_queries,))
        if given != needed or self.scores.dtype != np.float32:
            raise InputError(
                f"RunScores: doc_ids, query_ids, scores, floor and n_relevant have {given}, scores are "
                f"{self.scores.dtype}; for {n_docs} labels, {n_queries} queries and {n_runs} tags {needed} "
                "and float32 are needed. Make it with directrix.data.runs_as_features."
            )
        if len(set(self.tags)) < n_runs:
            raise InputError(f"RunScores: tags {self.tags}; each run needs a different name. Rename one.")
        if not (np.isnan(self.scores) | (self.scores > self.floor)).all():
            raise InputError(
                f"RunScores: floor {self.floor.tolist()} is not below all scores, so it cannot mark "
                "documents that were not retrieved. Make it with directrix.data.runs_as_features."
            )
        for name in ("labels", "qptr", "doc_ids", "scores", "n_relevant", "floor"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))

    def __repr__(self) -> str:
        retrieved, relevant = int((self.labels > 0.0).sum()), int(self.n_relevant.sum())
        return (
            f"RunScores({len(self.tags)} runs, {self.n_queries} topics, {self.n_docs:,} documents, "
            f"{retrieved:,} of {relevant:,} relevant ones retrieved)"
        )

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
            If a position is no integer or out of range.
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
        r"""Give the runs as features, one column per run.

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
            counts documents with lower scores instead, so it begins at 0, which here means "not retrieved".

        Raises
        ------
        InputError
            If the form is unknown.

        Notes
        -----
        O(n_docs n_runs), times a logarithm for "percentile".
        """
        if form not in FORMS:
            raise InputError(f"form={form!r}; choose one of {', '.join(map(repr, FORMS))}.")
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
        r"""Thresholds of every run, more of them where its relevant documents are.

        With the distribution :math:`F = \frac12 F_+ + \frac12 F_-` of the scores of the relevant and the
        irrelevant documents that the run retrieved for these topics, thresholds lie between the values
        nearest to the quantiles of F at 1/bins, 2/bins, ..., and one below all of them: [f > k]
        then says whether the document was retrieved at all.

        Parameters
        ----------
        bins : int >= 1
            Maximum number of thresholds per run; fewer where scores repeat.

        Returns
        -------
        list of float64 (n <= bins,)
            One ascending array per run, below its largest score: no document exceeds a higher threshold.
            Documents that were not retrieved exceed none. Empty for a run that retrieved nothing here.

        Raises
        ------
        InputError
            If ``bins`` is no integer >= 1.

        Notes
        -----
        Relevant documents make up half of F however few they are. Quantiles of all scores would lie among the
        thousands of irrelevant documents, and evenly spaced values where hardly any document is. Yue et al.
        (2007), Section 4.2, only say "reasonably spaced and capture the sensitive region". No score equals a
        threshold: scores are float32, and thresholds lie halfway between two of them.

        Judgments are used: call it on the training topics alone, ``scores.take(training).thresholds()``.
        O(n log n) per run.
        """
        bins = whole(bins, "bins")
        return [_sensitive(self.scores[:, f], self.labels > 0.0, bins) for f in range(len(self.tags))]

    def _as_queries(self, features: Array) -> Queries:
        rows = np.arange(self.n_docs)
        return Queries(features, self.labels, self.qptr, self.query_ids, self.doc_ids, self.tags, rows)


def _percentile(s: Float64Array) -> Float64Array:
    return np.searchsorted(np.sort(s), s, side="right") / len(s)


def _minmax(s: Float64Array) -> Float64Array:
    low, width = s.min(), np.ptp(s)
    return (s - low) / width if width > 0.0 else np.ones(len(s))


_FORM_OF = {"percentile": _percentile, "minmax": _minmax}


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
