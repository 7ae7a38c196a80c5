"""Time a gradient of perceptrons, and an epoch of training, next to the same networks in PyTorch.

The data of gradients are those of `full_pass`: 2,000 queries, some 240,000 documents x 136 float32. Both
sides run forward and backward of the network alone, with a given gradient of the scores: PyTorch on all
documents at once and in batches of 4,096 (the faster counts), directrix with the surrogate too. Gradients
are compared, without dropout.

An epoch is one of `MLPRanker()` on 600 queries of `make_cubic(1200, 50, 20, seed=77, label_noise=0.1)`:
Adam on batches of 8 queries, ListNet. PyTorch is spared what lengths cost: all queries have 50 documents.

Each side lives in a process of its own, PyTorch in an environment of its own. They take turns, so that
other work on the machine slows both, and the shortest time of each counts.

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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from full_pass import problem

NETWORKS: dict[str, dict[str, Any]] = {
    "(10,)": {"hidden": (10,)},
    "(64,)": {"hidden": (64,)},
    "(64, 32)": {"hidden": (64, 32)},
    "(64,) tanh": {"hidden": (64,), "activation": "tanh"},
    "(128, 128) residual": {"hidden": (128, 128), "residual": True},
    "the same, dropout": {"hidden": (128, 128), "residual": True, "dropout": 0.1},
}
EPOCH = "epoch"
GOAL = 1.0
"""PyTorch's time divided by ours, at least."""
Steps = dict[str, Callable[[], Any]]


def network(params: np.ndarray, n_features: int, options: dict[str, Any]) -> Any:
    """The perceptron of `MLPModel` in PyTorch, with the same parameters."""
    import torch

    hidden, residual = options["hidden"], options.get("residual", False)
    phi = torch.tanh if options.get("activation") == "tanh" else torch.relu

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [n_features, *hidden]
            self.layers = torch.nn.ModuleList(map(torch.nn.Linear, widths[:-1], widths[1:]))
            self.last = torch.nn.Linear(widths[-1] + n_features * residual, 1, bias=False)
            self.drop = torch.nn.Dropout(options.get("dropout", 0.0))

        def forward(self, x: Any) -> Any:
            a = x
            for level, layer in enumerate(self.layers):
                new = self.drop(phi(layer(a)))
                a = new + a if residual and level and new.shape == a.shape else new
            if not residual:
                return self.last(a).squeeze(1)
            split = a.shape[1]
            return a @ self.last.weight[0, :split] + x @ self.last.weight[0, split:]

    net, at = Network(), 0
    for layer in [*net.layers, net.last]:
        for target in (layer.weight, layer.bias):
            if target is not None:
                values = torch.from_numpy(params[at : at + target.numel()].copy())
                target.data.copy_(values.reshape(target.shape[::-1]).t())
                at += target.numel()
    return net


def in_torch(data: dict[str, np.ndarray], threads: int) -> tuple[dict[str, Any], Steps, Steps]:
    import torch

    torch.set_num_threads(threads)
    X, g = torch.from_numpy(data["X"]), torch.from_numpy(data["g"])
    steps, grads = {}, {}
    for name, options in NETWORKS.items():
        net = network(data[f"params {name}"], X.shape[1], options)

        def step(rows: int, net: Any = net) -> None:
            net.zero_grad()
            for lo in range(0, len(X), rows):
                net(X[lo : lo + rows]).backward(g[lo : lo + rows])

        def grad(net: Any = net, step: Any = step) -> list[float]:
            net.eval()
            step(4096)
            net.train()
            return np.concatenate([p.grad.numpy().T.ravel() for p in net.parameters()]).tolist()

        steps[name], steps[f"{name} at once"] = lambda s=step: s(4096), lambda s=step: s(len(X))
        grads[name] = grad
    steps[EPOCH] = torch_epoch(data)
    return {"version": torch.__version__}, steps, grads


