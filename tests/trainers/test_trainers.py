"""Trainers reach known optima, say why they stop, and repeat themselves bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

import directrix as dx
from directrix.trainers.regression import regression_start
from directrix.trainers.stochastic import cosine_factor
from tests.messages import rejects


class Quadratic:
    """0.5 (x - c)^T A (x - c), as a mean over its terms for SGD."""

    def __init__(self, n=5, seed=0):
        rng = np.random.default_rng(seed)
        self.center = rng.standard_normal(n)
        self.scale = np.linspace(1, 20, n)
        self.calls = 0
        self.n_queries = n

    def value_and_grad(self, params, queries=None):
        self.calls += 1
        d = params - self.center
        return 0.5 * float(self.scale @ d**2), self.scale * d


def test_lbfgs_finds_the_minimum_of_a_quadratic_in_a_few_steps_a_dimension():
    objective = Quadratic()
    result = dx.LBFGS(tol=1e-10, ftol=0.0).minimize(objective, np.zeros(5))
    np.testing.assert_allclose(result.params, objective.center, rtol=1e-8)
    assert result.status == "converged"
    assert result.counts["iterations"] <= 20
    assert result.counts["evaluations"] == objective.calls


def test_lbfgs_trace_never_rises():
    result = dx.LBFGS().minimize(Quadratic(), np.zeros(5))
    losses = [row["loss"] for row in result.trace]
    assert [row["iteration"] for row in result.trace] == list(range(len(losses)))
    assert all(b <= a for a, b in pairwise(losses))
    assert result.value == losses[-1]


def test_lbfgs_says_that_its_budget_is_used_up():
    result = dx.LBFGS(max_iter=2).minimize(Quadratic(20), np.zeros(20))
    assert result.status == "max_iter"
    assert "max_iter=2" in result.message


def test_a_loss_that_is_not_finite_is_reported_not_returned():
    class Broken(Quadratic):
        def value_and_grad(self, params, queries=None):
            loss, grad = super().value_and_grad(params)
            return (np.nan, grad) if self.calls > 2 else (loss, grad)

    result = dx.LBFGS().minimize(Broken(), np.zeros(5))
    assert result.status == "not_finite"
    assert np.isfinite(result.params).all()
    assert "scale" in result.message


def test_sgd_walks_down_the_quadratic():
    objective = Quadratic()
    result = dx.SGD(learning_rate=0.02, epochs=200).minimize(objective, np.zeros(5))
    np.testing.assert_allclose(result.params, objective.center, rtol=1e-6)
    assert result.counts == {"epochs": 200}
    assert [row["iteration"] for row in result.trace] == list(range(201))
    assert result.value == objective.value_and_grad(result.params)[0]


def test_sgd_diverges_with_a_message():
    with np.errstate(over="ignore", invalid="ignore"):
        result = dx.SGD(learning_rate=10.0, epochs=2000).minimize(Quadratic(), np.zeros(5))
    assert result.status == "not_finite"
    assert "lower the learning_rate" in result.message
    assert np.isfinite(result.params).all()
    assert result.params.any()
    assert result.value == Quadratic().value_and_grad(result.params)[0] < np.inf


class Cliff:
    """Its fourth step has the given loss and slope; parameters beyond 1e9 have an infinite loss."""

    n_queries = 1

    def __init__(self, loss, slope):
        self.fourth, self.steps = (loss, slope), 0

    def value_and_grad(self, params, queries=None):
        self.steps += queries is not None
        loss, slope = self.fourth if self.steps == 4 and queries is not None else (1.0, 1.0)
        return (loss if np.abs(params).max() < 1e9 else np.inf), np.full(len(params), slope)


@pytest.mark.parametrize(
    ("trainer", "loss", "slope"),
    [
        (dx.SGD(learning_rate=1.0, epochs=4), 1.0, np.nan),
        (dx.SGD(learning_rate=1.0, epochs=4), np.nan, 1.0),
        (dx.SGD(learning_rate=1.0, epochs=4), 1.0, 1e200),  # seen only in the loss after the last epoch
        (dx.SGD(learning_rate=1.0, epochs=9), 1.0, 1e200),  # seen in the fifth
        (dx.Adam(learning_rate=1.0, epochs=4), 1.0, np.nan),
        (dx.Adam(learning_rate=1.0, epochs=9), np.inf, 1.0),
    ],
)
def test_parameters_go_back_to_the_last_that_are_finite(trainer, loss, slope):
    path = []
    with np.errstate(over="ignore"):
        result = trainer.minimize(
            Cliff(loss, slope), np.zeros(2), callback=lambda step: path.append(step.params.copy())
        )
    epoch = min(trainer.epochs, len(path))
    assert result.status == "not_finite"
    assert result.message.startswith(f"the loss is not finite after {epoch} epochs")
    assert "lower the learning_rate" in result.message
    assert np.array_equal(result.params, path[3])
    assert result.value == 1.0


class Undefined(Quadratic):
    def value_and_grad(self, params, queries=None):
        return np.nan, np.zeros(5)


@pytest.mark.parametrize("trainer", [dx.SGD(), dx.Adam(), dx.LBFGS(), dx.CG()], ids=repr)
def test_a_loss_that_is_never_finite_is_a_status_with_validation_too(trainer):
    for wrapped in (trainer, dx.trainers.BestSoFar(trainer, lambda params: 1.0)):
        result = wrapped.minimize(Undefined(), np.ones(5))
        assert (result.status, result.trace) == ("not_finite", [])
        assert np.array_equal(result.params, np.ones(5))


@pytest.mark.parametrize("trainer", [dx.SGD(epochs=2), dx.Adam(epochs=2), dx.LBFGS(), dx.CG()], ids=repr)
def test_no_parameters_are_no_error(trainer):
    """As of a `StumpModel` on features that are constant."""
    objective = Quadratic(0)
    objective.n_queries = 1
    result = trainer.minimize(objective, np.zeros(0))
    assert result.status in ("converged", "max_iter")
    assert (result.value, result.trace[0]) == (0.0, {"iteration": 0, "loss": 0.0})


def test_adam_moves_by_its_rate_whatever_the_size_of_the_gradient():
    """Of two steps the schedule takes the first by half of the rate, and the second by nothing."""
    objective = Quadratic()
    objective.center = np.array([1e3, -1e3, 1.0, -1.0, 1e-3])
    trainer = dx.Adam(learning_rate=2e-5, epochs=2, batch=5, average=0.0)
    step = trainer.minimize(objective, np.zeros(5)).params
    np.testing.assert_allclose(step, 1e-5 * np.sign(objective.center), rtol=1e-3)


def test_adam_reaches_the_minimum_and_says_that_its_epochs_are_done():
    objective = Quadratic()
    result = dx.Adam(learning_rate=0.05, epochs=400, batch=1).minimize(objective, np.zeros(5))
    np.testing.assert_allclose(result.params, objective.center, rtol=0, atol=1e-4)
    assert (result.status, result.counts) == ("max_iter", {"epochs": 400})
    assert [row["iteration"] for row in result.trace] == list(range(401))
    assert result.value == objective.value_and_grad(result.params)[0]


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_adam_averages_the_parameters_after_every_step_under_its_schedule(average):
    """Against a loop over all past parameters; 3 epochs of 120 queries in batches of 2: 180 steps."""
    objective, path, seen = Quadratic(), [], []
    objective.n_queries = 120
    trainer = dx.Adam(learning_rate=0.1, epochs=3, batch=2, average=average)
    result = trainer.minimize(objective, np.zeros(5), callback=lambda step: seen.append(step.params.copy()))
    theta = m = v = np.zeros(5)
    for t in range(1, 181):
        g = objective.scale * (theta - objective.center)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 0.1 * min(1, t / 18) * (1 + np.cos(np.pi * t / 180)) / 2
        theta = theta - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        path.append(theta)
    for epoch in (1, 2, 3):
        t = 60 * epoch
        weights = average ** np.arange(t - 1, -1, -1.0)
        expected = weights @ np.array(path[:t]) / weights.sum()
        np.testing.assert_allclose(seen[epoch], expected, rtol=1e-9)
    assert np.array_equal(result.params, seen[3])


def test_the_schedule_rises_for_50_steps_at_most_and_falls_to_0():
    np.testing.assert_allclose([cosine_factor(25, 1000), cosine_factor(50, 1000)], [0.5, 1.0], atol=0.01)
    assert cosine_factor(500, 1000) == pytest.approx(0.5)
    assert cosine_factor(1000, 1000) == 0.0
    assert cosine_factor(1, 10) == pytest.approx(0.5 * (1 + np.cos(np.pi / 10)))  # a warm-up of 1 step of 10


@pytest.mark.parametrize("kind", [dx.SGD, dx.Adam])
def test_stochastic_steps_have_the_same_bits_for_the_same_seed_and_others_for_another(kind, linear_data):
    objective = dx.linear_objective(linear_data, "ApproxNDCG")
    start = np.zeros(linear_data.n_features)
    trainer = kind(epochs=2, batch=7, random_state=1)
    first, again = (trainer.minimize(objective, start).params for _ in range(2))
    assert np.array_equal(first, again)
    other = kind(epochs=2, batch=7, random_state=2).minimize(objective, start).params
    assert not np.array_equal(first, other)


@pytest.fixture(scope="module")
def linear_data():
    return dx.data.make_cubic(n_queries=40, docs_per_query=12, n_features=6, seed=3)


def test_batches_and_sparse_features_take_the_general_path(linear_data):
    q, start = linear_data, np.zeros(linear_data.n_features)
    dense = dx.linear_objective(q, "ApproxNDCG")
    one_step = dx.SGD(learning_rate=0.5, epochs=1, batch=q.n_queries).minimize(dense, start)
    whole = dense.value_and_grad(start)[1]  # adds up the float32 rows of short queries in other groups
    np.testing.assert_allclose(one_step.params, -0.5 * whole, rtol=1e-6, atol=1e-7 * np.abs(whole).max())
    qid = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    sparse = dx.Queries.from_arrays(sp.csr_array(q.features), q.labels, qid=qid)
    trainer = dx.SGD(learning_rate=0.05, epochs=2, random_state=5)
    general = trainer.minimize(dx.linear_objective(sparse, "ApproxNDCG"), start)
    fused = trainer.minimize(dense, start)
    np.testing.assert_allclose(general.params, fused.params, rtol=1e-4)
    np.testing.assert_allclose(general.value, fused.value, rtol=1e-4)


def test_training_raises_the_surrogate(linear_data):
    objective = dx.linear_objective(linear_data, "ApproxNDCG(alpha=5.0)")
    start = np.zeros(linear_data.n_features)
    before = -objective.value_and_grad(start)[0]
    for trainer in (dx.LBFGS(), dx.SGD(learning_rate=0.05, epochs=100), dx.Adam(learning_rate=0.01)):
        after = -objective.value_and_grad(trainer.minimize(objective, start).params)[0]
        assert after > before + 0.05


def test_best_so_far_returns_the_best_step_and_leaves_the_path_alone():
    objective, start = Quadratic(), np.zeros(5)
    plain = dx.LBFGS().minimize(objective, start)
    steps = []
    score = lambda params: -abs(len(steps) - 3) if steps.append(params.copy()) is None else 0  # noqa: E731
    result = dx.trainers.BestSoFar(dx.LBFGS(), score).minimize(objective, start)
    assert [row["loss"] for row in result.trace] == [row["loss"] for row in plain.trace]
    assert np.array_equal(result.params, steps[2])
    assert result.value == result.trace[2]["loss"]
    assert max(row["score"] for row in result.trace) == result.trace[2]["score"]
    assert "best at step 2" in result.message
    assert result.counts["best"] == 2
    assert result.value == objective.value_and_grad(result.params)[0]


def test_the_start_can_be_the_best():
    """A step away from the minimum: every epoch with this rate is worse than the start."""
    objective = Quadratic()
    start = objective.center + 1e-3
    score = lambda params: -objective.value_and_grad(params)[0]  # noqa: E731
    for trainer in (dx.SGD(learning_rate=0.2, epochs=2), dx.LBFGS(max_iter=1)):
        result = dx.trainers.BestSoFar(trainer, score).minimize(objective, start)
        assert result.trace[0]["iteration"] == 0
        assert result.value <= objective.value_and_grad(start)[0]


def test_a_score_that_is_never_defined_is_an_error():
    with rejects(dx.InputError):
        dx.trainers.BestSoFar(dx.SGD(epochs=2), lambda _: np.nan).minimize(Quadratic(), np.zeros(5))


def test_sgd_draws_a_new_order_every_epoch():
    orders = []

    class Watched(Quadratic):
        def value_and_grad(self, params, queries=None):
            if queries is not None:
                orders.append(list(queries))
            return super().value_and_grad(params)

    dx.SGD(epochs=3, learning_rate=1e-3).minimize(Watched(40), np.zeros(40))
    epochs = [[int(q) for (q,) in orders[40 * e : 40 * (e + 1)]] for e in range(3)]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


def test_memory_of_lbfgs_counts():
    """With one pair of differences a quadratic takes more iterations than with twenty."""
    steps = [
        dx.LBFGS(memory=memory, max_iter=500, ftol=0)
        .minimize(Quadratic(60), np.zeros(60))
        .counts["iterations"]
        for memory in (1, 20)
    ]
    assert steps[0] > steps[1] + 3


def test_patience_ends_a_run_that_no_longer_rises():
    falling = iter(range(0, -1000, -1))
    result = dx.trainers.BestSoFar(dx.SGD(epochs=50), lambda _: next(falling), patience=4).minimize(
        Quadratic(), np.zeros(5)
    )
    assert result.status == "stopped"
    assert len(result.trace) == 1 + 4
    assert result.message.startswith("no new best in 4 steps; best at step 0 with 0")


class Steps:
    """Losses as listed, one an epoch; the gradient is 1, so that parameters tell the steps taken."""

    n_queries = 1

    def __init__(self, losses):
        self.losses = iter(losses)

    def value_and_grad(self, params, queries=None):
        return (0.0 if queries is None else next(self.losses)), np.ones(len(params))


def steps_taken(losses, **options):
    path = []
    trainer = dx.SGD(learning_rate=1.0, epochs=len(losses), **options)
    trainer.minimize(Steps(losses), np.zeros(1), callback=lambda step: path.append(float(step.params[0])))
    return [a - b for a, b in pairwise(path)]


def test_the_rate_shrinks_after_an_epoch_whose_loss_rose():
    losses = [3.0, 2.0, 2.5, 2.5, 1.0, 9.0, 0.0]  # the loss at the start is 0
    assert steps_taken(losses, shrink=0.5) == [1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]
    assert steps_taken(losses) == [1] * 7
    assert steps_taken(losses, shrink=0.5, shrink_chance=0.0) == [1] * 7


def test_the_rate_shrinks_as_often_as_was_said():
    rising = [float(n) for n in range(1, 1001)]
    last = steps_taken(rising, shrink=0.99, shrink_chance=0.3)[-1]
    shrunk = np.log(last) / np.log(0.99)
    assert abs(shrunk - 300) < 4 * np.sqrt(1000 * 0.3 * 0.7)


def test_a_loss_that_stands_still_starts_again_elsewhere_at_the_first_rate():
    losses = [2.0, 3.0, 3.0, 3.0, 1.0, 1.0, 5.0, 5.0, 5.0]
    path = []
    result = dx.SGD(learning_rate=1.0, epochs=9, restart_after=2, shrink=0.5).minimize(
        Steps(losses), np.zeros(10_000), callback=lambda step: path.append(step.params.copy())
    )
    # Epochs 3 and 4 repeat the loss of the second: the fifth begins at random, with the first rate.
    taken = [a - b for a, b in pairwise(path)]
    assert [float(step[0]) for step in (*taken[:4], *taken[5:])] == [1, 0.5, 0.25, 0.25, 1, 1, 0.5, 0.5]
    start = path[5] + 1.0
    assert 0.9 < np.linalg.norm(start) < 1.1
    assert abs(start.mean()) < 0.001
    # The last epoch is not followed by another: its parameters are those of the trace.
    assert result.counts == {"epochs": 9, "restarts": 1}
    assert [row["restarts"] for row in result.trace] == [0] * 5 + [1] * 5
    assert np.array_equal(result.params, path[-1])


def test_restarts_watch_another_value_if_they_are_given_one():
    """The loss falls all the time; what is watched stays, changes at the third epoch, and stays again."""
    seen = []

    def watched(params):
        seen.append(params.copy())
        return 1.0 if len(seen) < 4 else 2.0

    trainer = dx.SGD(learning_rate=0.01, epochs=9, restart_after=3).watching(watched)
    result = trainer.minimize(Quadratic(), np.ones(5))
    assert [row["restarts"] for row in result.trace] == [0] * 7 + [1] * 3
    assert len(seen) == 9


def test_within_best_so_far_restarts_watch_its_score_which_is_computed_once_per_epoch():
    scored = []

    def score(params):
        scored.append(1)
        return 0.5

    trainer = dx.SGD(learning_rate=0.01, epochs=9, restart_after=4)
    result = dx.trainers.BestSoFar(trainer, score).minimize(Quadratic(), np.ones(5))
    assert [row["restarts"] for row in result.trace] == [0] * 5 + [1] * 4 + [2]
    assert len(scored) == 10
    assert trainer.minimize(Quadratic(), np.ones(5)).counts["restarts"] == 0


def test_restarts_have_the_same_bits_for_the_same_seed(linear_data):
    objective = dx.linear_objective(linear_data, "Lambda('RR')")
    trainer = dx.SGD(learning_rate=1e-9, epochs=12, restart_after=3, shrink=0.8, shrink_chance=0.3)
    first, second = (trainer.minimize(objective, np.ones(linear_data.n_features)) for _ in range(2))
    assert first.counts["restarts"] >= 2
    assert np.array_equal(first.params, second.params)


def test_lambdas_raise_their_measure(linear_data):
    start = np.zeros(linear_data.n_features)
    for name in ("nDCG@3", "AP(rel=3)", "ERR"):
        objective = dx.linear_objective(linear_data, f"Lambda({name!r})")
        result = dx.SGD(learning_rate=0.05, epochs=60, shrink=0.8, shrink_chance=0.3).minimize(
            objective, start
        )
        assert -result.value > -objective.value_and_grad(start)[0] + 0.05


def test_trainers_that_compare_losses_refuse_gradients_of_none(linear_data):
    objective = dx.linear_objective(linear_data, "Lambda('AP')")
    with rejects(dx.InputError):
        dx.LBFGS().minimize(objective, np.zeros(linear_data.n_features))
    with rejects(dx.InputError):
        dx.LinearRanker("Lambda('AP')").fit_queries(linear_data)


@pytest.mark.parametrize("size", [10, 1000])
def test_regression_start_is_weighted_ridge_on_gains(size):
    """6,000 rows are several blocks."""
    rng, n = np.random.default_rng(0), 6 * size
    X, labels = 3.0 + rng.standard_normal((n, 4)), rng.choice([0.0, 1.0, 2.0], size=n)
    w = dx.trainers.regression_start(
        dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(6), size)), ridge=2.0
    )
    u = np.where(labels > 0, n / 2 / (labels > 0).sum(), n / 2 / (labels == 0).sum())
    gain = np.exp2(labels) - 1
    Xc, gc = X - np.average(X, axis=0, weights=u), gain - np.average(gain, weights=u)
    expected = np.linalg.solve(Xc.T @ (u[:, None] * Xc) + 2.0 * np.eye(4), Xc.T @ (u * gc))
    np.testing.assert_allclose(w, expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e8])
def test_regression_start_of_features_twice_and_of_any_size(size):
    """Their products are singular to rounding where the ridge is; scikit-learn decomposes the features."""
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((200, 5)), rng.choice([0.0, 1.0, 2.0], size=200)
    X = np.column_stack([X * size, X * size, X, np.full(200, size)])
    w = dx.trainers.regression_start(dx.Queries.from_arrays(X, labels, group=[len(labels)]))
    u = np.where(labels > 0, 100 / (labels > 0).sum(), 100 / (labels == 0).sum())
    expected = X @ Ridge(solver="svd").fit(X, np.exp2(labels) - 1, sample_weight=u).coef_
    np.testing.assert_allclose(X @ w, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("features", "settings", "message"),
    [
        (np.eye(3), {"ridge": 0.0}, r"ridge=0\.0.*number > 0"),
        (np.eye(3), {"ridge": "1"}, r"ridge='1'.*number > 0"),
        (np.eye(3), {"sample_weight": [1.0, 2.0]}, r"sample_weight has shape \(2,\)"),
        (np.eye(3), {"sample_weight": [0.0] * 3}, r"sample_weight is zero everywhere"),
        (np.eye(3) * 1e200, {}, r"too large for floats\. Train with the scale"),
    ],
)
def test_regression_start_says_what_it_cannot_take(features, settings, message):
    with pytest.raises(dx.InputError, match=message):
        dx.trainers.regression_start(dx.Queries.from_arrays(features, [0.0, 1.0, 2.0], group=[3]), **settings)


def test_regression_start_has_the_same_bits_for_any_number_of_threads():
    starts = []
    for threads in (1, 2):
        q, before = (
            dx.data.make_cubic(n_queries=300, docs_per_query=50, n_features=100, seed=0),
            dx.set_threads(threads),
        )
        with threadpool_limits(threads):
            starts.append(dx.trainers.regression_start(q))
        dx.set_threads(before)
    assert np.array_equal(*starts)


def test_regression_start_is_kept_as_it_was():
    """For the same queries, whatever the caller does with it, and for each ridge by itself."""
    q = dx.data.make_cubic(n_queries=6, docs_per_query=10, n_features=3, seed=0)
    first, other = dx.trainers.regression_start(q), dx.trainers.regression_start(q, ridge=50.0)
    expected = first.copy()
    first[:] = 0.0
    assert np.array_equal(dx.trainers.regression_start(q), expected)
    assert np.abs(other - expected).max() > 1e-3
    weighted = dx.trainers.regression_start(q, sample_weight=np.arange(60.0))
    assert np.abs(weighted - expected).max() > 1e-3


def test_regression_start_copes_with_one_class_only():
    w = dx.trainers.regression_start(dx.Queries.from_arrays(np.eye(3), np.zeros(3), group=[3]))
    np.testing.assert_allclose(w, 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.trainers.BestSoFar("sgd", len), r"BestSoFar\('sgd'\).*e\.g\. BestSoFar\(LBFGS\(\)\)"),
        (lambda: dx.Restarts("lbfgs"), r"Restarts\('lbfgs'\).*e\.g\. Restarts\(LBFGS\(\)\)"),
        (lambda: dx.Restarts(dx.LBFGS(), n_jobs=0), r"n_jobs=0.*-1 for all cores"),
        (lambda: dx.Restarts(dx.LBFGS(), n_jobs=True), r"n_jobs=True"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_gains_that_would_overflow_are_refused_before_the_regression():
    q = dx.Queries.from_arrays([[1.0], [2.0]], [0, 257], group=[2])
    with rejects(dx.InputError):
        regression_start(q)
    highest = dx.Queries.from_arrays([[1.0], [2.0]], [0, 256], group=[2])
    assert np.isfinite(regression_start(highest)).all()
