"""The objective is the weighted mean of the surrogate, negated and penalized; nothing else."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.epochs import fused_epoch
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from directrix.objectives.source import Memory
from tests.messages import rejects


def problem(n_queries=30, n_features=6, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, size=n_queries)
    n = sizes.sum()
    X = rng.standard_normal((n, n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.3] = 0
    labels = rng.choice([0.0, 1.0, 2.0], size=n, p=[0.6, 0.3, 0.1])
    return dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(n_queries), sizes)), rng


SURROGATES = ["ApproxNDCG(alpha=3.0)", "ApproxAP(alpha=3.0)", "ApproxRR", "ApproxKendall(alpha=2.0)"]


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_loss_is_the_weighted_mean_negated_and_penalized(surrogate):
    q, rng = problem()
    w, w0 = rng.standard_normal((2, q.n_features))
    weight = rng.random(q.n_queries)
    loss, _ = dx.linear_objective(q, surrogate, 0.1, w0=w0, query_weight=weight).value_and_grad(w)
    value, _ = dx.surrogate(surrogate).value_and_grad(q.features @ w, q.labels, q.qptr)
    expected = -(weight @ value) / weight.sum() + 0.1 * np.sum((w - w0) ** 2)
    np.testing.assert_allclose(loss, expected, rtol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_gradient_is_the_slope(surrogate):
    q, rng = problem()
    w, w0, direction = rng.standard_normal((3, q.n_features))
    objective = dx.linear_objective(q, surrogate, 0.1, w0=w0, query_weight=rng.random(q.n_queries))
    _, grad = objective.value_and_grad(w)
    h = 1e-6
    up, down = objective.value_and_grad(w + h * direction)[0], objective.value_and_grad(w - h * direction)[0]
    np.testing.assert_allclose(grad @ direction, (up - down) / (2 * h), rtol=1e-6)


def test_document_weights_have_a_gradient_too():
    q, rng = problem()
    w, direction = rng.standard_normal((2, q.n_features))
    objective = dx.linear_objective(q, "ApproxAP(alpha=3.0)", doc_weight=rng.random(q.n_docs))
    _, grad = objective.value_and_grad(w)
    up = objective.value_and_grad(w + 1e-6 * direction)[0]
    down = objective.value_and_grad(w - 1e-6 * direction)[0]
    np.testing.assert_allclose(grad @ direction, (up - down) / 2e-6, rtol=1e-6)
    assert (
        objective.value_and_grad(w)[0] != dx.linear_objective(q, "ApproxAP(alpha=3.0)").value_and_grad(w)[0]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_sparse_features_give_what_dense_ones_give(surrogate, dtype):
    q, rng = problem(dtype=dtype)
    sparse = dx.Queries.from_arrays(
        sp.csr_array(q.features), q.labels, qid=np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    )
    w = rng.standard_normal(q.n_features)
    dense_loss, dense_grad = dx.linear_objective(q, surrogate).value_and_grad(w)
    loss, grad = dx.linear_objective(sparse, surrogate).value_and_grad(w)
    # CSR scores are summed in float64 and rounded once, dense ones in float32.
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(loss, dense_loss, rtol=tolerance)
    np.testing.assert_allclose(grad, dense_grad, rtol=0, atol=tolerance * np.abs(dense_grad).max())


def test_float32_sums_do_not_drift_over_many_rows():
    """200,000 rows of gradient 1/3: a float32 sum would be off by 1e-4."""
    from directrix.models.rows import row_slice

    X = np.full((200_000, 2), 0.1, dtype=np.float32)
    g = np.full(200_000, 1 / 3, dtype=np.float32)
    got = LinearModel().backward(row_slice(X, 0, len(X)), g)
    np.testing.assert_allclose(got, X.astype(np.float64).T @ g.astype(np.float64), rtol=1e-6)


def test_same_bits_for_any_number_of_threads():
    q, rng = problem(n_queries=900, n_features=300, dtype=np.float32)
    w = rng.standard_normal(q.n_features)
    objective = dx.linear_objective(q, "ApproxNDCG")
    assert len(objective.source.parts) > 3
    results = []
    for n in (1, 2, 5):
        before = dx.set_threads(n)
        results.append(objective.value_and_grad(w))
        dx.set_threads(before)
    for loss, grad in results[1:]:
        assert loss == results[0][0]
        assert np.array_equal(grad, results[0][1])


def test_same_bits_however_many_gradients_are_kept_at_once(monkeypatch):
    """With many parameters the gradients of all parts would not fit into memory."""
    q, rng = problem(n_queries=3000, n_features=300, dtype=np.float32)
    w, objective = rng.standard_normal(q.n_features), dx.linear_objective(q, "ApproxNDCG")
    loss, grad = objective.value_and_grad(w)
    waves, each = [], Memory.gradients
    monkeypatch.setattr("directrix.objectives.source._FLOATS_AT_ONCE", 1)
    monkeypatch.setattr(Memory, "gradients", lambda *args: waves.append(len(args[2])) or each(*args))
    before = dx.set_threads(2)
    try:
        again, slope = objective.value_and_grad(w)
    finally:
        dx.set_threads(before)
    assert len(waves) > 2
    assert max(waves) == 4 * 2
    assert sum(waves) == len(objective.source.parts)
    assert (again, slope.tolist()) == (loss, grad.tolist())
    value, dscores = objective.surrogate.value_and_grad(q.features @ w.astype(np.float32), q.labels, q.qptr)
    np.testing.assert_allclose(loss, -value.mean(), rtol=1e-5)
    expected = -(q.features.T @ dscores.astype(float)) / q.n_queries
    np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    "model", [LinearModel(), dx.models.StumpModel([[0.0]] * 6)], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_models_refuse_parameters_of_another_length(model, kind):
    """A kernel would read past their end."""
    X = np.zeros((3, 6))
    q = dx.Queries.from_arrays(kind(X), [0, 1, 2], group=[3])
    for n in (0, 5, 7):
        with pytest.raises(dx.InputError, match=rf"params has shape \({n},\).*6"):
            make_objective(q, "ApproxNDCG", model).value_and_grad(np.ones(n))


@pytest.mark.parametrize(
    "call",
    [
        lambda o: o.value_and_grad(np.ones(50)),
        lambda o: o.value_and_grad(np.ones(3)),
        lambda o: o.scores(np.ones(3)),
        lambda o: o.sgd_epoch(np.ones(3), np.arange(5), 0.1),
        lambda o: dx.LBFGS().minimize(o, np.ones(7)),
    ],
)
def test_parameters_of_another_length_never_reach_a_kernel(call):
    q, _ = problem()
    with rejects(dx.InputError):
        call(dx.linear_objective(q, "ApproxNDCG"))


@pytest.mark.parametrize("queries", [[-1], [30], []])
def test_queries_that_are_not_there_never_reach_a_kernel(queries):
    objective = dx.linear_objective(problem()[0], "ApproxNDCG")
    for call in (
        lambda: objective.value_and_grad(np.ones(6), queries),
        lambda: objective.sgd_epoch(np.ones(6), np.array(queries, dtype=int), 0.1),
    ):
        with rejects(dx.InputError):
            call()


def test_an_objective_needs_a_query():
    with rejects(dx.InputError):
        dx.linear_objective(problem()[0].take([]), "ApproxNDCG")


@pytest.mark.parametrize("surrogate", ["ApproxNDCG(k=3)", "ApproxAP", "ApproxPrecision(k=2)"])
def test_kernels_see_document_weights_as_the_general_way_does(surrogate):
    q, rng = problem(dtype=np.float32)
    w, weight = rng.standard_normal(q.n_features), rng.random(q.n_docs)
    fused = dx.linear_objective(q, surrogate, doc_weight=weight)
    general = make_objective(q, surrogate, LinearModel(), doc_weight=weight)
    np.testing.assert_allclose(fused.value_and_grad(w)[0], general.value_and_grad(w)[0], rtol=1e-6)
    step, expected = w.copy(), w.copy()
    fused.sgd_epoch(step, np.array([4]), 0.5)
    expected -= 0.5 * general.value_and_grad(w, [4])[1]
    np.testing.assert_allclose(step, expected, rtol=1e-5)


def has_fused_epoch(objective, n_params):
    """Whether an epoch of one query is one kernel."""
    arguments = np.zeros(n_params), np.array([0]), 1, 0.05, objective.penalty
    return fused_epoch(objective.source, objective.surrogate, *arguments) is not None


FORCES = [
    "Lambda('AP')",
    "Lambda('nDCG@5', 'spring-smooth')",
    "Lambda('ERR', 'local-cost')",
    "Lambda('RR', pairs='misranked')",
    "Lambda(\"nDCG(ties='order')\", 'discrete-bounded')",
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("surrogate", FORCES)
@pytest.mark.parametrize(
    "model", [LinearModel(), MLPModel((3,), "tanh"), MLPModel((17,), "relu")], ids=["linear", "tanh", "relu"]
)
def test_an_epoch_of_forces_in_one_kernel_takes_the_steps_of_their_gradients(model, surrogate, dtype):
    q, rng = problem(dtype=dtype)
    n = q.n_features if isinstance(model, LinearModel) else model.n_params(q.n_features)
    start, center = 0.5 * rng.standard_normal((2, n))
    options = {"penalty": L2(0.01, center), "query_weight": rng.random(q.n_queries)}
    objective = make_objective(q, surrogate, model, **options)
    assert has_fused_epoch(objective, n)
    order = rng.permutation(q.n_queries)[:20]
    order[3] = order[7]  # a query may come twice
    fused, expected, losses = start.copy(), start.copy(), []
    loss = objective.sgd_epoch(fused, order, 0.05)
    for query in order:
        value, grad = objective.value_and_grad(expected, [query])
        losses.append(value)
        expected -= 0.05 * grad
    tolerance = 1e-10 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(loss, np.mean(losses), rtol=tolerance)
    np.testing.assert_allclose(fused, expected, rtol=0, atol=tolerance)
    assert np.abs(fused - start).max() > 0.01


@pytest.mark.parametrize(
    "model", [MLPModel((3, 2)), MLPModel((3,), dropout=0.5), MLPModel((3,), residual=True)], ids=str
)
def test_other_networks_take_the_general_way_with_forces(model):
    q, _ = problem()
    assert not has_fused_epoch(make_objective(q, "Lambda('AP')", model), model.n_params(q.n_features))


@pytest.mark.parametrize("model", [LinearModel(), MLPModel((3,))], ids=["linear", "network"])
def test_an_epoch_of_forces_refuses_another_number_of_parameters(model):
    q, _ = problem()
    objective = make_objective(q, "Lambda('AP')", model)
    for n in (5, 7):
        with pytest.raises(dx.InputError, match=rf"params has shape \({n},\)"):
            objective.sgd_epoch(np.zeros(n), np.arange(3), 0.1)


def test_scores_that_are_not_finite_end_an_epoch_of_forces_with_nan():
    q, _ = problem()
    params = np.full(q.n_features, 1e308)
    with np.errstate(all="ignore"):
        assert np.isnan(dx.linear_objective(q, "Lambda('AP')").sgd_epoch(params, np.arange(5), 0.1))
    assert np.isnan(params).all()


EPOCHS = [
    *SURROGATES, "ApproxERR", "ApproxPrecision(k=2)", "SmoothNDCG", "SoftNDCG", "LambdaLoss", "PLRank",
    "RankNet", "RankSVM", "ListNet", "ListMLE", "RankCosine", "Regression", "SVMMap",
    "PermuRank", "Dorm",
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("surrogate", EPOCHS)
def test_an_epoch_in_one_kernel_walks_the_path_of_the_composed_one(surrogate, batch, dtype):
    q, rng = problem(dtype=dtype)
    w0 = rng.standard_normal(q.n_features)
    objective = dx.linear_objective(q, surrogate, 0.01, w0=w0, query_weight=rng.random(q.n_queries))
    assert has_fused_epoch(objective, q.n_features)
    order = rng.permutation(q.n_queries)
    fused, composed = np.zeros(q.n_features), np.zeros(q.n_features)
    loss = objective.sgd_epoch(fused, order, 0.05, batch)

    def step(grad):
        composed[:] -= 0.05 * grad

    expected = objective.epoch(composed, order, batch, step)
    tolerance = 1e-10 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(loss, expected, rtol=tolerance)
    np.testing.assert_allclose(fused, composed, rtol=0, atol=tolerance)
    assert np.abs(fused).max() > 1e-4


def test_a_wrong_number_of_weights_ends_no_epoch_past_their_end():
    q, _ = problem()
    with pytest.raises(dx.InputError, match=r"params has shape \(5,\)"):
        dx.linear_objective(q, "ListNet").sgd_epoch(np.zeros(5), np.arange(3), 0.1)


class _Plain:
    """A user's surrogate: nothing but the contract."""

    properties = frozenset({"smooth"})

    def value_and_grad(self, scores, labels, qptr):
        value = np.add.reduceat(scores * labels, qptr[:-1])
        return value, np.asarray(labels, dtype=scores.dtype)


