"""The search: it keeps what the measure prefers on the queries that choose."""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import directrix as dx
from directrix.cli.advice import message_of
from directrix.data.synthetic import make_linear
from directrix.search.choice import Choice, preferred
from directrix.search.notes import notes_on_features, why
from directrix.search.plan import Candidate
from directrix.search.single_feature import Baseline
from directrix.search.trial import Trial
from tests.messages import rejects
from tests.search import search as search_any

search = partial(search_any, method="ApproxNDCG")

Q, _ = make_linear(24, 10, 4, seed=2)
NOISY = dx.Queries.from_arrays(Q.features, np.random.default_rng(0).permutation(Q.labels), group=[10] * 24)
TRAIN, VALID = NOISY.take(range(14)), NOISY.take(range(14, 24))
FIXED = {"alpha": 3.0, "max_iter": 15}


def tried(*, by_query=True, **parameters):
    return dx.AutoRanker(by_query=by_query, **parameters).plan().candidates


def value(ranker, q, measure="nDCG@10"):
    return dx.evaluate(measure, ranker.predict_queries(q), q.labels, qptr=q.qptr)[measure]


def test_the_best_on_validation_is_kept():
    found = search(TRAIN, VALID, settings=FIXED)
    values = [candidate.valid for candidate in found.trials]
    assert len(set(values)) > 1
    assert found.chosen is found.trials[int(np.argmax(values))]
    np.testing.assert_allclose(value(found.ranker, VALID), max(values), rtol=1e-12, atol=0)
    np.testing.assert_allclose(value(found.ranker, TRAIN), found.chosen.train, rtol=1e-12, atol=0)


def test_each_candidate_is_a_plain_fit_with_its_settings():
    found = search(TRAIN, VALID, settings=FIXED)
    for candidate in found.trials:
        ranker = candidate.candidate.method.ranker(**candidate.candidate.settings).fit_queries(TRAIN)
        np.testing.assert_allclose(value(ranker, VALID), candidate.valid, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("folds", "turns", "selection"),
    [
        (1, 1, "5 of 24 queries held back (seed 5), then trained on all"),
        (3, 3, "24 queries in 3 folds (seed 5), then trained on all"),
        (None, 5, "24 queries in 5 folds (seed 5), then trained on all"),
    ],
)
def test_without_validation_the_choice_is_trained_again_on_all(folds, turns, selection):
    found = search(NOISY, settings={**FIXED, "l2": 1e-3}, folds=folds, seed=5)
    again = dx.method("ApproxNDCG").ranker(**found.chosen.candidate.settings)
    values = []
    for train, judge in list(
        dx.data.k_folds(NOISY, folds or 5, seed=5) if turns > 1 else dx.data.k_folds(NOISY, 5, seed=5)
    )[:turns]:
        scores = again.fit_queries(train).predict_queries(judge)
        values.append(dx.NDCG(k=10)(scores, judge.labels, judge.qptr))
    np.testing.assert_allclose(found.chosen.values, np.concatenate(values), rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.chosen.valid, np.concatenate(values).mean(), rtol=1e-12, atol=0)
    assert found.ranker.coef_.tobytes() == again.fit_queries(NOISY).coef_.tobytes()
    assert found.selection == selection


def test_many_queries_hold_back_a_fifth():
    q = make_linear(1000, 3, 2, seed=0)[0]
    found = search(q, settings={**FIXED, "l2": 1e-3, "max_iter": 1})
    assert found.selection.startswith("200 of 1000 queries held back")


def test_weights_follow_their_queries_into_the_folds():
    heavy = np.where(np.arange(24) < 12, 1.0, 0.0)
    found = search(NOISY, settings={**FIXED, "l2": 1e-3}, folds=2, weights=(None, heavy), seed=1)
    again = dx.method("ApproxNDCG").ranker(**found.chosen.candidate.settings)
    number = np.zeros(24, dtype=int)
    for fold, (_, judge) in enumerate(dx.data.k_folds(NOISY, 2, seed=1)):
        number[[NOISY.query_ids.index(i) for i in judge.query_ids]] = fold
    first = again.fit_queries(NOISY.take(np.flatnonzero(number == 1)), query_weight=heavy[number == 1])
    judge = NOISY.take(np.flatnonzero(number == 0))
    expected = dx.NDCG(k=10)(first.predict_queries(judge), judge.labels, judge.qptr)
    np.testing.assert_allclose(found.chosen.values[: judge.n_queries], expected, rtol=1e-12, atol=0)
    assert found.ranker.coef_.tobytes() == again.fit_queries(NOISY, query_weight=heavy).coef_.tobytes()


