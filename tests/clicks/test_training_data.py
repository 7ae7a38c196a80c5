"""Training data from clicks: the join with features, what is refused, and rankers that learn from it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.interop.lightgbm import objective
from tests.messages import rejects

THETA = np.array([0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]) / 0.68
CHANCES = np.array([0.1, 0.16, 0.28, 0.52, 1.0])
N = 60
GOAL = dx.measure("DCG(gain=linear)@10")


@pytest.fixture(scope="module")
def judged() -> dx.Queries:
    q = dx.data.make_cubic(n_queries=N, docs_per_query=15, n_features=6, seed=3)
    return dx.Queries.from_arrays(
        q.features,
        q.labels,
        qid=np.repeat([f"q{i}" for i in range(N)], 15),
        doc_ids=[*map(str, range(15 * N))],
    )


@pytest.fixture(scope="module")
def frame(judged) -> pd.DataFrame:
    """Sessions of a weak ranker, one feature with noise, of ten documents each."""
    rng = np.random.default_rng(0)
    sessions = np.repeat(rng.permutation(np.arange(N)), 150)
    scores = judged.features[:, 0].reshape(N, 15)[sessions] + 0.15 * rng.normal(size=(len(sessions), 15))
    docs = np.argsort(-scores, axis=1)[:, :10] + 15 * sessions[:, None]
    clicks = rng.random(docs.shape) < THETA * CHANCES[judged.labels[docs].astype(int)]
    return pd.DataFrame(
        {
            "session": np.repeat(np.arange(len(sessions)), 10),
            "query": np.repeat([f"q{i}" for i in sessions], 10),
            "doc": docs.ravel().astype(str),
            "position": np.tile(np.arange(1, 11), len(sessions)),
            "clicked": clicks.ravel().astype(int),
        }
    )


@pytest.fixture(scope="module")
def log(frame) -> dx.clicks.Log:
    return dx.clicks.Log.from_frame(frame)


def by_hand(frame, gain):
    return frame.assign(gain=gain).groupby(["query", "doc"]).gain.agg(["mean", "size"])


@pytest.mark.parametrize("form", ["queries", "mixed frame", "counts", "own column"])
def test_gains_are_means_over_impressions_of_query_and_document(judged, frame, log, form):
    theta = THETA[frame.position - 1]
    expected = by_hand(frame, frame.clicked / theta)
    features, given = judged, THETA
    if form == "mixed frame":
        columns = dict(zip("abcdef", judged.features.T, strict=True))
        features = pd.DataFrame({"qid": np.repeat(judged.query_ids, 15), "docno": judged.doc_ids} | columns)
        features = features.sample(frac=1.0, random_state=0)
    elif form == "counts":
        sums = frame.groupby(["query", "doc", "position"]).clicked.agg(["sum", "size"]).reset_index()
        log = dx.clicks.Log.from_frame(sums.rename(columns={"sum": "clicks", "size": "impressions"}))
    elif form == "own column":
        log, given = dx.clicks.Log.from_frame(frame.assign(propensity=0.5, examination=theta)), None
    q = dx.clicks.training_data(log, features, "ips", propensities=given)
    assert q.n_docs == len(expected)
    for i, query in enumerate(q.query_ids):
        rows = slice(q.qptr[i], q.qptr[i + 1])
        mine = expected.loc[query].loc[list(q.doc_ids[rows])]
        assert q.labels[rows] == pytest.approx(mine["mean"].to_numpy())
        assert q.counts[rows].tolist() == mine["size"].tolist()
    row = dict(zip(judged.doc_ids, judged.features, strict=True))
    assert all(np.array_equal(x, row[d]) for x, d in zip(q.features, q.doc_ids, strict=True))


def test_propensities_are_estimated_where_none_are_given(judged, frame):
    log = dx.clicks.Log.from_frame(frame.assign(propensity=1.0))  # of randomized lists, not of examination
    estimate = dx.clicks.propensities(log)
    given = dx.clicks.training_data(log, judged, "ips", propensities=estimate)
    assert dx.clicks.training_data(log, judged, "ips").labels.tolist() == given.labels.tolist()
    assert np.corrcoef(estimate.theta, THETA)[0, 1] > 0.98


def test_policy_aware_gains_divide_by_the_mean_over_observed_positions(judged, frame, log):
    q = dx.clicks.training_data(log, judged, "policy-aware", propensities=THETA)
    theta = by_hand(frame, THETA[frame.position - 1])["mean"]
    clicks = by_hand(frame, frame.clicked)["mean"]
    expected = (clicks / theta).reset_index("query", drop=True)
    assert q.labels == pytest.approx(expected.loc[list(q.doc_ids)].to_numpy())


def test_doubly_robust_data_keep_documents_that_were_never_shown(judged, log):
    shown = dx.clicks.training_data(log, judged, "policy-aware", propensities=THETA)
    q = dx.clicks.training_data(log, judged, "doubly-robust", propensities=THETA)
    assert q.n_docs == judged.n_docs > shown.n_docs
    never = q.counts == 0
    assert never.sum() == judged.n_docs - shown.n_docs
    assert q.labels[~never] == pytest.approx(shown.labels, abs=1e-12)
    assert (q.labels[never] >= 0).all()
    assert np.ptp(q.labels[never]) > 0.01
    other = dx.clicks.training_data(log, judged, "doubly-robust", propensities=THETA, seed=1)
    assert np.abs(other.labels[never] - q.labels[never]).max() > 0


def test_features_that_hardly_vary_among_shown_documents_do_not_decide_on_the_others():
    """Among shown documents two features are nearly equal; their difference is noise, and large elsewhere."""
    rng = np.random.default_rng(0)
    is_shown, labels = np.tile(np.arange(40) < 10, N), rng.integers(5, size=40 * N).astype(float)
    first = labels + rng.normal(size=40 * N)
    second = first + np.where(is_shown, 0.01, 10.0) * rng.normal(size=40 * N)
    q = dx.Queries.from_arrays(np.stack([first, second], axis=1), labels, qid=np.repeat(np.arange(N), 40))
    log = dx.clicks.simulate(q, is_shown + 0.0, "PBM", n_sessions=20_000, seed=0)
    gains = dx.clicks.training_data(log, q, "doubly-robust", propensities=THETA)
    never = gains.counts == 0

    assert np.corrcoef(gains.labels[never], first[never])[0, 1] > 0.8


@pytest.mark.filterwarnings("ignore:.*If they are robots")
def test_the_model_of_a_query_has_not_seen_its_clicks(judged, frame):
    """Other clicks of the queries of one half do not change the model's relevance there."""
    order = np.random.default_rng(0).permutation(N)
    half = {judged.query_ids[i] for i in order[::2]}
    changed = frame.assign(clicked=frame.clicked.where(~frame["query"].isin(half), 1 - frame.clicked))
    labels = []
    for one in (frame, changed):
        q = dx.clicks.training_data(
            dx.clicks.Log.from_frame(one), judged, "doubly-robust", propensities=THETA
        )
        never = (q.counts == 0) & np.repeat([query in half for query in q.query_ids], np.diff(q.qptr))
        labels.append(q.labels[never])
    assert len(labels[0]) > 10
    assert labels[0].tolist() == labels[1].tolist()