def test_a_surrogate_with_only_the_contract_is_enough():
    q, rng = problem()
    w = rng.standard_normal(q.n_features)
    loss, grad = dx.linear_objective(q, _Plain()).value_and_grad(w)
    np.testing.assert_allclose(loss, -(q.features @ w) @ q.labels / q.n_queries, rtol=1e-12)
    np.testing.assert_allclose(grad, -(q.features.T @ q.labels) / q.n_queries, rtol=1e-12)
    with pytest.raises(dx.InputError, match=r"takes no document weights.*query_weight"):
        dx.linear_objective(q, _Plain(), doc_weight=np.ones(q.n_docs))


@pytest.mark.parametrize(
    "change",
    [
        lambda value, grad: (value.mean(), grad),
        lambda value, grad: (value[:, None], grad),
        lambda value, grad: (value, grad[:1]),
        lambda value, grad: value,
    ],
)
def test_values_and_gradients_of_another_shape_are_refused(change):
    """NumPy would broadcast a mean, or one slope, to all queries of a chunk."""

    class Shaped(_Plain):
        def value_and_grad(self, scores, labels, qptr):
            return change(*super().value_and_grad(scores, labels, qptr))

        def __repr__(self):
            return "Shaped()"

    q = dx.Queries.from_arrays(np.eye(4), [0, 1, 1, 0], group=[2, 2])
    with rejects(dx.InputError):
        dx.linear_objective(q, Shaped()).value_and_grad(np.ones(4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"l2": -1.0}, r"l2=-1\.0.*>= 0"),
        ({"l2": float("nan")}, r"l2=nan"),
        ({"w0": [1.0]}, r"w0 has shape \(1,\).*\(6,\)"),
        ({"query_weight": [1.0]}, r"query_weight has shape \(1,\).*\(30,\)"),
        ({"query_weight": -np.ones(30)}, r"query_weight\[0\] is -1.*>= 0"),
        ({"query_weight": np.zeros(30)}, r"query_weight is zero everywhere"),
        ({"doc_weight": [np.nan]}, r"doc_weight has shape \(1,\)"),
        ({"query_weight": ["a"] * 30}, r"query_weight: not an array of numbers"),
        ({"l2": float("inf")}, r"l2=inf"),
        ({"l2": "1"}, r"l2='1'"),
    ],
)
def test_messages(arguments, message):
    q, _ = problem()
    with pytest.raises(dx.InputError, match=message):
        dx.linear_objective(q, "ApproxNDCG", **arguments)


