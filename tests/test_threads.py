"""Chunks cover every query once; errors, nesting, forks and settings behave."""

import multiprocessing
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import directrix as dx
from directrix.threads import query_chunks, run_chunks


@pytest.fixture(params=[1, 2, 4], autouse=True)
def threads(request):
    before = dx.set_threads(request.param)
    yield request.param
    dx.set_threads(before)


@pytest.mark.parametrize("sizes", [[1], [5, 0, 0, 7], [0, 0], [0, 3], [3, 0], [100, 1, 1, 1, 100], []])
@pytest.mark.parametrize("wanted", [1, 3, 50, 10**6])
def test_chunks_are_runs_of_whole_queries(sizes, wanted):
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    bounds = query_chunks(qptr, wanted)
    assert bounds[0] == 0 or len(sizes) == 0
    assert bounds[-1] == len(sizes)
    assert (np.diff(bounds) > 0).all()


def test_every_chunk_is_worked_on_once():
    done = np.zeros(200, dtype=int)

    def work(c):
        done[c] += 1

    run_chunks(work, 200)
    assert (done == 1).all()


def test_the_first_error_is_raised_and_stops_the_rest(threads):
    started = []

    def work(c):
        started.append(c)
        if c == 3:
            raise KeyError("chunk 3")
        time.sleep(0.001)

    with pytest.raises(KeyError, match="chunk 3"):
        run_chunks(work, 500)
    assert len(started) <= 3 + 2 * threads
    ended = len(started)
    time.sleep(0.02)
    assert len(started) == ended


def test_a_call_within_a_chunk_does_not_wait_for_itself():
    done = []
    thread = threading.Thread(
        target=run_chunks, args=(lambda c: run_chunks(lambda d: done.append((c, d)), 5), 20), daemon=True
    )
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert sorted(done) == [(c, d) for c in range(20) for d in range(5)]


def test_a_surrogate_that_calls_the_library_may_be_trained_on():
    """One feature, so that a part holds more documents than a surrogate's chunk."""
    q = dx.Queries.from_arrays(
        np.random.default_rng(0).standard_normal((600_000, 1)).astype(np.float32),
        np.tile([0.0, 0.0, 1.0], 200_000),
        qid=np.repeat(np.arange(20_000), 30),
    )
    own = dx.define_measure("OwnThreads", discount=lambda x: 1 / x, slope=lambda x: -1 / x**2)

    class Plain:
        """A surrogate that is not a `KernelSurrogate`, and computes its value with one."""

        measure, properties = own(), frozenset({"smooth"})

        def value_and_grad(self, scores, labels, qptr):
            return dx.ApproxMeasure(own, alpha=2.0).value_and_grad(scores, labels, qptr)

    surrogate = Plain()
    loss, grad = dx.linear_objective(q, surrogate).value_and_grad(np.ones(1))
    assert np.isfinite(loss)
    assert np.isfinite(grad).all()


def _value_in_a_fork(queue):
    scores, labels, qptr = np.arange(20_000.0), np.ones(20_000), np.arange(0, 20_001, 10)
    queue.put(float(dx.ApproxNDCG().value_and_grad(scores, labels, qptr)[0].sum()))


@pytest.mark.skipif(sys.platform != "linux", reason="fork is the default on Linux alone")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_starts_its_own_threads():
    context = multiprocessing.get_context("fork")
    results = []
    for run in (lambda q: _value_in_a_fork(q), lambda q: context.Process(target=_value_in_a_fork, args=(q,))):
        queue = context.Queue()
        process = run(queue)
        if process is not None:
            process.start()
        results.append(queue.get(timeout=60))
        if process is not None:
            process.join()
    assert results[0] == results[1]


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", float("inf"), [2], 4097])
def test_a_number_of_threads_is_an_integer_from_1_to_4096(value):
    with pytest.raises(dx.InputError, match=r"integer from 1 to 4096, e\.g\. 2\."):
        dx.set_threads(value)


def test_the_setting_is_handed_back(threads):
    assert dx.set_threads(7) == threads
    assert dx.get_threads() == 7
    assert dx.set_threads(threads) == 7


def _get_threads(environment, code="import directrix as dx; print(dx.get_threads())"):
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_environment_chooses_where_nobody_did():
    assert _get_threads({"DIRECTRIX_NUM_THREADS": "3"}).stdout.strip() == "3"
    assert int(_get_threads({}).stdout) >= 1
    assert "DIRECTRIX_NUM_THREADS is 'many'" in _get_threads({"DIRECTRIX_NUM_THREADS": "many"}).stderr


def test_a_worker_process_uses_one_thread():
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(dx.get_threads) == 1


def test_threads_that_cannot_be_started_leave_one(threads, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    done = []
    monkeypatch.setattr("directrix.threads._pool", None)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            run_chunks(done.append, 20)
    assert done == [*range(20), *range(20)]
    assert len(given) == (threads > 1)
    assert all("one thread is used, because the system cannot start" in str(w.message) for w in given)
