"""Surrogates and measures for LightGBM: ``lightgbm.train``, ``LGBMRanker``; shards for ``lightgbm.dask``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.missing import check_finite
from directrix.data.queries import Queries
from directrix.data.shards.manifest import Shard
from directrix.data.shards.queries import open_shards
from directrix.data.shards.task import OpenShard
from directrix.errors import InputError, MissingExtra
from directrix.interop.boosters import Value, objective, scores_and_rows
from directrix.measures.names import measure as as_measure
from directrix.parameters import whole
from directrix.rankers.means import check_can_choose, mean_over_queries
from directrix.types import Float64Array

__all__ = ["dask_arrays", "early_stopping", "metric", "objective"]


class LightGBMMetric(Value):
    """A measure as a metric of LightGBM; `metric` makes it."""

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Return name, mean over queries, and True (higher is better); arguments as for an objective."""
        scores, rows = scores_and_rows(first, second, weight, group)
        return self.__name__, self.of(scores, rows._replace(doc_weight=None)), True


class LightGBMStopping:
    """Early stopping as a callback of LightGBM; `early_stopping` makes it."""

    def __init__(self, valid: Any, measure: Any, stopping_rounds: int) -> None:
        self.valid = valid if isinstance(valid, Queries) else open_shards(valid)
        self.measure = as_measure(measure)
        if isinstance(valid, Queries):
            check_finite(valid, "the validation data", allow_missing=True)
        # The order places this callback after LightGBM's own ones that print and record.
        self.before_iteration, self.order = False, 30
        self.stopping_rounds = whole(stopping_rounds, "stopping_rounds", "early_stopping", example=50)
        self.values: list[float] = []
        """Mean of the measure after every tree of the current or the last run."""

    def __call__(self, env: Any) -> None:
        """Evaluate the trees so far; end training by LightGBM's ``EarlyStopException``."""
        from lightgbm.callback import EarlyStopException

        first = env.iteration
        if first == env.begin_iteration:
            self._begin(env)
            first = 0
        self._scores += env.model.predict(
            self._features, raw_score=True, start_iteration=first, num_iteration=env.iteration + 1 - first
        )
        self.values.append(mean_over_queries(self._ready(self._scores)[0], None))
        # Processors round differently, and this must not change the best iteration.
        best = int(np.argmax(np.round(self.values, 9)))
        waited = len(self.values) - 1 - best
        if waited >= self.stopping_rounds or env.iteration + 1 == env.end_iteration:
            result = "valid", self.measure.name, self.values[best], True
            raise EarlyStopException(env.iteration - waited, [result])

    def _begin(self, env: Any) -> None:
        from lightgbm import CVBooster

        if isinstance(env.model, CVBooster):
            raise InputError("early_stopping: lightgbm.cv has its own; take lightgbm.early_stopping.")
        if "dart" in [env.params.get(name) for name in ("boosting", "boosting_type", "boost")]:
            raise InputError("early_stopping: boosting='dart' rescales earlier trees; take boosting='gbdt'.")
        q: Any = self.valid
        if not isinstance(q, Queries):
            # A worker with other files would stop at another tree.
            q.verify()
            q = q.judged()
        check_can_choose(self.measure, q, "early_stopping")
        self._features = q.features[:]
        self._ready = self.measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)
        self._scores, self.values = np.zeros(q.n_docs), []

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def metric(measure: Any) -> LightGBMMetric:
    """Return a measure as a metric of LightGBM, for ``feval=`` and ``eval_metric=``, also for early stopping.

    Parameters
    ----------
    measure : measure or str
        Evaluated exactly, under its own convention: LightGBM's own ``ndcg`` counts a query without relevant
        documents as 1, ``nDCG@10`` as 0.

    Returns
    -------
    callable
        It returns the name, the mean over queries (weights of rows do not count), and True.

    Raises
    ------
    InputError
        If there is no such measure; when called, if the data have no groups.
    """
    return LightGBMMetric(measure)


def early_stopping(valid: Any, measure: Any = "nDCG@10", *, stopping_rounds: int = 50) -> LightGBMStopping:
    """Return a callback that stops training by a measure on validation queries, and keeps the best trees.

    Pass it as ``callbacks=[...]`` to ``fit`` of ``lightgbm.dask.DaskLGBMRanker``, which passes the rows of
    one worker to a metric and has no early stopping. On one machine, `metric` and ``lightgbm.early_stopping``
    do the same.

    Parameters
    ----------
    valid : path of shards, the result of `directrix.data.open_shards`, or Queries
        Every worker reads all of the data, so all need the folder at the same path; `Queries` are sent to
        them.
    measure : measure or str
        Evaluated exactly, on all queries.
    stopping_rounds : int >= 1
        Number of trees without a better mean before training ends.

    Returns
    -------
    callable
        After training, ``best_iteration_`` is the number of trees with the best mean, which ``predict`` uses,
        and ``best_score_["valid"]`` has the mean.

    Raises
    ------
    InputError
        If the arguments are none of these; during training, for ``boosting="dart"`` and ``lightgbm.cv``, or
        if a file does not match the manifest.

    Notes
    -----
    All workers have the whole model, so each computes the same means and stops at the same tree, without a
    message. Means are compared to 9 decimals, because other processors may round differently. An error on one
    worker leaves the others waiting until LightGBM's ``time_out``. Cost per tree: one prediction of the
    validation queries by that tree and one evaluation, on every worker, which holds their features in memory.
    """
    return LightGBMStopping(valid, measure, stopping_rounds)


def dask_arrays(shards: Any) -> dict[str, Any]:
    """Return shards as arrays of Dask, for ``fit`` of ``lightgbm.dask.DaskLGBMRanker``.

    Parameters
    ----------
    shards : path, or the result of `directrix.data.open_shards`
        Whole queries: each shard with documents is one partition, so that no query is cut.

    Returns
    -------
    dict
        ``X`` float32 or float64 (n_docs, n_features), ``y`` float64 (n_docs,), ``group`` int64
        (n_queries,). A worker reads a shard when it trains, so all workers need the folder at the same path.

    Raises
    ------
    MissingExtra
        If Dask is not installed.

    Notes
    -----
    LightGBM's learner passes the rows of one worker to the objective. A surrogate is a function of single
    queries, so its gradients are those of one machine; their unit, the mean curvature, is that of the worker.
    For this reason, and because LightGBM finds bin boundaries on the rows of each worker, the trees depend on
    the number of workers.
    """
    try:
        import dask.array as da
        from dask.delayed import delayed
    except ImportError as error:
        raise MissingExtra("dask", "training LightGBM on shards") from error
    q = open_shards(shards)
    manifest = q.manifest
    columns: dict[str, list[Any]] = {"X": [], "y": [], "group": []}
    for number in manifest.present:
        shard = manifest.shards[number]
        blocks = delayed(_arrays_of, nout=3)(q.features.folder, number, shard, manifest.form)
        shapes = (shard.documents, q.n_features), (shard.documents,), (shard.queries,)
        types = manifest.dtype, "float64", "int64"
        for column, block, shape, dtype in zip(columns.values(), blocks, shapes, types, strict=True):
            column.append(da.from_delayed(block, shape, dtype))
    return {name: da.concatenate(blocks) for name, blocks in columns.items()}


def _arrays_of(folder: Path, number: int, shard: Shard, form: str) -> tuple[Any, Float64Array, Any]:
    """Features, labels and sizes of queries of one shard."""
    q = OpenShard(folder, number, shard, form).queries(in_memory=True)
    return q.features, q.labels, np.diff(q.qptr)