def torch_epoch(data: dict[str, np.ndarray]) -> Callable[[], None]:
    """Adam on batches of 8 queries, for ListNet on shares of gains."""
    import torch

    X, y = torch.from_numpy(data["train X"]), torch.from_numpy(data["train labels"]).float()
    gain = torch.exp2(y) - 1
    shares = gain / gain.sum(dim=1, keepdim=True).clamp(min=1e-9)
    net = network(data["params train"], X.shape[2], NETWORKS["the same, dropout"])
    adam = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=2e-4)

    def epoch() -> None:
        for some in torch.randperm(len(X)).split(8):
            adam.zero_grad()
            scores = net(X[some].reshape(-1, X.shape[2])).reshape(len(some), -1)
            loss = -(shares[some] * torch.log_softmax(scores, dim=1)).sum() / len(some)
            loss.backward()
            adam.step()

    return epoch


def in_directrix(data: dict[str, np.ndarray], threads: int) -> tuple[dict[str, Any], Steps, Steps]:
    import directrix as dx
    from directrix.models.mlp import MLPModel
    from directrix.objectives.objective import make_objective
    from directrix.objectives.penalty import L2
    from directrix.trainers.stochastic import Adam

    dx.set_threads(threads)
    qid = np.repeat(np.arange(len(data["qptr"]) - 1), np.diff(data["qptr"]))
    queries = dx.Queries.from_arrays(data["X"], data["labels"], qid=qid)
    steps, grads = {}, {}
    for name, options in NETWORKS.items():
        params = data[f"params {name}"].astype(np.float64)
        full = make_objective(queries, dx.ApproxNDCG(alpha=10.0), MLPModel(**options))
        steps[name] = network_alone(full, params, data["g"], dropping="dropout" in options)
        steps[f"{name} with ApproxNDCG"] = lambda o=full, p=params: o.value_and_grad(p)
        alone = network_alone(full, params, data["g"], dropping=False)
        grads[name] = lambda alone=alone: alone().tolist()
    n, size, d = data["train X"].shape
    some = dx.Queries.from_arrays(
        data["train X"].reshape(-1, d), data["train labels"].ravel(), group=[size] * n
    )
    model = MLPModel(**NETWORKS["the same, dropout"])
    small = make_objective(some, dx.ListNet(target="shares"), model, penalty=L2(1e-4))
    start = data["params train"].astype(np.float64)
    three, one = (lambda e=e: Adam(epochs=e).minimize(small, start) for e in (4, 1))
    steps["4 epochs"], steps["1 epoch"] = three, one
    return {"documents": queries.n_docs}, steps, grads


def network_alone(
    objective: Any, params: np.ndarray, g: np.ndarray, *, dropping: bool
) -> Callable[[], np.ndarray]:
    """Forward and backward in the parts and threads of the objective, without a surrogate."""
    from directrix.threads import one_blas_thread, run_chunks

    parts, model = objective.source.parts, objective.source.model
    ends = np.cumsum([part.qptr[-1] for part in parts])
    grads: list[Any] = [None] * len(parts)

    def work(p: int) -> None:
        _, cache = model.forward(params, parts[p].rows, *([(0, p)] if dropping else []))
        grads[p] = model.backward(cache, g[ends[p] - parts[p].qptr[-1] : ends[p]])

    def step() -> np.ndarray:
        with one_blas_thread():
            run_chunks(work, len(parts))
        return np.sum(grads, axis=0)

    return step


def serve(what: str, path: str, threads: str) -> None:
    """Answer requests on standard input: the milliseconds of a step, or a gradient."""
    measure = in_torch if what == "torch" else in_directrix
    facts, steps, grads = measure(dict(np.load(path)), int(threads))
    for step in steps.values():  # compiles and warms up
        step()
    print(json.dumps({**facts, "steps": list(steps)}), flush=True)
    for line in sys.stdin:
        kind, name = json.loads(line)
        start = time.perf_counter()
        found = (grads if kind == "grad" else steps)[name]()
        print(json.dumps(found if kind == "grad" else 1e3 * (time.perf_counter() - start)), flush=True)


