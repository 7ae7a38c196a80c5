"""The perceptron: scores are the formula, the gradient is the slope, for dense and sparse rows."""

import itertools
import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS is counted from the start
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import directrix as dx
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.rows import row_slice
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from directrix.threads import one_blas_thread

MODELS = [
    MLPModel(),
    MLPModel((3,), "tanh"),
    MLPModel((4, 5), "tanh"),
    MLPModel((6, 2, 3)),
    MLPModel(()),
    MLPModel((4,), residual=True),
    MLPModel((4, 4, 3, 3), "tanh", residual=True),
    MLPModel((5, 5, 2), residual=True),
    MLPModel((), residual=True),
]
N_FEATURES = 7


def rows(n=60, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES)).astype(dtype)
    X[rng.random(X.shape) < 0.4] = 0
    return X, rng


def parameters(model, rng):
    return parameters_of(model, N_FEATURES, rng)


def parameters_of(model, n_features, rng):
    return rng.standard_normal(model.n_params(n_features))


def score(model, params, x):
    """One row, number by number, from the formula in the docstring."""
    at, a = 0, list(x)
    for width in model.hidden:
        n_in = len(a)
        weights = params[at : at + n_in * width]
        bias = params[at + n_in * width : at + n_in * width + width]
        z = [sum(a[i] * weights[i * width + o] for i in range(n_in)) + bias[o] for o in range(width)]
        phi = [np.tanh(v) if model.activation == "tanh" else max(v, 0.0) for v in z]
        first, skips = at == 0, model.residual and n_in == width
        a = [new + old for new, old in zip(phi, a, strict=True)] if skips and not first else phi
        at += n_in * width + width
    inputs = [*a, *x] if model.residual else a
    return sum(v * w for v, w in zip(inputs, params[at:], strict=True))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_scores_are_the_formula(model):
    X, rng = rows()
    params = parameters(model, rng)
    scores, _ = model.forward(params, row_slice(X, 0, len(X)))
    np.testing.assert_allclose(scores, [score(model, params, x) for x in X], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_gradient_is_the_slope_in_every_parameter(model, kind):
    X, rng = rows()
    X, params, g = row_slice(kind(X), 0, len(X)), parameters(model, rng), rng.standard_normal(len(X))
    grad = model.backward(model.forward(params, X)[1], g)
    assert grad.dtype == np.float64
    h = 1e-6
    for p in range(len(params)):
        step = np.zeros(len(params))
        step[p] = h
        slope = (model.forward(params + step, X)[0] - model.forward(params - step, X)[0]) @ g / (2 * h)
        np.testing.assert_allclose(grad[p], slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "model",
    [MLPModel((6,), a, residual=r, dropout=0.4) for a in ("relu", "tanh") for r in (False, True)]
    + [MLPModel((5, 5), "tanh", residual=True, dropout=0.4), MLPModel((5, 5), residual=True, dropout=0.4)],
    ids=repr,
)
def test_gradient_is_the_slope_with_the_units_of_a_seed_dropped(model):
    X, rng = rows()
    X, params, g = row_slice(X, 0, len(X)), parameters(model, rng), rng.standard_normal(len(X))
    grad = model.backward(model.forward(params, X, seed=3)[1], g)
    for p in range(len(params)):
        step = np.zeros(len(params))
        step[p] = 1e-6
        up, down = (model.forward(params + sign * step, X, seed=3)[0] for sign in (1, -1))
        np.testing.assert_allclose(grad[p], (up - down) @ g / 2e-6, rtol=1e-6, atol=1e-7)


def test_dropout_drops_its_share_and_keeps_the_mean():
    """With output weights 1 and inputs of 1 the score is the number of units that are kept, rescaled."""
    model, n = MLPModel((200,), dropout=0.3), 400
    params = np.concatenate([np.full(200, 1.0), np.zeros(200), np.ones(200)])
    X = np.ones((n, 1))
    scores = model.forward(params, X, seed=(1, 2))[0]
    kept = scores * 0.7 / 200
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / (200 * n))
    assert 0.5 < kept.std() / np.sqrt(0.21 / 200) < 1.5
    assert np.array_equal(scores, model.forward(params, X, seed=(1, 2))[0])
    assert not np.array_equal(scores, model.forward(params, X, seed=(1, 3))[0])


