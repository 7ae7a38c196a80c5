"""Names of LightGBM, XGBoost, CatBoost and scikit-learn, and what a ranker has in their place."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_NAMES = {
    "n_trees": "n_estimators num_iterations num_boost_round iterations num_trees n_iter max_iter",
    "max_iter": "n_iter num_epochs n_epochs epochs iterations",
    "learning_rate": "eta learning_rate_init",
    "num_leaves": "max_leaves max_leaf_nodes max_depth depth",
    "min_data_in_leaf": "min_child_samples min_samples_leaf",
    "l2": "reg_lambda lambda_l2 l2_leaf_reg l2_regularization alpha C",
    "feature_fraction": "colsample_bytree rsm max_features",
    "subsample": "bagging_fraction",
    "random_state": "seed random_seed",
    "monotone": "monotone_constraints monotonic_cst",
    "categorical_features": "categorical_feature cat_features",
    "surrogate": "objective loss_function loss",
    "hidden": "hidden_layer_sizes",
    "patience": "early_stopping_round early_stopping_rounds n_iter_no_change od_wait",
    "early_stopping_rounds": "early_stopping_round",
    "qid": "group_id query_id groups",
    "query_weight": "group_weight",
    "sample_weight": "weight weights",
    "eval_set": "valid_sets validation_data",
    "callback": "callbacks",
    "verbose": "verbose_eval verbosity",
    "fit(..., measure='nDCG@10')": "eval_at eval_metric metric custom_metric metrics feval",
    "fit(..., verbose=20)": "verbose",
    "fit(..., early_stopping_rounds=20)": "early_stopping_rounds",
    "fit(frame, ...), whose columns have names": "feature_name feature_names",
    "BoostedRanker(categorical_features=[0])": "categorical_feature cat_features",
    "BoostedRanker(init_model=ranker)": "init_score base_margin baseline",
    "directrix.set_threads(n)": "n_jobs nthread thread_count num_threads",
    "directrix.explain(ranker, queries)": "pred_contrib pred_contribs",
    "ranker.result_.counts['best']": "best_iteration_ best_iteration best_ntree_limit",
    "max(evals_result_['valid_0'][measure_.name])": "best_score_ best_score",
    "lightgbm.Booster(model_str=trees_.to_lightgbm())": "booster_",
    "ranker.result_.counts['iterations']": "n_estimators_ n_iter_",
    "ranker.feature_names_in_": "feature_name_ feature_names_",
    "ranker.n_features_in_": "n_features_",
}
"""By the names of directrix, or what to type: names of other tools."""
_HERE: dict[str, list[str]] = {}
for _equivalent, _names in _NAMES.items():
    for _name in _names.split():
        _HERE.setdefault(_name, []).append(_equivalent)


def name_here(name: str, known: Collection[str] = ()) -> str:
    """Return what directrix has in place of a name: one of the ``known`` ones if possible; "" for none."""
    others = _HERE.get(name, [])
    mine = [equivalent for equivalent in others if equivalent in known] or [
        equivalent for equivalent in others if not equivalent.isidentifier()
    ]
    return next(iter([*mine, *(difflib.get_close_matches(name, known, n=1) if known else ())]), "")


def check_arguments(owner: Any, given: Collection[str]) -> None:
    """Raise `TypeError` for arguments that a class or a function does not have, with what to type."""
    parameters = [name for name in signature(owner).parameters if name != "self"]
    for name in set(given).difference(parameters):
        here = name_here(name, parameters)
        raise TypeError(
            f"{owner.__qualname__}() has no argument {name!r}; "
            + (f"did you mean {here}?" if here else f"it has {', '.join(parameters)}.")
        )


def explaining(method: F) -> F:
    """Decorate a method with `check_arguments`."""

    @wraps(method)
    def call(ranker: Any, *args: Any, **arguments: Any) -> Any:
        if arguments:
            check_arguments(method, arguments)
        return method(ranker, *args, **arguments)

    return call  # type: ignore[return-value]
