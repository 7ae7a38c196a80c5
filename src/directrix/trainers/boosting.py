r"""Gradient boosting of any surrogate, with trees that LightGBM grows.

The scores of the training documents start at 0. Every tree is a step of functional gradient descent on the
loss of the scores. Its splits and leaves follow a Newton step,

.. math:: v_{leaf} = -\eta \frac{\sum_{i \in leaf} g_i}{\sum_{i \in leaf} h_i + \lambda},

with gradient g and curvature h of the loss (see `KernelSurrogate.curvature`).
"""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.data.sparse import deviations
from directrix.errors import InputError
from directrix.models.trees import Trees, lightgbm, quietly, threads_for
from directrix.objectives.scores import ScoreObjective, newton_step
from directrix.trainers.progress import Progress, Settings
from directrix.types import Callback, Float64Array, Result, is_sparse

_SHARED: ContextVar[dict[tuple[Any, ...], tuple[Any, Any]] | None] = ContextVar("_SHARED", default=None)


@contextmanager
def sharing_bins() -> Iterator[None]:
    """Bin a data set once for all training runs in this context; binning takes as long as 50 trees.

    The data must not change meanwhile, because they are recognized by the identity of their features.
    """
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def binned(
    data: Queries,
    settings: dict[str, Any],
    like: Any = None,
    *,
    own: Mapping[str, Any] | None = None,
    start: Float64Array | None = None,
    categorical: Sequence[int] = (),
) -> Any:
    """Return LightGBM's data set of the features; validation data use the bins of another one.

    ``own`` are parameters from the user, on which bins may depend; ``start`` are first scores;
    ``categorical`` are columns of categories.
    """
    # LightGBM's own objective needs labels and weights, and a data set keeps whatever was set once
    shared = _SHARED.get() if settings["objective"] == "none" and start is None else None
    key = id(data.features), id(like), settings["max_bin"], repr(own), tuple(categorical)
    if shared is not None and key in shared:
        return shared[key][1]
    no_labels = np.zeros(data.n_docs)
    chosen = {} if like is not None else {"categorical_feature": list(categorical)}
    # SciPy's sparse matrices stay sparse; scaled ones become dense
    features = data.features if sp.issparse(data.features) else np.asarray(data.features)
    rows = lightgbm().Dataset(features, no_labels, like, params=settings, free_raw_data=True, **chosen)
    if start is not None:
        rows.set_init_score(start)
    quietly(rows.construct)
    if shared is not None:
        shared[key] = data.features, rows  # the features stay alive, and with them their identity
    return rows


_L2 = 20.0  # docs/decisions/boosting.md
_MAX_BIN, _MAX_BIN_OF_LIGHTGBM = 127, 255