def test_without_a_seed_nothing_is_dropped():
    X, rng = rows()
    model = MLPModel((4, 4), residual=True, dropout=0.5)
    params = parameters(model, rng)
    scores = MLPModel((4, 4), residual=True).forward(params, X)[0]
    assert np.array_equal(model.forward(params, X)[0], scores)
    assert not np.array_equal(model.forward(params, X, seed=0)[0], scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_sparse_rows_give_what_dense_ones_give_and_the_dtype_is_that_of_the_features(model, dtype):
    X, rng = rows(dtype=dtype)
    params, g = parameters(model, rng), rng.standard_normal(40).astype(dtype)
    found = []
    for features in (X, sp.csr_array(X)):
        scores, cache = model.forward(params, row_slice(features, 5, 45))
        assert scores.dtype == dtype
        found.append((scores, model.backward(cache, g)))
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=0, atol=tolerance * np.abs(dense).max())


def test_rows_cut_in_two_give_what_they_give_together():
    (X, rng), model = rows(2049), MLPModel((4,), "tanh")
    params, g = parameters(model, rng), rng.standard_normal(2049)
    scores, cache = model.forward(params, row_slice(X, 0, 2049))
    grad = model.backward(cache, g)
    cuts = [(a, b, *model.forward(params, row_slice(X, a, b))) for a, b in ((0, 1000), (1000, 2049))]
    np.testing.assert_allclose(np.concatenate([s for _, _, s, _ in cuts]), scores, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        sum(model.backward(cache, g[a:b]) for a, b, _, cache in cuts), grad, rtol=1e-11, atol=1e-11
    )


def test_without_hidden_layers_it_is_the_linear_model():
    X, rng = rows()
    w, g = rng.standard_normal((2, N_FEATURES)), rng.standard_normal(len(X))
    found = []
    for model in (MLPModel(()), LinearModel()):
        scores, cache = model.forward(w[0], row_slice(X, 0, len(X)))
        found.append((scores, model.backward(cache, g)))
    for mine, linear in zip(*found, strict=True):
        np.testing.assert_allclose(mine, linear, rtol=1e-12, atol=1e-12)


