"""The rankers of directrix as `training_curves` trains them."""

from __future__ import annotations

from typing import Any

import numpy as np
from training_curves import Clock, Job, Predict, Rows

import directrix as dx

SHORT: dict[str, Any] = {"short": True}
"""Settings that make a short run of any of them."""


def queries(rows: Rows) -> Any:
    return dx.Queries.from_arrays(rows.X, rows.y, group=np.diff(rows.qptr))


def gradient(kind: Any, train: Rows, job: Job, clock: Clock) -> Predict:
    """`LinearRanker` or `MLPRanker`, scored with their parameters at each stage."""
    settings = dict(job.settings)
    if settings.pop("short", False):
        settings |= {"max_iter": 3}
    dx.set_threads(job.threads)
    kept: dict[int, np.ndarray] = {}

    def watch(step: Any) -> None:
        clock.tick(step.iteration)
        kept[step.iteration] = step.params.copy()

    ranker = kind(random_state=0, **settings)
    ranker.fit_queries(queries(train), callback=watch)

    def predict(n: int, X: np.ndarray) -> np.ndarray:
        ranker._params = kept[n]
        return ranker.predict(X)

    return predict


def linear(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    return gradient(dx.LinearRanker, train, job, clock)


def mlp(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    return gradient(dx.MLPRanker, train, job, clock)


def boosted(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    """Every tree is grown without validation queries, as by the peers; the stages are cut from the model."""
    from lightgbm import Booster

    settings = {key: value for key, value in job.settings.items() if key != "short"}
    dx.set_threads(job.threads)
    ranker = dx.BoostedRanker(n_trees=job.n_trees, random_state=0, **settings)
    ranker.fit_queries(queries(train), callback=lambda step: clock.tick(step.iteration))
    del clock.at[0]  # no tree ranks nothing
    booster = Booster(model_str=ranker.trees_.text)
    return lambda n, X: booster.predict(X, num_iteration=n)


def auto(train: Rows, vali: Rows, job: Job, clock: Clock) -> Predict:
    """One stage: the whole search, with its choice on the validation queries."""
    settings = dict(job.settings)
    if settings.pop("short", False):
        settings |= {"method": "ApproxNDCG"}
    dx.set_threads(job.threads)
    ranker = dx.AutoRanker("nDCG@10", random_state=0, **settings)
    ranker.fit_queries(queries(train), queries(vali))
    clock.tick(1)
    return lambda _, X: ranker.predict(X)


TRAIN = {"LinearRanker": linear, "MLPRanker": mlp, "BoostedRanker": boosted, "AutoRanker": auto}


def version_of(who: str) -> str:
    return dx.__version__
