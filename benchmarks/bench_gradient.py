"""Time the full gradient of ApproxNDCG for a linear ranker, next to one pass that only reads the features.

The size is that of web search data: 2,000 queries, some 240,000 documents x 136 float32, labels
0-4. Rivals on the same data in the same run: a NumPy loop over queries, and padded autograd in
PyTorch, which lives in an environment of its own:

    python -m venv peers
    peers/bin/pip install torch numpy
    python benchmarks/bench_gradient.py --peers peers/bin/python

Also: one query of 100,000 documents (memory and time), an epoch of SGD against a full pass, epochs of SGD
on lists of 5 and of 100 documents by loss and batch (200,000 documents x 46, one thread), and what bfloat16
features would change: the time of the two products with X, and test nDCG@10 of linear models.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from full_pass import best_of, check, extra_mib, problem, run_apart, torch_padded
from letor import absent, add_data, read_folds

ALPHAS = (1.0, 10.0, 100.0)


# ------------------------------------------------------------------------------------ rivals


def numpy_loop(data: dict[str, np.ndarray], alpha: float) -> tuple[float, np.ndarray]:
    """Loss and gradient, one query at a time with n x n matrices, in float64 as one would write it."""
    X, labels, qptr, w = data["X"], data["labels"], data["qptr"], data["w"].astype(np.float32)
    total, grad = 0.0, np.zeros(X.shape[1])
    for lo, hi in pairwise(qptr):
        x, gain = X[lo:hi], np.exp2(labels[lo:hi]) - 1
        ideal = np.sort(gain)[::-1] @ (1 / np.log2(np.arange(2, len(gain) + 2)))
        if ideal == 0:
            continue
        s = x @ w
        with np.errstate(over="ignore"):
            p = 1 / (1 + np.exp(-alpha * (s[None, :] - s[:, None])))
        rank = 0.5 + p.sum(axis=1)
        total += (gain / np.log2(1 + rank)).sum() / ideal
        c = -gain * np.log(2) / (np.log(1 + rank) ** 2 * (1 + rank)) / ideal
        d = p * (1 - p)
        grad += x.T @ (alpha * (c @ d - c * d.sum(axis=1)))
    n = len(qptr) - 1
    return -total / n, -grad / n


# ---------------------------------------------------------------------------------- our side


def reader(X: np.ndarray) -> Callable[[], None]:
    """One pass that only sums X, on the threads that the library uses."""
    import numba

    from directrix.threads import run_chunks

    @numba.njit(nogil=True, fastmath=True)
    def total(part: np.ndarray) -> np.float32:
        flat, result = part.ravel(), np.float32(0)
        for i in range(len(flat)):
            result += flat[i]
        return result

    bounds = np.linspace(0, len(X), 65).astype(int)
    return lambda: run_chunks(lambda c: total(X[bounds[c] : bounds[c + 1]]), 64)


def long_query() -> dict[str, float]:
    """One query of 100,000 documents, 2 % of them relevant, at alpha = 100."""
    import directrix as dx

    n = 100_000
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(n).astype(np.float32), 1.0 * (rng.random(n) < 0.02)
    surrogate = dx.ApproxNDCG(alpha=100.0)
    surrogate.value_and_grad(scores[:1000], labels[:1000], np.array([0, 1000]))
    ms: list[float] = []
    work = partial(surrogate.value_and_grad, scores, labels, np.array([0, n]))
    mib = extra_mib(lambda: ms.append(best_of(work, 1)))
    return {"ms": ms[0], "MiB": mib}


def bfloat16(X: np.ndarray) -> np.ndarray:
    """The upper halves of float32 numbers, rounded to the nearest."""
    bits = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def products(X: np.ndarray, w: np.ndarray, *, half: bool) -> Callable[[], None]:
    """X w and X^T g, chunk by chunk; with half, X holds the bits of bfloat16 numbers."""
    import numba

    from directrix.threads import run_chunks

    @numba.njit
    def wide(x: Any) -> np.float32:
        return np.uint32(np.uint32(x) << np.uint32(16)).view(np.float32) if half else x

    @numba.njit(nogil=True, fastmath=True)
    def both(X: np.ndarray, w: np.ndarray, scores: np.ndarray, total: np.ndarray) -> None:
        for first in range(0, len(X), 128):
            last = min(first + 128, len(X))
            for i in range(first, last):
                score = np.float32(0)
                for f in range(len(w)):
                    score += wide(X[i, f]) * w[f]
                scores[i] = score
            for i in range(first, last):
                for f in range(len(w)):
                    total[f] += wide(X[i, f]) * scores[i]

    bounds = np.linspace(0, len(X), 65).astype(int)
    scores, totals = np.empty(len(X), np.float32), np.zeros((64, len(w)), np.float32)

    def work(c: int) -> None:
        part = slice(bounds[c], bounds[c + 1])
        both(X[part], w, scores[part], totals[c])

    return lambda: run_chunks(work, 64)


def rounded_features(data: Path) -> None:
    """Print test nDCG@10 with features of half the width minus that with float32, on five folds."""
    import directrix as dx
    from directrix.rankers.means import mean_and_error

    def rounded(q: dx.Queries) -> dx.Queries:
        return replace(q, features=(bfloat16(q.features).astype(np.uint32) << 16).view(np.float32))

    def tested(train: dx.Queries, vali: dx.Queries, test: dx.Queries) -> np.ndarray:
        ranker = dx.LinearRanker("ApproxNDCG(alpha=10.0)", l2=1e-4, random_state=0)
        ranker.fit_queries(train, vali, measure="nDCG@10")
        found = dx.evaluate(
            "nDCG@10", ranker.predict_queries(test), test.labels, qptr=test.qptr, per_query=True
        )
        return np.asarray(found["nDCG@10"])

    for collection in ("OHSUMED", "MQ2008"):
        folds = read_folds(data, collection)
        gains = [tested(*map(rounded, fold)) - tested(*fold) for fold in folds]
        mean, error = mean_and_error(np.concatenate(gains))
        print(f"\nbfloat16 minus float32 features, test nDCG@10, {collection}: {mean:+.4f} +- {error:.4f}")


def measure_ours(data: dict[str, np.ndarray], threads: int, repeats: int) -> dict[str, Any]:
    import directrix as dx

    dx.set_threads(threads)
    n, n_queries = len(data["labels"]), len(data["qptr"]) - 1
    qid = np.repeat(np.arange(n_queries), np.diff(data["qptr"]))
    queries = dx.Queries.from_arrays(data["X"], data["labels"], qid=qid)
    found: dict[str, Any] = {"documents": n, "read": best_of(reader(data["X"]), 2 * repeats)}
    for alpha in ALPHAS:
        objective = dx.linear_objective(queries, dx.ApproxNDCG(alpha=alpha))
        found[f"gradient {alpha:g}"] = best_of(lambda o=objective: o.value_and_grad(data["w"]), repeats)
    for half in (False, True):
        X = bfloat16(data["X"]) if half else data["X"]
        work = products(X, data["w"].astype(np.float32), half=half)
        found["bfloat16" if half else "products"] = best_of(work, repeats)
    found["surrogate"] = best_of(surrogate_alone(queries, data["w"]), repeats)
    objective = dx.linear_objective(queries, dx.ApproxNDCG(alpha=10.0))
    order, start = np.random.default_rng(1).permutation(n_queries), data["w"].copy()
    found["epoch"] = best_of(lambda: objective.sgd_epoch(start, order, 1e-6), repeats)
    return found


def surrogate_alone(queries: Any, w: np.ndarray) -> Callable[[], None]:
    """Values and gradients with respect to the scores, without the features."""
    import directrix as dx
    from directrix.threads import query_chunks, run_chunks

    surrogate = dx.ApproxNDCG(alpha=10.0)
    scores, qptr = dx.linear_objective(queries, surrogate).scores(w), queries.qptr.copy()
    prepared = surrogate.prepare(queries.labels, qptr)
    out = np.zeros(queries.n_queries), np.zeros_like(scores)
    bounds = query_chunks(qptr, 4096)

    def work(c: int) -> None:
        surrogate.fill(scores, prepared, qptr, (int(bounds[c]), int(bounds[c + 1])), out)

    return lambda: run_chunks(work, len(bounds) - 1)


def epochs() -> list[tuple[str, int, float, float]]:
    """Loss, batch, and nanoseconds per document of an epoch of SGD on lists of 5 and of 100 documents."""
    import directrix as dx
    from directrix.trainers.stochastic import SGD

    dx.set_threads(1)
    rng, n = np.random.default_rng(0), 200_000
    X, labels = rng.random((n, 46), dtype=np.float32), rng.integers(0, 3, n)
    queries = [dx.Queries.from_arrays(X, labels, group=[size] * (n // size)) for size in (5, 100)]
    rows = []
    for loss in ("ApproxNDCG", "Lambda", "ListNet", "RankNet"):
        for batch in (1, 8, 64):
            ranker = dx.LinearRanker(loss, trainer=SGD(epochs=2, batch=batch), scale=None, random_state=0)
            ms = [best_of(lambda q=q, ranker=ranker: ranker.fit_queries(q), 3) for q in queries]
            rows.append((loss, batch, *(one / 2 / n * 1e6 for one in ms)))
    return rows


def serve(what: str, path: str, threads: int, repeats: int) -> None:
    if what == "long":
        print(json.dumps(long_query()))
        return
    if what == "sgd":
        print(json.dumps(epochs()))
        return
    data = dict(np.load(path))
    if what == "ours":
        print(json.dumps(measure_ours(data, threads, repeats)))
    elif what == "torch":
        print(json.dumps(torch_padded(data, 10.0, threads)))
    else:
        loss, grad = numpy_loop(data, 10.0)
        print(
            json.dumps({"ms": best_of(lambda: numpy_loop(data, 10.0), 2), "loss": loss, "grad": list(grad)})
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of an environment with torch")
    parser.add_argument("--repeats", type=int, default=15)
    add_data(parser)
    parser.add_argument("--serve", nargs=3, metavar=("WHAT", "PATH", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], options.serve[1], int(options.serve[2]), options.repeats)
        return 0
    data = problem()
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    repeats = ("--repeats", str(options.repeats))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        np.savez(path, **data)
        for threads in sorted({1, cores}):
            ours = run_apart(sys.executable, __file__, *repeats, "--serve", "ours", path, str(threads))
            read = ours["read"]
            if threads == 1:
                print(f"2,000 queries, {ours['documents']:,} documents x 136 float32")
            print(f"\n{threads} thread{'s' * (threads > 1)}{'':22}{'ms':>9}{'x read':>9}")
            print(f"{'read X once':32}{read:8.1f}{1:9.1f}")
            for alpha in ALPHAS:
                ms = ours[f"gradient {alpha:g}"]
                print(f"{f'full gradient, alpha = {alpha:g}':32}{ms:8.1f}{ms / read:9.1f}")
            alone = ours["surrogate"]
            print(f"{'the surrogate alone, alpha = 10':32}{alone:8.1f}{alone / read:9.1f}")
            for what, name in (("products", "float32"), ("bfloat16", "bfloat16")):
                print(f"{f'the products alone, {name}':32}{ours[what]:8.1f}{ours[what] / read:9.1f}")
            full = ours["gradient 10"]
            epoch = f"epoch of SGD, {ours['epoch'] / full:.2f} x gradient"
            print(f"{epoch:32}{ours['epoch']:8.1f}{ours['epoch'] / read:9.1f}")
        rivals = {"NumPy loop": (sys.executable, "numpy")}
        if options.peers:
            rivals["PyTorch, padded"] = (options.peers, "torch")
        print(f"\n{'alpha = 10':32}{'ms':>8}{'x ours':>9}  difference of the gradient")
        for name, (python, what) in rivals.items():
            rival = run_apart(python, __file__, "--serve", what, path, str(cores))
            print(f"{name:32}{rival['ms']:8.1f}{rival['ms'] / full:9.1f}  {check(data, rival):.0e}")
    long = run_apart(sys.executable, __file__, "--serve", "long", "-", "1")
    print(f"\none query of 100,000 documents, alpha = 100: {long['ms']:.1f} ms, {long['MiB']:.1f} MiB more")
    print(f"\n{'SGD, ns per document':24}{'lists of 5':>12}{'of 100':>9}{'ratio':>8}")
    for loss, batch, tiny, usual in run_apart(sys.executable, __file__, "--serve", "sgd", "-", "1"):
        print(f"{f'{loss}, batch {batch}':24}{tiny:12.0f}{usual:9.0f}{tiny / usual:8.1f}")
    if not absent(options.data):
        rounded_features(options.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
