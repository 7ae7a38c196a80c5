"""Each tree is a Newton step on the scores, weighted as the objective says."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.objectives.scores import ScoreObjective
from directrix.surrogates.base import spread_curvature
from directrix.trainers.bins import Bins, sharing_bins
from directrix.trainers.boosting import Boosting
from tests.messages import rejects

lightgbm = pytest.importorskip("lightgbm")
Q = make_cubic(12, 15, 3, seed=0)


class Steep:
    """Sum of l sigma(5 s): a surrogate of one's own, with nothing but the contract."""

    properties = frozenset({"smooth"})
    steepness = 5.0

    def __repr__(self):  # names of tests are the same in every process
        return "Steep()"

    def value_and_grad(self, scores, labels, qptr):
        p = 1 / (1 + np.exp(-5.0 * scores))
        return np.add.reduceat(labels * p, qptr[:-1]), labels * 5.0 * p * (1 - p)


@pytest.mark.parametrize("surrogate", [dx.ApproxNDCG(alpha=3.0), dx.ApproxAP(alpha=2.0), Steep()], ids=repr)
@pytest.mark.parametrize("l2", [0.0, 10.0])
@pytest.mark.parametrize(("oblivious", "num_leaves"), [(False, 3), (True, 4)])
def test_a_leaf_is_a_newton_step(surrogate, l2, oblivious, num_leaves):
    weight = np.linspace(0.5, 2.0, Q.n_queries)
    objective = ScoreObjective(Q, surrogate, query_weight=weight)
    _, trees = Boosting(n_trees=1, learning_rate=0.5, num_leaves=num_leaves, l2=l2, oblivious=oblivious).grow(
        Q, objective
    )
    got = trees.predict(Q.features)
    _, slope = surrogate.value_and_grad(np.zeros(Q.n_docs), Q.labels, Q.qptr)
    steepness = getattr(surrogate, "alpha", 5.0)
    grad, curvature = np.empty(Q.n_docs), np.empty(Q.n_docs)
    for q, (a, b) in enumerate(zip(Q.qptr[:-1], Q.qptr[1:], strict=True)):
        grad[a:b] = weight[q] * slope[a:b]
        curvature[a:b] = weight[q] * steepness * np.mean(np.abs(slope[a:b]))
    assert len(np.unique(got)) == num_leaves
    for value in np.unique(got):
        leaf = got == value
        step = 0.5 * grad[leaf].sum() / (curvature[leaf].sum() + l2 * curvature.mean())
        np.testing.assert_allclose(value, step, rtol=1e-5, atol=0)  # LightGBM keeps gradients in float32


