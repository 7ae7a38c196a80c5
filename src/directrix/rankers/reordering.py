"""Scores of a fitted ranker after the values of a feature changed places within every query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.models.walks import RememberedWalks
from directrix.rankers.boosted import BoostedRanker
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.stored import StoredRanker
from directrix.types import Array, Float64Array, Int64Array

Reordered = Callable[[int, Int64Array], Float64Array]
"""From a column and an order of the rows, which keeps every row in its query, to the scores."""


def reordered_scores(ranker: Any, q: Queries) -> Reordered:
    """Return a function from a feature and an order of its values to the scores of the ranker.

    A scale gives equal values of a query equal values, so features are scaled once, and columns that were
    scaled change places; of trees only those are walked down again that look at them. A ranker of another
    library predicts everything again.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    q : Queries
        With dense features in memory, of which a copy is made.
    """
    trained = ranker.trained() if hasattr(ranker, "trained") else ranker
    if isinstance(trained, EnsembleRanker):
        return _of_ensemble(trained, [reordered_scores(member, q) for member in trained.members_])
    is_stored = isinstance(trained, StoredRanker)
    ready, predict = (trained._ready(q), trained._scored) if is_stored else (q, trained.predict_queries)
    features = np.array(ready.features)
    known = RememberedWalks(trained.trees_, features) if isinstance(trained, BoostedRanker) else None
    changed = replace(ready, features=features)  # a view of them that cannot be written to

    def scores(column: int, order: Int64Array) -> Float64Array:
        columns: Array = np.arange(column, features.shape[1], q.n_features)  # scales stand side by side
        kept = features[:, columns]
        features[:, columns] = kept[order]
        try:
            found: Float64Array = predict(changed) if known is None else known.after(features, columns)
        finally:
            features[:, columns] = kept
        return found

    return scores


def _of_ensemble(ensemble: EnsembleRanker, members: list[Reordered]) -> Reordered:
    shares = ensemble.weights_ / ensemble.spreads_
    return lambda column, order: np.sum(
        [share * member(column, order) for share, member in zip(shares, members, strict=True)], axis=0
    )
