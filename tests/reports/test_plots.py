"""Plots for notebooks."""

import numpy as np
import pytest

import directrix as dx
from directrix.data import make_linear
from directrix.experiments import permutation_importance, plot_importance, plot_training
from tests.messages import rejects

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def data():
    q, _ = make_linear(30, 10, 5, seed=0)
    return q.take(range(20)), q.take(range(20, 30))


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_bars_are_the_importances(data):
    ranker = dx.BoostedRanker(n_trees=9, min_data_in_leaf=2).fit_queries(data[0])
    ax = plot_importance(ranker, n_features=3)
    order = np.argsort(-ranker.feature_importances_, kind="stable")[:3]
    np.testing.assert_array_equal(
        [bar.get_height() for bar in ax.patches], ranker.feature_importances_[order]
    )
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(j + 1) for j in order]
    importance = permutation_importance(ranker, data[1], n_repeats=1)
    other = plot_importance(importance, ax=pyplot.figure().add_subplot())
    assert other.get_ylabel() == f"fall of {importance.measure}"


@pytest.mark.filterwarnings("ignore:the trained ranker gives all documents")
def test_what_cannot_be_drawn_is_rejected(data, tmp_path):
    with pytest.raises(AttributeError, match="permutation_importance"):
        plot_importance(dx.LinearRanker(max_iter=1).fit_queries(data[0]))
    with rejects(dx.InputError):
        plot_importance(dx.BoostedRanker(n_trees=1, min_data_in_leaf=10**6).fit_queries(data[0]))
    ranker = dx.LinearRanker(max_iter=1).fit_queries(*data)
    with rejects(dx.InputError):
        plot_training(ranker, axes=[pyplot.figure().add_subplot()])
    ranker.save(tmp_path / "m.json")
    with rejects(dx.InputError):
        plot_training(dx.load(tmp_path / "m.json"))


def test_curves_are_those_of_the_training(data):
    ranker = dx.LinearRanker(max_iter=4).fit_queries(*data, measure="AP")
    measure, loss = plot_training(ranker)
    np.testing.assert_array_equal(measure.lines[0].get_ydata(), ranker.evals_result_["valid_0"]["AP"])
    np.testing.assert_array_equal(loss.lines[0].get_ydata(), ranker.evals_result_["training"]["loss"])
    assert measure.lines[1].get_xdata().tolist() == [ranker.result_.counts["best"]]
    (only,) = plot_training(dx.LinearRanker(max_iter=4).fit_queries(data[0]))
    assert only.get_ylabel() == "loss, training"
