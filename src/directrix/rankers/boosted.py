"""A ranker of boosted trees, trained for a measure, as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure, check_gains
from directrix.measures.dcg import NDCG
from directrix.models.trees import Trees, lightgbm
from directrix.objectives.scores import ScoreLoss, ScoreObjective
from directrix.parameters import Checks, option
from directrix.rankers.base import Ranker
from directrix.rankers.bounds import directions_of
from directrix.rankers.inputs import TrainedModel, Training, column_of, surrogate_of
from directrix.rankers.means import mean_evaluator
from directrix.rankers.named_trainers import seed_of
from directrix.rankers.scoring import check_codes
from directrix.rankers.shards import OnShards
from directrix.rankers.starts import started_from
from directrix.surrogates.lambdas import YetiRank
from directrix.trainers.bins import MAX_BIN, MOST_BINS
from directrix.trainers.boosting import Boosting
from directrix.types import Float64Array, Surrogate

_LAMBDARANK = "lambdarank"
# Oblivious trees have at most this number of leaves; their histograms, and a byte for every value, take at
# most this number of bytes.
_MOST_LEAVES, _MOST_BYTES = 1024, 1 << 32
# The ranker uses these parameters before the trainer sees the data.
_NOT_OF_BOOSTING = ("scale", "categorical_features", "monotone")


@dataclass(eq=False, repr=False)
class BoostedRanker(OnShards):
    r"""Scores :math:`f(x) = \sum_t T_t(x)`: boosted trees for any surrogate.

    .. math:: \min_f \; -\frac{\sum_q v_q \, S_q(f(X_q))}{\sum_q v_q}

    by functional gradient descent: every tree is a Newton step on the scores, with the surrogate's gradient
    and `KernelSurrogate.curvature`.

    Parameters
    ----------
    surrogate : Surrogate or str, optional
        Function to maximize, e.g. ``ApproxNDCG()``, or its text. Default `YetiRank`, which ranks best if
        features interact (docs/decisions/boosting.md). "lambdarank" is LightGBM's own objective, LambdaMART
        (Burges 2010), for comparison.
    n_trees : int >= 1
        Maximum number of trees.
    learning_rate : float > 0
        Factor on the step of every tree.
    num_leaves : int >= 2
        Leaves of a tree; an oblivious tree has the next power of 2, at most 1024.
    min_data_in_leaf : int >= 1, optional
        Documents in every leaf, for trees that are not oblivious. Default 20.
    l2 : float >= 0, optional
        Shrinks leaves of few documents: a leaf of l2 documents of average curvature is halved. Default 20.
        With "lambdarank" LightGBM's ``lambda_l2``, in units of its own second derivatives; default 0.
    max_bin : int >= 2, optional
        Maximum number of bins of a feature, between which trees split. Default 127, which costs less time
        than 255, the default with "lambdarank", and ranks as well (docs/decisions/boosting.md). Oblivious
        trees have at most 254.
    subsample : float in (0, 1]
        Share of the documents that each tree is grown on.
    feature_fraction : float in (0, 1]
        Share of the features that each tree may split on.
    n_bags : int >= 1
        Bagging (Ganjisaffar, Caruana & Lopes 2011, doi:10.1145/2009916.2009932): this number of models is
        grown side by side, each with its own noise and its own shares of documents and features, and the
        mean of their scores is kept, as one sum of trees. Useful with e.g. ``subsample=0.7,
        feature_fraction=0.6``; it multiplies time and trees by ``n_bags``.
    scale : str or None
        As in `LinearRanker`. Kinds by the training data keep the order of values, so trees hardly change.
        Kinds by query make the features of queries comparable; "raw+query-percentile" also keeps the raw
        features. Without a kind that fills missing values (NaN), trees handle them; in a feature that was
        never missing in training, they are an error, or with ``missing="nan"`` count as 0.
    patience : int >= 1, optional
        With an ``eval_set``: stop after this number of trees without a better value on it. None: no early
        stop, only the best number of trees is kept.
    anneal : float >= 1
        Ratio of the smoothing of the surrogate for the first tree to that for the last one, see `Boosting`:
        4096 is the annealing of SmoothRank, from 2^6 to 2^-6.
    random_state : int, RandomState or None
        Seed of the two shares, and of the noise of a stochastic surrogate; None is 0.
    lightgbm_params : dict, optional
        Further parameters of LightGBM by its own names, e.g. ``{"max_depth": 6, "lambda_l1": 1.0}``; those
        that have a parameter here are rejected.
    monotone : dict, optional
        Direction by the name or the column (from 0) of a feature: 1 if the score must not fall where the
        feature rises, -1 if it must not rise; see LightGBM's ``monotone_constraints``. Categories have no
        direction.
    categorical_features : list of int or str, optional
        Columns of categories that arrays hold as whole numbers >= 0, by number from 0 or by name. Columns of
        a frame that have a categorical type are categories anyway: their names are kept, so a frame to score
        may list them in another order, and one that was not there in training counts as missing.
    oblivious : bool, optional
        Whether all nodes of a level of a tree have the same split (Kohavi & Li 1995; CatBoost's symmetric
        trees). Such trees rank better on most synthetic data, and are level on real data
        (docs/decisions/boosting.md). False: LightGBM grows the trees leaf by leaf. Default: True, unless
        something is given that only LightGBM's trees have: "lambdarank", ``min_data_in_leaf``,
        ``lightgbm_params``, ``monotone``, categories, more leaves or bins, or features of which histograms
        and a byte for every value, also of sparse ones, take more than 4 GiB.
    init_model : BoostedRanker or path, optional
        Ranker with the same features and the same ``scale``, or its model file: its trees come first, and
        ``n_trees`` counts the new ones. A ranker that is not fitted is first fitted to the training queries,
        like a ``start`` of `LinearRanker`.

    Attributes
    ----------
    trees_ : Trees
        The trees; ``trees_.to_lightgbm()`` is a LightGBM model.
    feature_importances_ : float64 (n_features,)
        Share of each feature in the gain of all splits; they sum to 1 (0 for no split).
    evals_result_ : dict
        Learning curves, in the form of LightGBM.
    result_ : Result
        Why training stopped; its trace has the loss and the validation measure after every tree, and
        ``params`` the values of the leaves.
    surrogate_, measure_, scale_, n_features_in_, feature_names_in_
        As in `LinearRanker`. With "lambdarank" ``surrogate_`` is this text, and ``result_.value`` is NaN,
        because LightGBM does not report its loss.

    Raises
    ------
    MissingExtra
        By ``fit``, if LightGBM is needed and not installed: ``pip install lightgbm``.

    Notes
    -----
    Steps are measured in 1/steepness of the surrogate, so ``alpha`` of ApproxRank and ``sigma`` of SoftRank
    and SmoothRank have no effect except rounding; learning_rate takes their place
    (docs/decisions/boosting.md). In training, a share of the discount ignores a cut-off
    (docs/decisions/cut-offs.md). The model has the same bits for any number of threads (`set_threads`).
    ``BoostedRanker("SmoothNDCG")`` is the functional gradient boosting of Chapelle & Wu (2010), Section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import BoostedRanker
    >>> X, y, qid = np.array([[0.0], [1.0]] * 20), [0, 1] * 20, np.arange(40) // 4
    >>> ranker = BoostedRanker(n_trees=5).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    model_type: ClassVar[str] = "trees"
    takes_nan: ClassVar[bool] = True
    _remedy: ClassVar[str] = ", more documents, or a smaller min_data_in_leaf"
    saved_parameters: ClassVar[tuple[str, ...]] = (
        *("n_trees", "learning_rate", "num_leaves", "min_data_in_leaf", "subsample", "feature_fraction"),
        *("n_bags", "l2", "max_bin", "scale", "patience", "anneal", "lightgbm_params", "monotone"),
        "categorical_features",
        "oblivious",
    )
    checks: ClassVar[Checks] = {
        **Ranker.checks,
        "lightgbm_params": partial(option, types=(dict,), wanted="a dict", example="{'extra_trees': True}"),
        "categorical_features": partial(
            option, arrays=True, wanted="names or numbers of columns", example="['color']"
        ),
        "oblivious": partial(option, types=(bool,), wanted="True, False or None", example="True"),
        "init_model": partial(
            option,
            types=(str, os.PathLike),
            methods=("fit_queries", "predict_queries"),
            wanted="a fitted ranker or the path of its file",
            example="'model.json'",
        ),
    }

    surrogate: Surrogate | str | None = None
    _: KW_ONLY
    n_trees: int = 1000
    learning_rate: float = 0.05
    num_leaves: int = 31
    min_data_in_leaf: int | None = None
    l2: float | None = None
    max_bin: int | None = None
    subsample: float = 1.0
    feature_fraction: float = 1.0
    n_bags: int = 1
    scale: str | None = None
    patience: int | None = 50
    anneal: float = 1.0
    random_state: Any = None
    lightgbm_params: dict[str, Any] | None = None
    monotone: Mapping[int | str, int] | None = None
    categorical_features: Sequence[int | str] | None = None
    oblivious: bool | None = None
    init_model: Any = None

    @property
    def trees_(self) -> Trees:
        """The trees."""
        trees: Trees = self.model_.model  # type: ignore[assignment]
        return trees

    @property
    def takes_categories(self) -> bool:
        """Whether a feature may hold categories, which a scale would treat as numbers."""
        return self.scale is None

    def _minimize(self, training: Training, surrogate: Any) -> TrainedModel:
        data, valid = training.queries, training.valid
        by_document, by_query = training.doc_weight, training.query_weight
        objective: ScoreLoss | Float64Array | None
        is_sharded = data.held == "shards"
        if is_sharded and surrogate != _LAMBDARANK:
            objective = ScoreLoss(surrogate)
        elif surrogate != _LAMBDARANK:
            objective = ScoreObjective(data, surrogate, query_weight=by_query, doc_weight=by_document)
        elif by_document is None:
            check_gains(data, surrogate)
            objective = by_query
        else:
            raise InputError(
                "LightGBM's own objective does not support weights of documents; weight whole queries: "
                "query_weight=, or choose a surrogate: BoostedRanker('YetiRank')."
            )
        names = [name for name in self.saved_parameters if name not in _NOT_OF_BOOSTING]
        hyperparameters = {name: getattr(self, name) for name in names} | {"patience": training.patience}
        hyperparameters["lightgbm_params"] = further = self._further(training)
        seed, categorical = seed_of(self.random_state), self._categorical(data, further)
        hyperparameters["oblivious"] = self._is_oblivious(data, categorical)
        if self.min_data_in_leaf is None:
            # None means the default of the trainer.
            del hyperparameters["min_data_in_leaf"]
        if not hyperparameters["oblivious"]:
            # A missing package is an error now, before the features are binned.
            lightgbm()
        trainer = Boosting(**hyperparameters, seed=seed, categorical=categorical)
        mean = None
        if valid is not None:
            mean = mean_evaluator(training.measure, valid.judged() if valid.held == "shards" else valid)
        result, trees = trainer.grow(
            data,
            objective,
            valid=valid,
            judge=mean,
            callback=training.callback,
            init=self._first_trees(training),
        )
        return TrainedModel(trees, trainer, result)

    @property
    def holds(self) -> frozenset[str]:  # type: ignore[override]
        """How the data may be held: LightGBM's trees need all documents in one place."""
        needs_lightgbm = self._needs_lightgbm() or self.oblivious is False
        return frozenset({"memory"}) if needs_lightgbm else OnShards.holds

    def _needs_lightgbm(self) -> str | None:
        """The first parameter that only LightGBM's trees have."""
        reasons = {
            f"surrogate={self.surrogate!r}": isinstance(self.surrogate, str)
            and self.surrogate == _LAMBDARANK,
            f"min_data_in_leaf={self.min_data_in_leaf}": self.min_data_in_leaf is not None,
            f"lightgbm_params={self.lightgbm_params!r}": bool(self.lightgbm_params),
            f"monotone={self.monotone!r}": bool(self.monotone),
            f"categorical_features={self.categorical_features!r}": self.categorical_features is not None,
            f"num_leaves={self.num_leaves}": self.num_leaves > _MOST_LEAVES,
            f"max_bin={self.max_bin}": (self.max_bin or 0) > MOST_BINS,
        }
        return next((text for text, is_given in reasons.items() if is_given), None)

    def _is_oblivious(self, data: Any, categorical: tuple[int, ...]) -> bool:
        """Decide by ``oblivious``, or by what only LightGBM's trees have."""
        # A histogram has a sum of 8 bytes for every bin and leaf; the leaves are the next power of 2.
        histogram = 8 * (1 << (self.num_leaves - 1).bit_length()) * (self.max_bin or MAX_BIN)
        n_bytes = data.n_features * (histogram + data.n_docs)
        needed = self._needs_lightgbm()
        if needed is None and categorical:
            needed = f"categories (columns {', '.join(map(str, categorical))})"
        # Bins of shards that have no room in memory are on disk.
        if needed is None and n_bytes > _MOST_BYTES and data.held != "shards":
            needed = f"{data.n_features:,} features, which take {n_bytes:,} bytes"
        if data.held == "shards" and (needed or self.oblivious is False):
            raise data.features.refusal(f"LightGBM, which grows trees with {needed or 'oblivious=False'},")
        if self.oblivious and needed:
            raise InputError(
                f"oblivious trees, with at most {_MOST_LEAVES} leaves and {MOST_BINS} bins, do not support "
                f"{needed}; leave it out, or type oblivious=False."
            )
        return needed is None if self.oblivious is None else self.oblivious

    def _further(self, training: Training) -> dict[str, Any] | None:
        """LightGBM's own parameters, with the directions of features."""
        parameters = self.lightgbm_params
        if not self.monotone:
            return parameters
        if "monotone_constraints" in (parameters or {}):
            raise InputError(
                f"monotone={self.monotone!r} and lightgbm_params both have directions of features; give one, "
                "best monotone."
            )
        return {**(parameters or {}), "monotone_constraints": directions_of(self.monotone, training).tolist()}

    def _categorical(self, data: Queries, further: Mapping[str, Any] | None) -> tuple[int, ...]:
        """Columns that hold categories: by the type of a frame's column, or because the user says so."""
        typed = {i for i, names in enumerate(data.categories or ()) if names is not None}
        feature_names, parameter = data.feature_names or (), "categorical_features"
        listed = self.categorical_features or ()
        named = {column_of(name, feature_names, data.n_features, parameter) for name in listed}
        if named and self.scale is not None:
            raise InputError(
                f"scale={self.scale!r} would take categories for numbers; trees need no scale: leave it out."
            )
        for column in named:
            check_codes(data, column)
        chosen = tuple(sorted(typed | named))
        # The directions may come from LightGBM's own parameters, as a list or as a text.
        signs = (further or {}).get("monotone_constraints", ())
        monotone = signs.split(",") if isinstance(signs, str) else np.ravel(signs).tolist()
        free = ("0", "0.0", "None")
        if any(str(monotone[column]).strip() not in free for column in chosen if column < len(monotone)):
            raise InputError(  # LightGBM ends the process
                f"monotone_constraints={signs!r} constrains a column of categories, which have no order; "
                f"give 0 for the columns {', '.join(map(str, chosen))}."
            )
        return chosen

    def _first_trees(self, training: Training) -> Trees | None:
        """The trees of ``init_model``."""
        if self.init_model is None:
            return None
        init: Any = self.init_model
        if not isinstance(init, Ranker):
            from directrix.rankers.loading import load

            init = load(init)
        first = started_from(self, init, training, "init_model")
        if (directions_of(self.monotone, training) != directions_of(first.monotone, training)).any():
            raise InputError(
                f"init_model has monotone={first.monotone!r}, this ranker monotone={self.monotone!r}; trees "
                "that are added up need the same directions: give both the same."
            )
        trees: Trees = first.trees_
        return trees

    def _surrogate(self) -> Any:
        is_own = isinstance(self.surrogate, str) and self.surrogate.strip().lower() == _LAMBDARANK
        return (
            _LAMBDARANK if is_own else surrogate_of(YetiRank() if self.surrogate is None else self.surrogate)
        )

    def _measure_of(self, surrogate: Any) -> RankingMeasure:
        # nDCG weighs the pairs of lambdarank
        return NDCG() if surrogate == _LAMBDARANK else super()._measure_of(surrogate)
