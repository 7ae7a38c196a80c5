"""Cutting planes: the optimum is proven and the same in every form, every status once, what is refused."""

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import directrix as dx
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from directrix.trainers.bundle import _STALLED, Proof
from tests.messages import rejects

Q = dx.data.make_cubic(n_queries=15, docs_per_query=20, n_features=5, seed=2, label_noise=0.3)
BINARY = dx.Queries.from_arrays(Q.features, Q.labels >= 3, qid=np.repeat(np.arange(15), 20))
NOISY = dx.data.make_cubic(n_queries=30, docs_per_query=15, n_features=30, seed=4, label_noise=1.0)
ZERO = np.zeros(5)


def problem(surrogate="SVMMap", C=50.0, queries=BINARY, **more):
    return dx.linear_objective(queries, surrogate, l2=1 / (2 * C), **more)


def best_elsewhere(objective, start, seed=0, n=20):
    """The lowest loss that other trainers and random steps around the given parameters find."""
    rng = np.random.default_rng(seed)
    trainers = [
        dx.LBFGS(),
        dx.SGD(learning_rate=0.1, epochs=30, random_state=0),
        dx.Adam(epochs=30, random_state=0),
    ]
    starts = [start, *rng.standard_normal((3, len(start)))]
    found = [trainer.minimize(objective, one).params for trainer in trainers for one in starts]
    found += [
        start * rng.uniform(0.8, 1.2) + rng.normal(0, s, len(start)) for s in (1e-3, 0.1) for _ in range(n)
    ]
    return min(objective.value_and_grad(params)[0] for params in found)


@pytest.mark.parametrize("slack", ["one", "each"])
@pytest.mark.parametrize("surrogate", ["SVMMap", "SVMRoc", "SVMNdcg", "PermuRank", "RankSVM", "ListNet"])
def test_no_other_trainer_gets_below_what_is_proven(surrogate, slack):
    objective = problem(surrogate)
    result = dx.CuttingPlane(slack=slack).minimize(objective, ZERO)
    assert result.status == "converged"
    assert 0.0 <= result.gap == result.value - result.dual <= 1e-3
    assert result.value == objective.value_and_grad(result.params)[0]
    assert result.dual <= best_elsewhere(objective, result.params)


