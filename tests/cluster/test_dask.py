"""Real Dask clusters: a scheduler and workers as separate processes."""

import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import pytest

import directrix as dx
from directrix import InputError, MissingExtra
from directrix.cluster.dask import _answered, _dask_errors
from directrix.data.shards.context import using_driver
from directrix.data.shards.task import Question, ThisProcess
from tests.search import search

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="needs the extra dask")


class Cluster:
    """A scheduler, and workers with one thread each."""

    def __init__(self, folder, **settings):
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        self.environment = os.environ | {"PYTHONPATH": paths}  # questions of this module
        self.environment |= {f"DASK_DISTRIBUTED__{name}": text for name, text in settings.items()}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.folder, self.workers = folder, []
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", port)

    def _start(self, kind, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"]
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=self.environment)

    def add(self, memory="2GB", nanny="--no-nanny"):
        settings = "--nthreads", "1", "--memory-limit", memory, nanny
        self.workers.append(self._start("worker", self.address, *settings))

    def close(self):
        for process in (*self.workers, self.scheduler):
            for child in (
                psutil.Process(process.pid).children(recursive=True) if process.poll() is None else ()
            ):
                child.kill()
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    cluster.add()
    cluster.add()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def client(started):
    with distributed.Client(started.address, timeout=30) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    q = dx.data.make_cubic(n_queries=60, docs_per_query=10, n_features=5, seed=0)
    return dx.write_shards(q, tmp_path_factory.mktemp("data") / "shards", 5)


def here(folder):
    """Weights that one process finds."""
    with using_driver(ThisProcess()):
        return fitted(folder).coef_


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def fitted(folder, **settings):
    return dx.LinearRanker("ApproxNDCG", scale="standard", max_iter=40).fit_shards(folder, **settings)


def test_the_same_bits_as_in_one_process(client, folder):
    with dx.cluster("dask", client):
        there = fitted(folder)
    here = fitted(folder)
    assert np.array_equal(there.coef_, here.coef_)
    assert there.result_.trace == here.result_.trace


def test_trainings_of_a_cross_validation_go_there(client):
    q = dx.data.make_cubic(n_queries=30, docs_per_query=10, n_features=5, seed=0)
    with dx.cluster("dask", client):
        result = search(q, method="RankNet", measure="AP", folds=3, n_jobs=2)
    assert result.name == search(q, method="RankNet", measure="AP", folds=3).name


@pytest.mark.filterwarnings("ignore")  # of lightgbm.dask, about ports and its own deprecated calls
def test_trees_of_lightgbm_on_shards_are_about_those_of_one_machine(client, tmp_path):
    lightgbm = pytest.importorskip("lightgbm.dask", reason="needs dask.dataframe")
    from directrix.interop.lightgbm import dask_arrays, objective

    q = dx.data.make_cubic(n_queries=240, docs_per_query=20, n_features=6, seed=0)
    cut = [q.take(range(100)), q.take([]), q.take(range(100, 200))]
    folder, test = dx.write_shards(cut, tmp_path / "shards"), q.take(range(200, 240))
    settings = {
        "n_estimators": 20,
        "min_child_weight": 20.0,
        "reg_lambda": 20.0,
        "num_leaves": 15,
        "verbose": -1,
    }
    there = lightgbm.DaskLGBMRanker(client=client, objective=objective("ApproxNDCG"), **settings)
    there.fit(**dask_arrays(folder))
    here = lightgbm.DaskLGBMRanker().to_local().set_params(objective=objective("ApproxNDCG"), **settings)
    train = q.take(range(200))
    here.fit(train.features, train.labels, group=np.diff(train.qptr))
    values = [
        dx.evaluate("nDCG@10", one.predict(test.features), test.labels, qptr=test.qptr)["nDCG@10"]
        for one in (there.to_local(), here)
    ]
    by_tree = [
        there.booster_.predict(test.features, start_iteration=n, num_iteration=1, raw_score=True)
        for n in range(20)
    ]
    np.testing.assert_allclose(sum(by_tree), there.to_local().predict(test.features), rtol=1e-9, atol=1e-12)
    assert values[1] > 0.5
    assert abs(values[0] - values[1]) < 0.02


