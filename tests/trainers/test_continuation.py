"""Continuation: stages of a surrogate with a cut-off, and the stage that the exact measure chooses."""

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.surrogates.base import FIRST_SHARE
from directrix.surrogates.gumbel import Gumbel
from directrix.trainers import BestSoFar, Continuation
from tests.messages import rejects

Q = dx.data.make_cubic(n_queries=30, docs_per_query=40, n_features=6, seed=1)
VALID = dx.data.make_cubic(n_queries=20, docs_per_query=40, n_features=6, seed=2)
START = np.linspace(1.0, -1.0, 6)


def stages(objective, trainer, start=START, shares=(0.9, 0.3, 0.0)):
    """Parameters at the end of each stage."""
    ends = []
    for share in shares:
        stage = objective.with_share(share) if share else objective
        ends.append(trainer.minimize(stage, ends[-1] if ends else start).params)
    return ends


@pytest.mark.parametrize(
    "surrogate",
    [
        "ApproxNDCG",
        "ApproxNDCG(k=5, below=0.9)",
        "SmoothNDCG(k=5)",
        "ListNet",
        "ApproxMeasure('RBP')",
        "SoftNDCG",
    ],
)
@pytest.mark.parametrize("trainer", [dx.LBFGS(max_iter=5), dx.SGD(epochs=2)])
def test_a_surrogate_without_a_cut_off_or_with_a_share_has_one_stage(surrogate, trainer):
    objective = dx.linear_objective(Q, surrogate)
    alone, staged = (one.minimize(objective, START) for one in (trainer, Continuation(trainer)))
    assert staged.params.tobytes() == alone.params.tobytes()
    assert (staged.trace, staged.counts, staged.message) == (alone.trace, alone.counts, alone.message)


@pytest.mark.parametrize("surrogate", ["ApproxNDCG(k=5)", "ApproxPrecision(k=5)", "SoftNDCG(k=5)"])
@pytest.mark.parametrize("trainer", [dx.LBFGS(max_iter=8), dx.Adam(epochs=2)])
def test_each_stage_starts_where_the_last_one_ended_and_the_exact_measure_chooses(surrogate, trainer):
    objective = dx.linear_objective(Q, surrogate)
    result = Continuation(trainer).minimize(objective, START)
    ends = stages(objective, trainer)
    means = [float(np.mean(objective.surrogate.measure(Q.features @ w, Q.labels, Q.qptr))) for w in ends]
    best = max(i for i in range(3) if means[i] == max(means))
    np.testing.assert_array_equal(result.params, ends[best])
    assert result.value == objective.value_and_grad(result.params)[0]
    assert [row["iteration"] for row in result.trace] == list(range(len(result.trace)))
    assert list(dict.fromkeys(row["share"] for row in result.trace)) == [0.9, 0.3, 0.0]
    assert result.message.startswith("stage 3 of 3: ")


def test_around_best_so_far_the_validation_score_chooses_among_the_steps_of_all_stages():
    objective = dx.linear_objective(Q, "ApproxNDCG(k=5)")

    def score(w):
        return float(np.mean(dx.NDCG(k=5)(VALID.features @ w, VALID.labels, VALID.qptr)))

    watched = BestSoFar(dx.LBFGS(max_iter=8), score)
    result = Continuation(watched).minimize(objective, START)
    np.testing.assert_array_equal(result.params, stages(objective, watched)[-1])
    assert score(result.params) == max(row["score"] for row in result.trace)
    assert result.trace[result.counts["best"]]["score"] == score(result.params)


def test_rankers_train_in_stages_and_report_the_papers_function():
    shown = []
    ranker = dx.LinearRanker("ApproxNDCG(k=5)", max_iter=6).fit_queries(Q, VALID, callback=shown.append)
    assert {row["share"] for row in ranker.result_.trace} == {0.9, 0.3, 0.0}
    assert [step.iteration for step in shown] == list(range(len(ranker.result_.trace)))
    value, _ = dx.ApproxNDCG(k=5).value_and_grad(ranker.predict_queries(Q), Q.labels, Q.qptr)
    np.testing.assert_allclose(ranker.result_.value, -value.mean(), rtol=1e-7)  # float32 scores
    assert ranker.surrogate_ == dx.ApproxNDCG(k=5)
    explicit = dx.LinearRanker("ApproxNDCG(k=5, below=0.5)", max_iter=6).fit_queries(Q, VALID)
    assert "share" not in explicit.result_.trace[0]
    given = dx.LinearRanker("ApproxNDCG(k=5)", trainer=Continuation(dx.LBFGS(max_iter=6), shares=()))
    assert "share" not in given.fit_queries(Q, VALID).result_.trace[0]


