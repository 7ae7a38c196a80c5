"""SVMAcc is scikit-learn's LinearSVC on all documents, for features and for steps of features."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import directrix as dx
from directrix.objectives.objective import make_objective
from directrix.trainers.svm_acc import step_features
from tests.messages import rejects

Q = dx.data.make_cubic(n_queries=12, docs_per_query=15, n_features=4, seed=3)
STUMPS = dx.models.StumpModel(dx.models.quantile_thresholds(Q.features, 4))
LOSSES = ["hinge", "squared_hinge"]


def machine(loss="squared_hinge", **settings):
    return LinearSVC(loss=loss, dual=loss == "hinge", tol=1e-6, max_iter=100_000, random_state=0, **settings)


def tight(**settings):
    return dx.trainers.SVMAcc(tol=1e-6, max_iter=100_000, **settings)


def ones(X):
    """Columns of 0 and 1 by definition."""
    return np.hstack([X[:, [f]] > row for f, row in enumerate(np.split(STUMPS.values, STUMPS.ptr[1:-1]))])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_of_features_it_is_the_machine_fitted_by_hand(loss, C):
    result = tight(C=C, loss=loss, rel=2).minimize(dx.linear_objective(Q, "ApproxAP"), np.ones(4))
    by_hand = machine(loss, C=C).fit(Q.features.astype(float), Q.labels >= 2)
    assert np.array_equal(result.params, by_hand.coef_[0])
    assert (result.status, result.own_loss) == ("converged", True)
    assert result.counts == {"iterations": by_hand.n_iter_}


@pytest.mark.parametrize("loss", LOSSES)
def test_of_stumps_it_is_the_machine_on_their_steps(loss):
    result = tight(C=0.1, loss=loss).minimize(
        make_objective(Q, "ApproxAP", STUMPS), np.zeros(STUMPS.n_params)
    )
    by_hand = machine(loss, C=0.1).fit(sp.csr_array(ones(Q.features).astype(float)), Q.labels >= 1)
    assert np.array_equal(result.params, by_hand.coef_[0])


def test_steps_as_features_are_ones_above_thresholds():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 4)) < 0.5, Q.features[:30].astype(float), 0.0)
    for given in (X, sp.csr_array(X)):
        steps = step_features(STUMPS, given)
        assert np.array_equal(steps.toarray(), ones(X))
        assert steps.nnz == ones(X).sum()
        assert steps.indices.dtype == np.int32
    params = rng.standard_normal(STUMPS.n_params)
    scores, _ = STUMPS.forward(params, X)
    np.testing.assert_allclose(step_features(STUMPS, X) @ params, scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_weighs_relevant_documents_by_the_ratio(loss):
    y = Q.labels >= 3
    ratio = (~y).sum() / y.sum()
    assert ratio > 1.5
    result = tight(loss=loss, rel=3, balanced=True).minimize(dx.linear_objective(Q, "ApproxAP"), np.zeros(4))
    by_hand = machine(loss, class_weight={False: 1.0, True: ratio}).fit(Q.features.astype(float), y)
    np.testing.assert_allclose(result.params, by_hand.coef_[0], rtol=1e-6, atol=1e-9)


def test_weights_of_queries_and_documents_are_those_of_their_documents():
    by_query, by_doc = np.linspace(0.0, 2.0, 12), np.linspace(1.0, 3.0, Q.n_docs)
    objective = dx.linear_objective(Q, "ApproxAP", query_weight=by_query, doc_weight=by_doc)
    result = tight(loss="squared_hinge").minimize(objective, np.zeros(4))
    weight = np.repeat(by_query / by_query.mean(), 15) * by_doc
    by_hand = machine().fit(Q.features.astype(float), Q.labels >= 1, sample_weight=weight)
    np.testing.assert_allclose(result.params, by_hand.coef_[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("squared_hinge", 2)])
@pytest.mark.parametrize("balanced", [False, True])
def test_the_value_is_the_loss_and_no_neighbor_has_a_lower_one(loss, power, balanced):
    trainer = tight(loss=loss, C=0.3, balanced=balanced, rel=2)
    result = trainer.minimize(dx.linear_objective(Q, "ApproxAP"), np.zeros(4))
    X, y = Q.features.astype(float), np.where(Q.labels >= 2, 1.0, -1.0)
    c = np.where(y > 0, (y < 0).sum() / (y > 0).sum() if balanced else 1.0, 1.0)

    def value(w, b):
        return 0.5 * w @ w + 0.5 * b * b + 0.3 * (c * np.maximum(0.0, 1.0 - y * (X @ w + b)) ** power).sum()

    least = min(value(result.params, b) for b in np.linspace(-3.0, 3.0, 60_001))
    np.testing.assert_allclose(result.value, least, rtol=1e-5, atol=0)
    rng = np.random.default_rng(1)
    b = min(np.linspace(-3.0, 3.0, 60_001), key=lambda b: value(result.params, b))
    near = [value(result.params + d[:4], b + d[4]) for d in 1e-2 * rng.standard_normal((50, 5))]
    assert min(near) >= result.value * (1 - 1e-6)
    assert [row["iteration"] for row in result.trace] == [0, 1]
    np.testing.assert_allclose(result.trace[0]["loss"], value(np.zeros(4), 0.0), rtol=1e-12, atol=0)


def test_sparse_features_give_what_dense_ones_give():
    sparse = dx.Queries.from_arrays(sp.csr_array(Q.features), Q.labels, group=np.diff(Q.qptr))
    found = [
        tight(loss="squared_hinge").minimize(dx.linear_objective(q, "ApproxAP"), np.zeros(4)).params
        for q in (Q, sparse)
    ]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)


def test_too_few_iterations_show_in_the_status_not_as_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = dx.trainers.SVMAcc(C=10.0, loss="hinge", max_iter=2).minimize(
            dx.linear_objective(Q, "ApproxAP"), np.zeros(4)
        )
    assert result.status == "max_iter"
    assert "2 iterations did not meet the tolerance" in result.message


@pytest.mark.parametrize("rel", [1e-3, 9.0])
def test_labels_on_one_side_teach_nothing(rel):
    q = dx.Queries.from_arrays(Q.features, Q.labels + 1.0, group=np.diff(Q.qptr))
    result = dx.trainers.SVMAcc(rel=rel, balanced=True).minimize(
        dx.linear_objective(q, "ApproxAP"), np.ones(4)
    )
    assert result.params.tolist() == [0.0] * 4
    assert (result.status, "on one side of rel=" in result.message) == ("converged", True)


@pytest.mark.parametrize(
    "ranker",
    [
        dx.LinearRanker(trainer="svm-acc", start="zero"),
        dx.LinearRanker(trainer=dx.trainers.SVMAcc(C=0.1, balanced=True), scale="query-percentile"),
        dx.StumpRanker(trainer="svm-acc", thresholds=3),
        dx.StumpRanker(
            trainer=dx.trainers.SVMAcc(C=0.1), scale="query-percentile", thresholds=np.arange(1, 11) / 11
        ),
        dx.StumpRanker(trainer=dx.trainers.SVMAcc(C=0.1), scale="query-minmax", thresholds=(0.2, 0.5)),
        dx.StumpRanker(
            trainer=dx.trainers.SVMAcc(C=0.1), thresholds=[[0.0], [], [0.1, 0.2], np.array([0.3])]
        ),
    ],
    ids=["linear", "balanced", "stumps", "percentile", "minmax", "by feature"],
)
def test_rankers_train_with_it_and_their_files_read_back(ranker, tmp_path):
    qid = np.repeat(np.arange(12), 15)
    ranker.fit(Q.features, Q.labels, qid=qid)
    ranker.save(tmp_path / "model.json")
    again = dx.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(Q.features, qid=qid), ranker.predict(Q.features, qid=qid))
    again.fit(Q.features, Q.labels, qid=qid)
    assert np.array_equal(again.coef_, ranker.coef_)


def test_thresholds_given_to_a_ranker_are_those_of_its_model():
    even = [0.25, 0.5, 0.75]
    fitted = dx.StumpRanker(trainer="svm-acc", scale="query-percentile", thresholds=even)
    fitted.fit(Q.features, Q.labels, qid=np.repeat(np.arange(12), 15))
    assert [row.tolist() for row in fitted.thresholds_] == [even] * 4
    own = [[0.0], [], [0.1, 0.2], [0.3]]
    fitted.set_params(scale=None, thresholds=own).fit(Q.features, Q.labels, qid=np.repeat(np.arange(12), 15))
    assert [row.tolist() for row in fitted.thresholds_] == own


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.5, 0.5], "thresholds of feature 1 are .* ascending"),
        ([0.5, "x"], r"thresholds=\[0.5, 'x'\]: a number of thresholds"),
        ([[0.5], [0.5]], "thresholds holds 2 sequences for 4 features"),
        ([[0.5], [0.5], [2.0, 1.0], []], "thresholds of feature 3"),
    ],
    ids=str,
)
def test_thresholds_that_do_not_fit(thresholds, message):
    with pytest.raises(dx.InputError, match=message):
        dx.StumpRanker(thresholds=thresholds).fit(Q.features, Q.labels, qid=np.repeat(np.arange(12), 15))


def test_more_steps_than_indices_hold_are_refused():
    many = SimpleNamespace(bins=lambda X: np.array([[2**31]]))
    with rejects(dx.InputError):
        step_features(many, None)
