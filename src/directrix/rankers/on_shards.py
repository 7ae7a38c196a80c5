"""Training on shards, for rankers whose trainers need gradients only."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

from directrix.data.queries import Queries
from directrix.data.shards.checkpoint import keep_answers
from directrix.data.shards.queries import open_shards
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import fit_context
from directrix.rankers.fitting import training_for
from directrix.types import Callback


class OnShards:
    """Gives a ranker the method ``fit_shards``."""

    _train: Callable[..., Any]

    @fit_context(prefer_skip_nested_validation=True)
    def fit_shards(
        self,
        shards: Any,
        valid: Any = None,
        *,
        measure: RankingMeasure | str | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        verbose: bool | int = False,
        early_stopping_rounds: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on shards, which stay where they are: in this process, or on a `directrix.cluster`.

        The parameters have the same bits for any number of workers, whichever of them fail, and in one
        process.

        Parameters
        ----------
        shards : path, or the result of `directrix.data.open_shards`
            A folder that `directrix.write_shards` wrote, at the same path for all workers.
        valid : path, `directrix.data.open_shards` or Queries, optional
            Validation data, in shards or in memory.
        measure, callback, verbose, early_stopping_rounds : optional
            As in ``fit``.
        checkpoint : path, optional
            A file that keeps every answer of the shards. If a training is interrupted, e.g. because the
            cluster is lost, start it again with the same file: it continues where it was interrupted, and
            the parameters have the same bits. The file is removed when the training is done.

        Raises
        ------
        InputError
            As ``fit``; if the trainer looks at labels or scores itself; if a shard cannot be read on a
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
        q = open_shards(shards)
        judged = valid if valid is None or isinstance(valid, Queries) else open_shards(valid)
        stopping = verbose, early_stopping_rounds
        with keep_answers(checkpoint):
            ranker: Self = self._train(
                training_for(self, q, judged, measure, (None, None), callback, *stopping)
            )
        return ranker