@pytest.mark.parametrize("has_valid", [True, False])
def test_stumps_keep_the_first_share_and_report_the_papers_function(has_valid):
    q, _ = make_linear(30, 20, 4, seed=1)
    valid = q if has_valid else None
    plain = dx.StumpRanker("ApproxNDCG(k=3)", max_iter=5).fit_queries(q, valid)
    shared = dx.StumpRanker(dx.ApproxNDCG(k=3).with_share(FIRST_SHARE), max_iter=5).fit_queries(q, valid)
    assert plain.coef_.tobytes() == shared.coef_.tobytes()
    values = dx.ApproxNDCG(k=3).value_and_grad(plain.predict_queries(q), q.labels, q.qptr)[0]
    np.testing.assert_allclose(plain.result_.value, -values.mean(), rtol=1e-5, atol=0)
    assert plain.result_.value != shared.result_.value


def test_a_model_file_keeps_the_stages(tmp_path):
    trainer = Continuation(dx.LBFGS(max_iter=3), shares=(0.5,))
    ranker = dx.LinearRanker("ApproxNDCG(k=5)", trainer=trainer).fit_queries(Q)
    ranker.save(tmp_path / "model.json")
    assert dx.load(tmp_path / "model.json").trainer == trainer


def test_wrappers_within_have_their_steps_numbered_through():
    objective = dx.linear_objective(Q, "ApproxNDCG(k=5)")
    result = Continuation(dx.Restarts(dx.LBFGS(max_iter=2), n=2)).minimize(objective, START)
    assert sorted({row["restart"] for row in result.trace}) == [0, 1, 2, 3, 4, 5]
    annealed = Continuation(dx.Anneal(dx.LBFGS(max_iter=2), start=0.4, stop=0.1)).minimize(objective, START)
    assert [row["smoothing"] for row in annealed.trace] == 3 * [0.4, 0.4, 0.2, 0.1]


def test_a_callback_stops_all_stages():
    objective = dx.linear_objective(Q, "ApproxNDCG(k=5)")
    for last in (0, 4):
        result = Continuation(dx.LBFGS(max_iter=3)).minimize(
            objective, START, callback=lambda step, last=last: step.iteration == last
        )
        assert (result.status, len(result.trace)) == ("stopped", last + 1)
        assert result.value == objective.value_and_grad(result.params)[0]


def test_trainers_with_a_loss_of_their_own_run_once():
    objective = dx.linear_objective(Q, "ApproxNDCG(k=5)")
    trainer = dx.CoordinateAscent(dx.NDCG(k=5), max_iter=1)
    alone, staged = (one.minimize(objective, START) for one in (trainer, Continuation(trainer)))
    np.testing.assert_array_equal(staged.params, alone.params)
    assert staged.message == alone.message


def test_a_loss_that_is_not_finite_ends_all_stages():
    objective = dx.linear_objective(Q, "ApproxNDCG(k=5)")
    result = Continuation(dx.SGD(learning_rate=1e300, epochs=3)).minimize(objective, START)
    assert result.status == "not_finite"
    assert result.message.startswith("stage 1 of 3: ")


@pytest.mark.parametrize("alpha", [1e-9, 0.01, 0.5, 10.0, 1e3, 1e12])
@pytest.mark.parametrize("share", [0.9, 0.3])
def test_a_share_is_reached_at_any_steepness(alpha, share):
    """At a tiny steepness, where every share above 1e-300 to a tiny power is near 1, it is at least that."""
    for surrogate in (dx.ApproxNDCG(alpha=alpha, k=3), dx.SoftNDCG(sigma=10.0 / alpha, k=3)):
        assert share * (1 - 1e-9) <= surrogate.with_share(share).share < 1.0 + 1e-12
        if alpha >= 0.5:
            np.testing.assert_allclose(surrogate.with_share(share).share, share, rtol=1e-9)


def test_noise_around_a_surrogate_has_its_stages():
    noisy = Gumbel("ApproxNDCG(k=3)")
    assert noisy.with_share(0.9).surrogate == noisy.surrogate.with_share(0.9)
    assert Gumbel("ListNet").with_share(0.9) == Gumbel("ListNet")


@pytest.mark.parametrize("shares", [1.0, (0.5, 0.0), "x", (True,)])
def test_shares_lie_between_0_and_1(shares):
    with rejects(dx.InputError):
        Continuation(dx.LBFGS(), shares=shares)
