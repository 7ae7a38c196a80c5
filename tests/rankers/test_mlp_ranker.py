"""The perceptron as a ranker: it learns what is not linear, keeps its bits, and is checked when read."""

import copy
import json

import numpy as np
import pytest
from sklearn.base import clone
from tests.messages import rejects

import directrix as dx
from directrix.models.mlp import MLPModel
from directrix.models.rows import row_slice

QID = np.repeat(np.arange(20), 15)


def bumps(seed=0):
    """Documents in the middle are relevant: no linear score can rank them."""
    X = np.random.default_rng(seed).standard_normal((300, 3))
    return X, (np.abs(X[:, 0]) < 0.4).astype(float)


X, Y = bumps()


PERCEPTRON = {"hidden": (10,), "residual": False, "dropout": 0.0, "trainer": "lbfgs", "l2": 1e-3}


def fitted(**settings):
    settings = {**PERCEPTRON, "max_iter": 30, "random_state": 0, **settings}
    return dx.MLPRanker("ApproxNDCG(alpha=5.0)", **settings).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    "trainer",
    ["lbfgs", dx.Adam(learning_rate=0.02, epochs=60, batch=1), dx.SGD(learning_rate=0.5, epochs=60)],
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_it_learns_what_no_linear_ranker_can(trainer, activation):
    linear = dx.LinearRanker("ApproxNDCG(alpha=5.0)").fit(X, Y, qid=QID)
    ranker = fitted(trainer=trainer, activation=activation, max_iter=60, l2=0.0)
    unseen, labels = bumps(1)
    assert linear.score(unseen, labels, qid=QID) < 0.75
    assert ranker.score(unseen, labels, qid=QID) > 0.85


@pytest.mark.parametrize("trainer", sorted(dx.MLPRanker.trainers))
def test_every_trainer_by_name_lowers_the_loss_and_repeats_itself(trainer):
    start, one, two = (fitted(trainer=trainer, max_iter=n) for n in (0, 8, 8))
    other = fitted(trainer=trainer, max_iter=8, random_state=1)
    assert one.result_.value < start.result_.value
    assert one.params_.tobytes() == two.params_.tobytes() != other.params_.tobytes()


@pytest.mark.parametrize("trainer", ["lbfgs", "adam", "sgd"])
def test_same_bits_for_any_number_of_threads(trainer):
    data = dx.data.make_cubic(n_queries=120, docs_per_query=100, n_features=40, seed=1)
    results = []
    for n in (1, 2):
        before = dx.set_threads(n)
        ranker = dx.MLPRanker(hidden=(40, 20), trainer=trainer, max_iter=3, random_state=0).fit_queries(data)
        results.append((ranker.params_.tobytes(), ranker.predict_queries(data).tobytes()))
        dx.set_threads(before)
    assert results[0] == results[1]


def test_the_loss_is_that_of_the_measure_and_a_penalty_on_scaled_features():
    ranker = fitted(l2=0.01, max_iter=5)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    scores, _ = MLPModel((10,)).forward(ranker.params_, row_slice(scaled, 0, 300))
    value, _ = dx.ApproxNDCG(alpha=5.0).value_and_grad(scores, Y, np.arange(0, 301, 15))
    np.testing.assert_allclose(
        ranker.result_.value, 0.01 * ranker.params_ @ ranker.params_ - value.mean(), rtol=1e-10
    )
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=1e-10, atol=1e-12)


def test_without_hidden_layers_it_is_a_linear_ranker():
    settings = {"l2": 1e-3, "scale": "standard", "max_iter": 300, "trainer": "lbfgs"}
    linear = dx.LinearRanker("ApproxKendall", start="zero", **settings).fit(X, X[:, 1].clip(0), qid=QID)
    mine = dx.MLPRanker("ApproxKendall", hidden=(), random_state=0, **settings).fit(
        X, X[:, 1].clip(0), qid=QID
    )
    np.testing.assert_allclose(mine.params_, linear.coef_, rtol=0, atol=2e-3 * np.abs(linear.coef_).max())


def test_as_it_comes_it_learns_what_a_perceptron_does_and_repeats_itself():
    data = dx.data.make_cubic(n_queries=300, docs_per_query=20, n_features=8, seed=0)
    train, valid, test = dx.data.split_queries(data, (0.6, 0.2, 0.2))
    one, two = (dx.MLPRanker(random_state=0).fit_queries(train, valid, measure="nDCG@10") for _ in range(2))
    value = dx.evaluate("nDCG@10", one.predict_queries(test), test.labels, qptr=test.qptr)["nDCG@10"]
    assert value > 0.85
    assert one.params_.tobytes() == two.params_.tobytes()
    assert repr(one.surrogate_).startswith("ListNet(target='shares'")


def test_dropout_acts_in_steps_alone():
    with_it = fitted(dropout=0.5, max_iter=5)  # full gradients
    assert with_it.params_.tobytes() == fitted(max_iter=5).params_.tobytes()
    assert with_it.predict(X).tobytes() == fitted(max_iter=5).predict(X).tobytes()
    kept, dropped = (fitted(dropout=p, trainer="adam", max_iter=2).params_ for p in (0.0, 0.5))
    assert not np.array_equal(kept, dropped)


