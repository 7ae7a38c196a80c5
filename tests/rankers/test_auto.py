"""The search: it keeps what the measure prefers on the queries that choose."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.split import split_queries
from directrix.data.synthetic import make_linear
from directrix.rankers.auto import search

Q, _ = make_linear(24, 10, 4, seed=2)
NOISY = dx.Queries.from_arrays(Q.features, np.random.default_rng(0).permutation(Q.labels), group=[10] * 24)
TRAIN, VALID = NOISY.take(range(14)), NOISY.take(range(14, 24))
FIXED = {"alpha": 3.0, "max_iter": 15}


def value(ranker, q, measure="nDCG@10"):
    return dx.evaluate(measure, ranker.predict_queries(q), q.labels, qptr=q.qptr)[measure]


def test_the_best_on_validation_is_kept():
    found = search(TRAIN, VALID, settings=FIXED)
    values = [candidate.valid for candidate in found.candidates]
    assert len(set(values)) > 1
    assert found.chosen is found.candidates[int(np.argmax(values))]
    np.testing.assert_allclose(value(found.ranker, VALID), max(values), rtol=1e-12, atol=0)
    np.testing.assert_allclose(value(found.ranker, TRAIN), found.chosen.train, rtol=1e-12, atol=0)


def test_each_candidate_is_a_plain_fit_with_its_settings():
    found = search(TRAIN, VALID, settings=FIXED)
    for candidate in found.candidates:
        ranker = dx.method(candidate.method).ranker(**candidate.settings).fit_queries(TRAIN)
        np.testing.assert_allclose(value(ranker, VALID), candidate.valid, rtol=1e-12, atol=0)


def test_without_validation_the_choice_is_trained_again_on_all():
    found = search(NOISY, settings=FIXED, seed=5)
    train, judge = split_queries(NOISY, (0.8, 0.2), seed=5)
    again = dx.method("ApproxNDCG").ranker(**found.chosen.settings)
    np.testing.assert_allclose(value(again.fit_queries(train), judge), found.chosen.valid, rtol=1e-12, atol=0)
    assert found.ranker.coef_.tobytes() == again.fit_queries(NOISY).coef_.tobytes()
    assert found.selection == "5 of 24 queries held back (seed 5), then trained on all"


def test_few_queries_choose_for_themselves():
    few = TRAIN.take(range(4))
    found = search(few, settings=FIXED)
    assert all(candidate.valid == candidate.train for candidate in found.candidates)
    assert "too few" in found.selection


def test_a_search_repeats_its_bits():
    one, two = (search(TRAIN, settings={**FIXED, "trainer": "sgd", "max_iter": 2}, seed=1) for _ in range(2))
    assert one.ranker.coef_.tobytes() == two.ranker.coef_.tobytes()
    assert one.candidates == two.candidates


def test_the_measure_decides_what_score_reports():
    found = search(TRAIN, VALID, measure="RR", settings=FIXED)
    assert found.ranker.measure_ == dx.RR()
    X, y = VALID.features, VALID.labels
    np.testing.assert_allclose(
        found.ranker.score(X, y, group=np.diff(VALID.qptr)), found.chosen.valid, rtol=1e-12, atol=0
    )


def test_the_gap_is_the_mean_distance_on_the_training_queries():
    found = search(TRAIN, VALID, measure="AP", method="ApproxAP", settings={**FIXED, "l2": 0.1})
    scores = found.ranker.predict_queries(TRAIN)
    soft, _ = dx.ApproxAP(alpha=3.0).value_and_grad(scores, TRAIN.labels, TRAIN.qptr)
    exact = dx.AP()(scores, TRAIN.labels, TRAIN.qptr)
    np.testing.assert_allclose(found.gap, np.abs(soft - exact).mean(), rtol=1e-12, atol=0)
    assert found.gap > 0.0


def test_progress_counts_to_the_number_of_candidates():
    seen = []
    found = search(TRAIN, VALID, settings=FIXED, progress=lambda *step: seen.append(step))
    total = len(found.candidates)
    assert seen == [(number, total, "ApproxNDCG") for number in range(total)]


def test_a_measure_that_is_undefined_everywhere_chooses_the_first():
    flat = dx.Queries.from_arrays(VALID.features, np.zeros(VALID.n_docs), group=np.diff(VALID.qptr))
    found = search(TRAIN, flat, measure="ROCArea", settings=FIXED)
    assert all(np.isnan(candidate.valid) for candidate in found.candidates)
    assert found.chosen is found.candidates[0]


def test_labels_read_in_one_line():
    found = search(TRAIN, VALID, settings={**FIXED, "l2": 1e-3})
    assert found.chosen.label == "ApproxNDCG alpha=3 l2=0.001 max_iter=15"


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(dx.InputError, match="no setting 'alfa'"):
        search(TRAIN, VALID, settings={"alfa": 3})
