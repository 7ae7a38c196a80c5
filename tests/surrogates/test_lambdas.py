"""Lambdas against a swap of every pair, and the paper's equations."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from tests.reference import lambdas as reference

MEASURES = [
    "nDCG", "nDCG@1", "nDCG@4", "nDCG(gain='linear')@3", "nDCG(discount='letor3')", "AP", "AP(rel=2)@3",
    "AP(denominator='capped')@2", "RR", "RR@2", "RR(rel=2)", "P@1", "P@5", "P(denominator='retrieved')@20",
    "ERR(l_max=3)", "ERR@3", "ERR(l_max=60)",
]  # fmt: skip


@st.composite
def queries(draw, largest=9):
    """Scores without ties, labels 0..3 of one query."""
    n = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.standard_normal(n) * draw(st.sampled_from([0.01, 1.0, 30.0, 1e4]))
    labels = rng.integers(0, draw(st.integers(1, 4)), size=n).astype(np.float64)
    return scores, labels


def seen(measure, labels):
    """What the measure sees of the labels, and one over what it divides by."""
    if isinstance(measure, dx.NDCG):
        gain = 2.0**labels - 1 if measure.gain == "exp" else labels
        discount = [1.0, 1.0] + [1 / math.log2(p) for p in range(3, len(labels) + 3)]
        if measure.discount == "log2":
            discount = [1 / math.log2(1 + p) for p in range(1, len(labels) + 1)]
        top = len(labels) if measure.k is None else measure.k
        ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True)[:top], discount[:top], strict=False))
        return labels, 1 / ideal if ideal > 0 else 0.0
    if isinstance(measure, dx.ERR):
        return labels, 1.0
    relevant = (labels >= measure.rel) * 1.0
    if isinstance(measure, dx.RR):
        return relevant, 1.0
    if isinstance(measure, dx.AP):
        n_relevant = relevant.sum()
        below = min(n_relevant, measure.k) if measure.denominator == "capped" else n_relevant
    else:
        below = min(len(labels), measure.k) if measure.denominator == "retrieved" else measure.k
    return relevant, 1 / below if below else 0.0


def lambdas(surrogate, scores, labels):
    return surrogate.value_and_grad(scores, labels, np.array([0, len(scores)]))


@pytest.mark.parametrize("construction", reference.CONSTRUCTIONS)
@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=25)
@given(query=queries())
def test_forces_are_those_of_swapping_every_pair(name, construction, query):
    scores, labels = query
    surrogate = dx.Lambda(name, construction, margin=0.3)
    level, unit = seen(surrogate.measure, labels)
    naive = reference.CONSTRUCTIONS[construction]
    expected = naive(surrogate.measure, scores, labels, level=level, unit=unit, margin=0.3)
    value, grad = lambdas(surrogate, scores, labels)
    np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-14)
    assert value[0] == reference.value(surrogate.measure, scores, labels)


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=40)
@given(query=queries(), seed=st.integers(0, 2**32 - 1))
def test_the_change_of_every_pair_is_the_swapped_measure(name, query, seed):
    """Alone among documents it must not see, a pair shows its own force: the others are moved to its labels."""
    from directrix.surrogates._kernels.lambdas import exchange

    scores, labels = query
    surrogate, n, qptr = dx.Lambda(name), len(scores), np.array([0, len(scores)])
    prepared, order = surrogate.prepare(labels, qptr), reference.ranking(scores)
    x, (upper, lower, factor) = prepared.worth[order], np.empty((3, n))
    kind, _, depth, _ = surrogate._spec()
    top = exchange(kind, x, prepared.discount, depth, upper, lower, factor)
    for a in range(n):
        for b in range(a + 1, n):
            found = abs(x[a] - x[b]) * (upper[a] - factor[a] * lower[b]) if a < top else 0.0
            swapped = reference.change(surrogate.measure, scores, labels, order[a], order[b])
            np.testing.assert_allclose(found, swapped, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=25)
@given(query=queries())
def test_effective_pairs_are_those_whose_swap_changes_the_measure(name, query):
    scores, labels = query
    surrogate = dx.Lambda(name)
    level, _ = seen(surrogate.measure, labels)
    pairs = surrogate.effective_pairs(scores, labels, np.array([0, len(scores)]))
    assert pairs.dtype == np.int64
    assert pairs.tolist() == [reference.effective(surrogate.measure, scores, labels, level)]


@pytest.mark.parametrize(
    ("construction", "expected"),
    [
        ("spring-smooth", 8),  # 10 pairs, of which 2 have equal labels
        ("local-gradient", 2),  # ranks 1-2, 2-3; past the cut-off of 2 nothing changes
        ("local-cost", 2),
        ("discrete-bounded", 2),  # by label 4 1 3 2 5: ranks 1 and 4 trade places, 2 3 too; 1-4 and 2-1, 4-2
    ],
)
def test_effective_pairs_of_the_other_constructions(construction, expected):
    scores, labels = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0, 2.0, 0.0])
    pairs = dx.Lambda("nDCG@2", construction).effective_pairs(scores, labels, np.array([0, 5]))
    forces = lambdas(dx.Lambda("nDCG@2", construction), scores, labels)[1]
    assert (pairs[0], bool(np.abs(forces).sum() > 0)) == (expected, True)
