"""Labels that are gains of any sign, and weights of documents in losses over pairs, against plain loops."""

import itertools

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.measures.dcg import DCG
from directrix.measures.line_search import LineSearch
from directrix.trainers.regression import regression_start

GAINS = [
    DCG(k=4, gain="linear"),
    DCG(k=3, gain="linear", discount="none"),
    DCG(gain="linear", discount="position"),
]


@pytest.fixture(scope="module")
def clicked() -> dx.Queries:
    rng = np.random.default_rng(5)
    sizes = rng.integers(2, 14, 30)
    X = rng.normal(size=(sizes.sum(), 4))
    gains = X @ [1.0, -0.5, 0.2, 0.0] + rng.normal(size=len(X))
    return dx.Queries.from_arrays(X, gains, group=sizes, counts=rng.integers(1, 9, len(X)))


def parts(q):
    return [(q.labels[a:b], slice(a, b)) for a, b in itertools.pairwise(q.qptr)]


@pytest.mark.parametrize("measure", GAINS, ids=lambda m: m.name)
def test_a_measure_adds_up_gains_of_any_sign(clicked, measure):
    scores = np.round(np.random.default_rng(0).normal(size=clicked.n_docs), 1)  # some tie
    value = measure(scores, clicked.labels, clicked.qptr)
    for q, (gains, docs) in enumerate(parts(clicked)):
        k, means = measure.k or len(gains), []
        orders = [
            np.argsort(-scores[docs] + 1e-9 * noise)
            for noise in np.random.default_rng(1).random((4000, len(gains)))
        ]
        ranks = np.arange(1.0, k + 1.0)
        discount = {"log2": 1 / np.log2(1 + ranks), "none": np.ones(k), "position": -ranks}[measure.discount]
        means = [np.dot(gains[order[:k]], discount[: len(gains)]) for order in orders]
        assert value[q] == pytest.approx(np.mean(means), abs=5 * np.std(means) / 4000**0.5 + 1e-12)


@pytest.mark.parametrize("measure", GAINS, ids=lambda m: m.name)
def test_the_line_search_follows_it_where_gains_add_up_to_less_than_0(clicked, measure):
    rng = np.random.default_rng(4)
    scores, direction = rng.normal(size=clicked.n_docs), rng.normal(size=clicked.n_docs)
    at, value = LineSearch(measure, clicked.labels, clicked.qptr).pieces(scores, direction)
    assert min(np.add.reduceat(clicked.labels, clicked.qptr[:-1])) < 0
    for i in rng.integers(1, len(at), 20):
        between = scores + (at[i - 1] + at[i]) / 2 * direction
        assert value[i] == pytest.approx(measure(between, clicked.labels, clicked.qptr).mean(), abs=1e-9)


@pytest.mark.parametrize("measure", GAINS, ids=lambda m: m.name)
def test_the_smooth_form_tends_to_it_and_has_its_gradient(clicked, measure):
    rng = np.random.default_rng(2)
    scores, direction = rng.permutation(clicked.n_docs) / 20.0, rng.normal(size=clicked.n_docs)
    exact = measure(scores, clicked.labels, clicked.qptr)
    surrogate = dx.ApproxMeasure(measure, alpha=2.0)
    value, grad = surrogate.value_and_grad(scores, clicked.labels, clicked.qptr)
    up, down = (
        surrogate.value_and_grad(scores + h * direction, clicked.labels, clicked.qptr)[0].sum()
        for h in (1e-6, -1e-6)
    )
    assert (up - down) / 2e-6 == pytest.approx(grad @ direction, rel=1e-5)
    near = surrogate.at(1e-7).value_and_grad(scores, clicked.labels, clicked.qptr)[0]
    assert near == pytest.approx(exact, abs=1e-4)
    assert value != pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("measure", GAINS, ids=lambda m: m.name)
def test_lambdas_are_those_of_all_pairs(clicked, measure):
    scores = np.random.default_rng(3).normal(size=clicked.n_docs)
    value, grad = dx.Lambda(measure).value_and_grad(scores, clicked.labels, clicked.qptr)
    assert value == pytest.approx(measure(scores, clicked.labels, clicked.qptr), abs=1e-12)
    expected = np.zeros(clicked.n_docs)
    for gains, docs in parts(clicked):
        order = np.argsort(-scores[docs])
        discount = np.zeros(len(gains))
        discount[order] = measure.discounts(len(gains)) * (np.arange(len(gains)) < measure.depth)
        for i, j in itertools.permutations(range(len(gains)), 2):
            if gains[i] > gains[j]:
                change = (gains[i] - gains[j]) * abs(discount[i] - discount[j])
                force = change / (1 + np.exp(scores[docs][i] - scores[docs][j]))
                expected[docs][i] += force
                expected[docs][j] -= force
    assert grad == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("measure", GAINS, ids=lambda m: m.name)
