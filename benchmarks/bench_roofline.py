"""How far each part of a full gradient is from what the machine allows, on one thread.

The gradient of ApproxNDCG of a linear ranker (the problem of bench_gradient.py) has four parts: scores
X w, which read X from memory; sums over pairs of documents; the rest of the surrogate, O(n); and X^T g,
which reads each query's X again from the cache. Beside each stands the same number of bytes or divisions
in a loop that does nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from bench_gradient import reader
from full_pass import best_of, problem

import directrix as dx
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.approx_pair_sums import pair_pulls, pair_sums

_REPEATS = 31


@numba.njit(nogil=True, error_model="numpy")
def linear_parts(X: Any, qptr: Any, w: Any, add: Any, scores: Any, part: Any, grad: Any) -> None:
    """Scores of every query and, if wanted, X^T of them, as the fused kernel does it."""
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        dense_scores(X, lo, hi, w, scores, 0)
        if add:
            dense_add(X, lo, hi, scores, 0, part, grad)


@numba.njit(nogil=True, error_model="numpy")
def pairs_alone(qptr: Any, relevant: Any, docs: Any, group: Any, sums: Any) -> None:
    """Both loops over the pairs of every query, on numbers that lie in the cache."""
    for q in range(len(qptr) - 1):
        left = relevant[q]
        while left > 0:
            m = min(256, left)
            padded = (m + 15) // 16 * 16
            pair_sums(0, 1.0, docs, 0, qptr[q + 1] - qptr[q], group, m, padded, sums)
            pair_pulls(0, 1.0, docs, 0, qptr[q + 1] - qptr[q], group, m)
            left -= m


@numba.njit(nogil=True, error_model="numpy")
def sum_again(block: Any, times: int) -> float:
    """Sum a block that stays in the cache."""
    total = 0.0
    for _ in range(times):
        total += _sum(block)
    return total


@numba.njit(nogil=True, error_model="numpy", fastmath=True)
def _sum(block: Any) -> Any:
    total = np.float32(0)
    for i in range(len(block)):
        total += block[i]
    return total


@numba.njit(nogil=True, error_model="numpy")
def divide_again(x: Any, y: Any, times: int) -> None:
    """One division a number, in the fastest cache."""
    for _ in range(times):
        for i in range(len(x)):
            y[i] = np.float32(1) / x[i]


def linear(data: dict[str, np.ndarray], *, add: bool) -> Callable[[], None]:
    X = data["X"].view()
    X.flags.writeable = False
    n = int(np.diff(data["qptr"]).max())
    w = data["w"].astype(np.float32)
    space = np.zeros(n, np.float32), np.zeros(X.shape[1], np.float32), np.zeros(X.shape[1])
    return lambda: linear_parts(X, data["qptr"], w, add, *space)


def surrogate(data: dict[str, np.ndarray]) -> Callable[[], None]:
    chosen, qptr = dx.ApproxNDCG(alpha=10.0), data["qptr"]
    scores = data["X"] @ data["w"].astype(np.float32)
    prepared = chosen.prepare(data["labels"], qptr)
    out = np.zeros(len(qptr) - 1), np.zeros_like(scores)
    return lambda: chosen.fill(scores, prepared, qptr, (0, len(qptr) - 1), out)


def main() -> int:
    data = problem()
    X, qptr = data["X"], data["qptr"]
    relevant = np.add.reduceat((data["labels"] > 0).astype(np.int64), qptr[:-1])
    pairs = int((relevant * np.diff(qptr)).sum())
    dx.set_threads(1)
    queries = dx.Queries.from_arrays(
        X, data["labels"], qid=np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    )
    objective = dx.linear_objective(queries, dx.ApproxNDCG(alpha=10.0))
    block = np.ones(int(np.median(np.diff(qptr))) * X.shape[1], np.float32)
    numbers = np.ones((2, 1024), np.float32)
    space = np.ones((4, 1024), np.float32), np.ones((5, 384), np.float32), np.ones((5, 384))

    read = best_of(reader(X), _REPEATS)
    cached = best_of(lambda: sum_again(block, round(X.size / len(block))), _REPEATS)
    divisions = best_of(lambda: divide_again(numbers[0], numbers[1], round(2 * pairs / 1024)), _REPEATS)
    scores = best_of(linear(data, add=False), _REPEATS)
    back = best_of(linear(data, add=True), _REPEATS) - scores
    both = best_of(lambda: pairs_alone(qptr, relevant, *space), _REPEATS)
    rest = best_of(surrogate(data), _REPEATS) - both
    whole = best_of(lambda: objective.value_and_grad(data["w"]), _REPEATS)

    n_pairs = sum(int(b - a) ** 2 for a, b in pairwise(qptr))
    print(f"{X.nbytes / 1e6:.0f} MB of features ({X.nbytes / read / 1e6:.0f} GB/s from memory, ", end="")
    print(f"{X.nbytes / cached / 1e6:.0f} GB/s from the cache)")
    print(f"{n_pairs / 1e6:.1f} million ordered pairs, {pairs / 1e6:.1f} with a gain, in two loops\n")
    print(f"{'one thread, alpha = 10':34}{'ms':>7}{'limit':>8}{'x limit':>9}  limit")
    for name, ms, limit, what in (
        ("scores, X w", scores, read, "read X from memory"),
        ("sums over pairs", both, divisions, "one division a pair and loop"),
        ("the rest of the surrogate", rest, None, ""),
        ("X^T g", back, cached, "read X from the cache"),
        ("between kernels", whole - scores - both - rest - back, None, "Python, 4 MiB at a time"),
        ("full gradient", whole, read + divisions + cached, "their sum"),
    ):
        bound = f"{'':8}{'':9}" if limit is None else f"{limit:8.1f}{ms / limit:9.1f}"
        print(f"{name:34}{ms:7.1f}{bound}  {what}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
