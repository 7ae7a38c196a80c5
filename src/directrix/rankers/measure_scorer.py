"""A measure as a scorer of scikit-learn's model selection, which knows the query of every row."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.evaluation import evaluate
from directrix.measures.names import measure as parse_measure
from directrix.rankers.base import Ranker


def make_scorer(
    measure: RankingMeasure | str, *, convention: Convention | str | None = None
) -> MeasureScorer:
    """Return a scorer for ``scoring=`` of ``GridSearchCV``, ``cross_validate`` and the like.

    Parameters
    ----------
    measure : measure or str
        Measure to report, e.g. "nDCG@10"; higher is better.
    convention : Convention or str, optional
        Compute it as another tool does, see `evaluate`.

    Returns
    -------
    MeasureScorer
        ``scorer(estimator, X, y, qid=qid)`` is the mean over queries of the measure of
        ``estimator.predict(X)``, for a ranker, a pipeline, or any regressor. It requests ``qid`` by itself.

    Raises
    ------
    InputError
        If the measure or the convention is not known.

    Notes
    -----
    scikit-learn passes ``qid`` to scorers only with ``sklearn.set_config(enable_metadata_routing=True)``;
    without it the scorer raises an `InputError` that says so.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker
    >>> from directrix.experiments import make_scorer
    >>> X, y, qid = np.array([[0.0], [1.0], [2.0], [5.0]]), [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> make_scorer("AP")(LinearRanker().fit(X, y, qid=qid), X, y, qid=qid)
    1.0
    """
    parsed = parse_measure(measure)
    scorer = MeasureScorer(parsed, convention)
    # One tiny evaluation rejects an unknown convention now, before a search has trained anything.
    evaluate(parsed, [0.0, 1.0], [0.0, 1.0], qid=[0, 0], convention=convention)
    return scorer


class MeasureScorer:
    """Scorer returned by `make_scorer`."""

    def __init__(self, measure: RankingMeasure, convention: Convention | str | None) -> None:
        self.measure, self.convention = measure, convention

    def __repr__(self) -> str:
        more = "" if self.convention is None else f", convention={self.convention!r}"
        return f"make_scorer({self.measure.name!r}{more})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Request ``qid``, by the rules of scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """Mean over queries of the measure of an estimator's predictions."""
        if qid is None:
            raise InputError(
                f"{self!r} got no qid, and cannot tell which rows belong to the same query. Type "
                "sklearn.set_config(enable_metadata_routing=True), and hand qid on: "
                "cross_validate(..., params={'qid': qid, 'groups': qid}) or search.fit(X, y, qid=qid)."
            )
        # A ranker may scale its features by query, so it needs the query of every row.
        by_query = isinstance(estimator, Ranker)
        scores = estimator.predict(X, qid=qid) if by_query else estimator.predict(X)
        values = evaluate(self.measure, scores, y, qid=qid, convention=self.convention)
        return float(next(iter(values.values())))