def ndcg(ranker, q):
    scores = ranker.predict_queries(q) if hasattr(ranker, "predict_queries") else ranker
    return dx.evaluate("nDCG@10", scores, q.labels, group=np.diff(q.qptr))["nDCG@10"]


def svm(judged, log, estimator):
    """Propensity SVM-rank, or the naive one."""
    q = dx.clicks.training_data(log, judged, estimator, propensities=THETA)
    clicked, weight = dx.clicks.by_clicked_document(q)
    return dx.LinearRanker("RankSVM", l2=1e-3).fit_queries(clicked, query_weight=weight)


def test_propensity_svm_rank_has_the_loss_of_its_paper(judged, log):
    q = dx.clicks.training_data(log, judged.take([0, 1]), "ips", propensities=THETA)
    clicked, weight = dx.clicks.by_clicked_document(q)
    scores = dict(zip(q.doc_ids, np.random.default_rng(0).normal(size=q.n_docs), strict=True))
    given = np.array([scores[d] for d in clicked.doc_ids])
    value, _ = dx.RankSVM().value_and_grad(given, clicked.labels, clicked.qptr)
    expected = 0.0
    for i in range(2):
        docs = range(q.qptr[i], q.qptr[i + 1])
        for d in docs:
            hinges = [max(0.0, 1 - scores[q.doc_ids[d]] + scores[q.doc_ids[e]]) ** 2 for e in docs if e != d]
            expected += q.labels[d] * q.counts[d] * np.mean(hinges)
    assert -(value @ weight) == pytest.approx(expected)


RANKERS = {
    "linear": lambda: dx.LinearRanker(dx.ApproxMeasure(GOAL)),
    "mlp": lambda: dx.MLPRanker(dx.ApproxMeasure(GOAL), hidden=(10,), max_iter=100, random_state=0),
    "trees": lambda: dx.BoostedRanker(dx.YetiRank(GOAL), n_trees=60, min_data_in_leaf=10),
    "regression": lambda: dx.LinearRanker(dx.Regression(target="labels")),
    "auto": lambda: dx.AutoRanker(GOAL, method="ApproxMeasure", folds=1),
}


