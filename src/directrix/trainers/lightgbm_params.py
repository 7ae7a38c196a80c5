"""Parameters of LightGBM: those that our own become, and those that users pass through."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.models.trees import lightgbm, quietly

_L2 = 20.0  # docs/decisions/boosting.md
_MAX_BIN, _MAX_BIN_OF_LIGHTGBM = 127, 255

_SAME_BITS = "is fixed, so that a model has the same bits for any number of threads"
_ONE_TREE = "is fixed: a model here is a sum of trees, of which the best number is kept"
_HAS_OURS = {
    "BoostedRanker(n_trees=...)": "num_iterations num_iteration n_iter num_tree num_trees num_round "
    "num_rounds nrounds num_boost_round n_estimators max_iter",
    "BoostedRanker(learning_rate=...)": "learning_rate shrinkage_rate eta",
    "BoostedRanker(num_leaves=...)": "num_leaves num_leaf max_leaves max_leaf max_leaf_nodes",
    "BoostedRanker(min_data_in_leaf=...)": "min_data_in_leaf min_data_per_leaf min_data min_child_samples "
    "min_samples_leaf",
    "BoostedRanker(l2=...)": "lambda_l2 reg_lambda lambda l2_regularization",
    "BoostedRanker(max_bin=...)": "max_bin max_bins",
    "BoostedRanker(subsample=...)": "bagging_fraction sub_row subsample bagging",
    "BoostedRanker(feature_fraction=...)": "feature_fraction sub_feature colsample_bytree",
    "BoostedRanker(patience=...)": "early_stopping_round early_stopping_rounds early_stopping "
    "n_iter_no_change",
    "BoostedRanker(random_state=...)": "seed random_seed random_state",
    "BoostedRanker(surrogate), e.g. 'lambdarank'": "objective objective_type app application loss",
    "fit(..., measure='nDCG@10')": "metric metrics metric_types eval_at ndcg_eval_at ndcg_at "
    "map_eval_at map_at",
    "fit(..., verbose=True)": "verbosity verbose",
    "BoostedRanker(categorical_features=...)": "categorical_feature cat_feature categorical_column "
    "cat_column",
    "directrix.set_threads(2)": "num_threads num_thread nthread nthreads n_jobs",
}
_FIXED = {
    _SAME_BITS: "deterministic force_row_wise force_col_wise device_type device tree_learner",
    _ONE_TREE: "boosting boosting_type boost linear_tree linear_trees num_class num_classes",
    "has no effect without positions of documents": "lambdarank_position_bias_regularization",
    "has no effect: it is of other objectives or of metrics": "alpha auc_mu_weights boost_from_average "
    "class_weight early_stopping_min_delta fair_c first_metric_only is_unbalance multi_error_top_k "
    "neg_bagging_fraction objective_seed poisson_max_delta_step pos_bagging_fraction refit_decay_rate "
    "reg_sqrt scale_pos_weight tweedie_variance_power",
    "has no effect: it is of boosting='dart', or of linear trees": "drop_rate drop_seed linear_lambda "
    "max_drop skip_drop uniform_drop xgboost_dart_mode",
    "has no effect: it is of files, GPUs or several machines": "data gpu_device_id gpu_device_id_list "
    "gpu_platform_id gpu_use_dp group_column header ignore_column importance_type label_column "
    "local_listen_port machine_list_filename machines num_gpu num_machines parser_config_file pre_partition "
    "precise_float_parser saved_feature_importance_type time_out top_k two_round valid weight_column",
}
_OF_LAMBDARANK = ("label_gain", "lambdarank_norm", "lambdarank_truncation_level", "sigmoid")
_REFUSED = {
    **{name: f"type {ours} instead" for ours, names in _HAS_OURS.items() for name in names.split()},
    **{name: f"it {why}; leave it out" for why, names in _FIXED.items() for name in names.split()},
}
"""Names and aliases of LightGBM that cannot be passed through, and what to do instead."""


def lightgbm_settings(trainer: Any, threads: int, *, lambdarank: bool) -> dict[str, Any]:
    """Return LightGBM's parameters for a `Boosting`; ``lambdarank``: with its own objective."""
    shrinkage, max_bin = (0.0, _MAX_BIN_OF_LIGHTGBM) if lambdarank else (_L2, _MAX_BIN)
    return {
        "objective": "lambdarank" if lambdarank else "none",
        "metric": "none",
        "learning_rate": trainer.learning_rate,
        "num_leaves": trainer.num_leaves,
        "min_data_in_leaf": trainer.min_data_in_leaf,
        "lambda_l2": shrinkage if trainer.l2 is None else trainer.l2,
        "max_bin": max_bin if trainer.max_bin is None else trainer.max_bin,
        "bagging_fraction": trainer.subsample,
        "bagging_freq": int(trainer.subsample < 1.0),
        "feature_fraction": trainer.feature_fraction,
        "feature_pre_filter": False,
        "seed": trainer.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
        "verbosity": -1,
        **(trainer.lightgbm_params or {}),
    }


def check_lightgbm_params(params: Mapping[str, Any], *, lambdarank: bool) -> None:
    """Raise `InputError` for a parameter that is one of ours, fixed, without effect, or none of LightGBM."""
    for name in params:
        given = f"lightgbm_params has {name!r}"
        if name in _REFUSED:
            raise InputError(f"{given}: {_REFUSED[name]}.")
        if name in _OF_LAMBDARANK and not lambdarank:
            raise InputError(
                f"{given}, which only LightGBM's own objective uses; leave it out, or train "
                "BoostedRanker('lambdarank')."
            )
        known = _known()
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            more = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(
                f"{given}, which is no parameter of LightGBM under its main name; see "
                f"https://lightgbm.readthedocs.io/en/latest/Parameters.html.{more}"
            )


@cache
def _known() -> frozenset[str]:
    """Main names of LightGBM's parameters, as a model of it lists them, and those of its estimators."""
    module = lightgbm()
    rows = module.Dataset(np.zeros((2, 1)), np.zeros(2), params={"verbosity": -1})
    text: str = quietly(module.Booster, {"objective": "none", "verbosity": -1}, rows).model_to_string()
    listed = text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    names = [line.removeprefix("[").partition(":")[0] for line in listed.splitlines()]
    return frozenset(names) | (set(inspect.signature(module.LGBMModel).parameters) - {"kwargs"})


@contextmanager
def refusing_values(params: Mapping[str, Any] | None) -> Iterator[None]:
    """Turn an error of LightGBM into an `InputError`, where parameters are passed through.

    Raises `MemoryError` where that is what it means.
    """
    try:
        yield
    except lightgbm().basic.LightGBMError as error:
        if "std::bad_alloc" in str(error):
            raise MemoryError("LightGBM could not allocate memory for the trees") from error
        if not params:
            raise
        reason = str(error).strip()
        raise InputError(f"LightGBM refuses lightgbm_params={dict(params)!r}: {reason}") from error
