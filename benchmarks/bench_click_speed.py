"""Seconds to simulate a log of clicks, and for a pass of expectation maximization over one; synthetic data.

usage: python -m benchmarks click_speed, or
python benchmarks/bench_click_speed.py [million simulated] [million fitted]
"""

import os
import sys
import time
import warnings

import directrix as dx
from directrix.clicks.expectation import one_pass
from directrix.clicks.models import PBM, UBM


def seconds(work, repeats=1):
    """The best of some runs by the clock, and its processor seconds."""
    best = None
    for _ in range(repeats):
        clock, cpu = time.perf_counter(), time.process_time()
        result = work()
        spent = time.perf_counter() - clock, time.process_time() - cpu
        best = spent if best is None or spent < best else best
    return *best, result


def main(simulated=1.0, fitted=10.0):
    warnings.simplefilter("ignore", dx.NotConverged)
    q, _ = dx.data.make_linear(2000, 20, 5, seed=0)
    warm = dx.clicks.simulate(q, q.labels, n_sessions=1000, policy="shuffle")
    for model in ("PBM", "UBM"):
        dx.clicks.model(model, max_iter=2).fit(warm)
    print(
        f"{dx.get_threads()} threads of {os.cpu_count()} cores, directrix {dx.__version__}; synthetic data\n"
    )
    print(f"{'what':58}{'clock':>8}{'processor':>11}{'goal':>7}")

    def row(what, clock, cpu, goal=""):
        print(f"{what:58}{clock:8.2f}{cpu:11.2f}{goal:>7}")

    n = int(simulated * 1e6)
    for policy in ("deterministic", "shuffle", "swap", "plackett-luce"):
        *spent, _ = seconds(
            lambda policy=policy: dx.clicks.simulate(q, q.labels, n_sessions=n, policy=policy)
        )
        row(f"simulate {n:,} sessions of 10, {policy}", *spent, f"{10 * simulated:.0f}")
    n = int(fitted * 1e6)
    *spent, log = seconds(lambda: dx.clicks.simulate(q, q.labels, n_sessions=n, policy="shuffle"))
    for kind in (PBM, UBM):
        *spent, counts = seconds(lambda kind=kind: kind().counts(log))
        row(f"{kind.__name__}: count {n:,} sessions of 10, once", *spent)
        model = kind(max_iter=3).fit(log)
        theta = model.examination_.ravel()
        *spent, _ = seconds(lambda c=counts, m=model, t=theta: one_pass(c, m.attraction_, t, m.prior), 5)
        row(f"{kind.__name__}: a pass over {len(counts.n):,} counts", *spent, f"{fitted / 5:.2f}")
    *spent, _ = seconds(lambda: dx.clicks.model("DBN", max_iter=1).fit(log))
    row("DBN: a pass over all sessions", *spent)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
