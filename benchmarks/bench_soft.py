"""SoftNDCG with its gradient, against the paper's recursion, on one query.

The peer is the rank-binomial recursion (Taylor et al. 2008) compiled with Numba: for every document
with a gain, the distribution of its rank by adding all others one by one, and the gradient with the adjoint
of that, with the whole table of one document in memory (n x n floats; ranks past k dropped). Only documents
with gains are taken, as here. Printed: times, their ratio, peak memory, and the largest differences.

    python benchmarks/bench_soft.py [--sizes 200 1000] [--sigma 1]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from typing import Any

import numba
import numpy as np
from full_pass import best_of, peak_kib

import directrix as dx

LABELS = [0.52, 0.32, 0.13, 0.02, 0.01]


@numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})
def recursion(  # noqa: C901 - one loop nest
    scores: Any, gain: Any, discount: Any, sigma: float, grad: Any
) -> float:
    """Value and gradient by the recursion and its adjoint; ranks from len(discount) on are dropped."""
    n, k = len(scores), len(discount)
    table, above, back = np.empty((n + 1, k)), np.empty(n), np.empty(k)
    scale, value = 0.5 / sigma, 0.0
    for j in range(n):
        grad[j] = 0.0
    for j in range(n):
        if gain[j] == 0.0:
            continue
        for r in range(k):
            table[0, r] = 0.0
        table[0, 0] = 1.0
        for i in range(n):
            q = 0.0 if i == j else 0.5 * math.erfc(-scale * (scores[i] - scores[j]))
            above[i] = q
            old, new = table[i], table[i + 1]
            new[0] = old[0] * (1.0 - q)
            for r in range(1, k):
                new[r] = old[r] * (1.0 - q) + old[r - 1] * q
        for r in range(k):
            value += gain[j] * table[n, r] * discount[r]
            back[r] = gain[j] * discount[r]
        for i in range(n - 1, -1, -1):
            old, q = table[i], above[i]
            slope = -back[k - 1] * old[k - 1]
            for r in range(k - 1):
                slope += (back[r + 1] - back[r]) * old[r]
                back[r] = back[r] * (1.0 - q) + back[r + 1] * q
            back[k - 1] *= 1.0 - q
            if i != j:
                z = scale * (scores[i] - scores[j])
                step = slope * math.exp(-z * z) * scale / math.sqrt(math.pi)
                grad[i] += step
                grad[j] -= step
    return value


def one(n: int, k: int | None, sigma: float, who: str) -> dict[str, Any]:
    """Time and memory of one of the two, in a process of its own, and what it computed."""
    rng = np.random.default_rng(0)
    scores, labels, qptr = rng.standard_normal(n), rng.choice(5, n, p=LABELS) * 1.0, np.array([0, n])
    surrogate = dx.SoftNDCG(sigma=sigma, k=k)
    (gain,) = surrogate.prepare(labels, qptr)
    discount = 1 / np.log2(np.arange(2, 2 + (n if k is None else min(k, n))))
    grad, value = np.zeros(n), np.zeros(1)

    def ours() -> None:
        surrogate.fill(scores.astype(kind), (gain,), qptr, (0, 1), (value, out))

    def theirs() -> None:
        value[0] = recursion(scores, gain, discount, sigma, grad)

    kind = np.float32 if who == "float32" else np.float64
    out = grad.astype(kind)
    work = theirs if who == "recursion" else ours
    recursion(
        scores[:9], gain[:9], discount[:5], sigma, grad[:9].copy()
    )  # compiled before memory is looked at
    surrogate.fill(scores[:9].astype(kind), (gain[:9],), np.array([0, 9]), (0, 1), (value, out[:9].copy()))
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak_kib()
    ms = best_of(work, 2 if who == "recursion" else 10)
    mib = (peak_kib() - before) / 1024
    return {"ms": ms, "MiB": mib, "value": value[0], "grad": (grad if who == "recursion" else out).tolist()}


def apart(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, "--serve", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--sigma", type=float, default=1.0, help="the scores have variance 1")
    parser.add_argument("--serve", nargs=4, metavar=("N", "K", "SIGMA", "WHO"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        n, k, sigma, who = options.serve
        print(json.dumps(one(int(n), None if k == "None" else int(k), float(sigma), who)))
        return 0
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores, one thread used")
    print(
        f"value and gradient of one query, labels 0-4, sigma = {options.sigma:g} of the scores' deviation\n"
    )
    head = f"{'documents':>9} {'k':>5}  {'who':10}{'ms':>10}{'ratio':>8}{'MiB more':>10}"
    print(f"{head}{'value off':>11}{'grad off':>10}")
    for n in options.sizes:
        for k in ("10", "None"):
            found = {w: apart(str(n), k, str(options.sigma), w) for w in ("recursion", "float64", "float32")}
            naive = found["recursion"]
            for who, mine in found.items():
                ratio = naive["ms"] / mine["ms"]
                off = abs(mine["value"] - naive["value"])
                slope = np.abs(np.array(mine["grad"]) - naive["grad"]).max()
                line = f"{n:9d} {k:>5}  {who:10}{mine['ms']:10.2f}{ratio:8.1f}{mine['MiB']:10.1f}"
                print(f"{line}{off:11.0e}{slope:10.0e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
