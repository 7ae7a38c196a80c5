"""Noise by place: XE-NDCG, and the mean of any surrogate over scores with Gumbel noise."""

from dataclasses import dataclass, fields

import numpy as np
import pytest

import directrix as dx
from directrix.objectives.scores import ScoreObjective
from directrix.surrogates.base import uniforms
from directrix.surrogates.gumbel import Gumbel
from directrix.surrogates.losses import XENDCG
from tests.messages import rejects
from tests.reference import noise, references
from tests.reference.gumbel import noisy_scores

CASES = [Gumbel(**setting) for setting in references()["Gumbel"].settings]
QPTR = np.array([0, 12])


def query(seed=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(12), rng.integers(0, 4, 12).astype(float), QPTR


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_gradient_and_curvature_are_means_over_the_samples(surrogate):
    scores, labels, qptr = query()
    given = {field.name: getattr(surrogate, field.name) for field in fields(surrogate)}
    inner, grads, curvatures = given.pop("surrogate"), [], []
    prepared = inner.prepare(labels, qptr)
    for noisy in noisy_scores(scores.tolist(), labels, **given):
        _, grad, curvature = inner.value_grad_curvature(noisy, prepared, qptr)
        grads.append(grad)
        curvatures.append(curvature)
    _, grad, curvature = surrogate.value_grad_curvature(scores, surrogate.prepare(labels, qptr), qptr)
    np.testing.assert_allclose(grad, np.mean(grads, axis=0), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(curvature, np.mean(curvatures, axis=0), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        surrogate.value_and_grad(scores, labels, qptr)[1], grad, rtol=1e-10, atol=1e-14
    )


def test_noise_is_that_of_the_naive_loops_uniform_and_another_for_each_sample_draw_and_query():
    labels, qptr = np.arange(400.0) % 3, np.array([0, 400])
    first, sample, draw = (uniforms(labels, qptr, *numbers) for numbers in ((0, 0), (0, 1), (1, 0)))
    for u, numbers in ((first, (0, 0)), (sample, (0, 1)), (draw, (1, 0))):
        np.testing.assert_array_equal(u, noise.uniforms(labels.tolist(), *numbers))
        np.testing.assert_allclose(np.quantile(u, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], rtol=0, atol=0.07)
    other = uniforms(labels[::-1].copy(), qptr, 0)
    for one, two in ((first, sample), (first, draw), (sample, draw), (first, other), (first[1:], first[:-1])):
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.15
    halves = uniforms(np.concatenate([labels, labels]), np.array([0, 400, 800]), 0)
    np.testing.assert_array_equal(halves, np.concatenate([first, first]))


def test_the_best_of_noisy_scores_is_a_draw_from_plackett_luce():
    """Top-one chances are the softmax of s / beta."""
    scores, labels = [1.0, 0.0, -2.0], [0.0, 1.0, 2.0]
    noisy = np.array(list(noisy_scores(scores, labels, samples=4000, scale=2.0, draw=0)))
    expected = np.exp(np.array(scores) / 2.0) / np.exp(np.array(scores) / 2.0).sum()
    np.testing.assert_allclose(np.bincount(noisy.argmax(axis=1)) / 4000, expected, rtol=0, atol=0.03)


def test_the_mean_of_xe_ndcg_over_draws_favors_documents_as_their_labels_do():
    scores, labels, qptr = np.zeros(4), np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 4])
    surrogate = XENDCG()
    grad = np.mean([surrogate.redraw(i).value_and_grad(scores, labels, qptr)[1] for i in range(500)], axis=0)
    # P is about (2^l - 1/2) / 13, and the shares of equal scores are 1/4
    np.testing.assert_allclose(grad, np.array([0.5, 1.5, 3.5, 7.5]) / 13 - 1 / 4, rtol=0, atol=0.01)