def test_float32_sums_do_not_drift_over_many_rows():
    """A bias sums 300,000 rows of gradient 1/3: in float32 it would be off by 1e-3 or stand still."""
    X, model = np.full((300_000, 2), 0.1, dtype=np.float32), MLPModel((1,), "relu")
    params = np.array([1.0, 1.0, 1.0, 1.0])
    _, cache = model.forward(params, row_slice(X, 0, len(X)))
    grad = model.backward(cache, np.full(len(X), 1 / 3, dtype=np.float32))
    third = float(np.float32(1 / 3))
    np.testing.assert_allclose(grad[2], 300_000 * third, rtol=1e-7)
    np.testing.assert_allclose(grad[:2], 300_000 * third * float(np.float32(0.1)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_numpy(dtype):
    """Rows, features and units that fill tiles and vectors, and that do not."""
    rng, tolerance = np.random.default_rng(0), 2e-6 if dtype == np.float32 else 1e-14
    for n, d, k in itertools.product((1, 8, 131), (1, 3, 4, 8, 13, 21), (1, 16, 37)):
        X, W = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((d, k)).astype(dtype)
        g, v = rng.standard_normal(n).astype(dtype), rng.standard_normal(k).astype(dtype)
        params = np.concatenate([W.ravel(), np.full(k, 100.0), v]).astype(float)  # no unit of relu is 0
        scores, cache = MLPModel((k,)).forward(params, row_slice(X, 0, n))
        grad = MLPModel((k,)).backward(cache, g)
        units, terms = X.astype(float) @ W.astype(float) + 100.0, np.abs(g).sum()
        np.testing.assert_allclose(scores, units @ v, rtol=0, atol=tolerance * 100 * np.abs(v).sum())
        wanted = np.outer(X.astype(float).T @ g, v)
        np.testing.assert_allclose(
            grad[: d * k].reshape(d, k), wanted, rtol=0, atol=tolerance * 10 * terms * np.abs(v).max()
        )
        np.testing.assert_allclose(grad[-k:], units.T @ g, rtol=0, atol=tolerance * 200 * terms)


def on_the_edge(model, params, X):
    """Rows with a unit of relu whose sign float32 and float64 see differently."""
    (_, _, single), (_, _, double) = (
        model.forward(params, row_slice(X.astype(t), 0, len(X)), seed=5)[1] for t in (np.float32, np.float64)
    )
    edge = np.zeros(len(X), dtype=bool)
    for width, (a, _), (b, _) in zip(model.hidden, single, double, strict=True):
        edge |= ((a[:, :width] > 0) != (b[:, :width] > 0)).any(axis=1)
    return edge & (model.activation == "relu")


@pytest.mark.parametrize("n", [1, 3, 127, 128, 129, 5000])
@pytest.mark.parametrize(
    "model",
    [
        MLPModel((10,)),
        MLPModel((64, 32)),
        MLPModel((17, 16, 1), "tanh"),
        MLPModel((33, 33), residual=True, dropout=0.3),
        MLPModel((33, 33), "tanh", residual=True, dropout=0.3),
    ],
    ids=repr,
)
def test_float32_gradients_are_within_1e_5_of_float64(model, n):
    """Relative to the largest component of each layer.

    A sum of d products in float32 is off by at most d 2^-24 of the sum of their magnitudes, and as roundings
    have either sign by about sqrt(d) 2^-24: 1e-6 for the 128 rows between two moves to float64, or for 150
    features; three layers, and signs that cancel, multiply it by a few. A sum over all 5,000 rows in float32
    would be off by more. A unit of relu whose input is 0 up to rounding may fall on either side of it, which
    changes the gradient by one row's share; such rows are left out.
    """
    rng, d = np.random.default_rng(7), 151
    X = rng.standard_normal((n, d))
    params = model.start(d, rng) + 0.05 * rng.standard_normal(model.n_params(d))
    X, params = (v.astype(np.float32).astype(np.float64) for v in (X, params))
    g = rng.standard_normal(n).astype(np.float32)
    g[on_the_edge(model, params, X)] = 0
    grads, scores = [], []
    for dtype in (np.float32, np.float64):
        s, cache = model.forward(params, row_slice(X.astype(dtype), 0, n), seed=5)
        scores.append(s)
        grads.append(model.backward(cache, g.astype(dtype)))
    assert scores[0].dtype == np.float32
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-5 * np.abs(scores[1]).max())
    for single, double in zip(*(model.layers(grad, d) for grad in grads), strict=True):
        for a, b in zip(single, double, strict=True):
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(double.weights).max())


def test_a_row_has_the_same_bits_among_any_others():
    """Tiles of several rows and single rows add up in the same order."""
    model, rng = MLPModel((20, 20), residual=True), np.random.default_rng(0)
    X = rng.standard_normal((300, 30)).astype(np.float32)
    params = model.start(30, rng)
    scores = model.forward(params, row_slice(X, 0, 300))[0]
    for first, last in ((0, 1), (5, 12), (17, 300), (131, 140)):
        assert np.array_equal(model.forward(params, row_slice(X, first, last))[0], scores[first:last])


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_values_that_are_not_finite_stay_in_their_rows(activation):
    """Columns that fill up a vector must not turn them into NaN."""
    model, rng = MLPModel((3,), activation), np.random.default_rng(0)
    X = rng.standard_normal((20, 4)).astype(np.float32)
    X[3, 1], X[9, 2] = -np.inf, np.nan
    params = np.abs(parameters_of(model, 4, rng))
    scores = model.forward(params, row_slice(X, 0, 20))[0]
    w = params[-3:]
    assert scores[3] == (0.0 if activation == "relu" else np.float32(-w.astype(np.float32).sum()))
    assert np.flatnonzero(np.isnan(scores)).tolist() == [9]


