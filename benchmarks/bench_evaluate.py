"""Time `evaluate` on every measure the library has, and against ranx, pytrec_eval and scikit-learn.

The peers live in an environment of their own, so that they are no dependency of the project:

    python -m venv peers
    peers/bin/pip install ranx pytrec_eval-terrier scikit-learn
    python benchmarks/bench_evaluate.py --peers peers/bin/python

30,000 queries x 120 documents, labels 0-4 (``--queries``, ``--docs``). The goal: all measures in one call in
less than a second on two threads. Each peer runs in a process of its own on the measures that it has, on
scores without ties, which it would break its own way; ours are timed on the same measures. What a peer needs
to build its containers is printed beside its time and not counted. Values are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOAL = 1.0  # seconds, all measures, two threads
MEASURES = (
    "nDCG@1", "nDCG@5", "nDCG@10", "nDCG", "nDCG(gain='linear')@10", "nDCG(discount='letor3')@10", "DCG@10",
    "AP", "AP(rel=2)@100", "RR", "RR@10", "P@1", "P@5", "P@10", "R@10", "R@100", "Success@1", "Success@10",
    "Rprec", "IPrec@0.1", "ERR@10", "ERR@20", "ERR", "RBP(p=0.8)", "ROCArea", "KendallTau",
)  # fmt: skip
LINEAR = "nDCG(gain='linear')@10"


def best_of(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Shortest time in seconds, and the result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def problem(n_queries: int, n_docs: int) -> dict[str, np.ndarray]:
    """Labels 0-4 in the shares of web search data, scores without ties in single precision."""
    rng = np.random.default_rng(0)
    shape = (n_queries, n_docs)
    labels = rng.choice(5, p=[0.52, 0.32, 0.13, 0.02, 0.01], size=shape)
    scores = rng.permuted(np.tile(np.arange(n_docs) / 128.0, (n_queries, 1)), axis=1) + 0.1 * labels
    return {"labels": labels, "scores": np.round(scores, 6)}


RANX = {
    "nDCG@10": "ndcg_burges@10",
    LINEAR: "ndcg@10",
    "AP": "map",
    "RR": "mrr",
    "P@5": "precision@5",
    "P@10": "precision@10",
    "R@10": "recall@10",
    "Success@10": "hit_rate@10",
    "Rprec": "r-precision",
}  # fmt: skip; its RBP multiplies by labels, ours asks whether they are relevant
PYTREC_EVAL = {
    LINEAR: "ndcg_cut_10", "nDCG(gain='linear')": "ndcg", "AP": "map", "RR": "recip_rank", "P@5": "P_5",
    "P@10": "P_10", "R@10": "recall_10", "R@100": "recall_100", "Success@10": "success_10", "Rprec": "Rprec",
}  # fmt: skip


def run_ranx(data: Any) -> dict[str, Any]:
    from ranx import Qrels, Run, evaluate

    start = time.perf_counter()
    qrels, run = Qrels(_as_dicts(data["labels"], int)), Run(_as_dicts(data["scores"], float))
    build = time.perf_counter() - start
    names = list(RANX.values())
    evaluate(qrels, run, names)
    seconds, found = best_of(lambda: evaluate(qrels, run, names), 3)
    return {"build": build, "seconds": seconds, "values": {m: float(found[RANX[m]]) for m in RANX}}


def run_pytrec_eval(data: Any) -> dict[str, Any]:
    import pytrec_eval

    start = time.perf_counter()
    wanted = {"ndcg_cut.10", "ndcg", "map", "recip_rank", "P.5,10", "recall.10,100", "success.10", "Rprec"}
    evaluator = pytrec_eval.RelevanceEvaluator(_as_dicts(data["labels"], int), wanted)
    run = _as_dicts(data["scores"], float)
    build = time.perf_counter() - start
    seconds, found = best_of(lambda: evaluator.evaluate(run), 2)
    means = {m: float(np.mean([each[name] for each in found.values()])) for m, name in PYTREC_EVAL.items()}
    return {"build": build, "seconds": seconds, "values": means}


def run_sklearn(data: Any) -> dict[str, Any]:
    from sklearn.metrics import ndcg_score

    gain = np.exp2(data["labels"]) - 1.0
    seconds, value = best_of(lambda: ndcg_score(gain, data["scores"], k=10), 2)
    return {"build": 0.0, "seconds": seconds, "values": {"nDCG@10": float(value)}}


def _as_dicts(table: np.ndarray, kind: type) -> dict[str, dict[str, Any]]:
    docs = [f"d{i:04d}" for i in range(table.shape[1])]
    return {f"q{q:06d}": dict(zip(docs, map(kind, row), strict=True)) for q, row in enumerate(table)}


PEERS = {"ranx": run_ranx, "pytrec_eval": run_pytrec_eval, "scikit-learn": run_sklearn}


def measured_peer(python: str, name: str, path: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, __file__, "--serve", name, path], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed in {python}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def report_all(scores: np.ndarray, labels: np.ndarray, n_docs: int) -> float:
    """Print the time of all measures in one call for several inputs; returns the goal's figure."""
    import directrix as dx

    n_queries = len(scores) // n_docs
    qptr, qid = np.arange(n_queries + 1) * n_docs, np.repeat(np.arange(n_queries), n_docs)
    single, tied, text = (
        np.round(scores, 1).astype(np.float32),
        np.round(scores, 1),
        np.array([f"q{q:06d}" for q in range(n_queries)])[qid],
    )
    ids = np.tile(np.array([f"doc-{i:05d}" for i in range(n_docs)]), n_queries)
    rules = [m for m in map(dx.measure, MEASURES) if hasattr(m, "ties")]
    under = {
        rule: [type(m)(**vars(m) | {"ties": rule}) for m in rules] for rule in ("order", "worst", "trec")
    }
    cases: dict[str, Callable[[], Any]] = {
        "scores without ties": lambda: dx.evaluate(MEASURES, scores, labels, qptr=qptr),
        "scores with ties (9 a group)": lambda: dx.evaluate(MEASURES, tied, labels, qptr=qptr),
        "... float32": lambda: dx.evaluate(MEASURES, single, labels, qptr=qptr),
        "... per_query=True": lambda: dx.evaluate(MEASURES, tied, labels, qptr=qptr, per_query=True),
        "... query ids, integers": lambda: dx.evaluate(MEASURES, tied, labels, qid=qid),
        "... query ids, text": lambda: dx.evaluate(MEASURES, tied, labels, qid=text),
        "... ties='order'": lambda: dx.evaluate(under["order"], tied, labels, qptr=qptr),
        "... ties='worst'": lambda: dx.evaluate(under["worst"], tied, labels, qptr=qptr),
        "... ties='trec'": lambda: dx.evaluate(under["trec"], tied, labels, qptr=qptr, doc_ids=ids),
    }
    goal = 0.0
    print(f"all {len(MEASURES)} measures in one call{'':11}1 thread  2 threads   ratio")
    for name, work in cases.items():
        seconds = []
        for threads in (1, 2):
            dx.set_threads(threads)
            seconds.append(best_of(work, 3)[0])
        print(f"  {name:34}{seconds[0]:8.3f} s{seconds[1]:9.3f} s{seconds[0] / seconds[1]:8.2f}")
        goal = max(goal, seconds[1])
    return goal


