"""Shards on Dask: the same bits, overhead of a step, a model of time, 2 workers against 1, against the disk.

Type ``python benchmarks/bench_cluster.py`` (20 GB in ``--folder``, which are deleted), or ``--gigabytes 1``
for a small run. Scheduler and workers are separate processes on the loopback interface, with one thread and
4 GB each. ``--only model`` runs one part.
The model of time is fitted on 1, 2 and 4 workers, and compared with 8 and 16. Its workers are threads of one
process that sleep for as long as their bytes would take, and for a latency. So the simulation shows what the
driver, the scheduler and the messages take; it does not show the network's bandwidth, nor that the work on
answers is shared: all workers do it on the same cores, and on real ones it falls with the number of workers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_stream import DOCS_PER_QUERY, FEATURES, disk_speed, drop_cache

import directrix as dx
from directrix.data.shards.task import ROOM, OpenShard, Question

GOAL_DISK, GOAL_OVERHEAD, GOAL_EFFICIENCY = 0.7, 0.020, 0.85
N_SHARDS = 64  # of a step whose overhead is measured, or modeled
LATENCY, SPEED = 0.005, 1e9  # of simulated workers: seconds, bytes a second


@contextlib.contextmanager
def dask(n_workers: int, memory: str = "4GB", *, own_cores: bool = False) -> Iterator[Any]:
    """A client of as many workers, each on a core of its own if that is wanted."""
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, running = f"tcp://127.0.0.1:{port}", []

    def start(kind: str, *arguments: str, core: int | None = None) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.append(process)
        if core is not None:
            os.sched_setaffinity(process.pid, {core})

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", str(port))
        for number in range(n_workers):
            core = number if own_cores else None
            start("worker", address, "--nthreads", "1", "--memory-limit", memory, "--no-nanny", core=core)
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(n_workers, timeout=120)
            yield client
    finally:
        for process in running:
            process.kill()
            process.wait()


def generate(folder: Path, gigabytes: float, n_shards: int) -> Path:
    """Random queries; the shards hold the same features, with labels of their own."""
    rng = np.random.default_rng(0)
    n_queries = max(1, int(gigabytes * 1e9 / (4 * FEATURES * DOCS_PER_QUERY) / n_shards))
    X = rng.random((n_queries * DOCS_PER_QUERY, FEATURES), dtype=np.float32)
    qptr, rows = np.arange(n_queries + 1) * DOCS_PER_QUERY, np.arange(len(X))
    shards = [
        dx.Queries(
            X,
            rng.integers(0, 5, size=len(X)).astype(np.float64),
            qptr,
            tuple(range(number * n_queries, (number + 1) * n_queries)),
            None,
            None,
            rows,
        )
        for number in range(n_shards)
    ]
    return dx.write_shards(shards, folder)


def gradient(folder: Path, repeats: int, *, cold: bool = False) -> float:
    """Seconds of a full gradient, the median."""
    from directrix.models import LinearModel
    from directrix.objectives.objective import make_objective

    objective = make_objective(dx.data.open_shards(folder), dx.ApproxNDCG(), LinearModel())
    w, seconds = np.full(FEATURES, 0.01), []
    objective.value_and_grad(w)  # compiles, opens
    for _ in range(repeats):
        if cold:
            for path in folder.glob("*.arrow"):
                drop_cache(path)
        begun = time.perf_counter()
        objective.value_and_grad(w)
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))


@dataclass(frozen=True)
class Simulated(Question):
    """Takes as long as reading the bytes would, and answers with a gradient."""

    seconds: float
    n_params: int

    def answer(self, shard: OpenShard) -> np.ndarray:
        time.sleep(self.seconds)
        return np.ones(1 + self.n_params)


@dataclass(frozen=True)
class Waiting(Simulated):
    """The same; the first shard of a worker waits for the network too."""

    first: tuple[int, ...] = ()

    def answer(self, shard: OpenShard) -> np.ndarray:
        time.sleep(LATENCY if shard.number in self.first else 0.0)
        return super().answer(shard)


def simulated(folder: Path, n_workers: int, megabytes: float, n_params: int, repeats: int = 30) -> float:
    """Seconds of a step on workers that sleep, the median."""
    from directrix.data.shards.task import contiguous

    shards = dx.data.open_shards(folder)
    present = shards.manifest.present
    sizes = [shards.manifest.shards[number].documents for number in present]
    first = tuple(run[0] for run in contiguous(present, sizes, n_workers))
    question, seconds = Waiting(megabytes * 1e6 / SPEED / len(present), n_params, first), []
    import distributed

    workers = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with workers, distributed.Client(workers) as client, dx.cluster("dask", client):
        for _ in range(3):
            shards.features.ask(question)
        for _ in range(repeats):
            begun = time.perf_counter()
            shards.features.ask(question)
            seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))


def known_part(n_workers: int, megabytes: float) -> float:
    """Seconds that a simulated step waits: once for the network, and for the bytes of the largest share."""
    return LATENCY + megabytes * 1e6 / SPEED * largest_share(n_workers) / N_SHARDS


def largest_share(n_workers: int) -> int:
    """Number of shards of the worker that has the most."""
    return -(-N_SHARDS // n_workers)


def terms(n_workers: int, n_params: int) -> list[float]:
    """What the rest of a step is proportional to.

    1: a question and its end. Workers: a task for each is pickled, scheduled, waited for and gathered by the
    driver and the scheduler, one after another. Workers times MB: parameters go to each, a gradient comes
    back. Shards of the largest share: Python in a worker. MB: every shard makes a gradient, and they are
    added up; here on the same cores whatever the number of workers.
    """
    megabytes = 8e-6 * n_params
    return [1.0, n_workers, n_workers * megabytes, largest_share(n_workers), megabytes]


def model_of_time(folder: Path) -> None:
    """Fit what a step takes besides latency and reading on 1, 2 and 4 workers; compare with 8 and 16."""
    from scipy.optimize import nnls

    cases = [(n, megabytes, p) for n in (1, 2, 4) for megabytes in (100.0, 800.0) for p in (136, 100_000)]
    measured = {case: simulated(folder, *case) for case in cases}
    A = np.array([terms(n, p) for n, _, p in cases])
    rest = np.array([measured[case] - known_part(case[0], case[1]) for case in cases])
    scale = 1.0 / np.array([measured[case] for case in cases])  # relative errors
    fitted = nnls(A * scale[:, None], rest * scale)[0]
    a, b, c, d, e = 1e3 * fitted
    print(
        f"\nmodel: {a:.1f} ms + {b:.2f} ms for each worker\n"
        f"+ {c:.2f} ms for each worker and MB of parameters\n"
        f"+ {d:.2f} ms for each shard of the largest share + {e:.1f} ms for each MB of parameters\n"
        f"+ latency + bytes of the largest share / speed\n"
        f"{'workers':>8}{'MB read':>9}{'parameters':>12}{'measured, ms':>14}{'model, ms':>11}"
    )
    later = [(n, 800.0, p) for n in (8, 16) for p in (136, 100_000)]
    for n, megabytes, p in [*cases, *later]:
        seconds = measured.get((n, megabytes, p)) or simulated(folder, n, megabytes, p)
        expected = known_part(n, megabytes) + float(np.dot(fitted, terms(n, p)))
        checked = "" if n <= 4 else f"   not fitted: {expected / seconds - 1:+.0%}"
        print(f"{n:8}{megabytes:9.0f}{p:12,}{1e3 * seconds:14.1f}{1e3 * expected:11.1f}{checked}", flush=True)


def goal(*, is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def overhead(folder: Path) -> None:
    """Print what a step costs besides the work, with 64 shards on 2 workers."""
    here = gradient(folder, 30)
    with dask(2) as client, dx.cluster("dask", client):
        there = gradient(folder, 100)
    print(
        f"a step over 64 shards of {20e6 / 64 / 1e6:.1f} MB: {1e3 * here:.1f} ms in one process, "
        f"{1e3 * there:.1f} ms on 2 workers: overhead {1e3 * (there - here):.1f} ms, goal 20 ms "
        f"{goal(is_met=there - here < GOAL_OVERHEAD)}",
        flush=True,
    )


def same_bits(folder: Path) -> None:
    """Print whether 1, 2, 3 and 5 workers train the weights of one process, bit for bit."""
    here = dx.LinearRanker("ApproxNDCG", max_iter=20).fit_shards(folder).coef_
    for n in (1, 2, 3, 5):
        with dask(n) as client, dx.cluster("dask", client):
            there = dx.LinearRanker("ApproxNDCG", max_iter=20).fit_shards(folder).coef_
        are_equal = here.tobytes() == there.tobytes()
        print(
            f"weights, workers {n}: {'the bits of one process' if are_equal else 'OTHER BITS'}",
            flush=True,
        )


def efficiency(folder: Path, gigabytes: float, repeats: int) -> None:
    """Print the speed of two workers over twice that of one, on files in the caches of the system.

    Each has one core, as a machine of its own would have: one alone would read on the core of the other.
    """
    seconds = {}
    for n in (1, 2):
        with dask(n, own_cores=True) as client, dx.cluster("dask", client):
            seconds[n] = gradient(folder, repeats)
    share = seconds[1] / (2 * seconds[2])
    print(
        f"full gradient of {gigabytes:g} GB, in the caches: 1 worker {seconds[1]:.2f} s, 2 workers "
        f"{seconds[2]:.2f} s: efficiency {share:.0%}, goal 85 % {goal(is_met=share >= GOAL_EFFICIENCY)}",
        flush=True,
    )


def against_disk(folder: Path, gigabytes: float, repeats: int) -> None:
    """Print the speed of a gradient over that of reading the same files and doing nothing."""
    paths = sorted(folder.glob("*.arrow"))
    size = sum(path.stat().st_size for path in paths)
    disk = max(
        size / sum(path.stat().st_size / disk_speed(path, way) for path in paths)
        for way in ("pread", "direct")
    )
    read = gigabytes * 1e9 - min(2 * ROOM * 4e9, gigabytes * 1e9)  # the rest is held in memory
    with dask(2) as client, dx.cluster("dask", client):
        cold = read / gradient(folder, repeats, cold=True)
    print(
        f"full gradient of {gigabytes:g} GB on 2 workers with 4 GB, dropped from the caches: "
        f"{cold / 1e9:.2f} GB/s, the disk alone {disk / 1e9:.2f} GB/s: {cold / disk:.0%}, goal 70 % "
        f"{goal(is_met=cold >= GOAL_DISK * disk)}",
        flush=True,
    )


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=PARTS, help="one part, instead of all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name in PARTS if options.only is None else [options.only]:
            if name in ("bits", "overhead", "model"):
                small = Path(folder, "small")
                PARTS[name](small if small.exists() else generate(small, 0.02, N_SHARDS))
                continue
            gigabytes, n_shards = {
                "efficiency": (options.gigabytes / 2, 32),
                "disk": (options.gigabytes, 64),
            }[name]
            shards = generate(Path(folder, name), gigabytes, n_shards)
            PARTS[name](shards, gigabytes, options.repeats)
            shutil.rmtree(shards)


PARTS: dict[str, Any] = {
    "bits": same_bits,
    "overhead": overhead,
    "model": model_of_time,
    "efficiency": efficiency,
    "disk": against_disk,
}

if __name__ == "__main__":
    main()
