"""Exposure of groups, and the cheapest ranking that raises it, against all permutations of small lists."""

from itertools import combinations, permutations
from math import log2

import numpy as np
import pytest
from tests.messages import rejects

from directrix.diversity import exposure, groups, raise_exposure
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


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("n", range(1, 8))
def test_no_permutation_reaches_the_floor_with_more_utility(n, k):
    v = np.array([1 / log2(1 + rank) * (k is None or rank <= k) for rank in range(1, n + 1)])
    ranks = np.array(list(permutations(range(n))))
    for floor in (0.0, 0.25, 0.35, 0.5, 0.7, 1.0):
        for scores in (RNG.random(n), RNG.random(n).round(1), -1e300 * RNG.random(n), RNG.integers(0, 2, n)):
            protected = RNG.random(n) < RNG.random()
            at = places(raise_exposure(scores, protected, floor, k=k, group=[n]))
            utility, shares = v[ranks] @ scores, v[ranks] @ protected / v.sum()
            floor_reached = min(floor, shares.max()) - 1e-9
            assert v[at] @ protected / v.sum() >= floor_reached
            best = utility[shares >= floor_reached].max()
            np.testing.assert_allclose(v[at] @ scores, best, rtol=1e-9, atol=1e-9)


def lists(sizes):
    """Long lists, with a share of the group in the exposure that needs most of its documents on top."""
    for n in sizes:
        for scores in (RNG.random(n), RNG.beta(1, 3, n).round(2), RNG.integers(0, 3, n) / 2):
            protected = RNG.random(n) < 0.3
            yield scores + 0.3 * ~protected, protected, 1 / np.log2(np.arange(2, n + 2)), protected.mean()


def test_no_choice_of_places_in_a_list_of_14_reaches_the_floor_with_more_utility():
    for scores, protected, v, floor in lists([14] * 5):
        chosen = np.array([np.isin(range(14), one) for one in combinations(range(14), int(protected.sum()))])
        ones, others = (-np.sort(-scores[of]) for of in (protected, ~protected))
        utility = np.array([v[is_one] @ ones + v[~is_one] @ others for is_one in chosen])
        at = places(raise_exposure(scores, protected, floor, group=[14]))
        best = utility[chosen @ v >= floor * v.sum()].max()
        np.testing.assert_allclose(v[at] @ scores, best, rtol=1e-9, atol=1e-9)


def test_long_lists_miss_the_optimum_by_no_more_than_the_bound(monkeypatch):
    """The bound holds for the ranking by one bonus, so also for one with as much utility or more."""
    for scores, protected, v, floor in lists([60, 150]):
        at = places(raise_exposure(scores, protected, floor, group=[len(v)]))
        assert v[at] @ protected >= floor * v.sum() - 1e-9
        with monkeypatch.context() as patch:
            patch.setattr(groups, "_STATES", 0)  # by one bonus, without partial rankings
            simple = places(raise_exposure(scores, protected, floor, group=[len(v)]))
        utility, exposed = v[at] @ scores, v[simple] @ protected
        assert utility >= v[simple] @ scores - 1e-9
        gaps = np.subtract.outer(scores[~protected], scores[protected])
        for bonus in np.unique(gaps[gaps > 0]):
            order = np.lexsort((~protected, -(scores + bonus * protected)))
            exposure_by_bonus = v @ protected[order]
            if exposure_by_bonus >= floor * v.sum():
                break
        bound = v @ scores[order] + bonus * (exposure_by_bonus - floor * v.sum())
        assert utility <= bound + 1e-9
        assert bound - utility <= bonus * (exposed - floor * v.sum()) + 1e-9


def test_a_floor_that_holds_changes_nothing():
    scores, protected = np.array([0.3, 0.9, 0.5, 0.1]), [False, True, False, True]
    assert places(raise_exposure(scores, protected, 0.5, group=[4])).tolist() == places(scores).tolist()
    assert places(raise_exposure(scores, [False] * 4, 0.5, group=[4])).tolist() == places(scores).tolist()


def test_documents_are_raised_no_further_than_needed():
    scores, protected = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, False, False, True])
    third = 1 / log2(4) / V[:4].sum()
    for floor, place in ((third, 2), (third + 1e-9, 1)):
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
