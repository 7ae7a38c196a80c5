"""AutoRanker: a search as an estimator."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_linear

Q, _ = make_linear(15, 8, 4, seed=2)
QID = np.repeat(np.arange(15), 8)


def auto(**more):
    return dx.AutoRanker("nDCG@5", method="ApproxNDCG", folds=2, **more)


def test_it_is_the_search_on_rows():
    ranker = auto(random_state=3).fit(Q.features, Q.labels, qid=QID)
    found = dx.search(Q, method="ApproxNDCG", measure="nDCG@5", folds=2, seed=3)
    assert ranker.search_.candidates == found.candidates
    assert ranker.predict(Q.features).tobytes() == found.ranker.predict(Q.features).tobytes()
    assert ranker.measure_ == dx.NDCG(k=5)


def test_a_validation_set_chooses():
    train, valid = Q.take(range(10)), Q.take(range(10, 15))
    ranker = auto().fit(
        train.features, train.labels, qid=QID[:80], eval_set=(valid.features, valid.labels), eval_qid=QID[80:]
    )
    assert ranker.search_.selection == "5 validation queries"
    found = dx.search(train, valid, method="ApproxNDCG", measure="nDCG@5")
    assert ranker.search_.chosen == found.chosen


def test_the_measure_of_fit_goes_before():
    ranker = auto().fit(Q.features, Q.labels, qid=QID, eval_measure="AP")
    assert ranker.measure_ == dx.AP()


def test_a_file_holds_the_chosen_ranker(tmp_path):
    ranker = auto().fit(Q.features, Q.labels, qid=QID)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert isinstance(loaded, dx.LinearRanker)
    assert loaded.predict(Q.features).tobytes() == ranker.predict(Q.features).tobytes()


def test_it_takes_no_callback():
    with pytest.raises(dx.InputError, match="time_budget="):
        auto().fit_queries(Q, callback=lambda step: None)