@pytest.mark.parametrize("slack", ["one", "each"])
def test_a_smooth_loss_has_the_minimum_that_lbfgs_finds(slack):
    objective = problem("RankSVM", queries=Q, w0=np.array([1.0, -1.0, 0.5, 0.0, 2.0]))
    expected = dx.LBFGS(tol=1e-9, ftol=0.0).minimize(objective, ZERO)
    result = dx.CuttingPlane(epsilon=1e-6, slack=slack).minimize(objective, ZERO)
    np.testing.assert_allclose(result.value, expected.value, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(result.params, expected.params, rtol=0.0, atol=0.01)  # sqrt(1e-6/0.01)
    assert result.dual <= expected.value + 1e-9


class Slope:
    """S = sum of label times score: the loss is a slope, without a bound."""

    properties = frozenset({"convex"})

    def value_and_grad(self, scores, labels, qptr):
        return np.add.reduceat(labels * scores, qptr[:-1]), labels.astype(scores.dtype)


@pytest.mark.parametrize("slack", ["one", "each"])
def test_a_slope_and_a_penalty_have_a_minimum_in_closed_form(slack):
    r"""-g.w + l \|w\|^2 is lowest at g/(2 l)."""
    result = dx.CuttingPlane(slack=slack, epsilon=1e-2).minimize(problem(Slope(), queries=Q), ZERO)
    g = (Q.labels @ Q.features) / 15
    lowest = -g @ g / (4 * 0.01)
    assert lowest < -100.0  # far below any loss that bounds a measure
    assert result.status == "converged"
    np.testing.assert_allclose(result.dual, lowest, rtol=1e-6)
    np.testing.assert_allclose(result.value, lowest, rtol=0.0, atol=1e-2)
    np.testing.assert_allclose(result.params, g / (2 * 0.01), rtol=0.0, atol=1.0)  # sqrt(1e-2/0.01)


@pytest.mark.parametrize("slack", ["one", "each"])
def test_the_classic_step_has_the_same_minimum_and_needs_more_planes(slack):
    objective = problem(C=1000.0)
    classic, ours = (dx.CuttingPlane(step=step).minimize(objective, ZERO) for step in (1.0, 0.1))
    assert abs(classic.value - ours.value) <= 1e-3
    assert ours.counts["oracle_calls"] < 0.7 * classic.counts["oracle_calls"]
    each = dx.CuttingPlane(slack="each").minimize(objective, ZERO)
    assert abs(each.value - ours.value) <= 1e-3
    assert each.counts["qps"] > 2 * ours.counts["qps"]


@pytest.mark.parametrize("slack", ["one", "each"])
def test_the_start_does_not_matter(slack):
    trainer = dx.CuttingPlane(slack=slack, epsilon=1e-5)
    values = [trainer.minimize(problem(), start).value for start in (ZERO, np.array([9.0, 0, -9, 1, 30]))]
    np.testing.assert_allclose(*values, rtol=0.0, atol=1e-5)


def test_a_start_that_is_the_minimum_takes_few_planes():
    first = dx.CuttingPlane(epsilon=1e-3).minimize(problem(C=1000.0), ZERO)
    again = dx.CuttingPlane(epsilon=1e-3).minimize(problem(C=1000.0), first.params)
    assert again.value <= first.value


@pytest.mark.parametrize("slack", ["one", "each"])
def test_weights_of_queries_are_repetitions(slack):
    weight = np.array([3.0, 0, 1, 2, 1] * 3)
    rows = np.concatenate(
        [np.arange(20 * q, 20 * q + 20) for q in np.repeat(np.arange(15), weight.astype(int))]
    )
    repeated = dx.Queries.from_arrays(
        BINARY.features[rows], BINARY.labels[rows], qid=np.repeat(np.arange(len(rows) // 20), 20)
    )
    trainer = dx.CuttingPlane(epsilon=1e-5, slack=slack)
    weighted = trainer.minimize(problem(query_weight=weight), ZERO)
    expected = trainer.minimize(problem(queries=repeated), ZERO)
    assert weighted.status == "converged"
    np.testing.assert_allclose(weighted.value, expected.value, rtol=0.0, atol=1e-5)
    plain = trainer.minimize(problem(), ZERO)
    assert abs(weighted.value - plain.value) > 1e-3
    one = np.where(np.arange(15) == 2, 1.0, 0.0)  # 15 times the mean: its loss is far below -1 there
    alone = trainer.minimize(problem("SVMRoc", C=1e4, query_weight=one), ZERO)
    expected = trainer.minimize(problem("SVMRoc", C=1e4, queries=BINARY.take([2])), ZERO)
    assert expected.value < -0.5
    np.testing.assert_allclose([alone.value, alone.dual], [expected.value] * 2, rtol=0.0, atol=2e-5)


def test_sparse_features_and_stumps_are_linear_too():
    from scipy.sparse import csr_matrix

    qid = np.repeat(np.arange(15), 20)
    sparse = dx.Queries.from_arrays(csr_matrix(BINARY.features), BINARY.labels, qid=qid)
    expected, found = (dx.CuttingPlane().minimize(problem(queries=q), ZERO).value for q in (BINARY, sparse))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-3)
    steps = dx.models.StumpModel(dx.models.quantile_thresholds(Q.features, 6))
    above = [Q.features[:, f] > t for f in range(5) for t in steps.values[steps.ptr[f] : steps.ptr[f + 1]]]
    as_columns = dx.Queries.from_arrays(np.column_stack(above).astype(np.float32), BINARY.labels, qid=qid)
    objective = make_objective(BINARY, "SVMMap", steps, penalty=L2(0.01))
    result = dx.CuttingPlane(epsilon=1e-4).minimize(objective, np.zeros(30))
    linear = dx.CuttingPlane(epsilon=1e-4).minimize(problem(queries=as_columns), np.zeros(30))
    np.testing.assert_allclose(result.value, linear.value, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("slack", ["one", "each"])
@pytest.mark.parametrize("surrogate", ["SVMMap", "SVMRoc", "SVMMrr", "SVMNdcg", "PermuRank"])
def test_the_mean_hinge_bounds_the_training_loss(surrogate, slack):
    """Proposition 1 of Yue et al. (2007), also where ties stand in the worst order."""
    objective = problem(surrogate)
    result = dx.CuttingPlane(slack=slack).minimize(objective, ZERO)
    hinge = 1.0 + objective.penalized(L2()).value_and_grad(result.params)[0]
    one = dx.surrogate(surrogate)
    measure = replace(one.measure, ties="worst") if hasattr(one.measure, "ties") else one.measure
    for digits in (9, 1, 0):  # with few digits many scores are equal
        scores = np.round(objective.scores(result.params), digits).astype(np.float64)
        slacks = 1.0 - one.value_and_grad(scores, BINARY.labels, BINARY.qptr)[0]
        loss = 1.0 - measure(scores, BINARY.labels, BINARY.qptr)
        loss = np.where(np.isnan(loss), 0.0, loss)  # ROC area has no value where all labels are alike
        assert (slacks >= loss - 1e-9).all()
        if digits == 9:
            np.testing.assert_allclose(slacks.mean(), hinge, rtol=1e-5)


def test_each_slack_adds_no_more_planes_than_theorem_1_allows():
    """At most max{2 n D/eps, 8 C D R^2/eps^2}: D the largest loss, R the longest psi(y*) - psi(y)."""
    C, epsilon = 1e4, 0.01
    result = dx.CuttingPlane(slack="each", epsilon=epsilon).minimize(problem(C=C), ZERO)
    X = BINARY.features.reshape(15, 20, 5)
    longest = 2 * max(np.linalg.norm(x[:, None] - x[None], axis=2).max() for x in X)
    assert 0 < result.counts["added"] <= max(2 * 15 / epsilon, 8 * C * longest**2 / epsilon**2)
    assert result.counts["added"] < 15 * result.counts["iterations"]  # only what is violated
    assert result.counts["qps"] == result.counts["added"] + 1


@pytest.mark.parametrize("slack", ["one", "each"])
def test_the_bound_rises_the_loss_falls_and_planes_stay_few(slack):
    objective = problem("SVMRoc(rel=4)", C=1e5, queries=NOISY)
    result = dx.CuttingPlane(epsilon=1e-4, slack=slack).minimize(objective, np.zeros(30))
    assert result.status == "converged"
    for before, after in pairwise(result.trace):
        assert after["dual"] >= before["dual"]
        assert after["loss"] <= before["loss"]
    assert result.trace[-1]["loss"] == result.value
    assert result.trace[-1]["dual"] == result.dual
    if slack == "one":
        assert result.counts["planes"] < 0.7 * result.counts["added"]
        assert result.counts["planes"] <= 100
        assert result.counts["oracle_calls"] == 30 * result.counts["added"]
    else:
        assert result.counts["planes"] <= result.counts["added"] + 30  # one a query is there before


@pytest.mark.parametrize("slack", ["one", "each"])
def test_the_same_bits_on_any_number_of_threads(slack):
    many = dx.data.make_cubic(n_queries=40, docs_per_query=300, n_features=60, seed=1)  # several parts
    before, found = dx.get_threads(), []
    try:
        for threads in (1, 2, 4):
            dx.set_threads(threads)
            objective = problem("SVMRoc(rel=2)", queries=many, C=1.0)
            trainer = dx.CuttingPlane(slack=slack, max_iter=30 if slack == "one" else 1, epsilon=0.1)
            found.append(trainer.minimize(objective, np.zeros(60)).params.tobytes())
    finally:
        dx.set_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("slack", ["one", "each"])
def test_a_path_has_the_same_minima_with_fewer_calls(slack):
    trainer, C = dx.CuttingPlane(epsilon=1e-4, slack=slack), [1.0, 10.0, 100.0, 1000.0]
    path = trainer.path(dx.linear_objective(BINARY, "SVMMap"), ZERO, C=C)
    apart = [trainer.minimize(problem(C=c), ZERO) for c in C]
    for c, one, other in zip(C, path, apart, strict=True):
        assert one.status == "converged"
        assert one.own_loss
        assert one.value == problem(C=c).value_and_grad(one.params)[0]
        assert abs(one.value - other.value) <= 1e-4
        assert one.dual <= other.value
    calls = [sum(result.counts["oracle_calls"] for result in results) for results in (path, apart)]
    assert calls[0] < 0.8 * calls[1]
    again = trainer.path(dx.linear_objective(BINARY, "SVMMap"), ZERO, C=[10.0, 10.0])
    assert again[1].value == again[0].value
    assert (again[1].counts["oracle_calls"], again[1].counts["iterations"]) == (0, 0)
    by_l2 = trainer.path(dx.linear_objective(BINARY, "SVMMap"), ZERO, l2=[1 / (2 * c) for c in C])
    assert [r.value for r in by_l2] == [r.value for r in path]


def test_C_is_the_papers():
    r"""1/2 \|w\|^2 + C/n sum of slacks is C times the loss, plus C."""
    bare = dx.linear_objective(BINARY, "SVMMap")
    by_C = dx.CuttingPlane(C=20.0).minimize(bare, ZERO)
    by_l2 = dx.CuttingPlane().minimize(problem(C=20.0), ZERO)
    assert by_C.value == by_l2.value
    assert by_C.dual == by_l2.dual
    assert (by_C.own_loss, by_l2.own_loss) == (True, False)
    centered = dx.CuttingPlane(C=20.0).minimize(dx.linear_objective(BINARY, "SVMMap", w0=np.ones(5)), ZERO)
    assert centered.value == problem(C=20.0, w0=np.ones(5)).value_and_grad(centered.params)[0]
    slacks = 1 - dx.SVMMap().value_and_grad(bare.scores(by_C.params), BINARY.labels, BINARY.qptr)[0]
    published = 0.5 * by_C.params @ by_C.params + 20.0 / 15 * slacks.sum()
    np.testing.assert_allclose(20.0 * (by_C.value + 1), published, rtol=1e-12)


@pytest.mark.parametrize("slack", ["one", "each"])
def test_every_end_has_its_status(slack):
    trainer = dx.CuttingPlane(slack=slack, max_iter=2, epsilon=1e-6)
    short = trainer.minimize(problem(C=1e4), ZERO)
    assert (short.status, short.counts["iterations"], len(short.trace)) == ("max_iter", 2, 3)
    assert short.gap > 1e-6
    assert "max_iter=2" in short.message
    stopped = trainer.minimize(problem(), ZERO, callback=lambda step: step.iteration == 1)
    assert (stopped.status, len(stopped.trace)) == ("stopped", 2)
    lost = trainer.minimize(problem(), np.full(5, np.nan))
    assert (lost.status, lost.dual, lost.trace) == ("not_finite", None, [])
    assert np.isnan(lost.params).all()


def test_a_gap_below_rounding_ends_in_words():
    proof = Proof(problem(), ZERO, 1e-9, 10_000)
    proof.offer(ZERO, 0.0)
    with proof:
        for i in range(_STALLED + 100):
            proof.record(-1.0 + 0.5 * min(i, 3) / 3 + 1e-9 * i)
    assert len(proof.trace) == _STALLED + 4
    result = proof.proven({})
    assert result.status == "line_search"
    assert "the gap of 0.5 no longer decreases" in result.message
    np.testing.assert_allclose(result.gap, 0.5, rtol=1e-6)


def test_a_bound_is_no_higher_than_a_loss_that_was_met():
    """Rounding may put it there."""
    proof = Proof(problem(), ZERO, 1e-9, 10)
    proof.offer(ZERO, 0.25)
    with proof:
        proof.record(0.25 + 1e-12)
    result = proof.proven({})
    assert (result.status, result.dual, result.trace[0]["dual"]) == ("converged", 0.25, 0.25)


def test_queries_that_say_nothing():
    nothing = dx.Queries.from_arrays(BINARY.features, np.zeros(300), qid=np.repeat(np.arange(15), 20))
    for slack in ("one", "each"):
        result = dx.CuttingPlane(slack=slack).minimize(problem(queries=nothing), np.ones(5))
        assert result.status == "converged"
        assert -1e-3 <= result.dual <= result.value <= 1e-3 + 5e-9


def test_wrappers_pass_the_bound_on():
    objective = problem()
    best = dx.trainers.BestSoFar(dx.CuttingPlane(), lambda params: -abs(np.linalg.norm(params) - 0.1))
    result = best.minimize(objective, ZERO)
    assert result.dual == dx.CuttingPlane().minimize(objective, ZERO).dual
    assert result.value == objective.value_and_grad(result.params)[0]
    several = dx.Restarts(dx.CuttingPlane(), n=3).minimize(objective, np.ones(5))
    starts = dx.Restarts(dx.CuttingPlane(), n=3).starts(np.ones(5))
    assert several.dual == max(dx.CuttingPlane().minimize(objective, s).dual for s in starts)
    assert dx.Restarts(dx.LBFGS(), n=2).minimize(objective, np.ones(5)).dual is None
    assert dx.Restarts(dx.LBFGS(), n=2).minimize(objective, np.ones(5)).gap is None


def test_what_is_not_convex_is_refused_by_name():
    train = dx.CuttingPlane().minimize
    with rejects(dx.InputError):
        train(problem("ApproxNDCG"), ZERO)
    with rejects(dx.InputError):
        train(make_objective(Q, "SVMMap", MLPModel((3,))), np.zeros(21))


def test_one_penalty_is_needed_and_no_more():
    with rejects(dx.InputError):
        dx.CuttingPlane().minimize(dx.linear_objective(BINARY, "SVMMap"), ZERO)
    with rejects(dx.InputError):
        dx.CuttingPlane(C=5.0).minimize(problem(), ZERO)
    for trainer, strengths in (
        (dx.CuttingPlane(), {}),
        (dx.CuttingPlane(), {"C": [1.0], "l2": [1.0]}),
        (dx.CuttingPlane(C=3.0), {"C": [1.0]}),
        (dx.CuttingPlane(), {"C": 3.0}),
    ):
        with rejects(dx.InputError):
            trainer.path(problem(), ZERO, **strengths)
    with rejects(dx.InputError):
        dx.CuttingPlane().path(problem(), ZERO, l2=[0.1, 0.0])
    with rejects(dx.InputError):
        dx.CuttingPlane().path(problem(), ZERO, C=[0.0])


def test_without_the_solver_the_install_line_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(dx.MissingExtra, match=r"CuttingPlane needs .* pip install piqp"):
        dx.CuttingPlane().minimize(problem(), ZERO)


@pytest.mark.parametrize("slack", ["one", "each"])
def test_what_is_convex_only_when_held_is_trained_in_rounds(slack):
    objective = problem("Dorm", queries=Q, C=100.0)
    trainer = dx.CuttingPlane(slack=slack, epsilon=1e-3)
    start = np.ones(5)  # far off: several rounds
    seen = []
    result = trainer.minimize(objective, start, callback=lambda step: seen.append(step.params.copy()))
    assert result.status == "converged"
    assert (result.dual, result.gap) == (None, None)
    assert result.counts["rounds"] == len(seen) - 1 == len(result.trace) - 1 >= 3
    losses = [row["loss"] for row in result.trace]
    assert losses == [objective.value_and_grad(params)[0] for params in seen]
    assert all(after <= before for before, after in pairwise(losses))
    assert result.value == losses[-1] < losses[0]
    for before, after in pairwise(seen):  # each is the minimum of what was held at the one before
        held = objective.convexified(before)
        ends = [dx.LBFGS(max_iter=50).minimize(held, params).params for params in (before, after)]
        lowest = min(held.value_and_grad(params)[0] for params in (before, *ends))
        assert held.value_and_grad(after)[0] <= lowest + 1e-3
        assert objective.value_and_grad(after)[0] <= held.value_and_grad(after)[0] + 1e-9
    stopped = trainer.minimize(objective, start, callback=lambda step: step.iteration == 1)
    assert (stopped.status, stopped.counts["rounds"]) == ("stopped", 1)
    assert np.array_equal(stopped.params, seen[1])
    short = dx.CuttingPlane(slack=slack, epsilon=1e-6, max_iter=1).minimize(objective, start)
    assert (short.status, short.counts["rounds"]) == ("max_iter", 1)
    assert "round 1: " in short.message
    told = dx.CuttingPlane(slack=slack, epsilon=1e-6, max_iter=1).minimize(
        objective, start, callback=lambda step: step.iteration == 1
    )
    assert told.status == "stopped"
    lost = trainer.minimize(objective, np.full(5, np.nan))
    assert (lost.status, lost.trace) == ("not_finite", [])


def test_a_path_needs_planes_that_stay():
    with rejects(dx.InputError):
        dx.CuttingPlane().path(dx.linear_objective(Q, "Dorm"), ZERO, C=[1.0])
    mean = dx.CuttingPlane().minimize(problem("Dorm(ties='mean')", queries=Q), ZERO)
    assert mean.gap <= 1e-3  # convex as it is


class Breaks(Slope):
    """As `Slope` where all scores are 0; no number elsewhere."""

    def value_and_grad(self, scores, labels, qptr):
        value, grad = super().value_and_grad(scores, labels, qptr)
        return (np.full_like(value, np.nan) if scores.any() else value), grad


@pytest.mark.parametrize("slack", ["one", "each"])
def test_a_loss_that_breaks_on_the_way_keeps_the_last_parameters(slack):
    result = dx.CuttingPlane(slack=slack).minimize(problem(Breaks(), queries=Q), ZERO)
    assert (result.status, len(result.trace), result.value) == ("not_finite", 1, 0.0)
    assert np.array_equal(result.params, ZERO)
    assert "scale 'standard'" in result.message
    path = dx.CuttingPlane(slack=slack).path(problem(Breaks(), queries=Q), ZERO, C=[1.0, 2.0])
    assert [one.status for one in path] == ["not_finite", "not_finite"]


def test_a_start_far_away_costs_little():
    far = np.full(5, 30.0)
    result = dx.CuttingPlane().minimize(problem(C=0.1), far)
    near = dx.CuttingPlane().minimize(problem(C=0.1), ZERO)
    assert result.status == "converged"
    # a tenth of the way a step, from there alone, would take log(30)/-log(0.9) = 32 steps and more
    assert result.counts["added"] <= near.counts["added"] + 2


@pytest.mark.parametrize("slack", ["one", "each"])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e30])
def test_a_start_whose_scores_are_all_rounding_proves_nothing_false(far, slack):
    """Scores of 1e9 in float32 are good to some 60: their plane would be above the minimum."""
    start = far * np.array([1.0, -2.0, 0.5, 1.0, -1.0])
    exact = dx.CuttingPlane(epsilon=1e-5).minimize(problem(), ZERO)
    result = dx.CuttingPlane(slack=slack).minimize(problem(), start)
    assert result.status == "converged"
    assert result.dual <= exact.value
    assert result.value <= exact.value + 1e-3


@pytest.mark.parametrize("surrogate", ["SVMMap", "SVMRoc", "RankSVM"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_a_plane_is_below_the_loss_of_exact_scores(size, surrogate):
    exact = dx.Queries.from_arrays(
        BINARY.features.astype(float), BINARY.labels, qid=np.repeat(np.arange(15), 20)
    )
    bare = dx.linear_objective(exact, surrogate)
    proof = Proof(problem(surrogate), ZERO, 1e-3, 10)
    for seed in range(20):
        point, other = np.random.default_rng(seed).standard_normal((2, 5))
        _, grad, value = proof.oracle(size * point)
        for there in (size * point, size * point + other, -size * point, other, ZERO):
            assert value + grad @ there <= bare.value_and_grad(there)[0]
