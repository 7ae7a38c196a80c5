"""What holds for every measure on any data."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from directrix.measures.names import measures

ALL = [
    dx.measure(name) for name in (*measures(), "nDCG(gain=linear)@3", "AP(rel=2)@2", "P@3", "ERR@2", "RR@2")
]
ALL = [m for m in ALL if m.sees != "subtopics"]  # those have tests of their own, with two columns of labels
IN_UNIT = [m for m in ALL if m.symbol not in ("DCG", "KendallTau") and m.highest == 1.0]


@st.composite
def rankings(draw):
    """Scores with ties and unretrieved documents, labels 0-4, one to four queries, some of them empty."""
    sizes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    n = sum(sizes)
    level = st.sampled_from([-np.inf, -2.5, -1.0, 0.0, 1e-300, 1.0, 3.0, 1e30])
    scores = draw(st.lists(level, min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 4.0]), min_size=n, max_size=n))
    return np.array(scores, dtype=float), np.array(labels, dtype=float), np.append(0, np.cumsum(sizes))


@pytest.mark.parametrize("m", ALL, ids=lambda m: m.name)
@settings(deadline=None, max_examples=60)
@given(data=rankings(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(m, data, seed):
    scores, labels, qptr = data
    rng = np.random.default_rng(seed)
    rows = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(qptr)])
    np.testing.assert_allclose(
        m(scores[rows], labels[rows], qptr), m(scores, labels, qptr), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("m", ALL, ids=lambda m: m.name)
@settings(deadline=None, max_examples=60)
@given(data=rankings())
def test_only_the_order_of_the_scores_matters(m, data):
    scores, labels, qptr = data
    finite = scores > -np.inf
    dense = np.full(len(scores), -np.inf)
    dense[finite] = np.unique(scores[finite], return_inverse=True)[1] / 8 - 5
    np.testing.assert_array_equal(m(dense, labels, qptr), m(scores, labels, qptr))


@pytest.mark.parametrize("m", ALL, ids=lambda m: m.name)
@settings(deadline=None, max_examples=60)
@given(data=rankings())
def test_a_query_alone_gives_the_same_bits(m, data):
    scores, labels, qptr = data
    together = m(scores, labels, qptr)
    alone = [m(scores[a:b], labels[a:b], [0, b - a])[0] for a, b in pairwise(qptr)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("m", IN_UNIT, ids=lambda m: m.name)
@settings(deadline=None, max_examples=60)
@given(data=rankings())
def test_values_lie_between_zero_and_one(m, data):
    value = m(*data)
    value = value[~np.isnan(value)]
    assert ((value >= 0) & (value <= 1 + 1e-12)).all()


@pytest.mark.parametrize("name", ["nDCG", "nDCG@3", "AP", "RR", "Rprec", "Success@1", "ROCArea", "IPrec@1"])
@settings(deadline=None, max_examples=60)
@given(data=rankings())
def test_labels_as_scores_are_perfect(name, data):
    _, labels, qptr = data
    value = dx.measure(name)(labels, labels, qptr)
    has_relevant = np.add.reduceat(np.append(labels, 0), qptr[:-1]) * (np.diff(qptr) > 0) > 0
    perfect = value[has_relevant & ~np.isnan(value)]
    np.testing.assert_allclose(perfect, np.ones(len(perfect)), rtol=1e-12, atol=0)


@settings(deadline=None, max_examples=60)
@given(data=rankings())
def test_nothing_is_below_the_worst_order(data):
    for name in ("nDCG(ties={})@3", "AP(ties={})", "RR(ties={})"):
        worst, expected, fixed = (dx.measure(name.format(r))(*data) for r in ("worst", "expected", "order"))
        assert (expected >= worst - 1e-12).all()
        assert (fixed >= worst - 1e-12).all()
