"""Reading a large svmlight file: speed against scikit-learn in the same run, memory, same values.

Type ``python benchmarks/bench_loading.py``; the file (about 400 MB) goes to a temporary folder. Then a TREC
run and its judgments, against a plain loop that splits lines into dictionaries, as pytrec_eval reads them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_READ = """
import json, sys, time, warnings
import directrix
path, dtype = sys.argv[1:]
with open(path) as file:
    head = [next(file) for _ in range(50)]
with open(path + ".head", "w") as file:
    file.writelines(head)
directrix.read_letor(path + ".head", dtype=dtype)  # compiles, or loads what was compiled

def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

before = memory("VmRSS")
seconds = []
q = None
for _ in range(3):
    del q
    start = time.perf_counter()
    q = directrix.read_letor(path, dtype=dtype)
    seconds.append(time.perf_counter() - start)
arrays = q.features.nbytes + q.labels.nbytes + q.qptr.nbytes + q.rows.nbytes
peak = memory("VmHWM") - before
print(json.dumps({"seconds": seconds, "arrays": arrays, "peak": peak, "threads": directrix.get_threads()}))
"""


def write_file(path: Path, n_docs: int, n_features: int, docs_per_query: int) -> None:
    """Write dense rows of six-decimal values, half of the rows' texts used again for speed."""
    rng = np.random.default_rng(0)
    n_texts = max(1, n_docs // 10)
    texts = []
    for _ in range(n_texts):
        values = rng.random(n_features)
        texts.append(" ".join(f"{i}:{value:.6f}" for i, value in enumerate(values.tolist(), start=1)))
    labels = rng.choice(5, size=n_docs, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    chosen = rng.integers(n_texts, size=n_docs)
    with path.open("w") as file:
        for row, (label, text) in enumerate(zip(labels.tolist(), chosen.tolist(), strict=True)):
            file.write(f"{label} qid:{row // docs_per_query + 1} {texts[text]}\n")


def read(path: Path, dtype: str) -> dict[str, float]:
    """Read in a process of its own, so that its peak memory is that of the reader."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path), dtype], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def loop_of_splits(path: Path) -> dict[str, dict[str, float]]:
    """What pytrec_eval.parse_run and parse_qrel do: no checks, dictionaries of dictionaries."""
    found: dict[str, dict[str, float]] = {}
    with path.open() as file:
        for line in file:
            words = line.strip().split()
            found.setdefault(words[0], {})[words[2]] = float(words[4 if len(words) == 6 else 3])
    return found


def report_trec(folder: str, n_queries: int, n_docs: int) -> None:
    """Print the speed of reading a run and judgments, and of joining them."""
    import directrix as dx

    rng = np.random.default_rng(0)
    run, qrels = Path(folder, "run"), Path(folder, "qrels")
    with run.open("w") as scores, qrels.open("w") as labels:
        for q in range(n_queries):
            docs = [f"clueweb12-{doc:010d}" for doc in rng.choice(10**7, n_docs, replace=False)]
            falling = np.sort(rng.random(n_docs))[::-1].tolist()
            scores.writelines(f"{q} Q0 {doc} 1 {s:.6f} t\n" for doc, s in zip(docs, falling, strict=True))
            graded = rng.integers(0, 5, n_docs).tolist()
            labels.writelines(f"{q} 0 {doc} {label}\n" for doc, label in zip(docs, graded, strict=True))
    print(f"\nTREC: {n_queries * n_docs:,} lines       s    MB/s   loop of splits, s   loop / ours")
    found = {}
    for name, path, read_ours in (("run", run, dx.read_trec_run), ("judgments", qrels, dx.read_trec_qrels)):
        ours, plain = [], []
        for _ in range(3):
            begun = time.perf_counter()
            found[name] = read_ours(path)
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            loop_of_splits(path)
            plain.append(time.perf_counter() - begun)
        speed = path.stat().st_size / 1e6 / min(ours)
        print(f"{name:18}{min(ours):13.2f}{speed:8.0f}{min(plain):20.2f}{min(plain) / min(ours):14.2f}")
    begun = time.perf_counter()
    dx.data.join_trec(found["run"], found["judgments"])
    print(f"{'joined':18}{time.perf_counter() - begun:13.2f}")


def main() -> None:
    """Print the table; ours is the best of three, the first pays for fresh memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=240_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--skip-sklearn", action="store_true")
    parser.add_argument("--trec-queries", type=int, default=5_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.txt")
        write_file(path, arguments.docs, arguments.features, 120)
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB of text, {arguments.docs:,} rows x {arguments.features} features")
        path.read_bytes()  # into the page cache, for all alike
        best = {}
        for dtype in ("float32", "float64"):
            r = read(path, dtype)
            seconds = min(r["seconds"])
            best[dtype] = seconds
            print(
                f"directrix {dtype}: {seconds:6.2f} s  {size / seconds:7.0f} MB/s  {r['threads']} threads  "
                f"peak memory {r['peak'] / 1e6:.0f} MB = {r['peak'] / r['arrays']:.2f} x the arrays"
            )
        report_trec(folder, arguments.trec_queries, 120)
        if arguments.skip_sklearn:
            return
        from sklearn.datasets import load_svmlight_file

        start = time.perf_counter()
        X, y, qid = load_svmlight_file(str(path), query_id=True)
        seconds = time.perf_counter() - start
        print(f"scikit-learn     : {seconds:6.2f} s  {size / seconds:7.0f} MB/s")

        import directrix as dx

        for dtype, ours in best.items():
            print(f"ratio to scikit-learn, {dtype}: {seconds / ours:.0f} x")
        q = dx.read_letor(path, dtype=np.float64)
        dense = X.toarray()
        same = np.array_equal(dense.view(np.int64), np.asarray(q.features).view(np.int64))
        same &= np.array_equal(y, q.labels) and np.array_equal(qid, np.repeat(q.query_ids, np.diff(q.qptr)))
        del X, q
        same32 = np.array_equal(dense.astype(np.float32), dx.read_letor(path).features)
        print(f"bit-identical: {'yes' if same else 'NO'} (float64), {'yes' if same32 else 'NO'} (float32)")


if __name__ == "__main__":
    main()