def test_a_shift_of_nothing_there_is_no_output_bias():
    """All inputs of the output layer 0: the score is 0, whatever the parameters."""
    model = MLPModel((3,))
    params = parameters(model, np.random.default_rng(0))
    params[7 * 3 : 7 * 3 + 3] = 0.0
    assert model.forward(params, np.zeros((2, N_FEATURES)))[0].tolist() == [0.0, 0.0]


def test_start_is_glorot_uniform_and_belongs_to_its_seed():
    model = MLPModel((300, 200))
    params = model.start(100, np.random.default_rng(5))
    assert len(params) == 100 * 300 + 300 + 300 * 200 + 200 + 200
    assert [layer.bias is None for layer in model.layers(params, 100)] == [False, False, True]
    for layer in model.layers(params, 100):
        limit = np.sqrt(6 / sum(layer.weights.shape))
        assert 0.97 * limit < np.abs(layer.weights).max() <= limit
        assert layer.bias is None or not layer.bias.any()
        np.testing.assert_allclose(layer.weights.std(), limit / np.sqrt(3), rtol=0.1)
    assert np.array_equal(params, model.start(100, np.random.default_rng(5)))
    assert not np.array_equal(params, model.start(100, np.random.default_rng(6)))


def problem(dtype=np.float32, n_features=60):
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 80, size=600)
    X = rng.standard_normal((sizes.sum(), n_features)).astype(dtype)
    labels = (X[:, 0] * X[:, 1] > 0.5).astype(float)
    return dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(600), sizes))


@pytest.mark.parametrize("hidden", [(10,), (64, 32)])
def test_same_bits_for_any_number_of_threads(hidden):
    q, model = problem(n_features=120), MLPModel(hidden)
    params = model.start(q.n_features, np.random.default_rng(0))
    objective = make_objective(q, "ApproxNDCG", model)
    assert len(objective.source.parts) > 2
    results = []
    for n in (1, 2, 5):
        before = dx.set_threads(n)
        results.append(objective.value_and_grad(params))
        dx.set_threads(before)
    for loss, grad in results[1:]:
        assert loss == results[0][0]
        assert np.array_equal(grad, results[0][1])


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", "SmoothNDCG(sigma=1.0)"])
def test_an_epoch_drops_the_same_units_for_any_number_of_threads_and_others_in_the_next(surrogate):
    q, model = problem(n_features=120), MLPModel((700, 700), residual=True, dropout=0.2)
    objective = make_objective(q, surrogate, model)
    params, rng = model.start(q.n_features, np.random.default_rng(0)), np.random.default_rng(1)
    orders = [rng.permutation(60), rng.permutation(60)]
    assert len(objective.source.batches(orders[0])(0, 30)) > 1  # shared among threads

    def grads(order):
        kept = []
        objective.epoch(params, order, 30, lambda grad: kept.append(grad.copy()))
        return kept

    found = []
    for n in (1, 3):
        before = dx.set_threads(n)
        found.append([*grads(orders[0]), *grads(orders[1])])
        dx.set_threads(before)
    assert all(np.array_equal(one, two) for one, two in zip(*found, strict=True))
    twice = grads(np.tile(orders[0][:30], 2))
    assert not np.array_equal(*twice)  # the same queries in another batch
    other = np.append(orders[0][:30], orders[0][:29:-1])
    assert not np.array_equal(grads(other)[0], found[0][0])  # the same batch in another epoch
    all_units = make_objective(q, surrogate, MLPModel((700, 700), residual=True))
    mean = [o.value_and_grad(params, orders[0][:30])[1] for o in (objective, all_units)]
    assert np.array_equal(*mean)
    assert not np.array_equal(mean[0], found[0][0])


