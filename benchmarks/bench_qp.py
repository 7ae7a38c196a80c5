"""Time solvers of the quadratic programs that cutting planes solve, at equal accuracy.

    max  a . x - x' G x / 2    with x >= 0 and sum x = 1

The programs are recorded from a fit: SVMmap on OHSUMED fold 1, C = 10,000, no plane dropped, every plane at
the minimum of the model (step = 1). Every solver is run with a row of tolerances; its answer is clipped at 0
and scaled to the simplex, as the trainer does it, and of the runs that come within 1e-6 of the best value (a
thousandth of the trainer's default epsilon) the fastest counts. One that never does is named with its error.

    python -m venv peers
    peers/bin/pip install piqp daqp cvxopt clarabel quadprog osqp scipy
    python benchmarks/bench_qp.py --peers peers/bin/python
"""

from __future__ import annotations

import argparse
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

SIZES = (50, 150, 227)
WITHIN = 1e-6
TOLERANCES = (1e-3, 1e-5, 1e-6, 1e-8, 1e-10)


def record(data: Path) -> dict[str, np.ndarray]:
    """Gram matrices and values of the fit's planes at the given numbers of them."""
    import directrix as dx
    from directrix.trainers import bundle

    solve, found = bundle.solve, {}

    def recorded(gram: np.ndarray, linear: np.ndarray, group: np.ndarray, mass: np.ndarray) -> np.ndarray:
        if len(linear) in SIZES:
            found[f"G{len(linear)}"], found[f"a{len(linear)}"] = gram.copy(), linear.copy()
        return solve(gram, linear, group, mass)

    bundle.solve, bundle._IDLE = recorded, sys.maxsize
    train = dx.read_letor(dx.data.letor_folds(data / "letor" / "OHSUMED")[0].train)
    trainer = dx.CuttingPlane(C=1e4, step=1.0, epsilon=1e-9, max_iter=max(SIZES))
    trainer.minimize(dx.linear_objective(train, "SVMMap"), np.zeros(train.n_features))
    return found


def by_piqp(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    import piqp

    n, solver = len(a), piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, tolerance)
    solver.setup(np.asfortranarray(G), -a, np.ones((1, n), order="F"), np.ones(1), x_l=np.zeros(n))
    solver.solve()
    return solver.result.x


