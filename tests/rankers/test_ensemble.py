"""EnsembleRanker: the weighted mean of rankers, in one file."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.cli.advice import message_of
from directrix.data.synthetic import make_linear

Q, _ = make_linear(30, 10, 5, seed=1)
TRAIN, TEST = Q.take(range(20)), Q.take(range(20, 30))


def members():
    return [
        dx.LinearRanker("ListNet", max_iter=3, scale="standard"),
        dx.StumpRanker(max_iter=4),
        dx.MLPRanker(hidden=(3,), max_iter=3, random_state=0),
    ]


@pytest.fixture(scope="module")
def fitted():
    return dx.EnsembleRanker(members(), weights=[2, 1, 1]).fit_queries(TRAIN, measure="AP")


def test_scores_are_the_weighted_mean_of_scores_in_units_of_their_spread(fitted):
    total = np.zeros(TEST.n_docs)
    for member, weight in zip(members(), (0.5, 0.25, 0.25), strict=True):
        member.fit_queries(TRAIN, measure="AP")
        scores = member.predict_queries(TRAIN).reshape(20, 10)
        spread = np.sqrt(scores.var(axis=1).mean())
        total += weight * member.predict_queries(TEST) / spread
    np.testing.assert_allclose(fitted.predict_queries(TEST), total, rtol=1e-12, atol=1e-12)
    assert fitted.measure_ == dx.AP()


def test_a_member_that_orders_nothing_is_left_out():
    flat = dx.LinearRanker(start="zero", max_iter=0)
    found = dx.EnsembleRanker([flat, dx.LinearRanker()], weights=[3, 1]).fit_queries(TRAIN)
    assert len(found.members_) == 1
    assert found.weights_.tolist() == [1.0]
    alone = dx.EnsembleRanker([flat]).fit_queries(TRAIN)
    assert not alone.predict_queries(TEST).any()


def test_one_file_holds_all_and_predicts_the_same_bits(fitted, tmp_path):
    fitted.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert isinstance(loaded, dx.EnsembleRanker)
    assert loaded.predict_queries(TEST).tobytes() == fitted.predict_queries(TEST).tobytes()
    assert loaded.measure_ == dx.AP()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    again = loaded.fit_queries(TRAIN, measure="AP")
    np.testing.assert_allclose(again.predict_queries(TEST), fitted.predict_queries(TEST), rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["model"].pop("members"), "members is missing"),
        (lambda m: m["model"]["members"].clear(), "members is empty"),
        (lambda m: m["model"]["members"].append(3), r"members\[3\] is 3, must be an object"),
        (lambda m: m["model"]["members"][1].pop("spread"), r"members\[1\]\.spread is missing"),
        (lambda m: m["model"]["members"][1].update(weight=-1.0), r"members\[1\] .*above 0, got .*-1\.0"),
        (lambda m: m["model"]["members"][0]["features"].update(count=4), r"members\[0\]: "),
        (lambda m: m["model"]["members"].append(copy.deepcopy(m)), r"members\[3\]\.weight is missing"),
        (
            lambda m: m["model"]["members"].append({**copy.deepcopy(m), "weight": 1, "spread": 1}),
            r"members\[3\]\.model\.type is 'ensemble'",
        ),
        (lambda m: m["features"].update(count=6), r"members\[0\] must have 6 features"),
        (lambda m: m["training"].pop("measure"), "measure is missing"),
    ],
)
def test_a_wrong_entry_is_named(fitted, tmp_path, change, message):
    path = tmp_path / "m.json"
    fitted.save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(dx.InputError, match=message):
        dx.load(path)


def test_a_scale_by_query_needs_queries():
    one = dx.LinearRanker(scale="query-standard", max_iter=2)
    ranker = dx.EnsembleRanker([dx.LinearRanker(max_iter=2), one]).fit_queries(TRAIN)
    with rejects(dx.InputError):
        ranker.predict(TEST.features)
    assert ranker.predict(TEST.features, group=np.diff(TEST.qptr)).shape == (100,)


@pytest.mark.parametrize(
    ("given", "weights", "message"),
    [
        ([], None, "0 members"),
        ([dx.LinearRanker()], [1, 2], "1 members"),
        ([dx.LinearRanker()], [0], "above 0"),
        ([dx.LinearRanker()], [-1], ">= 0"),
        ([dx.LinearRanker()], ["much"], "one number"),
        ([dx.AutoRanker()], None, r"members\[0\] is a AutoRanker"),
    ],
)
def test_wrong_members_and_weights_are_refused(given, weights, message):
    with pytest.raises(dx.InputError, match=message):
        dx.EnsembleRanker(given, weights=weights).fit_queries(TRAIN)


def test_it_cannot_be_certified(fitted):
    with rejects(dx.InputError) as refused:
        dx.certify(fitted, TEST)
    assert "--single" in message_of(refused.value)


def test_missing_values_need_members_that_take_them():
    with_gaps = np.where(
        np.arange(TRAIN.features.size).reshape(TRAIN.features.shape) % 7, TRAIN.features, np.nan
    )
    q = dx.Queries.from_arrays(with_gaps, TRAIN.labels, group=np.diff(TRAIN.qptr), missing="nan")
    fills = dx.LinearRanker(scale="standard", max_iter=3)
    ranker = dx.EnsembleRanker([fills, dx.LinearRanker("ListNet", scale="standard")]).fit_queries(q)
    assert np.isfinite(ranker.predict_queries(q)).all()
    with rejects(dx.InputError):
        dx.EnsembleRanker([fills, dx.LinearRanker()]).fit_queries(q)


def test_a_score_beyond_all_floats_is_refused(tmp_path):
    q = dx.data.make_cubic(8, 6, 3, seed=0)
    ranker = dx.EnsembleRanker(
        [dx.LinearRanker(max_iter=2), dx.LinearRanker("ListNet", max_iter=2)]
    ).fit_queries(q)
    first, second = ranker.model_.members
    ranker.model_ = replace(ranker.model_, members=(replace(first, spread=5e-324), second))
    with pytest.raises(dx.InputError, match="scores are not finite"):
        ranker.predict_queries(q)
