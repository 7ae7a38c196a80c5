"""AutoRanker: a search as an estimator."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_linear
from tests.messages import rejects
from tests.search import search

Q, _ = make_linear(15, 8, 4, seed=2)
QID = np.repeat(np.arange(15), 8)


def auto(**more):
    return dx.AutoRanker("nDCG@5", method="ApproxNDCG", folds=2, **more)


def test_it_is_the_search_on_rows():
    ranker = auto(random_state=3).fit(Q.features, Q.labels, qid=QID)
    found = search(Q, method="ApproxNDCG", measure="nDCG@5", folds=2, seed=3)
    told = [
        [(c.label, c.valid, c.train, c.steps, c.status) for c in one.trials]
        for one in (ranker.search_, found)
    ]
    assert told[0] == told[1]
    assert ranker.predict(Q.features).tobytes() == found.ranker.predict(Q.features).tobytes()
    assert ranker.measure_ == dx.NDCG(k=5)


def test_a_validation_set_chooses():
    train, valid = Q.take(range(10)), Q.take(range(10, 15))
    ranker = auto().fit(
        train.features, train.labels, qid=QID[:80], eval_set=(valid.features, valid.labels), eval_qid=QID[80:]
    )
    assert ranker.search_.selection == "5 validation queries"
    found = search(train, valid, method="ApproxNDCG", measure="nDCG@5")
    assert ranker.search_.chosen.label == found.chosen.label


def test_the_measure_of_fit_goes_before():
    ranker = auto().fit(Q.features, Q.labels, qid=QID, measure="AP")
    assert ranker.measure_ == dx.AP()


def test_it_scales_by_query_on_request_alone_so_that_predict_takes_rows():
    ranker = dx.AutoRanker("nDCG@5", method="YetiRank-Percentile", folds=1)
    with rejects(dx.InputError):
        ranker.fit(Q.features, Q.labels, qid=QID)
    ranker.set_params(by_query=True).fit(Q.features, Q.labels, qid=QID)
    with rejects(dx.InputError):
        ranker.predict(Q.features)
    assert ranker.predict(Q.features, qid=QID).tobytes() == ranker.predict_queries(Q).tobytes()


def test_a_file_holds_the_chosen_ranker(tmp_path):
    ranker = auto().fit(Q.features, Q.labels, qid=QID)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert isinstance(loaded, dx.LinearRanker)
    assert loaded.predict(Q.features).tobytes() == ranker.predict(Q.features).tobytes()


def test_it_takes_no_callback():
    with rejects(dx.InputError):
        auto().fit_queries(Q, callback=lambda step: None)


FAST = {"max_iter": 2, "epochs": 2, "cg_iter": 2, "sigma_first": 1.0, "sigma_last": 0.5, "n_trees": 2}
FAST |= {"alpha": 3.0, "l2": 0.01, "learning_rate": 0.1, "num_leaves": 3, "hidden": (2,)}


def tried(measure, **more):
    settings = {name: value for name, value in FAST.items() if name in dx.method("auto").settings}
    found = search(Q.take(range(10)), Q.take(range(10, 15)), measure=measure, settings=settings, **more)
    return {candidate.name for candidate in found.trials}, found


def test_auto_leaves_out_what_knows_no_weights_of_documents():
    every, plain = tried("nDCG@5")
    known, weighted = tried("nDCG@5", weights=(np.linspace(0.5, 1.5, 80), None))
    assert "LambdaRank" in every - known
    assert "ApproxNDCG" in known
    (remark,) = set(weighted.notes) - set(plain.notes)
    assert remark.endswith("not trained, because they do not support weights of documents")
    assert set(remark.split(":")[0].split(", ")) == every - known


@pytest.mark.parametrize(
    "measure", ["nDCG(ties=worst)@5", "nDCG(empty=skip)@5", "P", "AP(ties=worst)", "RBP"]
)
@pytest.mark.filterwarnings("ignore:P has the same value for every ranking")
def test_auto_leaves_out_what_the_measure_has_no_changes_for(measure):
    names, found = tried(measure)
    assert "LambdaRank" not in names
    assert found.ranker.measure_ == dx.measure(measure)


def test_one_method_that_knows_no_weights_says_so():
    with rejects(dx.InputError):
        search(Q, method="LambdaRank", settings={"epochs": 1}, weights=(np.ones(120), None))


def test_two_methods_that_a_setting_makes_equal_are_trained_once():
    ranker = dx.AutoRanker(
        method="YetiRank,YetiRank-Percentile", settings={"scale": "standard", "n_trees": 2}
    )
    found = ranker.search(Q.take(range(10)), Q.take(range(10, 15)))
    assert {candidate.name for candidate in found.trials} == {"YetiRank"}
    note = "YetiRank-Percentile: not trained, because they equal another method with these settings"
    assert note in found.notes


@pytest.mark.parametrize("given", [{"method": "lgbm"}, {"measure": "nDCG@ten"}], ids=str)
def test_a_wrong_name_is_named_also_where_features_are_missing(given):
    X = np.where(Q.features > 0.9, np.nan, Q.features)
    with rejects(dx.InputError):
        dx.AutoRanker(**given).fit(X, Q.labels, group=np.diff(Q.qptr), missing="nan")