def test_gradients_are_linear_in_gains_and_lambdas_are_not(clicked, measure):
    rng = np.random.default_rng(6)
    scores, noise = rng.normal(size=clicked.n_docs), rng.normal(size=clicked.n_docs)

    def bias(surrogate):
        at = [
            surrogate.value_and_grad(scores, clicked.labels + c * noise, clicked.qptr)[1] for c in (-1, 0, 1)
        ]
        return np.abs(at[0] / 2 + at[2] / 2 - at[1]).max()

    linear = dx.ApproxMeasure(measure), dx.Regression(target="labels")
    assert max(map(bias, linear)) < 1e-9
    assert bias(dx.Lambda(measure)) > 0.1


def test_regression_predicts_the_gains_themselves():
    scores, gains, qptr = np.array([0.5, -1.0, 2.0]), np.array([-0.5, 3.0, 0.0]), np.array([0, 3])
    value, grad = dx.Regression(intercept=False, target="labels").value_and_grad(scores, gains, qptr)
    assert value[0] == pytest.approx(-np.mean((scores - gains) ** 2))
    assert grad == pytest.approx(-2 * (scores - gains) / 3)


@pytest.mark.parametrize("surrogate", [dx.RankSVM(), dx.RankNet()], ids=repr)
@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_pairs_have_the_weight_of_the_better_document(surrogate, spread):
    rng = np.random.default_rng(8)
    qptr = np.array([0, 9, 9, 10, 26])
    labels, scores = rng.integers(0, 3, 26).astype(float), spread * rng.normal(size=26)
    weight = rng.uniform(0.2, 5.0, 26)
    loss = {
        "RankSVM": (lambda d: max(0.0, 1 - d) ** 2, lambda d: 2 * max(0.0, 1 - d)),
        "RankNet": (lambda d: np.logaddexp(0, -d), lambda d: 1 / (1 + np.exp(min(d, 700.0)))),
    }[type(surrogate).__name__]
    for weights in (weight, np.ones(26)):
        prepared = surrogate.prepare(labels, qptr, None if weights is not weight else weights)
        value, grad = surrogate.fill_all(scores, prepared, qptr)
        total, expected = np.zeros(4), np.zeros(26)
        for q, (lo, hi) in enumerate(itertools.pairwise(qptr)):
            pairs = [(i, j) for i, j in itertools.permutations(range(lo, hi), 2) if labels[i] > labels[j]]
            for i, j in pairs:
                total[q] -= weights[i] * loss[0](scores[i] - scores[j]) / len(pairs)
                force = weights[i] * loss[1](scores[i] - scores[j]) / len(pairs)
                expected[i] += force
                expected[j] -= force
        assert value == pytest.approx(total, rel=1e-9)
        assert grad == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_gains_travel_with_their_counts(clicked):
    some = clicked.take([3, 1])
    assert "gains -" in repr(clicked)
    assert np.array_equal(
        some.counts,
        np.r_[clicked.counts[slice(*clicked.qptr[3:5])], clicked.counts[slice(*clicked.qptr[1:3])]],
    )
    rows = np.random.default_rng(0).permutation(clicked.n_docs)
    qid = np.repeat(np.arange(clicked.n_queries), np.diff(clicked.qptr))
    mixed = dx.Queries.from_arrays(
        clicked.features[rows], clicked.labels[rows], qid=qid[rows], counts=clicked.counts[rows]
    )
    assert np.array_equal(mixed.counts, clicked.counts[rows][mixed.rows])
    assert (
        mixed.digest
        != dx.Queries.from_arrays(
            clicked.features[rows], clicked.labels[rows], qid=qid[rows], counts=np.ones(len(rows))
        ).digest
    )


