"""The rankers of directrix as `one_ranker` trains them, in our environment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from one_ranker import Predict, Rows

import directrix as dx


def queries(rows: Rows) -> Any:
    return dx.Queries.from_arrays(rows.X, rows.y, group=np.diff(rows.qptr), missing="nan")


def ranker(kind: Any) -> Any:
    """The function that trains an estimator with settings."""

    def train(train: Rows, vali: Rows, settings: dict[str, Any], threads: int) -> tuple[Predict, str]:
        dx.set_threads(threads)
        if "time_budget" in settings:
            time.perf_counter = time.process_time  # a budget is as long as what it is compared with
        fitted = kind(random_state=0, **settings).fit_queries(
            queries(train), queries(vali), measure="nDCG@10"
        )
        note = fitted.search_.name if kind is dx.AutoRanker else str(dict(fitted.result_.counts))
        return lambda rows: fitted.predict_queries(queries(rows)), note

    return train


TRAIN = {kind.__name__: ranker(kind) for kind in (dx.BoostedRanker, dx.MLPRanker, dx.AutoRanker)}


def version_of(who: str) -> str:
    return dx.__version__