@pytest.mark.parametrize("text", ["YetiRank", "XENDCG", "Gumbel('ListNet')", "Gumbel('XENDCG', samples=2)"])
def test_a_seed_gives_the_same_trees_and_every_tree_sees_other_noise(text):
    q = dx.data.make_cubic(30, 20, 6, seed=1)
    texts = [
        dx.BoostedRanker(text, n_trees=5, random_state=seed).fit_queries(q).trees_.to_lightgbm()
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    objective = ScoreObjective(q, dx.surrogate(text))
    first, second = (objective.value_grad_curvature(np.zeros(q.n_docs), 1, tree)[1] for tree in (0, 1))
    assert not np.array_equal(first, second)


def test_redrawing_redraws_the_noise_of_the_surrogate_too():
    drawn = Gumbel("XENDCG").redraw(1)
    assert drawn.draw != 0
    assert drawn.surrogate.draw != 0


def test_traits_are_those_that_a_mean_over_noise_keeps():
    smooth = dx.ApproxNDCG().properties - {"tends_to_measure", "pulls_at_ties"}
    assert Gumbel("ApproxNDCG").properties == smooth | {"random"}
    assert Gumbel("ListNet").properties == {"smooth", "convex", "shift_invariant", "random"}
    assert Gumbel("SVMMap").properties == dx.SVMMap().properties - {"bound"} | {"random"}
    assert Gumbel("Lambda").properties == dx.Lambda().properties | {"random"}


def test_a_model_file_keeps_it_and_its_fields_are_parameters_of_the_ranker(tmp_path):
    q = dx.data.make_linear(20, 8, 3, seed=0)[0]
    ranker = dx.LinearRanker("Gumbel('ApproxNDCG(alpha=2)', samples=2)").fit_queries(q)
    ranker.save(tmp_path / "model.json")
    loaded = dx.load(tmp_path / "model.json")
    assert loaded.surrogate_ == ranker.surrogate_ == Gumbel(dx.ApproxNDCG(alpha=2.0), samples=2)
    np.testing.assert_array_equal(loaded.predict_queries(q), ranker.predict_queries(q))
    changed = ranker.set_params(surrogate__surrogate__alpha=5.0, surrogate__samples=3).surrogate
    assert changed == Gumbel(dx.ApproxNDCG(alpha=5.0), samples=3)


def test_document_weights_reach_the_surrogate():
    _, labels, qptr = query()
    weight = np.linspace(0.5, 2.0, 12)
    weighted = [s.prepare(labels, qptr, weight) for s in (Gumbel("ApproxNDCG", samples=1), dx.ApproxNDCG())]
    np.testing.assert_array_equal(weighted[0][1], weighted[1][0])
    with rejects(dx.InputError):
        Gumbel("ListNet").prepare(labels, qptr, weight)


@dataclass(frozen=True)
class _Own:
    """A surrogate of the user, with nothing but `value_and_grad`."""

    measure = dx.NDCG()
    properties = frozenset({"smooth"})

    def value_and_grad(self, scores, labels, qptr):
        return np.add.reduceat(labels * scores, qptr[:-1]), labels.astype(scores.dtype)


def test_a_surrogate_of_the_user_is_taken():
    scores, labels, qptr = query()
    value, grad = Gumbel(_Own(), samples=2).value_and_grad(scores, labels, qptr)
    drawn = noisy_scores(scores.tolist(), labels, samples=2, scale=1.0, draw=0)
    np.testing.assert_allclose(value, np.mean([s @ labels for s in drawn]), rtol=1e-12)
    np.testing.assert_array_equal(grad, labels)
    assert Gumbel(_Own()).redraw(1).measure == dx.NDCG()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gumbel("nDCG@10"), "there is no surrogate"),
        (lambda: Gumbel(dx.NDCG()), r"Gumbel\(surrogate=NDCG.*a surrogate or its text is needed"),
        (lambda: Gumbel(dx.ListNet), "a surrogate or its text is needed"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(dx.InputError, match=message):
        make()
