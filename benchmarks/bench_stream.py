"""Training a linear ranker on a file larger than the memory it may have, against the disk's own speed.

Type ``python benchmarks/bench_stream.py`` (8 GB, 2 GB of memory; the file goes to ``--folder`` and is
deleted), or ``--gigabytes 0.5 --limit 0.5`` for a small run. Memory is limited for the process that trains,
caches of files included, by a control group (which needs root or ``systemd-run``), else by ``ulimit -v``.
Before every reading the file is dropped from the caches of this system by ``posix_fadvise``; a host below it
may still hold it.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FEATURES, DOCS_PER_QUERY = 136, 120
GOAL = 0.6  # of the disk's speed
WAYS = {
    "pread": "  of the first 2 GiB: pread, 1 MiB",
    "direct": "  with O_DIRECT, 8 MiB",
    "map": "  memory map, madvise SEQUENTIAL",
}


def generate(path: Path, gigabytes: float) -> None:
    """Write random queries block by block; features have three decimals, as those of LETOR often have."""
    from directrix.data.queries import rows_as_queries
    from directrix.data.tables.write import writing

    rng, truth = np.random.default_rng(0), np.random.default_rng(1).normal(size=FEATURES).astype(np.float32)
    n_queries = max(1, int(gigabytes * 1e9 / (4 * FEATURES * DOCS_PER_QUERY)))
    values = (np.arange(1000) / 1000).astype(np.float32)
    with writing(path) as add:
        for first in range(0, n_queries, 200):
            n = min(200, n_queries - first) * DOCS_PER_QUERY
            X = values[rng.integers(0, 1000, (n, FEATURES), dtype=np.uint16)]
            noisy = X @ truth + rng.normal(size=n)
            labels = np.digitize(noisy, np.quantile(noisy, [0.6, 0.8, 0.92, 0.98])).astype(np.float64)
            qids = np.repeat(np.arange(first, first + n // DOCS_PER_QUERY), DOCS_PER_QUERY)
            add(rows_as_queries(first * DOCS_PER_QUERY, X, labels, qids, None))
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def drop_cache(path: Path) -> None:
    """Forget the pages of a file; without root."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def disk_speed(path: Path, way: str, most: int | None = None) -> float:
    """Bytes a second of one thread that reads the file from front to back and does nothing."""
    drop_cache(path)
    size, step = min(path.stat().st_size, most or sys.maxsize), (8 << 20) if way == "direct" else (1 << 20)
    buffer = mmap.mmap(-1, step)
    descriptor = os.open(path, os.O_RDONLY | (os.O_DIRECT if way == "direct" else 0))
    begun = time.perf_counter()
    if way == "map":
        with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as mapped:
            mapped.madvise(mmap.MADV_SEQUENTIAL)
            for offset in range(0, size, step):
                buffer[: min(step, size - offset)] = mapped[offset : min(offset + step, size)]
    else:
        for offset in range(0, size, step):
            os.preadv(descriptor, [buffer], offset)
    seconds = time.perf_counter() - begun
    os.close(descriptor)
    return size / seconds


def train(path: Path, repeats: int) -> dict[str, object]:
    """What the limited process does: reads, passes, epochs, a training."""
    import directrix as dx
    from directrix.data.tables.read import open_parquet

    n = 64
    warm = dx.Queries.from_arrays(np.eye(n, FEATURES, dtype=np.float32), np.arange(n) % 3, group=[n])
    objective = dx.linear_objective(warm, "ApproxNDCG")
    objective.value_and_grad(np.zeros(FEATURES))
    objective.sgd_epoch(np.zeros(FEATURES), np.array([0]), 0.01)

    begun = time.perf_counter()
    q = open_parquet(path)
    opened = time.perf_counter() - begun
    objective = dx.linear_objective(q, "ApproxNDCG")
    n_bytes = q.n_docs * q.n_features * 4
    found: dict[str, list[float]] = {"disk": [], "read": [], "pass": [], "epoch": []}
    w, order = np.full(FEATURES, 0.01), np.random.default_rng(0).permutation(q.n_queries)
    for _ in range(repeats):
        found["disk"].append(max(disk_speed(path, way) for way in ("pread", "direct")))
        for name in ("read", "pass", "epoch"):
            if name == "epoch" and path.suffix == ".parquet":
                continue
            drop_cache(path)
            begun = time.perf_counter()
            if name == "read":
                for _ in q.features.blocks(q.qptr):
                    pass
            elif name == "pass":
                objective.value_and_grad(w)
            else:
                objective.sgd_epoch(w.copy(), order, 1e-3)
            found[name].append(n_bytes / (time.perf_counter() - begun))
    result = {"opened": opened, "bytes": n_bytes, "queries": q.n_queries, "speeds": found}
    if path.suffix != ".parquet":
        begun, start = time.perf_counter(), np.zeros(FEATURES)
        trained = dx.LBFGS(max_iter=2).minimize(objective, start)
        result |= {
            "passes": trained.counts["evaluations"],
            "seconds": time.perf_counter() - begun,
            "losses": [row["loss"] for row in trained.trace],
        }
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found |= {way: [disk_speed(path, way, 2 << 30)] for way in WAYS}  # last: a map counts as resident memory
    return result


