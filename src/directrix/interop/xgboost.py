"""Surrogates and measures for XGBoost: ``xgboost.train``, and measures for ``XGBRanker``."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.interop.boosters import GroupedRows, Value, objective, scores_and_rows

__all__ = ["metric", "objective"]

_READABLE = str.maketrans({" ": "", "\t": "", "\n": "", ":": "="})
"""XGBoost splits lines of results at white space and colons."""


class XGBoostMetric(Value):
    """A measure as a metric of XGBoost; `metric` makes it."""

    def __call__(self, first: Any, second: Any) -> Any:
        """Return name and mean of (scores, DMatrix), or the value of (labels, scores) of one query."""
        if hasattr(second, "get_uint_info"):
            return self.__name__.translate(_READABLE), self.of(*scores_and_rows(first, second))
        return self.of(second, GroupedRows(first, np.array([len(first)])))


def metric(measure: Any) -> XGBoostMetric:
    """Return a measure as a metric of XGBoost.

    Pass it as ``custom_metric=`` to ``xgboost.train``, with ``maximize=True`` for early stopping, or as
    ``XGBRanker(eval_metric=...)``. The latter calls it query by query, counts queries of one document as 1,
    and weights queries by their number of documents (3.2), so the mean is exact only in ``xgboost.train``.

    Parameters
    ----------
    measure : measure or str
        Evaluated exactly, under its own convention: XGBoost's own ``ndcg`` counts a query without relevant
        documents as 1, ``nDCG@10`` as 0.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        If there is no such measure; when called, if the data have no groups.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from directrix.interop.xgboost import metric, objective
    >>> X, y = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> data = xgboost.DMatrix(X, y, group=[4] * 10)
    >>> trees = xgboost.train({"nthread": 1}, data, 3, obj=objective("ApproxNDCG"))
    >>> metric("nDCG@10")(trees.predict(data), data)
    ('nDCG@10', 1.0)
    """
    return XGBoostMetric(measure)
