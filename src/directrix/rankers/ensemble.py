"""A ranker that adds the scores of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries, need_queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.parameters import Checks, option
from directrix.rankers.base import Ranker
from directrix.rankers.inputs import Training
from directrix.rankers.means import spread_within_queries
from directrix.rankers.record import check_own
from directrix.rankers.saved import SavedModel
from directrix.rankers.stored import StoredRanker
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
    saved_parameters: ClassVar[tuple[str, ...]] = ()
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
    def restored(
        cls, parts: Sequence[tuple[Any, float, float]], measure: RankingMeasure, record: Mapping[str, Any]
    ) -> Self:
        """Return the ensemble that a model file holds: fitted members, each with weight and spread."""
        members, weights, _ = zip(*parts, strict=True)
        ensemble = cls([clone(member) for member in members], weights=list(weights))
        ensemble._set_model(parts, measure, record)
        return ensemble

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
        weights = np.where(spreads > 0.0, self._checked_weights(), 0.0)
        parts = [
            (member, weight / weights.sum(), spread)
            for member, weight, spread in zip(members, weights, spreads, strict=True)
            if weight > 0.0
        ]
        self._name_features(q)
        record = {name: members[0].training_[name] for name in ("versions", "data")}
        self._set_model(parts or [(members[0], 1.0, 1.0)], measure, {"measure": repr(measure), **record})
        return self

    def _set_model(
        self, parts: Sequence[tuple[Any, float, float]], measure: RankingMeasure, record: Mapping[str, Any]
    ) -> None:
        """Set what ``fit`` sets: ``parts`` has each fitted member with its weight and its spread."""
        self.members_ = tuple(member for member, _, _ in parts)
        self.weights_ = np.array([weight for _, weight, _ in parts])
        self.spreads_ = np.array([spread for _, _, spread in parts])
        self.measure_, self.training_ = measure, record
        self.result_ = Result(
            self.weights_,
            math.nan,
            self.members_[0].result_.status,
            f"Ensemble of {len(parts)} rankers; each has its own result.",
            {"members": len(parts)},
        )

    def _checked_weights(self) -> Float64Array:
        """The weights as an array; members and weights are checked."""
        for i, member in enumerate(self.members):
            if not isinstance(member, StoredRanker):
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

    @property
    def scale_(self) -> Any:
        """The scale of a member that needs to know the query of every row, if one does."""
        check_is_fitted(self, "members_")
        scales = (member.scale_ for member in self.members_)
        return next((scale for scale in scales if scale is not None and scale.by_query), None)

    @property
    def missing_(self) -> str:
        """How missing values of the training data were read: "error" if those of any member were."""
        check_is_fitted(self, "members_")
        rules = [member.missing_ for member in self.members_]
        return "error" if "error" in rules else rules[0]

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order."""
        need_queries(q, "predict_queries")
        return self._content().predict_queries(q)

    def _content(self) -> SavedModel:
        check_is_fitted(self)
        members = tuple(
            replace(member.saved_model(), weight=float(weight), spread=float(spread))
            for member, weight, spread in zip(self.members_, self.weights_, self.spreads_, strict=True)
        )
        named = self._features_saved()
        return SavedModel(
            self.model_type,
            None,
            np.empty(0),
            *named,
            self.missing_,
            None,
            self.training_,
            members,
            calibration=self.calibration_,
        )