_SAME_BITS = "is fixed, so that a model has the same bits for any number of threads"
_ONE_TREE = "is fixed: a model is a sum of trees here, and the best number is kept"
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
_REJECTED = {
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
    """Raise `InputError` for a parameter set elsewhere, fixed, without effect, or unknown to LightGBM."""
    for name in params:
        given = f"lightgbm_params has {name!r}"
        if name in _REJECTED:
            raise InputError(f"{given}: {_REJECTED[name]}.")
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
                f"{given}, which is not a parameter of LightGBM under its main name; see "
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
def rejecting_values(params: Mapping[str, Any] | None) -> Iterator[None]:
    """Turn an error of LightGBM into an `InputError` if parameters are passed through.

    Raises `MemoryError` if that is its cause.
    """
    try:
        yield
    except lightgbm().basic.LightGBMError as error:
        if "std::bad_alloc" in str(error):
            raise MemoryError("LightGBM could not allocate memory for the trees") from error
        if not params:
            raise
        reason = str(error).strip()
        raise InputError(f"LightGBM rejects lightgbm_params={dict(params)!r}: {reason}") from error


_HIGHEST_LABEL = 30  # LightGBM's own objective has gains for no more


@dataclass(frozen=True)
class Boosting(Settings):
    """Settings for growing trees, made by `BoostedRanker`.

    Parameters
    ----------
    n_trees, num_leaves, min_data_in_leaf : int
        Steps, >= 1; leaves of a tree, >= 2; documents in every leaf, >= 1.
    learning_rate : float > 0
        Factor eta on every step.
    l2 : float >= 0, optional
        Lambda, in documents: curvatures are divided by their mean, so l2 = 10 halves the leaf of ten
        average documents. Default 20; 0 with LightGBM's own objective, which has another unit.
    max_bin : int >= 2, optional
        Maximum number of bins of a feature, between which a tree splits. Default 127; with LightGBM's own
        objective 255, its default.
    subsample, feature_fraction : float in (0, 1]
        Share of the documents and of the features that each tree is grown on.
    n_bags : int >= 1
        Number of ensembles grown in parallel, each with its own random numbers; their mean is the model. A
        step grows one tree for each.
    patience : int >= 1, or None
        With validation queries: stop after this number of trees without a new best.
    anneal : float >= 1
        Ratio of the smoothing for the first tree to that for the last one. The smoothing decreases
        geometrically, to 1 in the unit of ``surrogate.at``. Steps have the unit of scores, so only the ratio
        matters.
    seed : int >= 0
        Seed of the random choice of documents and features, and of the noise of a stochastic surrogate.
    lightgbm_params : mapping, optional
        Further parameters of LightGBM, e.g. ``{"max_depth": 6}``.
    categorical : tuple of int
        Columns that hold categories: integers >= 0, or NaN.

    References
    ----------
    Friedman (2001), Algorithm 1, doi:10.1214/aos/1013203451; Burges (2010), MSR-TR-2010-82, Section 7, for
    Newton steps in the leaves of a ranking objective; Chapelle & Wu (2010), Section 6, for boosting a
    smoothed measure.
    """

    n_trees: int = 1000
    learning_rate: float = 0.05
    num_leaves: int = 31
    min_data_in_leaf: int = 20
    l2: float | None = None
    max_bin: int | None = None
    subsample: float = 1.0
    feature_fraction: float = 1.0
    n_bags: int = 1
    patience: int | None = None
    anneal: float = 1.0
    seed: int = 0
    lightgbm_params: Mapping[str, Any] | None = None
    categorical: tuple[int, ...] = ()

    def grow(
        self,
        data: Queries,
        objective: ScoreObjective | Float64Array | None,
        *,
        valid: Queries | None = None,
        judge: Callable[[Float64Array], float] | None = None,
        callback: Callback | None = None,
        init: Trees | None = None,
    ) -> tuple[Result, Trees]:
        """Grow trees on the features of ``data``.

        Parameters
        ----------
        data : Queries
            Training data, dense or CSR.
        objective : ScoreObjective, or weights of the queries, or None
            Loss of the scores. Weights (n_queries,) or None mean LightGBM's own objective lambdarank.
        valid : Queries, optional
            Validation data, scored after every tree.
        judge : callable, optional
            Scores of ``valid`` -> float, higher is better; the number of trees with the highest value is
            kept.
        callback : callable, optional
            Called with a `Step` before the first and after every tree, whose parameters are the scores of
            the training documents; returning True stops.
        init : Trees, optional
            The first trees; new trees improve on their scores.

        Returns
        -------
        result : Result
            ``params`` are the values of all leaves; ``counts`` has iterations and best, which count the new
            trees; ``value`` is the loss with the kept trees, NaN under LightGBM's own objective.
        trees : Trees

        Raises
        ------
        MissingExtra
            If LightGBM is not installed.
        InputError
            If all validation scores are NaN, LightGBM's own objective rejects the labels, there is no
            smoothing to ``anneal``, or LightGBM rejects one of ``lightgbm_params``.

        Notes
        -----
        Results have the same bits for any number of threads, by LightGBM's ``deterministic`` and histograms
        by rows.
        """
        own = not isinstance(objective, ScoreObjective)
        check_lightgbm_params(self.lightgbm_params or {}, lambdarank=own)
        first = Trees.none(data.n_features) if init is None else init
        if not _varies(data.features):
            return _no_tree(data, objective, callback, first)
        with rejecting_values(self.lightgbm_params):
            return _Run(self, data, objective, valid, judge, callback, first).grow()


class _Run(Progress):
    """A training run in progress: a booster and its data."""

    def __init__(
        self,
        trainer: Boosting,
        data: Queries,
        objective: ScoreObjective | Float64Array | None,
        valid: Queries | None,
        judge: Callable[[Float64Array], float] | None,
        callback: Callback | None,
        first: Trees,
    ) -> None:
        start = first.predict(data.features)
        super().__init__(start, callback)
        self.first = first
        self.trainer, self.data, self.judge = trainer, data, judge if valid is not None else None
        self.objective = objective if isinstance(objective, ScoreObjective) else None
        if trainer.anneal > 1.0 and not hasattr(getattr(self.objective, "surrogate", None), "at"):
            raise InputError(
                f"anneal={trainer.anneal:g} lowers the smoothing of a surrogate, and this one has none; "
                'train a smooth one, e.g. BoostedRanker("SmoothNDCG", anneal=4096.0), or set anneal=1.'
            )
        settings = lightgbm_settings(trainer, threads_for(data.features), lambdarank=self.objective is None)
        if self.objective is None:
            _check_labels(data)
        own = trainer.lightgbm_params
        begin = start if first.n_trees else None
        rows = binned(data, settings, own=own, start=begin, categorical=trainer.categorical)
        if self.objective is None:
            weight = None if objective is None else np.repeat(np.asarray(objective), np.diff(data.qptr))
            rows.set_label(data.labels).set_group(np.diff(data.qptr)).set_weight(weight)
        self.bags = [
            quietly(lightgbm().Booster, settings | _seeds(trainer.seed, bag), rows)
            for bag in range(trainer.n_bags)
        ]
        if self.judge is not None and valid is not None:
            before = first.predict(valid.features) if first.n_trees else None
            judged = binned(valid, settings, like=rows, own=own, start=before)
            for bag in self.bags:
                quietly(bag.add_valid, judged, "valid")
        self.best, self.best_score = 0, -np.inf

    def grow(self) -> tuple[Result, Trees]:
        n_trees, patience = self.trainer.n_trees, self.trainer.patience
        with self:
            while True:
                scores = [_scores(bag.eval_train) for bag in self.bags]
                losses, *gradients = zip(*map(self._at, scores, itertools.count()), strict=False)
                if not np.isfinite(gradients).all():
                    self.end("not_finite", "the gradient became NaN or infinite; lower the learning_rate")
                annealed = {"smoothing": self._smoothing()} if self.trainer.anneal > 1.0 else {}
                self.step(np.mean(scores, axis=0), float(np.mean(losses)), **annealed, **self._judged())
                if patience is not None and self.judge and self.iterations - self.best >= patience:
                    self.end("stopped", f"no new best in {patience} trees")
                if self.iterations == n_trees:
                    self.end("max_iter", f"{n_trees} trees grown; raise n_trees to continue")
                if all([*map(self._add_tree, self.bags, *gradients)]):
                    self.end("converged", "no split with enough documents lowers the loss further")
        return self._finished()

    def _at(self, scores: Float64Array, bag: int) -> tuple[float, Float64Array, Float64Array]:
        if self.objective is None:
            return np.nan, np.zeros(0), np.zeros(0)
        objective = self.objective
        if self.trainer.anneal > 1.0:
            objective = objective.at(self._smoothing())
        # the noise of a tree depends on its position among all, as in one training run
        place = self.first.n_trees + len(self.trace)
        return objective.value_grad_curvature(scores, self.trainer.seed, place, *([bag] if bag else ()))

    def _smoothing(self) -> float:
        """Smoothing for the next tree: from ``anneal`` down to 1."""
        share = len(self.trace) / max(self.trainer.n_trees - 1, 1)
        return float(self.trainer.anneal ** max(1.0 - share, 0.0))

    def _judged(self) -> dict[str, float]:
        """The validation score of the trees so far, a column of the trace."""
        n = len(self.trace)
        if self.judge is None:
            self.best = n
            return {}
        score = self.judge(np.mean([_scores(bag.eval_valid) for bag in self.bags], axis=0))
        # scores that are all 0 rank nothing, so a model has at least one tree
        if (n > 0 or self.first.n_trees) and score > self.best_score:
            self.best, self.best_score = n, score
        return {"score": score}

    def _add_tree(self, bag: Any, grad: Float64Array, curvature: Float64Array) -> bool:
        if self.objective is None:
            return bool(bag.update())
        step = newton_step(grad, curvature)
        return bool(bag.update(fobj=lambda *_: step))

    def _finished(self) -> tuple[Result, Trees]:
        grown, message = self.iterations, self.message
        counts = {"iterations": grown}
        if self.judge is not None and grown > 0:
            if not np.isfinite(self.best_score):
                raise InputError(
                    f"the score was NaN after all {grown} trees, so none is best; the measure must be "
                    "defined for at least one validation query."
                )
            counts["best"] = self.best
            message = f"{message}; best after {self.best} trees with {self.best_score:.4f}"
        trees = self.first
        for bag in self.bags:
            grown_by_it = Trees.grown(bag, self.best, self.data.n_features)
            trees = trees.followed_by(replace(grown_by_it, leaf=grown_by_it.leaf / len(self.bags)))
        loss = float(self.trace[self.best]["loss"]) if self.trace else np.nan
        return Result(trees.leaf, loss, self.status, message, counts, self.trace), trees


def _seeds(seed: int, bag: int) -> dict[str, int]:
    """Seeds of a bag after the first; LightGBM's ``seed`` itself is one of its data set too."""
    drawn = np.random.SeedSequence([seed, bag]).generate_state(3) >> 1
    names = ("bagging_seed", "feature_fraction_seed", "extra_seed")
    return dict(zip(names, drawn.tolist(), strict=True)) if bag else {}


def _no_tree(data: Queries, objective: Any, callback: Callback | None, first: Trees) -> tuple[Result, Trees]:
    """Return the start alone, for features that are all constant: LightGBM fails on them."""
    scores, loss = first.predict(data.features), np.nan
    if isinstance(objective, ScoreObjective):
        loss = objective.value_grad_curvature(scores)[0]
    progress = Progress(scores, callback)
    with progress:
        progress.step(scores, loss)
        progress.end("converged", "no feature varies: there is nothing to split")
    return replace(progress.result(), params=first.leaf), first


def _scores(evaluate: Callable[..., Any]) -> Float64Array:
    """Scores that LightGBM keeps up to date for a data set; its only public way to them is an evaluation."""
    copies: list[Float64Array] = []

    def take(scores: Float64Array, _: Any) -> tuple[str, float, bool]:
        copies.append(np.array(scores, dtype=np.float64))
        return "scores", 0.0, True

    evaluate(feval=take)
    return copies[0]


def _varies(features: Any) -> bool:
    """Whether any column holds two different values."""
    if is_sparse(features):
        entries = deviations(features)
        return bool((entries.max(axis=0) != entries.min(axis=0)).nnz)
    return any(not np.array_equal(row, features[0], equal_nan=True) for row in features)


def _check_labels(data: Queries) -> None:
    highest = float(data.labels.max(initial=0.0))
    if highest > _HIGHEST_LABEL or not np.array_equal(data.labels, np.floor(data.labels)):
        raise InputError(
            f"LightGBM's own objective takes whole labels from 0 to {_HIGHEST_LABEL}, not these (up to "
            f"{highest:g}). Map them to grades, or train with a surrogate: BoostedRanker('YetiRank')."
        )