def test_the_objective_is_the_weighted_mean_of_the_surrogate():
    scores = np.random.default_rng(0).standard_normal(Q.n_docs)
    weight = np.arange(Q.n_queries, dtype=float)
    loss, grad, curvature = ScoreObjective(Q, dx.ApproxNDCG(), query_weight=weight).value_grad_curvature(
        scores
    )
    value, slope = dx.ApproxNDCG().value_and_grad(scores, Q.labels, Q.qptr)
    np.testing.assert_allclose(loss, -(weight @ value) / weight.sum(), rtol=1e-12, atol=0)
    by_doc = np.repeat(weight / weight.sum(), np.diff(Q.qptr))
    np.testing.assert_allclose(grad, -by_doc * slope, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(curvature, by_doc * spread_curvature(slope, Q.qptr, 10.0), rtol=1e-12, atol=0)


def test_a_surrogate_without_slope_at_ties_starts_from_the_gains():
    class Flat(Steep):
        """(sum of l s)^2: no slope at 0."""

        def value_and_grad(self, scores, labels, qptr):
            total = np.add.reduceat(labels * scores, qptr[:-1])
            return total**2, 2 * labels * np.repeat(total, np.diff(qptr))

    objective = ScoreObjective(Q, Flat())
    with pytest.warns(UserWarning, match="no slope where all scores are equal.*Only the first tree learns"):
        _, grad, curvature = objective.value_grad_curvature(np.zeros(Q.n_docs))
    first = slice(Q.qptr[0], Q.qptr[1])
    gain = 2 ** Q.labels[first] - 1
    centered = gain - gain.mean()
    np.testing.assert_allclose(grad[first], -centered / Q.n_queries, rtol=1e-12, atol=1e-15)
    wanted = 5.0 * np.abs(centered).mean() / Q.n_queries
    np.testing.assert_allclose(curvature[first], wanted, rtol=1e-12, atol=0)
    with pytest.warns(UserWarning, match="no slope"):
        assert Boosting(n_trees=3).grow(Q, objective)[0].status == "max_iter"


def test_document_weights_reach_the_surrogate():
    scores, weight = np.zeros(Q.n_docs), np.linspace(0.0, 1.0, Q.n_docs)
    _, plain, _ = ScoreObjective(Q, dx.ApproxNDCG()).value_grad_curvature(scores)
    _, weighted, _ = ScoreObjective(Q, dx.ApproxNDCG(), doc_weight=weight).value_grad_curvature(scores)
    assert not np.allclose(plain, weighted, rtol=1e-3, atol=0)
    with rejects(dx.InputError):
        ScoreObjective(Q, Steep(), doc_weight=weight)


def test_spread_curvature_of_queries_without_documents_or_order():
    curvature = spread_curvature(np.array([1.0, -3.0, 0.0]), np.array([0, 0, 2, 3]), 2.0)
    assert curvature.tolist() == [2.0 * (1 + 3) / 2] * 2 + [0.0]


def test_the_loss_falls_and_the_trace_tells():
    steps = []
    result, trees = Boosting(n_trees=15).grow(
        Q, ScoreObjective(Q, dx.ApproxNDCG()), callback=lambda step: steps.append((step.iteration, step.loss))
    )
    assert [row["iteration"] for row in result.trace] == [n for n, _ in steps] == list(range(16))
    assert [row["loss"] for row in result.trace] == [loss for _, loss in steps]
    assert steps[15][1] < steps[5][1] < steps[0][1]
    assert result.value == steps[15][1]
    assert result.status == "max_iter"
    np.testing.assert_allclose(
        ScoreObjective(Q, dx.ApproxNDCG()).value_grad_curvature(trees.predict(Q.features))[0],
        result.value,
        rtol=1e-6,
    )


def test_the_best_number_of_trees_is_kept_and_patience_ends():
    wanted = [0.1, 0.5, 0.3, 0.5, 0.2, 0.9]
    values = iter([1.0, *wanted])  # the score of no tree at all is never the best
    result, trees = Boosting(patience=3).grow(
        Q, ScoreObjective(Q, dx.ApproxNDCG()), valid=Q, judge=lambda scores: next(values)
    )
    assert result.status == "stopped"
    assert [row["score"] for row in result.trace] == [1.0, *wanted[:5]]
    assert (result.counts["best"], trees.n_trees) == (2, 2)
    assert result.value == result.trace[2]["loss"]


def test_a_judge_sees_the_scores_of_the_trees():
    seen = []
    _, trees = Boosting(n_trees=3).grow(
        Q, ScoreObjective(Q, dx.ApproxNDCG()), valid=Q, judge=lambda scores: seen.append(scores) or len(seen)
    )
    assert not seen[0].any()
    np.testing.assert_allclose(seen[3], trees.predict(Q.features), rtol=1e-12, atol=1e-15)


def test_a_score_that_is_always_nan_is_refused():
    with rejects(dx.InputError):
        Boosting(n_trees=2).grow(Q, ScoreObjective(Q, dx.ApproxNDCG()), valid=Q, judge=lambda scores: np.nan)


def test_too_few_documents_for_a_split_end_it():
    result, trees = Boosting(min_data_in_leaf=1000, oblivious=False).grow(
        Q, ScoreObjective(Q, dx.ApproxNDCG())
    )
    assert result.status == "converged"
    assert not trees.predict(Q.features).any()


@pytest.mark.parametrize("part", ["value", "gradient"])
def test_a_loss_or_gradient_that_is_not_finite_is_reported(part):
    class Broken(Steep):
        def value_and_grad(self, scores, labels, qptr):
            value, grad = super().value_and_grad(scores, labels, qptr)
            wrong = np.nan if scores.any() else 0.0
            return (value + wrong, grad) if part == "value" else (value, grad + wrong)

    result, trees = Boosting().grow(Q, ScoreObjective(Q, Broken()))
    assert (result.status, result.counts["iterations"]) == ("not_finite", 0)
    assert not trees.predict(Q.features).any()  # the step that led there is not kept


def test_trainings_that_share_the_bins_of_their_data_grow_the_same_trees(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    q = make_cubic(40, 20, 5, seed=3)
    train, valid = q.take(range(30)), q.take(range(30, 40))
    weights = np.random.default_rng(0).random(30)
    settings = {"n_trees": 8, "patience": None, "oblivious": False}
    ways = [
        ({"num_leaves": 7}, None),
        ({"num_leaves": 7, "max_bin": 10}, None),
        ({"num_leaves": 15, "subsample": 0.7, "feature_fraction": 0.6, "l2": 1.0}, None),
        ({"surrogate": "lambdarank"}, weights),
        ({"surrogate": "lambdarank"}, None),
        ({"num_leaves": 7, "surrogate": "ListNet"}, weights),
    ]

    def grown():
        texts = []
        for way, weight in ways:
            ranker = dx.BoostedRanker(**(settings | way))
            texts.append(ranker.fit_queries(train, valid, query_weight=weight).trees_.to_lightgbm())
        return texts

    ways += [({**way, "oblivious": True}, weight) for way, weight in ways if "surrogate" not in way]
    apart, made = grown(), []
    constructed = lightgbm.Dataset.construct
    monkeypatch.setattr(
        lightgbm.Dataset, "construct", lambda self: made.append(self._handle is None) or constructed(self)
    )
    chosen = Bins.of
    monkeypatch.setattr(Bins, "of", lambda *given: oblivious.append(given) or chosen(*given))
    oblivious = []
    with sharing_bins():
        assert grown() == apart
    # training and validation queries: for 127 bins, for 10, and for each of LightGBM's own objective
    assert sum(made) == 8
    assert len(oblivious) == 2


@pytest.mark.parametrize("surrogate", [dx.SmoothNDCG(0.25), dx.ApproxNDCG(), dx.SoftNDCG()], ids=repr)
def test_annealed_trees_are_steps_on_falling_smoothings(surrogate):
    """Tree t is the step of the surrogate at its smoothing: from `anneal` to 1, by one factor."""
    steps = []
    result, _ = Boosting(n_trees=4, anneal=64.0, learning_rate=0.3).grow(
        Q, ScoreObjective(Q, surrogate), callback=lambda step: steps.append(step.params.copy())
    )
    smoothings = [row["smoothing"] for row in result.trace]
    np.testing.assert_allclose(smoothings[:4], [64.0, 16.0, 4.0, 1.0], rtol=1e-12, atol=0)
    assert smoothings[4] == 1.0, "the end is measured at the last smoothing"
    for t in range(4):
        objective = ScoreObjective(Q, surrogate.at(smoothings[t]))
        loss, grad, curvature = objective.value_grad_curvature(steps[t])
        np.testing.assert_allclose(result.trace[t]["loss"], loss, rtol=1e-12, atol=0)
        moved = steps[t + 1] - steps[t]
        for value in np.unique(np.round(moved, 9)):
            leaf = np.round(moved, 9) == value
            step = -0.3 * grad[leaf].sum() / (curvature[leaf].sum() + 20.0 * curvature.mean())
            np.testing.assert_allclose(moved[leaf], step, rtol=1e-3, atol=1e-9)


def test_without_annealing_the_surrogate_is_as_it_is_given():
    objective = ScoreObjective(Q, dx.SmoothNDCG(0.25))
    result, _ = Boosting(n_trees=2).grow(Q, objective)
    assert "smoothing" not in result.trace[0]
    np.testing.assert_allclose(
        result.trace[0]["loss"], objective.value_grad_curvature(np.zeros(Q.n_docs))[0], rtol=1e-12, atol=0
    )


def test_the_ranker_says_at_which_smoothing_its_trees_ended(tmp_path):
    ranker = dx.BoostedRanker(dx.SmoothNDCG(0.25), n_trees=5, anneal=16.0, patience=None).fit_queries(Q, Q)
    best = ranker.result_.trace[ranker.result_.counts["best"]]
    assert ranker.surrogate_ == dx.SmoothNDCG(best["smoothing"])
    ranker.save(tmp_path / "model.json")
    loaded = dx.load(tmp_path / "model.json")
    assert (loaded.anneal, loaded.surrogate_) == (16.0, ranker.surrogate_)


@pytest.mark.parametrize("surrogate", [Steep(), dx.RankNet(), "lambdarank"], ids=repr)
def test_what_has_no_smoothing_cannot_be_annealed(surrogate):
    with rejects(dx.InputError):
        dx.BoostedRanker(surrogate, anneal=4.0).fit_queries(Q, measure="nDCG")
    with rejects(dx.InputError):
        Boosting(anneal=0.5)
