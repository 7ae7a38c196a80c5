"""Restarts: other starts of the same length, the best end, and the same for any number of processes."""

import pickle
import threading
from contextlib import suppress

import joblib
import numpy as np
import pytest

import directrix as dx
from directrix.threads import run_chunks, serially
from directrix.types import Result


class Valleys:
    """A minimum near every corner of {-1, 1}^n, the deepest near (1, ..., 1)."""

    n_queries = 1

    def value_and_grad(self, params, queries=None):
        x = np.asarray(params)
        return float(((x**2 - 1) ** 2 - 0.3 * x).sum()), 4 * x * (x**2 - 1) - 0.3


class Ends:
    """A trainer whose runs end at given losses, where they start."""

    def __init__(self, *values):
        self.values = iter(values)
        self.starts = []

    def minimize(self, objective, start, *, callback=None):
        self.starts.append(start)
        value = next(self.values)
        status = "converged" if np.isfinite(value) else "not_finite"
        trace = [{"iteration": i, "loss": value} for i in range(len(self.starts))]
        return Result(np.array(start), value, status, f"ended at {value}", {"iterations": 2}, trace)


@pytest.fixture(scope="module")
def linear():
    q = dx.data.make_cubic(n_queries=40, docs_per_query=12, n_features=6, seed=3)
    return dx.linear_objective(q, "ApproxNDCG(alpha=30.0)"), dx.trainers.regression_start(q)


def test_starts_are_the_given_one_and_others_of_its_length():
    start = np.array([3.0, 0.0, -4.0, 0.0])
    starts = dx.Restarts(dx.LBFGS(), n=50, random_state=1).starts(start)
    assert np.array_equal(starts[0], start)
    np.testing.assert_allclose(np.linalg.norm(starts, axis=1), 5.0, rtol=1e-14)
    assert len(np.unique(starts[:, 0])) == 50


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
def test_spread_is_the_tangent_of_the_angle_in_many_dimensions(spread):
    start = np.linspace(-1, 2, 4000)
    starts = dx.Restarts(dx.LBFGS(), n=30, spread=spread).starts(start)[1:]
    angles = np.arccos(starts @ start / (start @ start))
    np.testing.assert_allclose(np.tan(angles).mean(), spread, rtol=0.1)


def test_from_zero_the_other_starts_have_length_1():
    starts = dx.Restarts(dx.LBFGS(), n=20).starts(np.zeros(3))
    assert not starts[0].any()
    np.testing.assert_allclose(np.linalg.norm(starts[1:], axis=1), 1.0, rtol=1e-14)


def test_the_deepest_of_many_valleys_is_found():
    start = np.array([-1.0, -1.0, 1.0])
    once = dx.LBFGS().minimize(Valleys(), start)
    result = dx.Restarts(dx.LBFGS(), n=40, spread=5.0).minimize(Valleys(), start)
    assert (once.params < 0).sum() == 2
    assert (result.params > 0).all()
    assert result.value < once.value - 1.0
    assert result.value == Valleys().value_and_grad(result.params)[0]
    assert result.status == "converged"


def test_one_run_is_the_trainer_itself(linear):
    objective, start = linear
    plain, one = (t.minimize(objective, start) for t in (dx.LBFGS(), dx.Restarts(dx.LBFGS(), n=1)))
    assert np.array_equal(plain.params, one.params)
    assert one.trace == [{**row, "restart": 0} for row in plain.trace]
    assert one.counts == {**plain.counts, "restarts": 1}
    assert one.message.endswith(plain.message)


def test_trace_counts_and_message_tell_of_all_runs():
    trainer = Ends(3.0, 1.0, 2.0)
    result = dx.Restarts(trainer, n=3).minimize(Valleys(), np.ones(2))
    assert np.array_equal(result.params, trainer.starts[1])
    assert [(row["restart"], row["iteration"]) for row in result.trace] == [
        (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2),
    ]  # fmt: skip
    assert result.counts == {"iterations": 3 * 2, "restarts": 3}
    assert result.message == "restart 1 is the best of 3 (losses from 1 to 3): ended at 1.0"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_not_finite_loses(bad):
    result = dx.Restarts(Ends(bad, 5.0, bad), n=3).minimize(Valleys(), np.ones(2))
    assert (result.value, result.status) == (5.0, "converged")
    result = dx.Restarts(Ends(bad, bad), n=2).minimize(Valleys(), np.ones(2))
    assert result.status == "not_finite"
    assert "no loss is finite" in result.message