def test_many_rows_are_scored_as_few_are():
    ranker, rows = fitted(max_iter=3), np.random.default_rng(2).standard_normal((9000, 3))
    together = ranker.predict(rows)
    np.testing.assert_allclose(together[:50], ranker.predict(rows[:50]), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(together[-50:], ranker.predict(rows[-50:]), rtol=1e-12, atol=1e-14)


def test_validation_queries_choose_the_iteration():
    unseen, labels = bumps(1)
    ranker = dx.MLPRanker("ApproxNDCG(alpha=5.0)", max_iter=200, patience=5, random_state=0)
    ranker.fit(X, Y, qid=QID, eval_set=(unseen, labels), eval_qid=QID)
    assert ranker.result_.counts["best"] == len(ranker.result_.trace) - 1 - 5
    best = max(row["score"] for row in ranker.result_.trace)
    np.testing.assert_allclose(ranker.score(unseen, labels, qid=QID), best, rtol=1e-12)


def test_warm_start_goes_on_and_refuses_other_layers():
    ranker = fitted(max_iter=5, warm_start=True)
    first = ranker.result_.value
    assert ranker.fit(X, Y, qid=QID).result_.trace[0]["loss"] == first
    ranker.set_params(hidden=(4,))
    with rejects(dx.InputError):
        ranker.fit(X, Y, qid=QID)


def test_predictions_heed_what_was_fitted_not_what_is_set_later():
    ranker = fitted(max_iter=3)
    before = ranker.predict(X)
    ranker.set_params(activation="tanh", hidden=(3,))
    assert np.array_equal(ranker.predict(X), before)


def test_a_generator_of_seeds_and_none():
    state = np.random.RandomState(0)
    one, two = (fitted(random_state=state, max_iter=2).params_ for _ in range(2))
    assert not np.array_equal(one, two)
    assert fitted(random_state=None, max_iter=1).params_.shape == (50,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": (0,)}, r"hidden=\(0,\)"),
        ({"hidden": 10}, "hidden must be"),
        ({"activation": "sine"}, "activation must be"),
        ({"trainer": "magic"}, "trainer must be"),
        ({"l2": -1.0}, "l2 must be"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"residual": 2}, "residual must be"),
    ],
)
def test_parameters_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(**settings)


# ------------------------------------------------------------------------------- model files


@pytest.fixture(scope="module")
def ranker():
    return fitted(hidden=(4, 3), activation="tanh", max_iter=6)


def test_a_network_with_a_linear_term_is_read_back(tmp_path):
    ranker = fitted(hidden=(4, 4), residual=True, dropout=0.2, trainer="adam", max_iter=2)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert (loaded.hidden, loaded.residual, loaded.dropout) == ((4, 4), True, 0.2)
    assert loaded.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert clone(loaded).fit(X, Y, qid=QID).params_.tobytes() == ranker.params_.tobytes()


@pytest.fixture
def saved(ranker, tmp_path):
    ranker.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_a_model_read_back_predicts_the_same_bits_and_trains_the_same_way(ranker, saved, tmp_path):
    loaded = dx.load(saved)
    assert isinstance(loaded, dx.MLPRanker)
    assert loaded.predict(X).tobytes() == ranker.predict(X).tobytes()
    assert (loaded.hidden, loaded.activation) == ((4, 3), "tanh")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == saved.read_bytes()
    assert clone(loaded).fit(X, Y, qid=QID).params_.tobytes() == ranker.params_.tobytes()


def test_the_file_has_the_documented_form(ranker, saved):
    model = json.loads(saved.read_text())["model"]
    assert list(model) == ["type", "hidden", "activation", "residual", "dropout", "layers"]
    shapes = [(len(layer["weights"]), len(layer["bias"])) for layer in model["layers"]]
    assert shapes == [(12, 4), (12, 3), (3, 0)]
    W = np.reshape(model["layers"][0]["weights"], (3, 4))
    assert np.array_equal(W.ravel(), ranker.params_[:12])


def test_a_model_that_is_not_finite_is_not_written(ranker, tmp_path):
    broken = copy.deepcopy(ranker)
    broken.params_[3] = np.nan
    with rejects(dx.InputError):
        broken.save(tmp_path / "m.json")


EDITS = {
    "no layers": (lambda m: m.pop("layers"), "layers is missing"),
    "unknown activation": (lambda m: m.update(activation="sine"), "activation is 'sine'"),
    "empty layers": (lambda m: m.update(layers=[]), "layers holds 0 numbers"),
    "a layer is a list": (lambda m: m["layers"].__setitem__(1, []), r"layers\[1\] is .*object"),
    "a width of another number": (lambda m: m["hidden"].__setitem__(0, 5), "layers holds"),
    "a width that no memory holds": (lambda m: m["hidden"].__setitem__(0, 1 << 30), "layers holds"),
    "a width is not an integer": (lambda m: m["hidden"].__setitem__(0, 4.0), r"hidden\[0\] is 4\.0"),
    "a width is 0": (lambda m: m["hidden"].__setitem__(0, 0), r"hidden\[0\] is 0"),
    "a bias among the weights": (
        lambda m: m["layers"][0]["weights"].append(m["layers"][0]["bias"].pop()),
        r"must have \[\(12, 4\)",
    ),
    "a weight less": (lambda m: m["layers"][0]["weights"].pop(), "holds 33 numbers, must hold 34"),
    "dropout is text": (lambda m: m.update(dropout="0.1"), "dropout is '0.1'"),
    "dropout is 1": (lambda m: m.update(dropout=1.0), "dropout"),
    "a weight is text": (lambda m: m["layers"][0]["weights"].__setitem__(2, "1"), r"\[2\] is '1'"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_was_changed_is_refused(saved, edit):
    change, message = EDITS[edit]
    content = json.loads(saved.read_text())
    change(content["model"])
    saved.write_text(json.dumps(content))
    with pytest.raises(dx.InputError, match=message) as error:
        dx.load(saved)
    assert str(saved) in str(error.value)