@pytest.mark.filterwarnings("ignore")  # as above
def test_lightgbm_stops_by_the_measure_on_all_validation_queries(client, tmp_path):
    lightgbm = pytest.importorskip("lightgbm.dask", reason="needs dask.dataframe")
    from directrix.interop.lightgbm import dask_arrays, early_stopping, objective

    q = dx.data.make_cubic(n_queries=120, docs_per_query=15, n_features=6, label_noise=0.3, seed=0)
    folder = dx.write_shards([q.take(range(50)), q.take(range(50, 80))], tmp_path / "shards")
    valid = dx.write_shards(q.take(range(80, 120)), tmp_path / "valid", n_shards=3)
    trees = lightgbm.DaskLGBMRanker(
        client=client, objective=objective("ApproxNDCG"), n_estimators=300, num_leaves=15, verbose=-1
    )
    trees.fit(**dask_arrays(folder), callbacks=[early_stopping(valid, "nDCG@5", stopping_rounds=10)])
    judged, scores, values = dx.data.open_shards(valid).judged(), 0.0, []
    n_trees = trees.booster_.current_iteration()
    for n in range(n_trees):
        scores = scores + trees.booster_.predict(
            judged.features[:], start_iteration=n, num_iteration=1, raw_score=True
        )
        values.append(dx.evaluate("nDCG@5", scores, judged.labels, qptr=judged.qptr)["nDCG@5"])
    assert trees.best_iteration_ == 1 + np.argmax(values)
    assert trees.best_score_["valid"]["nDCG@5"] == max(values)
    assert n_trees == trees.best_iteration_ < 300  # the others are cut off on the way back


def test_a_worker_is_killed_and_another_joins(started, client, folder):
    wanted, seen = fitted(folder), []

    def disturb(step):
        seen.append(step.iteration)
        if step.iteration == 3:
            os.kill(started.workers[-1].pid, signal.SIGKILL)
        if step.iteration == 5:
            started.add()

    with dx.cluster("dask", client):
        ranker = fitted(folder, callback=disturb)
    assert np.array_equal(ranker.coef_, wanted.coef_)
    assert seen == list(range(len(seen)))
    assert len(seen) > 8


def test_a_lost_scheduler_is_reported_and_training_resumes_from_the_checkpoint(folder, tmp_path, capfd):
    cluster = Cluster(tmp_path)
    try:
        cluster.add()
        path = tmp_path / "answers"

        def lose(step):
            if step.iteration == 4:
                cluster.scheduler.kill()

        with (
            pytest.raises(InputError, match=r"scheduler of Dask at .* was lost"),
            dx.cluster("dask", cluster.address),
        ):
            fitted(folder, callback=lose, checkpoint=path)
    finally:
        cluster.close()
    assert "Traceback" not in capfd.readouterr().err
    assert path.stat().st_size > 100
    assert np.array_equal(fitted(folder, checkpoint=path).coef_, fitted(folder).coef_)


