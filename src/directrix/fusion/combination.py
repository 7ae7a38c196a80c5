"""Runs in one pool of documents, and a way to combine their scores.

Runs go in, and judgments if there are any. `pool_of` joins their documents, and a `Combination` of weights
gives the scores of the joined documents::

    pool = pool_of(runs_of({"bm25": bm25, "dense": dense}), qrels)
    Combination("linear", (0.5, 0.5)).scores(pool)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from directrix.data.trec.features import min_max
from directrix.data.trec.join import check_magnitude, check_overlap, qrels_of, run_of
from directrix.data.trec.pool import Pool, join_runs
from directrix.data.trec.runs import Run
from directrix.errors import Advice, InputError
from directrix.types import Float64Array, Int64Array


def runs_of(runs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Run]:
    """Return runs by name: as given, or by their tags.

    Raises `InputError` unless there are 2 to 10 runs with different names.
    """
    if isinstance(runs, Mapping):
        read = [replace(run_of(run), tag=str(name)) for name, run in runs.items()]
    else:
        read = [run_of(run) for run in runs]
    by_name, n = {run.tag: run for run in read}, len(read)
    if len(by_name) < n:
        raise InputError(
            f"of {n} runs some have the same tag ({', '.join(by_name)}); each needs its own name.",
            Advice("run-name"),
        )
    if not 2 <= n <= 10:
        raise InputError(f"{n} run{'s' * (n != 1)} cannot be fused; 2 to 10 are needed. Give each of them.")
    return by_name


def pool_of(runs: Mapping[str, Run], qrels: Any = None) -> Pool:
    """Join runs, and judgments if there are any.

    The queries are those with judgments that a run has, in the order of the judgments; without judgments, all
    queries of the runs, in the order of their first appearance. Raises `InputError` if a run has no query or
    document of the judgments, or a score beyond float32.
    """
    for run in runs.values():
        check_magnitude(run)
    queries = tuple(dict.fromkeys(query for run in runs.values() for query in run.query_ids))
    judgments = None if qrels is None else qrels_of(qrels)
    if judgments is not None:
        for run in runs.values():
            check_overlap(run, judgments)
        retrieved = set(queries)
        queries = tuple(query for query in judgments.query_ids if query in retrieved)
    # Documents have trec_eval's order of equal scores, so that the order of the runs does not matter.
    return join_runs([*runs.values()], judgments, queries, "descending")


Normalizer = Literal["min-max", "z-score", "sum", "rank", "none"]
NORMALIZERS: tuple[Normalizer, ...] = get_args(Normalizer)

Kind = Literal["run", "linear", "rrf", "combmnz"]


@dataclass(frozen=True)
class Combination:
    r"""Weights of runs, and the terms that they multiply.

    The score of a document is :math:`\sum_i w_i f_i(d)`, where ``kind`` defines :math:`f_i`. A run of weight
    0 adds no documents.

    - "run": the score of one run;
    - "linear": the score of the run, normalized by ``normalizer`` (see `normalized`);
    - "rrf": :math:`1 / (c + \mathrm{rank}_i)`, Cormack, Clarke and Buettcher (2009), or 0 for a missing
    document;
    - "combmnz": like "linear", but the sum is multiplied by the number of runs that have the document
      (Fox and Shaw 1994).
    """

    kind: Kind
    weights: tuple[float, ...]
    """One for each run, >= 0, of sum 1."""
    normalizer: Normalizer = "min-max"
    constant: float = 60.0
    """c of "rrf"."""

    def scores(self, pool: Pool) -> Float64Array:
        """Return the score of every document, -inf for those that no run retrieved."""
        if self.kind == "run":
            alone = pool.scores[:, int(np.argmax(self.weights))]
            return np.where(np.isnan(alone), -np.inf, alone)
        # A product of matrices rounds by the place of a row, so documents would tie in one pool alone.
        columns = zip(self.weights, self.parts(pool).T, strict=True)
        totals = np.sum([weight * column for weight, column in columns], axis=0)
        if self.kind == "combmnz":
            totals = totals * (~np.isnan(pool.scores)).sum(axis=1)
        # A run of weight 0 adds no documents.
        is_ranked = (~np.isnan(pool.scores))[:, np.array(self.weights) > 0.0].any(axis=1)
        return _in_float32(np.where(is_ranked, totals, -np.inf), pool.qptr)

    def parts(self, pool: Pool) -> Float64Array:
        """Return the terms that the weights multiply, (n_docs, n_runs)."""
        if self.kind == "rrf":
            return _by_run(pool, lambda s: 1.0 / (self.constant + _ranks(s)), lacks_lowest=False)
        return normalized(pool, self.normalizer)

    def to_dict(self) -> dict[str, Any]:
        """Return the combination in JSON types."""
        by = "constant" if self.kind == "rrf" else "normalizer"
        return {"kind": self.kind, "weights": list(self.weights), by: getattr(self, by)}


class Chosen(NamedTuple):
    """The choice of a method on some queries."""

    of_class: dict[str, Combination]
    """By the class of a query; "" for all others."""
    interval: tuple[float, float] | None = None
    """For two runs: weights of the second that are equally good, and better than all others."""

    @property
    def combination(self) -> Combination:
        """The combination for queries of no class."""
        return self.of_class[""]

    def scores(self, pool: Pool, classes: Sequence[str]) -> Float64Array:
        """Return the score of every document."""
        scores = self.combination.scores(pool)
        for name in self.of_class.keys() - {""}:
            is_member = np.array([class_of_query == name for class_of_query in classes])
            rows = np.repeat(is_member, np.diff(pool.qptr))
            scores = np.where(rows, self.of_class[name].scores(pool), scores)
        return scores


def normalized(pool: Pool, normalizer: Normalizer) -> Float64Array:
    r"""Return the scores of every run, made comparable within each query.

    Statistics are over the documents that the run retrieved for the query, with scores s:

    ========= =============================================== =======================
    name      value                                           document that it lacks
    ========= =============================================== =======================
    min-max   :math:`(s - \min) / (\max - \min)`; 1 if equal   0
    z-score   :math:`(s - \mathrm{mean}) / \mathrm{deviation}` the lowest
    sum       :math:`(s - \min) / \sum (s - \min)`; 1/n if equal 0
    rank      :math:`1 - (\mathrm{rank} - 1) / n`              0
    none      s                                               the lowest
    ========= =============================================== =======================
    """
    return _by_run(pool, _OF[normalizer], lacks_lowest=normalizer in ("z-score", "none"))


def _by_run(
    pool: Pool, values_of: Callable[[Float64Array], Float64Array], *, lacks_lowest: bool
) -> Float64Array:
    """Replace the scores of each run for each query; a document that it lacks gets the lowest value, or 0."""
    out = np.zeros(pool.scores.shape)
    for first, last in pairwise(pool.qptr.tolist()):
        for i in range(len(pool.tags)):
            s = pool.scores[first:last, i]
            # Statistics are those of the documents that the run retrieved.
            has = ~np.isnan(s)
            if has.any():
                values = values_of(s[has])
                out[first:last, i] = values.min() if lacks_lowest else 0.0
                out[first:last, i][has] = values
    return out


def _in_float32(scores: Float64Array, qptr: Int64Array) -> Float64Array:
    """Round to float32, in which trec_eval holds scores, without making different ones of a query equal."""
    out = np.empty(len(scores))
    for first, last in pairwise(qptr):
        values, place = np.unique(scores[first:last], return_inverse=True)
        bits = values.astype(np.float32).view(np.int32).astype(np.int64)
        steps = np.arange(len(bits))
        # The bits number the floats from 0 in both directions. Equal numbers are moved apart by one each.
        order = np.maximum.accumulate(np.where(bits < 0, -(bits + 2**31), bits) - steps) + steps
        rounded = np.abs(order).astype(np.int32).view(np.float32)
        out[first:last] = np.where(order < 0, -rounded, rounded)[place]
    return out


def _ranks(s: Float64Array) -> Float64Array:
    """Ranks from 1; equal scores keep the order of the pool."""
    ranks = np.empty(len(s))
    ranks[np.argsort(-s, kind="stable")] = np.arange(1, len(s) + 1)
    return ranks


def _share(s: Float64Array) -> Float64Array:
    above = s - float(s.min())
    total = float(above.sum())
    return above / total if total > 0.0 else np.full(len(s), 1.0 / len(s))


_OF: dict[str, Callable[[Float64Array], Float64Array]] = {
    "min-max": min_max,
    "z-score": lambda s: (s - float(s.mean())) / (float(s.std()) or 1.0),
    "sum": _share,
    "rank": lambda s: 1.0 - (_ranks(s) - 1.0) / len(s),
    "none": lambda s: s,
}
