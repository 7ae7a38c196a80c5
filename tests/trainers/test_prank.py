"""PRank does what the loop of its paper does, and keeps what the paper proves."""

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.trainers._kernels.prank import dense_pass
from tests.reference import prank as reference


def problem(seed, *, levels=4, sizes=(5, 1, 8, 6), separable=False):
    """Features whose products are exact in float32, and labels that thresholds separate or not."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (sum(sizes), 3)) / 4.0
    score = X @ np.array([1.0, -2.0, 0.5])
    y = np.digitize(score, [-1.1, 0.1, 1.1]) if separable else rng.integers(0, levels, len(X))
    return dx.Queries.from_arrays(X, y * 2.0, group=list(sizes))


def trained(q, **settings):
    return dx.trainers.PRank(**settings).minimize(dx.linear_objective(q, "RankNet"), np.ones(q.n_features))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("separable", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_loop_of_the_paper(seed, separable, form):
    q = problem(seed, separable=separable)
    q = dx.Queries.from_arrays(form(q.features.astype(np.float64)), q.labels, group=np.diff(q.qptr))
    result = trained(q, epochs=3, random_state=seed)
    passes, rng = result.counts["iterations"], np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(q.n_docs) for _ in range(passes)])
    rows = q.features.toarray() if sp.issparse(q.features) else q.features
    ranks = np.unique(q.labels, return_inverse=True)[1] + 1
    w, b, loss = reference.train([(rows[i].tolist(), ranks[i]) for i in order], ranks.max())
    assert result.params.tolist() == w
    assert result.counts["errors"] == loss
    predicted = np.array([reference.predict(row, w, [*b, np.inf]) for row in rows.tolist()])
    assert result.value == np.abs(predicted - ranks).mean()


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_remain_in_order(seed):
    """Lemma 1: after every single document."""
    q = problem(seed, levels=5)
    w, thresholds = np.zeros(3), np.zeros(4)
    levels = np.unique(q.labels, return_inverse=True)[1].astype(np.int64)
    for i in np.random.default_rng(seed).integers(0, q.n_docs, 300):
        dense_pass(q.features, levels, np.array([i]), w, thresholds)
        assert (np.diff(thresholds) >= 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_errors_stay_below_the_bound_of_theorem_2(seed):
    """For labels that thresholds separate, with the margin of the w and b that made them."""
    q = problem(seed, separable=True, sizes=(30, 30))
    result = trained(q, epochs=2000, random_state=seed)
    w, b = np.array([1.0, -2.0, 0.5]), np.array([-1.1, 0.1, 1.1])
    distances = np.abs((q.features @ w)[:, None] - b)
    margin = distances.min() / np.sqrt(w @ w + b @ b)  # (w, b) of length 1, as in the proof
    radius = (q.features**2).sum(axis=1).max()
    assert 0 < result.counts["errors"] <= 3 * (radius + 1) / margin**2
    assert (result.status, result.message) == ("converged", "a pass made no error")
    assert result.value == 0.0


def test_it_ranks_separable_labels_perfectly_as_a_method():
    q = problem(3, separable=True, sizes=(20, 20))
    ranker = dx.method("PRank").ranker(epochs=2000).fit_queries(q)
    scores = ranker.predict_queries(q)
    assert dx.evaluate("nDCG", scores, q.labels, qptr=q.qptr)["nDCG"] == pytest.approx(1.0, abs=1e-12)


def test_one_label_leaves_nothing_to_learn():
    q = dx.Queries.from_arrays(np.eye(3), np.ones(3), group=[3])
    result = trained(q)
    assert (result.status, result.counts["errors"], result.value) == ("converged", 0, 0.0)
    assert not result.params.any()


@pytest.mark.parametrize(
    ("weights", "name"),
    [({"query_weight": [1, 2, 1, 1]}, "query_weight"), ({"doc_weight": np.arange(20.0)}, "sample_weight")],
)
def test_weights_are_refused(weights, name):
    objective = dx.linear_objective(problem(0), "ApproxNDCG", **weights)
    with pytest.raises(dx.InputError, match=rf"{name}: PRank corrects .*takes no weights.*Regression"):
        dx.trainers.PRank().minimize(objective, np.zeros(3))
