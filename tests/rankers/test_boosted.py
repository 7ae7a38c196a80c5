"""BoostedRanker: any surrogate, LightGBM's trees, our measure, our files."""

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp
from tests.messages import rejects

import directrix as dx
from directrix.models import trees

lightgbm = pytest.importorskip("lightgbm")
X = np.random.default_rng(0).standard_normal((600, 4)).astype(np.float32)
WORTH = np.abs(X[:, 0]) + 0.3 * np.random.default_rng(1).standard_normal(600)
Q = dx.Queries.from_arrays(X, np.digitize(WORTH, [0.7, 1.5]), qid=np.arange(600) // 20)
TRAIN, VALID = Q.take(range(20)), Q.take(range(20, 30))
SMALL = {"n_trees": 10, "num_leaves": 6, "min_data_in_leaf": 5}


@pytest.fixture(scope="module")
def fitted():
    return dx.BoostedRanker(**SMALL).fit_queries(TRAIN, VALID, measure="nDCG@5")


def test_trees_learn_what_no_line_can(fitted):
    value = dx.evaluate("nDCG@5", fitted.predict_queries(VALID), VALID.labels, qptr=VALID.qptr)["nDCG@5"]
    lines = [
        dx.evaluate("nDCG@5", sign * VALID.features[:, 0], VALID.labels, qptr=VALID.qptr)["nDCG@5"]
        for sign in (-1, 1)
    ]
    assert value > max(lines) + 0.1


def test_the_number_of_trees_is_chosen_by_the_exact_measure(fitted):
    result = fitted.result_
    scores = [row["score"] for row in result.trace]
    best = result.counts["best"]
    assert scores[best] == max(scores[1:])
    assert fitted.trees_.n_trees == best
    got = dx.evaluate("nDCG@5", fitted.predict_queries(VALID), VALID.labels, qptr=VALID.qptr)["nDCG@5"]
    np.testing.assert_allclose(got, scores[best], rtol=1e-12, atol=0)
    assert repr(fitted.measure_) == repr(dx.measure("nDCG@5"))


def test_features_of_all_data_are_scaled():
    size = np.repeat(10.0 ** (np.arange(30) % 3), 20)[:, None]
    q = dx.Queries.from_arrays(size * X + size, Q.labels, qid=np.arange(600) // 20)
    train, valid = q.take(range(20)), q.take(range(20, 30))
    ranker = dx.BoostedRanker(**SMALL, scale="query-standard").fit_queries(train, valid, measure="nDCG@5")
    got = dx.evaluate("nDCG@5", ranker.predict_queries(valid), valid.labels, qptr=valid.qptr)["nDCG@5"]
    best = ranker.result_.counts["best"]
    np.testing.assert_allclose(got, ranker.result_.trace[best]["score"], rtol=1e-12, atol=0)
    assert got > 0.8
    plain = dx.BoostedRanker(**SMALL).fit_queries(train, valid, measure="nDCG@5")
    assert ranker.result_.trace[best]["score"] > max(row["score"] for row in plain.result_.trace)


def test_patience_stops():
    ranker = dx.BoostedRanker(n_trees=200, patience=3, num_leaves=6).fit_queries(TRAIN, VALID)
    assert ranker.result_.status == "stopped"
    assert ranker.result_.counts["iterations"] == ranker.result_.counts["best"] + 3


@pytest.mark.parametrize("smoothed", [dx.ApproxNDCG(), dx.SoftNDCG(), dx.SmoothNDCG()], ids=repr)
def test_steps_are_measured_in_the_surrogates_unit_of_score(smoothed):
    power = 2 if isinstance(smoothed, dx.SmoothNDCG) else 1  # its sigma is a square
    one, many = (
        dx.BoostedRanker(smoothed.at(unit**power), **SMALL).fit_queries(TRAIN).predict_queries(TRAIN)
        for unit in (1.0, 64.0)
    )
    np.testing.assert_allclose(many / 64.0, one, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("surrogate", [None, "lambdarank"])
def test_the_same_bits_for_any_number_of_threads(monkeypatch, surrogate):
    monkeypatch.setattr(trees, "_CELLS_A_THREAD", 1)
    settings = SMALL | {"subsample": 0.7, "feature_fraction": 0.7, "random_state": 3}
    texts, scores = set(), set()
    for threads in (1, 2):
        before = dx.set_threads(threads)
        try:
            ranker = dx.BoostedRanker(surrogate, **settings).fit_queries(TRAIN)
            texts.add(ranker.trees_.to_lightgbm())
            scores.add(ranker.predict_queries(VALID).tobytes())
        finally:
            dx.set_threads(before)
    assert len(texts) == len(scores) == 1


def test_the_seed_decides_on_the_samples():
    settings = SMALL | {"subsample": 0.5}
    texts = [
        dx.BoostedRanker(**settings, random_state=seed).fit_queries(TRAIN).trees_.to_lightgbm()
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("surrogate", [None, "lambdarank"])
def test_bags_are_models_with_other_random_numbers_whose_mean_is_kept(surrogate):
    shares = {"subsample": 0.7, "feature_fraction": 0.5} | SMALL
    ranker = dx.BoostedRanker(surrogate, n_bags=3, patience=None, **shares).fit_queries(TRAIN, VALID)
    best, whole = ranker.result_.counts["best"], ranker.trees_
    assert ranker.result_.counts["iterations"] == 10
    assert whole.n_trees == 3 * best
    ends = np.cumsum([0, *whole.n_leaves.reshape(3, best).sum(axis=1)])
    leaves = [whole.leaf[a:b] for a, b in itertools.pairwise(ends)]
    alone = dx.BoostedRanker(surrogate, **shares | {"n_trees": best}).fit_queries(TRAIN)
    np.testing.assert_array_equal(leaves[0], alone.trees_.leaf / 3)  # the first has the seed of one alone
    assert len({bag.tobytes() for bag in leaves}) == 3
    value = dx.evaluate("nDCG", ranker.predict_queries(VALID), VALID.labels, qptr=VALID.qptr)["nDCG"]
    np.testing.assert_allclose(value, ranker.result_.trace[best]["score"], rtol=1e-12, atol=0)
    read = lightgbm.Booster(model_str=whole.to_lightgbm()).predict(X)
    np.testing.assert_allclose(read, ranker.predict_queries(Q), rtol=0, atol=1e-12)


def test_bags_differ_by_the_noise_of_their_surrogate_alone_and_continue_a_model():
    first = dx.BoostedRanker(**SMALL).fit_queries(TRAIN)
    more = dx.BoostedRanker(n_bags=2, init_model=first, **SMALL).fit_queries(TRAIN)
    assert more.trees_.n_trees == 30
    np.testing.assert_array_equal(more.trees_.leaf[: len(first.trees_.leaf)], first.trees_.leaf)
    one, two = np.split(more.trees_.n_leaves[10:], 2)
    later = more.trees_.leaf[len(first.trees_.leaf) :]
    assert later[: one.sum()].tobytes() != later[one.sum() :].tobytes()
    assert len(two) == 10


def test_settings_reach_lightgbm():
    plain = dx.BoostedRanker(**SMALL).fit_queries(TRAIN)
    other = {"learning_rate": 0.2, "num_leaves": 4, "min_data_in_leaf": 9, "l2": 5.0, "max_bin": 9}
    other |= {"feature_fraction": 0.5}
    for name, value in other.items():
        ranker = dx.BoostedRanker(**(SMALL | {name: value}), random_state=0).fit_queries(TRAIN)
        assert ranker.trees_.to_lightgbm() != plain.trees_.to_lightgbm(), name


def test_sparse_features_give_the_same_ranker(fitted):
    X, y, qid = TRAIN.features, TRAIN.labels, np.repeat(TRAIN.query_ids, np.diff(TRAIN.qptr))
    dense = dx.BoostedRanker(**SMALL).fit(X, y, qid=qid)
    sparse = dx.BoostedRanker(**SMALL).fit(sp.csr_matrix(X), y, qid=qid)
    assert sparse.predict(sp.csr_matrix(X)).tobytes() == dense.predict(X).tobytes()


def test_query_weights_decide_between_queries_that_disagree():
    X, y = np.array([[0.0], [1.0]] * 40), np.array([0, 1, 1, 0] * 20)
    qid = np.arange(80) // 2
    for heavy in (0, 1):
        weight = np.where(np.arange(40) % 2 == heavy, 3.0, 1.0)
        ranker = dx.BoostedRanker(n_trees=3).fit(X, y, qid=qid, query_weight=weight)
        worst, best = ranker.predict(np.array([[heavy], [1 - heavy]], dtype=float))
        assert best > worst


@pytest.mark.parametrize("surrogate", [None, "lambdarank"])
@pytest.mark.parametrize("step", [0.0, 1e-310], ids=["equal", "subnormal"])
def test_features_in_which_lightgbm_sees_one_value_rank_nothing(surrogate, step):
    """LightGBM stops with an error where no feature has two bins."""
    X = 1.0 * (step == 0.0) + step * np.arange(60.0).reshape(30, 2)
    with pytest.warns(UserWarning, match="ranks nothing"):
        ranker = dx.BoostedRanker(surrogate, oblivious=False).fit(X, [0, 1] * 15, qid=np.arange(30) // 5)
    assert ranker.result_.status == "converged"
    assert not ranker.predict(X).any()


def test_features_that_never_vary_rank_nothing():
    with pytest.warns(UserWarning, match="ranks nothing"):
        ranker = dx.BoostedRanker().fit(np.ones((30, 2)), [0, 1] * 15, qid=np.arange(30) // 5)
    assert ranker.result_.status == "converged"
    assert not ranker.predict(np.ones((3, 2))).any()


def test_lambdarank_is_what_lightgbm_does_alone():
    ranker = dx.BoostedRanker("lambdarank", **SMALL).fit_queries(TRAIN, measure="nDCG@10")
    alone = lightgbm.train(
        {
            "objective": "lambdarank",
            "learning_rate": 0.05,
            "num_leaves": 6,
            "min_data_in_leaf": 5,
            "verbosity": -1,
            "num_threads": 1,
        },
        lightgbm.Dataset(np.array(TRAIN.features), TRAIN.labels, group=np.diff(TRAIN.qptr)),
        10,
    )
    assert ranker.predict_queries(VALID).tobytes() == alone.predict(np.array(VALID.features)).tobytes()


def test_what_lambdarank_cannot_do_is_refused():
    with rejects(dx.InputError):
        dx.BoostedRanker("lambdarank").fit(np.eye(2), [0.5, 1.0], qid=[0, 0])
    with rejects(dx.InputError):
        dx.BoostedRanker("lambdarank").fit(np.eye(2), [0, 1], qid=[0, 0], sample_weight=[1, 2])


def test_query_weights_reach_lambdarank():
    weight = np.linspace(0.1, 5.0, TRAIN.n_queries)
    plain, weighted = (
        dx.BoostedRanker("lambdarank", **SMALL).fit_queries(TRAIN, query_weight=w).trees_
        for w in (None, weight)
    )
    assert plain != weighted


@pytest.mark.parametrize(
    ("settings", "measure"),
    [
        ({}, None),
        ({"surrogate": "lambdarank", "scale": "query-minmax"}, "AP"),
        ({"surrogate": "ApproxAP"}, "AP"),
    ],
    ids=str,
)
def test_a_saved_ranker_predicts_the_same_bits(tmp_path, settings, measure):
    ranker = dx.BoostedRanker(**SMALL, **settings, random_state=7).fit_queries(TRAIN, VALID, measure=measure)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json").trained()
    assert type(loaded) is dx.BoostedRanker
    assert loaded.predict_queries(VALID).tobytes() == ranker.predict_queries(VALID).tobytes()
    assert loaded.measure_ == ranker.measure_
    assert repr(loaded.surrogate_) == repr(ranker.surrogate_)
    kept = {**loaded.get_params(), "surrogate": None}
    assert kept == {**ranker.get_params(), "surrogate": None}
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    again = loaded.fit_queries(TRAIN, VALID, measure=measure)
    assert again.trees_ == ranker.trees_


def test_a_damaged_file_is_refused(tmp_path, fitted):
    path = tmp_path / "m.json"
    fitted.save(path)
    content = json.loads(path.read_text())
    model = content["model"]
    for changed, message in [
        (model | {"leaf": model["leaf"][1:]}, "trees are damaged"),
        (model | {"feature": [4, *model["feature"][1:]]}, "not among the 4"),
        (model | {"left": 3}, "left is 3, must be a list"),
        (model | {"count": [-1, *model["count"][1:]]}, r"count\[0\] is -1"),
        ({name: values for name, values in model.items() if name != "gain"}, "gain is missing"),
    ]:
        path.write_text(json.dumps({**content, "model": {"type": "trees", **changed}}))
        with pytest.raises(dx.InputError, match=message):
            dx.load(path)
    path.write_text(json.dumps({**content, "features": {**content["features"], "count": 5}}))
    with rejects(dx.InputError):
        dx.load(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_trees": 0}, "n_trees must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"num_leaves": 1}, "num_leaves must be"),
        ({"subsample": 0.0}, "subsample must be"),
        ({"surrogate": "lambdamart"}, "Lambda|lambda"),
    ],
)
def test_parameters_are_checked_when_fitting(settings, message):
    with pytest.raises(ValueError, match=message):
        dx.BoostedRanker(**settings).fit_queries(TRAIN)


@pytest.mark.filterwarnings("ignore:the trained ranker")
def test_lightgbm_says_nothing(capfd):
    dx.BoostedRanker(n_trees=3, min_data_in_leaf=500).fit_queries(TRAIN, VALID).predict_queries(VALID)
    assert capfd.readouterr() == ("", "")
