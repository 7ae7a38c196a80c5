"""Trainings that start at the weights of another ranker, or at given ones."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from tests.messages import rejects

import directrix as dx
from directrix.rankers.gradient import GradientRanker

Q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
OTHER = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=1)
SVM = dx.LinearRanker("RankSVM", l2=0.01)
LINEAR = np.array([1.0, -2.0, 0.5, 3.0])
NET = {"hidden": (3,), "max_iter": 0, "patience": None}


def weights(ranker):
    return ranker.model_.params


def fitted(ranker, q=Q):
    return ranker.fit_queries(q, measure="nDCG")


@pytest.fixture
def kept():
    """Rankers of every kind that keep their start, and one of the same kind with other weights."""
    return {
        "linear": (dx.LinearRanker(max_iter=0), dx.LinearRanker("RankSVM", l2=0.01)),
        "mlp": (dx.MLPRanker(**NET), dx.MLPRanker(**NET | {"max_iter": 2}, random_state=5)),
        "stumps": (dx.StumpRanker(max_iter=0, trainer="lbfgs"), dx.StumpRanker(max_iter=4, thresholds=3)),
    }


@pytest.mark.parametrize("kind", ["linear", "mlp", "stumps"])
def test_a_training_starts_at_the_weights_of_a_fitted_ranker(kept, kind):
    ranker, other = kept[kind]
    fitted(other)
    fitted(ranker.set_params(start=other))
    np.testing.assert_array_equal(weights(ranker), weights(other))
    np.testing.assert_array_equal(ranker.predict_queries(OTHER), other.predict_queries(OTHER))
    assert np.any(weights(ranker) != 0.0)


@pytest.mark.parametrize("kind", ["linear", "mlp", "stumps"])
def test_a_training_starts_at_given_weights(kept, kind):
    ranker = fitted(kept[kind][0])
    given = np.arange(1.0, len(weights(ranker)) + 1)
    np.testing.assert_array_equal(weights(fitted(ranker.set_params(start=list(given)))), given)
    ranker.set_params(start=given[1:])
    with pytest.raises(dx.InputError, match=rf"start has shape .*; {len(given)} finite numbers are needed"):
        fitted(ranker)
    with rejects(dx.InputError):
        fitted(ranker.set_params(start=given * np.nan))


def test_the_start_of_section_4_4_1_is_that_of_the_same_training_by_hand():
    """SmoothNDCG from RankSVM, with the penalty towards it."""
    trainer = dx.Anneal(dx.CG(max_iter=5), start=4.0, stop=1.0)
    ranker = dx.LinearRanker(dx.SmoothNDCG(1.0, 50), trainer=trainer, l2=0.01, start=SVM, center="start")
    w0 = fitted(clone(SVM)).coef_
    objective = dx.linear_objective(Q, dx.SmoothNDCG(1.0, 50), 0.01, w0=w0)
    np.testing.assert_array_equal(fitted(ranker).coef_, trainer.minimize(objective, w0).params)
    from_regression = fitted(clone(ranker).set_params(start="regression"))
    assert np.abs(from_regression.coef_ - ranker.coef_).max() > 1e-3


def test_a_start_that_is_not_fitted_sees_the_training_queries_alone():
    """So it is after scikit-learn's clone, as in a cross-validation."""
    ranker = dx.LinearRanker(max_iter=0, start=fitted(clone(SVM), OTHER))
    copy = fitted(clone(ranker))
    np.testing.assert_array_equal(copy.coef_, fitted(clone(SVM)).coef_)
    assert not np.array_equal(copy.coef_, fitted(ranker).coef_)
    assert not hasattr(copy.start, "coef_"), "fit does not change what it is given"


def test_weights_of_queries_count_for_the_start_too():
    weight = np.linspace(1.0, 3.0, Q.n_queries)
    ranker = dx.LinearRanker(max_iter=0, start=clone(SVM)).fit_queries(Q, measure="AP", query_weight=weight)
    expected = clone(SVM).fit_queries(Q, measure="AP", query_weight=weight)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    assert not np.array_equal(expected.coef_, fitted(clone(SVM)).coef_)


def test_an_unfitted_start_is_trained_on_the_scaled_features():
    ranker = fitted(dx.LinearRanker(max_iter=0, scale="standard", start=clone(SVM)))
    expected = fitted(clone(SVM).set_params(scale="standard"))
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)