def test_of_equal_losses_the_first_wins():
    trainer = Ends(1.0, 1.0)
    result = dx.Restarts(trainer, n=2).minimize(Valleys(), np.ones(2))
    assert np.array_equal(result.params, np.ones(2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_sees_runs_in_order_and_leaves_out_the_rest(linear, n_jobs):
    seen = []
    trainer = dx.Restarts(dx.LBFGS(max_iter=5), n=6, n_jobs=n_jobs)
    result = trainer.minimize(*linear, callback=lambda step: seen.append(step) or step.iteration == 2)
    assert [step.iteration for step in seen] == [0, 1, 2]
    assert result.status == "stopped"
    assert result.counts["restarts"] == 3
    assert "best of 3 of 6, stopped by the callback" in result.message
    assert result.value == min(step.loss for step in seen)


# joblib's manager of processes may look for a run that was just called off (a KeyError in its own thread)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_callback_comes_through(linear, n_jobs):
    def fail(step):
        raise ZeroDivisionError

    trainer = dx.Restarts(dx.LBFGS(max_iter=3), n=5, n_jobs=n_jobs)
    with pytest.raises(ZeroDivisionError):
        trainer.minimize(*linear, callback=fail)
    assert trainer.minimize(*linear).counts["restarts"] == 5


def test_a_stop_at_the_last_run_is_no_stop():
    result = dx.Restarts(Ends(1.0), n=1).minimize(Valleys(), np.ones(2), callback=lambda _: True)
    assert result.status == "converged"


def test_the_same_for_any_number_of_processes_and_for_threads(linear):
    trainers = [dx.Restarts(dx.LBFGS(max_iter=20), n=4, n_jobs=n_jobs) for n_jobs in (1, 2)]
    results = [trainer.minimize(*linear) for trainer in trainers]
    with joblib.parallel_config(backend="threading"):
        results.append(trainers[1].minimize(*linear))
    for result in results[1:]:
        assert np.array_equal(result.params, results[0].params)
        assert (result.trace, result.counts) == (results[0].trace, results[0].counts)


def test_seeds_choose_the_starts(linear):
    of = lambda seed: dx.Restarts(dx.LBFGS(), n=3, random_state=seed).starts(np.ones(5))  # noqa: E731
    assert np.array_equal(of(1), of(1))
    assert not np.array_equal(of(1), of(2))


def test_validation_chooses_among_the_runs():
    """The run with the lowest loss is not the one that the score prefers."""
    trainer = Ends(3.0, 1.0, 2.0)
    score = lambda params: float(len(trainer.starts))  # noqa: E731
    result = dx.trainers.BestSoFar(dx.Restarts(trainer, n=3), score).minimize(Valleys(), np.ones(2))
    assert np.array_equal(result.params, trainer.starts[2])
    assert result.counts["best"] == 2
    assert [row["score"] for row in result.trace] == [1.0, 2.0, 2.0, 3.0, 3.0, 3.0]


def test_patience_counts_runs():
    trainer = dx.trainers.BestSoFar(dx.Restarts(Ends(*range(9)), n=9), lambda _: 0.0, patience=2)
    result = trainer.minimize(Valleys(), np.ones(2))
    assert result.counts["restarts"] == 3


def test_a_run_may_keep_its_own_best_step_in_processes_too(linear):
    objective, start = linear
    score = lambda params: -abs(params[0] - 0.3)  # noqa: E731
    trainers = [
        dx.Restarts(dx.trainers.BestSoFar(dx.LBFGS(max_iter=9), score), n=3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    ]
    one, two = (trainer.minimize(objective, start) for trainer in trainers)
    assert np.array_equal(one.params, two.params)
    assert all("score" in row for row in two.trace)


class _Probe:
    """A trainer that counts the threads that share its chunks, and the kernels compiled for it."""

    def minimize(self, objective, start, *, callback=None):
        names, together = set(), threading.Barrier(2, timeout=0.3)

        def work(chunk):
            names.add(threading.get_ident())
            with suppress(threading.BrokenBarrierError):
                together.wait()  # for a second thread, if there is one

        run_chunks(work, 2)
        from directrix.surrogates._kernels.approx import separable_chunk

        before = sum(separable_chunk.stats.cache_misses.values())
        dx.LBFGS(max_iter=1).minimize(objective, start)
        compiled = sum(separable_chunk.stats.cache_misses.values()) - before
        counts = {"threads": len(names), "compiled": compiled}
        return Result(start, 0.0, "converged", "", counts)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_runs_at_a_time_have_one_thread_each(linear, backend, monkeypatch):
    monkeypatch.setenv("DIRECTRIX_NUM_THREADS", "4")
    with joblib.parallel_config(backend=backend):
        result = dx.Restarts(_Probe(), n=2, n_jobs=2).minimize(*linear)
    assert result.counts["threads"] == 1 + 1


def test_processes_use_the_kernels_that_are_compiled_already():
    """Arrays of more than 1 MB are mapped from files; they must not be another type to the kernels."""
    q = dx.data.make_cubic(n_queries=60, docs_per_query=100, n_features=50, seed=3)
    objective = dx.linear_objective(q, "ApproxNDCG(alpha=30.0)")
    assert objective.source.parts[0].rows.nbytes > 1e6
    dx.LBFGS(max_iter=1).minimize(objective, np.ones(50))
    result = dx.Restarts(_Probe(), n=2, n_jobs=2).minimize(objective, np.ones(50))
    assert result.counts["compiled"] == 0


class Buffered(Valleys):
    """Has more than 1 MB of work space, which processes get mapped from a file."""

    def __init__(self):
        self.space = np.zeros(200_000)

    def value_and_grad(self, params, queries=None):
        self.space[: len(params)] = params
        return super().value_and_grad(self.space[: len(params)])


def test_objectives_may_write_to_their_own_work_space_in_processes():
    one, two = (
        dx.Restarts(dx.LBFGS(), n=3, n_jobs=n_jobs).minimize(Buffered(), np.full(3, -1.0))
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.params, two.params)


def test_objectives_come_back_from_a_pickle_as_they_were(linear):
    q = linear[0].queries
    for surrogate in ("ApproxNDCG", "ListMLE", "Regression"):
        before = dx.linear_objective(q, surrogate, 0.1, query_weight=np.arange(1.0, 41.0))
        before.value_and_grad(linear[1], np.array([3, 5]))
        after = pickle.loads(pickle.dumps(before))
        for queries in (None, np.array([3, 5])):
            loss, grad = before.value_and_grad(linear[1], queries)
            again, slope = after.value_and_grad(linear[1], queries)
            assert (loss, grad.tolist()) == (again, slope.tolist())
        assert not after.source.parts[0].rows.flags.writeable


def test_serially_keeps_chunks_on_the_calling_thread_and_lets_go_again():
    def threads_used():
        together = threading.Barrier(2, timeout=0.3)
        names = set()

        def work(chunk):
            names.add(threading.get_ident())
            with suppress(threading.BrokenBarrierError):
                together.wait()

        run_chunks(work, 2)
        return names

    before = dx.set_threads(2)
    try:
        with serially():
            with serially():
                assert threads_used() == {threading.get_ident()}
            assert threads_used() == {threading.get_ident()}
        assert len(threads_used()) == 2
    finally:
        dx.set_threads(before)


def test_a_ranker_takes_restarts_as_its_trainer():
    q = dx.data.make_cubic(n_queries=30, docs_per_query=10, n_features=5, seed=1)
    train, valid = q.take(range(20)), q.take(range(20, 30))
    ranker = dx.LinearRanker("ApproxNDCG(alpha=50.0)", trainer=dx.Restarts(dx.LBFGS(max_iter=20), n=4))
    result = ranker.fit_queries(train, valid).result_
    by_run = {row["restart"]: row["score"] for row in result.trace}
    assert len(by_run) == 4
    assert result.counts["best"] == max(by_run, key=by_run.get)
    assert ranker.training_["trainer"].startswith("Restarts(trainer=LBFGS(")
