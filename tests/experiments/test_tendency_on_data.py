"""Tendency correlation of surrogates on data."""

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.errors import InputError
from directrix.experiments import tendency_on_data as module
from directrix.experiments.tendency import tendency
from directrix.experiments.tendency_on_data import EVERY_SURROGATE, random_models, surrogate_tendencies
from tests.messages import rejects


def tendency_of(surrogate, q, measure=None, n_models=10, norm=1.0):
    models = random_models(n_models, q.n_features, norm=norm)
    return surrogate_tendencies([surrogate], q, measure=measure, models=models)[0]


@pytest.fixture(scope="module")
def q():
    return dx.data.make_cubic(n_queries=12, docs_per_query=20, n_features=6, seed=0)


def test_equals_model_after_model(q):
    surrogates = [dx.ApproxNDCG(alpha=20.0), dx.SVMMap(rel=3), dx.ApproxNDCG(alpha=20.0, k=5)]
    models = random_models(8, 6, norm=2.0, seed=3)
    scores = [q.features.astype(np.float64) @ w for w in models]
    found = surrogate_tendencies(surrogates, q, models=models, per_query=True)
    for surrogate, one in zip(surrogates, found, strict=True):
        a = [surrogate.value_and_grad(s, q.labels, q.qptr)[0] for s in scores]
        b = [surrogate.measure(s, q.labels, q.qptr) for s in scores]
        expected = tendency(a, b, per_query=True)
        np.testing.assert_allclose([one.coefficient, one.k], [expected.coefficient, expected.k], rtol=1e-9)
        np.testing.assert_allclose(one.separate, expected.separate, rtol=1e-9, atol=1e-12)


def test_blocks_and_threads_and_storage_do_not_matter(q, monkeypatch):
    surrogates = ["ApproxAP(alpha=20, rel=3)", "SVMMap(rel=3)"]
    models = random_models(7, 6)
    expected = [t.coefficient for t in surrogate_tendencies(surrogates, q, models=models)]
    before = dx.set_threads(1)
    assert [t.coefficient for t in surrogate_tendencies(surrogates, q, models=models)] == expected
    dx.set_threads(before)
    sparse = dx.Queries(sp.csr_array(q.features), q.labels, q.qptr, q.query_ids, None, None, q.rows)
    np.testing.assert_allclose(
        [t.coefficient for t in surrogate_tendencies(surrogates, sparse, models=models)], expected
    )
    monkeypatch.setattr(module, "_DOCS_AT_ONCE", 2 * q.n_docs)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 33)
    seen = []
    blocks = surrogate_tendencies(surrogates, q, models=models, progress=lambda *said: seen.append(said[:2]))
    np.testing.assert_allclose([t.coefficient for t in blocks], expected)
    assert seen == [(done, 8) for done in range(8)]


def test_the_length_of_the_weights_is_the_unit_of_alpha(q):
    short = tendency_of("ApproxNDCG(alpha=40)", q, norm=0.5)
    long = tendency_of("ApproxNDCG(alpha=10)", q, norm=2.0)
    np.testing.assert_allclose(short.coefficient, long.coefficient, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(random_models(5, 3, norm=2.0), axis=1), 2.0)


def test_another_measure_may_be_asked_for(q):
    found = tendency_of("ApproxNDCG(alpha=1e4)", q, measure="AP(rel=3)")
    assert found.coefficient > 10 * tendency_of("ApproxNDCG(alpha=1e4)", q).coefficient


def test_every_surrogate_with_a_value_is_in_the_list():
    listed = {text.partition("(")[0] for text in EVERY_SURROGATE}
    # of nDCG, its default, ApproxMeasure is ApproxNDCG
    assert listed == set(module.parse_surrogate.__globals__["SURROGATES"]) - {
        "Lambda",
        "YetiRank",
        "ApproxMeasure",
    }


def test_gradients_without_a_function_are_rejected(q):
    with rejects(InputError):
        tendency_of("Lambda", q)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_models": 1}, "n_models must be an integer >= 2"), ({"norm": 0.0}, "norm must be a number > 0")],
)
def test_models_must_be_possible(q, options, message):
    with pytest.raises(InputError, match=message):
        tendency_of("ApproxNDCG", q, **options)


def test_models_must_fit_the_data(q):
    with rejects(InputError):
        surrogate_tendencies(["ApproxNDCG"], q, models=np.ones((3, 5)))


def test_on_ohsumed_smoothness_weakens_it_and_bounds_stay_weak(data_dir):
    """He & Liu (2010), Sect. 6.2: Theorems 2 to 4 seen on data."""
    q = dx.read_letor(dx.data.letor_folds(data_dir / "letor" / "OHSUMED")[0].vali).take(range(15))
    smooth = (
        [f"ApproxAP(alpha={a}, beta=100)" for a in (10, 100, 1000)],
        [f"ApproxNDCG(alpha={a})" for a in (10, 100, 1000)],
        [f"SoftNDCG(sigma={s})" for s in (0.1, 0.01, 0.001)],
    )
    bounds = ["SVMMap", "PermuRank", "SVMNdcg", "Dorm"]
    surrogates = [s for family in smooth for s in family] + bounds
    models = random_models(20, q.n_features)
    found = [t.coefficient for t in surrogate_tendencies(surrogates, q, models=models)]
    families = np.reshape(found[:9], (3, 3))
    assert (families[:, 1:] < 0.6 * families[:, :-1]).all()
    assert (families[:, 2] < 0.12).all()
    assert min(found[9:]) > 4 * families[:, 2].max()