def candidate(method, values, **settings):
    values = np.array(values, dtype=float)
    mean = float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
    named = SimpleNamespace(name=method, settings=(), ranker=lambda **_: SimpleNamespace(scale=None))
    return Trial(Candidate(named, settings), mean, 0.5, 1, "converged", 0.0, values)


BASE = [0.2, 0.4, 0.6, 0.8]
ABOVE = [0.3, 0.5, 0.7, 0.9]  # everywhere by 0.1: an error of 0, which four queries do not tell
NOISY_ABOVE = [0.6, 0.1, 0.9, 0.7]  # by 0.4, -0.3, 0.3, -0.1: a mean of 0.075, an error of 0.166


@pytest.mark.parametrize(
    ("rows", "chosen", "simplest", "reason"),
    [
        (
            [("A", BASE), ("B", ABOVE)],
            1,
            0,
            "AP 0.5000; B is ahead by 0.1000 over 4",
        ),
        (
            [("A", BASE), ("B", NOISY_ABOVE)],
            1,
            0,
            "AP 0.5000; B is ahead by 0.0750 +- 0.1652 over 4 queries, and A comes first in the order",
        ),
        ([("B", NOISY_ABOVE), ("A", BASE)], 0, 0, "AP 0.5750, ahead of .*0.0750.*may be chance"),
        ([("A", BASE), ("A", NOISY_ABOVE)], 1, 1, "AP 0.5750, the best of 2 settings of A"),
        ([("A", BASE), ("B", BASE)], 0, 0, "AP 0.5000, ahead of .* 0.0000 .*may be chance"),
        ([("A", [np.nan] * 4), ("B", BASE)], 1, 1, "AP 0.5000, the only candidate of B"),
        ([("A", [np.nan, *BASE[1:]]), ("B", [np.nan, *ABOVE[1:]])], 1, 0, "over 3 queries"),
        ([("A", BASE * 2), ("B", ABOVE * 2)], 1, 1, "by 0.1000 +- 0.0000 over 8 queries"),
        ([("A", [0.5]), ("B", [0.6])], 1, 0, "by 0.1000 over 1 query"),
    ],
)
def test_the_best_is_preferred_and_with_simple_the_earliest_that_is_not_clearly_behind(
    rows, chosen, simplest, reason
):
    candidates = [candidate(*row) for row in rows]
    assert preferred(candidates) is candidates[chosen]
    found = preferred(candidates, simple=True)
    assert found is candidates[simplest]
    assert re.search(reason.replace("+", r"\+"), why(Choice.of(found), candidates, dx.AP()))


def test_what_is_clearly_behind_a_single_feature_is_not_called_chance():
    long = Baseline("single feature", 0.6, 0.0, 0.6, np.array(ABOVE * 2))
    assert [*notes_on_features(None, long, np.array(BASE * 2))] == [
        "not ahead of the single feature: difference -0.1000 +- 0.0000"
    ]
    baseline = Baseline("single feature", 0.6, 0.0, 0.6, np.array(ABOVE))
    assert [*notes_on_features(None, baseline, np.array(BASE))] == [
        "not ahead of the single feature: difference -0.1000, which may be chance"
    ]
    for level in (NOISY_ABOVE, ABOVE):
        (note,) = notes_on_features(None, baseline, np.array(level))
        assert note.endswith(", which may be chance")


def test_only_models_that_are_allowed_are_tried():
    def models(allowed):
        return {c.method.model for c in tried(models=allowed)}

    assert models(None) >= {"linear", "mlp"}
    assert models(["linear"]) == models("linear") == {"linear"}
    with rejects(dx.InputError):
        models(["linear", "forest"])
    with rejects(dx.InputError) as refused:
        models(["stumps"])
    assert "--model linear" in message_of(refused.value)


def test_scales_by_query_are_tried_unless_they_are_not_wanted():
    def scales(**more):
        return {c.ranker().scale for c in tried(models="trees", **more)}

    assert scales() == {None, "raw+query-percentile"}
    assert scales(by_query=False) == {None}
    with rejects(dx.InputError) as refused:
        search_any(Q, method="YetiRank-Percentile", by_query=False)
    assert "Leave out --no-by-query" in message_of(refused.value)