def test_only_lambdas_and_random_surrogates_are_value_free():
    q, _ = problem()
    assert dx.linear_objective(q, "Lambda('AP')").value_free
    assert dx.linear_objective(q, "PLRank").value_free
    assert not dx.linear_objective(q, "ApproxAP").value_free


def test_an_epoch_of_any_surrogate_writes_into_its_parameters():
    q, _ = problem()
    with rejects(dx.InputError):
        dx.linear_objective(q, "Lambda('AP')").sgd_epoch([0.0] * q.n_features, np.arange(5), 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [None, 3])
def test_a_held_objective_is_convex_above_and_meets_the_loss(k, dtype):
    q, rng = problem(dtype=dtype, n_queries=1000, n_features=40)
    w, other, third = rng.standard_normal((3, q.n_features))
    objective = dx.linear_objective(q, dx.Dorm(k), 0.1, query_weight=rng.random(q.n_queries))
    assert len(objective.source.parts) > 1 or dtype == np.float32
    held = objective.convexified(w)
    (loss, grad), (expected, slope) = held.value_and_grad(w), objective.value_and_grad(w)
    assert loss == expected
    assert np.array_equal(grad, slope)
    for v in (other, third):
        assert held.value_and_grad(v)[0] > objective.value_and_grad(v)[0] + 1e-3
        assert held.value_and_grad(v)[0] >= loss + grad @ (v - w)
    chord = (held.value_and_grad(other)[0] + held.value_and_grad(third)[0]) / 2
    assert held.value_and_grad((other + third) / 2)[0] <= chord
    assert objective.value_and_grad(other)[0] < held.value_and_grad(other)[0]


