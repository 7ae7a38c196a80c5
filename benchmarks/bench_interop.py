"""Our objectives and metrics in the training loops of LightGBM, XGBoost and CatBoost, beside their own.

    python benchmarks/bench_interop.py [--data DATA] [--folds 5] [--trees 200] [--repeats 15]

Mean test nDCG@10 (convention letor3) over the folds of MQ2008. All have learning rate .1, at most ``--trees``
trees, and stop 30 trees after the best exact value of the validation queries; LightGBM has 31 leaves of at
least 20 documents, the others depth 6. Test queries are only measured. "same" says whether all predictions of
LightGBM's and `BoostedRanker`'s trees are equal bit for bit. Time per tree: the median over ``--repeats``
trainings of 20 trees on fold 1, in turns with LightGBM's lambdarank, one thread each.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from letor import Split, absent, add_data, read_folds, versions

import directrix as dx
from directrix.interop import catboost as for_catboost
from directrix.interop import lightgbm as for_lightgbm
from directrix.interop import xgboost as for_xgboost
from directrix.trainers.boosting import Boosting
from directrix.trainers.leafwise import lightgbm_settings

GOAL = dx.measure("nDCG@10").under("letor3")
RATE, PATIENCE, THREADS, LIMIT = 0.1, 30, 1, 0.3
HALVED = dx.define_measure("halved", gain=lambda labels: labels, discount=lambda rank: 0.5 ** (rank - 1))
SURROGATES: dict[str, Any] = {
    "ApproxNDCG": "ApproxNDCG",
    'Lambda("AP")': dx.Lambda("AP"),
    "YetiRank": "YetiRank",
    "a user's measure": dx.ApproxMeasure(HALVED),
}


def sizes(q: dx.Queries) -> np.ndarray:
    return np.diff(q.qptr)


def exact(scores: Any, q: dx.Queries) -> float:
    return float(GOAL(np.asarray(scores, dtype=np.float64), q.labels, q.qptr).mean())


def settings(*, own: bool) -> dict[str, Any]:
    """Parameters of LightGBM, equal to those of `BoostedRanker` under the same arguments."""
    l2, max_bin = (0.0, 255) if own else (20.0, 127)
    return lightgbm_settings(Boosting(learning_rate=RATE), THREADS, l2, max_bin, lambdarank=own)


def dataset(q: dx.Queries, params: dict[str, Any], like: Any = None) -> Any:
    return lightgbm.Dataset(q.features, q.labels, group=sizes(q), params=params, reference=like)


def with_lightgbm(surrogate: Any, fold: Split, n_trees: int) -> tuple[Any, int]:
    """Scores of the test queries, and the number of trees."""
    params = settings(own=surrogate is None)
    train = dataset(fold.train, params)
    if surrogate is not None:
        params["objective"] = for_lightgbm.objective(surrogate)
    booster = lightgbm.train(
        params,
        train,
        n_trees,
        valid_sets=[dataset(fold.vali, params, train)],
        feval=for_lightgbm.metric(GOAL),
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    return booster.predict(fold.test.features), booster.best_iteration


def with_xgboost(surrogate: Any, fold: Split, n_trees: int) -> tuple[Any, int]:
    train, vali, test = (xgboost.DMatrix(q.features, q.labels, group=sizes(q)) for q in fold)
    params = {"eta": RATE, "max_depth": 6, "nthread": THREADS, "disable_default_eval_metric": True}
    loss = None if surrogate is None else for_xgboost.objective(surrogate)
    more = {"objective": "rank:ndcg"} if loss is None else {"min_child_weight": 20, "lambda": 20}
    booster = xgboost.train(
        params | more,
        train,
        n_trees,
        obj=loss,
        custom_metric=for_xgboost.metric(GOAL),
        maximize=True,
        evals=[(vali, "vali")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    kept = booster.best_iteration + 1
    return booster.predict(test, iteration_range=(0, kept)), kept


def with_catboost(surrogate: Any, fold: Split, n_trees: int) -> tuple[Any, int]:
    params = {"depth": 6, "learning_rate": RATE, "thread_count": THREADS}
    train, vali, test = fold
    if surrogate is not None:
        model = for_catboost.boost(
            surrogate,
            train.features,
            train.labels,
            group=sizes(train),
            params=params | {"l2_leaf_reg": 20},
            iterations=n_trees,
            eval_set=(vali.features, vali.labels, sizes(vali)),
            measure=GOAL,
            early_stopping_rounds=PATIENCE,
        )
        return model.predict(test.features), model.tree_count_
    params |= {"loss_function": "YetiRank", "iterations": n_trees, "verbose": False}
    params |= {"allow_writing_files": False, "random_seed": 0}
    params["eval_metric"] = for_catboost.metric(GOAL, sizes(train), sizes(vali))
    pools = [
        catboost.Pool(q.features, q.labels, group_id=np.repeat(np.arange(q.n_queries), sizes(q)))
        for q in (train, vali)
    ]
    model = catboost.CatBoost(params)
    model.fit(pools[0], eval_set=pools[1], early_stopping_rounds=PATIENCE)
    return model.predict(test.features), model.tree_count_


LIBRARIES = {
    "LightGBM": (with_lightgbm, "its lambdarank"),
    "XGBoost": (with_xgboost, "its rank:ndcg"),
    "CatBoost": (with_catboost, "its YetiRank"),
}


def same_trees(surrogate: Any, fold: Split, n_trees: int) -> bool:
    """Whether LightGBM's predictions are those of `BoostedRanker`, bit for bit, without early stopping."""
    ranker = dx.BoostedRanker(surrogate, n_trees=n_trees, learning_rate=RATE, oblivious=False)
    ranker.fit_queries(fold.train, measure=GOAL)
    params = settings(own=False)
    rows = dataset(fold.train, params)
    params["objective"] = for_lightgbm.objective(surrogate)
    booster = lightgbm.train(params, rows, n_trees)
    scores = booster.predict(fold.test.features)
    return np.array_equal(scores, ranker.predict_queries(fold.test)) and np.ptp(scores) > 0.0


