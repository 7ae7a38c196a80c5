"""Training on shards, for rankers that support it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from directrix.data.queries import Queries
from directrix.data.shards.checkpoint import keep_answers
from directrix.data.shards.queries import open_shards
from directrix.measures.base import RankingMeasure
from directrix.parameters import check_fields
from directrix.rankers.base import Ranker
from directrix.rankers.habits import explaining
from directrix.rankers.inputs import training_for
from directrix.types import Callback


class OnShards(Ranker):
    """Base of rankers that train in memory and on shards."""

    holds: ClassVar[frozenset[str]] = frozenset({"memory", "shards"})

    @explaining
    def fit_shards(
        self,
        shards: Any,
        valid: Any = None,
        *,
        measure: RankingMeasure | str | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on shards, in this process or on a `directrix.cluster`.

        The parameters have the same bits in one process and for any number of workers, even if some fail.

        Parameters
        ----------
        shards : path, or the result of `directrix.data.open_shards`
            A folder that `directrix.write_shards` wrote, at the same path for all workers.
        valid : path, `directrix.data.open_shards` or Queries, optional
            Validation data, in shards or in memory.
        measure, callback : optional
            As in ``fit``.
        checkpoint : path, optional
            A file that keeps every partial result of the shards. If training is interrupted, e.g. because the
            cluster is lost, call this again with the same file: training resumes, and the parameters have the
            same bits. The file is removed when training is done.

        Raises
        ------
        InputError
            As ``fit``; if the trainer itself uses labels or scores; if a shard cannot be read on a
            worker, or has changed; if the cluster is lost.

        Examples
        --------
        >>> import directrix as dx, pathlib, tempfile
        >>> q, _ = dx.data.make_linear(n_queries=40, docs_per_query=10, n_features=4, seed=0)
        >>> folder = dx.write_shards(q, pathlib.Path(tempfile.mkdtemp(), "shards"), n_shards=4)
        >>> ranker = dx.LinearRanker("ListNet").fit_shards(folder)
        >>> ranker.score(q.features, q.labels, group=[10] * 40) > 0.9
        True
        """
        check_fields(self)
        q = open_shards(shards)
        validation = valid if valid is None or isinstance(valid, Queries) else open_shards(valid)
        with keep_answers(checkpoint):
            return self._train(training_for(self, q, validation, measure, (None, None), callback, 0, None))
