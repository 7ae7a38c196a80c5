"""A ranker that adds the scores of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.parameters import Checks, option
from directrix.rankers.base import Ranker
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import Training
from directrix.rankers.kinds import MODELS
from directrix.rankers.means import spread_within_queries
from directrix.rankers.record import check_own
from directrix.types import Float64Array, Result


@dataclass(eq=False, repr=False)
class EnsembleRanker(Ranker):
    r"""Scores :math:`f(x) = \sum_j w_j \, s_j(x) / \sigma_j`: the weighted mean of several rankers.

    Each score is divided by its spread on the training queries, so the weights are comparable:

    .. math:: \sigma_j^2 = \frac{1}{Q} \sum_q \frac{1}{n_q} \sum_{i \in q} (s_j(x_i) - \bar s_{jq})^2

    Parameters
    ----------
    members : list of rankers
        `LinearRanker`, `MLPRanker`, `StumpRanker`, `BoostedRanker`; ``fit`` trains copies of them.
    weights : floats >= 0 (n_members,), optional
        One weight per member; they are divided by their sum. Default: equal weights.

    Attributes
    ----------
    members_ : tuple of rankers
        Fitted members with a weight and a spread above 0 (the first member if all spreads are 0).
    weights_, spreads_ : float64 (n_members,)
        :math:`w_j`, which sum to 1, and :math:`\sigma_j`, in units of the score of each member.
    result_ : Result
        ``params`` are ``weights_``; the ``result_`` of each member describes its training.
    measure_, n_features_in_, feature_names_in_
        As in `LinearRanker`.

    See Also
    --------
    AutoRanker : Chooses members on validation queries.

    Notes
    -----
    Cost: the sum of the costs of its members, in ``fit`` and in ``predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import EnsembleRanker, LinearRanker
    >>> X, y, qid = np.array([[0.0], [1.0]] * 20), [0, 1] * 20, np.arange(40) // 4
    >>> ranker = EnsembleRanker([LinearRanker(), LinearRanker("ListNet")], weights=[3, 1]).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid), ranker.weights_
    (1.0, array([0.75, 0.25]))
    """

    model_type: ClassVar[str] = "ensemble"
    nested: ClassVar[tuple[str, ...]] = ()
    checks: ClassVar[Checks] = {
        **Ranker.checks,
        "members": partial(
            option, types=(list, tuple), wanted="a list of rankers", example="[LinearRanker()]"
        ),
        "weights": partial(option, arrays=True, wanted="an array", example="[0.5, 0.5]"),
    }

    members: Sequence[Any] = ()
    _: KW_ONLY
    weights: Sequence[float] | None = None

    @classmethod
    def of_fitted(cls, members: Sequence[Any], q: Queries, measure: RankingMeasure) -> Self:
        """Return the ensemble, with equal weights, of rankers that are fitted on ``q``."""
        return cls([clone(member) for member in members])._joined(members, q, measure)

    @classmethod
    def restored(cls, members: Sequence[Any], model: FittedModel, measure: RankingMeasure) -> Self:
        """Return the ensemble of a model file: its fitted members, and its model."""
        ensemble = cls(
            [clone(member) for member in members], weights=[member.weight for member in model.members]
        )
        return ensemble._hold(members, model, measure)

    def _train(self, training: Training) -> Self:
        q, measure = training.queries, training.measure
        self._checked_weights()
        members = [
            clone(member).fit_queries(
                q,
                training.valid,
                measure=measure,
                doc_weight=training.doc_weight,
                query_weight=training.query_weight,
                callback=training.callback,
                verbose=training.verbose,
            )
            for member in self.members
        ]
        return self._joined(members, q, measure or members[0].measure_)

    def _joined(self, members: Sequence[Any], q: Queries, measure: RankingMeasure) -> Self:
        spreads = np.array([spread_within_queries(m.predict_queries(q), q) for m in members])
        # A member whose scores are equal within every query ranks nothing, and its spread cannot divide them.
        weights = np.where(spreads > 0.0, self._checked_weights(), 0.0)
        kept = np.flatnonzero(weights).tolist()
        if kept:
            weights = weights / weights.sum()
        else:
            kept, weights, spreads = [0], np.ones(1), np.ones(1)
        models = tuple(
            replace(members[i].model_, weight=float(weights[i]), spread=float(spreads[i])) for i in kept
        )
        rules = [model.missing for model in models]
        record = {name: members[0].training_[name] for name in ("versions", "data")}
        model = FittedModel(
            self.model_type,
            None,
            np.empty(0),
            q.n_features,
            q.feature_names,
            q.categories,
            "error" if "error" in rules else rules[0],
            None,
            {"measure": repr(measure), **record},
            models,
        )
        return self._hold([members[i] for i in kept], model, measure)

    def _hold(self, members: Sequence[Any], model: FittedModel, measure: RankingMeasure) -> Self:
        """Become the ensemble of these fitted members."""
        self.members_, self.model_, self.measure_ = tuple(members), model, measure
        self.result_ = Result(
            self.weights_,
            math.nan,
            members[0].result_.status,
            f"Ensemble of {len(members)} rankers; each has its own result.",
            {"members": len(members)},
        )
        self._name_features(model)
        return self

    @property
    def weights_(self) -> Float64Array:
        """Weights of the members, which sum to 1."""
        return np.array([member.weight for member in self.model_.members])

    @property
    def spreads_(self) -> Float64Array:
        """Spread of the scores of each member on the training queries."""
        return np.array([member.spread for member in self.model_.members])

    def _checked_weights(self) -> Float64Array:
        """The weights as an array; members and weights are checked."""
        for i, member in enumerate(self.members):
            if getattr(member, "model_type", None) not in MODELS:
                raise InputError(
                    f"members[{i}] is a {type(member).__name__}; rankers of one model are needed, e.g. "
                    "EnsembleRanker([LinearRanker(), MLPRanker()])."
                )
            check_own(member)
        n = len(self.members)
        try:
            weights = np.ones(n) if self.weights is None else np.array(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.array([])
        usable = weights.shape == (n,) and bool(np.isfinite(weights).all()) and bool((weights >= 0.0).all())
        if not usable or not weights.any():
            raise InputError(
                f"weights={self.weights!r} for {n} members: one number >= 0 per member is needed, and one "
                "above 0; give a list of rankers and leave weights out for equal weights."
            )
        return weights

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN): every member takes it."""
        return all(isinstance(member, Ranker) and member.takes_missing for member in self.members)

    @property
    def takes_categories(self) -> bool:
        """Whether a feature may hold categories: every member takes them."""
        return all(isinstance(member, Ranker) and member.takes_categories for member in self.members)
