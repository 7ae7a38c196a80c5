"""LightGBM, XGBoost and CatBoost as `one_ranker` trains them, in the environment of the peers.

Each has at most ``n_trees`` of its settings, or 500, and stops after 50 without a better nDCG@10 of the
validation queries, by its own measure; the trees up to the best are kept. The first of its settings is how it
comes.
"""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np
from one_ranker import Predict, Rows

N_TREES, PATIENCE = 500, 50
_BAGS = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8}
_ROWS = {"subsample": 0.8, "colsample_bytree": 0.8}


def _product(base: dict[str, Any], **axes: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [base | dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


SETTINGS: dict[str, list[dict[str, Any]]] = {
    "LightGBM": [
        {},
        *_product(_BAGS, num_leaves=(7, 31, 63), learning_rate=(0.05, 0.1)),
        _BAGS | {"num_leaves": 31, "learning_rate": 0.1, "lambda_l2": 10.0},
    ],
    "XGBoost": [
        {},
        *_product(_ROWS, max_depth=(3, 6, 8), eta=(0.1, 0.2)),
        _ROWS | {"max_depth": 6, "eta": 0.1, "min_child_weight": 10.0},
    ],
    "CatBoost": [
        {"loss_function": "YetiRank"},
        *_product({"loss_function": "YetiRank:mode=NDCG;top=10"}, depth=(4, 6, 8), learning_rate=(0.1, 0.2)),
        {"loss_function": "QuerySoftMax", "learning_rate": 0.1},
    ],
}
"""Eight settings of each package."""


def _limit(settings: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The maximum number of trees, and the package's own settings."""
    return settings.get("n_trees", N_TREES), {k: v for k, v in settings.items() if k != "n_trees"}


def lightgbm(train: Rows, vali: Rows, settings: dict[str, Any], threads: int) -> tuple[Predict, str]:
    import lightgbm as lgb

    always = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_threads": threads, "seed": 0}
    n_trees, settings = _limit(settings)
    rows = lgb.Dataset(train.X, train.y, group=np.diff(train.qptr))
    judge = rows.create_valid(vali.X, vali.y, group=np.diff(vali.qptr))
    stop = [lgb.early_stopping(PATIENCE, verbose=False)]
    booster = lgb.train(
        always | {"verbosity": -1} | settings, rows, n_trees, valid_sets=[judge], callbacks=stop
    )
    return lambda rows: booster.predict(rows.X), f"{booster.best_iteration} trees"


def xgboost(train: Rows, vali: Rows, settings: dict[str, Any], threads: int) -> tuple[Predict, str]:
    import xgboost as xgb

    always = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": threads, "seed": 0}
    n_trees, settings = _limit(settings)
    rows = xgb.QuantileDMatrix(train.X, train.y, qid=train.qid, nthread=threads)
    judge = xgb.QuantileDMatrix(vali.X, vali.y, qid=vali.qid, nthread=threads, ref=rows)
    booster = xgb.train(
        always | {"verbosity": 0} | settings,
        rows,
        n_trees,
        evals=[(judge, "vali")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    end = booster.best_iteration + 1
    return lambda rows: booster.predict(xgb.DMatrix(rows.X), iteration_range=(0, end)), f"{end} trees"


def catboost(train: Rows, vali: Rows, settings: dict[str, Any], threads: int) -> tuple[Predict, str]:
    import catboost as cat

    n_trees, settings = _limit(settings)
    always = {"iterations": n_trees, "thread_count": threads, "random_seed": 0, "od_wait": PATIENCE}
    always |= {"od_type": "Iter", "eval_metric": "NDCG:top=10;type=Exp", "use_best_model": True}
    model = cat.CatBoost(always | settings | {"verbose": False, "allow_writing_files": False})
    model.fit(
        cat.Pool(train.X, train.y, group_id=train.qid), eval_set=cat.Pool(vali.X, vali.y, group_id=vali.qid)
    )
    return lambda rows: model.predict(rows.X), f"{model.tree_count_} trees"


TRAIN = {"LightGBM": lightgbm, "XGBoost": xgboost, "CatBoost": catboost}


def version_of(who: str) -> str:
    return str(import_module(who.lower()).__version__)  # XGBoost comes in packages of two names
