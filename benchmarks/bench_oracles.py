"""Find the most violated ranking of one query: structural surrogates against sorting its scores.

The goal: value and gradient in at most 3 x the time of sorting the scores alone, which every way of finding
that ranking must do. That sort is NumPy's as Numba compiles it (np.sort, values only; np.argsort), and ours,
of bytes, which also orders the documents. NumPy's own np.sort, which on some machines has vector
instructions for it, is printed as well. Then the search alone, in ms, sorted scores given: ours, and the
published loop over all pairs (tests/reference), which must find the same value.

Dorm needs several sorts, and with a cut-off a search of its own: it is timed as a whole, and compared with
SciPy's assignment on the full matrix up to 1,000 documents.

    python benchmarks/bench_oracles.py [--sizes 1000/20 10000/500 100000/5000] [--repeats 30]
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

import directrix as dx
from directrix.surrogates._kernels.sorting import descending_order
from directrix.surrogates._kernels.structural import most_violated

sys.path.append(str(Path(__file__).parents[1]))  # the loops are those that the tests compare with
from tests.reference import dorm as assignment
from tests.reference import structural as reference

ORACLES = {
    dx.SVMMap(): numba.njit(error_model="numpy")(reference.opt_map),
    dx.SVMNdcg(): numba.njit(error_model="numpy")(reference.opt_ndcg),
    dx.PermuRank(): numba.njit(error_model="numpy")(reference.opt_map),
    dx.SVMRoc(): numba.njit(error_model="numpy")(reference.opt_roc),
}
DORMS = dx.Dorm(), dx.Dorm(k=10), dx.Dorm(k=10, ties="mean")
GOAL = 3.0
LARGEST_MATRIX = 1000  # documents


@numba.njit
def numba_sort(scores: Any) -> Any:
    return np.sort(scores)


@numba.njit
def numba_argsort(scores: Any) -> Any:
    return np.argsort(scores)


def milliseconds(work: Callable[[], Any], repeats: int) -> float:
    work()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(1e3 * (time.perf_counter() - start))
    return float(np.median(taken))


def timed_once(work: Callable[[], Any]) -> tuple[Any, float]:
    """Result and time of the second of two runs; the first compiles."""
    work()
    start = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - start)


def problem(n: int, n_relevant: int, lift: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.zeros(n)
    labels[rng.permutation(n)[:n_relevant]] = 1.0
    return rng.standard_normal(n) + lift * labels, labels


def value_of(opt: np.ndarray, x: np.ndarray, gains: np.ndarray, discount: np.ndarray, slope: Any) -> float:
    """Hinge of the ranking with ``opt`` (from 1), by sums over ranks; ``slope(margin)`` is its part of F."""
    passed = np.searchsorted(opt, np.arange(1, len(x) + 1), side="right")
    ranks = np.arange(len(x))
    return float((gains * (discount[ranks] - discount[ranks + passed])).sum() - slope(passed, opt))


def report(n: int, n_relevant: int, repeats: int) -> None:
    for lift, scores_are in ((1.0, "relevant up by 1"), (0.0, "random")):
        scores, labels = problem(n, n_relevant, lift)
        qptr, order = np.array([0, n]), np.empty(n, dtype=np.int64)
        sorts = [
            milliseconds(work, repeats)
            for work in (
                lambda s=scores: numba_sort(s),
                lambda s=scores: numba_argsort(s),
                lambda s=scores, o=order: descending_order(s, o),
                lambda s=scores: np.sort(s),
            )
        ]
        print(f"\n{n:,} documents, {n_relevant:,} relevant, {scores_are}")
        print(
            "sorting: Numba's np.sort {:.3f} ms, np.argsort {:.3f}; ours {:.3f}; NumPy's {:.3f}".format(
                *sorts
            )
        )
        print(f"{'':12}{'ms':>9}{'/ np.sort':>10}{'/ ours':>8}{'search':>10}{'all pairs':>11}")
        for surrogate, loop in ORACLES.items():
            row(surrogate, loop, (scores, labels, qptr), sorts, repeats)
        for dorm in DORMS:
            row_of_dorm(dorm, (scores, labels, qptr), sorts, repeats)


def filled(surrogate: Any, query: tuple[Any, Any, Any], repeats: int) -> tuple[Any, float, float]:
    """What is prepared, the value, and the time of value and gradient."""
    scores, labels, qptr = query
    prepared, out = surrogate.prepare(labels, qptr), (np.zeros(1), np.zeros_like(scores))
    whole = milliseconds(lambda: surrogate.fill(scores, prepared, qptr, (0, 1), out), repeats)
    return prepared, float(out[0][0]), whole


def row_of_dorm(dorm: dx.Dorm, query: tuple[Any, Any, Any], sorts: list[float], repeats: int) -> None:
    scores, labels, _ = query
    _, value, whole = filled(dorm, query, repeats)
    matrix = ""
    if len(scores) <= LARGEST_MATRIX:
        expected, taken = timed_once(lambda: assignment.by_assignment(scores, labels, dorm.k, dorm.ties))
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
        matrix = f"  SciPy's assignment {taken:.1f} ms"
    name = f"Dorm {dorm.k or ''} {dorm.ties}".replace("  ", " ")
    print(f"{name:14}{whole:7.3f}{whole / sorts[0]:10.2f}{whole / sorts[2]:8.2f}{matrix}")


def row(surrogate: Any, loop: Any, query: tuple[Any, Any, Any], sorts: list[float], repeats: int) -> None:
    scores, labels, _ = query
    prepared, value, whole = filled(surrogate, query, repeats)
    x, z = (np.sort(scores[which])[::-1].copy() for which in (labels > 0, labels == 0))
    twice = float(prepared.twice[0])
    lists = x, z, prepared.gains[: len(x)].copy(), prepared.discount, twice
    found = np.empty(len(z), dtype=np.int64)
    search = milliseconds(lambda: most_violated(*lists, found), repeats)
    pairs, pairs_ms = timed_once(lambda: loop(x, z, twice / 2, lists[2]))

    def margin(passed: np.ndarray, opt: np.ndarray) -> float:
        return twice * float((passed * x).sum() - ((len(x) + 1 - opt) * z).sum())

    hinges = [value_of(opt, x, *lists[2:4], margin) for opt in (found + 1, pairs)]
    np.testing.assert_allclose(hinges, prepared.perfect[0] - value, rtol=1e-11, atol=1e-12)
    missed = "" if max(whole / sorts[0], whole / sorts[2]) <= GOAL else "  goal missed"
    print(
        f"{type(surrogate).__name__:12}{whole:9.3f}{whole / sorts[0]:10.2f}{whole / sorts[2]:8.2f}"
        f"{search:10.4f}{pairs_ms:11.3f}{missed}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=["1000/20", "10000/500", "100000/5000"])
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}; one thread"
    )
    print(f"goal: value and gradient in at most {GOAL:g} x a sort of the scores")
    for size in options.sizes:
        n, n_relevant = map(int, size.split("/"))
        report(n, n_relevant, options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
