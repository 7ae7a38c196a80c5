"""Exposure of groups, and the cheapest ranking that raises it, against all permutations of small lists."""

from itertools import permutations
from math import log2

import numpy as np
import pytest
from tests.messages import rejects

from directrix.diversity import exposure, raise_exposure
from directrix.errors import InputError

RNG = np.random.default_rng(1)
V = np.array([1 / log2(1 + rank) for rank in range(1, 7)])


def places(scores):
    """0-based rank of every document."""
    return np.argsort(np.argsort(-np.asarray(scores), kind="stable"))


def test_exposure_is_the_mean_discount_of_a_group():
    found = exposure([0.1, 0.9, 0.5, 0.3, 0.2], ["x", "y", "x", "z", "z"], qid=[1, 1, 1, 2, 2])
    assert list(found) == ["x", "y", "z"]
    np.testing.assert_allclose(found["x"], [(1 / log2(3) + 1 / log2(4)) / 2, np.nan], rtol=1e-12)
    np.testing.assert_allclose(found["y"], [1, np.nan], rtol=1e-12)
    np.testing.assert_allclose(found["z"], [np.nan, (1 + 1 / log2(3)) / 2], rtol=1e-12)
    seen = exposure([0.1, 0.9, 0.5], ["x", "y", "x"], k=2, group=[3])
    np.testing.assert_allclose(seen["x"], [1 / log2(3) / 2], rtol=1e-12)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("floor", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_no_permutation_has_more_utility_and_as_much_exposure(floor, k):
    v = V if k is None else np.where(np.arange(6) < k, V, 0.0)
    ranks = np.array(list(permutations(range(6))))
    for _ in range(15):
        scores, protected = RNG.random(6).round(1), RNG.random(6) < 0.4
        at = places(raise_exposure(scores, protected, floor, k=k, group=[6]))
        utility, shares = v[ranks] @ scores, v[ranks] @ protected / v.sum()
        ours = v[at] @ protected / v.sum()
        assert ours >= min(floor, shares.max()) - 1e-12
        assert v[at] @ scores >= utility[shares >= ours - 1e-12].max() - 1e-12


def test_a_floor_that_holds_changes_nothing():
    scores, protected = np.array([0.3, 0.9, 0.5, 0.1]), [False, True, False, True]
    assert places(raise_exposure(scores, protected, 0.5, group=[4])).tolist() == places(scores).tolist()
    assert places(raise_exposure(scores, [False] * 4, 0.5, group=[4])).tolist() == places(scores).tolist()


def test_the_bonus_is_no_larger_than_needed():
    scores, protected = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, False, False, True])
    third = 1 / log2(4) / V[:4].sum()
    for floor, place in ((third, 2), (np.nextafter(third, 1), 1)):
        assert places(raise_exposure(scores, protected, floor, group=[4]))[3] == place


def test_queries_are_independent():
    scores, protected, qid = RNG.random(12), RNG.random(12) < 0.5, RNG.permutation(np.repeat([1, 2], 6))
    new = raise_exposure(scores, protected, 0.6, qid=qid)
    for query in (1, 2):
        rows = qid == query
        alone = raise_exposure(scores[rows], protected[rows], 0.6, group=[6])
        np.testing.assert_array_equal(new[rows], alone)


def test_bad_input_is_rejected():
    with rejects(InputError):
        raise_exposure([0.5, 0.4], [True], 0.5, group=[2])
    with rejects(InputError):
        raise_exposure([0.5, 0.4], [True, False], 50, group=[2])
    with rejects(InputError):
        raise_exposure([0.5, 0.4], np.array(["old", "new"]), 0.5, group=[2])
    with rejects(InputError):
        exposure([0.5, 0.4], ["a"], group=[2])
    with rejects(InputError):
        exposure([0.5, 0.4], ["a", "b"], k=0, group=[2])
