"""Processes of this machine."""

import os
import signal
import time

import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.cluster.connect import cluster_of
from directrix.data.shards.task import Question, Task

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    q = dx.data.make_cubic(n_queries=60, docs_per_query=10, n_features=5, seed=0)
    return dx.write_shards(q, tmp_path_factory.mktemp("data") / "shards", 5)


def fitted(folder):
    return dx.LinearRanker("ApproxNDCG", scale="standard", max_iter=15).fit_shards(folder)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_same_bits_for_any_number_of_processes(folder, n):
    here = fitted(folder)
    with dx.cluster("local", n):
        there = fitted(folder)
    assert np.array_equal(there.coef_, here.coef_)
    assert there.result_.value == here.result_.value


class Dying(Question):
    """Ends the process that is asked, always or until a file exists."""

    def __init__(self, path):
        self.path = path

    def answer(self, shard):
        if self.path is None or not self.path.exists():
            if self.path is not None:
                self.path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [shard.number]


def test_a_process_that_dies_is_asked_again(folder, tmp_path):
    shards = dx.data.open_shards(folder)
    with dx.cluster("local", 2):
        assert shards.features.ask(Dying(tmp_path / "died")) == [0, 1, 2, 3, 4]
        with pytest.raises(InputError, match=r"died 3 times while it worked on the shards 0, 1"):
            shards.features.ask(Dying(None))


def test_a_process_that_dies_between_two_questions(folder):
    shards, ranker = dx.data.open_shards(folder), fitted(folder)
    with dx.cluster("local", 2) as driver:
        before = shards.scores(ranker)
        for pool in driver._pools:
            (pid,) = pool._processes
            os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 20
        while not all(pool._flags.broken for pool in driver._pools):  # then it takes no task
            assert time.monotonic() < end
            time.sleep(0.01)
        assert np.array_equal(shards.scores(ranker), before)


class Threads(Question):
    def answer(self, shard):
        return [dx.get_threads()]


def test_threads_of_this_process_stay_as_they_are(folder):
    before, shards = dx.get_threads(), dx.data.open_shards(folder)
    task = Task(str(folder), shards.manifest.shards, shards.manifest.form, (0, 1), Threads(), threads=3)
    assert task() == {(0, 2): [3, 3]}
    assert dx.get_threads() == before


def test_errors_of_a_process_arrive_here(folder):
    with dx.cluster("local", 2), pytest.raises(InputError, match="shape"):
        dx.LinearRanker("ListNet", start=[1.0, 2.0]).fit_shards(folder)


@pytest.mark.parametrize("text", ["local", "local:x", "local:0", "tcp://here", "", "spark://x:1"])
def test_unknown_clusters(text):
    with pytest.raises(InputError), cluster_of(text):
        pass
    with pytest.raises(InputError, match="is needed"), dx.cluster("ray", 3):
        pass
