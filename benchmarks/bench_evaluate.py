"""Time `evaluate` against ranx, pytrec_eval and scikit-learn on the same ranking, and compare the values.

The peers live in an environment of their own, so that they are no dependency of the project:

    python -m venv peers
    peers/bin/pip install ranx pytrec_eval-terrier scikit-learn
    python benchmarks/bench_evaluate.py --peers peers/bin/python

Each peer is timed on its own evaluation alone; the time it takes to build its containers is
printed beside it. ``--queries`` and ``--docs`` change the size (10,000 x 120).
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

REPEATS = 5


def best_of(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
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


# ------------------------------------------------------------------- in the peers' environment


def run_ranx(data: Any) -> dict[str, Any]:
    from ranx import Qrels, Run, evaluate

    start = time.perf_counter()
    qrels, run = Qrels(_as_dicts(data["labels"], int)), Run(_as_dicts(data["scores"], float))
    build = time.perf_counter() - start
    names = ["ndcg_burges@10", "map", "mrr"]
    evaluate(qrels, run, names)
    seconds, values = best_of(lambda: evaluate(qrels, run, names))
    return {
        "build": build,
        "seconds": seconds,
        "values": dict(zip(OURS, map(float, values.values()), strict=True)),
    }


def run_pytrec_eval(data: Any) -> dict[str, Any]:
    import pytrec_eval

    start = time.perf_counter()
    evaluator = pytrec_eval.RelevanceEvaluator(
        _as_dicts(data["labels"], int), {"ndcg_cut.10", "map", "recip_rank"}
    )
    run = _as_dicts(data["scores"], float)
    build = time.perf_counter() - start
    seconds, found = best_of(lambda: evaluator.evaluate(run), 3)
    means = {
        ours: float(np.mean([query[theirs] for query in found.values()]))
        for ours, theirs in (("nDCG(gain='linear')@10", "ndcg_cut_10"), ("AP", "map"), ("RR", "recip_rank"))
    }
    return {"build": build, "seconds": seconds, "values": means}


def run_sklearn(data: Any) -> dict[str, Any]:
    from sklearn.metrics import ndcg_score

    gain = np.exp2(data["labels"]) - 1.0
    seconds, value = best_of(lambda: ndcg_score(gain, data["scores"], k=10), 2)
    return {"build": 0.0, "seconds": seconds, "values": {"nDCG@10": float(value)}}


def _as_dicts(table: np.ndarray, kind: type) -> dict[str, dict[str, Any]]:
    docs = [f"d{i:04d}" for i in range(table.shape[1])]
    return {f"q{q:06d}": dict(zip(docs, map(kind, row), strict=True)) for q, row in enumerate(table)}


OURS = ("nDCG@10", "AP", "RR")
PEERS = {"ranx": run_ranx, "pytrec_eval": run_pytrec_eval, "scikit-learn": run_sklearn}


def serve(name: str, path: str) -> None:
    """Run one peer and print its figures as the last line."""
    with np.load(path) as data:
        print(json.dumps(PEERS[name](dict(data))))


# ----------------------------------------------------------------------------------- our side


def measured_peer(python: str, name: str, path: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, __file__, "--serve", name, path], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed in {python}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measured_ours(data: dict[str, np.ndarray]) -> tuple[float, float, dict[str, float]]:
    """Seconds from boundaries, seconds from query ids, values."""
    import directrix as dx

    scores, labels = data["scores"].ravel(), data["labels"].ravel().astype(float)
    n_queries, n_docs = data["scores"].shape
    qptr, qid = np.arange(n_queries + 1) * n_docs, np.repeat(np.arange(n_queries), n_docs)
    names = [*OURS, "nDCG(gain='linear')@10"]
    values = dict(dx.evaluate(names, scores, labels, qptr=qptr))
    seconds, _ = best_of(lambda: dx.evaluate(OURS, scores, labels, qptr=qptr), 9)
    from_ids, _ = best_of(lambda: dx.evaluate(OURS, scores, labels, qid=qid), 9)
    return seconds, from_ids, values


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of an environment with ranx, pytrec_eval, scikit-learn")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--docs", type=int, default=120)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return 0
    data = problem(options.queries, options.docs)
    seconds, from_ids, values = measured_ours(data)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores")
    print(f"{options.queries:,} queries x {options.docs} documents; nDCG@10, AP, RR\n")
    print(f"{'':28}{'ms':>9}{'build ms':>10}{'ratio':>8}  largest difference of a mean")
    print(f"{'directrix':28}{seconds * 1e3:9.1f}{0:10.0f}{1:8.1f}")
    print(f"{'directrix from query ids':28}{from_ids * 1e3:9.1f}{0:10.0f}{from_ids / seconds:8.1f}")
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        np.savez(path, **data)
        for name in PEERS if options.peers else ():
            peer = measured_peer(options.peers, name, path)
            gap = max(abs(values[key] - value) for key, value in peer["values"].items())
            agree &= gap < 1e-6
            label = name + (" (nDCG@10 only)" if len(peer["values"]) == 1 else "")
            print(
                f"{label:28}{peer['seconds'] * 1e3:9.1f}{peer['build'] * 1e3:10.0f}"
                f"{peer['seconds'] / seconds:8.1f}  {gap:.1e}"
            )
    print("\nvalues agree" if agree else "\nVALUES DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