@pytest.mark.parametrize(
    "ranker",
    [
        dx.LinearRanker(dx.ApproxMeasure(GAINS[0])),
        dx.LinearRanker(dx.Regression(target="labels")),
        dx.BoostedRanker(dx.YetiRank(GAINS[0]), n_trees=40, min_data_in_leaf=5),
        dx.MLPRanker(dx.ApproxMeasure(GAINS[0]), random_state=0),
    ],
    ids=lambda r: f"{type(r).__name__} {type(r.surrogate).__name__}",
)
def test_rankers_learn_from_gains(clicked, ranker):
    ranker.fit_queries(clicked, measure=GAINS[0])
    truth = clicked.features @ [1.0, -0.5, 0.2, 0.0]
    value, best, worst = (
        GAINS[0](scores, truth, clicked.qptr).mean()
        for scores in (ranker.predict_queries(clicked), truth, -truth)
    )
    assert value > worst + 0.75 * (best - worst)


def test_gains_may_be_larger_than_any_grade(clicked):
    large = dx.Queries.from_arrays(
        clicked.features, 1e3 * clicked.labels, group=np.diff(clicked.qptr), counts=clicked.counts
    )
    of = dx.ApproxMeasure(GAINS[0])
    one, other = (dx.LinearRanker(of, max_iter=3).fit_queries(q) for q in (clicked, large))
    assert np.corrcoef(one.coef_, other.coef_)[0, 1] > 0.99


def test_boosters_train_on_gains_by_the_same_trees(clicked):
    lightgbm = pytest.importorskip("lightgbm")
    surrogate = dx.ApproxMeasure(GAINS[0])
    ours = dx.BoostedRanker(surrogate, n_trees=5, min_data_in_leaf=5).fit_queries(clicked)
    settings = {"learning_rate": 0.05, "lambda_l2": 20, "max_bin": 127, "min_data_in_leaf": 5, "verbose": -1}
    settings |= {"objective": dx.interop.lightgbm.objective(surrogate), "force_row_wise": True}
    data = lightgbm.Dataset(clicked.features, clicked.labels, group=np.diff(clicked.qptr))
    theirs = lightgbm.train(settings, data, num_boost_round=5)
    # LightGBM keeps labels in single precision
    assert theirs.predict(clicked.features) == pytest.approx(ours.predict_queries(clicked), rel=1e-5)


def test_a_regression_on_gains_has_the_counts_as_weights(clicked):
    X, w = clicked.features, clicked.counts
    center = w @ X / w.sum()
    expected = np.linalg.solve(
        (X - center).T @ (w[:, None] * (X - center)) + np.eye(4),
        (X - center).T @ (w * (clicked.labels - w @ clicked.labels / w.sum())),
    )
    assert regression_start(clicked) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda q: dx.LinearRanker("ApproxNDCG").fit_queries(q),
        lambda q: dx.LinearRanker("RankSVM").fit_queries(q),
        lambda q: dx.BoostedRanker().fit_queries(q),
        lambda q: dx.BoostedRanker("lambdarank").fit_queries(q),
        lambda q: dx.LinearRanker(dx.ApproxMeasure(GAINS[0])).fit_queries(q, q.take([1, 2]), measure="nDCG"),
        lambda q: dx.LinearRanker(dx.ApproxMeasure(dx.measure("DCG@4"))).fit_queries(q),
        lambda q: dx.experiments.cross_validate(dx.experiments.k_fold_splits(q, k=3), "ApproxNDCG"),
        lambda q: dx.AutoRanker("nDCG@10").fit_queries(q),
    ],
)
def test_what_does_not_add_gains_up_is_refused(clicked, use):
    with pytest.raises(InputError, match=r"mean gains of impressions.*DCG\(gain=linear\)@10"):
        use(clicked)


def test_a_judgment_below_zero_is_refused_as_ever():
    for use in (
        lambda: dx.Queries.from_arrays([[0.0]], [-1.0], group=[1]),
        lambda: dx.evaluate(["nDCG", "DCG(gain=linear)"], [1.0, 2.0], [-1.0, 1.0], group=[2]),
        lambda: dx.evaluate("DCG", [1.0, 2.0], [-1.0, 1.0], group=[2]),
        lambda: dx.ApproxNDCG().value_and_grad(np.zeros(2), np.array([-1.0, 1.0]), np.array([0, 2])),
    ):
        with pytest.raises(InputError, match=r"labels are finite and >= 0"):
            use()
    with pytest.raises(InputError, match="labels are finite"):
        dx.Queries.from_arrays([[0.0]], [np.nan], group=[1], counts=[2])
    value = dx.evaluate("DCG(gain=linear)", [1.0, 2.0], [-1.0, 1.0], group=[2])
    assert value["DCG(gain=linear)"] == pytest.approx(1 - 1 / np.log2(3))