def quality(folds: list[Split], n_trees: int) -> None:
    print(f"\n{'library':10}{'objective':18}{'test nDCG@10':>14}{'trees':>7}{'seconds':>9}")
    for library, (train, own) in LIBRARIES.items():
        for name, surrogate in {own: None, **SURROGATES}.items():
            begin = time.perf_counter()
            found = [train(surrogate, fold, n_trees) for fold in folds]
            values = [exact(scores, fold.test) for (scores, _), fold in zip(found, folds, strict=True)]
            seconds, kept = time.perf_counter() - begin, np.mean([count for _, count in found])
            figures = f"{np.mean(values):14.4f}{kept:7.0f}{seconds:9.1f}"
            print(f"{library:10}{name:18}{figures}", flush=True)


def per_tree(surrogate: Any, rows: Any, params: dict[str, Any], n_trees: int = 20) -> float:
    """Milliseconds per tree of one training, the data set being binned."""
    if surrogate is not None:
        params = params | {"objective": for_lightgbm.objective(surrogate)}
    begin = time.perf_counter()
    lightgbm.train(params, rows, n_trees)
    return (time.perf_counter() - begin) / n_trees * 1e3


def speed(fold: Split, repeats: int) -> None:
    params = settings(own=False)
    rows = dataset(fold.train, params).construct()
    trainings = {"its lambdarank": None, **SURROGATES}
    common = params | {"objective": "lambdarank"}
    times = np.array(
        [[per_tree(one, rows, common) for one in trainings.values()] for _ in range(repeats + 1)]
    )[1:]
    print(f"\n{'LightGBM':22}{'ms per tree':>12}{'more':>8}")
    own = np.median(times[:, 0])
    more = np.median(times / times[:, :1], axis=0) - 1.0
    for name, milliseconds, share in zip(trainings, np.median(times, axis=0), more, strict=True):
        print(
            f"{name:22}{milliseconds:12.2f}{share:+8.0%}" if milliseconds != own else f"{name:22}{own:12.2f}"
        )
    worst = float(more[1:].max())
    print(f"goal {'met' if worst < LIMIT else 'MISSED'}: at most {worst:+.0%} per tree, goal {LIMIT:+.0%}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    if absent(options.data):
        return 0
    warnings.filterwarnings("ignore")
    dx.set_threads(THREADS)
    folds = read_folds(options.data, "MQ2008")[: options.folds]
    packages = (lightgbm, xgboost, catboost)
    print(versions() + "".join(f", {one.__name__} {one.__version__}" for one in packages))
    print(f"\nsame trees as BoostedRanker, {options.trees} trees, {len(folds)} folds of MQ2008:")
    for name, surrogate in SURROGATES.items():
        same = sum(same_trees(surrogate, fold, options.trees) for fold in folds)
        print(f"{name:22}{same} of {len(folds)} folds", flush=True)
    speed(folds[0], options.repeats)
    quality(folds, options.trees)
    return 0


if __name__ == "__main__":
    sys.exit(main())