def report_each(scores: np.ndarray, labels: np.ndarray, n_docs: int) -> None:
    """Print the time of every measure alone, on one thread, beside that of the sort."""
    import directrix as dx

    qptr, tied = np.arange(len(scores) // n_docs + 1) * n_docs, np.round(scores, 1)
    dx.set_threads(1)
    ready = dx.measure("Success@1").prepare(labels, qptr)
    base = [best_of(lambda s=s: ready(s), 3)[0] for s in (scores, tied)]
    print("\none measure alone, one thread, ms        no ties      ties")
    print(f"  {'the sort (Success@1, prepared)':34}{base[0] * 1e3:12.1f}{base[1] * 1e3:10.1f}")
    for name in MEASURES:
        alone = [
            best_of(lambda s=s, n=name: dx.evaluate(n, s, labels, qptr=qptr), 3)[0] for s in (scores, tied)
        ]
        print(f"  {name:34}{alone[0] * 1e3:12.1f}{alone[1] * 1e3:10.1f}")
    dx.set_threads(None)


def report_small(n_docs: int) -> None:
    """Print what a call on 100 queries costs, of which how much is not in proportion to the documents."""
    import directrix as dx

    dx.set_threads(1)
    rng = np.random.default_rng(1)
    print("\nsmall calls, one thread, microseconds   100 queries   one document")
    qptr = np.arange(101) * n_docs
    labels, scores = rng.integers(0, 5, qptr[-1]).astype(float), rng.standard_normal(qptr[-1])
    one = np.array([0, 1]), np.ones(1), np.ones(1)
    for name, wanted in (("nDCG@10", ["nDCG@10"]), (f"all {len(MEASURES)}", MEASURES)):
        found = []
        for q, s, y in ((qptr, scores, labels), one):
            dx.evaluate(wanted, s, y, qptr=q)
            work = lambda w=wanted, q=q, s=s, y=y: [dx.evaluate(w, s, y, qptr=q) for _ in range(50)]  # noqa: E731
            found.append(best_of(work, 20)[0] / 50 * 1e6)
        print(f"  evaluate, {name:24}{found[0]:13.0f}{found[1]:15.0f}")
    ready = dx.NDCG(k=10).prepare(labels, qptr)
    seconds = best_of(lambda: [ready(scores) for _ in range(50)], 20)[0] / 50
    print(f"  prepared, {'nDCG@10':24}{seconds * 1e6:13.0f}")
    dx.set_threads(None)


MEMORY = """
import sys, numpy as np, directrix as dx
from pathlib import Path
n_queries, n_docs, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def now(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024
rng = np.random.default_rng(0)
scores = rng.standard_normal(n_queries * n_docs).astype(kind)
labels = rng.integers(0, 5, len(scores)).astype(float)
names, qptr = sys.argv[4:], np.arange(n_queries + 1) * n_docs
dx.evaluate(names, scores[:n_docs], labels[:n_docs], qptr=qptr[:2])
Path("/proc/self/clear_refs").write_text("5")
before = now("VmRSS")
dx.evaluate(names, scores, labels, qptr=qptr)
print((scores.nbytes + labels.nbytes) / 2**20, now("VmHWM") - before)
"""


def report_memory(n_queries: int, n_docs: int) -> None:
    """Print the peak of memory above the input (Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        return
    print("\nmemory, all measures, MiB                 input   peak above it   ratio")
    for kind in ("float64", "float32"):
        command = [sys.executable, "-c", MEMORY, str(n_queries), str(n_docs), kind, *MEASURES]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        held, peak = map(float, done.stdout.split())
        print(f"  {kind + ' scores':34}{held:12.0f}{peak:16.0f}{peak / held:8.2f}")


def report_peers(python: str, data: dict[str, np.ndarray]) -> bool:
    """Print the time of each peer over ours on the same measures; returns whether values agree."""
    import directrix as dx

    scores, labels = data["scores"].ravel(), data["labels"].ravel().astype(float)
    n_queries, n_docs = data["scores"].shape
    qptr, agree = np.arange(n_queries + 1) * n_docs, True
    head = "measures  build s        s  ours, 1 and 2 threads, s    ratios  gap"
    print(f"\n{'peers, scores without ties':34}{head}")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        np.savez(path, **data)
        for name in PEERS:
            peer = measured_peer(python, name, path)
            wanted, ours = list(peer["values"]), []
            for threads in (1, 2):
                dx.set_threads(threads)
                seconds, found = best_of(lambda w=wanted: dx.evaluate(w, scores, labels, qptr=qptr))
                ours.append(seconds)
            dx.set_threads(None)
            gap = max(abs(found[key] - value) for key, value in peer["values"].items())
            agree &= gap < 1e-6
            print(
                f"  {name:32}{len(wanted):8}{peer['build']:9.1f}{peer['seconds']:9.3f}"
                f"{ours[0]:18.3f}{ours[1]:8.3f}{peer['seconds'] / ours[0]:9.1f}"
                f"{peer['seconds'] / ours[1]:8.1f}  {gap:.0e}"
            )
    for name, mapped in (("ranx", RANX), ("pytrec_eval", PYTREC_EVAL)):
        print(f"  {name}: {', '.join(mapped)}")
    print("  scikit-learn: nDCG@10; its other measures are not for many queries at once")
    return agree


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of an environment with ranx, pytrec_eval, scikit-learn")
    parser.add_argument("--queries", type=int, default=30_000)
    parser.add_argument("--docs", type=int, default=120)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        name, path = options.serve
        with np.load(path) as data:
            print(json.dumps(PEERS[name](dict(data))))
        return 0
    data = problem(options.queries, options.docs)
    scores, labels = data["scores"].ravel(), data["labels"].ravel().astype(float)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores")
    print(f"{options.queries:,} queries x {options.docs} documents; {', '.join(MEASURES)}\n")
    verdict = "reached" if (slowest := report_all(scores, labels, options.docs)) < GOAL else "MISSED"
    print(f"  goal: every line below {GOAL:g} s on two threads: {verdict} ({slowest:.3f} s)")
    report_each(scores, labels, options.docs)
    report_small(options.docs)
    report_memory(options.queries, options.docs)
    agree = not options.peers or report_peers(options.peers, data)
    if options.peers:
        print("\nvalues agree" if agree else "\nVALUES DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