def test_it_is_said_that_a_model_needs_whole_queries():
    settings = {"n_trees": 2, "num_leaves": 3, "l2": 20.0, "min_data_in_leaf": 2}
    remark = "scales features by query (raw+query-percentile): to score one document it needs all"
    for method, is_said in (("YetiRank-Percentile", True), ("YetiRank", False)):
        found = search_any(Q, method=method, settings=settings, folds=1)
        assert any(remark in text for text in found.notes) == is_said


def test_auto_tries_several_methods_and_chooses_one():
    found = search_any(TRAIN, VALID, settings={"max_iter": 2, "epochs": 2, "cg_iter": 1, "n_trees": 2})
    methods = list(dict.fromkeys(c.name for c in found.trials))
    assert methods == [part.name for part in dx.method("auto").parts(dx.NDCG(k=10))]
    assert found.chosen is preferred(found.trials)
    assert found.ranker.predict_queries(VALID).shape == (VALID.n_docs,)


def test_few_queries_choose_for_themselves():
    few = TRAIN.take(range(4))
    found = search(few, settings=FIXED)
    assert all(candidate.valid == candidate.train for candidate in found.trials)
    assert "too few" in found.selection


def test_a_search_repeats_its_bits():
    one, two = (search(TRAIN, settings={**FIXED, "trainer": "sgd", "max_iter": 2}, seed=1) for _ in range(2))
    assert one.ranker.coef_.tobytes() == two.ranker.coef_.tobytes()
    told = [
        [(c.label, c.valid, c.train, c.steps, c.status, c.values.tobytes()) for c in found.trials]
        for found in (one, two)
    ]
    assert told[0] == told[1]


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
    total = len(found.trials)
    begun = [step for step in seen if step[2] == "ApproxNDCG"]
    assert begun == [(number, total, "ApproxNDCG") for number in range(total)]
    ended = [step for step in seen if ": nDCG@10 0." in step[2]]
    assert [step[:2] for step in ended] == [(number + 1, total) for number in range(total)]
    assert (0, total, "ApproxNDCG, step 15") in seen


def test_a_measure_that_is_undefined_everywhere_chooses_the_first():
    flat = dx.Queries.from_arrays(VALID.features, np.zeros(VALID.n_docs), group=np.diff(VALID.qptr))
    found = search(TRAIN, flat, measure="ROCArea", settings=FIXED)
    assert all(np.isnan(candidate.valid) for candidate in found.trials)
    assert found.chosen is found.trials[0]


def test_labels_read_in_one_line():
    found = search(TRAIN, VALID, settings={**FIXED, "l2": 1e-3})
    assert found.chosen.label == "ApproxNDCG alpha=3 l2=0.001 max_iter=15"


def test_a_setting_that_does_not_exist_is_refused():
    with rejects(dx.InputError):
        search(TRAIN, VALID, settings={"alfa": 3})


@pytest.mark.parametrize("settings", [{"alpha": -1.0}, {"l2": -1.0}])
def test_a_wrong_value_of_a_setting_is_refused_before_any_training(settings):
    began = []
    with pytest.raises(ValueError, match=next(iter(settings))):
        search_any(TRAIN, VALID, settings=settings, progress=lambda *step: began.append(step))
    assert not began


@pytest.mark.filterwarnings("ignore:the trained ranker gives all documents")
def test_what_cannot_train_on_the_data_is_left_out_and_named():
    huge = dx.Queries.from_arrays(np.array([[1e30], [-1e30]], dtype=np.float32), [3, 0], qid=[0, 0])
    found = search_any(huge, huge, settings={"alpha": 3.0, "l2": 0.0, "max_iter": 1})
    assert "LambdaRank" not in {candidate.name for candidate in found.trials}
    assert any(text.startswith("LambdaRank could not be trained") for text in found.notes)
    assert not any("budget" in text for text in found.notes)
    with pytest.raises(dx.InputError, match=r"scores\[0\] is"):
        search(huge, huge, method="LambdaRank")


@pytest.mark.parametrize("method", ["MLP", "RankNet", "SmoothNDCG"])
def test_a_measure_that_is_undefined_everywhere_chooses_no_step(method):
    flat = dx.Queries.from_arrays(VALID.features, np.zeros(VALID.n_docs), group=np.diff(VALID.qptr))
    first = {name: values[0] for name, values in dx.method(method).grid.items()}
    found = search(TRAIN, flat, method=method, measure="ROCArea", settings=first)
    assert np.isnan(found.chosen.valid)
    assert "best" not in found.ranker.result_.counts
