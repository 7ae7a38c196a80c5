"""Trees that LightGBM grows leaf by leaf, for any loss or for its own objective."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.trees import Trees, lightgbm, quietly, threads_for
from directrix.objectives.scores import ScoreObjective, newton_step
from directrix.trainers.bins import shared
from directrix.types import Float64Array

# Reasons for which a parameter of LightGBM cannot be chosen.
_SAME_BITS = "is fixed, so that a model has the same bits for any number of threads"
_ONE_TREE = "is fixed: a model is a sum of trees here, and the best number is kept"
# Parameters that directrix has itself: what to type, and LightGBM's names and aliases for it.
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
# Parameters with a fixed value or no effect: the reason, and their names and aliases.
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
# Parameters that only LightGBM's own objective reads.
_OF_LAMBDARANK = ("label_gain", "lambdarank_norm", "lambdarank_truncation_level", "sigmoid")
_REJECTED = {
    **{name: f"type {ours} instead" for ours, names in _HAS_OURS.items() for name in names.split()},
    **{name: f"it {why}; leave it out" for why, names in _FIXED.items() for name in names.split()},
}
"""Names and aliases of LightGBM that cannot be passed through, and what to do instead."""


def lightgbm_settings(
    trainer: Any, threads: int, l2: float, max_bin: int, *, lambdarank: bool
) -> dict[str, Any]:
    """Return LightGBM's parameters for a `Boosting`; ``lambdarank``: with its own objective."""
    return {
        "objective": "lambdarank" if lambdarank else "none",
        "metric": "none",
        "learning_rate": trainer.learning_rate,
        "num_leaves": trainer.num_leaves,
        "min_data_in_leaf": trainer.min_data_in_leaf,
        "lambda_l2": l2,
        "max_bin": max_bin,
        "bagging_fraction": trainer.subsample,
        # LightGBM ignores a share of the documents unless they are drawn again after some number of trees.
        "bagging_freq": int(trainer.subsample < 1.0),
        "feature_fraction": trainer.feature_fraction,
        # The filter depends on ``min_data_in_leaf``, but one data set serves runs with different ones.
        "feature_pre_filter": False,
        "seed": trainer.seed,
        # With histograms by rows, the bits do not depend on the number of threads.
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
        "verbosity": -1,
        **(trainer.lightgbm_params or {}),
    }


def check_lightgbm_params(params: Mapping[str, Any], *, lambdarank: bool) -> None:
    """Raise `InputError` for a parameter set elsewhere, fixed, without effect, or unknown to LightGBM."""
    for name in params:
        clause = f"lightgbm_params has {name!r}"
        if name in _REJECTED:
            raise InputError(f"{clause}: {_REJECTED[name]}.")
        if name in _OF_LAMBDARANK and not lambdarank:
            raise InputError(
                f"{clause}, which only LightGBM's own objective uses; leave it out, or train "
                "BoostedRanker('lambdarank')."
            )
        main_names = _known()
        if name not in main_names:
            near = difflib.get_close_matches(str(name), main_names, n=1)
            more = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(
                f"{clause}, which is not a parameter of LightGBM under its main name; see "
                f"https://lightgbm.readthedocs.io/en/latest/Parameters.html.{more}"
            )


@cache
def _known() -> frozenset[str]:
    """Main names of LightGBM's parameters, as a model of it lists them, and those of its estimators."""
    module = lightgbm()
    rows = module.Dataset(np.zeros((2, 1)), np.zeros(2), params={"verbosity": -1})
    # The text of a model lists all parameters, so a new version of LightGBM needs no list here.
    text: str = quietly(module.Booster, {"objective": "none", "verbosity": -1}, rows).model_to_string()
    listed = text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    names = [line.removeprefix("[").partition(":")[0] for line in listed.splitlines()]
    return frozenset(names) | (set(inspect.signature(module.LGBMModel).parameters) - {"kwargs"})


@contextmanager
def rejecting_values(params: Mapping[str, Any] | None) -> Iterator[None]:
    """Turn an error of LightGBM into an `InputError` if parameters are passed through.

    Raises `MemoryError` if that is its cause.
    """
    try:
        yield
    except lightgbm().basic.LightGBMError as error:
        # LightGBM reports a lack of memory as an error of its own, with the text of C++.
        if "std::bad_alloc" in str(error):
            raise MemoryError("LightGBM could not allocate memory for the trees") from error
        if not params:
            raise
        reason = str(error).strip()
        raise InputError(f"LightGBM rejects lightgbm_params={dict(params)!r}: {reason}") from error


def _binned(
    data: Queries,
    parameters: dict[str, Any],
    like: Any = None,
    *,
    extra: Mapping[str, Any] | None = None,
    start: Float64Array | None = None,
    categorical: Sequence[int] = (),
) -> Any:
    """LightGBM's data set of the features; validation data use the bins of another one.

    ``extra`` are parameters from the user, on which bins may depend; ``start`` are first scores;
    ``categorical`` are columns of categories.
    """

    def make() -> Any:
        no_labels = np.zeros(data.n_docs)
        chosen = {} if like is not None else {"categorical_feature": list(categorical)}
        # SciPy's sparse matrices stay sparse; scaled ones become dense.
        features = data.features if sp.issparse(data.features) else np.asarray(data.features)
        rows = lightgbm().Dataset(features, no_labels, like, params=parameters, free_raw_data=True, **chosen)
        if start is not None:
            rows.set_init_score(start)
        quietly(rows.construct)
        return rows

    # LightGBM's own objective needs labels and weights, and a data set keeps whatever was set once. So only a
    # data set without them is shared.
    if parameters["objective"] != "none" or start is not None:
        return make()
    kind = id(like), parameters["max_bin"], repr(extra), tuple(categorical)
    return shared(data.features, kind, make)


