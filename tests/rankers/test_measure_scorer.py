"""`make_scorer`: a measure in scikit-learn's model selection, with the queries of the rows."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.messages import rejects

import directrix as dx
from directrix.data import make_linear


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    q, _ = make_linear(18, 8, 4, seed=0)
    return q.features, q.labels, np.repeat(np.arange(q.n_queries), np.diff(q.qptr))


@pytest.mark.usefixtures("routing")
def test_scores_are_those_of_evaluate_on_the_rows_of_the_fold(data):
    X, y, qid = data
    folds = GroupKFold(3)
    ranker = dx.LinearRanker(max_iter=5, scale="query-minmax").set_fit_request(qid=True)
    scoring = {
        "ap": dx.experiments.make_scorer("AP"),
        "ndcg": dx.experiments.make_scorer(dx.NDCG(k=3), convention="letor3"),
    }
    params = {"qid": qid, "groups": qid}
    result = cross_validate(ranker, X, y, cv=folds, scoring=scoring, params=params)
    for number, (train, test) in enumerate(folds.split(X, y, qid)):
        scores = dx.LinearRanker(max_iter=5, scale="query-minmax").fit(X[train], y[train], qid=qid[train])
        scores = scores.predict(X[test], qid=qid[test])
        wanted = dx.evaluate(["AP"], scores, y[test], qid=qid[test])["AP"]
        assert result["test_ap"][number] == wanted
        wanted = dx.evaluate("nDCG@3", scores, y[test], qid=qid[test], convention="letor3")["nDCG@3"]
        assert result["test_ndcg"][number] == wanted


@pytest.mark.usefixtures("routing")
def test_a_grid_over_a_pipeline_reaches_the_surrogate(data):
    X, y, qid = data
    steps = [("scale", StandardScaler()), ("ranker", dx.LinearRanker(max_iter=5).set_fit_request(qid=True))]
    grid = {"ranker__surrogate__alpha": [1.0, 30.0], "ranker__trainer__max_iter": [2]}
    search = GridSearchCV(
        Pipeline(steps), grid, cv=GroupKFold(2), scoring=dx.experiments.make_scorer("nDCG@5")
    )
    search.fit(X, y, qid=qid, groups=qid)
    best = search.best_estimator_["ranker"]
    assert best.surrogate.alpha == search.best_params_["ranker__surrogate__alpha"]
    assert best.trainer.max_iter == 2
    assert best.result_.counts["iterations"] == 2
    assert len(set(search.cv_results_["mean_test_score"])) == 2


@pytest.mark.usefixtures("routing")
def test_estimators_of_others_are_scored_too(data):
    X, y, qid = data
    scores = cross_val_score(
        LinearRegression(),
        X,
        y,
        cv=GroupKFold(2),
        scoring=dx.experiments.make_scorer("RR"),
        params={"qid": qid, "groups": qid},
    )
    assert ((scores > 0.3) & (scores <= 1.0)).all()


def test_without_routing_it_says_what_to_type(data):
    X, y, qid = data
    ranker = dx.LinearRanker(max_iter=1).fit(X, y, qid=qid)
    with pytest.raises(dx.InputError, match=r"make_scorer\('AP'\) got no qid.*enable_metadata_routing=True"):
        dx.experiments.make_scorer("AP")(ranker, X, y)
    with rejects(dx.InputError):
        dx.experiments.make_scorer("AQ")
    with rejects(dx.InputError):
        dx.experiments.make_scorer("AP", convention="nothing")