def fill(n_bytes):
    return np.ones(n_bytes // 8)


class Filling(Question):
    """Takes more memory than a worker has; the bytes stay with the worker."""

    kept: ClassVar = []

    def __init__(self, n_bytes):
        self.n_bytes = n_bytes

    def answer(self, shard):
        self.kept.append(np.ones(self.n_bytes // 8))
        time.sleep(2.0)
        return [shard.number]


def test_workers_whose_memory_limit_is_hit(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("directrix.cluster.dask"), "_MOVES", 1)
    cluster = Cluster(tmp_path)
    try:
        cluster.add("800MB", "--nanny")
        shards = dx.data.open_shards(folder)
        with (
            distributed.Client(cluster.address, timeout=30) as client,
            dx.cluster("dask", client),
        ):
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(InputError, match=r"memory limit was hit.*memory-limit"):
                shards.features.ask(Filling(1_600_000_000))
            assert shards.scores(fitted(folder)).shape == (600,)  # the nanny started the worker again
    finally:
        cluster.close()


def test_a_worker_whose_memory_is_used_up_gets_no_further_tasks(folder, tmp_path):
    cluster = Cluster(
        tmp_path,
        **dict.fromkeys(("WORKER__MEMORY__TARGET", "WORKER__MEMORY__SPILL"), "false"),
        WORKER__MEMORY__PAUSE="0.5",
    )
    try:
        cluster.add("1GB")
        cluster.add("1GB")
        with (
            distributed.Client(cluster.address, timeout=30) as client,
            dx.cluster("dask", client) as driver,
        ):
            client.wait_for_workers(2, timeout=60)
            first = min(driver._running())
            filled = client.submit(fill, 600_000_000, workers=[first])
            wait_until(lambda: client.scheduler_info()["workers"][first]["status"] == "paused")
            wait_until(lambda: first not in driver._running())
            assert np.array_equal(fitted(folder).coef_, here(folder))
            assert filled.done()
    finally:
        cluster.close()


def test_a_worker_that_stops_answering_is_given_up(folder, tmp_path):
    cluster = Cluster(tmp_path, SCHEDULER__WORKER_TTL="6s")
    try:
        cluster.add()
        cluster.add()

        def stop(step):
            if step.iteration == 2:
                cluster.workers[0].send_signal(signal.SIGSTOP)

        with distributed.Client(cluster.address, timeout=30) as client, dx.cluster("dask", client):
            client.wait_for_workers(2, timeout=60)
            assert np.array_equal(fitted(folder, callback=stop).coef_, here(folder))
    finally:
        cluster.close()


def test_a_scheduler_that_stops_answering_is_reported(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("directrix.cluster.dask"), "_SILENCE", 2.0)
    cluster = Cluster(tmp_path)
    try:
        cluster.add()

        def stop(step):
            if step.iteration == 2:
                cluster.scheduler.send_signal(signal.SIGSTOP)

        with dx.cluster("dask", cluster.address):
            with pytest.raises(InputError, match=r"scheduler of Dask at .* was lost \(TimeoutError\)"):
                fitted(folder, callback=stop)
            cluster.scheduler.send_signal(signal.SIGCONT)  # a client waits for it when it is closed
    finally:
        cluster.close()


def test_a_cluster_without_workers_is_waited_for_and_reported(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("directrix.cluster.dask"), "_PATIENCE", 0.5)
    cluster = Cluster(tmp_path)
    try:
        with (
            dx.cluster("dask", cluster.address),
            pytest.raises(InputError, match=r"had no worker for 0\.5 s that takes tasks \(0 that do not"),
        ):
            fitted(folder)
    finally:
        cluster.close()


def test_a_client_that_was_closed_is_reported(started, folder):
    client = distributed.Client(started.address, timeout=30)
    client.close()
    with dx.cluster("dask", client), pytest.raises(InputError, match=r"was lost \(CommClosedError\)"):
        fitted(folder)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (distributed.scheduler.KilledWorker("task", None, 3), "workers were lost, or had no memory left"),
        (distributed.CancelledError("task"), r"was lost \(CancelledError\)"),
        (OSError(), r"was lost \(OSError\)"),
    ],
)
def test_errors_of_dask(client, error, said):
    with pytest.raises(InputError, match=said), _dask_errors(client):
        raise error


def test_no_scheduler_and_no_client():
    with (
        pytest.raises(InputError, match="no scheduler of Dask answers"),
        dx.cluster("dask", "tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(InputError, match="is needed"), dx.cluster("dask", 3):
        pass


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"directrix\[dask\]"), dx.cluster("dask", "tcp://127.0.0.1:9"):
        pass


def _without_disk():
    raise OSError(5, "Input/output error")


def test_a_disk_that_fails_on_a_worker_is_no_lost_scheduler():
    with pytest.raises(InputError, match=r"a worker could not read its shards: .*Input/output error"):
        _answered(pickle.dumps(_without_disk))
