"""A linear ranker trained for a measure, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries
from directrix.data.scale import SCALES, fit_scale
from directrix.errors import InputError, NotConverged, warn
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel, rows_of
from directrix.objectives.linear import linear_objective
from directrix.rankers.base import HasMethods, Interval, Ranker, StrOptions, fit_context
from directrix.rankers.checks import check_finite, check_scores, check_trainable, check_valid, surrogate_of
from directrix.rankers.inputs import one_set, per_document, per_query, row_weights
from directrix.rankers.scaling import scaled
from directrix.rankers.training import kept_start, mean_of, measure_of, training_record
from directrix.trainers.best import BestSoFar
from directrix.trainers.lbfgs import LBFGS
from directrix.trainers.regression import regression_start
from directrix.trainers.sgd import SGD
from directrix.types import Float64Array, Surrogate, Trainer

__all__ = ["LinearRanker"]


class LinearRanker(Ranker):
    r"""Scores :math:`f(x) = w \cdot x`, with `w` trained for the measure you report.

    .. math:: \min_w \; -\frac{\sum_q v_q \, S_q(Xw)}{\sum_q v_q} + \lambda \lVert w \rVert^2

    with the surrogate S_q of query q, its weight v_q, and ``l2`` = lambda.

    Parameters
    ----------
    surrogate : Surrogate or str, optional
        What is maximised, e.g. ``ApproxNDCG(alpha=50)`` or the text of it. Default ``ApproxNDCG()``.
    trainer : {"lbfgs", "sgd"} or Trainer
        How. "lbfgs": full gradients, deterministic. "sgd": Algorithm 1 of Qin, Liu & Li (2010), query
        by query. Or an object such as ``SGD(rate=0.1)``, which then ignores ``max_iter``.
    l2 : float >= 0
        Weight of the penalty, in units of the measure per squared weight.
    scale : {"query-minmax", "query-standard", "minmax", "standard"} or None
        Bring features to a common scale first, see `Scale`; stored with the model. The kinds by query
        make ``predict`` need ``qid``.
    start : {"regression", "zero"}
        Where training starts: weights of a ridge regression on the gains with reweighted classes
        (Chapelle & Wu 2010, Sect. 4) and the weights given to ``fit``, or zero.
    max_iter : int >= 0
        Iterations (epochs of "sgd"); 0 keeps the start: the regression itself.
    patience : int >= 1, optional
        With an ``eval_set``: stop after so many iterations without a better value on it.
        Default: no early stop, only the best iteration is kept.
    warm_start : bool
        Start from ``coef_`` of the last ``fit`` instead of ``start``.
    random_state : int, RandomState or None
        For "sgd": order of the queries.

    Attributes
    ----------
    coef_ : float64 (n_features,)
        The weights, on scaled features.
    result_ : Result
        Why training stopped, and its trace.
    measure_ : measure
        What ``score`` reports: the measure it was trained for.
    scale_ : fitted scale or None
        What ``predict`` applies first.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    In a grid search the surrogate is one parameter, whose values are whole surrogates or their texts;
    its fields are no parameters of the ranker (there is no ``surrogate__alpha``):
    ``GridSearchCV(ranker, {"surrogate": [ApproxNDCG(alpha=a) for a in (3.0, 10.0, 30.0)]})``.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker
    >>> X, y, qid = np.array([[0.0], [1.0], [2.0], [5.0]]), [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = LinearRanker("ApproxNDCG(alpha=50.0)").fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "surrogate": [HasMethods(["value_and_grad"]), str, None],
        "trainer": [StrOptions({"lbfgs", "sgd"}), HasMethods(["minimise"])],
        "l2": [Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions(set(SCALES)), None],
        "start": [StrOptions({"regression", "zero"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(  # noqa: PLR0913
        self,
        surrogate: Surrogate | str | None = None,
        *,
        trainer: str | Trainer = "lbfgs",
        l2: float = 0.0,
        scale: str | None = None,
        start: str = "regression",
        max_iter: int = 200,
        patience: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.surrogate = surrogate
        self.trainer = trainer
        self.l2 = l2
        self.scale = scale
        self.start = start
        self.max_iter = max_iter
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(  # noqa: PLR0913
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_measure: RankingMeasure | str | None = None,
    ) -> LinearRanker:
        """Train on rows of documents.

        Parameters
        ----------
        X : array, frame or sparse matrix (n_docs, n_features)
            Features.
        y : array (n_docs,)
            Labels, >= 0, higher is better.
        qid : hashables (n_docs,), optional
            Query of every row, in any order; without it all rows are one query.
        group : ints (n_queries,), optional
            Instead of ``qid``: sizes of consecutive queries.
        sample_weight : array (n_docs,), optional
            Factor on what each document earns, e.g. the inverse propensity of a click.
        query_weight : array (n_queries,) in order of first appearance, or dict by query id, optional
            v_q above.
        eval_set : (X, y) or [(X, y)], optional
            Validation queries: the iteration that is best on them is kept.
        eval_qid, eval_group : optional
            Their ``qid`` or ``group``.
        eval_measure : measure or str, optional
            The measure that chooses the iteration and that ``score`` reports, e.g. "nDCG@10".
            Default: the measure that the surrogate tends to.

        Returns
        -------
        LinearRanker
            Itself, fitted.

        Raises
        ------
        InputError
            If qid, group, weights or the validation set do not fit the rows, or a label is negative.
        ValueError
            From scikit-learn, for NaN, infinite or non-numeric input.

        Notes
        -----
        "lbfgs" costs about one pass over X and one over the ordered pairs for every iteration.
        """
        q = self._grouped(X, y, qid, group, reset=not self._continues())
        chosen = one_set(eval_set, eval_qid, eval_group)
        valid = None
        if chosen is not None:
            valid = self._grouped(*chosen, reset=False)
        by_document = per_document(sample_weight, q, "sample_weight")
        by_query = per_query(query_weight, q, "query_weight")
        return self._train(q, valid, eval_measure, (by_document, by_query))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_queries(
        self,
        q: Queries,
        valid: Queries | None = None,
        *,
        measure: RankingMeasure | str | None = None,
        doc_weight: Float64Array | None = None,
        query_weight: Float64Array | None = None,
    ) -> LinearRanker:
        """Train on `Queries`, as `directrix.read_letor` returns them; see ``fit``.

        Raises
        ------
        InputError
            As ``fit``, and for features that are NaN or infinite.
        """
        check_finite(q, "the training data")
        if valid is not None:
            check_valid(valid, q)
        return self._train(q, valid, measure, (doc_weight, query_weight))

    def _train(
        self,
        q: Queries,
        valid: Queries | None,
        measure: RankingMeasure | str | None,
        weights: tuple[Float64Array | None, Float64Array | None],
    ) -> LinearRanker:
        check_trainable(q)
        surrogate = surrogate_of(self.surrogate)
        goal = measure_of(surrogate) if measure is None else parse_measure(measure)
        trainer = self._trainer()
        scale = fit_scale(self.scale, q.features)
        data = scaled(q, scale)
        by_document, by_query = weights
        objective = linear_objective(
            data, surrogate, float(self.l2), query_weight=by_query, doc_weight=by_document
        )
        start = self._start(data, row_weights(data, by_document, by_query))
        watched = trainer
        if valid is not None:
            judge = scaled(valid, scale)
            watched = BestSoFar(
                trainer, lambda w: mean_of(goal, linear_scores(judge, w), judge), self.patience
            )
        result = kept_start(objective, start) if self.max_iter == 0 else watched.minimise(objective, start)
        if not np.isfinite(result.params).all():
            result = replace(result, params=start, message=f"{result.message}; the start was kept")
        self.result_, self.coef_, self.scale_ = result, result.params, scale
        self.measure_, self.surrogate_, self.n_features_in_ = goal, surrogate, q.n_features
        if q.feature_names is not None:
            self.feature_names_in_ = np.array(q.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.training_ = training_record(self, q, surrogate, trainer, result)
        if result.status == "not_finite":
            # of the caller of fit or fit_queries, past scikit-learn's wrapper around them
            warn(f"training ended early: {result.message}.", NotConverged, stacklevel=4)
        return self

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order."""
        check_is_fitted(self)
        if q.n_features != self.n_features_in_:
            raise InputError(
                f"the data have {q.n_features} features, the model was trained on {self.n_features_in_}; "
                "give data with the same features in the same order."
            )
        scores = linear_scores(scaled(q, self.scale_), self.coef_)
        check_scores(scores, q)
        return scores

    def _trainer(self) -> Trainer:
        if not isinstance(self.trainer, str):
            return self.trainer
        if self.trainer == "lbfgs":
            return LBFGS(max_iter=max(self.max_iter, 1))
        seed = self.random_state
        if seed is not None and not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        return SGD(epochs=max(self.max_iter, 1), random_state=seed)

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "coef_")

    def _start(self, q: Queries, weight: Float64Array | None) -> Float64Array:
        if self._continues():
            if len(self.coef_) != q.n_features:
                raise InputError(
                    f"warm_start: the last fit had {len(self.coef_)} features, the data have {q.n_features}; "
                    "fit with warm_start=False to start anew."
                )
            return self.coef_.copy()
        return np.zeros(q.n_features) if self.start == "zero" else regression_start(q, sample_weight=weight)


def linear_scores(q: Queries, coef: Float64Array) -> Float64Array:
    """Scores of the documents, computed as in training: in the precision of the features."""
    scores, _ = LinearModel().forward(coef, rows_of(q.features, 0, q.n_docs))
    return np.asarray(scores, dtype=np.float64)
