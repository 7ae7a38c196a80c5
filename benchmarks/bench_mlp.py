"""Time the full gradient of ApproxNDCG for a perceptron, next to the same perceptron in PyTorch.

The data are those of `full_pass`: 2,000 queries, some 240,000 documents x 136 float32. PyTorch lives
in an environment of its own, and runs forward and backward of the network alone, with a given gradient of
the scores, on all documents at once and in batches of 4,096 (the faster counts); directrix is timed with the
surrogate and without. The gradients are compared.

    python -m venv peers
    peers/bin/pip install torch numpy
    python benchmarks/bench_mlp.py --peers peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from full_pass import best_of, problem

LAYERS = ((10,), (64,), (64, 32))


def network(hidden: tuple[int, ...], params: np.ndarray, n_features: int) -> Any:
    """The perceptron as PyTorch has it, with the same parameters."""
    import torch

    steps, at, n_in = [], 0, n_features
    for n_out in (*hidden, 1):
        last = len(steps) == 2 * len(hidden)
        layer = torch.nn.Linear(n_in, n_out, bias=not last)
        weights = params[at : at + n_in * n_out].reshape(n_in, n_out)
        at += n_in * n_out
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(params[at : at + n_out].copy()))
                at += n_out
        steps += [layer] if last else [layer, torch.nn.ReLU()]
        n_in = n_out
    return torch.nn.Sequential(*steps)


def in_torch(data: dict[str, np.ndarray], threads: int, repeats: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    found: dict[str, Any] = {"version": torch.__version__}
    X, g = torch.from_numpy(data["X"]), torch.from_numpy(data["g"])
    for hidden in LAYERS:
        net = network(hidden, data[f"params {hidden}"], X.shape[1])

        def step(rows: int, net: Any = net) -> None:
            net.zero_grad()
            for lo in range(0, len(X), rows):
                net(X[lo : lo + rows]).squeeze(1).backward(g[lo : lo + rows])

        times = {rows: best_of(lambda rows=rows: step(rows), repeats) for rows in (len(X), 4096)}
        step(len(X))
        flat = [p.grad.numpy().T.ravel() for p in net.parameters()]
        found[str(hidden)] = {"ms": min(times.values()), "grad": np.concatenate(flat).tolist()}
    return found


def in_directrix(data: dict[str, np.ndarray], threads: int, repeats: int) -> dict[str, Any]:
    import directrix as dx
    from directrix.models.mlp import MLPModel
    from directrix.objectives.build import make_objective

    dx.set_threads(threads)
    qid = np.repeat(np.arange(len(data["qptr"]) - 1), np.diff(data["qptr"]))
    queries = dx.Queries.from_arrays(data["X"], data["labels"], qid=qid)
    found: dict[str, Any] = {"documents": queries.n_docs}
    for hidden in LAYERS:
        model, params = MLPModel(hidden), data[f"params {hidden}"]
        full = make_objective(queries, dx.ApproxNDCG(alpha=10.0), model)
        alone = network_alone(full, params, data["g"])
        found[str(hidden)] = {
            "ms": best_of(alone, repeats),
            "full": best_of(lambda o=full, p=params: o.value_and_grad(p), repeats),
            "grad": alone().tolist(),
        }
    return found


def network_alone(objective: Any, params: np.ndarray, g: np.ndarray) -> Callable[[], np.ndarray]:
    """Forward and backward in the parts and threads of the objective, without a surrogate."""
    from directrix.threads import one_blas_thread, run_chunks

    parts, model = objective.source.parts, objective.model
    ends = np.cumsum([part.qptr[-1] for part in parts])
    grads: list[Any] = [None] * len(parts)

    def work(p: int) -> None:
        _, cache = model.forward(params, parts[p].rows)
        grads[p] = model.backward(cache, g[ends[p] - parts[p].qptr[-1] : ends[p]])

    def step() -> np.ndarray:
        with one_blas_thread():
            run_chunks(work, len(parts))
        return np.sum(grads, axis=0)

    return step


def run_apart(python: str, *arguments: str) -> dict[str, Any]:
    """Run a part of this file in a process of its own: thread pools do not mix there."""
    done = subprocess.run([python, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed in {python}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(ours: list[float], theirs: list[float]) -> float:
    """Largest difference of the gradients, relative to the largest component."""
    found = float(np.abs(np.subtract(ours, theirs)).max() / np.abs(ours).max())
    if found > 1e-3:
        raise SystemExit(f"the gradients differ by {found:.0e}: not the same network, so not compared")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of an environment with torch")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--serve", nargs=3, metavar=("WHAT", "PATH", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        what, path, threads = options.serve
        measure = in_torch if what == "torch" else in_directrix
        print(json.dumps(measure(dict(np.load(path)), int(threads), options.repeats)))
        return 0
    from directrix.models.mlp import MLPModel

    data, rng = problem(), np.random.default_rng(0)
    data["g"] = rng.standard_normal(len(data["labels"])).astype(np.float32)
    for hidden in LAYERS:
        data[f"params {hidden}"] = MLPModel(hidden).start(data["X"].shape[1], rng).astype(np.float32)
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    repeats = ("--repeats", str(options.repeats))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        np.savez(path, **data)
        for threads in sorted({1, cores}):
            ours = run_apart(sys.executable, *repeats, "--serve", "ours", path, str(threads))
            theirs = None
            if options.peers:
                theirs = run_apart(options.peers, *repeats, "--serve", "torch", path, str(threads))
            show(threads, ours, theirs)
    return 0


def show(threads: int, ours: dict[str, Any], theirs: dict[str, Any] | None) -> None:
    peer = "" if theirs is None else f"{'PyTorch ' + theirs['version']:>20}{'x ours':>8}  difference"
    print(
        f"\n{threads} thread{'s' * (threads > 1)}, {ours['documents']:,} documents x 136; ms for a gradient"
    )
    print(f"{'hidden':12}{'with ApproxNDCG':>17}{'network alone':>15}{peer}")
    for hidden in map(str, LAYERS):
        mine, row = ours[hidden], ""
        if theirs is not None:
            rival = theirs[hidden]
            row = f"{rival['ms']:20.1f}{rival['ms'] / mine['ms']:8.2f}"
            row += f"  {difference(mine['grad'], rival['grad']):.0e}"
        print(f"{hidden:12}{mine['full']:17.1f}{mine['ms']:15.1f}{row}")


if __name__ == "__main__":
    sys.exit(main())