def by_daqp(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    from ctypes import c_int

    import daqp

    n = len(a)
    upper, lower = np.append(np.full(n, 1e30), 1.0), np.append(np.zeros(n), 1.0)
    sense = np.zeros(n + 1, dtype=c_int)
    sense[n] = 5  # an equality
    found, _, _, _ = daqp.solve(
        np.ascontiguousarray(G),
        -a,
        np.ones((1, n)),
        upper,
        lower,
        sense,
        primal_tol=tolerance,
        dual_tol=tolerance,
        eps_prox=1e-5 if tolerance > 1e-9 else 1e-6,
    )
    return found


def by_cvxopt(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    from cvxopt import matrix, solvers, spdiag

    n = len(a)
    options = {"show_progress": False, "abstol": tolerance, "reltol": tolerance, "feastol": tolerance}
    found = solvers.qp(
        matrix(G),
        matrix(-a),
        -spdiag(matrix(1.0, (n, 1))),
        matrix(0.0, (n, 1)),
        matrix(1.0, (1, n)),
        matrix(1.0),
        options=options,
    )
    return np.array(found["x"]).ravel()


def by_clarabel(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    import clarabel
    from scipy import sparse

    n, settings = len(a), clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    rows = sparse.vstack([np.ones((1, n)), -sparse.eye(n)]).tocsc()
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    upper = sparse.csc_matrix(np.triu(G))
    solver = clarabel.DefaultSolver(upper, -a, rows, np.append(1.0, np.zeros(n)), cones, settings)
    return np.array(solver.solve().x)


def by_quadprog(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    """Wants a definite matrix; the tolerance is what is added to its diagonal, relative to the largest."""
    import quadprog

    n = len(a)
    definite = G + tolerance * G.diagonal().max() * np.eye(n)
    return quadprog.solve_qp(
        definite, a, np.column_stack([np.ones(n), np.eye(n)]), np.append(1.0, np.zeros(n)), 1
    )[0]


def by_osqp(G: np.ndarray, a: np.ndarray, tolerance: float) -> np.ndarray:
    import osqp
    from scipy import sparse

    n, solver = len(a), osqp.OSQP()
    rows = sparse.vstack([np.ones((1, n)), sparse.eye(n)]).tocsc()
    lower, upper = np.append(1.0, np.zeros(n)), np.append(1.0, np.full(n, np.inf))
    solver.setup(
        sparse.csc_matrix(np.triu(G)),
        -a,
        rows,
        lower,
        upper,
        verbose=False,
        eps_abs=tolerance,
        eps_rel=tolerance,
        max_iter=20_000,
    )
    return np.asarray(solver.solve().x)


SOLVERS: dict[str, Callable[[np.ndarray, np.ndarray, float], np.ndarray]] = {
    name.removeprefix("by_"): function for name, function in globals().items() if name.startswith("by_")
}


def value_of(x: np.ndarray, G: np.ndarray, a: np.ndarray) -> float:
    """Of the answer made feasible; -inf if nothing can be made of it."""
    x = np.maximum(np.nan_to_num(x), 0.0)
    if not x.sum() > 0.0:
        return -np.inf
    x = x / x.sum()
    return float(a @ x - 0.5 * x @ G @ x)


def tried(
    solver: Callable[..., np.ndarray], G: np.ndarray, a: np.ndarray, repeats: int
) -> list[tuple[float, float]]:
    """Value and median milliseconds at every tolerance; what fails has the value -inf."""
    found = []
    for tolerance in TOLERANCES:
        try:
            value = value_of(solver(G, a, tolerance), G, a)
        except (ValueError, ArithmeticError, RuntimeError):
            continue
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            solver(G, a, tolerance)
            times.append(time.perf_counter() - start)
        found.append((value, 1e3 * float(np.median(times))))
    return found


def measure(path: str, repeats: int) -> None:
    """Print the table; runs in the environment of the peers."""
    from importlib.metadata import version

    programs = np.load(path)
    print(
        f"{'solver':<18}" + "".join(f"{n:>6} planes" for n in SIZES) + "   ms; in brackets: not within 1e-6"
    )
    results: dict[str, list[list[tuple[float, float]]]] = {}
    for name, solver in SOLVERS.items():
        try:
            results[f"{name} {version(name)}"] = [
                tried(solver, programs[f"G{n}"], programs[f"a{n}"], repeats) for n in SIZES
            ]
        except ImportError as error:
            print(f"{name:<18} not measured: {error}")
    best = [max(value for runs in results.values() for value, _ in runs[i]) for i in range(len(SIZES))]
    for name, runs in results.items():
        cells = []
        for top, one in zip(best, runs, strict=True):
            good = [ms for value, ms in one if top - value <= WITHIN]
            worst = min((top - value for value, _ in one), default=np.inf)
            cells.append(f"{min(good):13.2f}" if good else f"{f'({worst:.0e})':>13}")
        print(f"{name:<18}" + "".join(cells))


def main() -> int:
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", default=sys.executable, help="Python of an environment with the solvers")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.repeats)
        return 0
    if not (options.data / "letor" / "OHSUMED").is_dir():
        print(f"not measured: no letor/OHSUMED in {options.data}; give --data or set DIRECTRIX_DATA")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "programs.npz"
        np.savez(path, **record(options.data))
        print(f"{platform.machine()}, one thread; SVMmap on OHSUMED fold 1", flush=True)
        once: dict[str, Any] = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [options.peers, __file__, "--measure", str(path), "--repeats", str(options.repeats)]
        return subprocess.run(command, env=once, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