def test_the_loss_has_its_slope_over_queries_and_over_some_of_them():
    q, model = problem(np.float64, 5), MLPModel((4,))
    rng = np.random.default_rng(0)
    params = model.start(q.n_features, rng)
    direction = rng.standard_normal(len(params))
    objective = make_objective(q, "ApproxNDCG(alpha=3.0)", model, penalty=L2(0.01))
    for some in (None, np.array([3, 500, 3])):
        up, down = (objective.value_and_grad(params + h * direction, some)[0] for h in (1e-6, -1e-6))
        _, grad = objective.value_and_grad(params, some)
        np.testing.assert_allclose(grad @ direction, (up - down) / 2e-6, rtol=1e-6)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_in_the_products_and_its_own_number_after_them():
    seen = []

    class Watched(MLPModel):
        def forward(self, params, X):
            seen.append(blas_threads())
            return super().forward(params, X)

    before, model = blas_threads(), Watched((2,))
    q = problem(n_features=120)
    make_objective(q, "ApproxNDCG", model).value_and_grad(model.start(q.n_features, np.random.default_rng(0)))
    assert len(seen) > 2
    assert {n for threads in seen for n in threads} == {1}
    assert blas_threads() == before


def test_an_epoch_a_query_a_step_and_scores_have_one_blas_thread_too():
    seen = []

    class Watched(MLPModel):
        def forward(self, params, X):
            seen.append(set(blas_threads()))
            return super().forward(params, X)

    q, model = problem(), Watched((2,))
    objective, params = (
        make_objective(q, "ApproxNDCG", model),
        model.start(q.n_features, np.random.default_rng(0)),
    )
    objective.sgd_epoch(params, np.arange(3), 0.1)
    objective.scores(params)
    assert seen == [{1}] * 4


def test_the_last_to_leave_gives_blas_its_threads_back():
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_any_thread_may_enter_and_any_may_be_the_last_to_leave():
    """Some versions of threadpoolctl listen to one thread alone; joblib's threads train at the same time."""
    before, seen = blas_threads(), []
    threadpool_limits(before[0], user_api="blas")  # the main thread was the first to set a limit

    def train():
        for _ in range(20):
            with one_blas_thread():
                seen.append(set(blas_threads()))

    threads = [threading.Thread(target=train) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}] * 60
    assert blas_threads() == before
    here, left = one_blas_thread(), threading.Event()
    inside = threading.Event()

    def stay():
        with one_blas_thread():
            inside.set()
            left.wait(5)

    other = threading.Thread(target=stay)
    here.__enter__()
    other.start()
    inside.wait(5)
    here.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    left.set()
    other.join()
    assert blas_threads() == before


def test_other_limits_are_heard_while_a_thread_lives_that_had_one_here():
    before, done, end = blas_threads(), threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            pass
        done.set()
        end.wait(5)

    other = threading.Thread(target=stay)
    other.start()
    done.wait(5)
    try:
        with threadpool_limits(1, user_api="blas"):
            assert set(blas_threads()) == {1}
    finally:
        end.set()
        other.join()
    assert blas_threads() == before


def test_an_error_inside_gives_blas_its_threads_back():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_wide_networks_take_fewer_rows_a_part():
    q = problem()
    narrow, wide = (len(make_objective(q, "ApproxNDCG", MLPModel((n,))).source.parts) for n in (10, 600))
    assert wide > 5 * narrow


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MLPModel((0,)), r"hidden=\(0,\).*>= 1"),
        (lambda: MLPModel(10), r"hidden=10.*e\.g\. hidden=\(10,\)"),
        (lambda: MLPModel((2.5,)), r"hidden=\(2\.5,\)"),
        (lambda: MLPModel((True,)), r"hidden=\(True,\)"),
        (lambda: MLPModel(activation="sine"), r"activation='sine': type 'relu' or 'tanh'"),
        (lambda: MLPModel(dropout=1.0), r"MLPModel\(dropout=1\.0\).*>= 0 and < 1"),
        (lambda: MLPModel((2,)).forward(np.zeros(3), np.zeros((1, 4))), r"shape \(3,\).*has 12 parameters"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()