def leafwise_bags(
    trainer: Any,
    data: Queries,
    judged: Queries | None,
    starts: tuple[Float64Array, Float64Array] | None,
    l2: float,
    max_bin: int,
    weight: Float64Array | None = None,
) -> list[LeafwiseTrees]:
    """Return a booster for each of ``trainer.n_bags``, of LightGBM's own objective if there are weights."""
    lambdarank = weight is not None
    parameters = lightgbm_settings(trainer, threads_for(data.features), l2, max_bin, lambdarank=lambdarank)
    extra, (start, before) = trainer.lightgbm_params, starts or (None, None)
    if weight is not None:
        _check_labels(data)
    rows = _binned(data, parameters, extra=extra, start=start, categorical=trainer.categorical)
    if weight is not None:
        sizes = np.diff(data.qptr)
        rows.set_label(data.labels).set_group(sizes).set_weight(np.repeat(weight, sizes))
    theirs = None if judged is None else _binned(judged, parameters, like=rows, extra=extra, start=before)
    return [LeafwiseTrees(parameters, rows, theirs, trainer.seed, bag) for bag in range(trainer.n_bags)]


_HIGHEST_LABEL = 30
"""LightGBM's own objective has gains for no higher label."""


class LeafwiseTrees:
    """A booster of LightGBM, which grows trees one after another.

    Parameters
    ----------
    settings : dict
        LightGBM's parameters.
    rows : lightgbm.Dataset
        Training documents, with labels if the objective is LightGBM's own.
    judged : lightgbm.Dataset, optional
        Validation documents.
    seed, bag : int
        Number of the ensemble; random numbers depend on both.
    """

    def __init__(self, settings: dict[str, Any], rows: Any, judged: Any, seed: int, bag: int) -> None:
        self._step: tuple[Float64Array, Float64Array] | None = None
        self._booster = quietly(lightgbm().Booster, settings | _seeds(seed, bag), rows)
        # LightGBM stops with an error if every feature has one bin, as features of subnormal numbers do.
        self._is_constant = not any(map(rows.feature_num_bin, range(rows.num_feature())))
        if judged is not None:
            quietly(self._booster.add_valid, judged, "valid")

    def scores(self) -> Float64Array:
        """Return the scores of the training documents."""
        return _scores(self._booster.eval_train)

    def judged(self) -> Float64Array:
        """Return the scores of the validation documents."""
        return _scores(self._booster.eval_valid)

    def begin(self, objective: ScoreObjective | None, *draw: int) -> tuple[float, float, float]:
        """Compute the Newton step of a tree; return the loss, and the largest gradient and curvature.

        Without an objective, LightGBM's own makes the step.
        """
        if objective is None:
            return np.nan, 0.0, 0.0
        loss, grad, curvature = objective.value_grad_curvature(self.scores(), *draw)
        self._step = newton_step(grad, curvature)
        return loss, float(np.abs(grad).max()), float(curvature.max())

    def add(self) -> bool:
        """Grow a tree; return whether no split lowers the loss."""
        if self._is_constant:
            return True
        step = self._step
        return bool(self._booster.update(fobj=None if step is None else lambda *_: step))

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        return Trees.grown(self._booster, n_trees, self._booster.num_feature())


def _seeds(seed: int, bag: int) -> dict[str, int]:
    """Seeds of a bag after the first; LightGBM's ``seed`` itself is one of its data set too."""
    # LightGBM's seeds are signed, so one bit of 32 is dropped.
    drawn = np.random.SeedSequence([seed, bag]).generate_state(3) >> 1
    names = ("bagging_seed", "feature_fraction_seed", "extra_seed")
    return dict(zip(names, drawn.tolist(), strict=True)) if bag else {}


def _scores(evaluate: Callable[..., Any]) -> Float64Array:
    """Scores that LightGBM keeps up to date for a data set; its only public way to them is an evaluation."""
    # The array belongs to LightGBM, which changes it with every tree, so it is copied.
    copies: list[Float64Array] = []

    def take(scores: Float64Array, _: Any) -> tuple[str, float, bool]:
        copies.append(np.array(scores, dtype=np.float64))
        return "scores", 0.0, True

    evaluate(feval=take)
    return copies[0]


def _check_labels(data: Queries) -> None:
    highest = float(data.labels.max(initial=0.0))
    if highest > _HIGHEST_LABEL or not np.array_equal(data.labels, np.floor(data.labels)):
        raise InputError(
            f"LightGBM's own objective takes whole labels from 0 to {_HIGHEST_LABEL}, not these (up to "
            f"{highest:g}). Map them to grades, or train with a surrogate: BoostedRanker('YetiRank')."
        )
