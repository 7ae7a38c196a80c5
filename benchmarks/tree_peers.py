"""LightGBM, XGBoost and CatBoost as `training_curves` trains them, in the environment of the peers."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from training_curves import Clock, Job, Predict, Rows

SHORT: dict[str, Any] = {}
"""Settings that make a short run of any of them: few trees are enough."""


def lightgbm(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    import lightgbm as lgb

    rows = lgb.Dataset(train.X, train.y, group=np.diff(train.qptr))
    always = {"objective": "lambdarank", "num_threads": job.threads, "seed": 0, "verbosity": -1}
    booster = lgb.train(
        always | job.settings, rows, job.n_trees, callbacks=[lambda env: clock.tick(env.iteration + 1)]
    )
    return lambda n, X: booster.predict(X, num_iteration=n)


def xgboost(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    import xgboost as xgb

    class Ticks(xgb.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            clock.tick(epoch + 1)
            return False

    rows = xgb.QuantileDMatrix(train.X, train.y, qid=train.qid, nthread=job.threads)
    always = {"objective": "rank:ndcg", "nthread": job.threads, "seed": 0, "verbosity": 0}
    booster = xgb.train(always | job.settings, rows, job.n_trees, callbacks=[Ticks()])
    return lambda n, X: booster.predict(xgb.DMatrix(X), iteration_range=(0, n))


def catboost(train: Rows, _: Rows, job: Job, clock: Clock) -> Predict:
    import catboost as cat

    class Ticks:
        def after_iteration(self, info: Any) -> bool:
            clock.tick(info.iteration)
            return True

    always = {"iterations": job.n_trees, "thread_count": job.threads, "random_seed": 0}
    model = cat.CatBoost(always | job.settings | {"verbose": False, "allow_writing_files": False})
    model.fit(cat.Pool(train.X, train.y, group_id=train.qid), callbacks=[Ticks()])
    return lambda n, X: model.predict(X, ntree_end=n)


TRAIN = {"LightGBM": lightgbm, "XGBoost": xgboost, "CatBoost": catboost}


def version_of(who: str) -> str:
    return version(who.lower())
