"""The linear ranker: what it optimizes, its inputs in every shape users bring, and its messages."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.scale import SCALES
from directrix.data.synthetic import make_linear

Q, TRUE = make_linear(30, 12, 5, seed=1)
VALID, _ = make_linear(10, 12, 5, seed=1)
X, Y = Q.features, Q.labels
QID = np.repeat(np.arange(30), 12)


def fitted(**settings):
    return dx.LinearRanker(**{"max_iter": 30, **settings}).fit(X, Y, qid=QID)


def test_it_finds_the_weights_that_rank_perfectly():
    ranker = fitted(surrogate=dx.ApproxNDCG(alpha=50.0), max_iter=200)
    assert ranker.score(X, Y, qid=QID) > 0.995
    cosine = ranker.coef_ @ TRUE / np.linalg.norm(ranker.coef_)
    assert cosine > 0.99


def test_training_lowers_the_documented_loss():
    surrogate, l2 = dx.ApproxAP(alpha=5.0), 1e-2
    ranker = fitted(surrogate=surrogate, l2=l2, start="zero")

    def loss(w):
        return -surrogate.value_and_grad(X @ w, Y, Q.qptr)[0].mean() + l2 * w @ w

    np.testing.assert_allclose(ranker.result_.value, loss(ranker.coef_), rtol=1e-10, atol=0)
    assert loss(ranker.coef_) < loss(np.zeros(5))
    assert all(loss(ranker.coef_) <= loss(ranker.coef_ + step) for step in 0.1 * np.eye(5))


def test_query_weights_weigh_the_mean():
    weights = np.linspace(0.0, 2.0, 30)
    ranker = dx.LinearRanker("ApproxNDCG", max_iter=5).fit(X, Y, qid=QID, query_weight=weights)
    values = dx.ApproxNDCG().value_and_grad(X @ ranker.coef_, Y, Q.qptr)[0]
    np.testing.assert_allclose(ranker.result_.value, -np.average(values, weights=weights), rtol=1e-10, atol=0)
    by_name = dx.LinearRanker("ApproxNDCG", max_iter=5)
    by_name.fit(X, Y, qid=QID, query_weight=dict(enumerate(weights.tolist())))
    assert by_name.coef_.tobytes() == ranker.coef_.tobytes()


def test_query_weights_in_a_series_are_by_its_index():
    """``groupby`` sorts queries by their identifiers, not by their first appearance."""
    rows = pd.DataFrame({"qid": [f"q{q}" for q in -QID], "weight": 1.0 + QID % 3})
    by_query = rows.groupby("qid").weight.first()
    assert by_query.index[0] != rows.qid[0]

    def weights(given):
        return dx.LinearRanker(max_iter=5).fit(X, Y, qid=rows.qid, query_weight=given).coef_.tobytes()

    in_order = by_query[rows.qid.unique()]
    assert weights(by_query) == weights(in_order.to_numpy()) == weights(in_order.reset_index(drop=True))


def test_sample_weights_belong_to_rows_whatever_their_order():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))
    shuffled = np.random.default_rng(1).permutation(len(Y))
    plain = dx.LinearRanker(max_iter=5).fit(X, Y, qid=QID, sample_weight=weights)
    mixed = dx.LinearRanker(max_iter=5).fit(
        X[shuffled], Y[shuffled], qid=QID[shuffled], sample_weight=weights[shuffled]
    )
    np.testing.assert_allclose(mixed.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    unweighted = dx.LinearRanker(max_iter=5).fit(X, Y, qid=QID)
    assert not np.allclose(plain.coef_, unweighted.coef_, rtol=1e-3, atol=0)


def test_rows_in_any_order_get_their_own_scores():
    ranker = fitted()
    shuffled = np.random.default_rng(1).permutation(len(Y))
    by_row = ranker.predict(X[shuffled], qid=QID[shuffled])
    np.testing.assert_allclose(by_row, ranker.predict(X)[shuffled], rtol=1e-14, atol=0)


def test_group_sizes_say_the_same_as_qid():
    by_size = dx.LinearRanker(max_iter=30).fit(X, Y, group=[12] * 30)
    assert by_size.coef_.tobytes() == fitted().coef_.tobytes()
    assert by_size.score(X, Y, group=[12] * 30) == by_size.score(X, Y, qid=QID)


@pytest.mark.parametrize("kind", SCALES)
def test_scaling_is_learned_stored_and_applied(kind, tmp_path):
    skewed = X * [1.0, 1e4, 1e-4, 3.0, 7.0] + 5.0
    ranker = dx.LinearRanker(scale=kind, max_iter=30).fit(skewed, Y, qid=QID)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict(skewed, qid=QID).tobytes() == ranker.predict(skewed, qid=QID).tobytes()
    assert ranker.score(skewed, Y, qid=QID) > 0.9
    if kind.startswith("query"):
        with rejects(dx.InputError):
            ranker.predict(skewed)


def test_a_scale_by_query_ranks_a_query_alike_alone_and_among_others():
    ranker = fitted(scale="query-minmax")
    alone = ranker.predict(X[24:36], group=[12])
    np.testing.assert_allclose(alone, ranker.predict(X, qid=QID)[24:36], rtol=1e-14, atol=0)


def test_frames_name_their_features():
    names = ["a", "b", "c", "d", "e"]
    plain = fitted()
    for frame, labels, queries in (
        (pd.DataFrame(X, columns=names, index=np.arange(len(Y))[::-1]), pd.Series(Y), pd.Series(QID)),
        (pl.DataFrame(X, schema=names), pl.Series(Y), pl.Series(QID)),
    ):
        ranker = dx.LinearRanker(max_iter=30).fit(frame, labels, qid=queries)
        assert list(ranker.feature_names_in_) == names
        assert ranker.coef_.tobytes() == plain.coef_.tobytes()
        assert ranker.predict(frame).tobytes() == plain.predict(X).tobytes()
        assert ranker.predict(frame[names[::-1]]).tobytes() == plain.predict(X).tobytes()


def test_saved_names_are_checked_when_predicting(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    dx.LinearRanker(max_iter=2).fit(frame, Y, qid=QID).save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert list(loaded.feature_names_in_) == list("abcde")
    with pytest.raises(dx.InputError, match="got no 'a' but 'z'"):
        loaded.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    "evaluation",
    [
        {"eval_set": (X[:120], Y[:120]), "eval_qid": QID[:120]},
        {"eval_set": [(X[:120], Y[:120])], "eval_qid": [QID[:120]]},
        {"eval_set": [(X[:120], Y[:120])], "eval_group": [[12] * 10]},
        {"eval_set": [(X[:120], Y[:120])], "eval_group": np.full(10, 12)},
        {"eval_set": [[X[:120], Y[:120]]], "eval_group": [12] * 10},
    ],
)
def test_validation_sets_as_every_library_passes_them(evaluation):
    ranker = dx.LinearRanker("ApproxNDCG(alpha=100)", start="zero", max_iter=15)
    ranker.fit(X, Y, qid=QID, measure="nDCG@3", **evaluation)
    scores = [row["score"] for row in ranker.result_.trace]
    kept = dx.evaluate("nDCG@3", ranker.predict(X[:120]), Y[:120], qid=QID[:120])["nDCG@3"]
    np.testing.assert_allclose(kept, max(scores), rtol=1e-12, atol=0)
    assert ranker.measure_ == dx.NDCG(k=3)


def test_validation_rows_are_scaled_like_training_rows():
    skewed = X * [1.0, 1e4, 1e-4, 3.0, 7.0] + 5.0
    ranker = dx.LinearRanker("ApproxNDCG(alpha=100)", scale="standard", start="zero", max_iter=15)
    some = np.asarray(QID) != QID[0]
    held = skewed[some], Y[some]
    ranker.fit(skewed, Y, qid=QID, eval_set=held, eval_qid=np.asarray(QID)[some], measure="nDCG@3")
    best = max(row["score"] for row in ranker.result_.trace)
    np.testing.assert_allclose(ranker.score(*held, qid=np.asarray(QID)[some]), best, rtol=1e-12, atol=0)


def test_patience_stops_early():
    ranker = dx.LinearRanker(trainer="sgd", max_iter=50, patience=3, random_state=0)
    ranker.fit(X, Y, qid=QID, eval_set=(X[:12], 2.0 - Y[:12]), eval_group=[12])
    assert ranker.result_.status == "stopped"
    assert len(ranker.result_.trace) < 50


def test_warm_start_goes_on_from_the_weights():
    ranker = dx.LinearRanker(start="zero", max_iter=3, warm_start=True).fit(X, Y, qid=QID)
    first = ranker.result_
    again = ranker.fit(X, Y, qid=QID).result_
    np.testing.assert_allclose(again.trace[0]["loss"], first.value, rtol=1e-12, atol=0)
    assert again.value < first.value
    with pytest.raises(ValueError, match="features"):
        ranker.fit(X[:, :3], Y, qid=QID)
    with rejects(dx.InputError):
        ranker.fit_queries(dx.Queries.from_arrays(X[:, :3], Y, qid=QID))


def test_no_iterations_keep_the_regression():
    ranker = fitted(max_iter=0)
    assert ranker.coef_.tobytes() == dx.trainers.regression_start(Q).tobytes()
    assert ranker.result_.counts["iterations"] == 0


def test_a_trainer_object_and_a_generator_of_seeds():
    by_object = fitted(trainer=dx.SGD(learning_rate=0.5, epochs=2, random_state=4)).coef_
    by_name = fitted(trainer="sgd", max_iter=2, random_state=4).coef_
    assert by_object.tobytes() != by_name.tobytes()
    state = np.random.RandomState(4)
    assert fitted(trainer="sgd", max_iter=2, random_state=state).coef_.shape == (5,)


def test_same_bits_for_one_thread_and_two():
    try:
        dx.set_threads(1)
        one = fitted().coef_
        dx.set_threads(2)
        two = fitted().coef_
    finally:
        dx.set_threads(None)
    assert one.tobytes() == two.tobytes()


def test_score_weighs_queries_by_the_mean_of_their_rows():
    ranker = fitted(max_iter=1)
    weights = np.repeat(np.linspace(0.0, 3.0, 30), 12)
    values = dx.evaluate("nDCG", ranker.predict(X), Y, qid=QID, per_query=True)["nDCG"]
    expected = np.average(values, weights=np.linspace(0.0, 3.0, 30))
    np.testing.assert_allclose(
        ranker.score(X, Y, qid=QID, sample_weight=weights), expected, rtol=1e-12, atol=0
    )


def test_weights_that_blow_up_warn():
    huge = dx.SGD(learning_rate=1e308, epochs=3)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.warns(dx.NotConverged, match="not finite"),
    ):
        ranker = dx.LinearRanker(trainer=huge, l2=1.0).fit(X, Y, qid=QID)
    assert np.isfinite(ranker.coef_).all()


def test_the_record_of_a_validated_training_has_no_addresses():
    ranker = dx.LinearRanker(max_iter=3).fit(X, Y, qid=QID, eval_set=(-X, Y), eval_qid=QID)
    assert ranker.training_["trainer"] == repr(dx.LBFGS(max_iter=3))


def test_a_surrogate_without_a_measure_needs_one():
    class Mine:
        properties = frozenset({"smooth"})

        def value_and_grad(self, scores, labels, qptr):
            return dx.ApproxNDCG().value_and_grad(scores, labels, qptr)

        def __repr__(self):
            return "Mine()"

    with rejects(dx.InputError):
        dx.LinearRanker(Mine()).fit(X, Y, qid=QID)
    ranker = dx.LinearRanker(Mine(), max_iter=5).fit(X, Y, qid=QID, measure="AP")
    assert ranker.measure_ == dx.AP()
    np.testing.assert_allclose(ranker.coef_, fitted(max_iter=5).coef_, rtol=1e-6, atol=0)


def test_a_model_of_a_users_own_surrogate_still_predicts(tmp_path):
    class Mine(dx.ApproxNDCG):
        def __repr__(self):
            return "Mine()"

    ranker = dx.LinearRanker(Mine(), max_iter=2).fit(X, Y, qid=QID)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert loaded.score(X, Y, qid=QID) == ranker.score(X, Y, qid=QID)
    with pytest.raises(dx.InputError, match="Mine"):
        loaded.fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": QID[:-1]}, "qid"),
        ({"qid": QID, "group": [12] * 30}, "qid and group"),
        ({"group": [12] * 29}, "group"),
        ({"qid": QID, "query_weight": np.ones(29)}, r"query_weight has shape \(29,\).*\(30,\)"),
        ({"qid": QID, "query_weight": {0: 1.0}}, "query_weight has no entry for query 1 and 28 more"),
        ({"qid": QID, "query_weight": pd.Series({0: 1.0})}, r"query 1 and 28 more.*x\.to_numpy"),
        ({"qid": QID, "query_weight": -np.ones(30)}, r"query_weight\[0\] is -1"),
        ({"qid": QID, "sample_weight": np.ones(7)}, r"sample_weight has shape \(7,\)"),
        ({"qid": QID, "sample_weight": np.zeros(360)}, "sample_weight is zero everywhere"),
        ({"qid": QID, "eval_qid": QID}, "without eval_set"),
        ({"qid": QID, "eval_set": [(X, Y), (X, Y)]}, "eval_set holds 2 sets"),
        ({"qid": QID, "eval_set": X}, "eval_set is a ndarray"),
        ({"qid": QID, "eval_set": (X[:, :2], Y)}, "2 features"),
        ({"qid": QID, "measure": "nGCD"}, "nGCD"),
    ],
)
def test_what_does_not_fit_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        dx.LinearRanker(max_iter=1).fit(X, Y, **arguments)


def test_labels_that_are_no_grades_and_data_without_features_are_refused():
    with rejects(dx.InputError):
        dx.LinearRanker().fit(X, np.where(Y == 2.0, 257.0, Y), qid=QID)
    single = X.astype(np.float32)
    with rejects(dx.InputError):
        dx.LinearRanker().fit(single, np.where(Y == 2.0, 101.0, Y), qid=QID)
    for kind, highest in ((single, 100.0), (X, 256.0)):
        dx.LinearRanker(max_iter=2).fit(kind, np.where(Y == 2.0, highest, Y), qid=QID)
    assert np.isfinite(dx.LinearRanker(max_iter=2).fit(X, 128.0 * Y, qid=QID).coef_).all()
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(dx.Queries.from_arrays(X[:, :0], Y, qid=QID))


def test_negative_labels_and_other_widths_are_refused():
    with rejects(dx.InputError):
        dx.LinearRanker(max_iter=1).fit(X, Y - 1.0, qid=QID)
    with rejects(dx.InputError):
        fitted(max_iter=0).predict_queries(dx.Queries.from_arrays(X[:, :3], Y, group=[len(Y)]))


def test_the_penalty_can_pull_to_the_start():
    held = dx.LinearRanker(l2=1e9, center="start").fit_queries(Q)
    np.testing.assert_allclose(held.coef_, dx.trainers.regression_start(Q), atol=1e-7)
    pulled = dx.LinearRanker(l2=1e9).fit_queries(Q)
    np.testing.assert_allclose(pulled.coef_, np.zeros(Q.n_features), atol=1e-7)
