"""Splits: disjoint, whole, balanced, and the same whatever their number."""

import numpy as np
import pytest

from directrix import InputError
from directrix.papers.yue2007 import balanced_trials


def how_often(trials, part, n):
    return np.bincount(np.concatenate([getattr(trial, part) for trial in trials]), minlength=n).tolist()


def test_fifty_topics_serve_equally_often_in_each_part():
    trials = balanced_trials(50, 10, 5, 50, seed=0)
    assert how_often(trials, "train", 50) == [10] * 50
    assert how_often(trials, "valid", 50) == [5] * 50
    assert how_often(trials, "test", 50) == [35] * 50


@pytest.mark.parametrize(("n", "n_train", "n_valid", "turns"), [(50, 10, 5, 10), (12, 4, 2, 6), (7, 3, 2, 7)])
def test_a_round_of_the_circle_is_balanced_and_no_less(n, n_train, n_valid, turns):
    balanced = [
        len(set(how_often(balanced_trials(n, n_train, n_valid, k, seed=3), "train", n))) == 1
        for k in range(1, turns + 1)
    ]
    assert balanced[-1]
    assert len(set(how_often(balanced_trials(n, n_train, n_valid, turns, seed=3), "valid", n))) == 1


@pytest.mark.parametrize("trial", balanced_trials(50, 10, 5, 12, seed=1))
def test_a_trial_has_every_topic_once_and_in_order(trial):
    assert [len(part) for part in trial] == [10, 5, 35]
    assert sorted(np.concatenate(trial).tolist()) == list(range(50))
    assert all((np.diff(part) > 0).all() for part in trial)


def test_a_trial_does_not_depend_on_how_many_there_are():
    few, many = balanced_trials(50, 10, 5, 3, seed=2), balanced_trials(50, 10, 5, 30, seed=2)
    assert all(np.array_equal(a.train, b.train) for a, b in zip(few, many, strict=False))


def test_every_circle_and_every_seed_is_another():
    trials = balanced_trials(50, 10, 5, 20, seed=0)
    assert len({tuple(trial.train.tolist()) for trial in trials}) == 20
    other = balanced_trials(50, 10, 5, 1, seed=1)
    assert not np.array_equal(trials[0].train, other[0].train)


def test_too_few_queries_are_refused():
    with pytest.raises(InputError, match=r"15 queries cannot be split into 10 to train, 5 .* 16 or more"):
        balanced_trials(15, 10, 5, 1, seed=0)