@pytest.mark.parametrize("name", [*RANKERS, "svm"])
def test_corrected_gains_train_better_rankers_than_clicks(judged, log, name):
    rankers = {}
    for estimator in ("naive", "ips"):
        if name == "svm":
            rankers[estimator] = svm(judged, log, estimator)
        else:
            q = dx.clicks.training_data(log, judged, estimator, propensities=THETA)
            rankers[estimator] = RANKERS[name]().fit_queries(q)
    assert ndcg(rankers["ips"], judged) > ndcg(rankers["naive"], judged) + 0.02


def test_validation_is_the_estimate_on_held_out_queries(judged, log):
    q = dx.clicks.training_data(log, judged, "ips", propensities=THETA)
    train, valid = q.take(range(40)), q.take(range(40, N))
    auto = dx.AutoRanker("DCG(gain=linear)@10", method="ApproxMeasure")
    result = auto.search(train, valid)
    with pytest.warns(UserWarning, match="only 20 queries"):
        estimate = dx.clicks.evaluate(
            log, {"new": auto}, "DCG@10", features=valid, propensities=THETA, estimators=["ips"]
        ).estimate("new", "ips")
    assert result.chosen.valid == pytest.approx(estimate.value, rel=1e-9)


def test_boosters_train_on_gains_below_zero(judged, log):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    bias = [0.8 * THETA, 0.1 * THETA]
    q = dx.clicks.training_data(log, judged, "affine", propensities=bias)
    assert q.labels.min() < 0
    sizes, of_gains = np.diff(q.qptr), objective(dx.ApproxMeasure(GOAL))
    data = lightgbm.Dataset(q.features, q.labels, group=sizes)
    common = {"objective": of_gains, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 10}
    trees = lightgbm.train(common, data, num_boost_round=40)
    matrix = xgboost.DMatrix(q.features, q.labels)
    matrix.set_group(sizes)
    settings = {"eta": 0.1, "disable_default_eval_metric": True, "nthread": 1, "min_child_weight": 10}
    forest = xgboost.train(
        settings, matrix, num_boost_round=40, obj=dx.interop.xgboost.objective(of_gains.surrogate)
    )
    base = ndcg(judged.features[:, 0], judged)
    for scores in (trees.predict(judged.features), forest.predict(xgboost.DMatrix(judged.features))):
        assert ndcg(scores, judged) > base + 0.05


def test_impressions_without_features_are_counted_in_a_warning(judged, log):
    some = {"qid": ["q0", "q0"], "docno": ["0", "1"], "a": [1.0, 2.0]}
    with pytest.warns(UserWarning, match=r"% of the impressions of queries with features are of documents"):
        q = dx.clicks.training_data(log, some, "naive")
    assert q.query_ids == ("q0",)
    assert dx.clicks.training_data(log, judged.take([3, 4]), "naive").query_ids == ("q3", "q4")


def test_input_of_no_use_is_refused(judged, frame, log):
    def data(features=judged, estimator="ips", of=log, **options):
        return dx.clicks.training_data(of, features, estimator, **options)

    with rejects(InputError):
        data(estimator="IPS", propensities=THETA)
    with rejects(InputError):
        data(propensities=THETA[:5])
    with rejects(InputError):
        data(propensities=np.append(THETA[:9], 0.0))
    with rejects(InputError):
        data(estimator="affine", propensities=THETA)
    with rejects(InputError):
        data(estimator="clipped", propensities=THETA, clip=0.0)
    with rejects(InputError):
        data(estimator="policy-aware", propensities=THETA, policy=np.ones((3, 10)))
    with rejects(InputError):
        data(estimator="doubly-robust", propensities=THETA, model=np.ones(3))
    with rejects(InputError):
        data({"qid": ["x"], "docno": ["y"], "a": [1.0]}, propensities=THETA)
    with rejects(InputError):
        data({"qid": ["q0"], "docno": ["0"], "a": [1.0], "position": [1]}, propensities=THETA)
    with rejects(InputError):
        data({"qid": ["q0", "q0"], "docno": ["0", "0"], "a": [1.0, 2.0]}, propensities=THETA)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR", "ERR@5", "P", "P(relative=True)@5"])
def test_measures_that_do_not_stay_unbiased_are_refused(judged, log, measure):
    with pytest.raises(InputError, match=r"Type DCG|DCG.* sums of gains"):
        dx.clicks.evaluate(log, {"new": judged.labels}, measure, features=judged, propensities=THETA)
    with warnings.catch_warnings(action="ignore"):
        result = dx.clicks.evaluate(
            log, {"new": judged.labels}, measure, features=judged, propensities=THETA, biased=True
        )
    assert "is biased, since it is not a sum of gains" in str(result)