class Server:
    """One side, in a process of its own: thread pools do not mix there."""

    def __init__(self, python: str, *arguments: str) -> None:
        command = [python, __file__, "--serve", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = self._answer()
        self.best = dict.fromkeys(self.facts["steps"], np.inf)

    def _answer(self) -> Any:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit(f"{' '.join(map(str, self.process.args))} failed; see above")  # type: ignore[arg-type]
        return json.loads(line)

    def ask(self, kind: str, name: str) -> Any:
        """What the other process answers."""
        print(json.dumps([kind, name]), file=self.process.stdin, flush=True)
        return self._answer()

    def measure(self, name: str) -> None:
        """Keep the shortest time."""
        self.best[name] = min(self.best[name], self.ask("step", name))


@contextmanager
def servers(path: str, threads: int, peers: str | None) -> Iterator[list[Server]]:
    """Ours, and PyTorch's if there is one; ended afterwards."""
    sides = [Server(sys.executable, "ours", path, str(threads))]
    try:
        if peers:
            sides.append(Server(peers, "torch", path, str(threads)))
        yield sides
    finally:
        for side in sides:
            side.process.stdin.close()  # type: ignore[union-attr]
            side.process.wait()


def difference(ours: list[float], theirs: list[float]) -> float:
    """Largest difference of the gradients, relative to the largest component."""
    found = float(np.abs(np.subtract(ours, theirs)).max() / np.abs(ours).max())
    if found > 1e-3:
        raise SystemExit(f"the gradients differ by {found:.0e}: not the same network, so not compared")
    return found


def inputs() -> dict[str, np.ndarray]:
    """Data, gradients of the scores and parameters for both sides."""
    from directrix.data import make_cubic
    from directrix.models.mlp import MLPModel

    data, rng = problem(), np.random.default_rng(0)
    cubic = make_cubic(1200, 50, 20, seed=77, label_noise=0.1).take(np.arange(600))
    data["train X"] = np.asarray(cubic.features, np.float32).reshape(600, 50, 20)
    data["train labels"] = cubic.labels.reshape(600, 50)
    data["g"] = rng.standard_normal(len(data["labels"])).astype(np.float32)
    for name, options in NETWORKS.items():
        start = MLPModel(**options).start(data["X"].shape[1], rng)
        data[f"params {name}"] = start.astype(np.float32)
    data["params train"] = MLPModel(**NETWORKS["the same, dropout"]).start(20, rng).astype(np.float32)
    return data


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="Python of an environment with torch")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--serve", nargs=3, metavar=("WHAT", "PATH", "THREADS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return 0
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "problem.npz")
        np.savez(path, **inputs())
        for threads in sorted({1, cores}):
            with servers(path, threads, options.peers) as sides:
                for _ in range(options.repeats):
                    take_turns(sides)
                show(threads, *sides)
    return 0


def take_turns(sides: list[Server]) -> None:
    """Measure every step once, a network's on both sides one after the other."""
    for name in [*NETWORKS, EPOCH]:
        for side in sides:
            own = {
                f"{name} with ApproxNDCG",
                f"{name} at once",
                *(("4 epochs", "1 epoch") if name == EPOCH else ()),
            }
            for step in side.facts["steps"]:
                if step == name or step in own:
                    side.measure(step)


def show(threads: int, ours: Server, theirs: Server | None = None) -> None:
    documents, many = ours.facts["documents"], "s" * (threads > 1)
    peer = "" if theirs is None else f"{'PyTorch ' + theirs.facts['version']:>20}{'x ours':>8}  difference"
    print(f"\n{threads} thread{many}, {documents:,} documents x 136; ms for a gradient")
    print(f"{'hidden':20}{'with ApproxNDCG':>17}{'network alone':>15}{peer}")
    ratios = []
    for name in NETWORKS:
        mine, row = ours.best[name], ""
        if theirs is not None:
            rival = min(theirs.best[name], theirs.best[f"{name} at once"])
            ratios.append(rival / mine)
            gap = difference(ours.ask("grad", name), theirs.ask("grad", name))
            row = f"{rival:20.1f}{rival / mine:8.2f}  {gap:.0e}"
        print(f"{name:20}{ours.best[f'{name} with ApproxNDCG']:17.1f}{mine:15.1f}{row}")
    mine, row = (ours.best["4 epochs"] - ours.best["1 epoch"]) / 3, ""
    if theirs is not None:
        ratios.append(theirs.best[EPOCH] / mine)
        row = f"{theirs.best[EPOCH]:20.1f}{ratios[-1]:8.2f}"
    print(f"{'epoch of MLPRanker()':37}{mine:15.1f}{row}")
    if ratios:
        verdict = "met" if min(ratios) >= GOAL else "missed"
        print(f"goal {verdict}: at least {min(ratios):.2f} times the speed of PyTorch, at least {GOAL:.2f}")


if __name__ == "__main__":
    sys.exit(main())