def test_a_held_objective_is_held_in_every_way_of_asking():
    """Single queries, epochs, pickled copies, and copies that are held again elsewhere."""
    q, rng = problem()
    w, other = rng.standard_normal((2, q.n_features))
    objective = dx.linear_objective(q, "Dorm")
    objective.value_and_grad(other, queries=np.array([3]))  # leaves a part that is not held
    held = objective.convexified(w)
    loss, grad = held.value_and_grad(other)
    singles = [held.value_and_grad(other, queries=np.array([i])) for i in range(q.n_queries)]
    np.testing.assert_allclose(np.mean([s for s, _ in singles]), loss, rtol=1e-12)
    np.testing.assert_allclose(np.mean([g for _, g in singles], axis=0), grad, rtol=0, atol=1e-12)
    assert held.sgd_epoch(other.copy(), np.array([3]), 0.1) == singles[3][0]
    again = pickle.loads(pickle.dumps(held)).value_and_grad(other)
    assert (again[0], again[1].tolist()) == (loss, grad.tolist())
    elsewhere = held.convexified(other)
    assert elsewhere.value_and_grad(other)[0] == objective.value_and_grad(other)[0] < loss
    assert held.value_and_grad(other)[0] == loss


def test_only_what_can_be_held_is_held():
    q, _ = problem()
    for surrogate in ("ApproxNDCG", "Dorm(ties='mean')", "RankSVM"):
        with rejects(dx.InputError):
            dx.linear_objective(q, surrogate).convexified(np.zeros(q.n_features))


def test_a_surrogate_whose_held_data_would_not_be_used_is_refused():
    """Without `fill` there is no way to pass them: the loss would go on as if it were not held."""
    q, _ = problem()

    class Own:
        properties = dx.Dorm().properties
        measure = dx.NDCG()
        value_and_grad = staticmethod(dx.Dorm().value_and_grad)
        convexify = staticmethod(dx.Dorm().convexify)

    with pytest.raises(dx.InputError, match="take a KernelSurrogate with the property convexifiable"):
        dx.linear_objective(q, Own()).convexified(np.zeros(q.n_features))


@pytest.mark.parametrize("params", [np.zeros((2, 2)), 1.0, "text"])
def test_parameters_are_one_row_of_numbers(params):
    q = dx.data.make_cubic(n_queries=4, docs_per_query=5, n_features=4, seed=0)
    with rejects(dx.InputError):
        dx.linear_objective(q, "RankNet").value_and_grad(params)