def limited(command: list[str], limit: int) -> tuple[str, str]:
    """Run a command with at most ``limit`` bytes; returns what it printed, and how it was limited."""
    version_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    root = Path("/sys/fs/cgroup") if version_2 else Path("/sys/fs/cgroup/memory")
    group = root / f"directrix-bench-{os.getpid()}"
    how, enter, prefix = f"control group, version {2 if version_2 else 1}", None, []
    try:
        group.mkdir()
        (group / ("memory.max" if version_2 else "memory.limit_in_bytes")).write_text(str(limit))

        def enter() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    except OSError:
        if shutil.which("systemd-run") and os.system("systemd-run --user --scope -q true 2>/dev/null") == 0:
            how, prefix = (
                "systemd-run",
                ["systemd-run", "--user", "--scope", "-q", "-p", f"MemoryMax={limit}"],
            )
        else:
            how = "ulimit -v"

            def enter() -> None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    try:
        done = subprocess.run(
            [*prefix, *command], stdout=subprocess.PIPE, text=True, check=True, preexec_fn=enter
        )
    finally:
        if group.is_dir():
            group.rmdir()
    return done.stdout, how


def report(path: Path, limit: int, repeats: int) -> None:
    """Measure one file and print its rows."""
    text, how = limited([sys.executable, __file__, "--train", str(path), "--repeats", str(repeats)], limit)
    found = json.loads(text.splitlines()[-1])
    speeds = {name: np.array(values) for name, values in found["speeds"].items() if values}
    size = path.stat().st_size
    print(
        f"{path.suffix[1:]}: {size / 1e9:.2f} GB on disk, {found['bytes'] / 1e9:.2f} GB of features, "
        f"{found['queries']:,} queries; memory limited to {limit / 1e9:.2g} GB by {how}"
    )
    print(f"  {'what':34} {'GB/s':>6}  {'of the disk':>11}   (medians of {repeats}, each time cold)")
    disk = np.median(speeds["disk"]) * found["bytes"] / size
    names = WAYS | {
        "disk": "the disk alone, of features",
        "read": "blocks read ahead, no work",
        "pass": "full gradient, ApproxNDCG",
        "epoch": "epoch of SGD, ApproxNDCG",
    }
    for name, values in speeds.items():
        own = name == "disk" or name in WAYS  # of bytes of the file, not of features
        speed = np.median(values) * (found["bytes"] / size if own else 1.0)
        goal = f"   goal {GOAL:.0%} {'met' if speed >= GOAL * disk else 'MISSED'}" if name == "pass" else ""
        print(f"  {names[name]:34} {speed / 1e9:6.2f}  {speed / disk:11.0%}{goal}")
    print(f"  opened in {found['opened']:.1f} s; peak resident memory {found['peak'] / 1e6:.0f} MB")
    if "passes" in found:
        rate = found["passes"] * found["bytes"] / found["seconds"]
        losses = " -> ".join(f"{loss:.4f}" for loss in found["losses"])
        print(
            f"  L-BFGS: {found['passes']} passes in {found['seconds']:.1f} s, {rate / 1e9:.2f} GB/s, "
            f"loss {losses}"
        )


def main() -> None:
    """Print speeds of an Arrow file, and of a smaller Parquet file with the same rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=8.0, help="of features in the Arrow file")
    parser.add_argument("--parquet-gigabytes", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=2.0, help="gigabytes of memory")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--keep", type=Path, help="take the Arrow file from here, or leave it there")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train is not None:
        print(json.dumps(train(options.train, options.repeats)))
        return
    free = shutil.disk_usage(options.folder).free / 1e9
    gigabytes = min(options.gigabytes, 0.8 * free)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, size in (
            ("data.arrow", gigabytes),
            ("data.parquet", min(options.parquet_gigabytes, gigabytes)),
        ):
            path = Path(folder, name)
            if name == "data.arrow" and options.keep is not None:
                path = options.keep
            if not path.exists():
                generate(path, size)
            report(path, int(options.limit * 1e9), options.repeats)


if __name__ == "__main__":
    main()
