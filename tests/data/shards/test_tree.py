"""Answers are merged in one order, whichever process has them."""

import numpy as np
import pytest

from directrix.data.shards.task import contiguous, merged, root_of, spans_of


def joined(left, right):
    return f"({left}{right})"


def by_workers(present, n_shards, owner):
    """What a driver gets if every worker merges as far as it can."""
    answers = {}
    for worker in set(owner.values()):
        own = [number for number in present if owner[number] == worker]
        alone = {(number, number + 1): chr(97 + number) for number in own}
        answers |= {span: merged(alone, span, joined) for span in spans_of(own, present, n_shards)}
    return merged(answers, root_of(n_shards), joined)


@pytest.mark.parametrize("n_shards", [1, 2, 5, 8, 13])
def test_the_order_does_not_depend_on_the_workers(n_shards):
    rng = np.random.default_rng(n_shards)
    for _ in range(50):
        present = np.flatnonzero(rng.random(n_shards) < 0.8).tolist()
        wanted = by_workers(present, n_shards, dict.fromkeys(present, 0))
        owner = dict(zip(present, rng.integers(0, 4, size=len(present)).tolist(), strict=True))
        assert by_workers(present, n_shards, owner) == wanted
        if wanted is not None:
            assert wanted.translate(str.maketrans("", "", "()")) == "".join(chr(97 + n) for n in present)


def test_runs_are_about_equal_and_complete():
    sizes = [5, 1, 1, 5, 3, 3]
    runs = contiguous(range(6), sizes, 3)
    assert sum(runs, ()) == (0, 1, 2, 3, 4, 5)
    assert [sum(sizes[n] for n in run) for run in runs] == [6, 6, 6]
    assert contiguous([4], [10], 5) == [(4,)]