def test_columns_side_by_side_have_weights_of_their_own():
    scale = "standard+query-percentile"
    ranker = fitted(dx.LinearRanker(max_iter=0, scale=scale, start=clone(SVM)))
    expected = fitted(clone(SVM).set_params(scale=scale))
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    np.testing.assert_array_equal(fitted(ranker.set_params(start=expected)).coef_, expected.coef_)
    assert len(ranker.coef_) == 8


def test_a_start_fitted_with_another_scale_is_refused():
    plain, scaled = fitted(clone(SVM)), fitted(clone(SVM).set_params(scale="standard"))
    assert fitted(dx.LinearRanker(max_iter=0, scale="standard", start=scaled)).coef_.any()
    with rejects(dx.InputError):
        fitted(dx.LinearRanker(scale="standard", start=plain))
    with rejects(dx.InputError):
        fitted(dx.LinearRanker(scale="standard", start=scaled), OTHER)


def test_starts_that_do_not_fit_are_refused():
    narrow = replace(Q, features=np.ascontiguousarray(Q.features[:, :3]))
    with rejects(dx.InputError):
        fitted(dx.LinearRanker(start=fitted(clone(SVM), narrow)))
    with rejects(dx.InputError):
        fitted(dx.MLPRanker(**NET, start=fitted(clone(SVM))))
    with rejects(dx.InputError):
        fitted(dx.MLPRanker(**NET, start=fitted(dx.MLPRanker(**NET | {"hidden": (2,)}))))
    with pytest.raises(ValueError, match=r"LinearRanker\(start=.* must be"):
        fitted(dx.LinearRanker(start="best"))


def test_dropout_does_not_change_what_weights_mean():
    other = fitted(dx.MLPRanker(**NET, dropout=0.5))
    ranker = fitted(dx.MLPRanker(**NET, dropout=0.0, start=other))
    np.testing.assert_array_equal(ranker.params_, other.params_)


def test_an_auto_ranker_gives_the_weights_of_what_it_chose():
    auto = dx.AutoRanker(measure="nDCG", method="Regression").fit_queries(Q)
    ranker = fitted(dx.LinearRanker(max_iter=0, start=auto))
    np.testing.assert_array_equal(ranker.coef_, auto.trained().coef_)


@pytest.mark.parametrize("kind", ["linear", "mlp", "stumps"])
def test_a_model_file_holds_the_weights_it_started_from(kept, kind, tmp_path):
    ranker, other = kept[kind]
    fitted(ranker.set_params(start=fitted(other)))
    ranker.save(tmp_path / "model.json")
    loaded = dx.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_queries(OTHER), ranker.predict_queries(OTHER))
    if kind == "linear":  # a file of stumps lacks the thresholds without a step
        np.testing.assert_array_equal(loaded.start, weights(other))
        np.testing.assert_array_equal(fitted(loaded).coef_, ranker.coef_)


def test_parameters_of_the_start_are_parameters():
    ranker = dx.LinearRanker(max_iter=0, start=clone(SVM))
    assert ranker.get_params()["start__l2"] == 0.01
    fitted(ranker.set_params(start__l2=1.0))
    np.testing.assert_array_equal(ranker.coef_, fitted(dx.LinearRanker("RankSVM", l2=1.0)).coef_)


def test_warm_start_goes_before_the_start():
    ranker = fitted(dx.LinearRanker(max_iter=2, start=LINEAR, warm_start=True))
    first = ranker.coef_
    ranker.set_params(max_iter=0)
    np.testing.assert_array_equal(fitted(ranker).coef_, first)


def test_every_gradient_ranker_is_tested(kept):
    assert {type(pair[0]) for pair in kept.values()} == set(GradientRanker.__subclasses__())


def named(names, q=Q):
    return replace(q, feature_names=tuple(names))


@pytest.mark.parametrize("scale", [None, "standard", "raw+query-percentile"])
@pytest.mark.parametrize("start", ["start", "init_model", "warm_start"])
def test_a_start_fitted_to_other_features_is_refused(start, scale):
    """Scaled features have no names, so those of the training data are compared."""
    ranker = dx.BoostedRanker(n_trees=2) if start == "init_model" else dx.LinearRanker(max_iter=0)
    first = fitted(ranker.set_params(scale=scale), named("abcd"))
    if start == "warm_start":
        second = first.set_params(warm_start=True)
    else:
        second = clone(ranker).set_params(**{start: first})
    with pytest.raises(dx.InputError, match="got 'b' for 'a'"):
        fitted(second, named("badc"))
    fitted(second, named("abcd"))
    fitted(second)
